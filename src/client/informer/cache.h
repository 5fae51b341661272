/*
 * cache - objects by key, and by the values they are indexed by.
 *
 * Objects are ordered by key ("namespace/name"), so a namespace is a range. An index is a function
 * that maps an object to any number of values; every change updates the objects listed for each
 * value. All operations are O(log n). An index entry costs its value, its key and about 60 bytes.
 * Threads: one at a time.
 */
#ifndef CLIENT_INFORMER_CACHE_H
#define CLIENT_INFORMER_CACHE_H

#include "base/core/vec.h"
#include "base/ordered/omap.h"
#include "client/informer/cached.h"

/* Collects the values of the object that is being indexed. */
struct cache_values;
void cache_values_add(struct cache_values *v, struct str value); /* copied */

/*
 * Adds the values of `o`. It must be a pure function of the object, because it is called again
 * when the object is removed. `a` is scratch memory and is cleared afterwards.
 */
typedef void cache_index_fn(const struct cached *o, struct arena *a, struct cache_values *v);

/* With `path`: indexes one field if it is a non-empty string; `path` has cached_field()'s form. */
struct cache_index {
	const char *name;
	cache_index_fn *fn; /* NULL: use `path` */
	const char *path;
};

/* Indexes the uids in metadata.ownerReferences. */
cache_index_fn cache_index_owner_uid;

struct cache {
	struct omap objects; /* key to struct cached */
	VEC(struct cache_table *) tables;
	struct arena scratch;
	uint32_t mark;
	size_t bytes; /* total size of the texts */
	uint64_t changes; /* made to it so far */
};

void cache_init(struct cache *c);
void cache_release(struct cache *c);

/* Also indexes the objects that are already here. The name must be new. Strings are borrowed. */
void cache_add_index(struct cache *c, const struct cache_index *index);
bool cache_has_index(const struct cache *c, const char *name);

/* Borrowed until the next change; NULL if not found. */
struct cached *cache_get(const struct cache *c, struct str key);
struct cached *cache_get_in(const struct cache *c, struct str ns, struct str name);

size_t cache_count(const struct cache *c);

/* Takes over the reference. Returns the replaced object (the caller owns its reference) or NULL. */
struct cached *cache_put(struct cache *c, struct cached *o);
struct cached *cache_remove(struct cache *c, struct str key);

/*
 * Iterates over all objects, those of a namespace, or those with a value in an index, in the order
 * of their keys. The cache may change meanwhile: the walk continues after the last key. Objects
 * are borrowed until the next change.
 *
 * 	struct cache_walk w = { 0 };
 *
 * 	while ((o = cache_next(c, &w)))
 */
struct cache_walk {
	struct cached *last; /* reference; dropped when the walk has ended */
	struct omap_cursor at; /* at `last`, as long as the cache has made these changes */
	uint64_t changes;
	bool over;
};

struct cached *cache_next(const struct cache *c, struct cache_walk *w);
struct cached *cache_next_in(const struct cache *c, struct str ns, struct cache_walk *w);
struct cached *cache_next_by(const struct cache *c, const char *index, struct str value,
			     struct cache_walk *w);

/* Ends a walk early. */
void cache_walk_end(struct cache_walk *w);

#endif
