/*
 * resource_snapshot - an array of objects, shared by all readers of the same list.
 *
 * Immutable once published, and reference-counted; it keeps its objects alive. For a run of
 * objects that form a whole block (see below) it holds the block instead of each object. So a
 * list of thousands of objects costs a few references and a copy of pointers, and touches no
 * object. A selection from such a list may hold the list instead of its objects.
 *
 * Threads: any thread may hold and drop references.
 */
#ifndef SERVER_CACHE_SNAPSHOT_H
#define SERVER_CACHE_SNAPSHOT_H

#include <stdatomic.h>

#include "api/object/object.h"

struct arena;

/* --- blocks ----------------------------------------------------------------------- */

enum { RESOURCE_BLOCK_MAX = 128 /* objects per block */ };

/* Neighbouring objects in key order. A shared block must not be changed. */
struct resource_block {
	atomic_uint refs;
	uint32_t n;
	size_t bytes; /* size of the items: sum of object_item_size() */
	/* The keys, which point into the objects: a search reads only these arrays. */
	const char *key[RESOURCE_BLOCK_MAX];
	uint32_t key_n[RESOURCE_BLOCK_MAX];
	struct object *items[RESOURCE_BLOCK_MAX]; /* a reference to each */
};

struct resource_block *resource_block_new(void); /* empty */
void resource_block_unref(struct resource_block *b);

/* --- snapshots -------------------------------------------------------------------- */

struct resource_snapshot {
	atomic_uint refs;
	size_t n, cap;
	size_t bytes; /* size of the items: sum of object_item_size() */
	struct resource_block **blocks; /* stored after the items: a reference to each; or NULL */
	size_t nblocks;
	/* The blocks hold items[from .. to); each other item is a reference of its own. */
	size_t from, to;
	struct resource_snapshot *base; /* a reference that keeps all items alive; or NULL */
	struct object *items[];
};

/* An empty snapshot with room for `cap` objects, including those of up to `nblocks` blocks. */
struct resource_snapshot *resource_snapshot_new(size_t cap, size_t nblocks);

/*
 * Appends an object with a new reference. May move the snapshot if it has no blocks. Only before
 * it is published.
 */
void resource_snapshot_add(struct resource_snapshot **s, struct object *o);

/* Appends a run of objects; appends a block (blocks must follow each other). There must be room. */
void resource_snapshot_add_run(struct resource_snapshot *s, struct object *const *v, size_t n);
void resource_snapshot_add_block(struct resource_snapshot *s, struct resource_block *b);

/*
 * From now on `base`, which has all of its items, keeps them alive, instead of the snapshot
 * itself. That includes items added later.
 */
void resource_snapshot_lean(struct resource_snapshot *s, struct resource_snapshot *base);

/* For objects in key order: the index of the first one after `key`; 0 if `key` is empty. */
size_t resource_snapshot_after(const struct resource_snapshot *s, struct str key);

struct resource_snapshot *resource_snapshot_ref(struct resource_snapshot *s);
void resource_snapshot_unref(struct resource_snapshot *s); /* NULL allowed */

/* Binds the reference to the lifetime of the arena. */
void resource_snapshot_hold(struct arena *a, struct resource_snapshot *s);

/* --- reading many objects --------------------------------------------------------- */

/*
 * Prefetches objects and their texts. Call it before each object when you read many: they are
 * scattered in memory, and without it each costs two cache misses.
 */
static inline void resource_fetch_ahead(struct object *const *v, size_t n, size_t at)
{
	enum { AHEAD = 8 };

	if (at + 2 * AHEAD < n)
		__builtin_prefetch(v[at + 2 * AHEAD]);
	if (at + AHEAD < n)
		__builtin_prefetch(v[at + AHEAD]->json, 1);
}

#endif
