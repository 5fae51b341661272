/*
 * web_world - for tests: a simulated world of HTTP.
 *
 * It has one server on two loops with a worker, and several clients on their own hosts, with
 * HTTP/1.1 and HTTP/2. Requests, responses and the behaviour of clients are drawn from the seed. It
 * checks all along that each complete response is the right one, that nothing is answered twice,
 * and that every stream is closed once; and at the end that nothing hangs or is left over. Failures
 * are cmocka assertions.
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
	WEB_HANG_MS = 900 * 1000, /* anything that takes longer is considered hanging */
};

/* How the server handles a request. */
enum web_mode {
	WEB_MODE_COLLECT, /* collects the body and sends it back */
	WEB_MODE_STREAM, /* sends it back as it comes */
	WEB_MODE_EARLY, /* responds before the body is complete */
	WEB_MODE_WORKER, /* responds after asking another loop */
	WEB_MODE_GENERATE, /* sends a body as there is room, and trailers */
	WEB_MODE_FAIL,
	WEB_MODE_RESET, /* resets in the middle */
	WEB_MODES,
};

/* The action of a fickle client in the middle of a response, or when it is closed. */
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

/* One request, its progress at the client, and its result at the server. */
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

/* Properties of the world. */
struct web_climate {
	bool faulty; /* requests may fail at any point */
	bool fickle; /* clients abort requests and connections */
	bool leaving; /* the server shuts down: requests that it has not seen may fail */
	bool tls; /* runs are then not reproducible byte for byte: keys are random */
	int64_t idle_timeout_ms; /* the server's */
	int64_t gap_ms; /* longest time between two requests of a client */
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

/* A random number from the seed, from a generator apart from the world's own. */
uint64_t web_world_draw(struct web_world *w, uint64_t n);

/* Fills in n bytes, from offset `at`, of the body of request `id`. */
void web_world_fill(char *to, unsigned id, size_t at, size_t n);

/* Makes it; the guests begin when it runs. */
void web_world_init(struct web_world *w, const struct sim_opts *opts, struct web_climate climate);

/* Runs until all requests are over, one way or another. */
void web_world_finish(struct web_world *w);

/* Drains the server, and runs until it reports that no connection is left. */
void web_world_drain(struct web_world *w, int64_t grace_ms);

/* After a drain or a crash: ends the guests, checks everything, frees everything. */
void web_world_release(struct web_world *w);

/* A guest (web_guest_fixture.c). */
void web_guest_init(struct web_world *w, unsigned i);

#endif
