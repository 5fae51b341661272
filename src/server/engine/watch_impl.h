/*
 * watch_impl - one watch, for watch*.c and lane.c. It belongs to its lane's loop, except that the
 * fields marked so belong to the state's loop while the watch is being opened.
 */
#ifndef SERVER_ENGINE_WATCH_IMPL_H
#define SERVER_ENGINE_WATCH_IMPL_H

#include "server/engine/lane.h"
#include "server/engine/sequencer.h"
#include "server/engine/watch.h"

enum watch_phase {
	WATCH_OPENING, /* its job is at the state */
	WATCH_INITIAL, /* sends the initial objects: `snapshot`, from `at` on */
	WATCH_BEHIND, /* next is event `at` of chunk `seq` */
	WATCH_CURRENT, /* has sent every event that its feed has */
	WATCH_OVER, /* has left its lane; the stream is being closed */
};

struct watch {
	struct lane *lane;
	struct lane_feed *feed;
	struct http_stream *stream; /* a reference */
	struct crd *custom; /* the definition of its kind, a reference; or NULL */
	struct watch_opts opts; /* texts copied to the stream's arena */
	/* Which objects it shows; texts copied as for `opts`. */
	struct resource_filter filter;
	bool plain; /* all objects, as they are stored: shares the lane's texts */
	bool whole; /* all objects of one namespace, as they are stored */
	bool begun; /* the Table's columns were sent */
	bool closed; /* the stream has ended */
	bool revoked; /* its user lost the right to watch */
	enum watch_phase phase;
	uint64_t seq;
	size_t at;
	size_t scan_cost; /* cost of one event while behind; 1: an event without a selector */
	int64_t seen; /* revision of the last event examined while behind */
	struct resource_snapshot *snapshot;
	struct list link; /* in lane->watches */
	struct watch_spot spot; /* in the feed's list of plain watches, or in its index */
	struct list asking; /* in lane->asking: waits for the revision of a bookmark */
	struct loop_timer timer; /* for the next bookmark or the end, whichever is first */
	struct loop_task more; /* continues after a limited amount of work */
	int64_t deadline, bookmark; /* loop time; bookmark INT64_MAX: no bookmarks */

	/* These belong to the state's loop during WATCH_OPENING. */
	struct job job;
	struct lane_msg opened;
	struct lane_past past;
	int64_t revision; /* of the snapshot, or the one after which events are sent */
	struct error err; /* why it cannot be opened */
};

/* --- sending (watch_send.c) ------------------------------------------------------- */

/* Sends events until the stream's buffer is full. */
void watch_pump(struct watch *w);

/* A new chunk arrived: sends it to the feed's watches that are current. */
void watch_deliver(struct lane_feed *f, struct ring_chunk *c);

/* The state and the lane have reached this revision: sends a bookmark. */
void watch_progress(struct watch *w, int64_t revision);

/* --- lifecycle (watch.c) ---------------------------------------------------------- */

/* Ends the stream in order and removes the watch from its lane. */
void watch_end(struct watch *w);

/* Whether the user has lost the right to watch. */
static inline bool watch_is_revoked(const struct watch *w)
{
	return w->revoked || (w->opts.revoked && atomic_load(w->opts.revoked));
}

/* The watch is too old: sends an ERROR event and ends it. */
void watch_expire(struct watch *w);

#endif
