/*
 * Joins one conn and one session.
 *
 * Input is fed as it comes. Output is collected at the end of the turn, so that all responses of a
 * turn leave in one write. A round collects a bounded piece into the loop's outbuf, writes it, and
 * keeps what the socket did not take. Connections with more output than one round take turns, one
 * round each, so that a short response never waits for many long ones.
 *
 * Closing: when the session is done and flushed, our side is shut down. Input is then discarded
 * until the peer closes, or until a second after the conn has flushed its last byte, which may take
 * longer with TLS and a slow peer. If we closed at once, the kernel would answer unread input with
 * a reset, and the peer might never see our last bytes (RFC 9112, 9.6).
 */
#include "net/http/conn.h"

#include "base/core/mem.h"

enum { LINGER_MS = 1000 };

static void conn_on_task(struct loop_task *t);
static void conn_on_timer(struct loop_timer *t);

void http_conn_init(struct http_conn *c, struct loop *l, const struct http_config *config,
		    const struct http_conn_events *events, void (*release)(struct http_conn *c))
{
	c->loop = l;
	c->config = config;
	c->events = events;
	c->release = release;
	c->opened_at = c->input_at = c->progress_at = loop_now(l);
	loop_task_init(&c->task, conn_on_task);
	loop_timer_init(&c->timer, l, conn_on_timer);
}

void http_conn_schedule(struct http_conn *c)
{
	if (c->large)
		loop_defer_large(c->loop, &c->task);
	else
		loop_defer(c->loop, &c->task);
}

/* --- the session's side --------------------------------------------------------------- */

static void session_stream(void *owner, struct http_stream *s)
{
	struct http_conn *c = owner;

	c->events->on_stream(c, s);
}

static void session_output(void *owner)
{
	struct http_conn *c = owner;

	if (!c->freed)
		http_conn_schedule(c);
}

static void session_pause(void *owner, bool pause)
{
	struct http_conn *c = owner;

	if (!c->conn || c->lingering)
		return;
	if (pause)
		conn_pause(c->conn);
	else
		conn_resume(c->conn);
}

static void session_stalled(void *owner)
{
	struct http_conn *c = owner;

	if (c->events->on_stalled)
		c->events->on_stalled(c);
}

static const struct http_session_events session_events = {
	.on_stream = session_stream,
	.on_output = session_output,
	.on_pause = session_pause,
	.on_stalled = session_stalled,
};

void http_conn_start(struct http_conn *c, enum http_version version, bool server)
{
	c->session = (version == HTTP_2 ? http2_new : http1_new)(server, c->config, &session_events,
								 c);
	c->session->conn = c->conn;
	c->session->loop = c->loop;
	c->session->now = loop_now(c->loop);
	c->session->tls = c->conn && conn_is_tls(c->conn);
	http_conn_schedule(c);
}

/* --- ending ------------------------------------------------------------------------------ */

static void close_streams(struct http_conn *c, const struct error *err)
{
	struct http_session *h = c->session;

	while (h && !list_empty(&h->streams))
		http_stream_close(LIST_ENTRY(h->streams.next, struct http_stream, link), err);
}

static void drop_rest(struct http_conn *c)
{
	for (int i = c->rest_at; i < c->nrest; i++)
		slice_release(&c->rest[i]);
	free(c->rest);
	c->rest = NULL;
	c->nrest = c->rest_at = 0;
}

static void conn_cut(struct http_conn *c, const struct error *err)
{
	c->over = true;
	loop_timer_stop(&c->timer);
	conn_free(c->conn);
	c->conn = NULL;
	if (c->session)
		c->session->conn = NULL;
	close_streams(c, err);
}

void http_conn_fail(struct http_conn *c, const struct error *err)
{
	if (c->over)
		return;
	conn_cut(c, err);
	if (!c->freed)
		c->events->on_over(c, err);
}

/* The session may be on the stack, so its memory is freed after the turn. */
static void on_release(struct loop_task *t)
{
	struct http_conn *c = CONTAINER_OF(t, struct http_conn, task);

	http_session_free(c->session, NULL);
	drop_rest(c);
	c->release(c);
}

void http_conn_free(struct http_conn *c, const struct error *err)
{
	if (c->freed)
		return;
	c->freed = true;
	conn_cut(c, err);
	loop_task_cancel(&c->task);
	c->task.fn = on_release;
	loop_defer(c->loop, &c->task);
}

static void begin_linger(struct http_conn *c)
{
	struct error err;

	(void)error_set(&err, ERR_UNAVAILABLE, "the connection has ended");
	close_streams(c, &err);
	if (c->over)
		return;
	if (c->eof && conn_flushed(c->conn)) {
		conn_shutdown(c->conn);
		http_conn_fail(c, NULL);
		return;
	}
	c->lingering = true;
	c->linger_until = loop_now(c->loop) + LINGER_MS;
	c->linger_most = loop_now(c->loop) + MAX(c->config->write_timeout_ms, LINGER_MS);
	c->unflushed = !conn_flushed(c->conn);
	conn_shutdown(c->conn);
	conn_resume(c->conn);
	loop_timer_start(&c->timer, LINGER_MS);
}

/* Returns true if everything is flushed; else checks again later. */
static bool linger_on(struct http_conn *c)
{
	bool again = c->unflushed;

	c->unflushed = !conn_flushed(c->conn);
	if (c->unflushed ? loop_now(c->loop) >= c->linger_most : !again)
		return true;
	c->linger_until = loop_now(c->loop) + LINGER_MS;
	loop_timer_start(&c->timer, LINGER_MS);
	return false;
}

/* --- writing ------------------------------------------------------------------------------ */

/* Returns false if the socket is full or the connection has failed. */
static bool write_rest(struct http_conn *c)
{
	struct iovec iov[OUTBUF_IOVS] UNZEROED;
	struct error err UNZEROED;
	ssize_t n;
	int k = 0;

	for (int i = c->rest_at; i < c->nrest; i++)
		iov[k++] = (struct iovec){ (void *)(uintptr_t)c->rest[i].p, c->rest[i].n };
	if (k == 0)
		return true;
	n = conn_writev(c->conn, iov, k, &err);
	if (n < 0) {
		http_conn_fail(c, &err);
		return false;
	}
	if (n > 0)
		c->progress_at = loop_now(c->loop);
	while (c->rest_at < c->nrest && (size_t)n >= c->rest[c->rest_at].n) {
		n -= (ssize_t)c->rest[c->rest_at].n;
		slice_release(&c->rest[c->rest_at++]);
	}
	if (c->rest_at < c->nrest) {
		c->rest[c->rest_at].p += n;
		c->rest[c->rest_at].n -= (size_t)n;
		return false;
	}
	drop_rest(c);
	return true;
}

static void keep_rest(struct http_conn *c, struct outbuf *o, size_t written)
{
	struct slice rest[OUTBUF_IOVS] UNZEROED;
	int n = outbuf_keep(o, written, rest);

	if (n == 0)
		return;
	c->rest = xcalloc((size_t)n, sizeof(*rest));
	memcpy(c->rest, rest, (size_t)n * sizeof(*rest));
	c->nrest = n;
	c->rest_at = 0;
}

/* One round. Returns true if another may bring more. */
static bool write_round(struct http_conn *c)
{
	struct outbuf *o = loop_outbuf(c->loop);
	struct error err UNZEROED;
	bool more;
	ssize_t n;

	if (!write_rest(c))
		return false;
	more = c->session->ops->output(c->session, o);
	/* Streams may have been closed there, and their owner may have freed us. */
	if (c->over) {
		outbuf_clear(o);
		return false;
	}
	if (o->n) {
		n = conn_writev(c->conn, o->iov, o->n, &err);
		if (n < 0) {
			outbuf_clear(o);
			http_conn_fail(c, &err);
			return false;
		}
		if (n > 0)
			c->progress_at = loop_now(c->loop);
		keep_rest(c, o, (size_t)n);
	}
	if (http_session_call_writable(c->session))
		more = true;
	return more && !c->over && c->nrest == 0;
}

/*
 * An upgraded connection, or a log, may be blocked for as long as a person reads a page of it; only
 * its last bytes have a timeout.
 */
static bool has_write_timeout(const struct http_conn *c)
{
	return c->nrest && c->config->write_timeout_ms > 0 &&
	       ((!c->session->raw && !c->session->patient) || c->session->done);
}

/* Unread responses are left to the write timeout. */
static bool is_idle(const struct http_conn *c)
{
	return c->session->nstreams == 0 && c->nrest == 0;
}

static int64_t next_deadline(const struct http_conn *c)
{
	const struct http_config *f = c->config;
	int64_t due = INT64_MAX;

	if (c->lingering)
		return c->linger_until;
	if (!c->session)
		return f->head_timeout_ms > 0 ? c->opened_at + f->head_timeout_ms : INT64_MAX;
	/* A session that has failed or ended only waits for its output to be read. */
	if (!c->session->done)
		due = c->session->deadline;
	if (has_write_timeout(c))
		due = MIN(due, c->progress_at + f->write_timeout_ms);
	if (is_idle(c) && f->idle_timeout_ms > 0)
		due = MIN(due, MAX(c->input_at, c->progress_at) + f->idle_timeout_ms);
	return due;
}

static void conn_arm(struct http_conn *c)
{
	int64_t due = next_deadline(c);

	if (due == INT64_MAX)
		loop_timer_stop(&c->timer);
	else
		loop_timer_start(&c->timer, due - loop_now(c->loop));
}

/* One half of an upgraded connection has ended. */
static void shut_when_flushed(struct http_conn *c)
{
	if (!c->session->shut || c->shut || c->nrest)
		return;
	c->shut = c->session->was_shut = true;
	conn_shutdown(c->conn);
}

static void conn_on_task(struct loop_task *t)
{
	struct http_conn *c = CONTAINER_OF(t, struct http_conn, task);
	bool more = false;

	if (c->lingering && !c->over && c->eof && conn_flushed(c->conn))
		http_conn_fail(c, NULL);
	if (c->over || c->lingering)
		return;
	if (c->session && c->open) {
		c->session->now = loop_now(c->loop);
		more = write_round(c);
		c->large = more || c->nrest;
		if (more)
			http_conn_schedule(c);
	}
	if (!c->over && c->session && c->session->done && c->open && c->nrest == 0 && !more)
		begin_linger(c);
	else if (!c->over && c->session && c->open && !more)
		shut_when_flushed(c);
	if (!c->over && c->events->on_turn)
		c->events->on_turn(c);
	if (!c->over)
		conn_arm(c);
}

/* --- the conn's side ---------------------------------------------------------------------- */

static void conn_up(void *arg)
{
	struct http_conn *c = arg;

	c->open = true;
	c->input_at = c->progress_at = loop_now(c->loop);
	c->events->on_open(c);
	if (!c->freed)
		http_conn_schedule(c);
}

/* Flushes the session's error response, then closes. */
static void session_failed(struct http_conn *c, const struct error *err)
{
	c->session->done = true;
	close_streams(c, err);
	if (!c->freed)
		http_conn_schedule(c);
}

void http_conn_feed(struct http_conn *c, char *data, size_t n)
{
	struct error err UNZEROED;

	c->session->now = loop_now(c->loop);
	if (c->session->ops->input(c->session, data, n, &err) < 0 && !c->over)
		session_failed(c, &err);
}

static void conn_data(void *arg, char *data, size_t n)
{
	struct http_conn *c = arg;

	c->input_at = loop_now(c->loop);
	if (c->lingering)
		return;
	if (!c->session)
		c->events->on_first(c, data, n);
	else if (!c->session->done)
		http_conn_feed(c, data, n);
	if (!c->freed)
		http_conn_schedule(c);
}

static void conn_eof(void *arg)
{
	struct http_conn *c = arg;
	struct error err;

	c->eof = true;
	if (!c->session || (c->lingering && conn_flushed(c->conn)))
		http_conn_fail(c, NULL);
	if (c->over || c->lingering)
		return;
	c->session->now = loop_now(c->loop);
	if (c->session->ops->eof(c->session, &err) < 0 && !c->over)
		session_failed(c, &err);
	if (!c->over)
		http_conn_schedule(c);
}

static void conn_writable(void *arg)
{
	http_conn_schedule(arg);
}

static void conn_error(void *arg, const struct error *err)
{
	http_conn_fail(arg, err);
}

const struct conn_events http_conn_conn_events = {
	.on_open = conn_up,
	.on_data = conn_data,
	.on_eof = conn_eof,
	.on_writable = conn_writable,
	.on_error = conn_error,
};

/* --- time ---------------------------------------------------------------------------------- */

/* First closes politely; a peer that does not react is cut. */
static void idle_too_long(struct http_conn *c)
{
	if (c->session->draining)
		http_conn_fail(c, NULL);
	else
		c->session->ops->drain(c->session);
}

static void conn_on_timer(struct loop_timer *t)
{
	struct http_conn *c = CONTAINER_OF(t, struct http_conn, timer);
	struct http_session *h = c->session;
	int64_t now = loop_now(c->loop);
	struct error err;

	(void)error_set(&err, ERR_TIMEOUT, "the connection timed out");
	if (c->lingering || !h) {
		if (!c->lingering || linger_on(c))
			http_conn_fail(c, c->lingering ? NULL : &err);
		return;
	}
	h->now = now;
	if (has_write_timeout(c) && c->progress_at + c->config->write_timeout_ms <= now) {
		http_conn_fail(c, &err);
		return;
	}
	if (!h->done && h->deadline <= now && h->ops->tick(h, &err) < 0 && !c->over)
		session_failed(c, &err);
	if (!c->over && is_idle(c) && c->config->idle_timeout_ms > 0 &&
	    MAX(c->input_at, c->progress_at) + c->config->idle_timeout_ms <= now)
		idle_too_long(c);
	if (!c->over)
		http_conn_schedule(c);
}
