/*
 * Resources of kinds that are defined at run time, and may change or be deleted at run time. A
 * resource stays registered as long as the server runs, so a reader of a deleted kind finds it
 * empty. When a kind changes, all its objects are made again, because their headers and texts
 * depend on it. Only then does a write cost as much as its resource is large, and definitions
 * change rarely. The past is in the old kind's form, so it is dropped: watches end and start
 * again, as upstream's do.
 */
#include <stdlib.h>

#include "api/crd/crd.h"
#include "base/core/mem.h"
#include "base/report/metrics.h"
#include "server/engine/lane.h"
#include "server/engine/sequencer.h"

/* The object in the form of the resource's current kind; NULL if its bytes are damaged. */
static struct object *remade(const struct resource *r, const struct object *o)
{
	__attribute__((cleanup(arena_release_cleanup))) struct arena a;
	struct bytes *stored = NULL;
	struct object *made = NULL;
	struct json *tree;

	arena_init(&a, SIZE_MAX);
	if (object_tree(o, &a, &tree, NULL) < 0 || object_encode(tree, &stored, NULL) < 0)
		return NULL;
	(void)object_new(r->kind, bytes_str(stored), o->revision, r->state->gates, &made, NULL);
	bytes_unref(stored);
	if (made)
		made->seal = o->seal;
	return made;
}

/* During a reload, objects arrive in `loading` already in the new kind's form. */
static void remake(struct resource *r)
{
	struct resource_blocks old = r->objects;
	struct resource_place at = { 0 };
	struct object *o, *made;

	resource_blocks_init(&r->objects);
	resource_forget_lists(r);
	while ((o = resource_blocks_next(&old, &at))) {
		made = remade(r, o);
		if (made)
			(void)resource_put(r, made);
	}
	resource_blocks_clear(&old);
}

static void tell_lanes(struct resource *r)
{
	resource_forget_past(r);
	r->batch = r->ring.span.end;
	for (size_t i = 0; i < r->state->nlanes; i++)
		lane_tell_changed(r->state->lanes[i], r);
}

void resource_change(struct resource *r, const struct schema_kind *kind)
{
	struct crd *before = r->custom;

	state_feed_flush(r);
	r->custom = crd_ref(crd_of(kind));
	r->kind = kind;
	r->gone = false;
	r->changes++;
	remake(r);
	tell_lanes(r);
	crd_unref(before);
}

void resource_drop(struct resource *r)
{
	state_feed_flush(r);
	r->gone = true;
	r->changes++;
	resource_clear(r);
	tell_lanes(r);
	if (r->objects_gauge)
		metrics_gauge_set(r->objects_gauge, 0);
}
