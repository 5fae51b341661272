/*
 * lmdb_read - ranges, now or at an older revision, and changes of the past.
 *
 * All read from one snapshot and copy what they find into the caller's arena.
 * Threads: the loop's.
 */
#ifndef STORE_LMDB_READ_H
#define STORE_LMDB_READ_H

#include "store/lmdb/env.h"
#include "store/lmdb/keys.h"
#include "store/lmdb/resources.h"
#include "store/store.h"

struct arena;

/* A read transaction and what it sees. */
struct lmdb_snapshot {
	MDB_txn *txn;
	int64_t revision; /* of its newest change */
	int64_t compacted; /* states before it cannot be read */
};

/*
 * As store_range(). -ERR_EXPIRED, -ERR_TIMEOUT (the future), or -ERR_IO when the
 * file is damaged.
 */
int lmdb_read_range(const struct lmdb_env *e, const struct lmdb_snapshot *at,
		    const struct lmdb_resources *resources, const struct store_range *range,
		    struct arena *arena, struct store_range_result *ret_result, struct error *err);

/* The bytes of a key at a revision that changed it, still in the map. False: not kept. */
bool lmdb_read_version(const struct lmdb_env *e, MDB_txn *txn, struct str key, int64_t revision,
		       struct str *ret_bytes);

#endif
