/*
 * device_metrics - the number of devices in each state and health, for Prometheus.
 *
 *   devplane_devices{driver,pool,node,state,health}              gauge: devices
 *   devplane_device_capacity{driver,pool,node,capacity}          gauge: total of shareable devices
 *   devplane_device_free_capacity{driver,pool,node,capacity}     gauge: free in shareable devices
 *   devplane_device_shares{driver,pool,node}                     gauge: shares that claims hold
 *   devplane_device_state_seconds_total{driver,pool,node,state}  counter: time of devices in it
 *   devplane_device_health_changes_total{driver,pool,node,health}  counter: changes to this health
 *   devplane_device_health_flaps_total{driver,pool,node}         counter: see device_marks.h
 *   devplane_device_metrics_timestamp_seconds                    gauge: when times were last added
 *
 * All come from the status that is computed for each slice anyway (KEP-5677). Each slice
 * remembers its share, and only differences are added, so neither a scrape nor an event walks the
 * cluster. Free capacity counts devices that a claim without tolerations can get.
 *
 * Series are bounded. A place is a pool on a node (or on no single node). The first
 * DEVICE_METRICS_PLACES_MAX places have their own series. Devices elsewhere are summed by driver,
 * with pool and node "other", and beyond DEVICE_METRICS_DRIVERS_MAX drivers in one sum. Each place
 * has its first DEVICE_METRICS_CAPACITIES_MAX capacities, total and free. When the last slice
 * of a place is deleted, its series are removed. The place is free for a new pool, or for one that
 * is summed in "other", when the status of one of its slices next changes. The time in a state is
 * the sum over the place's devices. It is added at each change of the place, and every
 * DEVICE_METRICS_TICK_MS.
 */
#ifndef CONTROLLER_DEVICES_DEVICE_METRICS_H
#define CONTROLLER_DEVICES_DEVICE_METRICS_H

#include "base/core/map.h"
#include "net/loop/loop.h"

struct inventory_slice;
struct json;
struct metrics;
struct metrics_family;

/* With 16 series each, these stay below METRICS_SERIES_MAX. */
enum {
	DEVICE_METRICS_PLACES_MAX = 500,
	DEVICE_METRICS_DRIVERS_MAX = 100,
	DEVICE_METRICS_CAPACITIES_MAX = 16,
	DEVICE_METRICS_TICK_MS = 5000,
};

struct device_metrics {
	struct loop *loop;
	/* NULL: no metrics */
	struct metrics_family *devices, *capacity, *left, *held_shares;
	struct metrics_family *seconds, *changes, *flaps; /* the same */
	struct metrics_gauge *timestamp;
	struct loop_timer tick;
	struct map places, others; /* struct place: with their own series; sums of a driver */
};

/* A slice's share; NULL: none yet. */
struct device_counts;

/* `metrics` may be NULL. */
void device_metrics_init(struct device_metrics *m, struct metrics *metrics, struct loop *loop);
/* All shares must have been returned before, by device_metrics_note(). */
void device_metrics_release(struct device_metrics *m);

/* Sets the slice's current status. If `status` or `slice` is NULL, the slice's share is removed. */
void device_metrics_note(struct device_metrics *m, struct device_counts **counts,
			 const struct inventory_slice *slice, const struct json *status);

#endif
