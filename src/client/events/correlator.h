/*
 * correlator - which events are the same, which are alike, and which are too many.
 *
 * The rules of client-go's EventCorrelator: see recorder.h. Pure: it takes the
 * time. What it knows of each kind is bounded to 4096, the least recently used
 * is forgotten first.
 * Threads: one at a time.
 */
#ifndef CLIENT_EVENTS_CORRELATOR_H
#define CLIENT_EVENTS_CORRELATOR_H

#include "base/core/list.h"
#include "base/core/str.h"

struct correlator;

/* What an event is, for this purpose; borrowed for the call. */
struct correlator_event {
	struct str about; /* source, object and type, in any form that tells them apart */
	struct str kind; /* reason and the like, in any such form */
	struct str message;
};

/* An event that was seen, once or often; lives in the correlator. */
struct correlated {
	/* For the owner. */
	uint64_t count;
	bool combined; /* stands for several alike */
	void *data; /* the owner's */

	/* The correlator's. */
	struct list link;
	char *key;
};

/* forget(data) is called for what is forgotten, unless data is NULL. */
struct correlator *correlator_new(size_t known_max, void (*forget)(void *data));
void correlator_free(struct correlator *c);

/*
 * Counts the event. NULL when it must not be written now, or else what it belongs to,
 * valid until the next call: with count 1 it is new.
 */
struct correlated *correlator_observe(struct correlator *c, const struct correlator_event *e,
				      int64_t now_ns);

#endif
