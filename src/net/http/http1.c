/*
 * The HTTP/1.1 session: one exchange at a time, for servers and clients.
 *
 * A server parses the next request only when the last response is in the outbuf. Until then its
 * bytes are held, and reading pauses when they, or an unconsumed body, exceed the window. So a
 * handler may be called from output(), and pipelined requests are answered in one pass.
 *
 * Owners may respond, consume or reset from any callback: those functions only set flags and
 * request output, so nothing here is re-entered. An owner may even have the connection closed from
 * there, which closes streams unexpectedly. So we hold a reference to the current stream, and check
 * it after each callback.
 */
#include "net/http/http1.h"

#include "base/core/mem.h"
#include "net/net_limits.h"

/* --- small parts ------------------------------------------------------------------ */

void http1_end_session(struct http1 *c)
{
	c->h.done = c->h.draining = true;
	c->deadline = INT64_MAX;
	c->h.events->on_output(c->h.owner);
}

void http1_begin_exchange(struct http1 *c, struct http_stream *s)
{
	c->current = http_stream_ref(s);
	c->head_sent = c->send_continue = false;
}

struct http_stream *http1_current(struct http1 *c)
{
	if (c->current && c->current->closed) {
		http_stream_unref(TAKE(c->current));
		http1_end_session(c);
	}
	return c->current;
}

void http1_close_current(struct http1 *c, const struct error *err)
{
	struct http_stream *s = TAKE(c->current);

	http_stream_close(s, err);
	http_stream_unref(s);
}

static void update_deadline(struct http1 *c)
{
	c->h.deadline = c->deadline;
	LIST_FOREACH (it, &c->h.streams) {
		struct http_stream *s = LIST_ENTRY(it, struct http_stream, link);

		c->h.deadline = MIN(c->h.deadline, s->deadline);
	}
}

int64_t http1_head_due(const struct http1 *c)
{
	int64_t ms = c->h.config->head_timeout_ms;

	return ms > 0 ? c->h.now + ms : INT64_MAX;
}

/* Input not consumed, parsed or not. Reading resumes when half of it is gone. */
static void update_pause(struct http1 *c)
{
	const struct http_stream *s = http1_current(c);
	size_t waiting = s ? s->unconsumed : 0;
	bool pause;

	if (c->reading == HTTP1_READ_HOLD)
		waiting += c->held.n - c->held_at;
	pause = waiting > c->h.config->window / (c->paused ? 2 : 1);
	if (pause == c->paused || c->h.done)
		return;
	c->paused = pause;
	c->h.events->on_pause(c->h.owner, pause);
}

/* --- faults ------------------------------------------------------------------------- */

static void close_all(struct http1 *c, const struct error *err)
{
	while (!list_empty(&c->h.streams))
		http_stream_close(LIST_ENTRY(c->h.streams.next, struct http_stream, link), err);
}

/* Client: the response is lost; requests that were not sent may be retried elsewhere. */
static void fail_client(struct http1 *c, const struct error *err)
{
	struct error unsent;

	http1_end_session(c);
	if (c->current)
		http1_close_current(c, err);
	(void)error_set(&unsent, ERR_UNAVAILABLE, "the connection accepts no more requests");
	close_all(c, &unsent);
}

/* Server: the input cannot be parsed any further. */
static void fail_server(struct http1 *c)
{
	struct http_stream *s = http1_current(c);
	struct error err;

	if (!s && c->reading != HTTP1_READ_HEAD) {
		c->fault.status = 0; /* the rest of a request that was answered long ago */
		http1_end_session(c);
		return;
	}
	c->reading = HTTP1_READ_DROP;
	c->deadline = INT64_MAX;
	c->keep_alive = false;
	c->h.draining = true;
	if (s) {
		(void)error_set(&err, ERR_BAD_REQUEST, "%s", c->fault.what);
		c->fault.status = 0;
		s->in_ended = true; /* nothing to wait for */
		http_stream_fail(s, &err);
	}
	c->h.events->on_output(c->h.owner);
}

size_t http1_fail(struct http1 *c, size_t n)
{
	struct error err;

	if (c->h.server) {
		fail_server(c);
	} else {
		(void)error_set(&err, ERR_PROTOCOL, "the response is invalid: %s", c->fault.what);
		fail_client(c, &err);
	}
	return n;
}

/* --- the end of an exchange ------------------------------------------------------------ */

/* Expects the start of a message as the next byte. */
static void expect_head(struct http1 *c)
{
	http1_scan_head(&c->scan);
	c->reading = HTTP1_READ_HEAD;
	c->deadline = INT64_MAX;
}

/* Server: the response is in the outbuf. Discards the rest of the request. */
static void finish_response(struct http1 *c)
{
	bool reuse = c->keep_alive && !c->h.draining && http1_rest_is_small(c);

	http1_close_current(c, NULL);
	if (!reuse)
		http1_end_session(c);
	else if (c->reading == HTTP1_READ_HOLD)
		expect_head(c);
	else
		c->deadline = http1_head_due(c);
}

/* Client: the response is complete. Cuts off the rest of the request. */
static void finish_request(struct http1 *c)
{
	bool reuse = c->keep_alive && c->current->out_sent;
	struct error err;

	if (!reuse)
		http1_end_session(c);
	http1_close_current(c, NULL);
	if (!reuse) {
		(void)error_set(&err, ERR_UNAVAILABLE, "the server closes the connection");
		close_all(c, &err);
	} else if (c->h.draining && list_empty(&c->h.streams)) {
		http1_end_session(c);
	}
}

void http1_end_message(struct http1 *c)
{
	struct http_stream *s = http1_current(c);

	if (!s) {
		expect_head(c);
		return;
	}
	c->reading = HTTP1_READ_HOLD;
	/* If a server's stream is being upgraded, the end will be that of the connection. */
	if (!c->h.server || !s->upgrade.n)
		http_stream_in_end(s);
	if (!c->h.server && http1_current(c))
		finish_request(c);
}

/* --- input ---------------------------------------------------------------------------- */

static int input(struct http_session *h, char *data, size_t n, struct error *err)
{
	struct http1 *c = http1_of(h);
	bool waited = c->held.n > 0;
	size_t taken = 0;
	int r = 0;

	if (h->done)
		return 0;
	if (!waited)
		taken = http1_feed(c, data, n);
	if (taken < n)
		r = http1_hold(c, data + taken, n - taken, err);
	if (waited)
		http1_feed_held(c);
	update_pause(c);
	update_deadline(c);
	if (r == 0 && !h->server && c->fault.what)
		r = error_set(err, ERR_PROTOCOL, "the response is invalid: %s", c->fault.what);
	return r;
}

/*
 * A client may close its side and still wait for a response. But if the response is endless, like a
 * watch, the client has gone. The same holds if the server is configured that clients never
 * half-close (eof_cancels).
 */
static int server_eof(struct http1 *c, struct error *err)
{
	struct http_stream *s = http1_current(c);
	bool whole = c->reading == HTTP1_READ_HOLD || c->reading == HTTP1_READ_DROP;
	bool endless = s && s->out_head && !s->out_ended && s->out_length < 0;
	bool switching = s && s->out_status == 101; /* the meaning of an end is not known yet */
	bool gone = endless || (c->h.config->eof_cancels && s && !s->out_ended);
	int r;

	if (!s && !c->fault.status)
		http1_end_session(c);
	if (!s || (whole && (!gone || switching)))
		return 0;
	if (s->out_ended) {
		c->reading = HTTP1_READ_DROP;
		return 0;
	}
	r = error_set(err, ERR_CANCELED, "the client closed the connection");
	http1_end_session(c);
	http1_close_current(c, err);
	return r;
}

static int client_eof(struct http1 *c, struct error *err)
{
	bool current = http1_current(c) != NULL;
	int r = 0;

	if (current && c->reading == HTTP1_READ_BODY && c->body.state == HTTP1_BODY_ENDLESS) {
		http1_end_message(c);
		return 0;
	}
	if (current)
		r = error_set(err, ERR_UNAVAILABLE,
			      "the server closed the connection before its response was complete");
	fail_client(c, err);
	return r;
}

static int eof(struct http_session *h, struct error *err)
{
	struct http1 *c = http1_of(h);
	struct error local;

	c->peer_closed = true;
	if (h->done)
		return 0;
	if (c->reading == HTTP1_READ_RAW) {
		http1_raw_eof(c);
		return 0;
	}
	return h->server ? server_eof(c, err ? err : &local) : client_eof(c, err ? err : &local);
}

/* --- output ---------------------------------------------------------------------------- */

static bool next_request(struct http1 *c)
{
	if (list_empty(&c->h.streams))
		return false;
	http1_begin_exchange(c, LIST_ENTRY(c->h.streams.next, struct http_stream, link));
	expect_head(c);
	return true;
}

/* The message on the wire has the wrong length, which only closing the connection can signal. */
static void break_off(struct http1 *c)
{
	struct error err;

	(void)error_set(&err, ERR_INTERNAL, "the body has not the length that was announced");
	if (!c->h.server) {
		fail_client(c, &err);
		return;
	}
	http1_end_session(c);
	http1_close_current(c, &err);
}

/* Returns true if there may be another message to write. */
static bool output_message(struct http1 *c, struct outbuf *o)
{
	int r;

	if (c->h.server && c->fault.status) {
		http1_send_fault(c, o);
		c->fault.status = 0;
		http1_end_session(c);
		return false;
	}
	if (!http1_current(c) && (c->h.done || c->h.server || !next_request(c)))
		return false;
	r = http1_send(c, o);
	if (r < 0)
		break_off(c);
	if (c->delimiter == HTTP1_RAW && c->head_sent) {
		http1_raw_switch(c);
		if (r > 0)
			http1_raw_sent(c);
		return false;
	}
	if (r <= 0 || !c->h.server)
		return false;
	finish_response(c);
	http1_feed_held(c);
	if (c->peer_closed && !http1_current(c) && !c->fault.status)
		http1_end_session(c);
	return true;
}

static bool output(struct http_session *h, struct outbuf *o)
{
	struct http1 *c = http1_of(h);
	struct error err;

	while (!h->done && outbuf_room(o) && output_message(c, o))
		;
	if (h->done && !h->server) {
		(void)error_set(&err, ERR_UNAVAILABLE, "the connection accepts no more requests");
		close_all(c, &err);
	}
	update_pause(c);
	update_deadline(c);
	return !h->done && !outbuf_room(o) && (c->current || c->fault.status);
}

/* --- the other verbs ---------------------------------------------------------------------- */

static void drain(struct http_session *h)
{
	struct http1 *c = http1_of(h);
	bool head = c->reading == HTTP1_READ_HEAD && (c->scan.at || c->fault.status);

	h->draining = true;
	if (h->server ? !http1_current(c) && !head && c->reading != HTTP1_READ_DROP
		      : list_empty(&h->streams))
		http1_end_session(c);
}

static struct http_stream *expired(struct http1 *c)
{
	LIST_FOREACH (it, &c->h.streams) {
		struct http_stream *s = LIST_ENTRY(it, struct http_stream, link);

		if (s->deadline > c->h.now)
			continue;
		if (s != c->current || !c->paused)
			return s;
		/* We keep the peer from sending, so its timeout starts over. */
		s->deadline = c->h.now + s->body_timeout_ms;
	}
	return NULL;
}

static void expire_connection(struct http1 *c)
{
	c->deadline = INT64_MAX;
	if (c->reading == HTTP1_READ_HEAD && c->scan.at > 0) {
		c->fault = (struct http1_fault){ 408, "the request did not arrive in time" };
		fail_server(c);
	} else {
		http1_end_session(c);
	}
}

static int http1_tick(struct http_session *h, struct error *err UNUSED)
{
	struct http1 *c = http1_of(h);
	struct http_stream *s;
	struct error late;

	(void)error_set(&late, h->server ? ERR_SLOW_REQUEST : ERR_TIMEOUT,
			"the body did not arrive in time");
	while ((s = expired(c)))
		http_stream_fail(s, &late);
	if (c->deadline == 0)
		c->deadline = http1_head_due(c);
	else if (c->deadline <= h->now)
		expire_connection(c);
	update_deadline(c);
	return 0;
}

static void free_session(struct http_session *h)
{
	struct http1 *c = http1_of(h);

	http_stream_unref(c->current);
	buf_release(&c->held);
	free(c);
}

static int request(struct http_session *h, struct http_stream *s, struct error *err)
{
	int r = http1_check_request(s, err);

	if (r == 0)
		h->events->on_output(h->owner);
	return r;
}

static void respond(struct http_session *h, struct http_stream *s)
{
	/* Their pieces are dropped when they are queued. */
	if (s->out_status == 204 || s->out_status == 304)
		s->head_request = true;
	h->events->on_output(h->owner);
}

static void http1_wake(struct http_session *h, struct http_stream *s UNUSED)
{
	h->events->on_output(h->owner);
}

static void consume(struct http_session *h, struct http_stream *s UNUSED, size_t n UNUSED)
{
	update_pause(http1_of(h));
}

/* A partly sent exchange cannot be undone, so the connection ends. */
static void reset(struct http_session *h, struct http_stream *s, int code UNUSED)
{
	struct http1 *c = http1_of(h);

	if (s == c->current)
		http1_end_session(c);
}

static const struct http_session_ops http1_ops = {
	.input = input,
	.eof = eof,
	.output = output,
	.drain = drain,
	.tick = http1_tick,
	.free = free_session,
	.request = request,
	.respond = respond,
	.wake = http1_wake,
	.consume = consume,
	.reset = reset,
};

struct http_session *http1_new(bool server, const struct http_config *config,
			       const struct http_session_events *events, void *owner)
{
	struct http1 *c = XNEW(struct http1);

	http_session_init(&c->h, &http1_ops, server, config, events, owner);
	c->scan = (struct http1_scan){ .fields_max = config->headers_max, .request = server };
	buf_init(&c->held, HTTP1_HELD_MAX);
	c->reading = server ? HTTP1_READ_HEAD : HTTP1_READ_HOLD;
	/* The first tick, due at once, starts the timeout of the first head. */
	c->deadline = c->h.deadline = server ? 0 : INT64_MAX;
	return &c->h;
}
