/*
 * fit_pod - what of nodes, beside their devices, keeps a pod away; decided by the scheduler's code.
 *
 * Looked at are the node that a pod is bound to, unschedulable nodes, nodeSelector and required
 * node affinity, taints, and where the allocations that its claims have can be used.
 */
#ifndef CLI_FIT_POD_H
#define CLI_FIT_POD_H

#include "cli/fit/report.h"

/*
 * Fills `away` of out[i] for each of the nodes (an array of Nodes), and the rest of it. `pod` may
 * be NULL: nothing is kept away. `allocated` are claims that have an allocation.
 */
void fit_pod_nodes(const struct json *pod, const struct json *const *allocated, size_t n,
		   const struct json *nodes, struct fit_node *out, struct arena *a);

#endif
