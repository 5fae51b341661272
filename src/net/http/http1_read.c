/*
 * Reads HTTP/1.1: a state machine over `reading` that turns the parser's results into calls on the
 * current stream.
 *
 * Input is parsed in place. Only an incomplete head or trailers, and bytes after a request without
 * a response, are copied into `held`.
 */
#include "net/http/http1.h"

/* --- heads --------------------------------------------------------------------- */

/* The same text in the copy at `to`. Text that is not from the head is a literal, and stays. */
static struct str moved(const struct http1_head *head, const char *to, struct str s)
{
	uintptr_t at = (uintptr_t)s.p - (uintptr_t)head->base;

	if (at < head->size)
		s.p = to + at;
	return s;
}

/* Copies fields and text of the head into the stream's arena, in one piece. */
static void store_head(struct http_stream *s, const struct http1_head *head)
{
	struct http_field *v = arena_alloc(&s->arena, head->n * sizeof(*v) + head->size);
	char *text = (char *)(v + head->n);

	memcpy(text, head->base, head->size);
	for (size_t i = 0; i < head->n; i++) {
		v[i] = (struct http_field){ .name = moved(head, text, head->fields[i].name),
					    .value = moved(head, text, head->fields[i].value) };
	}
	s->in.fields = (struct http_fields){ .v = v, .n = head->n, .cap = head->n };
	s->in.fields.bytes = head->size;
	s->in.version = head->version;
	s->in.length = head->length;
	s->in.status = head->status;
	s->in.method = moved(head, text, head->method);
	s->in.target = moved(head, text, head->target);
	s->in.authority = moved(head, text, head->authority);
}

static void begin_request(struct http1 *c, const struct http1_head *head)
{
	struct http_stream *s = http_stream_new(&c->h);

	store_head(s, head);
	s->in.scheme = c->h.tls ? STR("https") : STR("http");
	s->head_request = str_eq(s->in.method, STR("HEAD"));
	s->wants_continue = head->expect.p && head->version == HTTP_1_1 && !head->ended;
	http1_begin_exchange(c, s);
	http1_body_begin(&c->body, head);
	c->keep_alive = head->keep_alive;
	c->reading = HTTP1_READ_BODY;
	http_stream_in_head(s);
	if (!http1_current(c))
		return;
	if (head->ended) {
		http1_end_message(c);
	} else if (s->wants_continue && !s->out_head) {
		/* Unless the body begins before we write. */
		s->wants_continue = false;
		c->send_continue = true;
		c->h.events->on_output(c->h.owner);
	}
}

static void begin_response(struct http1 *c, const struct http1_head *head)
{
	struct http_stream *s = c->current;

	if (head->status == 101) {
		store_head(s, head);
		http1_begin_raw(c);
		http_stream_in_head(s);
		return;
	}
	if (head->status < 200) {
		http1_scan_head(&c->scan);
		return;
	}
	store_head(s, head);
	http1_body_begin(&c->body, head);
	c->keep_alive = head->keep_alive && c->body.state != HTTP1_BODY_ENDLESS;
	c->h.draining = c->h.draining || !c->keep_alive;
	c->reading = HTTP1_READ_BODY;
	http_stream_in_head(s);
	if (head->ended && http1_current(c))
		http1_end_message(c);
}

/* RFC 9112, 2.2: an empty line before a request is skipped. */
static bool in_empty_line(const struct http1 *c, struct str in)
{
	return c->h.server && c->scan.at == 0 && in.p[0] == '\r' && (in.n == 1 || in.p[1] == '\n');
}

static size_t read_head(struct http1 *c, char *in, size_t n)
{
	struct http1_head head;
	size_t size;
	int r;

	if (in_empty_line(c, str_of(in, n)))
		return n == 1 ? 0 : 2;
	if (c->h.server && c->scan.at == 0)
		c->deadline = http1_head_due(c);
	r = http1_scan(&c->scan, str_of(in, n), &c->fault);
	if (r <= 0)
		return r == 0 ? 0 : http1_fail(c, n);
	size = c->scan.at;
	http1_head_init(&head, !c->h.server && c->current->head_request);
	head.may_switch = !c->h.server && c->current->upgrade.n && c->current->out_sent;
	if (http1_parse_head(&c->scan, in, &head, &c->fault) < 0) {
		c->bodiless_fault = str_eq(head.method, STR("HEAD"));
		return http1_fail(c, n);
	}
	c->deadline = INT64_MAX;
	if (c->h.server)
		begin_request(c, &head);
	else
		begin_response(c, &head);
	return size;
}

/* --- bodies and the rest -------------------------------------------------------- */

static size_t read_body(struct http1 *c, char *in, size_t n)
{
	struct http_stream *s = http1_current(c);
	struct str piece;
	ssize_t taken;

	taken = http1_body_next(&c->body, str_of(in, n), &piece, &c->fault);
	if (taken < 0)
		return http1_fail(c, n);
	/* Without a stream it is the rest of a request that was already answered. */
	if (s && piece.n) {
		s->wants_continue = c->send_continue = false;
		http_stream_in_body(s, piece);
	}
	if (c->body.state == HTTP1_BODY_END) {
		http1_end_message(c);
	} else if (c->body.state == HTTP1_BODY_TRAILERS) {
		http1_scan_trailers(&c->scan);
		c->reading = HTTP1_READ_TRAILERS;
	}
	return (size_t)taken;
}

/* RFC 9110, 6.5.1: fields that frame or route a message are not allowed in trailers. */
static void store_trailers(struct http_stream *s, const struct http1_head *head)
{
	for (size_t i = 0; i < head->n; i++) {
		struct str name = head->fields[i].name;

		if (!str_eq(name, STR("content-length")) && !str_eq(name, STR("host")) &&
		    !str_eq(name, STR("transfer-encoding")))
			(void)http_fields_add(&s->trailers, &s->arena, name, head->fields[i].value);
	}
}

static size_t read_trailers(struct http1 *c, char *in, size_t n)
{
	int r = http1_scan(&c->scan, str_of(in, n), &c->fault);
	size_t size = c->scan.at;
	struct http1_head head;

	if (r <= 0)
		return r == 0 ? 0 : http1_fail(c, n);
	http1_head_init(&head, false);
	if (http1_parse_trailers(&c->scan, in, &head, &c->fault) < 0)
		return http1_fail(c, n);
	if (http1_current(c))
		store_trailers(c->current, &head);
	http1_end_message(c);
	return size;
}

static size_t read_later(struct http1 *c, char *in UNUSED, size_t n)
{
	if (c->h.server)
		return 0;
	c->fault.what = "nothing was asked for";
	return http1_fail(c, n);
}

static size_t read_raw(struct http1 *c, char *in, size_t n)
{
	if (http1_current(c))
		http_stream_in_body(c->current, str_of(in, n));
	return n;
}

static size_t read_nothing(struct http1 *c UNUSED, char *in UNUSED, size_t n)
{
	return n;
}

/* Each returns the bytes consumed; 0 if it needs more at once, or must wait. */
static size_t (*const readers[])(struct http1 *c, char *in, size_t n) = {
	[HTTP1_READ_HEAD] = read_head,         [HTTP1_READ_BODY] = read_body,
	[HTTP1_READ_TRAILERS] = read_trailers, [HTTP1_READ_HOLD] = read_later,
	[HTTP1_READ_RAW] = read_raw,           [HTTP1_READ_DROP] = read_nothing,
};

size_t http1_feed(struct http1 *c, char *in, size_t n)
{
	size_t at = 0, taken = 1;

	(void)http1_current(c);
	while (at < n && taken > 0 && !c->h.done) {
		taken = readers[c->reading](c, in + at, n - at);
		at += taken;
		(void)http1_current(c);
	}
	return c->h.done ? n : at;
}

void http1_feed_held(struct http1 *c)
{
	if (c->held.n)
		c->held_at += http1_feed(c, c->held.p + c->held_at, c->held.n - c->held_at);
	if (c->held_at < c->held.n)
		return;
	buf_release(&c->held);
	c->held_at = 0;
}

int http1_hold(struct http1 *c, const char *in, size_t n, struct error *err)
{
	buf_consume(&c->held, c->held_at);
	c->held_at = 0;
	if (buf_add(&c->held, in, n) == 0)
		return 0;
	http1_end_session(c);
	return error_set(err, ERR_TOO_LARGE, "the peer sends faster than it is answered");
}
