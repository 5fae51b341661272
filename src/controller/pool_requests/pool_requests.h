/*
 * pool_requests - answers ResourcePoolStatusRequests: upstream's one-shot query for what is free
 * in the pools of a driver (KEP-5677 as upstream implements it).
 *
 * Once the inventory is known, each request without a status gets one, once, from
 * dra/availability/availability.h: the condition Complete with the counts, or Failed. A failed
 * write is retried five times. If a pool is incomplete, there is no answer: the request is retried
 * as after a failure, and then waits for its next event, as upstream does. Every ten minutes the
 * controller deletes requests that were answered more than an hour ago, and those that have waited
 * for a day.
 *
 * Metrics: resourcepoolstatusrequest_controller_requests_processed_total,
 * .._request_processing_errors_total, .._request_processing_duration_seconds, by driver_name.
 * Threads: the client's loop.
 */
#ifndef CONTROLLER_POOL_REQUESTS_POOL_REQUESTS_H
#define CONTROLLER_POOL_REQUESTS_POOL_REQUESTS_H

#include "client/api/resource.h"

struct context;
struct devices;
struct pool_requests;

/* `requests`: the resource as it is served; copied. */
struct pool_requests *pool_requests_new(const struct context *ctx, struct devices *devices,
					const struct resource *requests);

bool pool_requests_synced(const struct pool_requests *p);

/* NULL allowed. */
void pool_requests_free(struct pool_requests *p);

#endif
