/*
 * resource_blocks - a resource's objects in the order of their keys, in blocks that lists share.
 *
 * A map from key to object, with a reference to each. A list takes references to whole blocks
 * and a copy of their pointers; a change copies its block first when somebody has it still. So
 * neither touches all objects, and what was listed stays as it was. An object costs about 20
 * bytes when the keys came in ascending order and 28 when they came in any order.
 * Threads: the state's loop. What was taken may be dropped on any.
 */
#ifndef SERVER_CACHE_BLOCKS_H
#define SERVER_CACHE_BLOCKS_H

#include "server/cache/snapshot.h"

struct resource_blocks {
	struct resource_blocks_entry *v; /* in order; none is empty */
	size_t n, cap;
	size_t count; /* of objects */
};

void resource_blocks_init(struct resource_blocks *b);
void resource_blocks_clear(struct resource_blocks *b); /* and frees its memory */

/* The object of a key, or NULL. */
struct object *resource_blocks_find(const struct resource_blocks *b, struct str key);

/* Puts an object in the place of its key's, takes the reference over; returns the one before. */
struct object *resource_blocks_put(struct resource_blocks *b, struct object *o);

/* Takes out an object that is in it; its reference is the caller's. */
void resource_blocks_remove(struct resource_blocks *b, const struct object *o);

/* Where an object is. Valid until the next change. */
struct resource_place {
	size_t block, at;
};

/*
 * All of them, in order:
 *
 *	struct resource_place at = { 0 };
 *
 *	while ((o = resource_blocks_next(b, &at)))
 */
struct object *resource_blocks_next(const struct resource_blocks *b, struct resource_place *at);

/* The first object whose key is `key` or behind it; with `behind`, only behind it. */
struct resource_place resource_blocks_seek(const struct resource_blocks *b, struct str key,
					   bool behind);

/* How many objects there are from one place up to a later one; 0 when that is none later. */
size_t resource_blocks_between(const struct resource_blocks *b, struct resource_place from,
			       struct resource_place to);

/*
 * The n objects from a place on; a new reference. Of blocks that are not wholly among them it keeps
 * those objects alone.
 */
struct resource_snapshot *resource_blocks_take(const struct resource_blocks *b,
					       struct resource_place from, size_t n);

#endif
