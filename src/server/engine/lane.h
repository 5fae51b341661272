/*
 * lane - one I/O loop's part of the watches.
 *
 * A lane holds its watches and, for each resource that they watch, a span of the ring's chunks.
 * The state sends it one message per commit batch that concerns it. Messages arrive in order, so
 * a lane's view of a resource is always a prefix of the resource's events. A lane gets no
 * messages about resources that it does not watch.
 *
 * Threads: the lane_tell_*() functions, lane_post() and lane_subscribe() run on the state's loop;
 * so do lane_new() and lane_free(), while the lane's loop does not use the lane. All other
 * functions run on the lane's loop.
 */
#ifndef SERVER_ENGINE_LANE_H
#define SERVER_ENGINE_LANE_H

#include "net/loop/loop.h"
#include "server/cache/ring.h"
#include "server/engine/lane_text.h"
#include "server/engine/watch_index.h"

struct resource;
struct schema_kind;
struct state;

/* A message from the state to a lane. Embed it; fn frees it. */
struct lane_msg {
	struct loop_msg msg;
	struct list link;
	struct lane *lane;
	void (*fn)(struct lane_msg *m);
};

/* A lane's view of one resource. */
struct lane_feed {
	struct lane *lane;
	struct resource *resource; /* the state's */
	const struct schema_kind *kind; /* of the storage version */
	struct crd *custom; /* the definition of its kind, a reference; or NULL */
	struct list link; /* in lane->feeds, from its first watch until it is dropped */
	struct ring_span span;
	struct list plain; /* watches that get every event unchanged: they share the texts */
	struct watch_index index; /* the other watches */
};

struct lane {
	struct state *state;
	struct loop *loop;
	size_t number;
	struct list feeds; /* those that hold chunks or watches */
	struct list watches; /* all open ones */
	struct lane_texts texts;

	/* Messages from a state on the same loop, which need no posting. */
	struct list inbox;
	struct loop_task take;

	/* Watches that wait for the state's revision (for bookmarks). */
	struct list asking;
	struct loop_msg ask;
	struct lane_msg answer;
	int64_t answer_revision;
	bool asked;

	size_t opening; /* watches whose job is at the state */
	bool stopping, stopped;
	struct loop_msg stop_done;
	struct loop_msg last; /* to the state and back, after everything else */
};

struct lane *lane_new(struct state *st, size_t number, struct loop *loop);
void lane_free(struct lane *l);

/* A lane's part of a resource. The state creates and frees it. */
struct lane_feed *lane_feed_new(struct lane *l, struct resource *r);
void lane_feed_free(struct lane_feed *f);

/* --- from the state --------------------------------------------------------------- */

/* Sends a message. The lane handles messages in order. */
void lane_post(struct lane *l, struct lane_msg *m);

/* The resources in state->dirty have new chunks, from their `batch` on. */
void lane_tell_batch(struct lane *l);

/* The feed was lost: all watches end as expired. */
void lane_tell_lost(struct lane *l);

/* The resource's kind was changed or deleted: its watches end and its chunks are dropped. */
void lane_tell_changed(struct lane *l, struct resource *r);

/* Ends the watches whose `revoked` is set. */
void lane_tell_revoked(struct lane *l);

/* Ends all watches. Once no watch is being opened, decrements state->lanes_left. */
void lane_tell_stop(struct lane *l);

/* The chunks for a lane that opens a watch. */
struct lane_past {
	struct ring_chunk **chunks; /* those that the lane lacks, oldest first; an array to free */
	size_t n;
	uint64_t end; /* of the ring at the time of the call */
};

/* Subscribes one more watch of the lane to the chunks from `from` on. Undone by lane_leave(). */
void lane_subscribe(struct lane *l, struct resource *r, uint64_t from, struct lane_past *ret_past);

/* --- on the lane's loop ----------------------------------------------------------- */

/* Adds the chunks from lane_subscribe() to the feed. */
void lane_extend(struct lane_feed *f, struct lane_past *past);

/* Ends the subscription of one watch. */
void lane_leave(struct lane_feed *f);

/*
 * Asks the state for its revision. When the lane's feeds have reached it, watch_progress() is
 * called for each watch in `asking`.
 */
void lane_ask(struct lane *l);

/* To be called after `opening` was decremented: continues to stop if stopping. */
void lane_stop_step(struct lane *l);

#endif
