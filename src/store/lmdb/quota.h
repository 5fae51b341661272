/*
 * lmdb_quota - limits the size of the LMDB store.
 *
 * LMDB never shrinks its file, so the quota counts the pages that tables use, not the file's size.
 * Objects are the pages of `current`; history is `superseded` and `log`. History makes room for
 * objects: it may use at most its own limit, and at most what objects leave of the quota. So the
 * store rejects a write for lack of space only if objects alone fill the quota.
 *
 * An operator can always make room: deletions are never rejected. Writes that hardly grow their
 * object (a deletion timestamp, a removed finalizer, a lease's renewal) may use a reserve beyond
 * the quota.
 */
#ifndef STORE_LMDB_QUOTA_H
#define STORE_LMDB_QUOTA_H

#include "store/lmdb/env.h"

struct lmdb_quota {
	size_t bytes; /* of objects and history; 0: no limit */
	size_t history; /* of history alone; 0: no limit */
};

/* Bytes of the pages in use. */
struct lmdb_sizes {
	size_t objects, history;
};

/* Returns 0 or LMDB's error code. */
int lmdb_sizes_read(const struct lmdb_env *e, MDB_txn *txn, struct lmdb_sizes *ret_sizes);

/*
 * The default quota: the space in use plus half of the free disk space, at most 7/8 of the map.
 * Returns 0 (no limit) if the sizes cannot be read.
 */
size_t lmdb_quota_of_disk(const struct lmdb_env *e, MDB_txn *txn);

/*
 * Whether an object of `before` bytes (0: it is new) may change to `after` bytes, while all objects
 * use `objects` bytes.
 */
bool lmdb_quota_allows(const struct lmdb_quota *q, size_t objects, size_t before, size_t after);

/* The maximum size of history if objects use `objects` bytes; SIZE_MAX: no limit. */
size_t lmdb_quota_history(const struct lmdb_quota *q, size_t objects);

#endif
