/*
 * Two ordered maps are merged: where a key is in the overlay, that is what counts. The rest
 * behind a page of the past is counted by steps through the leaves, without a look at the
 * objects.
 */
#include "server/resource_walk.h"

#include <stdlib.h>

void resource_walk_init(struct resource_walk *w, const struct omap *objects,
			const struct omap *overlay, struct str prefix, struct str after)
{
	*w = (struct resource_walk){ .objects = objects, .overlay = overlay, .prefix = prefix };
	if (after.n && str_cmp(after, prefix) >= 0) {
		w->at_ok = omap_seek_after(objects, &w->at, after);
		w->over_ok = overlay && omap_seek_after(overlay, &w->over, after);
		return;
	}
	w->at_ok = omap_seek(objects, &w->at, prefix);
	w->over_ok = overlay && omap_seek(overlay, &w->over, prefix);
}

static bool within(const struct resource_walk *w, const struct omap_cursor *c)
{
	return !w->prefix.n || str_starts(omap_key(c), w->prefix);
}

/* The next object of the present, where no overlay speaks. */
static struct object *next_present(struct resource_walk *w)
{
	struct object *o = omap_value(&w->at);

	w->at_ok = omap_next(&w->at);
	return o;
}

struct object *resource_walk_next(struct resource_walk *w)
{
	for (;;) {
		struct ring_event *e;
		int c;

		w->at_ok = w->at_ok && within(w, &w->at);
		w->over_ok = w->over_ok && within(w, &w->over);
		if (!w->over_ok)
			return w->at_ok ? next_present(w) : NULL;
		c = w->at_ok ? str_cmp(omap_key(&w->at), omap_key(&w->over)) : 1;
		if (c < 0)
			return next_present(w);
		if (c == 0)
			w->at_ok = omap_next(&w->at);
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

static struct str prefix_of(struct arena *a, struct str ns)
{
	return ns.n ? resource_key(a, ns, STR("")) : STR_NULL;
}

/* How many of the prefix there are now. */
static size_t count_all(const struct resource *r, struct str prefix)
{
	const struct resource_space *space = prefix.n ? omap_get(&r->spaces, prefix) : NULL;

	return space ? space->count : prefix.n ? 0 : r->objects.n;
}

/* What is behind a page of n objects that ended before the walk's last one. */
static int64_t count_rest(struct resource_walk *w, const struct resource *r,
			  const struct list_query *q, size_t n)
{
	int64_t rest = 1;

	if (!w->overlay && !q->after.n)
		return (int64_t)(count_all(r, w->prefix) - n);
	while (resource_walk_next(w))
		rest++;
	return rest;
}

void resource_walk_list(struct resource *r, const struct omap *overlay, const struct list_query *q,
			struct arena *a, struct list_result *ret_list)
{
	struct resource_filter f = resource_filter_of(r, q);
	bool all = !f.labels.n && !f.fields.n;
	size_t room = q->limit ? MIN(q->limit, r->objects.n) : all ? r->objects.n : 16;
	struct resource_snapshot *s = resource_snapshot_new(room);
	struct resource_walk w;
	struct object *o;

	resource_walk_init(&w, &r->objects, overlay, prefix_of(a, f.ns), q->after);
	while ((o = resource_walk_next(&w)) && !(q->limit && s->n == q->limit))
		if (all || resource_filter_matches(&f, o))
			resource_snapshot_add(&s, o);

	*ret_list = (struct list_result){ .items = s->items, .n = s->n, .more = o != NULL };
	ret_list->remaining = all ? 0 : -1;
	if (o && all)
		ret_list->remaining = count_rest(&w, r, q, s->n);
	if (o && s->n)
		ret_list->last = arena_str(a, s->items[s->n - 1]->key);
	resource_snapshot_hold(a, s);
}
