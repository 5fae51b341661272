/*
 * The part of a stream that does not depend on the protocol: the queue of outgoing pieces, the
 * limits on input, collecting a body, and the order of callbacks. The protocols call
 * http_stream_in_*() and http_stream_out_move(); owners call the functions of http.h.
 *
 * on_writable is never called while a protocol collects output, because nghttp2 must not be
 * re-entered there. It is recorded as due, and http_session_call_writable() calls it afterwards.
 */
#include "net/http/session.h"

#include <assert.h>

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/system/recycler.h"
#include "net/loop/loop.h"
#include "net/net_limits.h"

enum { STREAM_BLOCK = 2048 }; /* a stream and the first memory of its arena */
_Static_assert(sizeof(struct http_stream) + 1024 <= STREAM_BLOCK, "a small request fits a block");

/* How long to wait for the end of a request that is not needed any more. */
enum { DISCARD_MS = 1000 };

struct collector {
	struct buf body;
	void (*fn)(struct http_stream *s, struct str body);
};

struct http_config http_config_fill(const struct http_config *config)
{
	struct http_config c = config ? *config : (struct http_config){ 0 };

	c.headers_max = c.headers_max ? MIN(c.headers_max, HTTP_HEADERS_MAX) : HTTP_HEADERS_MAX;
	c.body_max = c.body_max ? c.body_max : (int64_t)HTTP_BODY_MAX;
	c.streams_max = c.streams_max ? c.streams_max : HTTP_STREAMS_MAX;
	c.out_max = c.out_max ? c.out_max : HTTP_OUT_HIGH;
	c.window = c.window ? c.window : (uint32_t)HTTP_WINDOW;
	c.head_timeout_ms = c.head_timeout_ms ? c.head_timeout_ms : 10 * 1000;
	c.idle_timeout_ms = c.idle_timeout_ms ? c.idle_timeout_ms : 90 * 1000;
	c.write_timeout_ms = c.write_timeout_ms ? c.write_timeout_ms : 120 * 1000;
	c.stall_timeout_ms = c.stall_timeout_ms ? c.stall_timeout_ms : 60 * 1000;
	return c;
}

/* --- session ------------------------------------------------------------------ */

void http_session_init(struct http_session *h, const struct http_session_ops *ops, bool server,
		       const struct http_config *config, const struct http_session_events *events,
		       void *owner)
{
	h->ops = ops;
	h->events = events;
	h->owner = owner;
	h->config = config;
	h->server = server;
	h->deadline = INT64_MAX;
	list_init(&h->streams);
	list_init(&h->writable);
}

void http_session_free(struct http_session *h, const struct error *err)
{
	if (!h)
		return;
	while (!list_empty(&h->streams))
		http_stream_close(LIST_ENTRY(h->streams.next, struct http_stream, link), err);
	h->ops->free(h);
}

bool http_session_call_writable(struct http_session *h)
{
	struct list now, *node;
	bool any = false;

	list_init(&now);
	list_splice_back(&now, &h->writable);
	while ((node = list_pop_front(&now))) {
		struct http_stream *s = LIST_ENTRY(node, struct http_stream, writable_link);

		any = true;
		s->out_blocked = false;
		if (!s->closed && !s->out_ended && s->ops && s->ops->on_writable)
			s->ops->on_writable(s);
	}
	return any;
}

int http_session_request(struct http_session *h, const struct http_request *r,
			 struct http_stream **ret_stream, struct error *err)
{
	struct http_stream *s;
	int ret;

	if (h->draining || h->done)
		return error_set(err, ERR_UNAVAILABLE, "the connection accepts no more requests");
	s = http_stream_new(h);
	s->ops = r->ops;
	s->data = r->data;
	s->request.method = arena_str(&s->arena, r->method);
	s->request.scheme = arena_str(&s->arena, r->scheme);
	s->request.authority = arena_str(&s->arena, r->authority);
	s->request.target = arena_str(&s->arena, r->target);
	s->head_request = str_eq(r->method, STR("HEAD"));
	s->upgrade = arena_str(&s->arena, r->upgrade);
	s->out_length = r->end ? 0 : r->length;
	s->out_head = true;
	s->out_ended = r->end;
	s->body_max = -1;
	for (size_t i = 0; i < r->nfields; i++) {
		ret = http_fields_add(&s->out_fields, &s->arena, r->fields[i].name,
				      r->fields[i].value);
		if (ret < 0) {
			(void)error_set(err, ERR_HEADERS_TOO_LARGE,
					"the request's fields are too large");
			goto out_close;
		}
	}
	ret = h->ops->request(h, s, err);
	if (ret < 0)
		goto out_close;
	*ret_stream = s;
	return 0;
out_close:
	s->ops = NULL; /* the caller is notified by our result */
	http_stream_close(s, NULL);
	return ret;
}

/* --- lifetime ------------------------------------------------------------------ */

struct http_stream *http_stream_new(struct http_session *h)
{
	struct http_stream *s = recycler_alloc(loop_recycler(h->loop), STREAM_BLOCK);

	memset(s, 0, sizeof(*s));
	arena_init_in(&s->arena, SIZE_MAX, s->block, STREAM_BLOCK - sizeof(*s));
	s->session = h;
	s->loop = h->loop;
	s->server = h->server;
	s->refs = 1;
	s->in.length = -1;
	s->out_length = -1;
	s->body_max = h->config->body_max;
	s->deadline = s->out_due = INT64_MAX;
	s->out = s->out_inline;
	s->out_cap = ARRAY_SIZE(s->out_inline);
	list_init(&s->writable_link);
	list_push_back(&h->streams, &s->link);
	h->nstreams++;
	return s;
}

struct http_stream *http_stream_ref(struct http_stream *s)
{
	s->refs++;
	return s;
}

void http_stream_unref(struct http_stream *s)
{
	if (!s || --s->refs > 0)
		return;
	arena_release(&s->arena);
	recycler_free(loop_recycler(s->loop), s);
}

static struct slice *out_at(const struct http_stream *s, unsigned i)
{
	return &s->out[(s->out_first + i) % s->out_cap];
}

static void out_drop_all(struct http_stream *s)
{
	for (unsigned i = 0; i < s->out_n; i++)
		slice_release(out_at(s, i));
	s->out_n = 0;
	s->out_bytes = 0;
	s->supply = NULL;
	if (s->out != s->out_inline)
		free(s->out);
	s->out = s->out_inline;
	s->out_cap = ARRAY_SIZE(s->out_inline);
	s->out_first = 0;
}

void http_stream_close(struct http_stream *s, const struct error *err)
{
	struct http_session *h = s->session;

	if (s->closed)
		return;
	s->closed = true;
	s->in_ended = s->out_ended = true;
	list_remove(&s->link);
	list_remove(&s->writable_link);
	h->nstreams--;
	out_drop_all(s);
	if (h->ops->forget)
		h->ops->forget(h, s);
	if (s->ops && s->ops->on_close)
		s->ops->on_close(s, err);
	s->session = NULL;
	if (h->events->on_output)
		h->events->on_output(h->owner);
	http_stream_unref(s);
}

struct conn *http_stream_conn(const struct http_stream *s)
{
	return s->session ? s->session->conn : NULL;
}

void http_stream_vouch(struct http_stream *s)
{
	if (s->session)
		s->session->vouched = true;
}

struct loop *http_stream_loop(const struct http_stream *s)
{
	return s->session ? s->session->loop : NULL;
}

/* --- receiving ------------------------------------------------------------------- */

/* A stream's owner may call at any time; the session's own time is that of its last call. */
static int64_t time_of(const struct http_session *h)
{
	return h->loop ? loop_now(h->loop) : h->now;
}

/* When the next piece is due, considering the minimal rate. */
static int64_t body_due(const struct http_stream *s, int64_t now)
{
	int64_t due = now + s->body_timeout_ms;

	if (!s->body_rate)
		return due;
	return MIN(due, s->body_since + s->body_timeout_ms + s->received * 1000 / s->body_rate);
}

static void touch_deadline(struct http_stream *s)
{
	struct http_session *h = s->session;

	s->deadline = s->body_timeout_ms && !s->in_ended ? body_due(s, time_of(h)) : INT64_MAX;
	if (s->deadline < h->deadline) {
		h->deadline = s->deadline;
		h->events->on_output(h->owner);
	}
}

static void expect_body(struct http_stream *s, int64_t ms)
{
	s->body_timeout_ms = ms;
	if (s->closed)
		return;
	s->body_since = time_of(s->session);
	touch_deadline(s);
}

static bool too_large(const struct http_stream *s, int64_t n)
{
	return s->body_max >= 0 && n > s->body_max;
}

static void refuse_body(struct http_stream *s)
{
	struct error err;

	(void)error_set(&err, ERR_TOO_LARGE, "the body is larger than the limit of %lld bytes",
			(long long)s->body_max);
	if (s->server)
		http_stream_fail(s, &err);
	else
		http_stream_reset(s, &err);
}

void http_stream_discard(struct http_stream *s)
{
	if (s->out_sent && s->stop_early && s->session->ops->stop) {
		s->session->ops->stop(s->session, s);
		return;
	}
	s->discard = true;
	s->received = 0; /* from now on counts discarded bytes */
	s->body_rate = 0;
	expect_body(s, DISCARD_MS);
	s->body_timeout_ms = 0;
	if (s->unconsumed)
		http_stream_consume(s, s->unconsumed);
}

/* A 4xx that means "stop sending" cannot wait, nor can one that the client waits for. */
static bool may_wait(const struct http_stream *s, enum error_code code)
{
	return !s->in_ended && !s->wants_continue && !s->refusal && code != ERR_TOO_LARGE &&
	       code != ERR_SLOW_REQUEST && code != ERR_HEADERS_TOO_LARGE;
}

static void refuse_later(struct http_stream *s, const struct error *err)
{
	struct error *copy = arena_alloc(&s->arena, sizeof(*copy));

	*copy = *err;
	s->refusal = copy;
	http_stream_discard(s);
}

static void refuse_now(struct http_stream *s, const struct error *err)
{
	struct bytes *b = bytes_new(strlen(err->msg) + 1);

	s->deadline = INT64_MAX;
	memcpy(b->data, err->msg, b->n - 1);
	b->data[b->n - 1] = '\n';
	(void)http_stream_reply(s, error_http_status((int)err->code),
				STR("text/plain; charset=utf-8"),
				(struct slice){ b->data, b->n, b });
}

static void call_handler(struct http_stream *s)
{
	struct error err UNZEROED;

	s->session->events->on_stream(s->session->owner, s);
	if (s->closed)
		return;
	if (!s->ops) {
		(void)error_set(&err, ERR_INTERNAL, "no handler took the request");
		http_stream_fail(s, &err);
	} else if (too_large(s, s->in.length) && !s->out_head) {
		refuse_body(s);
	}
}

void http_stream_in_head(struct http_stream *s)
{
	ptrdiff_t at = str_chr(s->in.target, '?');

	s->head_done = true;
	s->in.path = at < 0 ? s->in.target : str_of(s->in.target.p, (size_t)at);
	s->in.query = at < 0 ? STR_NULL : str_skip(s->in.target, (size_t)at + 1);
	(void)http_stream_ref(s);
	if (s->server)
		call_handler(s);
	else if (s->ops && s->ops->on_head)
		s->ops->on_head(s);
	http_stream_unref(s);
}

static void give_back(struct http_stream *s, size_t n)
{
	s->session->ops->consume(s->session, s, n);
}

static void collect_piece(struct http_stream *s, struct str piece)
{
	struct collector *c = s->collector;

	if (buf_add_str(&c->body, piece) < 0) {
		refuse_body(s);
		return;
	}
	http_stream_consume(s, piece.n);
}

static void discarded_enough(struct http_stream *s)
{
	if (s->refusal && !s->out_head)
		refuse_now(s, s->refusal);
	else if (s->out_sent && s->session->ops->stop)
		s->session->ops->stop(s->session, s);
}

void http_stream_in_body(struct http_stream *s, struct str piece)
{
	if (s->closed)
		return;
	s->received += (int64_t)piece.n;
	if (!s->discard && too_large(s, s->received))
		refuse_body(s);
	if (s->closed)
		return;
	if (s->discard) {
		give_back(s, piece.n);
		if (s->received > (int64_t)HTTP_WINDOW)
			discarded_enough(s);
		return;
	}
	s->unconsumed += piece.n;
	touch_deadline(s);
	(void)http_stream_ref(s);
	if (s->collector)
		collect_piece(s, piece);
	else if (s->ops && s->ops->on_body)
		s->ops->on_body(s, piece);
	else
		http_stream_consume(s, piece.n);
	http_stream_unref(s);
}

void http_stream_in_end(struct http_stream *s)
{
	struct collector *c = s->collector;

	if (s->closed || s->in_ended)
		return;
	s->in_ended = true;
	s->deadline = INT64_MAX;
	if (s->discard) {
		if (s->refusal && !s->out_head)
			refuse_now(s, s->refusal);
		return;
	}
	(void)http_stream_ref(s);
	if (c)
		c->fn(s, buf_str(&c->body));
	else if (s->ops && s->ops->on_end)
		s->ops->on_end(s);
	http_stream_unref(s);
}

void http_stream_consume(struct http_stream *s, size_t n)
{
	if (s->closed)
		return;
	n = MIN(n, s->unconsumed);
	s->unconsumed -= n;
	if (n)
		give_back(s, n);
	/* Perhaps the peer may send the next piece only now. */
	if (n && s->body_timeout_ms && !s->closed)
		touch_deadline(s);
}

void http_stream_limit_body(struct http_stream *s, int64_t max)
{
	s->body_max = max;
}

void http_stream_stop_early(struct http_stream *s)
{
	s->stop_early = true;
}

void http_stream_body_timeout(struct http_stream *s, int64_t ms, int64_t rate)
{
	s->body_rate = rate;
	expect_body(s, ms);
}

static void collector_drop(void *object)
{
	buf_release(&((struct collector *)object)->body);
}

void http_stream_collect(struct http_stream *s, void (*fn)(struct http_stream *s, struct str body))
{
	struct collector *c = ARENA_NEW(&s->arena, struct collector);

	buf_init(&c->body, s->body_max < 0 ? SIZE_MAX / 2 : (size_t)s->body_max);
	c->fn = fn;
	arena_hold(&s->arena, collector_drop, c);
	s->collector = c;
}

/* --- sending --------------------------------------------------------------------- */

/* Adds all fields or none: the caller may send a shorter error then. */
static int add_fields(struct http_stream *s, struct http_fields *to,
		      const struct http_field *fields, size_t n)
{
	struct http_fields before = *to;
	int r;

	for (size_t i = 0; i < n; i++) {
		r = http_fields_add_field(to, &s->arena, &fields[i]);
		if (r < 0) {
			*to = before;
			return r;
		}
	}
	return 0;
}

int http_stream_respond(struct http_stream *s, int status, const struct http_field *fields,
			size_t n, int64_t length)
{
	int r;

	if (s->closed || s->out_head)
		return -ERR_CANCELED;
	assert(s->server && status >= 200 && status <= 999);
	r = add_fields(s, &s->out_fields, fields, n);
	if (r < 0)
		return r;
	s->out_head = true;
	s->out_status = status;
	s->out_length = length;
	s->session->ops->respond(s->session, s);
	return 0;
}

bool http_stream_wants_upgrade(const struct http_stream *s)
{
	return s->in.version == HTTP_1_1 && !s->head_request &&
	       http_fields_get(&s->in.fields, STR("upgrade")).n > 0 &&
	       http_fields_has_token(&s->in.fields, STR("connection"), STR("upgrade"));
}

int http_stream_upgrade(struct http_stream *s, struct str protocol, const struct http_field *fields,
			size_t n)
{
	bool body = s->in.length > 0 ||
		    http_fields_get(&s->in.fields, STR("transfer-encoding")).p != NULL;
	int r;

	if (s->closed || s->out_head)
		return -ERR_CANCELED;
	if (!http_stream_wants_upgrade(s) || !protocol.n || (body && !s->in_ended) || s->discard)
		return -ERR_BAD_REQUEST;
	assert(s->server);
	r = add_fields(s, &s->out_fields, fields, n);
	if (r < 0)
		return r;
	s->upgrade = arena_str(&s->arena, protocol);
	s->out_head = true;
	s->out_status = 101;
	s->out_length = -1;
	s->session->ops->respond(s->session, s);
	return 0;
}

void http_stream_begin_raw(struct http_stream *s)
{
	s->raw = true;
	s->in_ended = false;
	if (!s->server)
		s->out_ended = s->out_sent = false;
	s->collector = NULL;
	s->body_max = -1;
	s->body_timeout_ms = 0;
	s->deadline = INT64_MAX;
}

static void out_grow(struct http_stream *s)
{
	unsigned cap = s->out_cap * 4;
	struct slice *v = xmalloc(cap * sizeof(*v));

	for (unsigned i = 0; i < s->out_n; i++)
		v[i] = *out_at(s, i);
	if (s->out != s->out_inline)
		free(s->out);
	s->out = v;
	s->out_cap = cap;
	s->out_first = 0;
}

/* Whether only the peer's windows decide how long the queue is kept. */
static bool may_stall(const struct http_stream *s)
{
	return s->server && s->in.version == HTTP_2 && !s->patient &&
	       s->session->config->stall_timeout_ms > 0;
}

static void expect_taking(struct http_stream *s)
{
	struct http_session *h = s->session;

	s->out_due = may_stall(s) ? time_of(h) + h->config->stall_timeout_ms : INT64_MAX;
	h->deadline = MIN(h->deadline, s->out_due);
}

int http_stream_send(struct http_stream *s, struct slice piece)
{
	if (s->closed || s->out_ended || !s->out_head) {
		slice_release(&piece);
		return -ERR_CANCELED;
	}
	if (piece.n == 0 || (s->server && s->head_request)) {
		slice_release(&piece);
		return 0;
	}
	if (s->out_n == s->out_cap)
		out_grow(s);
	if (s->out_n == 0)
		expect_taking(s);
	*out_at(s, s->out_n++) = piece;
	s->out_bytes += piece.n;
	s->session->ops->wake(s->session, s);
	return 0;
}

int http_stream_send_copy(struct http_stream *s, struct str piece)
{
	struct bytes *b = bytes_copy(piece);

	return http_stream_send(s, (struct slice){ b->data, b->n, b });
}

void http_stream_patient(struct http_stream *s)
{
	if (s->session)
		s->session->patient = true;
	s->patient = true;
	s->out_due = INT64_MAX;
}

int http_stream_supply(struct http_stream *s, struct http_supply *u, size_t n)
{
	if (s->closed || s->out_ended || !s->out_head)
		return -ERR_CANCELED;
	if (n && !(s->server && s->head_request)) {
		if (s->out_n == 0)
			expect_taking(s);
		s->supply = u;
		s->out_bytes += n;
	}
	return http_stream_end(s, NULL, 0);
}

size_t http_stream_room(struct http_stream *s)
{
	if (s->closed || s->out_ended)
		return 0;
	if (s->out_bytes < s->session->config->out_max)
		return s->session->config->out_max - s->out_bytes;
	s->out_blocked = true;
	return 0;
}

/* Moves up to `max` bytes of the queue. */
static size_t out_move_queued(struct http_stream *s, struct outbuf *o, size_t max)
{
	size_t moved = 0, n;
	struct slice *first;

	while (s->out_n && moved < max) {
		first = out_at(s, 0);
		n = MIN(first->n, max - moved);
		moved += n;
		if (n == first->n) {
			outbuf_add_slice(o, *first);
			s->out_first = (s->out_first + 1) % s->out_cap;
			s->out_n--;
			continue;
		}
		if (first->owner)
			(void)bytes_ref(first->owner);
		outbuf_add_slice(o, (struct slice){ first->p, n, first->owner });
		first->p += n;
		first->n -= n;
	}
	return moved;
}

size_t http_stream_out_move(struct http_stream *s, struct outbuf *o, size_t max)
{
	size_t moved = out_move_queued(s, o, max), rest = MIN(max, s->out_bytes) - moved;

	s->out_bytes -= moved + rest;
	if (rest)
		s->supply->put(s->supply, o, rest);
	if (!s->out_bytes)
		s->supply = NULL;
	moved += rest;
	if (!s->out_bytes)
		s->out_due = INT64_MAX;
	else if (moved)
		expect_taking(s);
	if (s->out_blocked && s->out_bytes <= s->session->config->out_max / 4 &&
	    list_empty(&s->writable_link))
		list_push_back(&s->session->writable, &s->writable_link);
	return moved;
}

int http_stream_end(struct http_stream *s, const struct http_field *trailers, size_t n)
{
	int r;

	if (s->closed || s->out_ended || !s->out_head)
		return -ERR_CANCELED;
	r = add_fields(s, &s->out_trailers, trailers, n);
	if (r < 0)
		return r;
	s->out_ended = true;
	s->session->ops->wake(s->session, s);
	return 0;
}

bool http_stream_was_shut(const struct http_stream *s)
{
	return !s->session || s->session->was_shut;
}

int http_stream_reply(struct http_stream *s, int status, struct str content_type, struct slice body)
{
	struct http_field field = HTTP_FIELD("content-type", content_type);
	int r;

	r = http_stream_respond(s, status, &field, content_type.n ? 1 : 0, (int64_t)body.n);
	if (r < 0) {
		slice_release(&body);
		return r;
	}
	r = http_stream_send(s, body);
	return r < 0 ? r : http_stream_end(s, NULL, 0);
}

void http_stream_fail(struct http_stream *s, const struct error *err)
{
	if (s->closed)
		return;
	if (!s->server || s->out_head) {
		http_stream_reset(s, err);
		return;
	}
	if (may_wait(s, err->code)) {
		refuse_later(s, err);
		return;
	}
	s->discard = true;
	if (s->unconsumed)
		http_stream_consume(s, s->unconsumed);
	refuse_now(s, s->refusal ? s->refusal : err);
}

void http_stream_reset(struct http_stream *s, const struct error *why)
{
	if (s->closed)
		return;
	s->session->ops->reset(s->session, s, why ? (int)why->code : ERR_CANCELED);
	http_stream_close(s, why);
}
