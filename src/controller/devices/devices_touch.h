/*
 * devices_touch - which slices a change of slices concerns beside themselves.
 *
 * A pool's status is on its first slice. What devices of other slices are depends on which
 * generation is the newest, on whether the pool is complete and valid, and on counters. So a change
 * concerns the first slice before and after, and every slice of the pool when another generation
 * came, when the pool became sound or ceased to be, or when counters are in it.
 *
 *	devices_touch_slice(), devices_touch_pool()	for each, before anything is put
 *	devices_touch_tell()				when all is put
 */
#ifndef CONTROLLER_DEVICES_DEVICES_TOUCH_H
#define CONTROLLER_DEVICES_DEVICES_TOUCH_H

#include "base/core/arena.h"
#include "base/core/map.h"
#include "base/core/vec.h"

struct inventory;

/* --- names, each once, in the order in which they came ------------------------------------- */

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

/* A slice will change or go: touches the pool that it is in, if it is known. */
void devices_touch_slice(struct devices_touch *t, struct str slice);

/* The pool gets, or loses, a slice. */
void devices_touch_pool(struct devices_touch *t, struct str driver, struct str pool);

/* Adds to `told` the slices that changed and all that they concern. */
void devices_touch_tell(struct devices_touch *t, const struct devices_names *changed,
			struct devices_names *told);

#endif
