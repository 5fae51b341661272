/*
 * Only the loop changes the backlog. While a transaction runs, its records stay in front, because
 * the feed may still have to deliver them.
 */
#include "store/lmdb/store_impl.h"

#include "base/core/mem.h"
#include "store/store_limits.h"

enum {
	LINGER_MS = 100,
	PRUNE_PER_CHANGE = 2, /* more than one, so that pruning catches up under load */
};

/* --- when ------------------------------------------------------------------------- */

static bool applier_has_work(const struct lmdb_store *s)
{
	return !list_empty(&s->applier.backlog) || !list_empty(&s->compactions) ||
	       (s->prune_now && !s->closing);
}

/* Somebody waits for the result of a transaction, or a timer fired. */
static bool is_wanted(const struct lmdb_store *s)
{
	return !list_empty(&s->applier.parked) || !list_empty(&s->compactions) ||
	       (s->prune_now && !s->closing);
}

static bool is_urgent(const struct lmdb_store *s)
{
	const struct lmdb_applier *a = &s->applier;

	return is_wanted(s) || s->closing || a->n >= a->n_max / 2 ||
	       a->bytes >= STORE_BACKLOG_BYTES / 2;
}

void lmdb_applier_kick(struct lmdb_store *s)
{
	struct lmdb_applier *a = &s->applier;

	if (!s->stage || a->running || a->unheard || a->failed.code == ERR_IO ||
	    !applier_has_work(s))
		return;
	if (a->failed.code && !is_wanted(s))
		return;
	if (is_urgent(s))
		loop_defer(s->base.loop, &a->start);
	else if (!loop_timer_running(&a->linger))
		loop_timer_start(&a->linger, LINGER_MS);
}

bool lmdb_applier_is_full(const struct lmdb_store *s)
{
	return s->applier.n >= s->applier.n_max || s->applier.bytes >= STORE_BACKLOG_BYTES;
}

bool lmdb_applier_is_idle(const struct lmdb_store *s)
{
	const struct lmdb_applier *a = &s->applier;

	return !a->running && !a->unheard && (list_empty(&a->backlog) || a->failed.code);
}

/* --- finishing -------------------------------------------------------------------- */

static void retire(struct lmdb_applier *a, size_t records)
{
	for (size_t i = 0; i < records; i++) {
		struct list *node = list_pop_front(&a->backlog);
		struct journal_record *r = LIST_ENTRY(node, struct journal_record, link);

		a->n -= r->n;
		a->bytes -= r->bytes;
		a->sequence = r->sequence;
		list_push_back(&a->done, node);
	}
}

static void note_result(struct lmdb_store *s, const struct lmdb_batch *b)
{
	struct lmdb_applier *a = &s->applier;
	bool pruned_only = a->prune_only;

	a->prune_only = false;
	if (b->result < 0) {
		a->failed = b->err;
		a->prune_only = !pruned_only;
		if (b->result == -ERR_IO)
			s->broken = b->err;
		return;
	}
	if (b->committed)
		a->objects = b->prune.sizes.objects;
	retire(a, b->nrecords);
	if (b->nrecords || list_empty(&a->backlog))
		a->failed = (struct error){ .code = ERR_OK };
	else if (a->failed.code)
		loop_defer(s->base.loop, &a->start);
}

static void applier_finish(struct lmdb_store *s)
{
	struct lmdb_applier *a = &s->applier;
	struct lmdb_batch b = a->batch;

	a->running = false;
	note_result(s, &b);
	free(TAKE(a->records));
	lmdb_writer_applied(s, &b);
	lmdb_metrics_applied(&s->metrics, &b, a->n, atomic_load(&s->stage->journal.bytes));
	lmdb_reader_unpark(s, b.result < 0 ? &b.err : NULL);
	lmdb_writer_kick(s);
	lmdb_applier_kick(s);
}

static void applier_on_finished(struct loop_msg *m)
{
	struct lmdb_applier *a = CONTAINER_OF(m, struct lmdb_applier, finished);
	struct lmdb_store *s = CONTAINER_OF(a, struct lmdb_store, applier);

	if (!a->unheard) {
		applier_finish(s);
		return;
	}
	a->unheard = false;
	lmdb_writer_kick(s);
	lmdb_applier_kick(s);
}

/* --- starting --------------------------------------------------------------------- */

/* Takes records from the front, as many as fit. */
static void take_records(struct lmdb_applier *a)
{
	struct lmdb_batch *b = &a->batch;
	size_t n = 0, bytes = 0, cap = 0;

	LIST_FOREACH (it, &a->backlog) {
		struct journal_record *r = LIST_ENTRY(it, struct journal_record, link);

		if (n >= STORE_APPLY_MAX || bytes >= STORE_APPLY_BYTES)
			break;
		if (b->nrecords == cap) {
			cap = MAX(cap * 2, (size_t)16);
			a->records = xrealloc(a->records, cap * sizeof(struct journal_record *));
		}
		a->records[b->nrecords++] = r;
		n += r->n;
		bytes += r->bytes;
	}
	b->records = a->records;
	b->n = n;
}

static void applier_make(struct lmdb_store *s)
{
	struct lmdb_applier *a = &s->applier;
	struct lmdb_batch *b = &a->batch;
	int64_t newest = s->view.revision;

	loop_timer_stop(&a->linger);
	*b = (struct lmdb_batch){ .now_ms = lmdb_store_now(s),
				  .snapshot = s->spare,
				  .lengthen = true };
	list_init(&b->writes);
	if (!a->prune_only)
		take_records(a);
	if (b->nrecords)
		newest = journal_record_revision(b->records[b->nrecords - 1]);
	lmdb_writer_plan_batch(s, b);
	/* A state that data.mdb does not have yet cannot be its oldest. */
	b->prune.compact = MIN(b->prune.compact, newest);
	b->prune.budget = MAX(PRUNE_PER_CHANGE * b->n, (size_t)STORE_PRUNE_MAX);
}

static void applier_on_start(struct loop_task *t)
{
	struct lmdb_applier *a = CONTAINER_OF(t, struct lmdb_applier, start);
	struct lmdb_store *s = CONTAINER_OF(a, struct lmdb_store, applier);

	if (a->running || a->unheard || a->failed.code == ERR_IO || !applier_has_work(s))
		return;
	applier_make(s);
	a->running = true;
	if (s->inline_commit) {
		lmdb_batch_run(&a->batch, &s->env, &a->scratch);
		applier_finish(s);
		return;
	}
	event_reset(&a->ended);
	event_set(&a->wake);
}

static void on_linger(struct loop_timer *t)
{
	struct lmdb_applier *a = CONTAINER_OF(t, struct lmdb_applier, linger);
	struct lmdb_store *s = CONTAINER_OF(a, struct lmdb_store, applier);

	if (a->failed.code == ERR_OK)
		loop_defer(s->base.loop, &a->start);
}

int lmdb_applier_drain(struct lmdb_store *s, struct error *err)
{
	struct lmdb_applier *a = &s->applier;

	if (!s->stage)
		return 0;
	while (!list_empty(&a->backlog) && a->failed.code != ERR_IO) {
		if (a->running) {
			(void)event_wait(&a->ended, -1);
			a->unheard = true;
		} else {
			applier_make(s);
			lmdb_batch_run(&a->batch, &s->env, &a->scratch);
		}
		applier_finish(s);
		if (a->failed.code)
			break;
	}
	return list_empty(&a->backlog) ? 0 : error_copy(err, &a->failed);
}

/* --- the thread ------------------------------------------------------------------- */

static void run_applier(void *arg)
{
	struct lmdb_store *s = arg;
	struct lmdb_applier *a = &s->applier;

	for (;;) {
		(void)event_wait(&a->wake, -1);
		event_reset(&a->wake);
		if (a->stop)
			return;
		lmdb_batch_run(&a->batch, &s->env, &a->scratch);
		event_set(&a->ended);
		loop_post(s->base.loop, &a->finished);
	}
}

int lmdb_applier_start(struct lmdb_store *s, struct error *err)
{
	if (!s->stage || s->inline_commit)
		return 0;
	return thread_start(&s->applier.thread, "store-apply", run_applier, s, err);
}

void lmdb_applier_stop(struct lmdb_store *s)
{
	if (!s->stage || s->inline_commit)
		return;
	s->applier.stop = true;
	event_set(&s->applier.wake);
	thread_join(&s->applier.thread);
}

/* --- records ---------------------------------------------------------------------- */

void lmdb_applier_add(struct lmdb_store *s, struct journal_record *r)
{
	struct lmdb_applier *a = &s->applier;

	list_push_back(&a->backlog, &r->link);
	a->n += r->n;
	a->bytes += r->bytes;
	a->n_most = MAX(a->n_most, a->n);
	lmdb_applier_kick(s);
}

void lmdb_applier_hand_over(struct lmdb_store *s)
{
	struct lmdb_applier *a = &s->applier;
	struct lmdb_done *done = &s->stage->done;

	if (list_empty(&a->done))
		return;
	list_splice_back(&done->records, &a->done);
	done->sequence = a->sequence;
	done->objects = a->objects;
}

static void release_records(struct list *records)
{
	struct list *node;

	while ((node = list_pop_front(records)))
		journal_record_free(LIST_ENTRY(node, struct journal_record, link));
}

void lmdb_applier_init(struct lmdb_store *s)
{
	struct lmdb_applier *a = &s->applier;

	list_init(&a->backlog);
	list_init(&a->done);
	list_init(&a->parked);
	a->n_max = STORE_BACKLOG_MAX;
	buf_init(&a->scratch, SIZE_MAX / 2);
	event_init(&a->wake);
	event_init(&a->ended);
	a->finished.fn = applier_on_finished;
	loop_task_init(&a->start, applier_on_start);
	loop_timer_init(&a->linger, s->base.loop, on_linger);
}

void lmdb_applier_release(struct lmdb_store *s)
{
	struct lmdb_applier *a = &s->applier;

	loop_timer_stop(&a->linger);
	loop_task_cancel(&a->start);
	release_records(&a->backlog);
	release_records(&a->done);
	event_release(&a->wake);
	event_release(&a->ended);
	buf_release(&a->scratch);
	free(a->records);
}
