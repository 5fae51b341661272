/*
 * Observers are few and fixed: each resource collects its own when it is created.
 */
#include <stdlib.h>

#include "base/core/mem.h"
#include "server/engine/sequencer.h"

void state_observe_find(struct resource *r)
{
	const struct state_opts *opts = &r->state->opts;

	for (size_t i = 0; i < opts->nobservers; i++) {
		const struct state_observer *o = &opts->observers[i];

		if (!str_eq(o->group, r->kind->group) || !str_eq(o->resource, r->kind->resource))
			continue;
		r->observers = xrealloc(r->observers, (r->nobservers + 1) * sizeof(*r->observers));
		r->observers[r->nobservers++] = o;
	}
}

void state_observe_change(struct resource *r, struct object *now, struct object *before)
{
	for (size_t i = 0; i < r->nobservers; i++)
		r->observers[i]->changed(r->observers[i]->arg, now, before);
}

bool state_observed_early(const struct resource *r)
{
	for (size_t i = 0; i < r->nobservers; i++)
		if (r->observers[i]->early)
			return true;
	return false;
}

void state_observe_all(struct resource *r, const struct resource_blocks *objects)
{
	struct resource_place at = { 0 };
	struct object *o;

	for (size_t i = 0; i < r->nobservers; i++)
		if (r->observers[i]->reset)
			r->observers[i]->reset(r->observers[i]->arg);
	if (!r->nobservers)
		return;
	while ((o = resource_blocks_next(objects, &at)))
		state_observe_change(r, o, NULL);
}
