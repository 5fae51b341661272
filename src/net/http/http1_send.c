/*
 * Writes HTTP/1.1. A head is printed by memcpy into a small buffer on the stack, or if it is large
 * into counted bytes, and sent in one piece. Body pieces are passed by reference; chunk lines are
 * printed around whole runs of them.
 *
 * We alone set the framing fields: fields of an owner with these names are omitted, as are fields
 * that would break a line. If outbuf_room() returned true, there is room for a head, a chunk line
 * and the end of a message, and http_stream_out_move() keeps it so.
 */
#include "net/http/http1.h"
#include "net/net_limits.h"

enum {
	HEAD_SMALL = 2048, /* heads up to this are printed on the stack */
	HEAD_LINES_MAX = 256, /* room for the lines that we add, except the start line */
	CHUNK_LINE_MAX = 18,
	MOVE_MAX = 16 * 1024, /* guaranteed by outbuf_room() */
};

static const struct str crlf = { "\r\n", 2 };

static char *http1_send_put(char *to, struct str s)
{
	str_put(to, s);
	return to + s.n;
}

static char *put_u64(char *to, uint64_t v, unsigned base)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = "0123456789abcdef"[v % base];
		v /= base;
	} while (v);
	return http1_send_put(to, str_of(digits + at, sizeof(digits) - at));
}

/* --- fields -------------------------------------------------------------------- */

/* Connection, framing and Host are set here, whatever an owner passes. */
static bool http1_send_is_ours(const struct http1 *c, struct str name)
{
	switch (name.n) {
	case 4:
		return c->h.server ? c->h.date && str_eq(name, STR("date"))
				   : str_eq(name, STR("host"));
	case 7:
		return str_eq(name, STR("upgrade"));
	case 10:
		return str_eq(name, STR("connection")) || str_eq(name, STR("keep-alive"));
	case 14:
		return str_eq(name, STR("content-length"));
	case 16:
		return str_eq(name, STR("proxy-connection"));
	case 17:
		return str_eq(name, STR("transfer-encoding"));
	default:
		return false;
	}
}

static size_t fields_size(const struct http_fields *f)
{
	return f->bytes + f->n * (sizeof(": \r\n") - 1);
}

static char *put_field(char *to, struct str name, struct str value)
{
	to = http1_send_put(to, name);
	to = http1_send_put(to, STR(": "));
	to = http1_send_put(to, value);
	return http1_send_put(to, crlf);
}

static char *put_fields(const struct http1 *c, char *to, const struct http_fields *f)
{
	for (size_t i = 0; i < f->n; i++) {
		const struct http_field *field = &f->v[i];

		if (!http1_send_is_ours(c, field->name) && http1_is_token(field->name) &&
		    http1_is_value(field->value))
			to = put_field(to, field->name, field->value);
	}
	return to;
}

static char *put_length(char *to, uint64_t length)
{
	to = http1_send_put(to, STR("Content-Length: "));
	to = put_u64(to, length, 10);
	return http1_send_put(to, crlf);
}

/* --- heads ---------------------------------------------------------------------- */

static char *put_status_line(const struct http1 *c, char *to, int status)
{
	to = http1_send_put(to, STR("HTTP/1.1 "));
	to = put_u64(to, (uint64_t)status, 10);
	to = http1_send_put(to, STR(" "));
	to = http1_send_put(to, str_from(http_status_text(status)));
	to = http1_send_put(to, crlf);
	if (c->h.date)
		to = put_field(to, STR("Date"), str_of(c->h.date, HTTP_DATE_LEN));
	return to;
}

/* RFC 9110, 7.8: Upgrade must be listed in Connection. */
static char *put_upgrade(char *to, struct str protocol)
{
	return put_field(http1_send_put(to, STR("Connection: Upgrade\r\n")), STR("Upgrade"),
			 protocol);
}

static char *put_response(const struct http1 *c, const struct http_stream *s, char *to)
{
	to = put_status_line(c, to, s->out_status);
	to = put_fields(c, to, &s->out_fields);
	if (c->delimiter == HTTP1_RAW)
		return http1_send_put(put_upgrade(to, s->upgrade), crlf);
	if (c->delimiter == HTTP1_CHUNKED)
		to = http1_send_put(to, STR("Transfer-Encoding: chunked\r\n"));
	else if (s->out_length >= 0 && s->out_status != 204 && s->out_status != 304)
		to = put_length(to, (uint64_t)s->out_length);
	if (!c->keep_alive)
		to = http1_send_put(to, STR("Connection: close\r\n"));
	else if (s->in.version == HTTP_1_0)
		to = http1_send_put(to, STR("Connection: keep-alive\r\n"));
	return http1_send_put(to, crlf);
}

/* RFC 9110, 8.6: a request that stores something says explicitly that its body is empty. */
static bool says_empty(struct str method)
{
	return str_eq(method, STR("POST")) || str_eq(method, STR("PUT")) ||
	       str_eq(method, STR("PATCH"));
}

static char *put_request(const struct http1 *c, const struct http_stream *s, char *to)
{
	to = http1_send_put(to, s->request.method);
	to = http1_send_put(to, STR(" "));
	to = http1_send_put(to, s->request.target);
	to = http1_send_put(to, STR(" HTTP/1.1\r\n"));
	to = put_field(to, STR("Host"), s->request.authority);
	to = put_fields(c, to, &s->out_fields);
	if (c->delimiter == HTTP1_CHUNKED)
		to = http1_send_put(to, STR("Transfer-Encoding: chunked\r\n"));
	else if (c->delimiter == HTTP1_LENGTH || says_empty(s->request.method))
		to = put_length(to, (uint64_t)s->out_length);
	if (s->upgrade.n)
		to = put_upgrade(to, s->upgrade);
	return http1_send_put(to, crlf);
}

/* Sends the output of put(c, s, to), at most `max` bytes. */
static void send_printed(struct http1 *c, struct http_stream *s, struct outbuf *o, size_t max,
			 char *(*print)(const struct http1 *c, const struct http_stream *s,
					char *to))
{
	char small[HEAD_SMALL];
	struct bytes *big;

	if (max <= sizeof(small)) {
		outbuf_add(o, small, (size_t)(print(c, s, small) - small));
		return;
	}
	big = bytes_new(max);
	outbuf_add_slice(o, (struct slice){ .p = big->data,
					    .n = (size_t)(print(c, s, big->data) - big->data),
					    .owner = big });
}

static void send_head(struct http1 *c, struct http_stream *s, struct outbuf *o)
{
	size_t max = HEAD_LINES_MAX + s->upgrade.n + fields_size(&s->out_fields);

	if (c->h.server)
		send_printed(c, s, o, max, put_response);
	else
		send_printed(c, s, o,
			     max + s->request.method.n + s->request.target.n +
				     s->request.authority.n,
			     put_request);
	c->head_sent = true;
}

/* --- bodies ---------------------------------------------------------------------- */

/* Called late, when the head and perhaps the whole body are known. */
static void choose_delimiter(struct http1 *c, struct http_stream *s)
{
	bool none = c->h.server && s->head_request;

	if (!none && s->out_status != 101 && s->out_length < 0 && s->out_ended &&
	    !s->out_trailers.n)
		s->out_length = (int64_t)s->out_bytes;
	c->out_left = 0;
	if (s->out_status == 101) {
		c->delimiter = HTTP1_RAW;
	} else if (none || (!c->h.server && s->out_length == 0)) {
		c->delimiter = HTTP1_NO_BODY;
	} else if (s->out_length >= 0) {
		c->delimiter = HTTP1_LENGTH;
		c->out_left = s->out_length;
	} else {
		c->delimiter = c->h.server && s->in.version == HTTP_1_0 ? HTTP1_CLOSE
									: HTTP1_CHUNKED;
	}
}

bool http1_rest_is_small(const struct http1 *c)
{
	return c->reading == HTTP1_READ_HOLD ||
	       (c->reading == HTTP1_READ_BODY && c->body.state == HTTP1_BODY_PLAIN &&
		c->body.left <= HTTP1_DRAIN_MAX);
}

/* A peer that got no 100 Continue may or may not send its body, so nothing can follow then. */
static void choose_keep_alive(struct http1 *c, const struct http_stream *s)
{
	if (!c->h.server)
		return;
	if (c->h.draining || c->delimiter == HTTP1_CLOSE || s->wants_continue ||
	    (s->out_ended && !http1_rest_is_small(c)))
		c->keep_alive = false;
}

/* Up to `max` bytes, as long as there is room. */
static size_t move(struct http_stream *s, struct outbuf *o, size_t max)
{
	size_t moved = 0;

	while (moved < max && s->out_bytes && outbuf_room(o))
		moved += http_stream_out_move(s, o, MIN(max - moved, (size_t)MOVE_MAX));
	return moved;
}

static int send_length(struct http1 *c, struct http_stream *s, struct outbuf *o)
{
	c->out_left -= (int64_t)move(s, o, (size_t)c->out_left);
	if (c->out_left == 0 && s->out_bytes)
		return -ERR_INTERNAL;
	if (!s->out_ended || s->out_bytes)
		return 0;
	return c->out_left ? -ERR_INTERNAL : 1;
}

static char *put_last_chunk(const struct http1 *c, const struct http_stream *s, char *to)
{
	to = http1_send_put(to, STR("0\r\n"));
	to = put_fields(c, to, &s->out_trailers);
	return http1_send_put(to, crlf);
}

static int send_chunked(struct http1 *c, struct http_stream *s, struct outbuf *o)
{
	char line[CHUNK_LINE_MAX];

	while (s->out_bytes && outbuf_room(o)) {
		if (c->out_left == 0) {
			c->out_left = (int64_t)s->out_bytes;
			outbuf_add(o, line,
				   (size_t)(http1_send_put(put_u64(line, s->out_bytes, 16), crlf) -
					    line));
		}
		c->out_left -= (int64_t)move(s, o, (size_t)c->out_left);
		if (c->out_left == 0)
			outbuf_add(o, crlf.p, crlf.n);
	}
	if (!s->out_ended || s->out_bytes)
		return 0;
	send_printed(c, s, o, HEAD_LINES_MAX + fields_size(&s->out_trailers), put_last_chunk);
	return 1;
}

static int send_body(struct http1 *c, struct http_stream *s, struct outbuf *o)
{
	switch (c->delimiter) {
	case HTTP1_CHUNKED:
		return send_chunked(c, s, o);
	case HTTP1_CLOSE:
	case HTTP1_RAW:
		(void)move(s, o, SIZE_MAX);
		return s->out_ended && !s->out_bytes;
	default:
		return send_length(c, s, o);
	}
}

/* --- messages ----------------------------------------------------------------------- */

int http1_send(struct http1 *c, struct outbuf *o)
{
	struct http_stream *s = c->current;
	int r;

	if (!outbuf_room(o))
		return 0;
	if (c->send_continue) {
		outbuf_add(o, STR("HTTP/1.1 100 Continue\r\n\r\n").p, 25);
		c->send_continue = false;
	}
	if (!s->out_head || s->out_sent)
		return 0;
	if (!c->head_sent) {
		choose_delimiter(c, s);
		choose_keep_alive(c, s);
		send_head(c, s, o);
	}
	r = send_body(c, s, o);
	if (r > 0)
		s->out_sent = true;
	return r;
}

static char *put_fault(const struct http1 *c, const struct http_stream *s UNUSED, char *to)
{
	struct str what = str_from(c->fault.what);

	to = put_status_line(c, to, c->fault.status);
	if (c->fault.status == 405)
		to = http1_send_put(to,
				    STR("Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\r\n"));
	to = http1_send_put(to, STR("Content-Type: text/plain; charset=utf-8\r\n"));
	to = put_length(to, what.n + 1);
	to = http1_send_put(to, STR("Connection: close\r\n\r\n"));
	if (c->bodiless_fault)
		return to;
	to = http1_send_put(to, what);
	return http1_send_put(to, STR("\n"));
}

void http1_send_fault(struct http1 *c, struct outbuf *o)
{
	send_printed(c, NULL, o, HEAD_SMALL, put_fault);
}

int http1_check_request(const struct http_stream *s, struct error *err)
{
	if (s->upgrade.n && (!http1_is_value(s->upgrade) || !s->out_ended))
		return error_set(err, ERR_BAD_REQUEST, "the request for an upgrade is malformed");
	if (!http1_is_token(s->request.method))
		return error_set(err, ERR_BAD_REQUEST, "\"%.*s\" is not a method",
				 STR_ARG(s->request.method));
	if (!s->request.target.n || !http1_is_value(s->request.target) ||
	    str_chr(s->request.target, ' ') >= 0 || str_chr(s->request.target, '\t') >= 0)
		return error_set(err, ERR_BAD_REQUEST, "the request target is malformed");
	if (!http1_is_value(s->request.authority) || str_chr(s->request.authority, ' ') >= 0)
		return error_set(err, ERR_BAD_REQUEST, "the request's host is malformed");
	for (size_t i = 0; i < s->out_fields.n; i++) {
		const struct http_field *f = &s->out_fields.v[i];

		if (!http1_is_token(f->name) || !http1_is_value(f->value))
			return error_set(err, ERR_BAD_REQUEST, "the field %.*s is malformed",
					 STR_ARG(f->name));
	}
	return 0;
}
