/*
 * Reads run immediately on the loop, on a snapshot as new as the last finished batch. The result is
 * delivered at the end of the turn, because callbacks never run inside the call that requested
 * them.
 */
#include "store/lmdb/store_impl.h"

#include <inttypes.h>

#include "base/core/arena.h"
#include "base/core/mem.h"

enum {
	REPLAY_EVENTS = 256, /* events per call when the feed catches up */
	FORGET_ITEMS = 1000, /* a range of so many items has read many pages */
};

/* A result that waits for the end of the turn; one of the two callbacks is set. */
struct answer {
	struct list link;
	void (*range)(void *arg, const struct store_range_result *result, const struct error *err);
	void (*current)(void *arg, int64_t revision, const struct error *err);
	void *arg;
	struct store_range_result result;
	int64_t revision;
	struct error err; /* code ERR_OK: none */
};

/* A range that waits until everything up to `revision` is in data.mdb. */
struct parked {
	struct list link;
	struct answer *answer; /* in no list */
	struct store_range range; /* its pieces are in the arena */
	struct arena *arena;
	int64_t revision;
};

static void reader_hand_over(const struct answer *a)
{
	const struct error *err = a->err.code ? &a->err : NULL;

	if (a->range)
		a->range(a->arg, err ? NULL : &a->result, err);
	else
		a->current(a->arg, a->revision, err);
}

void lmdb_reader_flush(struct lmdb_store *s)
{
	struct answer *a;
	struct list *node;

	while ((node = list_pop_front(&s->answers))) {
		a = LIST_ENTRY(node, struct answer, link);
		reader_hand_over(a);
		free(a);
	}
}

static void reader_on_answer(struct loop_task *t)
{
	lmdb_reader_flush(CONTAINER_OF(t, struct lmdb_store, answer));
}

static struct answer *add_answer(struct lmdb_store *s, void *arg)
{
	struct answer *a = XNEW(struct answer);

	a->arg = arg;
	list_push_back(&s->answers, &a->link);
	loop_defer(s->base.loop, &s->answer);
	return a;
}

/* Renews the view of a read-only store, because another process writes it. */
static int refresh(struct lmdb_store *s, struct error *err)
{
	int rc;

	if (!s->read_only)
		return 0;
	mdb_txn_reset(s->view.txn);
	rc = mdb_txn_renew(s->view.txn);
	if (rc)
		return lmdb_error(err, ERR_IO, rc, s->env.dir);
	return lmdb_env_revisions(&s->env, s->view.txn, &s->view.revision, &s->view.compacted, err);
}

static void answer_range(struct lmdb_store *s, struct answer *a, const struct store_range *range,
			 struct arena *arena)
{
	if (refresh(s, &a->err) == 0)
		(void)lmdb_read_range(&s->env, &s->view, &s->resources, range, arena, &a->result,
				      &a->err);
	if (a->result.n >= FORGET_ITEMS)
		lmdb_env_forget_pages(&s->env);
}

/* The revision that the view must have reached, so that the range includes all finished writes. */
static int64_t revision_for(const struct lmdb_store *s, const struct store_range *range)
{
	int64_t newest = lmdb_store_newest(s);

	return range->revision ? MIN(range->revision, newest) : newest;
}

static void park(struct lmdb_store *s, struct answer *a, const struct store_range *range,
		 struct arena *arena)
{
	struct parked *p = XNEW(struct parked);

	list_remove(&a->link);
	*p = (struct parked){ .answer = a, .range = *range, .arena = arena };
	p->range.resource = arena_str(arena, range->resource);
	p->range.ns = arena_str(arena, range->ns);
	p->range.after_ns = arena_str(arena, range->after_ns);
	p->range.after_name = arena_str(arena, range->after_name);
	p->revision = revision_for(s, range);
	list_push_back(&s->applier.parked, &p->link);
	lmdb_applier_kick(s);
}

void lmdb_reader_unpark(struct lmdb_store *s, const struct error *err)
{
	LIST_FOREACH_SAFE (it, &s->applier.parked) {
		struct parked *p = LIST_ENTRY(it, struct parked, link);

		if (p->revision > s->view.revision && !err)
			continue;
		if (p->revision > s->view.revision)
			p->answer->err = *err;
		else
			answer_range(s, p->answer, &p->range, p->arena);
		list_push_back(&s->answers, &p->answer->link);
		loop_defer(s->base.loop, &s->answer);
		list_remove(&p->link);
		free(p);
	}
}

void lmdb_reader_range(struct store *base, const struct store_range *range, struct arena *arena,
		       void (*done)(void *arg, const struct store_range_result *result,
				    const struct error *err),
		       void *arg)
{
	struct lmdb_store *s = lmdb_store_of(base);
	struct answer *a = add_answer(s, arg);

	a->range = done;
	if (revision_for(s, range) <= s->view.revision)
		answer_range(s, a, range, arena);
	else if (s->applier.failed.code == ERR_IO)
		a->err = s->applier.failed;
	else
		park(s, a, range, arena);
}

void lmdb_reader_current(struct store *base,
			 void (*done)(void *arg, int64_t revision, const struct error *err),
			 void *arg)
{
	struct lmdb_store *s = lmdb_store_of(base);
	struct answer *a = add_answer(s, arg);

	a->current = done;
	(void)refresh(s, &a->err);
	a->revision = lmdb_store_newest(s);
}

int lmdb_reader_history(struct store *base, struct str resource, int64_t revision, size_t max_bytes,
			struct arena *arena, struct store_past *ret_past, struct error *err)
{
	struct lmdb_store *s = lmdb_store_of(base);
	const struct lmdb_resource *r = lmdb_resources_find(&s->resources, resource);
	int rc = lmdb_applier_drain(s, err);

	if (rc < 0)
		return rc;
	*ret_past = (struct store_past){ .from = MAX(revision, s->view.compacted) };
	if (!r)
		return 0;
	return lmdb_history_read(&s->history, &s->env, &s->view, r, max_bytes, arena, ret_past,
				 err);
}

/* --- the feed ---------------------------------------------------------------------------- */

struct replay {
	struct lmdb_store *store;
	struct store_event events[REPLAY_EVENTS];
	size_t n;
};

static void replay_flush(struct replay *p)
{
	const struct store_feed *feed = &p->store->feed;

	if (p->n)
		feed->on_events(feed->arg, p->events, p->n, p->events[p->n - 1].revision);
	for (size_t i = 0; i < p->n; i++)
		bytes_unref(p->events[i].value);
	p->n = 0;
}

static bool replay_one(void *arg, const struct lmdb_change *c, struct str value)
{
	struct replay *p = arg;
	struct store_event *e = &p->events[p->n];
	const struct lmdb_resource *r;
	uint32_t id;

	*e = (struct store_event){ .revision = c->revision };
	if (!lmdb_key_parse(c->key, &id, &e->key.ns, &e->key.name))
		return false;
	r = lmdb_resources_at(&p->store->resources, id);
	if (!r)
		return false;
	e->key.resource = r->name;
	e->value = c->deleted ? NULL : bytes_copy(value);
	if (++p->n == REPLAY_EVENTS)
		replay_flush(p);
	return true;
}

/* Changes that are in the journal only: the feed must not wait for data.mdb. */
static void replay_backlog(struct replay *p, struct lmdb_store *s)
{
	LIST_FOREACH (it, &s->applier.backlog) {
		const struct journal_record *r = LIST_ENTRY(it, struct journal_record, link);

		for (size_t i = 0; i < r->n; i++) {
			const struct journal_entry *e = &r->entries[i];
			struct lmdb_change c = { .revision = e->revision,
						 .deleted = e->deleted,
						 .key = e->key };

			if (e->revision > MAX(s->follow_from, s->view.revision))
				(void)replay_one(p, &c, e->value);
		}
	}
}

static void replay(struct lmdb_store *s)
{
	struct replay *p;
	struct error err = { 0 };

	if (s->follow_from < s->view.compacted) {
		(void)error_set(&err, ERR_EXPIRED, "revision %" PRId64 " is compacted",
				s->follow_from);
		s->feed.on_lost(s->feed.arg, &err);
		return;
	}
	s->following = true;
	if (s->follow_from >= lmdb_store_newest(s))
		return;
	p = XNEW(struct replay);
	p->store = s;
	if (lmdb_history_walk(&s->env, &s->view, s->follow_from, replay_one, p, &err) == 0)
		replay_backlog(p, s);
	replay_flush(p);
	free(p);
	if (err.code) {
		s->following = false;
		s->feed.on_lost(s->feed.arg, &err);
	}
}

static void on_replay(struct loop_task *t)
{
	replay(CONTAINER_OF(t, struct lmdb_store, replay));
}

void lmdb_reader_catch_up(struct lmdb_store *s)
{
	if (list_empty(&s->replay.link))
		return;
	loop_task_cancel(&s->replay);
	replay(s);
}

void lmdb_reader_follow(struct store *base, int64_t revision, const struct store_feed *feed)
{
	struct lmdb_store *s = lmdb_store_of(base);

	s->feed = *feed;
	s->following = false;
	s->follow_from = revision;
	lmdb_history_release(&s->history);
	lmdb_env_forget_pages(&s->env); /* the follower has just read everything */
	loop_defer(s->base.loop, &s->replay);
}

void lmdb_reader_init(struct lmdb_store *s)
{
	list_init(&s->answers);
	loop_task_init(&s->answer, reader_on_answer);
	loop_task_init(&s->replay, on_replay);
}
