/*
 * binding_fixture - a binding that only records the verdict of a plugin, for tests.
 */
#ifndef SCHEDULER_FRAMEWORK_BINDING_FIXTURE_H
#define SCHEDULER_FRAMEWORK_BINDING_FIXTURE_H

#include "scheduler/framework/binding.h"

struct kept_binding {
	struct binding binding;
	unsigned ended; /* steps so far */
	struct verdict answer; /* of the last one */
};

static inline void kept_binding_done(struct binding *b, struct verdict v)
{
	struct kept_binding *k = CONTAINER_OF(b, struct kept_binding, binding);

	k->ended++;
	k->answer = v;
	b->on_cancel = NULL;
}

/* Returns a binding of the cycle's pod to node n1. */
static inline struct kept_binding kept_binding_of(struct cycle *c)
{
	return (struct kept_binding){
		.binding = { .cycle = c, .node = STR("n1"), .done = kept_binding_done }
	};
}

static inline bool kept_binding_has_ended(void *arg)
{
	return ((struct kept_binding *)arg)->ended > 0;
}

static inline void kept_binding_cancel(struct kept_binding *k)
{
	k->binding.cancelled = true;
	k->binding.on_cancel(k->binding.cancel_arg, &k->binding);
}

#endif
