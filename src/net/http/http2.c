/*
 * The HTTP/2 session: its creation, input, drain and timeouts.
 *
 * Flow control is ours: nghttp2 sends no WINDOW_UPDATE by itself. The connection's window is
 * returned as bytes arrive, a stream's as its owner consumes them. So one slow stream never stops
 * the others, and each holds at most its window.
 */
#include "net/http/http2.h"

#include "base/core/mem.h"
#include "net/net_limits.h"

static const uint8_t drain_ping[8] = { 'd', 'r', 'a', 'i', 'n', 0, 0, 1 };

bool http2_bucket_take(struct http2_bucket *b, int64_t now, int64_t burst, int64_t per_s)
{
	int64_t more = (now - b->at) * per_s / 1000;

	if (more > 0) {
		b->tokens = MIN(b->tokens + more, burst);
		b->at = now;
	}
	if (b->tokens <= 0)
		return false;
	b->tokens--;
	return true;
}

static int64_t head_deadline(const struct http2 *x)
{
	if (x->head_since < 0 || x->h.config->head_timeout_ms <= 0)
		return INT64_MAX;
	return x->head_since + x->h.config->head_timeout_ms;
}

static void earliest_deadline(struct http2 *x)
{
	struct http_session *h = &x->h;

	h->deadline = head_deadline(x);
	LIST_FOREACH (it, &h->streams) {
		struct http_stream *s = LIST_ENTRY(it, struct http_stream, link);

		h->deadline = MIN(h->deadline, MIN(s->deadline, s->out_due));
	}
}

static void check_done(struct http2 *x)
{
	if (!nghttp2_session_want_read(x->ng) && !nghttp2_session_want_write(x->ng))
		x->h.done = true;
}

/*
 * nghttp2 ignores frames on streams that it has forgotten. So it is fed up to the end of each frame
 * header that may be such a frame, and http2_late_frame() checks it in the state of nghttp2 at that
 * point.
 */
static ssize_t feed(struct http2 *x, const uint8_t *p, size_t n)
{
	size_t upto;
	ssize_t r;

	while (n > 0) {
		upto = x->h.server ? http2_scan(x, p, n) : n;
		r = nghttp2_session_mem_recv(x->ng, p, upto);
		if (r < 0)
			return r;
		http2_late_frame(x);
		p += upto;
		n -= upto;
	}
	return 0;
}

static int input(struct http_session *h, char *data, size_t n, struct error *err)
{
	struct http2 *x = http2_of(h);
	ssize_t r;

	if (!x->preface_seen && x->head_since < 0)
		x->head_since = h->now;
	r = feed(x, (const uint8_t *)data, n);
	if (x->flooded || r == NGHTTP2_ERR_FLOODED) {
		(void)nghttp2_session_terminate_session(x->ng, NGHTTP2_ENHANCE_YOUR_CALM);
		return error_set(err, ERR_TOO_MANY_REQUESTS, "the peer floods the connection");
	}
	if (r < 0)
		return error_set(err, ERR_PROTOCOL, "HTTP/2: %s", nghttp2_strerror((int)r));
	h->deadline = MIN(h->deadline, head_deadline(x));
	check_done(x);
	return 0;
}

static int eof(struct http_session *h, struct error *err)
{
	h->done = true;
	if (h->nstreams)
		return error_set(err, ERR_UNAVAILABLE, "the peer closed the connection");
	return 0;
}

static bool output(struct http_session *h, struct outbuf *o)
{
	bool more = http2_output(h, o);

	check_done(http2_of(h));
	return more;
}

static void drain(struct http_session *h)
{
	struct http2 *x = http2_of(h);

	if (h->draining)
		return;
	h->draining = true;
	/* RFC 9113, 6.8: announce first, so that requests in flight are not lost. */
	if (h->server)
		(void)nghttp2_submit_shutdown_notice(x->ng);
	else
		(void)nghttp2_submit_goaway(x->ng, NGHTTP2_FLAG_NONE, 0, NGHTTP2_NO_ERROR, NULL, 0);
	h->events->on_output(h->owner);
}

void http2_goaway_sent(struct http2 *x)
{
	if (x->h.server && x->h.draining && !x->goaway_final)
		(void)nghttp2_submit_ping(x->ng, NGHTTP2_FLAG_NONE, drain_ping);
}

void http2_drain_acked(struct http2 *x)
{
	if (!x->h.draining || !x->h.server || x->goaway_final)
		return;
	x->goaway_final = true;
	(void)nghttp2_submit_goaway(x->ng, NGHTTP2_FLAG_NONE,
				    nghttp2_session_get_last_proc_stream_id(x->ng),
				    NGHTTP2_NO_ERROR, NULL, 0);
}

/* Responded before the request was complete: asks the peer to stop sending (RFC 9113, 8.1). */
static void http2_stop(struct http_session *h, struct http_stream *s)
{
	s->deadline = INT64_MAX;
	(void)nghttp2_submit_rst_stream(http2_of(h)->ng, NGHTTP2_FLAG_NONE, s->id,
					NGHTTP2_NO_ERROR);
	h->events->on_output(h->owner);
}

static struct http_stream *expired(struct http_session *h)
{
	nghttp2_session *ng = http2_of(h)->ng;

	LIST_FOREACH (it, &h->streams) {
		struct http_stream *s = LIST_ENTRY(it, struct http_stream, link);

		if (s->deadline > h->now)
			continue;
		if (!s->body_timeout_ms || nghttp2_session_get_stream_local_window_size(ng, s->id))
			return s;
		/* We keep the peer from sending, so its timeout starts over. */
		s->deadline = h->now + s->body_timeout_ms;
	}
	return NULL;
}

/* One at a time: its owner may end others, too. */
static void expire_bodies(struct http_session *h)
{
	struct http_stream *s;
	struct error err;

	(void)error_set(&err, ERR_SLOW_REQUEST, "the body did not arrive in time");
	while ((s = expired(h))) {
		s->deadline = INT64_MAX;
		if (s->out_sent)
			http2_stop(h, s);
		else
			http_stream_fail(s, &err);
	}
}

/* A stream that waits for its turn on a slow connection waits for others, not for the peer. */
static struct http_stream *stalled(struct http_session *h)
{
	struct http2 *x = http2_of(h);
	int64_t limit = h->config->stall_timeout_ms;

	LIST_FOREACH (it, &h->streams) {
		struct http_stream *s = LIST_ENTRY(it, struct http_stream, link);

		if (s->out_due > h->now)
			continue;
		if (nghttp2_session_get_stream_remote_window_size(x->ng, s->id) <= 0 ||
		    x->moved_at + limit <= h->now)
			return s;
		s->out_due = h->now + limit;
	}
	return NULL;
}

/* A peer that opens no window would make us keep responses for as long as it likes. */
static void expire_stalled(struct http_session *h)
{
	struct http_stream *s;
	struct error err;

	(void)error_set(&err, ERR_TIMEOUT, "the client did not read the reply for too long");
	while ((s = stalled(h))) {
		if (h->events->on_stalled)
			h->events->on_stalled(h->owner);
		http_stream_reset(s, &err);
	}
}

static int http2_tick(struct http_session *h, struct error *err)
{
	struct http2 *x = http2_of(h);

	if (head_deadline(x) <= h->now) {
		(void)nghttp2_session_terminate_session(x->ng, NGHTTP2_NO_ERROR);
		return error_set(err, ERR_SLOW_REQUEST, "a header block did not arrive in time");
	}
	expire_bodies(h);
	expire_stalled(h);
	earliest_deadline(x);
	return 0;
}

static void free_session(struct http_session *h)
{
	struct http2 *x = http2_of(h);

	nghttp2_session_del(x->ng);
	free(x);
}

static void consume(struct http_session *h, struct http_stream *s, size_t n)
{
	(void)nghttp2_session_consume_stream(http2_of(h)->ng, s->id, n);
	h->events->on_output(h->owner);
}

static void reset(struct http_session *h, struct http_stream *s, int code)
{
	nghttp2_session *ng = http2_of(h)->ng;
	uint32_t why = code == ERR_CANCELED || code == ERR_TIMEOUT || code == ERR_SLOW_REQUEST
			       ? NGHTTP2_CANCEL
		       : code == ERR_TOO_MANY_REQUESTS ? NGHTTP2_ENHANCE_YOUR_CALM
						       : NGHTTP2_INTERNAL_ERROR;

	(void)nghttp2_session_set_stream_user_data(ng, s->id, NULL);
	(void)nghttp2_submit_rst_stream(ng, NGHTTP2_FLAG_NONE, s->id, why);
	s->id = 0;
	h->events->on_output(h->owner);
}

/*
 * Closed from outside, for example because the connection failed: nghttp2 may be in the middle of
 * its input, and has fields and a body of the stream to send.
 */
static void http2_forget(struct http_session *h, struct http_stream *s)
{
	if (s->id > 0)
		reset(h, s, ERR_CANCELED);
}

static void ping(struct http_session *h)
{
	(void)nghttp2_submit_ping(http2_of(h)->ng, NGHTTP2_FLAG_NONE, NULL);
	h->events->on_output(h->owner);
}

static const struct http_session_ops http2_ops = {
	.input = input,
	.eof = eof,
	.output = output,
	.drain = drain,
	.tick = http2_tick,
	.free = free_session,
	.request = http2_request,
	.respond = http2_respond,
	.wake = http2_wake,
	.consume = consume,
	.reset = reset,
	.forget = http2_forget,
	.stop = http2_stop,
	.ping = ping,
};

static nghttp2_option *make_options(const struct http2 *x)
{
	nghttp2_option *o;

	if (nghttp2_option_new(&o) != 0)
		abort();
	nghttp2_option_set_no_auto_window_update(o, 1);
	nghttp2_option_set_no_closed_streams(o, 1);
	nghttp2_option_set_no_http_messaging(o, x->h.config->lax_messaging ? 1 : 0);
	nghttp2_option_set_max_continuations(o, HTTP2_CONTINUATIONS_MAX);
	nghttp2_option_set_max_reserved_remote_streams(o, 0);
	nghttp2_option_set_stream_reset_rate_limit(o, (uint64_t)http2_resets_burst(x),
						   HTTP2_RESETS_PER_S);
	return o;
}

static void make_session(struct http2 *x, bool server)
{
	nghttp2_option *option = make_options(x);
	nghttp2_mem mem = http2_mem(x);
	nghttp2_session_callbacks *cb;
	int r;

	if (nghttp2_session_callbacks_new(&cb) != 0)
		abort();
	http2_set_in_callbacks(cb);
	http2_set_out_callbacks(cb);
	r = (server ? nghttp2_session_server_new3 : nghttp2_session_client_new3)(&x->ng, cb, x,
										 option, &mem);
	nghttp2_session_callbacks_del(cb);
	nghttp2_option_del(option);
	if (r != 0)
		abort();
}

static void send_settings(struct http2 *x)
{
	const struct http_config *c = x->h.config;
	nghttp2_settings_entry server[] = {
		{ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, c->streams_max },
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, c->window },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, (uint32_t)c->headers_max },
	};
	nghttp2_settings_entry client[] = {
		{ NGHTTP2_SETTINGS_ENABLE_PUSH, 0 },
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, c->window },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, (uint32_t)c->headers_max },
	};

	(void)nghttp2_submit_settings(x->ng, NGHTTP2_FLAG_NONE, x->h.server ? server : client,
				      ARRAY_SIZE(server));
	(void)nghttp2_session_set_local_window_size(x->ng, NGHTTP2_FLAG_NONE, 0,
						    (int32_t)MAX(HTTP_CONN_WINDOW, c->window));
}

struct http_session *http2_new(bool server, const struct http_config *config,
			       const struct http_session_events *events, void *owner)
{
	struct http2 *x = XNEW(struct http2);

	http_session_init(&x->h, &http2_ops, server, config, events, owner);
	x->head_since = -1;
	x->scan_skip = NGHTTP2_CLIENT_MAGIC_LEN;
	x->control.tokens = HTTP2_CONTROL_BURST;
	x->resets.tokens = http2_resets_burst(x);
	make_session(x, server);
	send_settings(x);
	return &x->h;
}
