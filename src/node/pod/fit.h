/*
 * fit - whether a pod that was bound to this node may start here. Pure.
 *
 * What kubelet checks again after the scheduler: requests against what is allocatable and not yet
 * requested by the pods that are here, node selector and required node affinity, the operating
 * system. Devices are assign.h's.
 */
#ifndef NODE_POD_FIT_H
#define NODE_POD_FIT_H

#include "base/core/error.h"
#include "node/pod/pod.h"

/* What pods ask for together. */
struct fit_sum {
	int64_t cpu_milli, memory, pods;
};

/* Adds a pod's requests: containers, or the largest of the init containers, sidecars and
 * overhead. */
void fit_add(struct fit_sum *sum, const struct pod *pod);

static inline void fit_sum_add(struct fit_sum *sum, const struct fit_sum *more)
{
	sum->cpu_milli += more->cpu_milli;
	sum->memory += more->memory;
	sum->pods += more->pods;
}

struct fit_node {
	const struct json *object; /* the Node; NULL: not known yet, so only amounts are checked */
	int64_t cpu_milli, memory, max_pods; /* allocatable */
	struct str name;
	/* Whether devices of a resource are handed out by assign.h, which sees to it itself. */
	bool (*is_device)(void *arg, struct str resource);
	/* How much of any other extended resource the pods here ask for. */
	int64_t (*used)(void *arg, struct str resource);
	void *arg;
};

/* What a pod asks for of one extended resource. */
int64_t fit_extended(const struct pod *pod, struct str resource);

enum { FIT_REASON_SIZE = 384 };

/* -ERR_INVALID with a reason ("OutOfcpu", "NodeAffinity", ..) and kubelet's message. */
int fit_check(const struct fit_node *node, const struct fit_sum *used, const struct pod *pod,
	      char ret_reason[static FIT_REASON_SIZE], struct error *err);

#endif
