/*
 * network_endpoints - EndpointSlices of Services on secondary networks.
 *
 * KEP-4817's reader: where upstream's EndpointSlice controller takes the addresses of
 * pods, this one takes those that drivers report in ResourceClaim.status.devices for the claims
 * of the pods. Who takes part, and how, is in endpoints/decide.h; how slices change in
 * network_slices.h.
 *
 * Follows Services, pods, claims and its own slices. What happens to a pod or a claim costs the
 * Services of that namespace that take part, and those that select the pod are looked at again;
 * of a namespace without such a Service nothing is looked at. A bad annotation leaves slices as
 * they are, and an event on the Service says what is wrong.
 */
#ifndef CONTROLLER_ENDPOINTS_NETWORK_ENDPOINTS_H
#define CONTROLLER_ENDPOINTS_NETWORK_ENDPOINTS_H

struct context;
struct network_endpoints;

struct network_endpoints *network_endpoints_new(const struct context *ctx);

/* Gives up what is under way; the next controller begins anew. NULL allowed. */
void network_endpoints_free(struct network_endpoints *n);

#endif
