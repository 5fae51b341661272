/*
 * sim_web - for tests: a simulated world of HTTP.
 *
 * One server on two loops with a worker beside them, several clients on hosts
 * of their own, HTTP/1.1 and HTTP/2. What is asked, how it is answered and how
 * the clients behave is drawn from the seed. All along it is checked that a
 * response that ends is the right one, that nothing is answered twice, that
 * every stream is closed once, and at the end that nothing hangs or is left.
 * Failures are cmocka's.
 */
#ifndef NET_SIM_WEB_H
#define NET_SIM_WEB_H

#include "base/random.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "net/loop.h"
#include "net/sim.h"

enum {
	SIM_GUESTS = 4,
	SIM_ASKS = 6, /* per guest */
	SIM_HANG_MS = 900 * 1000, /* whatever takes longer never ends */
};

/* What the server does with a request. */
enum sim_mode {
	SIM_MODE_COLLECT, /* gathers the body and sends it back */
	SIM_MODE_STREAM, /* sends it back as it comes */
	SIM_MODE_EARLY, /* answers before the body is there */
	SIM_MODE_WORKER, /* answers after another loop was asked */
	SIM_MODE_GENERATE, /* sends a body as there is room, and trailers */
	SIM_MODE_FAIL,
	SIM_MODE_RESET, /* gives up in the middle */
	SIM_MODES,
};

/* What a fickle client does in the middle of a response, or when it is closed. */
enum sim_whim {
	SIM_WHIM_NONE,
	SIM_WHIM_RESET_AT_HEAD,
	SIM_WHIM_RESET_AT_BODY,
	SIM_WHIM_LEAVE_AT_HEAD, /* frees the client */
	SIM_WHIM_LEAVE_AT_BODY,
	SIM_WHIM_LEAVE_AT_CLOSE,
	SIM_WHIM_DRAIN_AT_HEAD,
	SIM_WHIMS,
};

struct sim_web;
struct tls;

/* One request, its course at the client, and what the server made of it. */
struct sim_ask {
	struct sim_web *web;
	struct sim_guest *guest;
	unsigned id;
	enum sim_mode mode;
	size_t up, down; /* bytes of the bodies */
	bool head; /* method HEAD */
	bool slow; /* consumes late */
	enum sim_whim whim;
	struct http_stream *stream;
	size_t sent, got, held;
	struct loop_timer patience, consume;
	int heads, ends, closes, tries, status;
	int handled, answered; /* server: calls of the handler; streams closed there */
	bool over;
	struct error err;
};

/* A client's host: one connection at a time. */
struct sim_guest {
	struct sim_web *web;
	struct loop *loop;
	struct http_client *client;
	enum http_protocol protocol;
	struct loop_timer next; /* the next step */
	struct sim_ask asks[SIM_ASKS];
};

/* What the world is like. */
struct sim_climate {
	bool faulty; /* requests may fail at any point */
	bool fickle; /* clients give up: requests, connections */
	bool leaving; /* the server leaves: requests that it has not seen may fail */
	bool tls; /* runs then do not repeat to the byte: keys are random */
	int64_t idle_timeout_ms; /* the server's */
	int64_t gap_ms; /* most time between two requests of a client */
};

struct sim_web {
	struct sim_climate climate;
	struct sim *sim;
	struct prng prng;
	struct loop *lanes[2], *worker;
	struct http_server *server;
	struct sim_guest guests[SIM_GUESTS];
	struct addr at;
	struct tls *server_tls, *client_tls[2]; /* for HTTP/1.1, HTTP/2; NULL: clear */
	bool drained;
	int drains;
	unsigned open_answers; /* not freed */
};

/* What anybody draws; from the seed, but apart from the world's own. */
uint64_t sim_web_draw(struct sim_web *w, uint64_t n);

/* Byte i of the bodies that request `id` has. */
static inline char sim_web_byte(unsigned id, size_t i)
{
	return (char)(id * 7 + i * 31 + i / 251);
}

/* Makes it; the guests begin when it runs. */
void sim_web_init(struct sim_web *w, const struct sim_opts *opts, struct sim_climate climate);

/* Runs until all requests are over, one way or another. */
void sim_web_finish(struct sim_web *w);

/* Drains the server and runs until it says that no connection is left. */
void sim_web_drain(struct sim_web *w, int64_t grace_ms);

/* After a drain or a crash: lets the guests go, checks all, frees all. */
void sim_web_release(struct sim_web *w);

/* A guest (sim_web_guest.c). */
void sim_guest_init(struct sim_web *w, unsigned i);

#endif
