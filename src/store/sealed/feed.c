/*
 * Events are opened batch by batch. A batch with a value whose key is not there yet is copied and
 * held, and so is everything after it: later batches, and the ends of writes, since a write's event
 * comes before its end. So order is kept, and nothing is skipped.
 *
 * Events of this process's writes need no key: the writer still has the value.
 */
#include <stdlib.h>

#include "base/core/mem.h"
#include "store/sealed/sealed_impl.h"
#include "store/store_limits.h"

enum { RETRY_MS = 1000 };

/* A batch, or the end of a write. */
struct sealed_held {
	struct list link;
	struct arena arena; /* keys and events */
	struct store_event *events; /* each with a reference to its value */
	size_t n, opened; /* all of them; those that are open */
	int64_t revision;
	size_t bytes;
	struct store_write *write; /* or NULL: a batch */
	struct error err; /* of the write; code ERR_OK: written */
};

/* --- opening ------------------------------------------------------------------------ */

static int open_foreign(struct sealed_store *s, const struct store_event *e,
			struct store_event *out, struct error *err)
{
	struct sealed_found found;
	int r = sealed_value_find(sealed_rule_of(s, e->key.resource), bytes_str(e->value), &found,
				  err);

	if (r == 1)
		return error_set(err, ERR_UNAVAILABLE, "its KMS plugin was asked for the key");
	if (r == 0 && !found.key)
		return 0;
	if (r == 0) {
		out->value = bytes_new(found.n);
		out->seal = found.seal;
		r = sealed_value_open(&found, &e->key, out->value->data, err);
		bytes_unref(r == 0 ? e->value : out->value);
	}
	if (r == 0)
		return 0;
	out->value = e->value;
	if (r != -ERR_INTERNAL)
		return r;
	if (s->damaged)
		metrics_counter_add(s->damaged, 1);
	return 0;
}

/* Opens one event, whose value has a reference; *out takes it over, or gets another one. */
static int open_event(struct sealed_store *s, const struct store_event *e, struct store_event *out,
		      struct error *err)
{
	struct store_write *w = e->write;

	*out = *e;
	out->seal = 0;
	if (!e->value)
		return 0;
	if (!w)
		return open_foreign(s, e, out, err);
	out->value = bytes_ref(w->clear ? w->clear : w->value);
	out->seal = w->seal;
	bytes_unref(e->value);
	return 0;
}

/*
 * Opens the events in place, as far as it gets, and returns the number of those that are open. Each
 * value has a reference.
 */
static size_t open_events(struct sealed_store *s, struct store_event *events, size_t from, size_t n)
{
	struct store_event opened;
	int r;

	for (size_t i = from; i < n; i++) {
		r = open_event(s, &events[i], &opened, &s->held_why);
		if (r < 0) {
			(void)sealed_blame(&events[i].key, r, &s->held_why);
			return i;
		}
		events[i] = opened;
	}
	return n;
}

static void drop_events(struct store_event *events, size_t n)
{
	for (size_t i = 0; i < n; i++)
		bytes_unref(events[i].value);
}

/* --- holding ------------------------------------------------------------------------ */

static void held_free(struct sealed_store *s, struct sealed_held *h)
{
	s->held_bytes -= h->bytes;
	drop_events(h->events, h->n);
	arena_release(&h->arena);
	free(h);
}

static struct sealed_held *held_add(struct sealed_store *s)
{
	struct sealed_held *h = XNEW(struct sealed_held);

	arena_init(&h->arena, SIZE_MAX);
	if (list_empty(&s->held)) {
		s->held_since = loop_now(s->base.loop);
		loop_timer_start(&s->retry, RETRY_MS);
	}
	list_push_back(&s->held, &h->link);
	return h;
}

static void hold_batch(struct sealed_store *s, const struct store_event *events, size_t n,
		       int64_t revision)
{
	struct sealed_held *h = held_add(s);

	h->events = ARENA_ARRAY(&h->arena, struct store_event, n);
	h->n = n;
	h->revision = revision;
	for (size_t i = 0; i < n; i++) {
		struct store_event *e = &h->events[i];

		*e = events[i];
		e->key.resource = arena_str(&h->arena, e->key.resource);
		e->key.ns = arena_str(&h->arena, e->key.ns);
		e->key.name = arena_str(&h->arena, e->key.name);
		h->bytes += sizeof(*e) + (e->value ? e->value->n : 0);
		if (e->value)
			(void)bytes_ref(e->value);
	}
	s->held_bytes += h->bytes;
}

bool sealed_feed_hold(struct sealed_store *s, struct store_write *w, const struct error *err)
{
	struct sealed_held *h;

	if (list_empty(&s->held))
		return false;
	h = held_add(s);
	h->write = w;
	if (err)
		h->err = *err;
	return true;
}

void sealed_feed_drop(struct sealed_store *s)
{
	struct list ends, *node;

	list_init(&ends);
	loop_timer_stop(&s->retry);
	s->held_why.code = ERR_OK;
	while ((node = list_pop_front(&s->held))) {
		struct sealed_held *h = LIST_ENTRY(node, struct sealed_held, link);

		if (h->write)
			list_push_back(&ends, &h->link);
		else
			held_free(s, h);
	}
	while ((node = list_pop_front(&ends))) {
		struct sealed_held *h = LIST_ENTRY(node, struct sealed_held, link);

		sealed_write_end(s, h->write, h->err.code ? &h->err : NULL);
		held_free(s, h);
	}
}

/* --- delivering --------------------------------------------------------------------- */

static void feed_lose(struct sealed_store *s, const struct error *why)
{
	struct store_feed feed = s->feed;
	struct error err = *why;

	s->following = false;
	feed.on_lost(feed.arg, &err);
	sealed_feed_drop(s);
}

static void sealed_on_lost(void *arg, const struct error *err)
{
	struct sealed_store *s = arg;

	if (s->following)
		feed_lose(s, err);
}

/* Delivers a held batch or ends a write. Returns false if it must wait still. */
static bool release_one(struct sealed_store *s, struct sealed_held *h)
{
	h->opened = open_events(s, h->events, h->opened, h->n);
	if (h->opened < h->n)
		return false;
	list_remove(&h->link);
	if (h->write)
		sealed_write_end(s, h->write, h->err.code ? &h->err : NULL);
	else
		s->feed.on_events(s->feed.arg, h->events, h->n, h->revision);
	held_free(s, h);
	return true;
}

void sealed_feed_resume(struct sealed_store *s)
{
	while (!list_empty(&s->held))
		if (!release_one(s, LIST_ENTRY(s->held.next, struct sealed_held, link)))
			return;
	loop_timer_stop(&s->retry);
	s->held_why.code = ERR_OK;
}

/* Delivers a batch without copying its keys. Returns false if it must wait. */
static bool deliver_now(struct sealed_store *s, const struct store_event *events, size_t n,
			int64_t revision)
{
	struct store_event *opened = xcalloc(MAX(n, (size_t)1), sizeof(*opened));
	bool all;

	for (size_t i = 0; i < n; i++) {
		opened[i] = events[i];
		if (events[i].value)
			(void)bytes_ref(events[i].value);
	}
	all = open_events(s, opened, 0, n) == n;
	if (all)
		s->feed.on_events(s->feed.arg, opened, n, revision);
	drop_events(opened, n);
	free(opened);
	return all;
}

static void sealed_on_events(void *arg, const struct store_event *events, size_t n,
			     int64_t revision)
{
	struct sealed_store *s = arg;
	struct error why;

	if (!s->following)
		return;
	if (list_empty(&s->held) && deliver_now(s, events, n, revision))
		return;
	hold_batch(s, events, n, revision);
	if (s->held_bytes <= SEALED_HELD_MAX)
		return;
	why = s->held_why;
	feed_lose(s, &why);
}

static void sealed_on_retry(struct loop_timer *t)
{
	struct sealed_store *s = CONTAINER_OF(t, struct sealed_store, retry);

	loop_timer_start(t, RETRY_MS);
	sealed_feed_resume(s);
}

void sealed_follow(struct store *base, int64_t revision, const struct store_feed *feed)
{
	struct sealed_store *s = sealed_of(base);

	s->feed = *feed;
	s->following = true;
	store_follow(s->inner, revision,
		     &(struct store_feed){
			     .on_events = sealed_on_events, .on_lost = sealed_on_lost, .arg = s });
}

void sealed_feed_init(struct sealed_store *s)
{
	list_init(&s->held);
	loop_timer_init(&s->retry, s->base.loop, sealed_on_retry);
}
