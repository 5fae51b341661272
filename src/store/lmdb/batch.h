/*
 * lmdb_batch - writes that are committed together: one transaction, all or none.
 *
 * The loop fills it, the committer runs it, the loop reads what came of it. A
 * write whose condition does not hold fails alone; anything that hinders the
 * transaction fails all of them.
 */
#ifndef STORE_LMDB_BATCH_H
#define STORE_LMDB_BATCH_H

#include "base/core/buf.h"
#include "store/lmdb/env.h"
#include "store/lmdb/prune.h"
#include "store/store.h"

struct lmdb_batch {
	struct list writes; /* struct store_write; `state` is its struct lmdb_resource */
	size_t n;
	int64_t now_ms; /* time stamp of its changes */
	struct lmdb_prune prune; /* with the quota, which is that of its writes, too */
	bool count_free; /* also count free pages, which takes a walk over them */
	MDB_txn *snapshot; /* a read transaction at rest, to be renewed by the commit */

	/* What came of it. Single writes have theirs in `result`. */
	int result; /* 0; -ERR_UNAVAILABLE: nothing was written; -ERR_IO: never write again */
	struct error err;
	bool committed; /* the snapshot is at its end; false also when nothing was to be done */
	int64_t revision; /* of its last change; 0: none */
	size_t changes;
	size_t refused; /* writes for which the quota has no room: -ERR_UNAVAILABLE */
	size_t objects; /* bytes of the current objects, as far as it has come */
	int64_t commit_ns; /* all of it */
	int64_t sync_ns; /* the last sync of it */
	size_t used_bytes, free_pages; /* of the file; free_pages only with count_free */
};

/* Runs it on the calling thread. `scratch` is the committer's, reused. */
void lmdb_batch_run(struct lmdb_batch *b, const struct lmdb_env *e, struct buf *scratch);

#endif
