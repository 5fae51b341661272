/*
 * network_endpoints - EndpointSlices of Services on secondary networks.
 *
 * This controller consumes KEP-4817. Upstream's EndpointSlice controller uses the addresses of
 * pods; this one uses the addresses that drivers report in ResourceClaim.status.devices for the
 * claims of the pods. endpoints/decide.h says how a Service opts in and which endpoints it has;
 * endpoints/slices.h says how slices change.
 *
 * It follows Services, pods, claims and its own slices. A change of a pod or claim costs a check
 * of each Service in that namespace that opts in; those that select the pod are reconciled.
 * Namespaces without such a Service cost nothing. A malformed annotation leaves the slices as they
 * are, and an event on the Service reports the error.
 */
#ifndef CONTROLLER_ENDPOINTS_NETWORK_ENDPOINTS_H
#define CONTROLLER_ENDPOINTS_NETWORK_ENDPOINTS_H

struct context;
struct network_endpoints;

struct network_endpoints *network_endpoints_new(const struct context *ctx);

/* Cancels work in progress; the next controller starts from scratch. NULL allowed. */
void network_endpoints_free(struct network_endpoints *n);

#endif
