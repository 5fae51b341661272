/*
 * resource_blocks - a resource's objects in the order of their keys, in blocks that lists share.
 *
 * Kept beside the map from key to object, by each change of it. A list takes references to
 * whole blocks and a copy of their pointers; a change copies its block first when somebody
 * has it still. So neither touches all objects, and what was listed stays as it was.
 * Threads: the state's loop. What was taken may be dropped on any.
 */
#ifndef SERVER_RESOURCE_BLOCKS_H
#define SERVER_RESOURCE_BLOCKS_H

#include "server/resource_snapshot.h"

enum { RESOURCE_BLOCK_MAX = 128 /* objects of a block */ };

struct resource_blocks {
	struct resource_blocks_entry *v; /* in order; none is empty */
	size_t n, cap;
};

void resource_blocks_init(struct resource_blocks *b);
void resource_blocks_clear(struct resource_blocks *b); /* and frees its memory */

/* Adds an object, with a new reference, or replaces `before`, of the same key, which is in it. */
void resource_blocks_put(struct resource_blocks *b, struct object *o, const struct object *before);

/* Takes out an object that is in it. */
void resource_blocks_remove(struct resource_blocks *b, const struct object *o);

/* Where an object is. Valid until the next change. */
struct resource_place {
	size_t block, at;
};

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
