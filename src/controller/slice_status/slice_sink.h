/*
 * slice_sink - where the status of a slice is kept: in the slice's own status, or, on clusters
 * whose slices have none, in an object of ours that has the slice's name.
 *
 * A sink reads what is stored from informers' copies and makes the requests that change it; when
 * to do that, how often, and again after failures is slice_status.c's business. A write is
 * done with the version that was read: what changed meanwhile makes it fail with ERR_CONFLICT.
 * Threads: the client's loop.
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
	struct str status; /* its JSON text; p is NULL when there is none */
	uint64_t revision; /* of the object; 0: there is no object, or it has no such number */
};

struct slice_sink_ops {
	/* The version of the object that has the slice's status; 0: as for slice_stored. */
	uint64_t (*revision)(struct slice_sink *s, struct str slice);
	/* The same, and what is stored: finding that in a large object takes a while. */
	struct slice_stored (*read)(struct slice_sink *s, struct str slice);
	/*
	 * Sends the request that makes `status`, its JSON text (p is NULL: none), the stored one;
	 * r's on_done and arg are set. false: there is nothing to send, as nothing is stored and
	 * none is wanted.
	 */
	bool (*write)(struct slice_sink *s, const struct cached *slice, struct str status,
		      struct client_request *r, struct arena *a);
	void (*free)(struct slice_sink *s);
};

struct slice_sink {
	const struct slice_sink_ops *ops;
	bool in_slice; /* a write changes the slice, which is its driver's */
	/* Set by the user before the first turn. The slice's stored status may have changed. */
	void (*changed)(void *arg, struct str slice);
	/* It knows what is stored, and can be written to. Once. */
	void (*ready)(void *arg);
	void *arg;
};

/* The slice's own status. */
struct slice_sink *slice_sink_status_new(const struct context *ctx, struct devices *devices);

/*
 * An object of kind ResourceSliceStatus, group devplane.dev, with the slice's name, owned by it,
 * so that it goes with it. Makes the kind's definition when it is not there, and waits
 * until it is served; removes objects whose slice is gone. slice_sink_object.c.
 */
struct slice_sink *slice_sink_object_new(const struct context *ctx, struct devices *devices);

static inline void slice_sink_free(struct slice_sink *s)
{
	if (s)
		s->ops->free(s);
}

#endif
