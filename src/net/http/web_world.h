/*
 * web_world - for tests: a simulated world of HTTP.
 *
 * One server on two loops with a worker beside them, several clients on hosts
 * of their own, HTTP/1.1 and HTTP/2. What is asked, how it is answered and how
 * the clients behave is drawn from the seed. All along it is checked that a
 * response that ends is the right one, that nothing is answered twice, that
 * every stream is closed once, and at the end that nothing hangs or is left.
 * Failures are cmocka's.
 */
#ifndef NET_HTTP_WEB_WORLD_H
#define NET_HTTP_WEB_WORLD_H

#include "base/core/random.h"
#include "net/http/client.h"
#include "net/http/server.h"
#include "net/loop/loop.h"
#include "net/sim/sim.h"

enum {
	WEB_GUESTS = 4,
	WEB_ASKS = 6, /* per guest */
	WEB_HANG_MS = 900 * 1000, /* whatever takes longer never ends */
};

/* What the server does with a request. */
enum web_mode {
	WEB_MODE_COLLECT, /* gathers the body and sends it back */
	WEB_MODE_STREAM, /* sends it back as it comes */
	WEB_MODE_EARLY, /* answers before the body is there */
	WEB_MODE_WORKER, /* answers after another loop was asked */
	WEB_MODE_GENERATE, /* sends a body as there is room, and trailers */
	WEB_MODE_FAIL,
	WEB_MODE_RESET, /* gives up in the middle */
	WEB_MODES,
};

/* What a fickle client does in the middle of a response, or when it is closed. */
enum web_whim {
	WEB_WHIM_NONE,
	WEB_WHIM_RESET_AT_HEAD,
	WEB_WHIM_RESET_AT_BODY,
	WEB_WHIM_LEAVE_AT_HEAD, /* frees the client */
	WEB_WHIM_LEAVE_AT_BODY,
	WEB_WHIM_LEAVE_AT_CLOSE,
	WEB_WHIM_DRAIN_AT_HEAD,
	WEB_WHIMS,
};

struct web_world;
struct tls;

/* One request, its course at the client, and what the server made of it. */
struct web_ask {
	struct web_world *web;
	struct web_guest *guest;
	unsigned id;
	enum web_mode mode;
	size_t up, down; /* bytes of the bodies */
	bool head; /* method HEAD */
	bool slow; /* consumes late */
	enum web_whim whim;
	struct http_stream *stream;
	size_t sent, got, held;
	struct loop_timer patience, consume;
	int heads, ends, closes, tries, status;
	int handled, answered; /* server: calls of the handler; streams closed there */
	bool over;
	struct error err;
};

/* A client's host: one connection at a time. */
struct web_guest {
	struct web_world *web;
	struct loop *loop;
	struct http_client *client;
	enum http_protocol protocol;
	struct loop_timer next; /* the next step */
	struct web_ask asks[WEB_ASKS];
};

/* What the world is like. */
struct web_climate {
	bool faulty; /* requests may fail at any point */
	bool fickle; /* clients give up: requests, connections */
	bool leaving; /* the server leaves: requests that it has not seen may fail */
	bool tls; /* runs then do not repeat to the byte: keys are random */
	int64_t idle_timeout_ms; /* the server's */
	int64_t gap_ms; /* most time between two requests of a client */
};

struct web_world {
	struct web_climate climate;
	struct sim *sim;
	struct prng prng;
	struct loop *lanes[2], *worker;
	struct http_server *server;
	struct web_guest guests[WEB_GUESTS];
	struct addr at;
	struct tls *server_tls, *client_tls[2]; /* for HTTP/1.1, HTTP/2; NULL: clear */
	bool drained;
	int drains;
	unsigned open_answers; /* not freed */
};

/* What anybody draws; from the seed, but apart from the world's own. */
uint64_t web_world_draw(struct web_world *w, uint64_t n);

/* n bytes, from byte `at` on, of the bodies that request `id` has. */
void web_world_fill(char *to, unsigned id, size_t at, size_t n);

/* Makes it; the guests begin when it runs. */
void web_world_init(struct web_world *w, const struct sim_opts *opts, struct web_climate climate);

/* Runs until all requests are over, one way or another. */
void web_world_finish(struct web_world *w);

/* Drains the server and runs until it says that no connection is left. */
void web_world_drain(struct web_world *w, int64_t grace_ms);

/* After a drain or a crash: lets the guests go, checks all, frees all. */
void web_world_release(struct web_world *w);

/* A guest (web_guest_fixture.c). */
void web_guest_init(struct web_world *w, unsigned i);

#endif
