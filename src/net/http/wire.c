/*
 * Each piece of input is a heap copy of its own, so that a sanitizer sees what
 * is read beyond it or kept after it.
 */
#include "net/http/wire.h"

#include <assert.h>

#include "base/core/limits.h"

static struct http_wire *wire_of(const struct http_stream *s)
{
	return s->data;
}

static void wire_note(struct http_wire *w, const char *line)
{
	if (w->in_body)
		(void)buf_addc(&w->log, '\n');
	w->in_body = false;
	(void)buf_addz(&w->log, line);
}

static void logged_head(struct http_stream *s)
{
	struct http_wire *w = wire_of(s);

	wire_note(w, "response ");
	(void)buf_printf(&w->log, "%d\n", s->in.status);
}

static void logged_body(struct http_stream *s, struct str piece)
{
	struct http_wire *w = wire_of(s);

	if (!w->in_body)
		wire_note(w, "body=");
	w->in_body = true;
	(void)buf_add_str(&w->log, piece);
	if (!w->keep)
		http_stream_consume(s, piece.n);
}

static void logged_end(struct http_stream *s)
{
	struct http_wire *w = wire_of(s);

	for (size_t i = 0; i < s->trailers.n; i++) {
		wire_note(w, "trailer ");
		(void)buf_printf(&w->log, "%.*s: %.*s\n", STR_ARG(s->trailers.v[i].name),
				 STR_ARG(s->trailers.v[i].value));
	}
	wire_note(w, "end\n");
	if (s->server && str_starts(s->in.path, STR("/wait")))
		return;
	if (s->server && !s->out_head)
		(void)http_stream_reply(s, 200, STR_NULL, slice_static(STR("done")));
}

static void logged_close(struct http_stream *s, const struct error *err)
{
	struct http_wire *w = wire_of(s);

	wire_note(w, "close");
	(void)(err ? buf_printf(&w->log, ": %s\n", err->msg) : buf_addc(&w->log, '\n'));
}

const struct http_stream_ops http_wire_ops = {
	.on_head = logged_head,
	.on_body = logged_body,
	.on_end = logged_end,
	.on_close = logged_close,
};

static void echo(struct http_stream *s, struct str body)
{
	struct bytes *b = bytes_copy(body);

	(void)http_stream_reply(s, 200, STR_NULL, (struct slice){ b->data, b->n, b });
}

void http_wire_serve(struct http_wire *w UNUSED, struct http_stream *s)
{
	struct http_field trailers[] = { HTTP_FIELD("x-sum", STR("42")),
					 HTTP_FIELD("x-bad", STR("a\r\nb")) };

	if (str_eq(s->in.path, STR("/echo"))) {
		http_stream_collect(s, echo);
	} else if (str_eq(s->in.path, STR("/now"))) {
		(void)http_stream_reply(s, 200, STR_NULL, slice_static(STR("ok")));
	} else if (str_eq(s->in.path, STR("/trailers"))) {
		(void)http_stream_respond(s, 200, NULL, 0, -1);
		(void)http_stream_send(s, slice_static(STR("one")));
		(void)http_stream_send(s, slice_static(STR("two")));
		(void)http_stream_end(s, trailers, ARRAY_SIZE(trailers));
	}
}

static void wire_stream(void *owner, struct http_stream *s)
{
	struct http_wire *w = owner;

	wire_note(w, "request ");
	(void)buf_printf(&w->log, "%.*s %.*s host=%.*s\n", STR_ARG(s->in.method),
			 STR_ARG(s->in.target), STR_ARG(s->in.authority));
	s->ops = &http_wire_ops;
	s->data = w;
	w->requests++;
	http_stream_unref(w->stream);
	w->stream = http_stream_ref(s);
	(w->handler ? w->handler : http_wire_serve)(w, s);
}

static void wire_output(void *owner UNUSED)
{
}

static void wire_pause(void *owner, bool pause)
{
	struct http_wire *w = owner;

	assert(pause != w->paused);
	w->paused = pause;
	w->pauses += pause;
}

static const struct http_session_events wire_events = {
	.on_stream = wire_stream,
	.on_output = wire_output,
	.on_pause = wire_pause,
};

void http_wire_init(struct http_wire *w, bool server, const struct http_config *config)
{
	*w = (struct http_wire){ .gather = outbuf_new(), .now = 1000 };
	w->config = http_config_fill(config);
	buf_init(&w->out, 64 * MIB);
	buf_init(&w->log, 64 * MIB);
	w->session = http1_new(server, &w->config, &wire_events, w);
	w->session->now = w->now;
	(void)buf_reserve(&w->out, 1);
	(void)buf_reserve(&w->log, 1);
}

void http_wire_release(struct http_wire *w)
{
	struct error err;

	(void)error_set(&err, ERR_CANCELED, "released");
	http_session_free(w->session, &err);
	http_stream_unref(w->stream);
	outbuf_free(w->gather);
	buf_release(&w->out);
	buf_release(&w->log);
}

struct http_stream *http_wire_ask(struct http_wire *w, const char *method, const char *target,
				  const char *body)
{
	struct http_request r = {
		.method = str_from(method),
		.scheme = STR("http"),
		.authority = STR("h"),
		.target = str_from(target),
		.length = body && body[0] ? (int64_t)strlen(body) : -1,
		.end = !body,
		.ops = &http_wire_ops,
		.data = w,
	};
	struct http_stream *s = NULL;

	w->result = http_session_request(w->session, &r, &s, &w->err);
	if (w->result < 0)
		return NULL;
	if (body && body[0]) {
		(void)http_stream_send_copy(s, str_from(body));
		(void)http_stream_end(s, NULL, 0);
	}
	return s;
}

void http_wire_flush(struct http_wire *w)
{
	bool more = true;

	while (more) {
		more = w->session->ops->output(w->session, w->gather);
		for (int i = 0; i < w->gather->n; i++)
			(void)buf_add(&w->out, w->gather->iov[i].iov_base,
				      w->gather->iov[i].iov_len);
		outbuf_clear(w->gather);
		more |= http_session_call_writable(w->session);
	}
}

void http_wire_feed(struct http_wire *w, struct str in, size_t piece)
{
	do {
		size_t n = piece ? MIN(piece, in.n) : in.n;
		char *copy = str_dup(str_of(in.p, n));

		w->result = w->session->ops->input(w->session, copy, n, &w->err);
		free(copy);
		http_wire_flush(w);
		in = str_skip(in, n);
	} while (in.n && w->result == 0);
}

void http_wire_eof(struct http_wire *w)
{
	w->result = w->session->ops->eof(w->session, &w->err);
	http_wire_flush(w);
}

void http_wire_advance(struct http_wire *w, int64_t ms)
{
	w->now += ms;
	w->session->now = w->now;
	if (w->session->deadline <= w->now)
		w->result = w->session->ops->tick(w->session, &w->err);
	http_wire_flush(w);
}
