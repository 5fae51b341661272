/*
 * taint_judge - what taints mean for a claim, and a claim for a pod.
 *
 * The rules of device taint eviction, each a function of objects and inventory. No I/O, no clock.
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

/* The device has a taint of its slice that evicts. */
bool taint_judge_own(const struct inventory_device *d);

/* Some device that the claim (or NULL) holds has a taint that evicts, tolerated or not. */
bool taint_judge_concerned(const struct inventory_claim *claim);

/*
 * Adds to the draft what wants the users of an allocated claim to go, and when. With `only` just
 * that rule counts, as if its effect was NoExecute. A claim that is NULL has no users.
 *
 * A toleration without an effect is for all of them and, as tolerationSeconds count only with
 * NoExecute, for ever. A taint without a time evicts nobody: servers set one.
 */
void taint_judge_claim(struct inventory *inv, const struct json *claim,
		       const struct inventory_rule *only, struct eviction_draft *draft);

/*
 * Calls `fn` for each device that a rule selects and that some claim names, whatever the rule's
 * effect; returns how many devices it selects that slices have.
 */
int64_t taint_judge_select(struct inventory *inv, const struct inventory_rule *rule,
			   void (*fn)(void *arg, const struct inventory_use *use), void *arg);

/* The pod (or NULL) is on a node and is not being deleted. */
bool taint_judge_runs(const struct json *pod);

/*
 * The claim (or NULL) is reserved for the pod; with `owned` it was also made for it, as it must
 * have been when the pod does not name it itself.
 */
bool taint_judge_uses(const struct json *pod, const struct json *claim, bool owned);

/* The same of a claim that the pod has to name in whatever way. */
bool taint_judge_names(const struct json *pod, struct str name, const struct json *claim);

#endif
