/*
 * lmdb_history - the changes of the past, from the log.
 *
 * A server that starts asks for each resource's changes in turn. The log is in
 * the order of revisions, not by resource, so it is gone through once for all of
 * them and what is found is kept until the feed begins.
 * Threads: the loop's.
 */
#ifndef STORE_LMDB_HISTORY_H
#define STORE_LMDB_HISTORY_H

#include "store/lmdb/read.h"

struct lmdb_history_entry;

/* Which revisions changed which resource. All zero: not looked up yet. */
struct lmdb_history {
	struct lmdb_history_entry *entries; /* ordered by resource, then revision */
	size_t n;
	int64_t revision; /* of the snapshot that it was made from */
	bool made;
};

void lmdb_history_release(struct lmdb_history *h);

/*
 * The resource's changes after past->from, which is not below the compacted
 * revision, in the arena: the newest, until their values reach `max_bytes`.
 * Raises `from` when some are left out.
 */
int lmdb_history_read(struct lmdb_history *h, const struct lmdb_env *e,
		      const struct lmdb_snapshot *at, const struct lmdb_resource *resource,
		      size_t max_bytes, struct arena *arena, struct store_past *past,
		      struct error *err);

/*
 * Calls `each` for all changes of all resources after `revision`, in order; the
 * key's and the value's bytes are borrowed. Stops when it returns false.
 */
int lmdb_history_walk(const struct lmdb_env *e, const struct lmdb_snapshot *at, int64_t revision,
		      bool (*each)(void *arg, const struct lmdb_change *c, struct str value),
		      void *arg, struct error *err);

#endif
