/*
 * A client's connection. The owner is notified once that it accepts no new requests, which may be
 * long before it is closed: after a GOAWAY the running streams may end in order.
 */
#include "net/http/client.h"

#include "base/core/mem.h"
#include "net/http/conn.h"
#include "net/tls/tls.h"

enum { CONNECT_TIMEOUT_MS = 10 * 1000, PING_TIMEOUT_MS = 20 * 1000 };

struct http_client {
	struct http_conn http;
	struct http_client_opts opts;
	struct http_config config;
	char *server_name;
	struct loop_timer connect_timer;
	struct loop_timer ping_timer;
	int64_t pinged_at; /* ms; 0: not waiting for a reply */
	bool told; /* on_close was called */
	bool left; /* frees itself at the end */
	bool drain_early; /* drain when there is a session */
	enum http_version version;
};

static struct http_client *client_of(struct http_conn *c)
{
	return CONTAINER_OF(c, struct http_client, http);
}

static void tell_closed(struct http_client *k, const struct error *err)
{
	if (k->told)
		return;
	k->told = true;
	loop_timer_stop(&k->connect_timer);
	if (k->opts.on_close)
		k->opts.on_close(k->opts.arg, err);
}

static void client_on_over(struct http_conn *c, const struct error *err)
{
	struct http_client *k = client_of(c);

	loop_timer_stop(&k->ping_timer);
	tell_closed(k, err);
	if (k->left)
		http_client_free(k);
}

static void client_on_turn(struct http_conn *c)
{
	struct error err UNZEROED;

	if (!c->session || !(c->session->draining || c->session->done))
		return;
	(void)error_set(&err, ERR_UNAVAILABLE,
			"the server accepts no more requests on this connection");
	tell_closed(client_of(c), &err);
}

static void start_session(struct http_client *k, enum http_version version)
{
	k->version = version;
	http_conn_start(&k->http, version, false);
	if (k->drain_early)
		k->http.session->ops->drain(k->http.session);
}

static bool agreed(struct http_client *k, struct error *err)
{
	bool h2 = str_eq(conn_alpn(k->http.conn), STR("h2"));

	if (!k->opts.tls)
		return true;
	if (k->opts.protocol == HTTP_PROTOCOL_2 && !h2) {
		(void)error_set(err, ERR_UNAVAILABLE, "%s does not speak HTTP/2 over TLS",
				k->opts.to.text);
		return false;
	}
	if (!k->http.session)
		start_session(k, h2 ? HTTP_2 : HTTP_1_1);
	k->http.session->tls = true;
	return true;
}

static void client_on_open(struct http_conn *c)
{
	struct http_client *k = client_of(c);
	struct error err;

	loop_timer_stop(&k->connect_timer);
	if (!agreed(k, &err)) {
		http_conn_fail(c, &err);
		return;
	}
	k->http.session->conn = c->conn;
	if (k->opts.ping_interval_ms && k->http.session->ops->ping)
		loop_timer_start(&k->ping_timer, k->opts.ping_interval_ms);
	if (k->opts.on_open)
		k->opts.on_open(k->opts.arg);
}

static void on_first(struct http_conn *c, char *data UNUSED, size_t n UNUSED)
{
	struct error err;

	(void)error_set(&err, ERR_PROTOCOL, "data before the protocol was agreed");
	http_conn_fail(c, &err);
}

static void on_connect_timeout(struct loop_timer *t)
{
	struct http_client *k = CONTAINER_OF(t, struct http_client, connect_timer);
	struct error err;

	(void)error_set(&err, ERR_UNAVAILABLE, "%s did not answer in time", k->opts.to.text);
	http_conn_fail(&k->http, &err);
}

/* Any input counts as a sign of life. */
static void on_ping_timer(struct loop_timer *t)
{
	struct http_client *k = CONTAINER_OF(t, struct http_client, ping_timer);
	int64_t now = loop_now(k->http.loop), silent = now - k->http.input_at;
	struct error err;

	if (k->opts.ping_busy_only && k->http.session->nstreams == 0)
		silent = 0;
	if (silent < k->opts.ping_interval_ms) {
		k->pinged_at = 0;
		loop_timer_start(t, k->opts.ping_interval_ms - silent);
		return;
	}
	/* There was no input when we pinged; a near peer replies within the same millisecond. */
	if (k->http.input_at >= k->pinged_at)
		k->pinged_at = 0;
	if (k->pinged_at && now - k->pinged_at >= PING_TIMEOUT_MS) {
		(void)error_set(&err, ERR_UNAVAILABLE, "%s does not answer pings", k->opts.to.text);
		http_conn_fail(&k->http, &err);
		return;
	}
	if (!k->pinged_at) {
		k->pinged_at = now;
		k->http.session->ops->ping(k->http.session);
	}
	loop_timer_start(t, MIN(k->opts.ping_interval_ms, PING_TIMEOUT_MS));
}

static void release_client(struct http_conn *c)
{
	struct http_client *k = client_of(c);

	tls_unref(k->opts.tls);
	free(k->server_name);
	free(k);
}

static const struct http_conn_events client_events = {
	.on_open = client_on_open,
	.on_first = on_first,
	.on_turn = client_on_turn,
	.on_over = client_on_over,
};

static int open_conn(struct http_client *k, struct loop *l, struct error *err)
{
	struct conn *below;
	int r;

	r = conn_connect(l, &k->opts.to, &http_conn_conn_events, &k->http, &below, err);
	if (r < 0)
		return r;
	k->http.conn = below;
	if (!k->opts.tls)
		return 0;
	return tls_wrap(k->opts.tls, below, k->server_name, &http_conn_conn_events, &k->http,
			&k->http.conn, err);
}

int http_client_new(struct loop *l, const struct http_client_opts *opts,
		    struct http_client **ret_client, struct error *err)
{
	struct http_client *k = XNEW(struct http_client);
	int r;

	k->opts = *opts;
	k->config = http_config_fill(&opts->config);
	/* A client keeps its connection until the server or its owner ends it. */
	if (!opts->config.idle_timeout_ms)
		k->config.idle_timeout_ms = -1;
	k->config.head_timeout_ms = -1;
	k->config.lax_messaging |= opts->to.kind == ADDR_UNIX;
	k->server_name = xstrdup(opts->server_name ? opts->server_name : opts->to.host);
	if (opts->tls)
		(void)tls_ref(opts->tls);
	http_conn_init(&k->http, l, &k->config, &client_events, release_client);
	loop_timer_init(&k->connect_timer, l, on_connect_timeout);
	loop_timer_init(&k->ping_timer, l, on_ping_timer);
	r = open_conn(k, l, err);
	if (r < 0) {
		k->http.conn = NULL;
		release_client(&k->http);
		return r;
	}
	loop_timer_start(&k->connect_timer,
			 opts->connect_timeout_ms ? opts->connect_timeout_ms : CONNECT_TIMEOUT_MS);
	if (opts->protocol == HTTP_PROTOCOL_2)
		start_session(k, HTTP_2);
	else if (opts->protocol == HTTP_PROTOCOL_1 || !opts->tls)
		start_session(k, HTTP_1_1);
	*ret_client = k;
	return 0;
}

int64_t http_client_input_at(const struct http_client *k)
{
	return k->http.input_at;
}

enum http_version http_client_version(const struct http_client *k)
{
	return k->version;
}

int http_client_request(struct http_client *k, const struct http_request *r,
			struct http_stream **ret_stream, struct error *err)
{
	if (!k->http.session || k->http.over)
		return error_set(err, ERR_UNAVAILABLE, "not connected to %s", k->opts.to.text);
	k->http.session->now = loop_now(k->http.loop);
	return http_session_request(k->http.session, r, ret_stream, err);
}

void http_client_drain(struct http_client *k)
{
	k->drain_early = true;
	if (k->http.session && !k->http.over)
		k->http.session->ops->drain(k->http.session);
}

void http_client_leave(struct http_client *k)
{
	if (!k)
		return;
	k->told = k->left = true;
	if (k->http.over)
		http_client_free(k);
	else
		http_client_drain(k);
}

void http_client_free(struct http_client *k)
{
	struct error err;

	if (!k)
		return;
	k->told = true;
	loop_timer_stop(&k->connect_timer);
	loop_timer_stop(&k->ping_timer);
	(void)error_set(&err, ERR_CANCELED, "the client was closed");
	http_conn_free(&k->http, &err);
}
