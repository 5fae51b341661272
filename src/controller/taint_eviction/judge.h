/*
 * taint_judge - what taints mean for a claim, and a claim for a pod.
 *
 * The rules of device taint eviction, as functions of objects and the inventory. No I/O, no clock.
 */
#ifndef CONTROLLER_TAINT_EVICTION_JUDGE_H
#define CONTROLLER_TAINT_EVICTION_JUDGE_H

#include "base/json/json.h"

struct eviction_draft;
struct inventory;
struct inventory_claim;
struct inventory_device;
struct inventory_rule;
struct inventory_use;

/* Whether a taint of the device's slice evicts. */
bool taint_judge_own(const struct inventory_device *d);

/* Whether a device of the claim (may be NULL) has an evicting taint, tolerated or not. */
bool taint_judge_concerned(const struct inventory_claim *claim);

/*
 * Adds to the draft the sources that demand the eviction of an allocated claim's users, and when.
 * With `only`, just that rule counts, as if its effect were NoExecute. A NULL claim has no users.
 *
 * A toleration without an effect tolerates all effects for ever, because tolerationSeconds count
 * only with NoExecute. A taint without a time evicts nobody: servers set one.
 */
void taint_judge_claim(struct inventory *inv, const struct json *claim,
		       const struct inventory_rule *only, struct eviction_draft *draft);

/*
 * Calls `fn` for each device that the rule selects and that some claim holds, whatever the rule's
 * effect. Returns the number of published devices that it selects.
 */
int64_t taint_judge_select(struct inventory *inv, const struct inventory_rule *rule,
			   void (*fn)(void *arg, const struct inventory_use *use), void *arg);

/* Whether the pod (may be NULL) is on a node and is not being deleted. */
bool taint_judge_runs(const struct json *pod);

/*
 * Whether the claim (may be NULL) is reserved for the pod. With `owned`, it must also have been
 * created for the pod, which is required if the pod does not name it itself.
 */
bool taint_judge_uses(const struct json *pod, const struct json *claim, bool owned);

/* The same for a claim that the pod must refer to by `name`, in any form. */
bool taint_judge_names(const struct json *pod, struct str name, const struct json *claim);

#endif
