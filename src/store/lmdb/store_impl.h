/*
 * lmdb_store - private to the LMDB backend: the store and its parts.
 *
 * lmdb/store.c opens and closes it, lmdb/writer.c makes batches of writes and has them committed,
 * lmdb/reader.c serves reads and starts the feed.
 *
 * Everything here belongs to the loop, except that the committer owns `batch` and `scratch` while
 * `running` is true.
 */
#ifndef STORE_LMDB_STORE_IMPL_H
#define STORE_LMDB_STORE_IMPL_H

#include "base/core/queue.h"
#include "net/loop/loop.h"
#include "store/backend.h"
#include "store/lmdb/batch.h"
#include "store/lmdb/history.h"
#include "store/lmdb/metrics.h"
#include "store/lmdb/read.h"
#include "store/lmdb/resources.h"

struct lmdb_store {
	struct store base;
	struct lmdb_env env;
	struct lmdb_resources resources;
	struct lmdb_metrics metrics;
	bool read_only, inline_commit;

	/* Reading. */
	struct lmdb_snapshot view; /* the state that reads see: everything durable and finished */
	MDB_txn *spare; /* a second, reset read transaction, for the next commit */
	struct lmdb_history history;
	struct list answers; /* finished reads, delivered at the end of the turn */
	struct loop_task answer;

	/* Writing. */
	struct list waiting; /* struct store_write, not in a batch yet */
	int64_t assigned; /* the last revision that a write got */
	struct lmdb_batch batch;
	bool running; /* the committer owns the batch */
	uint64_t batches; /* made so far */
	struct buf scratch; /* the committer's */
	struct store_event *events; /* STORE_BATCH_MAX of them, for delivery */
	struct loop_task start; /* makes the next batch at the end of the turn */
	struct loop_msg finished; /* the committer has finished the batch */
	struct thread thread;
	struct event wake; /* wakes the thread for a batch, or to stop */
	bool stop;
	/* Why the store cannot be written any more; code ERR_OK while it can. */
	struct error broken;

	/* The feed. */
	struct store_feed feed;
	bool following; /* finished batches are delivered to the feed */
	int64_t follow_from;
	struct loop_task replay; /* delivers the changes made before store_follow() was called */

	/* Deleting history. */
	int64_t history_ms;
	struct lmdb_quota quota;
	int64_t time_base; /* the store's time, in ms since 1970, when the loop's was 0 */
	struct list compactions; /* requested, not finished */
	bool prune_now; /* history is due: the last batch reached its limit, or `prune` fired */
	struct loop_timer prune; /* fires when the oldest change is too old */
	struct loop_timer tidy; /* releases memory of pages a while after a write */
	size_t tidied; /* offset in the file up to which memory was released */

	void (*closed)(void *arg);
	void *closed_arg;
	bool closing;
};

static inline struct lmdb_store *lmdb_store_of(struct store *s)
{
	return CONTAINER_OF(s, struct lmdb_store, base);
}

/* Milliseconds since 1970. This clock never goes backwards, not even over restarts. */
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

/* Schedules the next batch for the end of the turn. */
void lmdb_writer_kick(struct lmdb_store *s);

/* Called when the writer has nothing left to do and will not start anything. */
void lmdb_store_drained(struct lmdb_store *s);

/* Schedules the next prune for when the oldest change expires; INT64_MAX: does nothing. */
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

/* Delivers the changes that the feed has missed, if store_follow() was just called. */
void lmdb_reader_catch_up(struct lmdb_store *s);

/* Delivers all finished reads now. */
void lmdb_reader_flush(struct lmdb_store *s);

#endif
