/*
 * availability - the parts of `devplane controller` that track the cluster's devices: the status
 * of ResourceSlices (slice_status.h, KEP-5677), answers to ResourcePoolStatusRequests
 * (pool_requests.h), eviction from tainted devices (taint_eviction.h), taints of unhealthy ones
 * (health_taints.h) and the history of devices (device_history.h). All but the last share one
 * inventory (devices.h).
 *
 * Discovery decides how they work. If slices have a status subresource, the status is written
 * there; otherwise it goes to objects of our own (slice_sink.h). Requests are answered if their
 * kind is served. If the server does not serve resource.k8s.io, discovery is checked again later.
 */
#ifndef CONTROLLER_RUN_AVAILABILITY_H
#define CONTROLLER_RUN_AVAILABILITY_H

#include <stdbool.h>

#include "controller/health_taints/book.h"

struct availability;
struct context;

struct availability_opts {
	/* The parts to run. */
	bool slice_status, pool_requests, taint_eviction, health_taints, device_history;
	unsigned workers; /* concurrent writes of status; 0: the default */
	unsigned evictions; /* concurrent evictions; 0: the default */
	struct health_taints_limits health_limits;
};

struct availability *availability_new(const struct context *ctx,
				      const struct availability_opts *opts);

/* The initial state was seen; also true if the server does not serve slices at all. */
bool availability_synced(const struct availability *v);

/* NULL allowed. */
void availability_free(struct availability *v);

#endif
