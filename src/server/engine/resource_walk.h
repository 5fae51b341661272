/*
 * resource_walk - iterates over objects in key order, at present or at a past revision.
 *
 * An overlay describes the differences from the past: for each key that has changed since, the
 * first event that changed it. The event's `prev` is the object of the past. A walk is valid
 * until the resource changes.
 */
#ifndef SERVER_ENGINE_RESOURCE_WALK_H
#define SERVER_ENGINE_RESOURCE_WALK_H

#include "base/ordered/omap.h"
#include "server/engine/sequencer.h"

struct resource_walk {
	const struct resource_blocks *objects;
	struct resource_place at; /* the place after `present` */
	struct object *present; /* the next one; NULL: end */
	const struct omap *overlay; /* key -> struct ring_event; or NULL */
	struct omap_cursor over;
	bool over_ok;
	struct str prefix;
};

/* Begins at the first key that has the prefix and comes after `after` (unless that is empty). */
void resource_walk_init(struct resource_walk *w, const struct resource_blocks *objects,
			const struct omap *overlay, struct str prefix, struct str after);

/* The next object, or NULL at the end. */
struct object *resource_walk_next(struct resource_walk *w);

/* Lists a past state by walking, up to the query's limit. The caller sets the result's revision. */
void resource_walk_list(struct resource *r, const struct omap *overlay, const struct list_query *q,
			struct arena *a, struct list_result *ret_list);

/* The query's filter. A namespace that the field selector requires becomes the filter's `ns`. */
struct resource_filter resource_filter_of(const struct resource *r, const struct list_query *q);

#endif
