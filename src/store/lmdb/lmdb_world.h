/*
 * lmdb_world - temporary folders for tests of the LMDB store.
 */
#ifndef STORE_LMDB_LMDB_WORLD_H
#define STORE_LMDB_LMDB_WORLD_H

#include "store/contract_fixture.h"
#include "store/lmdb/store.h"

/* A location for store_contract_begin(). */
struct lmdb_world {
	char root[64]; /* removed with its content */
	char dir[80]; /* of the store, below root */
	struct store_lmdb_opts opts; /* used when it is opened next */
};

extern const struct store_contract_backend lmdb_world_threaded, lmdb_world_inline,
	lmdb_world_journal, lmdb_world_journal_inline;

static inline struct lmdb_world *lmdb_world_of(const struct store_contract *c)
{
	return c->place;
}

/* Choose a folder that does not exist yet, and remove it. */
struct lmdb_world *lmdb_world_new(void);
void lmdb_world_free(struct lmdb_world *w);

/* DIR/NAME in the store's folder, written to `buf`. */
const char *lmdb_world_path(struct lmdb_world *w, const char *name, char *buf, size_t size);

#endif
