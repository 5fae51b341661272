/*
 * verb_world - for tests: the whole way of a request, from a client's
 * connection to the store, in a simulated world.
 *
 * Two I/O loops, the first of which has the state; a store in memory; clients
 * on a host of their own. Everybody is an administrator. Failures are cmocka's.
 */
#ifndef SERVER_TESTING_VERB_WORLD_H
#define SERVER_TESTING_VERB_WORLD_H

#include "base/core/buf.h"
#include "base/json/json.h"
#include "base/report/log.h"
#include "net/http/client.h"
#include "server/core/parts.h"
#include "server/plugins/table.h"
#include "server/reach/reach.h"

struct sim;
struct fake_data;

/* One request and its answer. */
struct verb_ask {
	const char *method, *target;
	const char *accept, *content_type, *user_agent, *encoding; /* or NULL */
	const char *body; /* or NULL */
	size_t body_n; /* 0: its length */
	bool hold; /* consumes nothing: over HTTP/2, one window of the answer comes */

	/* The answer. */
	int status;
	struct buf got; /* body */
	char content[128]; /* content-type */
	char content_encoding[16];
	char warnings[2048]; /* one per line */
	int64_t length; /* content-length, -1: none */
	bool over;
	struct error err;
	struct http_stream *stream;
};

struct verb_world {
	struct sim *sim;
	struct loop *lanes[2], *guest;
	struct fake_data *data;
	struct log log; /* nobody reads it */
	struct server server;
	struct admission admission;
	struct reach reach;
	struct http_client *clients[2]; /* they take turns, so both lanes are asked */
	unsigned asked;
	unsigned served[2]; /* requests by lane */
	struct http_stream *last; /* of the last request, at the server, while it is open */
	struct addr at;
	struct arena arena; /* trees of answers */
	bool local; /* the store is on this machine */
	bool right_lost; /* who was allowed something is not any more */
	int64_t user_ends_s; /* when the user's token expires; 0: never */
	enum http_protocol protocol;
};

void verb_world_init(struct verb_world *w, uint64_t seed, enum http_protocol protocol, bool local);
void verb_world_release(struct verb_world *w);

/* For cmocka; *state is a world: HTTP/2 and a local store, or HTTP/1.1 and a shared one. */
int verb_world_set_up(void **state);
int verb_world_set_up_http1(void **state);
int verb_world_tear_down(void **state);

/* Begins; the ask must stay until it is over, then verb_ask_release(). */
void verb_world_begin(struct verb_world *w, struct verb_ask *ask);
/* Runs until it is over. */
void verb_world_finish(struct verb_world *w, struct verb_ask *ask);
void verb_ask_release(struct verb_ask *ask);

/* Asks and waits; the answer's body as a tree (NULL when it is no JSON). */
struct json *verb_world_ask(struct verb_world *w, struct verb_ask *ask);

/* The same in short: method, target and body, all JSON; asserts the status. */
struct json *verb_world_call(struct verb_world *w, const char *method, const char *target,
			     const char *body, int status);

/* The same for a patch of that content type. */
struct json *verb_world_patch(struct verb_world *w, const char *target, const char *type,
			      const char *body, int status);

/* n maps named m000.. in `default`, every second labelled, with `size` bytes of data each. */
void verb_world_make_maps(struct verb_world *w, int n, int size);

/* The text at a path of names, "" when there is none. */
const char *verb_world_text(struct verb_world *w, const struct json *tree, const char *pointer);

#endif
