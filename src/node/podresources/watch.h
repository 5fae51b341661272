/*
 * podres_watch - the open watches of one PodResources server.
 *
 * Each watch is a cursor in the book (podres.h) and a gRPC call. It is read when the book has
 * changed or the call has room again. The number of messages per turn is limited, and watches take
 * turns, so neither the agent nor other clients have to wait.
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
	struct list idle; /* watches that are up to date */
	struct list ready; /* watches that may have messages to read, and room for them */
	struct list full; /* watches that wait for room */
	bool changed; /* the book changed; idle watches are not checked yet */
	bool serving; /* watches are being read */
	struct loop_task task; /* reads the watches */
	struct loop_timer timer; /* measures the backlog while there is one */
	double backlog; /* as last reported to metrics */
};

/* Listens to the book. All arguments must outlive the table. */
void podres_watches_init(struct podres_watches *t, struct loop *l, struct podres *book,
			 const struct podres_metrics *metrics);

/* Ends all watches with UNAVAILABLE; the book is not used any more. */
void podres_watches_close(struct podres_watches *t);

/* One watch. Embed it; zero it first. */
struct podres_watch {
	struct podres_watches *table; /* NULL: not begun */
	struct list link;
	struct grpc_call *call; /* owns the watch */
	enum podres_call kind;
	struct podres_cursor cursor;
};

/* The request has arrived: sends the headers at once, then the requested messages. */
void podres_watch_begin(struct podres_watches *t, struct podres_watch *w, struct grpc_call *c,
			enum podres_call kind, const Podresources__WatchRequest *request);

/* The call has room again. */
void podres_watch_writable(struct podres_watch *w);

/* The call has ended. Harmless for a watch that has not begun. */
void podres_watch_end(struct podres_watch *w);

#endif
