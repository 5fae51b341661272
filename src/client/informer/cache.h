/*
 * cache - objects by key, and by whatever they are indexed by.
 *
 * Ordered by key ("namespace/name"), so a namespace is a range. An index is a function from
 * an object to any number of values; which objects have a value is kept up to date with
 * every change. Everything is O(log n); an index entry costs its value, its key and about
 * 60 bytes.
 * Threads: one at a time.
 */
#ifndef CLIENT_INFORMER_CACHE_H
#define CLIENT_INFORMER_CACHE_H

#include "base/core/omap.h"
#include "base/core/vec.h"
#include "client/informer/cached.h"

/* Takes the values of an object as it is indexed. */
struct cache_values;
void cache_values_add(struct cache_values *v, struct str value); /* copied */

/*
 * Adds the values of `o`. A pure function of the object: it is asked again when
 * the object goes. `a` is for its work and is cleared afterwards.
 */
typedef void cache_index_fn(const struct cached *o, struct arena *a, struct cache_values *v);

/* The value of one field, when it is a string and not empty: `path` in cached_field's form. */
struct cache_index {
	const char *name;
	cache_index_fn *fn; /* or NULL and `path` */
	const char *path;
};

/* By the uids of metadata.ownerReferences. */
cache_index_fn cache_index_owner_uid;

struct cache {
	struct omap objects; /* key to struct cached */
	VEC(struct cache_table *) tables;
	struct arena scratch;
	uint32_t mark;
	size_t bytes; /* of all texts */
};

void cache_init(struct cache *c);
void cache_release(struct cache *c);

/* What there is already is indexed at once. The name must be new. Strings are borrowed. */
void cache_add_index(struct cache *c, const struct cache_index *index);
bool cache_has_index(const struct cache *c, const char *name);

/* Borrowed until the next change; NULL when there is none. */
struct cached *cache_get(const struct cache *c, struct str key);
struct cached *cache_get_in(const struct cache *c, struct str ns, struct str name);

size_t cache_count(const struct cache *c);

/* Takes the reference over; returns what was there, whose reference is the caller's; or NULL. */
struct cached *cache_put(struct cache *c, struct cached *o);
struct cached *cache_remove(struct cache *c, struct str key);

/*
 * Walks: all objects, those of a namespace, or those with a value in an index, in the
 * order of their keys. The cache may change meanwhile: the walk goes on behind the
 * last key. Borrowed until the next change.
 *
 *	struct cache_walk w = { 0 };
 *
 *	while ((o = cache_next(c, &w)))
 */
struct cache_walk {
	struct cached *last; /* reference; dropped when the walk has ended */
	bool over;
};

struct cached *cache_next(const struct cache *c, struct cache_walk *w);
struct cached *cache_next_in(const struct cache *c, struct str ns, struct cache_walk *w);
struct cached *cache_next_by(const struct cache *c, const char *index, struct str value,
			     struct cache_walk *w);

/* Ends a walk before its end. */
void cache_walk_end(struct cache_walk *w);

#endif
