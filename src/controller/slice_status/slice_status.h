/*
 * slice_status - publishes what is free (KEP-5677): keeps the status of every ResourceSlice equal
 * to what dra/availability/availability.h computes from slices and claims.
 *
 * A change is written at once. The next write of the same slice waits 20 ms for each 256 KiB of
 * status begun, so that bursts become one write. A status equal to the stored one is not written.
 * After a write, the slice is not checked again until our copy shows the write. Conflicts and
 * failures are retried with a back-off, which new events do not shorten. Slices of an older
 * generation of their pool lose their status. If that changes the slice itself, the controller
 * first gives the driver some seconds to complete the next generation.
 *
 * Metrics: dra_resourceslice_status_update_duration_seconds, .._update_errors_total,
 * .._controller_sync_total, dra_resourceslice_status_staleness_seconds,
 * dra_resourceslice_claims_tracked_total, dra_pool_validation_errors_total, those of
 * device_metrics.h, and those of the work queue "resourceslice_status". Threads: the client's
 * loop.
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
	unsigned workers; /* concurrent writes; 32 */
	/*
	 * Called if a slice exists but the API that stores its status is not served: refresh the
	 * discovery. It is called again every few seconds while that lasts. Must not free the
	 * slice_status. May be NULL.
	 */
	void (*unserved)(void *arg);
	void *arg;
};

/* Takes ownership of the sink. */
struct slice_status *slice_status_new(const struct context *ctx, struct devices *devices,
				      struct slice_sink *sink,
				      const struct slice_status_opts *opts);

/* Every slice has been checked, and no write is pending. */
bool slice_status_settled(const struct slice_status *s);

/* NULL allowed. */
void slice_status_free(struct slice_status *s);

#endif
