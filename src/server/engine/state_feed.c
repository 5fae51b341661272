/*
 * The store's feed, which advances committed. A batch of events is applied object by object. Then
 * each lane gets one message, waiting reads resume, and the store answers the writers
 * (state_write.c).
 */
#include "base/report/metrics.h"
#include "server/cache/reclaim.h"
#include "server/engine/lane.h"
#include "server/engine/sequencer.h"

enum { TIDY_MS = 60 * 1000 };

/* The new state of an event; NULL if its bytes are not a valid object. */
static struct object *made(struct resource *r, const struct store_event *e)
{
	struct state_write *w = e->write ? CONTAINER_OF(e->write, struct state_write, store) : NULL;
	struct object *o = NULL;

	if (w && w->pending && w->changes == r->changes)
		o = object_at(w->pending, e->revision);
	else
		(void)object_new(r->kind, bytes_str(e->value), e->revision, r->state->gates, &o,
				 NULL);
	if (o)
		o->seal = e->seal;
	return o;
}

static void mark_dirty(struct resource *r)
{
	if (!list_empty(&r->dirty))
		return;
	list_push_back(&r->state->dirty, &r->dirty);
	r->ring.now = loop_now(r->state->loop);
	r->batch = r->ring.span.end;
}

/* Takes over both references; `prev` may be NULL. */
static void changed(struct resource *r, const struct store_event *e, enum ring_type type,
		    struct object *o, struct object *prev)
{
	mark_dirty(r);
	if (r->expire && type == RING_DELETED)
		expire_forget(r, o->key);
	else if (r->expire)
		expire_touch(r, o->key);
	if (r->nobservers)
		state_observe_change(r, type == RING_DELETED ? NULL : o, prev);
	if (e->write)
		state_write_committed(CONTAINER_OF(e->write, struct state_write, store), o);
	if (r->events_counter)
		metrics_counter_add(r->events_counter, 1);
	ring_add(&r->ring,
		 &(struct ring_event){
			 .revision = e->revision, .type = type, .object = o, .prev = prev });
}

static void apply_put(struct resource *r, const struct store_event *e)
{
	struct object *o = made(r, e), *prev;

	if (!o) {
		if (r->state->damaged_counter)
			metrics_counter_add(r->state->damaged_counter, 1);
		return;
	}
	prev = resource_put(r, object_ref(o));
	changed(r, e, prev ? RING_MODIFIED : RING_ADDED, o, prev);
}

static void apply_delete(struct resource *r, const struct store_event *e)
{
	struct object *prev = resource_get(r, e->key.ns, e->key.name);

	if (!prev)
		return;
	prev = resource_remove(r, prev->key);
	changed(r, e, RING_DELETED, object_at(prev, e->revision), prev);
}

static void tell_gauges(struct state *st)
{
	if (!st->revision_gauge)
		return;
	metrics_gauge_set(st->revision_gauge, (double)st->revision);
	LIST_FOREACH (node, &st->dirty) {
		struct resource *r = LIST_ENTRY(node, struct resource, dirty);

		metrics_gauge_set(r->objects_gauge, (double)r->objects.count);
		metrics_gauge_set(r->revision_gauge, (double)st->revision);
	}
}

/* Sends the changes of the dirty resources to the lanes. */
static void tell_batch(struct state *st)
{
	LIST_FOREACH (node, &st->dirty) {
		struct resource *r = LIST_ENTRY(node, struct resource, dirty);

		ring_seal(&r->ring);
		ring_trim(&r->ring, r->batch);
	}
	tell_gauges(st);
	for (size_t i = 0; i < st->nlanes; i++)
		lane_tell_batch(st->lanes[i]);
	while (list_pop_front(&st->dirty))
		;
}

static void finish_batch(struct state *st)
{
	tell_batch(st);
	reclaim_flush(st->reclaim);
	state_sync_reached(st);
}

void state_feed_flush(struct resource *r)
{
	struct state *st = r->state;
	struct list others;

	if (list_empty(&r->dirty))
		return;
	list_remove(&r->dirty);
	list_init(&others);
	list_splice_back(&others, &st->dirty);
	list_push_back(&st->dirty, &r->dirty);
	tell_batch(st);
	list_splice_back(&st->dirty, &others);
}

/* Resources without writes must be trimmed too. */
void state_feed_tidy(struct loop_timer *t)
{
	struct state *st = CONTAINER_OF(t, struct state, tidy);

	for (size_t i = 0; i < st->nresources; i++) {
		struct resource *r = st->resources[i];

		r->ring.now = loop_now(st->loop);
		if (ring_has_surplus(&r->ring))
			mark_dirty(r);
	}
	if (!list_empty(&st->dirty))
		finish_batch(st);
	else
		reclaim_flush(st->reclaim);
	loop_timer_start(t, TIDY_MS);
}

static void on_events(void *arg, const struct store_event *events, size_t n, int64_t revision)
{
	struct state *st = arg;
	struct resource *r = NULL;

	for (size_t i = 0; i < n; i++) {
		const struct store_event *e = &events[i];

		st->applying = e->revision;
		if (!r || !str_eq(r->name, e->key.resource))
			r = map_get(&st->by_name, e->key.resource);
		if (r && e->value)
			apply_put(r, e);
		else if (r)
			apply_delete(r, e);
	}
	st->revision = MAX(st->revision, revision);
	finish_batch(st);
}

static void state_feed_on_lost(void *arg, const struct error *err UNUSED)
{
	struct state *st = arg;

	if (!st->stopping)
		state_load_start(st);
}

void state_feed_start(struct state *st)
{
	loop_timer_start(&st->tidy, TIDY_MS);
	store_follow(st->store, st->revision,
		     &(struct store_feed){
			     .on_events = on_events, .on_lost = state_feed_on_lost, .arg = st });
}
