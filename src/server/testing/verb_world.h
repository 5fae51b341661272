/*
 * verb_world - for tests: the whole path of a request, from a client's connection to the store,
 * in a simulated cluster.
 *
 * Two I/O loops, the first of which has the state; a store in memory; clients on a host of their
 * own. Every user is an administrator. Failures are cmocka's.
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

/* One request and its reply. */
struct verb_ask {
	const char *method, *target;
	const char *accept, *content_type, *user_agent, *encoding; /* or NULL */
	const char *body; /* or NULL */
	size_t body_n; /* 0: strlen(body) */
	bool hold; /* consumes nothing: with HTTP/2, one window of the reply arrives */

	/* The reply. */
	int status;
	struct buf got; /* body */
	char content[128]; /* content-type */
	char content_encoding[16];
	char audit_id[40], cache_control[32], retry_after[8]; /* empty: absent */
	char warnings[2048]; /* one per line */
	int64_t length; /* content-length; -1: absent */
	bool over;
	struct error err;
	struct http_stream *stream;
};

struct verb_world {
	struct sim *sim;
	struct loop *lanes[2], *guest;
	struct fake_data *data;
	struct log log; /* discarded */
	struct server server;
	struct known_selectors *selectors[2];
	struct admission admission;
	struct reach reach;
	struct http_client *clients[2]; /* used in turn, so that both lanes get requests */
	unsigned asked;
	unsigned served[2]; /* requests by lane */
	struct http_stream *last; /* the last request's, at the server, while it is open */
	struct addr at;
	struct arena arena; /* for trees of replies */
	bool local; /* the store is local */
	bool right_lost; /* access_still_granted() returns false */
	int64_t user_ends_s; /* when the user's token expires; 0: never */
	enum http_protocol protocol;
};

void verb_world_init(struct verb_world *w, uint64_t seed, enum http_protocol protocol, bool local);
void verb_world_release(struct verb_world *w);

/* For cmocka; *state is a world: HTTP/2 and a local store, or HTTP/1.1 and a shared one. */
int verb_world_set_up(void **state);
int verb_world_set_up_http1(void **state);
int verb_world_tear_down(void **state);

/* Begins a request. `ask` must stay alive until it is over; then call verb_ask_release(). */
void verb_world_begin(struct verb_world *w, struct verb_ask *ask);
/* Runs until the request is over. */
void verb_world_finish(struct verb_world *w, struct verb_ask *ask);
void verb_ask_release(struct verb_ask *ask);

/* Sends a request and waits; returns the reply's body as a tree (NULL if it is not JSON). */
struct json *verb_world_ask(struct verb_world *w, struct verb_ask *ask);

/* The same in short: method, target and body, all JSON; asserts the status. */
struct json *verb_world_call(struct verb_world *w, const char *method, const char *target,
			     const char *body, int status);

/* The same for a patch of that content type. */
struct json *verb_world_patch(struct verb_world *w, const char *target, const char *type,
			      const char *body, int status);

/* The next request is one of that lane. */
void verb_world_choose(struct verb_world *w, unsigned lane);

/* The value of a series, such as `devplane_write_drafts_total{result="used"}`. */
long verb_world_metric(struct verb_world *w, const char *series);

/*
 * Creates n ConfigMaps named m000.. in `default`, every second one labelled, with `size` bytes of
 * data each.
 */
void verb_world_make_maps(struct verb_world *w, int n, int size);

/* The text at a JSON pointer; "" if not found. */
const char *verb_world_text(struct verb_world *w, const struct json *tree, const char *pointer);

#endif
