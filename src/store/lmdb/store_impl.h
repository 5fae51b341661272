/*
 * lmdb_store - private to the LMDB backend: the store and its parts.
 *
 * lmdb/store.c opens and closes it, lmdb/writer.c makes batches of writes and has them committed,
 * lmdb/reader.c serves reads and starts the feed.
 *
 * With a journal, lmdb/stage.c commits the batches and lmdb/applier.c brings data.mdb up to date.
 *
 * Everything here belongs to the loop, except that the committer owns `batch`, `scratch` and
 * `stage` while `running` is true.
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
#include "store/lmdb/stage.h"

/*
 * The applier brings data.mdb up to date with the journal in the background.
 *
 * The loop keeps the records that are in the journal only: the backlog. A thread applies as many of
 * them as fit into one transaction: a while after the first one, so that many come together, or at
 * once if a read waits for them or the backlog grows. The same transactions delete history. The
 * backlog is bounded: when it is full, the writer starts no batch.
 *
 * If the disk or the map is full, new writes fail until a later attempt succeeds. What was
 * acknowledged stays in the journal.
 *
 * Threads: everything belongs to the loop, except that the thread owns `batch` and `scratch` while
 * `running` is true.
 */
struct lmdb_applier {
	struct list
		backlog; /* struct journal_record, oldest first, including those being applied */
	size_t n, bytes; /* changes in it; of their keys and values */
	size_t n_max, n_most; /* its bound, and the most there was */
	struct list done; /* records in data.mdb, for the committer to free */
	int64_t sequence; /* the last one's */
	size_t objects; /* bytes of the objects in data.mdb then */
	struct list parked; /* reads that wait for records to be applied */

	struct lmdb_batch batch;
	struct journal_record **records; /* of the batch */
	struct buf scratch;
	bool running; /* the thread owns the batch */
	bool unheard; /* it was finished early, so its message is to be ignored */
	bool prune_only; /* the next transaction only makes room */
	struct error failed; /* of the last attempt; code ERR_OK: none */

	struct thread thread;
	struct event wake, ended;
	bool stop;
	struct loop_msg finished;
	struct loop_task start;
	struct loop_timer linger;
};

struct lmdb_store {
	struct store base;
	struct lmdb_env env;
	struct lmdb_resources resources;
	struct lmdb_metrics metrics;
	bool read_only, inline_commit;

	/* Reading. */
	/*
	 * The state that reads see: everything durable and finished; with a journal, everything
	 * that is in data.mdb.
	 */
	struct lmdb_snapshot view;
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
	struct lmdb_stage *stage; /* decides and journals the batches; NULL: there is no journal */
	struct lmdb_applier applier;
	int64_t journaled; /* with a journal: revision of the last finished change */
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

/* The revision of the last durable and finished change. */
static inline int64_t lmdb_store_newest(const struct lmdb_store *s)
{
	return s->stage ? s->journaled : s->view.revision;
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

/* Sets what a batch is to prune. */
void lmdb_writer_plan_batch(struct lmdb_store *s, struct lmdb_batch *b);

/* A transaction has finished: moves the view, finishes compactions, plans the next prune. */
void lmdb_writer_applied(struct lmdb_store *s, const struct lmdb_batch *b);

/* Called when the writer has nothing left to do and will not start anything. */
void lmdb_store_drained(struct lmdb_store *s);

/* Schedules the next prune for when the oldest change expires; INT64_MAX: does nothing. */
void lmdb_writer_plan_prune(struct lmdb_store *s, int64_t oldest_ms);

/* --- lmdb/applier.c ---------------------------------------------------------------- */

void lmdb_applier_init(struct lmdb_store *s);
int lmdb_applier_start(struct lmdb_store *s, struct error *err);
void lmdb_applier_stop(struct lmdb_store *s);
void lmdb_applier_release(struct lmdb_store *s);

/* Takes a record that the committer has journaled. */
void lmdb_applier_add(struct lmdb_store *s, struct journal_record *r);

/* Starts applying when it is time. */
void lmdb_applier_kick(struct lmdb_store *s);

/* Applies everything before it returns; for store_history(). */
int lmdb_applier_drain(struct lmdb_store *s, struct error *err);

/* Whether the writer must wait. */
bool lmdb_applier_is_full(const struct lmdb_store *s);

/* Whether the store may be closed. What could not be applied stays in the journal. */
bool lmdb_applier_is_idle(const struct lmdb_store *s);

/* Gives the committer, which is idle, the records that it may free. */
void lmdb_applier_hand_over(struct lmdb_store *s);

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

/* Answers the reads that waited for the journal to be applied; with `err`, fails the others. */
void lmdb_reader_unpark(struct lmdb_store *s, const struct error *err);

/* Delivers all finished reads now. */
void lmdb_reader_flush(struct lmdb_store *s);

#endif
