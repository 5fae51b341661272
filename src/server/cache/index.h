/*
 * resource_index - the objects of one resource by key, for readers on any thread.
 *
 * A hash table with one writer. Readers take no lock and never wait: they search inside a section
 * of reclaim.h. A reader that searches while the key is written finds one of the states that the
 * key had during the search. It never misses a key that exists all the time, also while the table
 * grows. The index holds a reference to each object and drops it through reclaim.h.
 *
 * An object costs 11 to 17 bytes. A change moves at most a few dozen objects, so no change is slow:
 * a table grows in parts. The hash is keyed with a secret of the process (base/core/map.h).
 *
 * Threads: resource_index_find() on the writer's thread, or on a reader's in a read section;
 * everything else on the writer's.
 */
#ifndef SERVER_CACHE_INDEX_H
#define SERVER_CACHE_INDEX_H

#include "api/object/object.h"

struct reclaim;
struct resource_blocks;
struct resource_index;

/* The reclaim is borrowed. */
struct resource_index *resource_index_new(struct reclaim *reclaim);
void resource_index_free(struct resource_index *ix); /* without readers; NULL allowed */

/*
 * The object of a key, or NULL. Borrowed: until the end of the read section, or for the writer
 * until the next change.
 */
struct object *resource_index_find(const struct resource_index *ix, struct str key);

/* Inserts an object, or replaces that of the same key, with a new reference. */
void resource_index_put(struct resource_index *ix, struct object *o);

/* Removes the key's object, if there is one. */
void resource_index_remove(struct resource_index *ix, struct str key);

/*
 * Replaces all objects by those in the blocks. Readers find either the old objects or the new
 * ones. This is done at once: it takes about 30 ms for 100,000 objects.
 */
void resource_index_reset(struct resource_index *ix, const struct resource_blocks *b);

size_t resource_index_count(const struct resource_index *ix);
size_t resource_index_bytes(const struct resource_index *ix); /* of memory */

#endif
