/*
 * device_policy - the action for a pod that uses an unhealthy device of a device plugin. Pure.
 *
 * The node has a policy, and a pod can set its own with annotations. The action is due when a
 * device has been Unhealthy for the grace period, without a break, while the same container used
 * it. A restarted container starts a new grace period. For devices of claims there are NoExecute
 * taints instead.
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
	/* the container is killed; its restart policy decides what follows */
	DEVICE_POLICY_RESTART,
	DEVICE_POLICY_EVICT, /* through the Eviction API, so that disruption budgets count */
};

struct device_policy {
	enum device_policy_action action;
	int64_t grace_ms;
};

/* "none", "fail", "restart", "evict"; returns false for any other text. */
bool device_policy_parse(struct str text, enum device_policy_action *ret_action);

/*
 * The pod's policy: its annotations if they are valid, else the node's. *ret_problem describes what
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

/* The state of one pod; zero it, then vec_init() `cases`. */
struct device_policy_book {
	VEC(struct device_policy_case) cases;
};
void device_policy_release(struct device_policy_book *b);

/* In the arena. */
struct device_policy_due {
	struct str container, container_id;
	struct str resource, device, message; /* the first of its unhealthy devices */
};

/* The present facts; borrowed for the call. */
struct device_policy_input {
	struct device_policy policy;
	const struct assign *assign;
	const struct pod *pod;
	const struct runtime_pod *seen; /* or NULL */
	int64_t now_ms; /* monotonic */
};

/*
 * Returns the first container whose grace period is over and that was not returned before; false if
 * there is no such container. *ret_wake_ms: call again then; INT64_MAX: only after a change.
 */
bool device_policy_look(struct device_policy_book *b, const struct device_policy_input *in,
			struct arena *a, struct device_policy_due *ret_due, int64_t *ret_wake_ms);

/* The action failed: the container is returned again after another grace period. */
void device_policy_again(struct device_policy_book *b, struct str container_id, int64_t now_ms);

#endif
