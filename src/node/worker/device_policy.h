/*
 * device_policy - what becomes of a pod whose device plugin's device is unhealthy. Pure.
 *
 * The node has a policy, and a pod can have its own by annotations. A device must have been
 * Unhealthy for the grace period, without a break, while one container uses it; a container that
 * was started anew begins anew. Devices of claims have NoExecute taints for this.
 */
#ifndef NODE_WORKER_DEVICE_POLICY_H
#define NODE_WORKER_DEVICE_POLICY_H

#include "base/core/vec.h"
#include "node/assign/assign.h"
#include "node/pod/pod.h"
#include "node/runtime/runtime.h"

#define DEVICE_POLICY_ANNOTATION       "devplane.dev/on-unhealthy-device"
#define DEVICE_POLICY_GRACE_ANNOTATION "devplane.dev/on-unhealthy-device-grace"

enum device_policy_action {
	DEVICE_POLICY_NONE,
	DEVICE_POLICY_FAIL, /* the pod becomes Failed, reason UnhealthyDevice */
	DEVICE_POLICY_RESTART, /* the container is killed; its restart policy says what follows */
	DEVICE_POLICY_EVICT, /* by the Eviction API, so that disruption budgets count */
};

struct device_policy {
	enum device_policy_action action;
	int64_t grace_ms;
};

/* "none", "fail", "restart", "evict"; false: none of these. */
bool device_policy_parse(struct str text, enum device_policy_action *ret_action);

/*
 * The pod's policy: its annotations where they are right, else the node's. *ret_problem says what
 * is wrong with them, in `a`; empty: nothing.
 */
struct device_policy device_policy_of(const struct pod *pod, const struct device_policy *node,
				      struct arena *a, struct str *ret_problem);

/* A container that runs with an unhealthy device. */
struct device_policy_case {
	char *container_id;
	int64_t since_ms;
	bool done; /* it was reported as due */
};

/* What is remembered of one pod; begins zeroed, with vec_init() of `cases`. */
struct device_policy_book {
	VEC(struct device_policy_case) cases;
};
void device_policy_release(struct device_policy_book *b);

/* In the arena. */
struct device_policy_due {
	struct str container, container_id;
	struct str resource, device, message; /* the first of its unhealthy devices */
};

/* What is known now; borrowed for the call. */
struct device_policy_input {
	struct device_policy policy;
	const struct assign *assign;
	const struct pod *pod;
	const struct runtime_pod *seen; /* or NULL */
	int64_t now_ms; /* monotonic */
};

/*
 * Whose grace period is over: the first such container that was not reported before; false: none.
 * *ret_wake_ms: ask again then, INT64_MAX: after a change only.
 */
bool device_policy_look(struct device_policy_book *b, const struct device_policy_input *in,
			struct arena *a, struct device_policy_due *ret_due, int64_t *ret_wake_ms);

/* The action failed: its container is reported again after another grace period. */
void device_policy_again(struct device_policy_book *b, struct str container_id, int64_t now_ms);

#endif
