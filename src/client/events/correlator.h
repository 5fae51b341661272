/*
 * correlator - decides which events are repetitions, which are similar, and which are too many.
 *
 * The rules are those of client-go's EventCorrelator: see recorder.h. Pure: the caller passes the
 * time. It remembers at most `known_max` entries of each kind and evicts the least recently used.
 * Threads: one at a time.
 */
#ifndef CLIENT_EVENTS_CORRELATOR_H
#define CLIENT_EVENTS_CORRELATOR_H

#include "base/core/list.h"
#include "base/core/str.h"

struct correlator;

/* The identity of an event; borrowed for the call. */
struct correlator_event {
	struct str about; /* source, object and type, in any unambiguous form */
	struct str kind; /* reason and the like, in any unambiguous form */
	struct str message;
};

/* An event that was seen once or more; owned by the correlator. */
struct correlated {
	/* For the caller. */
	uint64_t count;
	bool combined; /* represents several similar events */
	void *data; /* the caller's own */

	/* Private to the correlator. */
	struct list link;
	char *key;
};

/* Calls forget(data) for each evicted entry whose data is not NULL. */
struct correlator *correlator_new(size_t known_max, void (*forget)(void *data));
void correlator_free(struct correlator *c);

/*
 * Counts the event. Returns NULL if it must not be written now. Otherwise returns its entry, valid
 * until the next call; a count of 1 means that it is new.
 */
struct correlated *correlator_observe(struct correlator *c, const struct correlator_event *e,
				      int64_t now_ns);

#endif
