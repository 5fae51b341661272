/*
 * Reads that must see a certain state. Reads that must see everything acknowledged so far share
 * one request to the store for its revision. A read that arrives during the request waits for the
 * next one, because the reply may be older than the read. Then, and for a revision that the
 * client named, the job waits until committed has reached it.
 */
#include "server/engine/sequencer.h"

enum { WAIT_MS = 3000 };

static void state_sync_ask(struct state *st);

static void resume(struct state *st, struct job *j, const struct error *err)
{
	j->resume(st, j, err);
}

static void too_late(const struct state *st, const struct job *j, struct error *err)
{
	if (j->named)
		(void)error_set(err, ERR_TIMEOUT, "Too large resource version: %lld, current: %lld",
				(long long)j->wanted, (long long)st->revision);
	else
		(void)error_set(err, ERR_TIMEOUT,
				"the server did not receive the newest state from its store in "
				"time; try again");
}

static struct job *job_of(struct list *node)
{
	return LIST_ENTRY(node, struct job, link);
}

/* Inserts by revision; nearly always at the end. */
static void wait_insert(struct state *st, struct job *j)
{
	struct list *at = st->waiting.prev;

	while (at != &st->waiting && job_of(at)->wanted > j->wanted)
		at = at->prev;
	list_insert_after(at, &j->link);
	if (loop_timer_running(&st->wait_timer) && st->wait_until <= j->deadline)
		return;
	st->wait_until = j->deadline;
	loop_timer_start(&st->wait_timer, MAX(j->deadline - loop_now(st->loop), INT64_C(0)));
}

static void state_sync_wait_for(struct state *st, struct job *j, int64_t revision)
{
	j->wanted = revision;
	if (revision <= st->revision && st->loaded)
		resume(st, j, NULL);
	else
		wait_insert(st, j);
}

static void on_wait_timer(struct loop_timer *t)
{
	struct state *st = CONTAINER_OF(t, struct state, wait_timer);
	int64_t now = loop_now(st->loop), next = INT64_MAX;
	struct list late, *node;
	struct error err;

	list_init(&late);
	LIST_FOREACH_SAFE (it, &st->waiting) {
		if (job_of(it)->deadline > now) {
			next = MIN(next, job_of(it)->deadline);
			continue;
		}
		list_remove(it);
		list_push_back(&late, it);
	}
	st->wait_until = next;
	if (next != INT64_MAX)
		loop_timer_start(t, next - now);
	while ((node = list_pop_front(&late))) {
		too_late(st, job_of(node), &err);
		resume(st, job_of(node), &err);
	}
}

void state_sync_init(struct state *st)
{
	list_init(&st->waiting);
	list_init(&st->asking);
	list_init(&st->asking_next);
	loop_timer_init(&st->wait_timer, st->loop, on_wait_timer);
}

void state_sync_reached(struct state *st)
{
	while (!list_empty(&st->waiting) && job_of(st->waiting.next)->wanted <= st->revision)
		resume(st, job_of(list_pop_front(&st->waiting)), NULL);
	if (list_empty(&st->waiting))
		loop_timer_stop(&st->wait_timer);
}

static void fail_all(struct state *st, struct list *jobs, const struct error *err)
{
	struct list now, *node;

	list_init(&now);
	list_splice_back(&now, jobs);
	while ((node = list_pop_front(&now)))
		resume(st, job_of(node), err);
}

void state_sync_fail(struct state *st, const struct error *err)
{
	fail_all(st, &st->waiting, err);
	fail_all(st, &st->asking, err);
	fail_all(st, &st->asking_next, err);
	loop_timer_stop(&st->wait_timer);
}

static void state_sync_answered(void *arg, int64_t revision, const struct error *err)
{
	struct state *st = arg;
	struct list now, *node;

	list_init(&now);
	list_splice_back(&now, &st->asking);
	st->asked = false;
	if (!list_empty(&st->asking_next))
		state_sync_ask(st);
	if (err)
		fail_all(st, &now, err);
	while ((node = list_pop_front(&now)))
		state_sync_wait_for(st, job_of(node), revision);
	state_stop_step(st);
}

static void state_sync_ask(struct state *st)
{
	st->asked = true;
	list_splice_back(&st->asking, &st->asking_next);
	store_current(st->store, state_sync_answered, st);
}

bool state_is_shared(const struct state *st)
{
	return st->shared;
}

void state_sync(struct state *st, struct job *j, int64_t revision,
		void (*fn)(struct state *st, struct job *j, const struct error *err))
{
	struct error err UNZEROED;

	j->resume = fn;
	j->deadline = loop_now(st->loop) + (j->limit_ms && !revision ? j->limit_ms : WAIT_MS);
	if (st->stopping) {
		(void)error_set(&err, ERR_UNAVAILABLE, "the server is shutting down");
		fn(st, j, &err);
	} else if (revision > 0 || !st->shared) {
		state_sync_wait_for(st, j, revision);
	} else {
		list_push_back(&st->asking_next, &j->link);
		if (!st->asked)
			state_sync_ask(st);
	}
}

void state_read(struct state *st, struct job *j, const struct schema_kind *kind, int64_t revision,
		void (*fn)(struct state *st, struct job *j, const struct error *err))
{
	if (revision && revision < st->early && st->early > st->revision &&
	    state_resource(st, kind)->custom) {
		revision = st->early;
		j->named = false;
	}
	if (revision < 0)
		fn(st, j, NULL);
	else
		state_sync(st, j, revision, fn);
}
