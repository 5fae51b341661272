/*
 * lmdb_stage - the committer with a journal: decides writes, and journals those that hold.
 *
 * It knows the newest state: a map of the keys whose changes are in the journal only, and data.mdb
 * for all others. A batch is durable when its record is; lmdb/applier.c brings data.mdb up to date
 * later.
 * Threads: the committer's. Only the loop sets `done`, while the committer is idle.
 */
#ifndef STORE_LMDB_STAGE_H
#define STORE_LMDB_STAGE_H

#include "store/lmdb/batch.h"
#include "store/journal/journal.h"

/* What the loop hands over before the next batch. */
struct lmdb_done {
	struct list records; /* struct journal_record; in data.mdb, and no longer needed */
	int64_t sequence; /* the last one's; 0: none yet */
	size_t objects; /* bytes of the objects in data.mdb then */
};

struct lmdb_stage {
	struct journal journal;
	/* As of the last `done`. The transaction is reset between batches. */
	struct lmdb_tip tip;
	struct lmdb_done done;
};

/* The environment has all of an earlier journal. */
int lmdb_stage_open(struct lmdb_stage *st, const struct lmdb_env *e, size_t segment_bytes,
		    struct error *err);
void lmdb_stage_close(struct lmdb_stage *st);

/*
 * Decides and journals the batch on the calling thread. b->record is what was journaled; the caller
 * owns it until it comes back in `done`. b->committed is true then.
 */
void lmdb_stage_run(struct lmdb_stage *st, struct lmdb_batch *b, const struct lmdb_env *e);

#endif
