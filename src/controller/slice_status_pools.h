/*
 * slice_status_pools - since when pools are what they are.
 *
 * The conditions of a pool are told on its first slice. When another slice becomes the first,
 * they go on there with their times of transition: what was told last is remembered for as long
 * as the pool has a slice.
 */
#ifndef CONTROLLER_SLICE_STATUS_POOLS_H
#define CONTROLLER_SLICE_STATUS_POOLS_H

#include "base/map.h"
#include "client/cached.h"

struct json;
struct slice_status_memory;

struct slice_status_pools {
	struct map all; /* "driver/pool" -> struct slice_status_memory */
};

void slice_status_pools_init(struct slice_status_pools *p);
/* All must have left. */
void slice_status_pools_release(struct slice_status_pools *p);

/* *at (NULL at first) becomes the memory of the slice's pool. */
void slice_status_pools_join(struct slice_status_pools *p, struct slice_status_memory **at,
			     const struct cached *slice, struct arena *a);
void slice_status_pools_leave(struct slice_status_pools *p, struct slice_status_memory **at);

/*
 * A status with the poolStatus that the slice goes on from: the one that is stored for it
 * (`stored` is the text of its status, or none), else what the pool told last; or NULL.
 */
struct json *slice_status_pools_before(const struct slice_status_memory *m, struct str stored,
				       struct arena *a);

/* What a slice of the pool is to tell; `status` may be NULL. */
void slice_status_pools_note(struct slice_status_memory *m, const struct json *status);

#endif
