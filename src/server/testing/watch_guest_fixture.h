/*
 * watch_guest_fixture - for tests: a client that watches, as a reflector does.
 *
 * It keeps what it was told as a model: key -> resource version. With every event it
 * checks that versions only grow, that nothing is added twice, changed or
 * deleted without being there, and that what it is shown matches its selectors. When
 * its connection ends it goes on where it was, or, told that this is too old, begins
 * anew. Failures are cmocka's.
 */
#ifndef SERVER_TESTING_WATCH_GUEST_FIXTURE_H
#define SERVER_TESTING_WATCH_GUEST_FIXTURE_H

#include "base/core/buf.h"
#include "base/core/map.h"
#include "net/http/client.h"
#include "server/testing/state_world.h"

struct watch_guest_opts {
	const char *kind, *ns, *labels, *fields, *form; /* NULL: none */
	bool list_first; /* a list, then a watch; else the state comes with the watch */
	bool bookmarks;
	bool once; /* does not come again */
	bool stalled; /* consumes nothing until watch_guest_read() */
	int64_t slow_ms; /* consumes up to so much later */
	int64_t timeout_ms; /* of each watch; 0: long */
	int64_t patience_ms; /* lets go of a watch that is silent for so long; 0: never */
	int64_t revision; /* begin after it, without the state; 0: with it */
	enum http_protocol protocol;
	uint64_t seed;
};

struct watch_guest_item {
	int64_t revision;
	struct str key; /* behind the struct */
};

struct watch_guest {
	struct watch_guest_opts opts;
	struct state_world **servers; /* to choose from at each connection */
	size_t nservers;
	struct loop *loop;
	struct prng prng;
	struct http_client *client;
	struct http_stream *stream;
	struct loop_timer next, consume;
	struct loop_timer patience; /* a lost connection may never tell */
	bool listing, stopped, stalled;
	bool synced; /* the state is complete; events follow */
	size_t held;
	struct buf line; /* what has come and is not looked at: of a line, or of a list */
	struct map model;
	struct selector labels, fields;
	struct arena arena;
	int64_t revision; /* seen; 0: begin anew */
	int status; /* of the last answer */
	size_t events, added, modified, deleted, marks, expired, opened, ends;
	char last[4096]; /* the last line, cut */
};

void watch_guest_init(struct watch_guest *g, struct loop *l, struct state_world **servers,
		      size_t nservers, const struct watch_guest_opts *opts);
void watch_guest_release(struct watch_guest *g);

/* Lets go of its connection and does not come again. */
void watch_guest_stop(struct watch_guest *g);

/* A stalled one begins to read. */
void watch_guest_read(struct watch_guest *g);

/* Whether it is told all that the server has: the model is what a list shows. */
bool watch_guest_agrees(struct watch_guest *g, struct state_world *w);

#endif
