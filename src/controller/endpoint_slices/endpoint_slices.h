/*
 * endpoint_slices - EndpointSlices of Services with a selector, on the cluster's network.
 *
 * The behaviour is upstream's: a Service's pods that have an address and have not ended are its
 * endpoints; slices are planned by endpoints/slices.h. Slices of topology hints (annotation
 * service.kubernetes.io/topology-mode) are not made; those of spec.trafficDistribution are.
 *
 * Costs: a change of a pod that matters to endpoints costs one lookup per label, and a sync of the
 * Services that select it. A sync reads the Service's own pods and slices, and nothing else of the
 * namespace. A Service that is new, or has another selector, costs one walk over its namespace.
 */
#ifndef CONTROLLER_ENDPOINT_SLICES_ENDPOINT_SLICES_H
#define CONTROLLER_ENDPOINT_SLICES_ENDPOINT_SLICES_H

struct context;
struct endpoint_slices;

struct endpoint_slices *endpoint_slices_new(const struct context *ctx);

/* Cancels work in progress; the next controller starts from scratch. NULL allowed. */
void endpoint_slices_free(struct endpoint_slices *e);

#endif
