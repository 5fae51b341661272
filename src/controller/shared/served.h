/*
 * served - what the API server serves, known as fresh as whoever asks needs it.
 *
 * Several controllers look at one discovery. Whoever needs to know what is there
 * now asks and waits: he is told after a look that began after he asked, so what
 * he saw created before is in it. Those who ask at the same time share a look.
 * Threads: the client's loop.
 */
#ifndef CONTROLLER_SHARED_SERVED_H
#define CONTROLLER_SHARED_SERVED_H

#include "base/core/error.h"
#include "base/core/list.h"

struct client;
struct discovery;
struct served;

/* Embed it; zeroed before its first use. */
struct served_wait {
	/* There is a new result; with `err` there is none, and the old one still holds. */
	void (*done)(struct served_wait *w, const struct error *err);
	struct list link; /* next == NULL: not waiting */
};

struct served *served_new(struct client *c);

/* Nobody is told any more. NULL allowed. */
void served_free(struct served *s);

/* `w` must not be waiting. */
void served_look(struct served *s, struct served_wait *w);
void served_cancel(struct served_wait *w); /* harmless when not waiting */

/* The last result; valid until the loop's next turn. */
const struct discovery *served_discovery(const struct served *s);

#endif
