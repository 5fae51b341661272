/*
 * lmdb_resources - the short ids of resources, which begin every key.
 *
 * A resource gets its id with its first write, in memory; the commit that holds
 * that write puts it into `meta`. An id is never given to another name.
 * Threads: the loop's, but for `stored`, which is the committer's.
 */
#ifndef STORE_LMDB_RESOURCES_H
#define STORE_LMDB_RESOURCES_H

#include "base/core/map.h"
#include "base/core/vec.h"
#include "store/lmdb/env.h"

struct lmdb_resource {
	struct str name; /* "core/pods"; lives as long as the table */
	uint32_t id; /* from 1 */
	bool stored; /* in `meta`, durably */
};

struct lmdb_resources {
	struct map by_name;
	VEC(struct lmdb_resource *) by_id; /* at id - 1; NULL: not used */
};

void lmdb_resources_init(struct lmdb_resources *t);
void lmdb_resources_release(struct lmdb_resources *t);

/* Reads all that are in `meta`. */
int lmdb_resources_load(struct lmdb_resources *t, const struct lmdb_env *e, MDB_txn *txn,
			struct error *err);

/* NULL when it was never written. */
struct lmdb_resource *lmdb_resources_find(const struct lmdb_resources *t, struct str name);
struct lmdb_resource *lmdb_resources_at(const struct lmdb_resources *t, uint32_t id);

/* Found, or made; NULL when there are STORE_RESOURCES_MAX already. */
struct lmdb_resource *lmdb_resources_get(struct lmdb_resources *t, struct str name);

/* Puts it into `meta`; the committer marks it stored once that has been committed. */
int lmdb_resource_put(const struct lmdb_resource *r, const struct lmdb_env *e, MDB_txn *txn);

#endif
