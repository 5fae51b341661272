/*
 * resource_walk - objects in the order of their keys, as they are or as they were.
 *
 * An overlay names what is different in the past: for each key that has
 * changed since, the first event that changed it, whose `prev` is what was there.
 * Valid until the resource changes.
 */
#ifndef SERVER_ENGINE_RESOURCE_WALK_H
#define SERVER_ENGINE_RESOURCE_WALK_H

#include "base/core/omap.h"
#include "server/engine/state_impl.h"

struct resource_walk {
	const struct resource_blocks *objects;
	struct resource_place at; /* behind `present` */
	struct object *present; /* the next one; NULL: none */
	const struct omap *overlay; /* key -> struct ring_event; or NULL */
	struct omap_cursor over;
	bool over_ok;
	struct str prefix;
};

/* Stands before the first key that begins with `prefix` and, unless empty, lies behind `after`. */
void resource_walk_init(struct resource_walk *w, const struct resource_blocks *objects,
			const struct omap *overlay, struct str prefix, struct str after);

/* The next object, or NULL at the end. */
struct object *resource_walk_next(struct resource_walk *w);

/*
 * Lists the past by walking: what a query shows, up to its limit. The caller sets the
 * result's revision.
 */
void resource_walk_list(struct resource *r, const struct omap *overlay, const struct list_query *q,
			struct arena *a, struct list_result *ret_list);

/* The query's matcher; a namespace that a field selector demands counts as the query's. */
struct resource_filter resource_filter_of(const struct resource *r, const struct list_query *q);

#endif
