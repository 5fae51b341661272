/*
 * watch_impl - one watch, for watch*.c and lane.c. Belongs to its lane's loop; the
 * part that says so to the state's while the watch is being opened.
 */
#ifndef SERVER_ENGINE_WATCH_IMPL_H
#define SERVER_ENGINE_WATCH_IMPL_H

#include "server/engine/lane.h"
#include "server/engine/state_impl.h"
#include "server/engine/watch.h"

enum watch_phase {
	WATCH_OPENING, /* its job is at the state */
	WATCH_INITIAL, /* sends the state that it found: snapshot, from `at` on */
	WATCH_BEHIND, /* next is event `at` of chunk `seq` */
	WATCH_CURRENT, /* has seen all that its feed has */
	WATCH_OVER, /* has left its lane; the stream is on its way out */
};

struct watch {
	struct lane *lane;
	struct lane_feed *feed;
	struct http_stream *stream; /* a reference */
	struct crd *custom; /* whose kind it watches, a reference; or NULL */
	struct watch_opts opts; /* texts copied to the stream's arena */
	struct resource_filter filter; /* the same */
	bool plain; /* everything, as it is stored: shares the lane's texts */
	bool whole; /* the same of one namespace */
	bool begun; /* a Table has had its columns */
	bool closed; /* the stream is */
	bool revoked; /* its user may not go on */
	enum watch_phase phase;
	uint64_t seq;
	size_t at;
	size_t scan_cost; /* of looking at one event while behind, in events without a selector */
	int64_t seen; /* revision of the last event looked at while behind */
	struct resource_snapshot *snapshot;
	struct list link; /* lane's watches */
	struct watch_spot spot; /* in the feed's list of plain watches, or its index */
	struct list asking; /* waits for a bookmark's revision */
	struct loop_timer timer; /* bookmark or end, whichever is next */
	struct loop_task more; /* goes on after a bounded piece of work */
	int64_t deadline, bookmark; /* loop time; bookmark INT64_MAX: none */

	/* The state's while it is opening. */
	struct job job;
	struct lane_msg opened;
	struct lane_past past;
	int64_t revision; /* of the snapshot, or after which events are sent */
	struct error err; /* why it cannot be opened */
};

/* --- sending (watch_send.c) ------------------------------------------------------- */

/* Sends what there is room for. */
void watch_pump(struct watch *w);

/* A new chunk came: tells all watches of the feed that are current. */
void watch_deliver(struct lane_feed *f, struct ring_chunk *c);

/* The state has reached this revision, and so has the lane: a bookmark. */
void watch_progress(struct watch *w, int64_t revision);

/* --- life (watch.c) --------------------------------------------------------------- */

/* Ends the stream in order; the watch leaves its lane. */
void watch_end(struct watch *w);

/* Who watches may not go on. */
static inline bool watch_is_revoked(const struct watch *w)
{
	return w->revoked || (w->opts.revoked && atomic_load(w->opts.revoked));
}

/* It is too old: an ERROR event, and the end. */
void watch_expire(struct watch *w);

#endif
