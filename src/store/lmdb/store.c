/*
 * Opens and closes the environment, a view of its newest state that advances with each finished
 * batch, and the committer's thread.
 *
 * The store's time decides which changes are too old to be kept. It starts at the wall clock or at
 * the newest change of the log, whichever is later, and then follows the loop's monotonic clock. So
 * a wall clock that is set forward or back neither keeps history for ever nor deletes it at once.
 */
#include "store/lmdb/store.h"

#include "base/core/mem.h"
#include "store/lmdb/apply.h"
#include "store/lmdb/store_impl.h"

enum { DEFAULT_HISTORY_MS = 5 * 60 * 1000 };

static const size_t default_map_size = sizeof(void *) >= 8 ? (size_t)1 << 36 : (size_t)1 << 30;

static void store_release(struct lmdb_store *s)
{
	loop_timer_stop(&s->prune);
	loop_timer_stop(&s->tidy);
	loop_task_cancel(&s->start);
	loop_task_cancel(&s->answer);
	loop_task_cancel(&s->replay);
	lmdb_history_release(&s->history);
	if (s->view.txn)
		mdb_txn_abort(s->view.txn);
	if (s->spare)
		mdb_txn_abort(s->spare);
	if (s->stage)
		lmdb_stage_close(s->stage);
	free(s->stage);
	lmdb_env_close(&s->env);
	lmdb_resources_release(&s->resources);
	lmdb_applier_release(s);
	event_release(&s->wake);
	buf_release(&s->scratch);
	free(s->events);
	free(s);
}

void lmdb_store_drained(struct lmdb_store *s)
{
	void (*closed)(void *arg) = s->closed;
	void *arg = s->closed_arg;

	lmdb_applier_stop(s);
	if (!s->inline_commit && !s->read_only) {
		s->stop = true;
		event_set(&s->wake);
		thread_join(&s->thread);
	}
	lmdb_reader_flush(s);
	store_release(s);
	closed(arg);
}

static void close_store(struct store *base, void (*closed)(void *arg), void *arg)
{
	struct lmdb_store *s = lmdb_store_of(base);

	s->closing = true;
	s->closed = closed;
	s->closed_arg = arg;
	lmdb_writer_kick(s);
}

static int64_t compacted(const struct store *base)
{
	return CONTAINER_OF(base, const struct lmdb_store, base)->view.compacted;
}

static struct str cluster_id(const struct store *base)
{
	return str_from(CONTAINER_OF(base, const struct lmdb_store, base)->env.cluster_id);
}

static const struct store_ops ops = {
	.close = close_store,
	.write = lmdb_writer_write,
	.health = lmdb_writer_health,
	.range = lmdb_reader_range,
	.current = lmdb_reader_current,
	.follow = lmdb_reader_follow,
	.history = lmdb_reader_history,
	.compact = lmdb_writer_compact,
	.compacted = compacted,
	.cluster_id = cluster_id,
};

/* --- opening ------------------------------------------------------------------------ */

/* Reads the times of the log's oldest and newest changes; INT64_MAX and 0 if the log is empty. */
static int read_times(struct lmdb_store *s, int64_t *ret_oldest, int64_t *ret_newest)
{
	const MDB_cursor_op ends[] = { MDB_FIRST, MDB_LAST };
	int64_t *const out[] = { ret_oldest, ret_newest };
	struct lmdb_change c;
	MDB_cursor *log;
	MDB_val k, v;
	int rc = mdb_cursor_open(s->view.txn, s->env.log, &log);

	*ret_oldest = INT64_MAX;
	*ret_newest = 0;
	if (rc)
		return rc;
	for (size_t i = 0; i < ARRAY_SIZE(ends) && rc == 0; i++) {
		rc = mdb_cursor_get(log, &k, &v, ends[i]);
		if (rc == 0 && !lmdb_change_parse(lmdb_str(&k), lmdb_str(&v), &c))
			rc = MDB_CORRUPTED;
		if (rc == 0)
			*out[i] = c.time_ms;
	}
	mdb_cursor_close(log);
	return rc == MDB_NOTFOUND ? 0 : rc;
}

static int open_view(struct lmdb_store *s, struct error *err)
{
	int rc = mdb_txn_begin(s->env.mdb, NULL, MDB_RDONLY, &s->view.txn);
	int r;

	if (rc == 0 && !s->read_only) {
		rc = mdb_txn_begin(s->env.mdb, NULL, MDB_RDONLY, &s->spare);
		if (rc == 0)
			mdb_txn_reset(s->spare);
	}
	if (rc)
		return lmdb_error(err, ERR_IO, rc, s->env.dir);
	r = lmdb_env_revisions(&s->env, s->view.txn, &s->view.revision, &s->view.compacted, err);
	if (r == 0)
		r = lmdb_resources_load(&s->resources, &s->env, s->view.txn, err);
	s->assigned = s->journaled = s->view.revision;
	return r;
}

static int set_time(struct lmdb_store *s, struct error *err)
{
	const struct clock *clock = loop_clock(s->base.loop);
	int64_t oldest, newest;
	int rc = read_times(s, &oldest, &newest);

	if (rc)
		return lmdb_error(err, ERR_IO, rc, s->env.dir);
	s->time_base = MAX(clock_wall(clock) / CLOCK_MS, newest) - loop_now(s->base.loop);
	if (!s->read_only)
		lmdb_writer_plan_prune(s, oldest);
	return 0;
}

static void set_quota(struct lmdb_store *s, const struct store_lmdb_opts *opts)
{
	s->quota.history = opts->history_bytes;
	s->quota.bytes = opts->quota_bytes >= 0 ? (size_t)opts->quota_bytes
						: lmdb_quota_of_disk(&s->env, s->view.txn);
}

/* Brings data.mdb up to date with a journal that is there, and begins or removes it. */
static int open_journal(struct lmdb_store *s, const struct store_lmdb_opts *opts, struct error *err)
{
	bool was_there = journal_exists(s->env.dir);
	int r = lmdb_apply_journal(&s->env, err);

	if (r == 0 && !opts->journal && was_there)
		r = journal_remove(s->env.dir, err);
	if (r == 0)
		r = lmdb_env_set_format(&s->env, opts->journal ? LMDB_FORMAT_JOURNAL : LMDB_FORMAT,
					err);
	if (r < 0 || !opts->journal)
		return r;
	s->stage = XNEW(struct lmdb_stage);
	r = lmdb_stage_open(s->stage, &s->env, opts->journal_segment_bytes, err);
	s->applier.objects = s->stage->tip.objects;
	if (opts->journal_backlog)
		s->applier.n_max = opts->journal_backlog;
	return r;
}

static int open_parts(struct lmdb_store *s, const struct store_lmdb_opts *opts, struct error *err)
{
	struct lmdb_env_opts env = { .dir = opts->dir,
				     .map_size = opts->map_size,
				     .read_only = opts->read_only,
				     .prng = loop_prng(s->base.loop) };
	int r;

	if (!env.map_size && !env.read_only)
		env.map_size = default_map_size;
	r = lmdb_env_open(&s->env, &env, err);
	if (r == 0 && !opts->read_only)
		r = open_journal(s, opts, err);
	if (r == 0)
		r = open_view(s, err);
	if (r == 0)
		r = set_time(s, err);
	if (r == 0)
		set_quota(s, opts);
	if (r == 0)
		r = lmdb_metrics_init(&s->metrics, opts->metrics, err);
	if (r == 0)
		r = lmdb_applier_start(s, err);
	if (r == 0) {
		r = lmdb_writer_start(s, err);
		if (r < 0)
			lmdb_applier_stop(s);
	}
	return r;
}

int store_lmdb_open(struct loop *l, const struct store_lmdb_opts *opts, struct store **ret_store,
		    struct error *err)
{
	struct lmdb_store *s = XNEW(struct lmdb_store);
	int r;

	s->base = (struct store){ .ops = &ops, .loop = l, .local = true };
	s->history_ms = opts->history_ms ? opts->history_ms : DEFAULT_HISTORY_MS;
	s->read_only = opts->read_only;
	s->inline_commit = opts->inline_commit;
	s->env = (struct lmdb_env){ .lock_fd = -1, .witness_fd = -1 };
	lmdb_resources_init(&s->resources);
	lmdb_reader_init(s);
	lmdb_writer_init(s);
	lmdb_applier_init(s);
	if (s->read_only)
		(void)error_set(&s->broken, ERR_UNAVAILABLE, "%s is open for reading only",
				opts->dir);
	r = open_parts(s, opts, err);
	if (r < 0) {
		store_release(s);
		return r;
	}
	lmdb_metrics_revisions(&s->metrics, s->view.revision, s->view.compacted);
	lmdb_metrics_quota(&s->metrics, s->quota.bytes);
	*ret_store = &s->base;
	return 0;
}
