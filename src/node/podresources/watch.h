/*
 * podres_watch - the open watches of one server of PodResources.
 *
 * Each is a cursor in the book (podres.h) and a call. It is read while the call has room, when the
 * book has changed or there is room again; so many messages per turn that neither the agent nor
 * other clients wait, and in turns, so that none waits for another.
 * Threads: the loop's.
 */
#ifndef NODE_PODRESOURCES_WATCH_H
#define NODE_PODRESOURCES_WATCH_H

#include "net/loop/loop.h"
#include "node/book/podres.h"
#include "node/podresources/metrics.h"

struct grpc_call;

struct podres_watches {
	struct loop *loop;
	struct podres *book; /* NULL: closed */
	const struct podres_metrics *metrics;
	struct list idle; /* have everything */
	struct list ready; /* may have something to read, and room for it */
	struct list full; /* wait for room */
	bool changed; /* the idle have not been looked at since */
	bool serving; /* being read */
	struct loop_task task; /* reads */
	struct loop_timer timer; /* counts the backlog; while there is one */
	double backlog; /* that metrics know of */
};

/* Listens to the book. All must outlive it. */
void podres_watches_init(struct podres_watches *t, struct loop *l, struct podres *book,
			 const struct podres_metrics *metrics);

/* Ends all with UNAVAILABLE; the book is not touched any more. */
void podres_watches_close(struct podres_watches *t);

/* One watch. Embed it; zero it first. */
struct podres_watch {
	struct podres_watches *table; /* NULL: it has not begun */
	struct list link;
	struct grpc_call *call; /* which owns it */
	enum podres_call kind;
	struct podres_cursor cursor;
};

/* Its request is here: sends the head at once, then what the request asks for. */
void podres_watch_begin(struct podres_watches *t, struct podres_watch *w, struct grpc_call *c,
			enum podres_call kind, const Podresources__WatchRequest *request);

/* There is room again. */
void podres_watch_writable(struct podres_watch *w);

/* The call has ended. Harmless for one that has not begun. */
void podres_watch_end(struct podres_watch *w);

#endif
