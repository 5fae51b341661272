/*
 * devices_touch - finds the slices that are affected by a change of other slices.
 *
 * A pool's status is published on its first slice. The state of devices in the other slices
 * depends on which generation is the newest, on whether the pool is complete and valid, and on
 * shared counters. So a change affects the first slice before and after it. It affects every slice
 * of the pool if the newest generation changed, if the pool became or ceased to be complete and
 * valid, while it is invalid, or if a changed slice has or uses counters.
 *
 *   devices_touch_slice(), devices_touch_pool()   for each slice, before it is put
 *   devices_touch_tell()                          after all are put
 */
#ifndef CONTROLLER_DEVICES_DEVICES_TOUCH_H
#define CONTROLLER_DEVICES_DEVICES_TOUCH_H

#include "base/core/arena.h"
#include "base/core/map.h"
#include "base/core/vec.h"

struct inventory;

/* --- names: a set in the order of insertion -------------------------------------------------- */

struct devices_names {
	struct map seen;
	VEC(struct str) v;
	struct arena arena; /* the text */
};

void devices_names_init(struct devices_names *n);
void devices_names_release(struct devices_names *n);
void devices_names_add(struct devices_names *n, struct str name); /* copied */
bool devices_names_has(const struct devices_names *n, struct str name);
void devices_names_clear(struct devices_names *n);

/* --- pools ----------------------------------------------------------------------------------- */

struct devices_pool;

struct devices_touch {
	struct inventory *inventory;
	struct arena *arena;
	struct map pools; /* "driver/pool" -> struct devices_pool */
	VEC(struct devices_pool *) list;
};

/* Both must outlive it. */
void devices_touch_init(struct devices_touch *t, struct inventory *inv, struct arena *a);
void devices_touch_release(struct devices_touch *t);

/* Call before a slice changes or is deleted: touches its pool, if the slice is known. */
void devices_touch_slice(struct devices_touch *t, struct str slice);

/* Call before the pool gets or loses a slice. */
void devices_touch_pool(struct devices_touch *t, struct str driver, struct str pool);

/* Adds to `told` the changed slices and all slices that they affect. */
void devices_touch_tell(struct devices_touch *t, const struct devices_names *changed,
			struct devices_names *told);

#endif
