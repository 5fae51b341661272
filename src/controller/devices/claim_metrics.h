/*
 * claim_metrics - metrics of ResourceClaims, for Prometheus.
 *
 *   devplane_claim_allocation_duration_seconds     histogram: from creation to allocation
 *   devplane_claim_oldest_seconds{state}           gauge: age of the oldest claim in this state
 *   devplane_devices_held{namespace,driver}        gauge: devices that claims hold
 *   devplane_device_held_seconds_total{namespace,driver}   counter: for how long, in sum
 *
 * The states are "pending" (made for a pod, and without an allocation) and "deleting". The age
 * counts from when the state began. It is 0 if no claim is in the state.
 *
 * A shared device counts once for each share. Admin access holds nothing. The first
 * CLAIM_METRICS_HOLDERS_MAX pairs of namespace and driver have their own series, and the others are
 * summed in the pair "other", "other". A new pair replaces one that holds nothing. At most
 * CLAIM_METRICS_TRACKED_MAX claims that are pending or being deleted are timed. Ages and seconds
 * are brought up to date every CLAIM_METRICS_TICK_MS. Threads: the loop's.
 */
#ifndef CONTROLLER_DEVICES_CLAIM_METRICS_H
#define CONTROLLER_DEVICES_CLAIM_METRICS_H

struct claim_metrics;
struct informer;
struct loop;
struct metrics;

enum {
	CLAIM_METRICS_HOLDERS_MAX = 500,
	CLAIM_METRICS_TRACKED_MAX = 50000,
	CLAIM_METRICS_TICK_MS = 5000,
};

/* `claims` must outlive it. Returns NULL if `metrics` is NULL. */
struct claim_metrics *claim_metrics_new(struct loop *loop, struct informer *claims,
					struct metrics *metrics);
void claim_metrics_free(struct claim_metrics *m); /* NULL allowed */

#endif
