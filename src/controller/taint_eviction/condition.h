/*
 * taint_condition - what is told of a DeviceTaintRule: the condition EvictionInProgress.
 *
 * In upstream's words. No I/O, no clock.
 */
#ifndef CONTROLLER_TAINT_EVICTION_CONDITION_H
#define CONTROLLER_TAINT_EVICTION_CONDITION_H

#include "base/json/json.h"

struct taint_counts;

#define TAINT_CONDITION "EvictionInProgress"

enum taint_effect { TAINT_EFFECT_OTHER, TAINT_EFFECT_NONE, TAINT_EFFECT_NO_EXECUTE };

/* Of the rule's taint. */
enum taint_effect taint_effect_of(const struct json *rule);

/* The condition that the rule has; or NULL. */
const struct json *taint_condition_of(const struct json *rule);

/*
 * The condition that it should have, without its time: `counts` are those of pods that must go
 * or, with effect None, of what would be; `evicted` those that went since the controller began.
 */
struct json *taint_condition_make(struct arena *a, const struct json *rule,
				  const struct taint_counts *counts, int64_t evicted);

/* Whether they say the same, whatever their times. */
bool taint_condition_same(const struct json *a, const struct json *b);

/* What is applied to the rule's status to give it the condition, changed at `now`. */
struct json *taint_condition_patch(struct arena *a, const struct json *rule, struct json *condition,
				   int64_t now);

#endif
