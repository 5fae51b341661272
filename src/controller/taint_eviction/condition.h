/*
 * taint_condition - the condition EvictionInProgress of a DeviceTaintRule.
 *
 * Reasons and messages are upstream's. No I/O, no clock.
 */
#ifndef CONTROLLER_TAINT_EVICTION_CONDITION_H
#define CONTROLLER_TAINT_EVICTION_CONDITION_H

#include "base/json/json.h"

struct taint_counts;

#define TAINT_CONDITION "EvictionInProgress"

enum taint_effect { TAINT_EFFECT_OTHER, TAINT_EFFECT_NONE, TAINT_EFFECT_NO_EXECUTE };

/* The effect of the rule's taint. */
enum taint_effect taint_effect_of(const struct json *rule);

/* The rule's current condition; or NULL. */
const struct json *taint_condition_of(const struct json *rule);

/*
 * The condition that the rule should have, without its time. `counts` are the pods that must go
 * or, with effect None, would have to. `evicted` counts the pods evicted since the controller
 * started.
 */
struct json *taint_condition_make(struct arena *a, const struct json *rule,
				  const struct taint_counts *counts, int64_t evicted);

/* Whether they are equal except for their times. */
bool taint_condition_same(const struct json *a, const struct json *b);

/* The patch for the rule's status that sets the condition, changed at `now`. */
struct json *taint_condition_patch(struct arena *a, const struct json *rule, struct json *condition,
				   int64_t now);

#endif
