/*
 * Deletes objects that expire. There is one entry per object, in a list ordered by expiry. The
 * time to live is the same for all, so a written object goes to the end, and only the front must
 * be checked. Several servers on one store may try to delete the same object; one succeeds, which
 * is enough.
 */
#include <stdlib.h>

#include "base/core/mem.h"
#include "server/engine/sequencer.h"

enum {
	TTL_MS = 60 * 60 * 1000,
	IN_FLIGHT = 256,
	RETRY_MS = 1000, /* after a failed deletion */
};

struct expire_entry {
	struct list link; /* in no list during the deletion */
	int64_t due; /* loop time, ms */
	struct str key; /* stored after the struct */
};

/* A deletion under way. */
struct expire_delete {
	struct state_write write;
	struct resource *resource;
	struct arena arena;
};

static void state_expire_on_timer(struct loop_timer *t);

static int64_t ttl(const struct resource *r)
{
	return r->state->opts.event_ttl_ms ? r->state->opts.event_ttl_ms : TTL_MS;
}

struct expire_queue *expire_new(struct resource *r)
{
	struct expire_queue *q = XNEW(struct expire_queue);

	list_init(&q->due);
	map_init(&q->by_key);
	loop_timer_init(&q->timer, r->state->loop, state_expire_on_timer);
	q->resource = r;
	return q;
}

void expire_free(struct expire_queue *q)
{
	struct str key;
	size_t at = 0;
	void *entry;

	if (!q)
		return;
	loop_timer_stop(&q->timer);
	while (map_next(&q->by_key, &at, &key, &entry))
		free(entry);
	map_release(&q->by_key);
	free(q);
}

static struct expire_entry *front(const struct expire_queue *q)
{
	return list_empty(&q->due) ? NULL : LIST_ENTRY(q->due.next, struct expire_entry, link);
}

/* The timer runs if there is an entry to wait for and another deletion may begin. */
static void state_expire_arm(struct expire_queue *q, int64_t at_least_ms)
{
	struct expire_entry *e = front(q);

	if (!e || q->deleting >= IN_FLIGHT)
		return;
	if (loop_timer_running(&q->timer))
		return;
	loop_timer_start(&q->timer, MAX(e->due - loop_now(q->timer.loop), at_least_ms));
}

static struct expire_entry *entry_new(struct expire_queue *q, struct str key)
{
	struct expire_entry *e = xmalloc(sizeof(*e) + key.n);

	list_init(&e->link);
	str_put(e + 1, key);
	e->key = str_of(e + 1, key.n);
	(void)map_put(&q->by_key, e->key, e);
	return e;
}

void expire_touch(struct resource *r, struct str key)
{
	struct expire_queue *q = r->expire;
	struct expire_entry *e = map_get(&q->by_key, key);

	if (!e)
		e = entry_new(q, key);
	e->due = loop_now(r->state->loop) + ttl(r);
	list_remove(&e->link);
	list_push_back(&q->due, &e->link);
	state_expire_arm(q, 0);
}

void expire_forget(struct resource *r, struct str key)
{
	struct expire_entry *e = map_remove(&r->expire->by_key, key);

	if (!e)
		return;
	list_remove(&e->link);
	free(e);
}

/* --- deleting --------------------------------------------------------------------- */

/* The deletion failed: the entry goes back to the front, if the object still exists. */
static void put_back(struct expire_queue *q, struct str key)
{
	struct expire_entry *e = map_get(&q->by_key, key);

	if (e && list_empty(&e->link))
		list_push_front(&q->due, &e->link);
	state_expire_arm(q, RETRY_MS);
}

static void deleted(struct state_write *w, struct object *object UNUSED, const struct error *err)
{
	struct expire_delete *d = CONTAINER_OF(w, struct expire_delete, write);
	struct expire_queue *q = d->resource->expire;

	q->deleting--;
	if (err)
		put_back(q, w->key);
	else
		state_expire_arm(q, 0);
	arena_release(&d->arena);
	free(d);
}

static bool delete_one(struct resource *r, struct expire_entry *e)
{
	struct object *o = resource_find(r, e->key);
	struct expire_delete *d;
	int ret;

	/* A pending write will change or delete it. */
	if (!o || resource_tip(r, object_ns(o), object_name(o)) != o)
		return false;
	d = XNEW(struct expire_delete);
	d->resource = r;
	d->write.done = deleted;
	arena_init(&d->arena, SIZE_MAX);
	ret = state_write(&d->write, r, object_ns(o), object_name(o), o, NULL, &d->arena, NULL);
	if (ret == 0)
		return true;
	arena_release(&d->arena);
	free(d);
	return false;
}

static void state_expire_on_timer(struct loop_timer *t)
{
	struct expire_queue *q = CONTAINER_OF(t, struct expire_queue, timer);
	int64_t now = loop_now(t->loop);
	struct expire_entry *e;

	while ((e = front(q)) && e->due <= now && q->deleting < IN_FLIGHT) {
		list_remove(&e->link);
		if (delete_one(q->resource, e)) {
			q->deleting++;
			continue;
		}
		if (q->resource->state->stopping)
			return;
		put_back(q, e->key);
		return;
	}
	state_expire_arm(q, 0);
}

/* --- loading ---------------------------------------------------------------------- */

static int by_due(const void *a, const void *b)
{
	const struct expire_entry *x = *(struct expire_entry *const *)a;
	const struct expire_entry *y = *(struct expire_entry *const *)b;

	return x->due < y->due ? -1 : x->due > y->due;
}

/* Removes entries whose objects are gone. */
static void prune(struct resource *r)
{
	struct expire_queue *q = r->expire;

	LIST_FOREACH_SAFE (it, &q->due) {
		struct expire_entry *e = LIST_ENTRY(it, struct expire_entry, link);

		if (!resource_find(r, e->key))
			expire_forget(r, e->key);
	}
}

void expire_loaded(struct resource *r)
{
	struct expire_queue *q = r->expire;
	int64_t now = loop_now(r->state->loop);
	int64_t wall_s = clock_wall(loop_clock(r->state->loop)) / CLOCK_SEC;
	struct expire_entry **entries = xcalloc(r->objects.count + 1,
						sizeof(struct expire_entry *));
	struct resource_place at = { 0 };
	const struct object *o;
	size_t n = 0;

	prune(r);
	while ((o = resource_blocks_next(&r->objects, &at))) {
		struct expire_entry *e = map_get(&q->by_key, o->key);
		int64_t age_ms = MAX(wall_s - o->created_s, (int64_t)0) * 1000;

		if (!e) {
			e = entry_new(q, o->key);
			e->due = now + MAX(ttl(r) - age_ms, (int64_t)0);
		} else if (list_empty(&e->link)) {
			continue; /* its deletion is under way */
		}
		entries[n++] = e;
	}
	qsort(entries, n, sizeof(struct expire_entry *), by_due);
	for (size_t i = 0; i < n; i++) {
		list_remove(&entries[i]->link);
		list_push_back(&q->due, &entries[i]->link);
	}
	free(entries);
	state_expire_arm(q, 0);
}
