/*
 * Merges two ordered sources; an overlay entry takes precedence for its key. The number of
 * remaining items is the current number, which needs no walk, corrected by the overlay's keys
 * after the page.
 */
#include "server/engine/resource_walk.h"

#include <stdlib.h>

static bool within(const struct resource_walk *w, struct str key)
{
	return !w->prefix.n || str_starts(key, w->prefix);
}

/* Advances to the next present object and returns the previous one. */
static struct object *next_present(struct resource_walk *w)
{
	struct object *o = w->present;

	w->present = resource_blocks_next(w->objects, &w->at);
	if (w->present && !within(w, w->present->key))
		w->present = NULL;
	return o;
}

void resource_walk_init(struct resource_walk *w, const struct resource_blocks *objects,
			const struct omap *overlay, struct str prefix, struct str after)
{
	bool behind = after.n && str_cmp(after, prefix) >= 0;
	struct str from = behind ? after : prefix;

	*w = (struct resource_walk){ .objects = objects, .overlay = overlay, .prefix = prefix };
	w->at = resource_blocks_seek(objects, from, behind);
	(void)next_present(w);
	if (overlay)
		w->over_ok = (behind ? omap_seek_after : omap_seek)(overlay, &w->over, from);
}

struct object *resource_walk_next(struct resource_walk *w)
{
	for (;;) {
		struct ring_event *e;
		int c;

		w->over_ok = w->over_ok && within(w, omap_key(&w->over));
		if (!w->over_ok)
			return w->present ? next_present(w) : NULL;
		c = w->present ? str_cmp(w->present->key, omap_key(&w->over)) : 1;
		if (c < 0)
			return next_present(w);
		if (c == 0)
			(void)next_present(w);
		e = omap_value(&w->over);
		w->over_ok = omap_next(&w->over);
		if (e->prev)
			return e->prev;
	}
}

/* --- lists ------------------------------------------------------------------------ */

struct resource_filter resource_filter_of(const struct resource *r, const struct list_query *q)
{
	struct resource_filter f = {
		.kind = r->kind, .ns = q->ns, .labels = q->labels, .fields = q->fields
	};

	if (!f.ns.n && f.fields.n && (r->kind->flags & SCHEMA_NAMESPACED))
		f.ns = selector_required_value(&f.fields, STR("metadata.namespace"));
	return f;
}

/* The current number of objects with the prefix after the key `last`. */
static size_t count_present(const struct resource *r, struct str prefix, struct str last)
{
	const struct resource_space *space = prefix.n ? omap_get(&r->spaces, prefix) : NULL;
	size_t n = space ? space->count : prefix.n ? 0 : r->objects.count;

	return n - resource_blocks_between(&r->objects,
					   resource_blocks_seek(&r->objects, prefix, false),
					   resource_blocks_seek(&r->objects, last, true));
}

/* The number of objects after a page that ended with that key. */
static int64_t count_rest(const struct resource *r, const struct omap *overlay, struct str prefix,
			  struct str last)
{
	int64_t rest = (int64_t)count_present(r, prefix, last);
	struct omap_cursor c;

	for (bool ok = omap_seek_after(overlay, &c, last); ok && str_starts(omap_key(&c), prefix);
	     ok = omap_next(&c)) {
		const struct ring_event *e = omap_value(&c);

		rest += (e->prev ? 1 : 0) - (resource_find(r, omap_key(&c)) ? 1 : 0);
	}
	return rest;
}

void resource_walk_list(struct resource *r, const struct omap *overlay, const struct list_query *q,
			struct arena *a, struct list_result *ret_list)
{
	struct resource_filter f = resource_filter_of(r, q);
	bool all = !f.labels.n && !f.fields.n;
	size_t room = q->limit ? MIN(q->limit, r->objects.count) : all ? r->objects.count : 16;
	struct resource_snapshot *s = resource_snapshot_new(room, 0);
	struct str prefix = f.ns.n ? resource_key(a, f.ns, STR("")) : STR_NULL;
	struct resource_walk w;
	struct object *o;

	resource_walk_init(&w, &r->objects, overlay, prefix, q->after);
	while ((o = resource_walk_next(&w)) && !(q->limit && s->n == q->limit))
		if (all || resource_filter_matches(&f, o))
			resource_snapshot_add(&s, o);

	*ret_list = (struct list_result){
		.items = s->items, .n = s->n, .bytes = s->bytes, .more = o != NULL
	};
	ret_list->remaining = all ? 0 : -1;
	if (o)
		ret_list->last = arena_str(a, s->items[s->n - 1]->key);
	if (o && all)
		ret_list->remaining = count_rest(r, overlay, prefix, ret_list->last);
	resource_snapshot_hold(a, s);
}
