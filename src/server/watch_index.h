/*
 * watch_index - which watches an event may concern.
 *
 * A watch stands in one place: under the one object that it names, under the value
 * that an indexed field must have, under its namespace, or among those that are
 * asked about every event. An event is looked up by what it is now and by what
 * it was before. Watches that take all of a namespace stand apart: they can be given
 * many events at once.
 */
#ifndef SERVER_WATCH_INDEX_H
#define SERVER_WATCH_INDEX_H

#include "base/list.h"
#include "base/map.h"
#include "server/ring.h"

struct resource_filter;
struct watch_bucket;

enum watch_place {
	WATCH_PLACE_OBJECT,
	WATCH_PLACE_WHOLE, /* all of a namespace, as it is stored */
	WATCH_PLACE_SPACE,
	WATCH_PLACE_FIELD,
	WATCH_PLACE_ANY
};

/* Embed it in what is found. */
struct watch_spot {
	struct list link;
	struct watch_bucket *bucket; /* NULL: among those of every event, or nowhere */
};

struct watch_index {
	struct map buckets;
	size_t counts[WATCH_PLACE_ANY]; /* watches in buckets of that sort */
	struct list any;
};

void watch_index_init(struct watch_index *x);
void watch_index_release(struct watch_index *x); /* it is empty */

/* `whole`: the filter is a namespace alone, and what passes it is sent as it is stored. */
void watch_index_add(struct watch_index *x, struct watch_spot *spot,
		     const struct resource_filter *filter, bool whole);
void watch_index_remove(struct watch_index *x, struct watch_spot *spot);

static inline bool watch_index_empty(const struct watch_index *x)
{
	return x->buckets.n == 0 && list_empty(&x->any);
}

/* Calls fn for each watch of the whole namespace. It may remove the watch at hand, and no other. */
void watch_index_visit_whole(struct watch_index *x, struct str ns,
			     void (*fn)(struct watch_spot *spot, void *arg), void *arg);

/* The same for each other watch that may want the event, once. */
void watch_index_visit(struct watch_index *x, const struct schema_kind *kind,
		       const struct ring_event *e, void (*fn)(struct watch_spot *spot, void *arg),
		       void *arg);

#endif
