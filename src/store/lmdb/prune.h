/*
 * lmdb_prune - deletes history, a bounded amount at a time.
 *
 * A change is deleted together with the version that it superseded. States before it can then no
 * longer be read, and "compacted" is raised to it. Changes are deleted in the order of revisions,
 * so the remaining history is always complete.
 * Threads: only the committer's, inside its transaction.
 */
#ifndef STORE_LMDB_PRUNE_H
#define STORE_LMDB_PRUNE_H

#include "store/lmdb/quota.h"

struct lmdb_prune {
	int64_t compact; /* delete everything up to this revision ... */
	int64_t before_ms; /* ... and everything that happened before this time ... */
	struct lmdb_quota quota; /* ... and history that exceeds this quota */
	size_t budget; /* maximum number of changes to delete now */

	/* Results. */
	size_t pruned;
	int64_t compacted; /* the new compacted revision */
	bool more; /* the budget was used up */
	int64_t oldest_ms; /* time of the oldest remaining change; INT64_MAX: none remains */
	struct lmdb_sizes sizes; /* of the remaining data */
};

/* Returns 0 or LMDB's error code, after which the transaction must be aborted. */
int lmdb_prune_run(struct lmdb_prune *p, const struct lmdb_env *e, MDB_txn *txn);

#endif
