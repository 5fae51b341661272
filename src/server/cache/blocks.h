/*
 * resource_blocks - a resource's objects in key order, in blocks that lists share.
 *
 * A map from key to object that holds a reference to each object. A list takes references to
 * whole blocks and copies their pointers. A change first copies its block if a list still refers
 * to it. So neither touches all objects, and a list stays as it was. An object costs about 20
 * bytes if the keys were added in ascending order, and 28 otherwise.
 *
 * Threads: the state's loop. Snapshots may be dropped on any thread.
 */
#ifndef SERVER_CACHE_BLOCKS_H
#define SERVER_CACHE_BLOCKS_H

#include "server/cache/snapshot.h"

struct resource_blocks {
	struct resource_blocks_entry *v; /* in key order; no block is empty */
	size_t n, cap;
	size_t count; /* number of objects */
};

void resource_blocks_init(struct resource_blocks *b);
void resource_blocks_clear(struct resource_blocks *b); /* and frees its memory */

/* The object of a key, or NULL. */
struct object *resource_blocks_find(const struct resource_blocks *b, struct str key);

/*
 * Inserts an object, or replaces that of the same key. Takes over the reference; returns the
 * replaced object, or NULL.
 */
struct object *resource_blocks_put(struct resource_blocks *b, struct object *o);

/* Removes an object that is in the map. Its reference passes to the caller. */
void resource_blocks_remove(struct resource_blocks *b, const struct object *o);

/* The place of an object. Valid until the next change. */
struct resource_place {
	size_t block, at;
};

/*
 * Iterates over all objects in key order:
 *
 *	struct resource_place at = { 0 };
 *
 *	while ((o = resource_blocks_next(b, &at)))
 */
struct object *resource_blocks_next(const struct resource_blocks *b, struct resource_place *at);

/* The first object whose key is `key` or comes after it; with `behind`, only after it. */
struct resource_place resource_blocks_seek(const struct resource_blocks *b, struct str key,
					   bool behind);

/* The number of objects from one place up to a later one; 0 if `to` is not later. */
size_t resource_blocks_between(const struct resource_blocks *b, struct resource_place from,
			       struct resource_place to);

/*
 * A snapshot of the n objects from a place on; a new reference. For blocks that are not
 * completely included it refers to the single objects.
 */
struct resource_snapshot *resource_blocks_take(const struct resource_blocks *b,
					       struct resource_place from, size_t n);

#endif
