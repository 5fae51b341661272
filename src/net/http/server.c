/*
 * The server: listeners on the first loop, and a lane per loop with its connections. Lanes share
 * only counters. A drain is distributed by messages, and the first loop gets a message when a lane
 * is empty.
 */
#include "net/http/server.h"

#include <stdatomic.h>

#include "base/core/mem.h"
#include "base/core/queue.h"
#include "net/http/conn.h"
#include "net/http/sources.h"
#include "net/loop/listener.h"
#include "net/tls/tls.h"

/* Plain connections: HTTP/2 begins with "PRI * HTTP/2.0", and no method begins with "PRI". */
static const char h2_sniff[3] = { 'P', 'R', 'I' };

enum { DATE_MS = 100 }; /* maximal age of a response's Date */

/* One socket. */
struct server_port {
	struct list link;
	struct http_server *server;
	struct listener *listener;
	bool tls;
	bool is_unix;
};

/* One loop's share. */
struct server_lane {
	struct http_server *server;
	struct loop *loop;
	size_t index;
	struct list conns;
	bool draining;
	struct loop_msg drain_msg;
	struct loop_timer grace;
	char date[HTTP_DATE_LEN + 1];
	int64_t date_at; /* loop's ms at which `date` was made */
};

struct server_conn {
	struct http_conn http;
	struct server_lane *lane;
	struct list link;
	struct http_source *source; /* counts it; NULL: its client is authenticated */
	char first[sizeof(h2_sniff)];
	unsigned nfirst;
};

struct http_server {
	struct server_lane *lanes;
	size_t nlanes, first; /* `first`: lanes before it get no connections */
	struct http_config config, config_lax;
	void (*handler)(void *arg, struct http_stream *s, size_t lane);
	void *arg;
	struct list ports;
	struct lock tls_lock;
	struct tls *tls; /* for new connections; guarded by tls_lock */
	int64_t grace_ms;
	void (*done)(void *arg);
	void *done_arg;
	struct loop_msg done_msg;
	size_t max_conns;
	struct http_sources sources;
	atomic_uint_fast64_t accepted, conns, requests, stalled, refused_all, refused_strangers;
	atomic_size_t lanes_left; /* still draining */
};

static struct server_conn *conn_of(struct http_conn *c)
{
	return CONTAINER_OF(c, struct server_conn, http);
}

/* --- connections ---------------------------------------------------------------------- */

static const char *lane_date(struct server_lane *lane)
{
	int64_t now = loop_now(lane->loop);

	if (now - lane->date_at >= DATE_MS || !lane->date[0]) {
		lane->date_at = now;
		http_date(lane->date, clock_wall(loop_clock(lane->loop)));
	}
	return lane->date;
}

static void on_stream(struct http_conn *c, struct http_stream *s)
{
	struct server_lane *lane = conn_of(c)->lane;
	struct http_server *sv = lane->server;

	atomic_fetch_add_explicit(&sv->requests, 1, memory_order_relaxed);
	(void)lane_date(lane); /* the sessions point at it */
	sv->handler(sv->arg, s, lane->index);
}

static void on_stalled(struct http_conn *c)
{
	atomic_fetch_add_explicit(&conn_of(c)->lane->server->stalled, 1, memory_order_relaxed);
}

static void server_start(struct server_conn *sc, enum http_version version)
{
	http_conn_start(&sc->http, version, true);
	sc->http.session->date = lane_date(sc->lane);
	if (sc->lane->draining)
		sc->http.session->ops->drain(sc->http.session);
}

static void server_on_open(struct http_conn *c)
{
	if (conn_is_tls(c->conn))
		server_start(conn_of(c), str_eq(conn_alpn(c->conn), STR("h2")) ? HTTP_2 : HTTP_1_1);
}

static void on_first(struct http_conn *c, char *data, size_t n)
{
	struct server_conn *sc = conn_of(c);
	size_t at = 0;

	while (at < n && sc->nfirst < sizeof(h2_sniff) && data[at] == h2_sniff[sc->nfirst])
		sc->first[sc->nfirst++] = data[at++];
	if (at == n && sc->nfirst < sizeof(h2_sniff))
		return;
	server_start(sc, sc->nfirst == sizeof(h2_sniff) ? HTTP_2 : HTTP_1_1);
	if (sc->nfirst)
		http_conn_feed(c, sc->first, sc->nfirst);
	if (at < n && !c->over && !c->session->done)
		http_conn_feed(c, data + at, n - at);
}

static void lane_check_empty(struct server_lane *lane)
{
	struct http_server *sv = lane->server;

	if (!lane->draining || !list_empty(&lane->conns))
		return;
	loop_timer_stop(&lane->grace);
	lane->draining = false;
	if (atomic_fetch_sub(&sv->lanes_left, 1) == 1)
		loop_post(sv->lanes[0].loop, &sv->done_msg);
}

static void release_conn(struct http_conn *c)
{
	struct server_conn *sc = conn_of(c);
	struct server_lane *lane = sc->lane;

	list_remove(&sc->link);
	http_sources_leave(&lane->server->sources, sc->source);
	free(sc);
	atomic_fetch_sub_explicit(&lane->server->conns, 1, memory_order_relaxed);
	lane_check_empty(lane);
}

static void server_on_over(struct http_conn *c, const struct error *err)
{
	http_conn_free(c, err);
}

static void server_on_turn(struct http_conn *c)
{
	struct server_conn *sc = conn_of(c);

	if (sc->source && c->session && c->session->vouched)
		http_sources_leave(&sc->lane->server->sources, TAKE(sc->source));
}

static const struct http_conn_events server_events = {
	.on_stream = on_stream,
	.on_turn = server_on_turn,
	.on_stalled = on_stalled,
	.on_open = server_on_open,
	.on_first = on_first,
	.on_over = server_on_over,
};

static struct tls *current_tls(struct http_server *sv)
{
	struct tls *t;

	lock_acquire(&sv->tls_lock);
	t = tls_ref(sv->tls);
	lock_release(&sv->tls_lock);
	return t;
}

static void attach(struct server_conn *sc, struct server_port *port, struct conn *below)
{
	struct tls *tls;
	struct error err;

	if (!port->tls) {
		sc->http.conn = below;
		sc->http.open = true;
		conn_set_events(below, &http_conn_conn_events, &sc->http);
		http_conn_schedule(&sc->http);
		return;
	}
	tls = current_tls(port->server);
	if (tls_wrap(tls, below, NULL, &http_conn_conn_events, &sc->http, &sc->http.conn, &err) < 0)
		http_conn_free(&sc->http, &err);
	else
		http_conn_schedule(&sc->http);
	tls_unref(tls);
}

/* Counts a connection in; returns false at the limit. */
static bool server_has_room(struct http_server *sv, const struct conn *below,
			    struct http_source **ret_source)
{
	atomic_uint_fast64_t *refused = &sv->refused_all;
	uint64_t before = atomic_fetch_add_explicit(&sv->conns, 1, memory_order_relaxed);

	if (!sv->max_conns || before < sv->max_conns) {
		if (http_sources_enter(&sv->sources, conn_peer(below), ret_source))
			return true;
		refused = &sv->refused_strangers;
	}
	atomic_fetch_sub_explicit(&sv->conns, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(refused, 1, memory_order_relaxed);
	return false;
}

static void on_accept(void *arg, struct conn *below, size_t index)
{
	struct server_port *port = arg;
	struct http_server *sv = port->server;
	struct server_lane *lane = &sv->lanes[sv->first + index];
	struct http_source *source;
	struct server_conn *sc;

	atomic_fetch_add_explicit(&sv->accepted, 1, memory_order_relaxed);
	if (!server_has_room(sv, below, &source)) {
		conn_free(below);
		return;
	}
	sc = XNEW(struct server_conn);
	sc->lane = lane;
	sc->source = source;
	list_push_back(&lane->conns, &sc->link);
	http_conn_init(&sc->http, lane->loop, port->is_unix ? &sv->config_lax : &sv->config,
		       &server_events, release_conn);
	attach(sc, port, below);
}

/* --- the server --------------------------------------------------------------------------- */

static void server_on_done(struct loop_msg *m)
{
	struct http_server *sv = CONTAINER_OF(m, struct http_server, done_msg);

	if (sv->done)
		sv->done(sv->done_arg);
}

static void on_lane_drain(struct loop_msg *m);
static void on_grace(struct loop_timer *t);

struct http_server *http_server_new(const struct http_server_opts *opts)
{
	struct http_server *sv = XNEW(struct http_server);

	sv->config = http_config_fill(&opts->config);
	sv->config_lax = sv->config;
	sv->config_lax.lax_messaging = true;
	/* Clients on unix sockets have no limit: they may be stopped in a debugger. */
	sv->config_lax.stall_timeout_ms = -1;
	sv->handler = opts->handler;
	sv->arg = opts->arg;
	sv->nlanes = opts->nloops;
	sv->first = opts->spare_first && opts->nloops > 1;
	sv->lanes = xcalloc(sv->nlanes, sizeof(*sv->lanes));
	sv->done_msg.fn = server_on_done;
	sv->max_conns = opts->max_conns;
	list_init(&sv->ports);
	lock_init(&sv->tls_lock);
	http_sources_init(&sv->sources, opts->max_strangers);
	for (size_t i = 0; i < sv->nlanes; i++) {
		struct server_lane *lane = &sv->lanes[i];

		lane->server = sv;
		lane->loop = opts->loops[i];
		lane->index = i;
		lane->drain_msg.fn = on_lane_drain;
		list_init(&lane->conns);
		loop_timer_init(&lane->grace, lane->loop, on_grace);
	}
	return sv;
}

int http_server_listen(struct http_server *sv, const struct addr *at, struct tls *tls,
		       unsigned unix_mode, struct addr *ret_at, struct error *err)
{
	struct server_port *port = XNEW(struct server_port);
	struct loop **loops = xcalloc(sv->nlanes, sizeof(*loops));
	struct listener_opts opts = { .loops = loops,
				      .nloops = sv->nlanes - sv->first,
				      .unix_mode = unix_mode,
				      .on_accept = on_accept,
				      .arg = port };
	int r;

	for (size_t i = 0; i < opts.nloops; i++)
		loops[i] = sv->lanes[sv->first + i].loop;
	port->server = sv;
	port->tls = tls != NULL;
	port->is_unix = at->kind == ADDR_UNIX;
	if (tls)
		http_server_set_tls(sv, tls);
	r = listener_open(sv->lanes[0].loop, at, &opts, &port->listener, err);
	free(loops);
	if (r < 0) {
		free(port);
		return r;
	}
	list_push_back(&sv->ports, &port->link);
	if (ret_at)
		*ret_at = *listener_addr(port->listener);
	return 0;
}

void http_server_set_tls(struct http_server *sv, struct tls *tls)
{
	struct tls *old;

	lock_acquire(&sv->tls_lock);
	old = sv->tls;
	sv->tls = tls_ref(tls);
	lock_release(&sv->tls_lock);
	tls_unref(old);
}

static void close_ports(struct http_server *sv)
{
	LIST_FOREACH (it, &sv->ports) {
		struct server_port *port = LIST_ENTRY(it, struct server_port, link);

		listener_free(port->listener);
		port->listener = NULL;
	}
}

/* Closes connections that did not end in time. */
static void on_grace(struct loop_timer *t)
{
	struct server_lane *lane = CONTAINER_OF(t, struct server_lane, grace);
	struct error err;

	(void)error_set(&err, ERR_UNAVAILABLE, "the server is shutting down");
	LIST_FOREACH_SAFE (it, &lane->conns)
		http_conn_free(&LIST_ENTRY(it, struct server_conn, link)->http, &err);
}

static void on_lane_drain(struct loop_msg *m)
{
	struct server_lane *lane = CONTAINER_OF(m, struct server_lane, drain_msg);

	lane->draining = true;
	loop_timer_start(&lane->grace, lane->server->grace_ms);
	LIST_FOREACH_SAFE (it, &lane->conns) {
		struct http_conn *c = &LIST_ENTRY(it, struct server_conn, link)->http;

		if (c->session)
			c->session->ops->drain(c->session);
		else
			http_conn_free(c, NULL);
	}
	lane_check_empty(lane);
}

void http_server_drain(struct http_server *sv, int64_t grace_ms, void (*done)(void *arg), void *arg)
{
	close_ports(sv);
	sv->grace_ms = grace_ms;
	sv->done = done;
	sv->done_arg = arg;
	atomic_store(&sv->lanes_left, sv->nlanes);
	for (size_t i = 0; i < sv->nlanes; i++)
		loop_post(sv->lanes[i].loop, &sv->lanes[i].drain_msg);
}

void http_server_free(struct http_server *sv)
{
	struct list *node;

	if (!sv)
		return;
	while ((node = list_pop_front(&sv->ports))) {
		struct server_port *port = LIST_ENTRY(node, struct server_port, link);

		listener_free(port->listener);
		free(port);
	}
	tls_unref(sv->tls);
	lock_destroy(&sv->tls_lock);
	http_sources_release(&sv->sources);
	free(sv->lanes);
	free(sv);
}

void http_server_stats(const struct http_server *sv, struct http_server_stats *ret_stats)
{
	ret_stats->accepted = atomic_load_explicit(&sv->accepted, memory_order_relaxed);
	ret_stats->conns = atomic_load_explicit(&sv->conns, memory_order_relaxed);
	ret_stats->requests = atomic_load_explicit(&sv->requests, memory_order_relaxed);
	ret_stats->refused_all = atomic_load_explicit(&sv->refused_all, memory_order_relaxed);
	ret_stats->refused_strangers = atomic_load_explicit(&sv->refused_strangers,
							    memory_order_relaxed);
	ret_stats->stalled = atomic_load_explicit(&sv->stalled, memory_order_relaxed);
}
