/*
 * slice_sink - stores the status of slices (KEP-5677): in the slice's own status or, on clusters
 * whose slices have none, in an object of ours with the slice's name.
 *
 * A sink reads the stored status from informers' copies and sends the requests that change it.
 * slice_status.c decides when to write, how often, and when to retry. A write carries the version
 * that was read, so it fails with ERR_CONFLICT if the object changed meanwhile. Threads: the
 * client's loop.
 */
#ifndef CONTROLLER_SLICE_STATUS_SLICE_SINK_H
#define CONTROLLER_SLICE_STATUS_SLICE_SINK_H

#include "base/core/arena.h"
#include "client/api/client.h"

struct cached;
struct context;
struct devices;
struct slice_sink;

/* Borrowed until the next turn. */
struct slice_stored {
	struct str status; /* its JSON text; p is NULL if there is no status */
	uint64_t revision; /* of the object; 0: no such object, or its version is not a number */
};

struct slice_sink_ops {
	/* The version of the object that stores the slice's status; 0: as in slice_stored. */
	uint64_t (*revision)(struct slice_sink *s, struct str slice);
	/* The same with the stored status. Finding it in a large object takes a while. */
	struct slice_stored (*read)(struct slice_sink *s, struct str slice);
	/*
	 * Sends the request that stores `status`, a JSON text (p is NULL: remove it); r's on_done
	 * and arg are set. Returns false if there is nothing to send, because nothing is stored and
	 * no status is wanted.
	 */
	bool (*write)(struct slice_sink *s, const struct cached *slice, struct str status,
		      struct client_request *r, struct arena *a);
	void (*free)(struct slice_sink *s);
};

struct slice_sink {
	const struct slice_sink_ops *ops;
	bool in_slice; /* a write changes the slice, which belongs to its driver */
	/* Set by the user before the first turn. The slice's stored status may have changed. */
	void (*changed)(void *arg, struct str slice);
	/* Called once, when it knows the stored status and can be written to. */
	void (*ready)(void *arg);
	void *arg;
};

/* The slice's own status. */
struct slice_sink *slice_sink_status_new(const struct context *ctx, struct devices *devices);

/*
 * An object of kind ResourceSliceStatus, group devplane.dev, with the slice's name. The slice owns
 * it, so it is deleted with the slice. Creates the kind's definition if it is missing, and waits
 * until it is served. Deletes objects whose slice is gone. See slice_sink_object.c.
 */
struct slice_sink *slice_sink_object_new(const struct context *ctx, struct devices *devices);

static inline void slice_sink_free(struct slice_sink *s)
{
	if (s)
		s->ops->free(s);
}

#endif
