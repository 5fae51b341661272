/*
 * slice_status_pools - the conditions of pools (KEP-5677), with their transition times, and their
 * faults.
 *
 * The conditions of a pool are published on its first slice. If another slice becomes the first,
 * it continues them with their transition times. The conditions published last (or that the server
 * would have, had it accepted them) are kept in memory for as long as the pool has a slice, and
 * take precedence over the stored ones. Stored conditions are read once, when nothing is known
 * about the pool yet: for each condition, the one among its slices that changed last.
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
/* All slices must have left before. */
void slice_status_pools_release(struct slice_status_pools *p);

/* Sets st->pool to the slice's pool, or to NULL if the inventory does not have the slice. */
void slice_status_pools_join(struct slice_status_pools *p, struct slice_state *st);
void slice_status_pools_leave(struct slice_status_pools *p, struct slice_state *st);

/* A status whose poolStatus has the previous conditions of the slice's pool; or NULL. */
struct json *slice_status_pools_before(struct slice_status_pools *p, const struct slice_state *st,
				       struct arena *a);

/* Records the status that the slice is about to publish; `status` may be NULL. */
void slice_status_pools_note(struct slice_status_pools *p, const struct slice_state *st,
			     const struct json *status);

#endif
