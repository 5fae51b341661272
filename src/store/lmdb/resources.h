/*
 * lmdb_resources - the short ids of resources, which begin every key.
 *
 * A resource gets its id, in memory, with its first write. The commit of that write stores it in
 * `meta`. An id is never reused for another name.
 * Threads: only the loop's. Others may read a resource that they were given.
 */
#ifndef STORE_LMDB_RESOURCES_H
#define STORE_LMDB_RESOURCES_H

#include "base/core/map.h"
#include "base/core/vec.h"
#include "store/lmdb/env.h"

struct lmdb_resource {
	struct str name; /* "core/pods"; lives as long as the table */
	uint32_t id; /* from 1 */
};

struct lmdb_resources {
	struct map by_name;
	VEC(struct lmdb_resource *) by_id; /* at id - 1; NULL: unused */
};

void lmdb_resources_init(struct lmdb_resources *t);
void lmdb_resources_release(struct lmdb_resources *t);

/* Reads all ids from `meta`. */
int lmdb_resources_load(struct lmdb_resources *t, const struct lmdb_env *e, MDB_txn *txn,
			struct error *err);

/* Return NULL if the resource was never written. */
struct lmdb_resource *lmdb_resources_find(const struct lmdb_resources *t, struct str name);
struct lmdb_resource *lmdb_resources_at(const struct lmdb_resources *t, uint32_t id);

/* Finds or adds the resource. Returns NULL if there are STORE_RESOURCES_MAX already. */
struct lmdb_resource *lmdb_resources_get(struct lmdb_resources *t, struct str name);

/* Reads the id that `meta` has for its name; 0: none. Returns 0 or LMDB's error code. */
int lmdb_resource_get(const struct lmdb_resource *r, const struct lmdb_env *e, MDB_txn *txn,
		      int64_t *ret_id);

/* Whether `meta` can store it: its name is not too long. */
bool lmdb_resource_fits(const struct lmdb_resource *r);

/* Stores it in `meta`. */
int lmdb_resource_put(const struct lmdb_resource *r, const struct lmdb_env *e, MDB_txn *txn);

#endif
