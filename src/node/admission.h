/*
 * admission - whether a pod that was bound to this node may start here. Pure.
 *
 * What kubelet checks again after the scheduler: requests against what is allocatable and not yet requested by the
 * pods that are here, node selector and required node affinity, the operating system. Devices are assign.h's.
 */
#ifndef NODE_ADMISSION_H
#define NODE_ADMISSION_H

#include "base/error.h"
#include "node/pod.h"

/* What pods ask for together. */
struct admission_sum {
	int64_t cpu_milli, memory, pods;
};

/* Adds a pod's requests: containers, or the largest of the init containers, sidecars and overhead. */
void admission_add(struct admission_sum *sum, const struct pod *pod);

struct admission_node {
	const struct json *object; /* the Node; NULL: not known yet, so only amounts are checked */
	int64_t cpu_milli, memory, max_pods; /* allocatable */
	struct str name;
};

/* -ERR_INVALID with *ret_reason ("OutOfcpu", "NodeAffinity", ..) and kubelet's message. */
int admission_check(const struct admission_node *node, const struct admission_sum *used,
		    const struct pod *pod, const char **ret_reason, struct error *err);

#endif
