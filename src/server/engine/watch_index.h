/*
 * watch_index - finds the watches that an event may concern.
 *
 * A watch has one place: by the one object that it names, by the value that a field must have, by
 * a label that it requires, by its namespace, or among the watches that every event may concern.
 * An event is looked up by the object's new state and by its previous one. Within a place,
 * watches with the same filter form a group. The group's filter is evaluated once for all of
 * them, so an event that does not match has no cost per watch.
 *
 * Watches of a whole namespace are kept separately, because they can be sent many events at once.
 */
#ifndef SERVER_ENGINE_WATCH_INDEX_H
#define SERVER_ENGINE_WATCH_INDEX_H

#include "base/core/list.h"
#include "base/core/map.h"
#include "server/cache/ring.h"

struct resource_filter;
struct watch_bucket;
struct watch_group;

enum watch_place {
	WATCH_PLACE_OBJECT, /* by namespace and name */
	WATCH_PLACE_NAME, /* by name, in all namespaces */
	WATCH_PLACE_FIELD,
	WATCH_PLACE_LABEL, /* by key and value */
	WATCH_PLACE_SPACE_LABEL, /* by label key and value, in one namespace */
	WATCH_PLACE_KEY, /* by the key of a label that must exist */
	WATCH_PLACE_SPACE_KEY, /* by the key of a label, in one namespace */
	WATCH_PLACE_WHOLE, /* everything in a namespace, as it is stored */
	WATCH_PLACE_SPACE,
	WATCH_PLACE_ANY,
	WATCH_PLACES
};

enum {
	WATCH_INDEX_FIELDS = 16, /* most selectable fields of a kind that can be places */
	WATCH_INDEX_SLOTS = 64, /* power of two */
};

/* Embed it in the watch. */
struct watch_spot {
	struct list link;
	struct watch_group *group; /* NULL: not in the index */
	const struct resource_filter *filter; /* the watch's */
};

struct watch_index {
	struct map buckets, groups;
	size_t counts[WATCH_PLACES]; /* groups in buckets of that place */
	size_t fields[WATCH_INDEX_FIELDS]; /* groups in buckets of that field */
	/*
	 * Groups in label buckets, by a few bytes of the label's key: most labels need no lookup.
	 */
	size_t labels[WATCH_INDEX_SLOTS];
	struct watch_bucket *any; /* the bucket of WATCH_PLACE_ANY; or NULL */
	size_t evaluated; /* objects that were compared with the terms of a filter */
};

void watch_index_init(struct watch_index *x);
void watch_index_release(struct watch_index *x); /* must be empty */

/*
 * `whole`: the filter is only a namespace, and matching objects are sent as they are stored. The
 * filter must outlive the spot's time in the index.
 */
void watch_index_add(struct watch_index *x, struct watch_spot *spot,
		     const struct resource_filter *filter, bool whole);
void watch_index_remove(struct watch_index *x, struct watch_spot *spot);

static inline bool watch_index_empty(const struct watch_index *x)
{
	return x->groups.n == 0;
}

/*
 * The event's type for this filter, such as ADDED for an object that begins to match. Returns
 * false if the event does not concern the filter.
 */
bool watch_index_match(struct watch_index *x, const struct resource_filter *f,
		       const struct ring_event *e, enum ring_type *ret_type);

/* Calls fn for each watch of the whole namespace. fn may remove the current watch, but no other. */
void watch_index_visit_whole(struct watch_index *x, struct str ns,
			     void (*fn)(struct watch_spot *spot, void *arg), void *arg);

/*
 * Calls fn once for each other watch that the event matches, with its type for that watch. The
 * same rule about removal applies.
 */
void watch_index_visit(struct watch_index *x, const struct schema_kind *kind,
		       const struct ring_event *e,
		       void (*fn)(struct watch_spot *spot, enum ring_type type, void *arg),
		       void *arg);

#endif
