/*
 * lane - one I/O loop's part of the watches.
 *
 * It has, of each resource that its watches want, a span of the ring's chunks, and the
 * watches themselves. The state tells it of every commit batch that concerns it by
 * one message; messages arrive in order, so what a lane has been told of a
 * resource is always a beginning of the truth. A lane without watches of a resource
 * is told nothing about it.
 *
 * Threads: functions lane_tell_*() and lane_subscribe() are the state's; lane_new()
 * and lane_free() too, while the lane's loop does not use it; the rest is the
 * lane's loop's.
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

/* From the state to a lane. Embed it; fn frees. */
struct lane_msg {
	struct loop_msg msg;
	struct list link;
	struct lane *lane;
	void (*fn)(struct lane_msg *m);
};

/* What a lane has of one resource. */
struct lane_feed {
	struct lane *lane;
	struct resource *resource; /* the state's */
	const struct schema_kind *kind; /* of the storage version */
	struct crd *custom; /* whose kind it is, a reference; or NULL */
	struct list link; /* lane's feeds, from its first watch until it is dropped */
	struct ring_span span;
	struct list plain; /* watches that are sent everything as it is: they share the texts */
	struct watch_index index; /* the others */
};

struct lane {
	struct state *state;
	struct loop *loop;
	size_t number;
	struct list feeds; /* that have something */
	struct list watches; /* all that are open */
	struct lane_texts texts;

	/* Messages from a state on the same loop: nothing is posted. */
	struct list inbox;
	struct loop_task take;

	/* Watches that wait to hear what revision the state has reached (bookmarks). */
	struct list asking;
	struct loop_msg ask;
	struct lane_msg answer;
	int64_t answer_revision;
	bool asked;

	size_t opening; /* watches whose job is at the state */
	bool stopping, stopped;
	struct loop_msg stop_done;
	struct loop_msg last; /* from the state and back, when all is over */
};

struct lane *lane_new(struct state *st, size_t number, struct loop *loop);
void lane_free(struct lane *l);

/* A resource's part of a lane. Made and freed by the state. */
struct lane_feed *lane_feed_new(struct lane *l, struct resource *r);
void lane_feed_free(struct lane_feed *f);

/* --- from the state --------------------------------------------------------------- */

/* Hands a message over; in order with all others. */
void lane_post(struct lane *l, struct lane_msg *m);

/* The resources in state->dirty have new chunks, from their `batch` on. */
void lane_tell_batch(struct lane *l);

/* What was known is lost: all watches end as too old. */
void lane_tell_lost(struct lane *l);

/* The resource has another kind, or is gone: its watches end, its past is forgotten. */
void lane_tell_changed(struct lane *l, struct resource *r);

/* Some watches were revoked: they end. */
void lane_tell_revoked(struct lane *l);

/* Ends all watches and, when none is opening any more, counts state->lanes_left down. */
void lane_tell_stop(struct lane *l);

/* What a lane that opens a watch must be given. */
struct lane_past {
	struct ring_chunk **chunks; /* those that it lacks, oldest first; an array to free */
	size_t n;
	uint64_t end; /* of the ring at this moment */
};

/* One more watch of the lane wants the chunks from `from` on. Undone by lane_leave(). */
void lane_subscribe(struct lane *l, struct resource *r, uint64_t from, struct lane_past *ret_past);

/* --- on the lane's loop ----------------------------------------------------------- */

/* Takes over what lane_subscribe() gave. */
void lane_extend(struct lane_feed *f, struct lane_past *past);

/* A watch that had been subscribed wants no more of this feed. */
void lane_leave(struct lane_feed *f);

/* Asks for the revision that all feeds have reached; watch_progress() of those who ask follows. */
void lane_ask(struct lane *l);

/* After `opening` fell: stopping may go on. */
void lane_stop_step(struct lane *l);

#endif
