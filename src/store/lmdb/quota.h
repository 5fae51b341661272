/*
 * lmdb_quota - how much the LMDB store may hold.
 *
 * LMDB never makes its file smaller, so the quota counts the pages that tables use, not the file.
 * Objects are the pages of `current`; the past is `superseded` and `log`. The past makes room for
 * objects: it may take its own bound at most, and no more than objects leave of the quota. So the
 * store refuses a write for want of room only when objects alone fill the quota.
 *
 * An operator can always make room: deletions are never refused. Writes that hardly grow their
 * object (a deletion's time stamp, a removed finalizer, a lease's renewal) have a reserve beyond
 * the quota.
 */
#ifndef STORE_LMDB_QUOTA_H
#define STORE_LMDB_QUOTA_H

#include "store/lmdb/env.h"

struct lmdb_quota {
	size_t bytes; /* of objects and the past; 0: no limit */
	size_t history; /* of the past alone; 0: no limit */
};

/* Bytes of the pages in use. */
struct lmdb_sizes {
	size_t objects, history;
};

/* 0 or LMDB's code. */
int lmdb_sizes_read(const struct lmdb_env *e, MDB_txn *txn, struct lmdb_sizes *ret_sizes);

/* The quota where none was given: what is used, and half of what is free on the disk. */
size_t lmdb_quota_of_disk(const struct lmdb_env *e, MDB_txn *txn);

/* Whether an object of `before` bytes (0: it is new) may become one of `after` bytes. */
bool lmdb_quota_allows(const struct lmdb_quota *q, size_t objects, size_t before, size_t after);

/* The most that the past may take beside so many bytes of objects; SIZE_MAX: no limit. */
size_t lmdb_quota_history(const struct lmdb_quota *q, size_t objects);

#endif
