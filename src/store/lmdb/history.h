/*
 * lmdb_history - past changes, from the log.
 *
 * A starting server requests the changes of each resource in turn. The log is ordered by revision,
 * not by resource, so it is scanned once for all resources and the result is kept until the feed
 * begins.
 * Threads: only the loop's.
 */
#ifndef STORE_LMDB_HISTORY_H
#define STORE_LMDB_HISTORY_H

#include "store/lmdb/read.h"

struct lmdb_history_entry;

/* The revisions that changed each resource. All zero: not scanned yet. */
struct lmdb_history {
	struct lmdb_history_entry *entries; /* ordered by resource, then revision */
	size_t n;
	int64_t revision; /* of the snapshot that was scanned */
	bool made;
};

void lmdb_history_release(struct lmdb_history *h);

/*
 * Reads the resource's changes after past->from, which must not be below the compacted revision,
 * into the arena: the newest, until their values reach `max_bytes`. Raises `from` if some are left
 * out.
 */
int lmdb_history_read(struct lmdb_history *h, const struct lmdb_env *e,
		      const struct lmdb_snapshot *at, const struct lmdb_resource *resource,
		      size_t max_bytes, struct arena *arena, struct store_past *past,
		      struct error *err);

/*
 * Calls `each` for all changes of all resources after `revision`, in order. The bytes of key and
 * value are borrowed. Stops when `each` returns false.
 */
int lmdb_history_walk(const struct lmdb_env *e, const struct lmdb_snapshot *at, int64_t revision,
		      bool (*each)(void *arg, const struct lmdb_change *c, struct str value),
		      void *arg, struct error *err);

#endif
