/*
 * lmdb_batch - writes that are committed together: one transaction, all or none.
 *
 * The loop fills the batch, the committer runs it, and the loop reads the results. A write whose
 * condition does not hold fails alone. An error of the transaction fails all writes.
 */
#ifndef STORE_LMDB_BATCH_H
#define STORE_LMDB_BATCH_H

#include "base/core/buf.h"
#include "base/core/map.h"
#include "store/lmdb/env.h"
#include "store/lmdb/prune.h"
#include "store/journal/record.h"
#include "store/store.h"

struct lmdb_batch {
	struct list writes; /* struct store_write; `state` is its struct lmdb_resource */
	size_t n;
	int64_t now_ms; /* timestamp of its changes */
	struct lmdb_prune prune; /* prune.quota also limits the writes */
	/* Of the journal, to be applied instead of writes (lmdb/apply.h). */
	struct journal_record **records;
	size_t nrecords;
	/*
	 * Also make the file as long as LMDB says. Large transactions often allocate pages at its
	 * end and free them again, and a tool would take the file for one that was cut short.
	 */
	bool lengthen;
	bool count_free; /* also count free pages, which needs a walk over them */
	MDB_txn *snapshot; /* a reset read transaction, which the commit renews */

	/* Results. Each write has its own in `result`. */
	int result; /* 0; -ERR_UNAVAILABLE: nothing was written; -ERR_IO: never write again */
	struct error err;
	/* The snapshot shows the end of the batch; false also if there was nothing to do. */
	bool committed;
	int64_t revision; /* of its last change; 0: no change */
	size_t changes;
	size_t refused; /* writes that the quota rejected: -ERR_UNAVAILABLE */
	int64_t commit_ns; /* duration of the whole commit */
	int64_t sync_ns; /* duration of its last sync */
	size_t used_bytes, free_pages; /* of the file; free_pages only with count_free */
	struct journal_record *record; /* what the stage has journaled; NULL: nothing */
};

/* Runs the batch on the calling thread. `scratch` belongs to the committer and is reused. */
void lmdb_batch_run(struct lmdb_batch *b, const struct lmdb_env *e, struct buf *scratch);

/* --- for lmdb/stage.h ------------------------------------------------------------------ */

/* The newest state of every key. A write takes effect only if its key is as it expects. */
struct lmdb_tip {
	MDB_txn *txn; /* shows data.mdb */
	struct map newest; /* key -> struct journal_entry, the last one that is not in data.mdb */
	size_t objects; /* bytes of the objects in data.mdb */
	int64_t growth; /* by how many bytes the records of `newest` make them larger */
};

/*
 * Decides the writes, one after the other: makes b->record of those whose condition holds, and puts
 * its entries into t->newest. Sets the result of each write. Returns 0 or LMDB's error code.
 */
int lmdb_batch_decide(struct lmdb_batch *b, struct lmdb_tip *t, const struct lmdb_env *e);

/* Frees b->record, and makes t->newest what it was before. */
void lmdb_batch_undo(struct lmdb_batch *b, struct lmdb_tip *t);

/* Fails all writes with the code `r`, which is b->err's. */
void lmdb_batch_fail(struct lmdb_batch *b, int r);

/* The same with -ERR_IO and LMDB's error code; says that the store needs a restart. */
void lmdb_batch_break(struct lmdb_batch *b, const struct lmdb_env *e, int rc, const char *what);

#endif
