/*
 * slice_status_pools - what pools have told: since when they are what they are, and their faults.
 *
 * The conditions of a pool are told on its first slice. When another slice becomes the first,
 * they go on there with their times of transition: what was told last, or would have been had
 * the server taken it, is remembered for as long as the pool has a slice, and counts for more
 * than what is stored. What is stored counts once, when nothing is known of the pool yet: of
 * all its slices the condition that changed last.
 */
#ifndef CONTROLLER_SLICE_STATUS_POOLS_H
#define CONTROLLER_SLICE_STATUS_POOLS_H

#include "base/core/arena.h"
#include "base/core/map.h"

struct devices;
struct json;
struct slice_sink;
struct slice_state;
struct slice_status_metrics;

struct slice_status_pools {
	struct map all; /* "driver/pool" -> struct slice_status_pool */
	struct devices *devices;
	struct slice_sink *sink;
	struct slice_status_metrics *metrics;
};

/* All are borrowed. */
void slice_status_pools_init(struct slice_status_pools *p, struct devices *devices,
			     struct slice_sink *sink, struct slice_status_metrics *metrics);
/* All must have left. */
void slice_status_pools_release(struct slice_status_pools *p);

/* st->pool becomes the one that the slice is in; NULL when the inventory does not have it. */
void slice_status_pools_join(struct slice_status_pools *p, struct slice_state *st);
void slice_status_pools_leave(struct slice_status_pools *p, struct slice_state *st);

/* A status with the poolStatus that the slice's pool goes on from; or NULL. */
struct json *slice_status_pools_before(struct slice_status_pools *p, const struct slice_state *st,
				       struct arena *a);

/* What a slice is to tell; `status` may be NULL. */
void slice_status_pools_note(struct slice_status_pools *p, const struct slice_state *st,
			     const struct json *status);

#endif
