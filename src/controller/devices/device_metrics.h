/*
 * device_metrics - the number of devices in each state and health, for Prometheus.
 *
 *   devplane_devices{driver,pool,node,state,health}              gauge: devices
 *   devplane_device_free_capacity{driver,pool,node,capacity}     gauge: free in shared devices
 *
 * Both come from the status that is computed for each slice anyway (KEP-5677). Each slice
 * remembers its share, and only differences are added, so neither a scrape nor an event walks the
 * cluster. Free capacity counts devices that a claim without tolerations can get.
 *
 * The first DEVICE_METRICS_POOLS_MAX pools have their own series. The devices of all other pools
 * are summed by driver, with pool and node "other". Series of deleted pools are 0.
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
	struct metrics_family *devices, *capacity; /* NULL: no metrics */
	struct map pools; /* "driver/pool": the pools with their own series */
};

/* A slice's share; NULL: none yet. */
struct device_counts;

void device_metrics_init(struct device_metrics *m, struct metrics *metrics); /* NULL allowed */
/* All shares must have been returned before, by device_metrics_note(). */
void device_metrics_release(struct device_metrics *m);

/* Sets the slice's current status. If `status` or `slice` is NULL, the slice's share is removed. */
void device_metrics_note(struct device_metrics *m, struct device_counts **counts,
			 const struct inventory_slice *slice, const struct json *status);

#endif
