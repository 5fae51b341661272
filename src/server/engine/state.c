/*
 * Lifecycle and jobs. Jobs from the state's own loop are put in a list. Jobs from other loops
 * arrive as messages and go to the same list. One deferred task runs all jobs of a turn, so a
 * turn's requests are decided together and their writes share a commit. The state stops in steps,
 * each when nothing is in its way: the lanes end their watches; loads, store requests and lists
 * finish; the store finishes its writes and closes.
 */
#include "server/engine/state.h"

#include <assert.h>
#include <stdlib.h>

#include "base/core/mem.h"
#include "server/cache/reclaim.h"
#include "server/engine/lane.h"
#include "server/engine/sequencer.h"
#include "server/engine/watch.h"

static void run_jobs(struct loop_task *t);
static void run_writing(struct loop_task *t);
static void run_large(struct loop_task *t);
static void run_answering(struct loop_task *t);
static void on_reload(struct loop_timer *t);

/* --- lifecycle -------------------------------------------------------------------- */

static bool is_stored(const struct schema_kind *k)
{
	return k->storage == k && k->storage_name.n && !(k->flags & SCHEMA_REVIEW) &&
	       (k->verbs & (SCHEMA_GET | SCHEMA_LIST_VERB));
}

static void add_resource(struct state *st, const struct schema_kind *kind)
{
	struct resource *r = resource_new(st, kind);
	size_t n = st->nresources;

	/* The capacity is a power of two. */
	if ((n & (n - 1)) == 0)
		st->resources = xrealloc(st->resources,
					 MAX(n * 2, (size_t)1) * sizeof(*st->resources));
	st->resources[st->nresources++] = r;
	(void)map_put(&st->by_name, r->name, r);
}

/* Compiled-in kinds are found by number, because every request needs one. */
static void number_resources(struct state *st)
{
	for (size_t i = 0; i < st->nresources; i++)
		st->nplaces = MAX(st->nplaces, (size_t)st->resources[i]->kind->place + 1);
	st->by_place = xcalloc(st->nplaces, sizeof(struct resource *));
	for (size_t i = 0; i < st->nresources; i++)
		st->by_place[st->resources[i]->kind->place] = st->resources[i];
	st->namespaces = map_get(&st->by_name, STR("core/namespaces"));
	st->quotas = map_get(&st->by_name, STR("core/resourcequotas"));
}

static void add_resources(struct state *st)
{
	const struct schema_kind *const *kinds = st->opts.kinds;
	size_t n = st->opts.nkinds;

	if (!kinds)
		kinds = schema_kinds(&n);
	for (size_t i = 0; i < n; i++)
		if (is_stored(kinds[i]) && !map_get(&st->by_name, kinds[i]->storage_name))
			add_resource(st, kinds[i]);
	for (size_t i = 0, early = 0; i < st->nresources; i++) {
		struct resource *r = st->resources[i];

		if (!state_observed_early(r))
			continue;
		st->resources[i] = st->resources[early];
		st->resources[early++] = r;
	}
}

/* Whether a lane is on another loop than the state. */
static bool has_other_loops(const struct state *st)
{
	for (size_t i = 0; i < st->nlanes; i++)
		if (st->lanes[i]->loop != st->loop)
			return true;
	return false;
}

struct state *state_new(const struct state_opts *opts)
{
	struct state *st = XNEW(struct state);

	st->opts = *opts;
	st->loop = opts->loop;
	st->store = opts->store;
	st->shared = !store_is_local(opts->store);
	st->gates = opts->gates;
	st->nlanes = opts->nlanes;
	map_init(&st->by_name);
	map_init(&st->guards);
	list_init(&st->jobs);
	list_init(&st->writing);
	list_init(&st->large);
	list_init(&st->answering);
	list_init(&st->dirty);
	loop_task_init(&st->run_jobs, run_jobs);
	loop_task_init(&st->run_writing, run_writing);
	loop_task_init(&st->run_large, run_large);
	loop_task_init(&st->run_answering, run_answering);
	loop_timer_init(&st->reload, st->loop, on_reload);
	loop_timer_init(&st->tidy, st->loop, state_feed_tidy);
	atomic_init(&st->nwatches, 0);
	atomic_init(&st->readable, false);
	state_sync_init(st);
	st->lanes = xcalloc(st->nlanes + 1, sizeof(struct lane *));
	for (size_t i = 0; i < st->nlanes; i++)
		st->lanes[i] = lane_new(st, i, opts->lanes[i]);
	if (has_other_loops(st))
		st->reclaim = reclaim_new(st->nlanes);
	state_metrics_add(st);
	add_resources(st);
	number_resources(st);
	state_load_start(st);
	return st;
}

struct resource *state_namespaces(const struct state *st)
{
	return st->namespaces;
}

struct resource *state_quotas(const struct state *st)
{
	return st->quotas;
}

void state_put_resource(struct state *st, const struct schema_kind *kind)
{
	struct resource *r = state_resource(st, kind);

	if (r)
		resource_change(r, kind);
	else
		add_resource(st, kind);
}

void state_drop_resource(struct state *st, const struct schema_kind *kind)
{
	resource_drop(state_resource(st, kind));
}

static void on_reload(struct loop_timer *t)
{
	struct state *st = CONTAINER_OF(t, struct state, reload);

	if (!st->stopping && !st->load)
		state_load_start(st);
}

static void on_lane_left(struct loop_msg *m)
{
	struct state *st = CONTAINER_OF(m, struct lane, last)->state;

	if (--st->lanes_left == 0)
		st->stopped(st->stopped_arg);
}

static void state_on_last(struct loop_msg *m)
{
	struct lane *l = CONTAINER_OF(m, struct lane, last);

	m->fn = on_lane_left;
	state_tell(l->state, l->loop, m);
}

/* Jobs that have just failed are on their way to their lanes; this message arrives after them. */
static void closed(void *arg)
{
	struct state *st = arg;
	size_t n = st->nlanes;

	st->lanes_left = n;
	for (size_t i = 0; i < n; i++) {
		struct lane *l = st->lanes[i];

		l->last.fn = state_on_last;
		if (l->loop == st->loop)
			state_on_last(&l->last);
		else
			loop_post(l->loop, &l->last);
	}
}

void state_stop_step(struct state *st)
{
	if (!st->stopping || st->closing || st->lanes_left || st->load || st->asked || st->looking)
		return;
	st->closing = true;
	store_close(st->store, closed, st);
}

void state_stop(struct state *st, void (*done)(void *arg), void *arg)
{
	struct error err;

	assert(!st->stopping);
	st->stopping = true;
	state_let_lanes_read(st, false);
	st->stopped = done;
	st->stopped_arg = arg;
	loop_timer_stop(&st->reload);
	loop_timer_stop(&st->tidy);
	(void)error_set(&err, ERR_UNAVAILABLE, "the server is shutting down");
	state_sync_fail(st, &err);
	while (!list_empty(&st->answering))
		run_answering(&st->run_answering);
	state_run_jobs(st);
	watch_stop(st);
	state_stop_step(st);
}

void watch_stop(struct state *st)
{
	if (st->watches_stopped)
		return;
	st->watches_stopped = true;
	st->lanes_left = st->nlanes;
	for (size_t i = 0; i < st->nlanes; i++)
		lane_tell_stop(st->lanes[i]);
}

void watch_end_revoked(struct state *st)
{
	if (st->watches_stopped)
		return;
	for (size_t i = 0; i < st->nlanes; i++)
		lane_tell_revoked(st->lanes[i]);
}

void state_free(struct state *st)
{
	if (!st)
		return;
	assert(list_empty(&st->jobs) && list_empty(&st->writing) && st->writes == 0);
	assert(list_empty(&st->large) && list_empty(&st->answering));
	loop_task_cancel(&st->run_jobs);
	loop_task_cancel(&st->run_writing);
	loop_task_cancel(&st->run_large);
	loop_task_cancel(&st->run_answering);
	loop_timer_stop(&st->wait_timer);
	for (size_t i = 0; i < st->nresources; i++)
		resource_free(st->resources[i]);
	free(st->resources);
	for (size_t i = 0; i < st->nlanes; i++)
		lane_free(st->lanes[i]);
	free(st->lanes);
	reclaim_free(st->reclaim);
	map_release(&st->by_name);
	map_release(&st->guards);
	free(st->by_place);
	free(st);
}

static int health_unloaded(struct state *st, struct error *err)
{
	struct error why = st->load_error;

	if (store_health(st->store, &why) == 0)
		why = st->load_error;
	return error_set(err, ERR_UNAVAILABLE, "objects are not loaded yet%s%s",
			 why.code ? ": " : "", why.msg);
}

int state_health(struct state *st, struct error *err)
{
	if (st->stopping)
		return error_set(err, ERR_UNAVAILABLE, "the server is shutting down");
	if (!st->loaded)
		return health_unloaded(st, err);
	return store_health(st->store, err);
}

int64_t state_revision(const struct state *st)
{
	return st->revision;
}

void state_let_lanes_read(struct state *st, bool readable)
{
	atomic_store_explicit(&st->readable, readable, memory_order_release);
}

bool state_lets_draft(const struct state *st)
{
	return atomic_load_explicit(&st->readable, memory_order_acquire);
}

bool state_lets_look(const struct state *st)
{
	return !st->shared && state_lets_draft(st);
}

size_t watch_count(const struct state *st)
{
	return atomic_load_explicit(&st->nwatches, memory_order_relaxed);
}

/* --- jobs ------------------------------------------------------------------------- */

/* Jobs that arrive before everything is loaded wait. */
static void state_run(struct state *st, struct list *jobs)
{
	struct list now, *node;

	if (!st->loaded && !st->stopping)
		return;
	list_init(&now);
	list_splice_back(&now, jobs);
	while ((node = list_pop_front(&now))) {
		struct job *j = LIST_ENTRY(node, struct job, link);

		j->run(st, j);
	}
}

static void run_jobs(struct loop_task *t)
{
	struct state *st = CONTAINER_OF(t, struct state, run_jobs);

	state_run(st, &st->jobs);
}

static void run_writing(struct loop_task *t)
{
	struct state *st = CONTAINER_OF(t, struct state, run_writing);

	state_run(st, &st->writing);
}

/* Runs one job, so that other work gets its turn before the next. */
static void run_large(struct loop_task *t)
{
	struct state *st = CONTAINER_OF(t, struct state, run_large);
	struct list one, *node;

	if (!st->loaded || st->stopping) {
		state_run(st, &st->large);
		return;
	}
	list_init(&one);
	node = list_pop_front(&st->large);
	if (node)
		list_push_back(&one, node);
	state_run(st, &one);
	if (!list_empty(&st->large))
		loop_defer_large(st->loop, t);
}

static void run_answering(struct loop_task *t)
{
	struct state *st = CONTAINER_OF(t, struct state, run_answering);
	struct list *node = list_pop_front(&st->answering);

	if (!list_empty(&st->answering))
		loop_defer_large(st->loop, t);
	if (node)
		LIST_ENTRY(node, struct job, link)->done(LIST_ENTRY(node, struct job, link));
}

void state_run_jobs(struct state *st)
{
	loop_defer(st->loop, &st->run_jobs);
	loop_defer_last(st->loop, &st->run_writing);
	loop_defer_large(st->loop, &st->run_large);
}

static void state_enqueue(struct state *st, struct job *j)
{
	if (j->large) {
		list_push_back(&st->large, &j->link);
		loop_defer_large(st->loop, &st->run_large);
	} else if (j->writes) {
		list_push_back(&st->writing, &j->link);
		loop_defer_last(st->loop, &st->run_writing);
	} else {
		list_push_back(&st->jobs, &j->link);
		loop_defer(st->loop, &st->run_jobs);
	}
}

bool state_run_later(struct state *st, struct job *j, void (*fn)(struct state *st, struct job *j))
{
	if (st->stopping)
		return false;
	j->run = fn;
	list_push_back(&st->large, &j->link);
	loop_defer_large(st->loop, &st->run_large);
	return true;
}

static void job_arrived(struct loop_msg *m)
{
	struct job *j = CONTAINER_OF(m, struct job, msg);

	state_enqueue(j->state, j);
}

static void job_returned(struct loop_msg *m)
{
	struct job *j = CONTAINER_OF(m, struct job, msg);

	j->done(j);
}

void state_submit(struct state *st, struct job *j)
{
	j->state = st;
	if (j->home == st->loop) {
		state_enqueue(st, j);
		return;
	}
	j->msg.fn = job_arrived;
	loop_post(st->loop, &j->msg);
}

void job_finish(struct job *j)
{
	struct state *st = j->state;

	if (j->home == st->loop && j->large && !st->stopping) {
		list_push_back(&st->answering, &j->link);
		loop_defer_large(st->loop, &st->run_answering);
		return;
	}
	if (j->home == st->loop) {
		j->done(j);
		return;
	}
	j->msg.fn = job_returned;
	loop_post(j->home, &j->msg);
}

void state_tell(struct state *st, struct loop *from, struct loop_msg *m)
{
	if (from == st->loop)
		m->fn(m);
	else
		loop_post(st->loop, m);
}
