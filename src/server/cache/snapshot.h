/*
 * resource_snapshot - an array of objects, shared by all who list the same.
 *
 * Immutable once handed out, and counted; it keeps its objects. Where it has a run of them that is
 * a block (see below), it holds that instead of each object: so a list of thousands is made by a
 * few references and a copy of pointers, and no object is touched. What was chosen from such a list
 * may hold that instead.
 * Threads: any may hold and drop references.
 */
#ifndef SERVER_CACHE_SNAPSHOT_H
#define SERVER_CACHE_SNAPSHOT_H

#include <stdatomic.h>

#include "api/object/object.h"

struct arena;

/* --- blocks ----------------------------------------------------------------------- */

enum { RESOURCE_BLOCK_MAX = 128 /* objects of a block */ };

/* Objects beside each other in the order of keys. Whoever shares one does not change it. */
struct resource_block {
	atomic_uint refs;
	uint32_t n;
	size_t bytes; /* of them as items: object_item_size() */
	/* The keys of the objects, which keep them: a search touches nothing else of these. */
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
	size_t bytes; /* of them as items: object_item_size() */
	struct resource_block **blocks; /* behind the items: a reference to each; or NULL */
	size_t nblocks;
	size_t from, to; /* items[from .. to) are the blocks'; to each other item is a reference */
	struct resource_snapshot *base; /* a reference: keeps all items; or NULL */
	struct object *items[];
};

/* Empty, with room for `cap` objects; of those that come in blocks, for `nblocks` of them. */
struct resource_snapshot *resource_snapshot_new(size_t cap, size_t nblocks);

/*
 * Appends an object, with a new reference; may move the snapshot, if it has no blocks. Before it
 * is handed out.
 */
void resource_snapshot_add(struct resource_snapshot **s, struct object *o);

/* The same of a run of objects; of blocks, which follow each other. There must be room. */
void resource_snapshot_add_run(struct resource_snapshot *s, struct object *const *v, size_t n);
void resource_snapshot_add_block(struct resource_snapshot *s, struct resource_block *b);

/* What it has, and is added later, is kept by `base`, where all of it is; no longer by itself. */
void resource_snapshot_lean(struct resource_snapshot *s, struct resource_snapshot *base);

/* Of objects in order of keys: the place of the first behind `key`; empty: 0. */
size_t resource_snapshot_after(const struct resource_snapshot *s, struct str key);

struct resource_snapshot *resource_snapshot_ref(struct resource_snapshot *s);
void resource_snapshot_unref(struct resource_snapshot *s); /* NULL allowed */

/* The reference lives as long as the arena. */
void resource_snapshot_hold(struct arena *a, struct resource_snapshot *s);

/* --- objects beside each other ---------------------------------------------------- */

/*
 * Whoever touches many objects calls it before each: they lie anywhere, and without this each of
 * them is waited for, twice. It is as if objects and their texts had been asked for beforehand.
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
