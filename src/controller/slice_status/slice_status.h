/*
 * slice_status - publishes what is free: keeps the status of every ResourceSlice equal to what
 * dra/availability/availability.h computes of slices and claims (KEP-5677).
 *
 * A change is written at once; the next write of the same slice waits until 20 ms have passed for
 * each 256 KiB that the status has, so that bursts become one write. What is equal to what is
 * stored is not written. After a write the slice is left alone until our copy shows it. Conflicts
 * and failures are tried again with a growing delay, whatever comes meanwhile. Slices of an older
 * generation of their pool lose their status, where that changes the slice itself after a while
 * in which its driver may take the pool to its next generation.
 *
 * Metrics: dra_resourceslice_status_update_duration_seconds, .._update_errors_total,
 * .._controller_sync_total, dra_resourceslice_status_staleness_seconds,
 * dra_resourceslice_claims_tracked_total, dra_pool_validation_errors_total, those of
 * device_metrics.h, and those of the work queue "resourceslice_status".
 * Threads: the client's loop.
 */
#ifndef CONTROLLER_SLICE_STATUS_SLICE_STATUS_H
#define CONTROLLER_SLICE_STATUS_SLICE_STATUS_H

#include <stdbool.h>

struct context;
struct devices;
struct slice_sink;
struct slice_status;

/* Zero means the default. */
struct slice_status_opts {
	unsigned workers; /* writes under way at once; 32 */
	/*
	 * A slice is there, and where its status is kept is not: look at what is served. Again
	 * after some seconds while that lasts; must not free the slice_status. Or NULL.
	 */
	void (*unserved)(void *arg);
	void *arg;
};

/* Takes the sink over. */
struct slice_status *slice_status_new(const struct context *ctx, struct devices *devices,
				      struct slice_sink *sink,
				      const struct slice_status_opts *opts);

/* Everything has been looked at, and nothing waits to be written. */
bool slice_status_settled(const struct slice_status *s);

/* NULL allowed. */
void slice_status_free(struct slice_status *s);

#endif
