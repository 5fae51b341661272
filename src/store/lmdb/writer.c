/*
 * Writes wait in a list. If no batch is being committed, the waiting writes become one at the end
 * of the turn, so that the writes of a turn go together. During a commit, the next batch gathers.
 * So batches grow with the load, and a single write does not wait for others. When a batch is
 * finished, the loop first starts the next one and then delivers: events and acknowledgements are
 * processed while the disk syncs.
 *
 * A write gets its revision when it is submitted. No revision is used twice while the process
 * lives; a failed write leaves a gap. After a restart, counting continues after the last durable
 * change. Higher numbers were never visible, because events and reads show only durable changes,
 * and the revision that the feed reports is also that of a durable change.
 *
 * A chain of writes (`after`) may span batches. Within a batch, the committer checks the earlier
 * write's result itself. When a batch is finished, the loop converts the writes that follow its
 * writes into plain writes with an expected revision, or fails them. It does so before the owner
 * may free the earlier write.
 */
#include "store/lmdb/store_impl.h"

#include "base/core/mem.h"
#include "store/store_limits.h"

enum {
	PRUNE_PER_WRITE = 4, /* more than one, so that pruning catches up under load */
	PRUNE_AT_LEAST = 64,
	PRUNE_AGAIN_MS = 1000, /* delay after the oldest change has expired */
	TIDY_MS = 250,
	TIDY_STEP_MS = 1,
	COUNT_FREE_EVERY = 64, /* batches */
};

struct compaction {
	struct list link;
	int64_t revision;
	void (*done)(void *arg, const struct error *err);
	void *arg;
};

/* --- finishing ------------------------------------------------------------------------ */

static void resolve_next(struct store_write *w)
{
	struct store_write *next = TAKE(w->waiting);

	if (!next)
		return;
	next->after = NULL;
	next->expected = w->value ? w->revision : 0;
	if (w->result < 0 && next->result == 0)
		next->result = -ERR_CONFLICT;
}

static int tell_full(const struct lmdb_store *s, struct error *ret)
{
	return error_set(
		ret, ERR_UNAVAILABLE,
		"database space exceeded: the objects take the store's quota of %zu bytes; "
		"delete some, or start the server with a higher --store-quota-bytes; reads "
		"and deletions go on",
		s->quota.bytes);
}

static void writer_explain(const struct lmdb_store *s, const struct store_write *w,
			   const struct error *batch, struct error *ret)
{
	if (w->result == -(int)batch->code)
		*ret = *batch;
	else if (w->result == -ERR_CONFLICT)
		(void)error_set(ret, ERR_CONFLICT, "%.*s %.*s%s%.*s is not as expected",
				STR_ARG(w->key.resource), STR_ARG(w->key.ns),
				w->key.ns.n ? "/" : "", STR_ARG(w->key.name));
	else if (w->result == -ERR_UNAVAILABLE)
		(void)tell_full(s, ret);
	else
		(void)error_set(ret, (enum error_code) - w->result,
				"%.*s: the name is not possible, or there are too many resources",
				STR_ARG(w->key.resource));
}

static void acknowledge(struct lmdb_store *s, struct list *writes, const struct error *batch)
{
	struct store_write *w;
	struct list *node;
	struct error err;

	while ((node = list_pop_front(writes))) {
		w = LIST_ENTRY(node, struct store_write, link);
		s->base.pending--;
		/* Callbacks of this turn may have extended the chain. */
		resolve_next(w);
		if (w->result == 0) {
			w->done(w, NULL);
			continue;
		}
		writer_explain(s, w, batch, &err);
		w->done(w, &err);
	}
}

static size_t gather_events(struct lmdb_store *s, struct list *writes)
{
	size_t n = 0;

	LIST_FOREACH (it, writes) {
		struct store_write *w = LIST_ENTRY(it, struct store_write, link);

		if (w->result == 0)
			s->events[n++] = (struct store_event){ .key = w->key,
							       .revision = w->revision,
							       .value = w->value,
							       .write = w };
	}
	return n;
}

static void writer_deliver(struct lmdb_store *s, struct list *writes, int64_t revision)
{
	size_t n = s->following ? gather_events(s, writes) : 0;

	if (n)
		s->feed.on_events(s->feed.arg, s->events, n, revision);
}

static void finish_compactions(struct lmdb_store *s, const struct lmdb_batch *b)
{
	LIST_FOREACH_SAFE (it, &s->compactions) {
		struct compaction *c = LIST_ENTRY(it, struct compaction, link);

		if (b->result == 0 && s->view.compacted < c->revision)
			continue;
		list_remove(&c->link);
		c->done(c->arg, b->result < 0 ? &b->err : NULL);
		free(c);
	}
}

/* Makes the commit's snapshot the view that reads use. */
static void move_view(struct lmdb_store *s, const struct lmdb_batch *b)
{
	if (!b->committed)
		return;
	mdb_txn_reset(s->view.txn);
	s->spare = s->view.txn;
	s->view.txn = b->snapshot;
	if (b->revision)
		s->view.revision = b->revision;
	s->view.compacted = b->prune.compacted;
	lmdb_metrics_revisions(&s->metrics, lmdb_store_newest(s), s->view.compacted);
}

void lmdb_writer_plan_prune(struct lmdb_store *s, int64_t oldest_ms)
{
	int64_t due;

	if (oldest_ms == INT64_MAX)
		return;
	due = oldest_ms + s->history_ms - lmdb_store_now(s);
	loop_timer_start(&s->prune, MAX(due, INT64_C(0)) + PRUNE_AGAIN_MS);
}

/* After a batch that failed for lack of space, the timers try again. */
static void writer_plan(struct lmdb_store *s, const struct lmdb_batch *b)
{
	s->prune_now = b->result == 0 && b->prune.more;
	if (b->result == 0)
		lmdb_writer_plan_prune(s, b->prune.more ? INT64_MAX : b->prune.oldest_ms);
	else
		loop_timer_start(&s->prune, PRUNE_AGAIN_MS);
	if (!loop_timer_running(&s->tidy))
		loop_timer_start(&s->tidy, TIDY_MS);
}

void lmdb_writer_applied(struct lmdb_store *s, const struct lmdb_batch *b)
{
	move_view(s, b);
	writer_plan(s, b);
	finish_compactions(s, b);
}

/* With a journal: the batch is durable, and its record is to be applied. */
static void keep_record(struct lmdb_store *s, struct lmdb_batch *b)
{
	if (!b->record)
		return;
	s->journaled = b->revision;
	lmdb_metrics_revisions(&s->metrics, s->journaled, s->view.compacted);
	lmdb_applier_add(s, TAKE(b->record));
}

static void writer_begin(struct lmdb_store *s);

static void writer_finish(struct lmdb_store *s)
{
	struct lmdb_batch b = s->batch;
	struct list writes;

	/* A feed that was followed in this turn must get older changes before this batch. */
	lmdb_reader_catch_up(s);
	lmdb_metrics_count(&s->metrics, &s->batch, s->base.pending - s->batch.n);
	list_init(&writes);
	list_splice_back(&writes, &s->batch.writes);
	s->running = false;
	if (b.result == -ERR_IO)
		s->broken = b.err;
	if (s->stage)
		keep_record(s, &b);
	else
		move_view(s, &b);
	if (!s->stage)
		writer_plan(s, &b);
	LIST_FOREACH (it, &writes)
		resolve_next(LIST_ENTRY(it, struct store_write, link));
	if (!s->inline_commit)
		writer_begin(s);
	else
		lmdb_writer_kick(s);
	writer_deliver(s, &writes, b.revision);
	if (!s->stage)
		finish_compactions(s, &b);
	acknowledge(s, &writes, &b.err);
}

static void on_finished(struct loop_msg *m)
{
	struct lmdb_store *s = CONTAINER_OF(m, struct lmdb_store, finished);

	writer_finish(s);
	lmdb_writer_kick(s);
}

/* --- starting a batch ------------------------------------------------------------------- */

static void fail_waiting(struct lmdb_store *s, struct error err)
{
	struct list writes;

	list_init(&writes);
	list_splice_back(&writes, &s->waiting);
	LIST_FOREACH (it, &writes)
		LIST_ENTRY(it, struct store_write, link)->result = -(int)err.code;
	acknowledge(s, &writes, &err);
}

static void fail_compactions(struct lmdb_store *s)
{
	struct lmdb_batch b = { .result = -(int)s->broken.code, .err = s->broken };

	finish_compactions(s, &b);
}

static void take_writes(struct lmdb_store *s)
{
	struct lmdb_batch *b = &s->batch;
	struct store_write *w;
	size_t bytes = 0;

	while (b->n < STORE_BATCH_MAX && bytes < STORE_BATCH_BYTES && !list_empty(&s->waiting)) {
		w = LIST_ENTRY(list_pop_front(&s->waiting), struct store_write, link);
		list_push_back(&b->writes, &w->link);
		bytes += w->value ? w->value->n : 0;
		b->n++;
	}
}

static bool has_work(const struct lmdb_store *s)
{
	if (s->stage)
		return !list_empty(&s->applier.done) ||
		       (!list_empty(&s->waiting) && !lmdb_applier_is_full(s));
	return !list_empty(&s->waiting) || !list_empty(&s->compactions) ||
	       (s->prune_now && !s->closing);
}

void lmdb_writer_plan_batch(struct lmdb_store *s, struct lmdb_batch *b)
{
	b->prune.before_ms = b->now_ms - s->history_ms;
	b->prune.quota = s->quota;
	b->prune.budget = b->n ? MIN(PRUNE_AT_LEAST + PRUNE_PER_WRITE * b->n, STORE_PRUNE_MAX)
			       : STORE_PRUNE_MAX;
	LIST_FOREACH (it, &s->compactions)
		b->prune.compact = MAX(b->prune.compact,
				       LIST_ENTRY(it, struct compaction, link)->revision);
	b->count_free = s->batches++ % COUNT_FREE_EVERY == 0;
	s->prune_now = false;
}

static void make_batch(struct lmdb_store *s)
{
	struct lmdb_batch *b = &s->batch;

	*b = (struct lmdb_batch){ .now_ms = lmdb_store_now(s), .snapshot = s->spare };
	list_init(&b->writes);
	if (!s->stage) {
		take_writes(s);
		lmdb_writer_plan_batch(s, b);
		return;
	}
	b->snapshot = NULL; /* the applier's */
	b->prune.quota = s->quota;
	lmdb_applier_hand_over(s);
	if (!lmdb_applier_is_full(s))
		take_writes(s);
}

/* Runs the batch on the calling thread. */
static void run_batch(struct lmdb_store *s)
{
	if (s->stage)
		lmdb_stage_run(s->stage, &s->batch, &s->env);
	else
		lmdb_batch_run(&s->batch, &s->env, &s->scratch);
}

/* Why no batch can be written now; NULL: one can. */
static const struct error *why_not(const struct lmdb_store *s)
{
	if (s->broken.code)
		return &s->broken;
	return s->applier.failed.code ? &s->applier.failed : NULL;
}

static void writer_begin(struct lmdb_store *s)
{
	if (s->running || why_not(s) || !has_work(s))
		return;
	make_batch(s);
	s->running = true;
	if (s->inline_commit)
		return;
	thread_keep_apart(&s->thread, loop_has_deferred(s->base.loop));
	event_set(&s->wake);
}

static void on_start(struct loop_task *t)
{
	struct lmdb_store *s = CONTAINER_OF(t, struct lmdb_store, start);

	writer_begin(s);
	if (s->running && s->inline_commit) {
		run_batch(s);
		writer_finish(s);
		return;
	}
	if (why_not(s) && !s->running)
		fail_waiting(s, *why_not(s));
	if (s->broken.code && !s->running)
		fail_compactions(s);
	lmdb_applier_kick(s);
	if (s->closing && !s->running && !s->base.pending && list_empty(&s->compactions) &&
	    lmdb_applier_is_idle(s))
		lmdb_store_drained(s);
}

void lmdb_writer_kick(struct lmdb_store *s)
{
	if (!s->running)
		loop_defer(s->base.loop, &s->start);
}

/* --- the committer ------------------------------------------------------------------------ */

static void run_committer(void *arg)
{
	struct lmdb_store *s = arg;

	thread_be_prompt();
	for (;;) {
		(void)event_wait(&s->wake, -1);
		event_reset(&s->wake);
		if (s->stop)
			return;
		run_batch(s);
		loop_post(s->base.loop, &s->finished);
	}
}

int lmdb_writer_start(struct lmdb_store *s, struct error *err)
{
	if (s->inline_commit || s->read_only)
		return 0;
	return thread_start(&s->thread, "store", run_committer, s, err);
}

/* --- the store's functions ------------------------------------------------------------------ */

static void on_prune(struct loop_timer *t)
{
	struct lmdb_store *s = CONTAINER_OF(t, struct lmdb_store, prune);

	s->prune_now = true;
	lmdb_writer_kick(s);
}

static void on_tidy(struct loop_timer *t)
{
	struct lmdb_store *s = CONTAINER_OF(t, struct lmdb_store, tidy);

	/*
	 * Removes readers of processes that were killed: their snapshots would keep pages in use.
	 */
	if (s->tidied == 0)
		(void)mdb_reader_check(s->env.mdb, NULL);
	if (lmdb_env_forget_some(&s->env, &s->tidied))
		loop_timer_start(&s->tidy, TIDY_STEP_MS);
}

void lmdb_writer_init(struct lmdb_store *s)
{
	list_init(&s->waiting);
	list_init(&s->compactions);
	list_init(&s->batch.writes);
	buf_init(&s->scratch, SIZE_MAX / 2);
	s->events = s->read_only ? NULL : xcalloc(STORE_BATCH_MAX, sizeof(*s->events));
	s->finished.fn = on_finished;
	loop_task_init(&s->start, on_start);
	loop_timer_init(&s->prune, s->base.loop, on_prune);
	loop_timer_init(&s->tidy, s->base.loop, on_tidy);
	event_init(&s->wake);
}

void lmdb_writer_write(struct store *base, struct store_write *w)
{
	struct lmdb_store *s = lmdb_store_of(base);
	struct lmdb_resource *resource = lmdb_resources_get(&s->resources, w->key.resource);

	w->revision = ++s->assigned;
	w->state = resource;
	w->waiting = NULL;
	w->result = resource ? 0 : -ERR_INVALID;
	/*
	 * If two writes follow the same one, only the first can find the key as that one left it.
	 */
	if (w->after && w->after->waiting)
		w->result = -ERR_CONFLICT;
	else if (w->after)
		w->after->waiting = w;
	list_push_back(&s->waiting, &w->link);
	s->base.pending++;
	lmdb_writer_kick(s);
}

int lmdb_writer_health(struct store *base, struct error *err)
{
	const struct lmdb_store *s = lmdb_store_of(base);

	return s->broken.code ? error_set(err, s->broken.code, "%s", s->broken.msg) : 0;
}

void lmdb_writer_compact(struct store *base, int64_t revision,
			 void (*done)(void *arg, const struct error *err), void *arg)
{
	struct lmdb_store *s = lmdb_store_of(base);
	struct compaction *c = XNEW(struct compaction);

	*c = (struct compaction){ .revision = MIN(revision, lmdb_store_newest(s)),
				  .done = done,
				  .arg = arg };
	list_push_back(&s->compactions, &c->link);
	lmdb_writer_kick(s);
}
