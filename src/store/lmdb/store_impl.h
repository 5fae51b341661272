/*
 * lmdb_store - private to the LMDB backend: the store and its parts.
 *
 * lmdb/store.c opens and closes it, lmdb/writer.c makes batches of writes and
 * has them committed, lmdb/reader.c answers reads and starts the feed.
 *
 * Everything here is the loop's, but that the committer has `batch` and
 * `scratch` while `running`.
 */
#ifndef STORE_LMDB_STORE_IMPL_H
#define STORE_LMDB_STORE_IMPL_H

#include "base/core/queue.h"
#include "net/loop/loop.h"
#include "store/lmdb/batch.h"
#include "store/lmdb/history.h"
#include "store/lmdb/metrics.h"
#include "store/lmdb/read.h"
#include "store/lmdb/resources.h"
#include "store/store_impl.h"

struct lmdb_store {
	struct store base;
	struct lmdb_env env;
	struct lmdb_resources resources;
	struct lmdb_metrics metrics;
	bool read_only, inline_commit;

	/* Reading. */
	struct lmdb_snapshot view; /* what reads see: all that is durable and finished */
	MDB_txn *spare; /* a second read transaction, at rest, for the next commit */
	struct lmdb_history history;
	struct list answers; /* computed, to be handed over at the end of the turn */
	struct loop_task answer;

	/* Writing. */
	struct list waiting; /* struct store_write, not in a batch yet */
	int64_t assigned; /* the last revision that was given to a write */
	struct lmdb_batch batch;
	bool running; /* the committer has the batch */
	uint64_t batches; /* made so far */
	struct buf scratch; /* the committer's */
	struct store_event *events; /* STORE_BATCH_MAX of them, for delivery */
	struct loop_task start; /* makes the next batch at the end of the turn */
	struct loop_msg finished; /* the committer is through with the batch */
	struct thread thread;
	struct event wake; /* for the thread: a batch, or the end */
	bool stop;
	struct error broken; /* code ERR_OK while the store may be written */

	/* The feed. */
	struct store_feed feed;
	bool following; /* finished batches go to the feed */
	int64_t follow_from;
	struct loop_task replay; /* delivers what came before the feed was followed */

	/* Forgetting. */
	int64_t history_ms;
	struct lmdb_quota quota;
	int64_t time_base; /* the store's time when the loop's was 0, ms since 1970 */
	struct list compactions; /* asked for, not finished */
	bool prune_now; /* a batch was not allowed to forget all that is due */
	struct loop_timer prune; /* when the oldest change gets too old */
	struct loop_timer tidy; /* a while after something was written */
	size_t tidied; /* of the file, so far */

	void (*closed)(void *arg);
	void *closed_arg;
	bool closing;
};

static inline struct lmdb_store *lmdb_store_of(struct store *s)
{
	return CONTAINER_OF(s, struct lmdb_store, base);
}

/* Milliseconds since 1970 by a clock that never goes back, not even over restarts. */
static inline int64_t lmdb_store_now(const struct lmdb_store *s)
{
	return s->time_base + loop_now(s->base.loop);
}

/* --- lmdb/writer.c ---------------------------------------------------------------- */

void lmdb_writer_init(struct lmdb_store *s);
int lmdb_writer_start(struct lmdb_store *s, struct error *err);
void lmdb_writer_write(struct store *base, struct store_write *w);
int lmdb_writer_health(struct store *base, struct error *err);
void lmdb_writer_compact(struct store *base, int64_t revision,
			 void (*done)(void *arg, const struct error *err), void *arg);

/* Has the next batch made at the end of the turn. */
void lmdb_writer_kick(struct lmdb_store *s);

/* The writer has nothing left to do and will not begin anything. */
void lmdb_store_drained(struct lmdb_store *s);

/* When the oldest change is forgotten; INT64_MAX: there is none. */
void lmdb_writer_plan_prune(struct lmdb_store *s, int64_t oldest_ms);

/* --- lmdb/reader.c ----------------------------------------------------------------- */

void lmdb_reader_init(struct lmdb_store *s);
void lmdb_reader_range(struct store *base, const struct store_range *range, struct arena *arena,
		       void (*done)(void *arg, const struct store_range_result *result,
				    const struct error *err),
		       void *arg);
void lmdb_reader_current(struct store *base,
			 void (*done)(void *arg, int64_t revision, const struct error *err),
			 void *arg);
int lmdb_reader_history(struct store *base, struct str resource, int64_t revision, size_t max_bytes,
			struct arena *arena, struct store_past *ret_past, struct error *err);
void lmdb_reader_follow(struct store *base, int64_t revision, const struct store_feed *feed);

/* Delivers what the feed has missed, if it was just followed. */
void lmdb_reader_catch_up(struct lmdb_store *s);

/* Hands over all answers now. */
void lmdb_reader_flush(struct lmdb_store *s);

#endif
