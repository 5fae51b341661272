/*
 * fit - checks whether a pod that was bound to this node may start here. Pure.
 *
 * These are the checks that kubelet repeats after the scheduler: requests against the allocatable
 * amounts that other pods here do not request, node selector and required node affinity, operating
 * system. Devices are checked by assign.h.
 */
#ifndef NODE_POD_FIT_H
#define NODE_POD_FIT_H

#include "base/core/error.h"
#include "node/pod/pod.h"

/* The sum of the requests of pods. */
struct fit_sum {
	int64_t cpu_milli, memory, pods;
};

/*
 * Adds a pod's requests and overhead. The requests are the larger of two sums: containers and
 * sidecars, and the largest of any init container with the sidecars before it.
 */
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
	/* Whether assign.h hands out this resource's devices, and so checks it itself. */
	bool (*is_device)(void *arg, struct str resource);
	/* The amount of another extended resource that the pods here request. */
	int64_t (*used)(void *arg, struct str resource);
	void *arg;
};

/* The amount of one extended resource that a pod requests. */
int64_t fit_extended(const struct pod *pod, struct str resource);

enum { FIT_REASON_SIZE = 384 };

/* Returns -ERR_INVALID with a reason ("OutOfcpu", "NodeAffinity", ..) and kubelet's message. */
int fit_check(const struct fit_node *node, const struct fit_sum *used, const struct pod *pod,
	      char ret_reason[static FIT_REASON_SIZE], struct error *err);

#endif
