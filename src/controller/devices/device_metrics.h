/*
 * device_metrics - how many devices there are in each state and health, for Prometheus.
 *
 *	devplane_devices{driver,pool,node,state,health}              gauge: devices
 *	devplane_device_free_capacity{driver,pool,node,capacity}     gauge: free in shared devices
 *
 * Both are made of the status that is computed for a slice anyway: each slice remembers its share,
 * and only differences are added, so neither a scrape nor an event walks the cluster. Free capacity
 * counts devices that a claim without tolerations can get.
 *
 * The first DEVICE_METRICS_POOLS_MAX pools have series of their own; the devices of all others are
 * added up by driver with pool and node "other". Series of pools that are gone are 0.
 */
#ifndef CONTROLLER_DEVICES_DEVICE_METRICS_H
#define CONTROLLER_DEVICES_DEVICE_METRICS_H

#include "base/core/map.h"

struct inventory_slice;
struct json;
struct metrics;
struct metrics_family;

enum { DEVICE_METRICS_POOLS_MAX = 500 };

struct device_metrics {
	struct metrics_family *devices, *capacity; /* NULL: nobody wants them */
	struct map pools; /* "driver/pool" that have series of their own */
};

/* A slice's share; NULL: none so far. */
struct device_counts;

void device_metrics_init(struct device_metrics *m, struct metrics *metrics); /* NULL allowed */
/* All shares must have been given back. */
void device_metrics_release(struct device_metrics *m);

/* The slice has that status now; NULL, or without a slice: none, and the share goes. */
void device_metrics_note(struct device_metrics *m, struct device_counts **counts,
			 const struct inventory_slice *slice, const struct json *status);

#endif
