/*
 * lmdb_read - ranges, now or at an older revision, and past versions.
 *
 * All functions read from one snapshot. Ranges are copied into the caller's arena.
 * Threads: only the loop's.
 */
#ifndef STORE_LMDB_READ_H
#define STORE_LMDB_READ_H

#include "store/lmdb/env.h"
#include "store/lmdb/keys.h"
#include "store/lmdb/resources.h"
#include "store/store.h"

struct arena;

/* A read transaction and its revisions. */
struct lmdb_snapshot {
	MDB_txn *txn;
	int64_t revision; /* of its newest change */
	int64_t compacted; /* states before it cannot be read */
};

/*
 * As store_range(). -ERR_EXPIRED, -ERR_TIMEOUT (a future revision), or -ERR_IO if the file is
 * damaged.
 */
int lmdb_read_range(const struct lmdb_env *e, const struct lmdb_snapshot *at,
		    const struct lmdb_resources *resources, const struct store_range *range,
		    struct arena *arena, struct store_range_result *ret_result, struct error *err);

/*
 * Finds the bytes of a key at a revision that changed it; they are borrowed from the map. Returns
 * false if they are no longer kept.
 */
bool lmdb_read_version(const struct lmdb_env *e, MDB_txn *txn, struct str key, int64_t revision,
		       struct str *ret_bytes);

#endif
