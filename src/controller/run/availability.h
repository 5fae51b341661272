/*
 * availability - the parts of `devplane controller` that know the cluster's devices: the status of
 * ResourceSlices (slice_status.h), answers to ResourcePoolStatusRequests (pool_requests.h),
 * eviction from tainted devices (taint_eviction.h) and taints of unhealthy ones (health_taints.h),
 * on one inventory (devices.h).
 *
 * What the server serves decides: slices with a status subresource have it written; slices
 * without one get objects of our own (slice_sink.h); requests are answered where their kind is
 * served. A server without resource.k8s.io is asked again later.
 */
#ifndef CONTROLLER_RUN_AVAILABILITY_H
#define CONTROLLER_RUN_AVAILABILITY_H

#include <stdbool.h>

#include "controller/health_taints/book.h"

struct availability;
struct context;

struct availability_opts {
	bool slice_status, pool_requests, taint_eviction, health_taints; /* which parts */
	unsigned workers; /* writes of status at once; 0: the default */
	unsigned evictions; /* at once; 0: the default */
	struct health_taints_limits health_limits;
};

struct availability *availability_new(const struct context *ctx,
				      const struct availability_opts *opts);

/* What there is has been seen; also when the server has no devices at all. */
bool availability_synced(const struct availability *v);

/* NULL allowed. */
void availability_free(struct availability *v);

#endif
