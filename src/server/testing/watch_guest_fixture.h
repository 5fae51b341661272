/*
 * watch_guest_fixture - for tests: a client that watches, as a reflector does.
 *
 * It keeps a model of what it received: key -> resource version. For every event it checks that
 * versions only grow, that nothing is added twice, that only existing objects are changed or
 * deleted, and that objects match its selectors. When its connection ends, it resumes; if the
 * server replies that its revision is too old, it starts over. Failures are cmocka's.
 */
#ifndef SERVER_TESTING_WATCH_GUEST_FIXTURE_H
#define SERVER_TESTING_WATCH_GUEST_FIXTURE_H

#include "base/core/buf.h"
#include "base/core/map.h"
#include "net/http/client.h"
#include "server/testing/state_world.h"

struct watch_guest_opts {
	const char *kind, *ns, *labels, *fields, *form; /* NULL: not set */
	bool list_first; /* list, then watch; otherwise the watch sends the initial state */
	bool bookmarks;
	bool once; /* does not reconnect */
	bool stalled; /* reads nothing until watch_guest_read() */
	int64_t slow_ms; /* reads with a delay of up to this */
	int64_t timeout_ms; /* of each watch; 0: long */
	int64_t patience_ms; /* closes a watch that is silent for this long; 0: never */
	int head; /* number of additional header fields, x-field-0 and so on, that it requests */
	int64_t revision; /* start after this revision, without the initial state; 0: with it */
	enum http_protocol protocol;
	uint64_t seed;
};

struct watch_guest_item {
	int64_t revision;
	struct str key; /* stored after the struct */
};

struct watch_guest {
	struct watch_guest_opts opts;
	struct state_world **servers; /* it picks one for each connection */
	size_t nservers;
	struct loop *loop;
	struct prng prng;
	struct http_client *client;
	struct http_stream *stream;
	struct loop_timer next, consume;
	struct loop_timer patience; /* ends connections that were lost silently */
	bool listing, stopped, stalled;
	bool synced; /* the initial state is complete; events follow */
	size_t held;
	struct buf line; /* received, not yet parsed: part of a line, or of a list */
	struct map model;
	struct selector labels, fields;
	struct arena arena;
	int64_t revision; /* last revision seen; 0: start over */
	int status; /* of the last reply */
	size_t events, added, modified, deleted, marks, expired, opened, ends;
	char last[4096]; /* the last line, truncated */
};

void watch_guest_init(struct watch_guest *g, struct loop *l, struct state_world **servers,
		      size_t nservers, const struct watch_guest_opts *opts);
void watch_guest_release(struct watch_guest *g);

/* Closes its connection and does not reconnect. */
void watch_guest_stop(struct watch_guest *g);

/* Makes a stalled guest read. */
void watch_guest_read(struct watch_guest *g);

/* Whether the model equals what a list from the server shows. */
bool watch_guest_agrees(struct watch_guest *g, struct state_world *w);

#endif
