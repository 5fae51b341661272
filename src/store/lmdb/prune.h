/*
 * lmdb_prune - forgetting the past, a bounded piece at a time.
 *
 * A change is forgotten together with what it superseded: then no state before
 * it can be read any more, and "compacted" says so. Changes go in the order of
 * their revisions, so what is left is always a complete past.
 * Threads: the committer's, inside its transaction.
 */
#ifndef STORE_LMDB_PRUNE_H
#define STORE_LMDB_PRUNE_H

#include "store/lmdb/quota.h"

struct lmdb_prune {
	int64_t compact; /* forget all up to this revision ... */
	int64_t before_ms; /* ... and all that happened before this time ... */
	struct lmdb_quota quota; /* ... and what this leaves no room for */
	size_t budget; /* changes that may be forgotten now */

	/* What came of it. */
	size_t pruned;
	int64_t compacted; /* the new one */
	bool more; /* the budget was used up */
	int64_t oldest_ms; /* when the oldest change that is left happened; INT64_MAX: none is */
	struct lmdb_sizes sizes; /* of what is left */
};

/* 0 or LMDB's code, after which the transaction must be aborted. */
int lmdb_prune_run(struct lmdb_prune *p, const struct lmdb_env *e, MDB_txn *txn);

#endif
