/*
 * watch_index - which watches an event may concern.
 *
 * A watch has one place: under the one object that it names, under the value that a field must
 * have, under a label that it requires, under its namespace, or among those that every event may
 * concern. An event is looked up by what the object is now and by what it was before. In a place,
 * watches with the same filter are a group: its filter is evaluated once for all of them, and an
 * event that does not match costs nothing for each.
 *
 * Watches that take all of a namespace are kept apart: they can be given many events at once.
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
	WATCH_PLACE_SPACE_LABEL, /* the same in one namespace */
	WATCH_PLACE_KEY, /* by the key of a label that must be there */
	WATCH_PLACE_SPACE_KEY, /* the same in one namespace */
	WATCH_PLACE_WHOLE, /* all of a namespace, as it is stored */
	WATCH_PLACE_SPACE,
	WATCH_PLACE_ANY,
	WATCH_PLACES
};

enum {
	WATCH_INDEX_FIELDS = 16, /* selectable fields of a kind that have places */
	WATCH_INDEX_SLOTS = 64, /* power of two */
};

/* Embed it in the watch. */
struct watch_spot {
	struct list link;
	struct watch_group *group; /* NULL: in none */
	const struct resource_filter *filter; /* the watch's */
};

struct watch_index {
	struct map buckets, groups;
	size_t counts[WATCH_PLACES]; /* groups in buckets of that sort */
	size_t fields[WATCH_INDEX_FIELDS]; /* groups in buckets of that field */
	/* Groups in buckets of labels, by a few bytes of the key: most labels need no lookup. */
	size_t labels[WATCH_INDEX_SLOTS];
	struct watch_bucket *any; /* that of WATCH_PLACE_ANY; or NULL */
	size_t evaluated; /* objects that were compared with the terms of a filter */
};

void watch_index_init(struct watch_index *x);
void watch_index_release(struct watch_index *x); /* it is empty */

/*
 * `whole`: the filter is a namespace alone, and what passes it is sent as it is stored. The filter
 * must outlive the spot's stay.
 */
void watch_index_add(struct watch_index *x, struct watch_spot *spot,
		     const struct resource_filter *filter, bool whole);
void watch_index_remove(struct watch_index *x, struct watch_spot *spot);

static inline bool watch_index_empty(const struct watch_index *x)
{
	return x->groups.n == 0;
}

/* The type that an event has for a filter. False: it does not concern the filter. */
bool watch_index_match(struct watch_index *x, const struct resource_filter *f,
		       const struct ring_event *e, enum ring_type *ret_type);

/* Calls fn for each watch of the whole namespace. It may remove the watch at hand, and no other. */
void watch_index_visit_whole(struct watch_index *x, struct str ns,
			     void (*fn)(struct watch_spot *spot, void *arg), void *arg);

/* The same for each other watch that the event matches, once, with the type that it has there. */
void watch_index_visit(struct watch_index *x, const struct schema_kind *kind,
		       const struct ring_event *e,
		       void (*fn)(struct watch_spot *spot, enum ring_type type, void *arg),
		       void *arg);

#endif
