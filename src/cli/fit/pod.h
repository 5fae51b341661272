/*
 * fit_pod - what besides devices keeps a pod off a node; decided by the scheduler's code.
 *
 * It checks the node that the pod is bound to, unschedulable nodes, nodeSelector and required node
 * affinity, taints, and where the allocations of its claims can be used.
 */
#ifndef CLI_FIT_POD_H
#define CLI_FIT_POD_H

#include "cli/fit/report.h"

/*
 * Fills out[i] for each of the nodes (an array of Nodes), including `away`. If `pod` is NULL,
 * nothing is kept away. `allocated` are the claims that have an allocation.
 */
void fit_pod_nodes(const struct json *pod, const struct json *const *allocated, size_t n,
		   const struct json *nodes, struct fit_node *out, struct arena *a);

#endif
