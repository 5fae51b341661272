/*
 * served - what the API server serves, refreshed on request.
 *
 * Several controllers share one discovery. A controller that needs a current result calls
 * served_look() and waits. It is notified after a refresh that began after the call, so the result
 * includes everything created before. Simultaneous requests share a refresh. Threads: the client's
 * loop.
 */
#ifndef CONTROLLER_SHARED_SERVED_H
#define CONTROLLER_SHARED_SERVED_H

#include "base/core/error.h"
#include "base/core/list.h"

struct client;
struct discovery;
struct served;

/* Embed it; zero it before the first use. */
struct served_wait {
	/* A refresh succeeded. With `err` it failed, and the old result is still valid. */
	void (*done)(struct served_wait *w, const struct error *err);
	struct list link; /* next == NULL: not waiting */
};

struct served *served_new(struct client *c);

/* Waiting controllers are not notified any more. NULL allowed. */
void served_free(struct served *s);

/* `w` must not be waiting. */
void served_look(struct served *s, struct served_wait *w);
void served_cancel(struct served_wait *w); /* a no-op if not waiting */

/* The last result; valid until the loop's next turn. */
const struct discovery *served_discovery(const struct served *s);

#endif
