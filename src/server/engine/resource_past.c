/*
 * Lists as of an older revision. If the ring reaches back that far, the events since are undone:
 * for each key that changed, the first event has the object before it. Otherwise the store's
 * history is read. The store orders namespaces differently ("a-b" after "a", but the key "a-b/x"
 * comes before "a/x"), so everything is read and sorted here before a page is cut. A revision
 * that the store has dropped is reported as expired even if the ring still has it, so that a
 * list's continue token expires by its age alone.
 */
#include <stdlib.h>

#include "base/core/mem.h"
#include "server/engine/resource_walk.h"

struct past {
	struct resource *resource;
	struct list_query query; /* a copy with its texts */
	struct arena *arena;
	void (*done)(void *arg, const struct list_result *result, const struct error *err);
	void *arg;
};

/* --- from the ring ---------------------------------------------------------------- */

static void overlay_add(struct omap *overlay, struct ring_chunk *c, int64_t revision)
{
	for (uint32_t i = 0; i < c->n; i++) {
		struct ring_event *e = &c->events[i];

		if (e->revision > revision && !omap_get(overlay, e->object->key))
			(void)omap_put(overlay, e->object->key, e);
	}
}

static void list_from_ring(struct resource *r, const struct list_query *q, struct arena *a,
			   void (*done)(void *arg, const struct list_result *result,
					const struct error *err),
			   void *arg)
{
	__attribute__((cleanup(omap_release_cleanup))) struct omap overlay;
	const struct ring_span *span = &r->ring.span;
	struct list_result list;

	omap_init(&overlay);
	for (uint64_t seq = ring_span_find(span, q->revision); seq < span->end; seq++)
		overlay_add(&overlay, ring_span_at(span, seq), q->revision);
	if (!overlay.n) {
		resource_list_present(r, q, q->revision, a, done, arg);
		return;
	}
	resource_walk_list(r, &overlay, q, a, &list);
	list.revision = q->revision;
	done(arg, &list, NULL);
}

/* --- from the store --------------------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
	return str_cmp((*(struct object *const *)a)->key, (*(struct object *const *)b)->key);
}

/* The objects of a range that match, in key order. */
static int read_range(const struct past *p, const struct store_range_result *range,
		      struct resource_snapshot **ret_snapshot, struct error *err)
{
	struct resource_filter f = resource_filter_of(p->resource, &p->query);
	struct resource_snapshot *s = resource_snapshot_new(range->n, 0);
	int r = 0;

	for (size_t i = 0; i < range->n && r == 0; i++) {
		CLEANUP(object_unref) struct object *o = NULL;

		r = object_new(f.kind, str_of(range->items[i].value.p, range->items[i].value.n),
			       range->items[i].revision, p->resource->state->gates, &o, err);
		if (r == 0 && resource_filter_matches(&f, o))
			resource_snapshot_add(&s, o);
	}
	if (r < 0) {
		resource_snapshot_unref(s);
		return r;
	}
	qsort(s->items, s->n, sizeof(struct object *), by_key);
	*ret_snapshot = s;
	return 0;
}

static void range_done(void *arg, const struct store_range_result *range, const struct error *err)
{
	struct past *p = arg;
	struct list_query *q = &p->query;
	struct resource_snapshot *s;
	struct list_result list;
	struct error fault;

	if (!err && read_range(p, range, &s, &fault) < 0)
		err = &fault;
	if (err) {
		p->done(p->arg, NULL, err);
		return;
	}
	resource_snapshot_hold(p->arena, s);
	resource_list_cut(s, q, p->arena, &list);
	list.revision = q->revision;
	p->done(p->arg, &list, NULL);
}

static void list_from_store(struct resource *r, const struct list_query *q, struct arena *a,
			    void (*done)(void *arg, const struct list_result *result,
					 const struct error *err),
			    void *arg)
{
	struct past *p = ARENA_NEW(a, struct past);
	struct store_range range = { .resource = r->kind->storage_name, .revision = q->revision };

	*p = (struct past){ .resource = r, .query = *q, .arena = a, .done = done, .arg = arg };
	p->query.ns = arena_str(a, q->ns);
	p->query.after = arena_str(a, q->after);
	p->query.labels = selector_copy(a, &q->labels);
	p->query.fields = selector_copy(a, &q->fields);
	range.ns = resource_filter_of(r, &p->query).ns;
	store_range(r->state->store, &range, a, range_done, p);
}

void resource_list_past(struct resource *r, const struct list_query *q, struct arena *a,
			void (*done)(void *arg, const struct list_result *result,
				     const struct error *err),
			void *arg)
{
	int64_t now = r->state->revision;
	struct error err;

	if (q->revision > now) {
		(void)error_set(&err, ERR_TIMEOUT,
				"Too large resource version: %lld, current: %lld",
				(long long)q->revision, (long long)now);
		done(arg, NULL, &err);
	} else if (!r->state->closing && q->revision < store_compacted(r->state->store)) {
		(void)error_set(&err, ERR_EXPIRED, "revision %lld is compacted",
				(long long)q->revision);
		done(arg, NULL, &err);
	} else if (q->revision >= r->ring.oldest) {
		list_from_ring(r, q, a, done, arg);
	} else if (r->state->closing) {
		(void)error_set(&err, ERR_UNAVAILABLE, "the server is shutting down");
		done(arg, NULL, &err);
	} else {
		list_from_store(r, q, a, done, arg);
	}
}
