/*
 * lmdb_apply - brings data.mdb up to date with records: of the journal, or of one batch.
 *
 * Many records go into one transaction. Each table is changed in the order of its keys, and a key
 * that changed several times is put into `current` once; history is as complete as without a
 * journal. The transaction also stores the sequence of the journal's last record in `meta`
 * ("journal"), so no record is applied twice.
 */
#ifndef STORE_LMDB_APPLY_H
#define STORE_LMDB_APPLY_H

#include "store/lmdb/batch.h"

/*
 * Applies n records in the transaction, at least one. Sets the results of b that say what changed.
 * Returns 0 or LMDB's error code; MDB_CORRUPTED if a key is not as a record says.
 */
int lmdb_apply_records(struct lmdb_batch *b, struct journal_record *const *records, size_t n,
		       const struct lmdb_env *e, MDB_txn *txn, struct buf *scratch);

/* The sequence of the last record in data.mdb; 0: none. */
int lmdb_apply_sequence(const struct lmdb_env *e, MDB_txn *txn, int64_t *ret_sequence);

/*
 * Applies the journal in the environment's folder, if there is one, in transactions of bounded
 * size. The environment is open for writing. All records are durably in data.mdb then.
 */
int lmdb_apply_journal(const struct lmdb_env *e, struct error *err);

/*
 * For tools: makes sure that data.mdb in the folder has everything that was acknowledged before
 * the call. Applies the journal of a stopped server; waits for a running server to do it.
 */
int lmdb_apply_wait(const char *dir, struct error *err);

/*
 * The same for tools that only read: -ERR_CONFLICT if a stopped server has left changes that are
 * only in the journal.
 */
int lmdb_apply_check(const char *dir, struct error *err);

#endif
