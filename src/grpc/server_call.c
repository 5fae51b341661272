/*
 * The server's end. The head is sent with the first message, or with the status if there are no
 * messages ("trailers-only"). After the status nothing is received any more, and on_end waits until
 * HTTP has sent everything. A call that is aborted ends at once, and the stream sends the status.
 */
#include "grpc/server_call.h"

#include <assert.h>

#include "base/core/mem.h"
#include "grpc/grpc_limits.h"

/* grpc-status, grpc-message, content-type, grpc-accept-encoding. */
enum { OWN_FIELDS = 4 };

static const struct grpc_role server_role;

static struct grpc_server_call *server_call_of(struct grpc_call *c)
{
	assert(c->role == &server_role);
	return CONTAINER_OF(c, struct grpc_server_call, call);
}

/* --- heads and trailers ------------------------------------------------------------ */

/* Fields in the arena, with room for ours. */
static struct http_field *fields_of(struct arena *a, const struct http_fields *f, size_t *ret_n)
{
	struct http_field *v = ARENA_ARRAY(a, struct http_field, f->n + OWN_FIELDS);

	if (f->n)
		memcpy(v, f->v, f->n * sizeof(*v));
	*ret_n = f->n;
	return v;
}

static void add_head(struct http_field *v, size_t *n)
{
	v[(*n)++] = HTTP_FIELD("content-type", STR("application/grpc"));
	v[(*n)++] = HTTP_FIELD("grpc-accept-encoding", STR(GRPC_ACCEPT_ENCODING));
}

static void add_status(struct http_field *v, size_t *n, struct arena *a, enum grpc_code code,
		       struct str message)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(GRPC_STATUS_TEXT_MAX);

	v[(*n)++] = HTTP_FIELD("grpc-status", str_from(arena_printf(a, "%d", (int)code)));
	if (message.n == 0)
		return;
	grpc_status_text_encode(message, &text);
	v[(*n)++] = HTTP_FIELD("grpc-message", arena_str(a, buf_str(&text)));
}

static int send_head(struct grpc_server_call *sc)
{
	struct http_field *v;
	size_t n;

	if (sc->headers_sent)
		return 0;
	sc->headers_sent = true;
	v = fields_of(&sc->call.arena, &sc->out_headers, &n);
	add_head(v, &n);
	return http_stream_respond(sc->call.stream, 200, v, n, -1);
}

static int send_trailers(struct grpc_server_call *sc, enum grpc_code code, struct str message)
{
	struct http_field *v;
	size_t n;

	v = fields_of(&sc->call.arena, &sc->out_trailers, &n);
	add_status(v, &n, &sc->call.arena, code, message);
	return http_stream_end(sc->call.stream, v, n);
}

void grpc_server_refuse(struct http_stream *s, int http_status, enum grpc_code code,
			struct str message)
{
	struct http_field v[OWN_FIELDS + 1];
	size_t n = 0;

	if (http_status == 405)
		v[n++] = HTTP_FIELD("allow", STR("POST"));
	add_head(v, &n);
	add_status(v, &n, &s->arena, code, message);
	/* No body: HTTP/2 then ends the stream with this head. */
	if (http_stream_respond(s, http_status, v, n, 0) == 0)
		(void)http_stream_end(s, NULL, 0);
}

static void send_status(struct grpc_server_call *sc, enum grpc_code code, struct str message)
{
	bool only = !sc->headers_sent && sc->out_headers.n == 0 && sc->out_trailers.n == 0;
	int r;

	sc->code = code;
	sc->finished = true;
	if (only) {
		grpc_server_refuse(sc->call.stream, 200, code, message);
		return;
	}
	r = send_head(sc);
	if (r == 0)
		r = send_trailers(sc, code, message);
	/* Never leave a client without an end. */
	if (r < 0)
		http_stream_reset(sc->call.stream, NULL);
}

/* --- role -------------------------------------------------------------------------- */

static int server_send(struct grpc_call *c, struct slice piece)
{
	struct grpc_server_call *sc = server_call_of(c);
	int r;

	r = sc->finished ? -ERR_CANCELED : send_head(sc);
	if (r < 0) {
		slice_release(&piece);
		return r;
	}
	return http_stream_send(c->stream, piece);
}

static size_t server_room(struct grpc_call *c)
{
	return http_stream_room(c->stream);
}

/* Ends a call that its handler has not finished. */
static void server_call_cut(struct grpc_call *c, struct grpc_status st)
{
	struct grpc_server_call *sc = server_call_of(c);

	c->deaf = true;
	c->stream->ops = &grpc_stream_no_ops;
	/* A status queued behind data that the client does not read would never arrive. */
	if (sc->headers_sent && c->stream->out_bytes > 0) {
		sc->code = st.code;
		grpc_call_reset(c, ERR_TIMEOUT);
	} else {
		send_status(sc, st.code, st.message);
	}
	grpc_call_end(c, st);
}

static void server_deadline(struct grpc_call *c)
{
	server_call_cut(c, (struct grpc_status){ GRPC_DEADLINE_EXCEEDED,
						 STR("context deadline exceeded") });
}

static void server_input_error(struct grpc_call *c, const struct error *err)
{
	server_call_cut(c, grpc_status_of_error(err));
}

static void server_input_end(struct grpc_call *c)
{
	struct grpc_server_call *sc = server_call_of(c);
	struct error err;

	if (grpc_frame_partial(&c->frame)) {
		(void)error_set(&err, ERR_PROTOCOL, "unexpected EOF: the message is incomplete");
		server_input_error(c, &err);
	} else if (c->in_streams) {
		if (c->ops->on_half_close)
			c->ops->on_half_close(c);
	} else if (c->received == 0) {
		(void)error_set(&err, ERR_UNIMPLEMENTED,
				"cardinality violation: no request message for %s",
				c->method->path);
		server_input_error(c, &err);
	} else {
		sc->handler->on_request(c, c->message);
	}
}

static void server_detach(struct grpc_call *c)
{
	struct grpc_server_call *sc = server_call_of(c);

	if (!sc->finished)
		sc->code = GRPC_CANCELLED;
	if (sc->opts->on_done)
		sc->opts->on_done(sc->opts->arg, c, sc->code);
}

static void server_release(struct grpc_call *c UNUSED)
{
}

static const struct grpc_role server_role = {
	.server = true,
	.send = server_send,
	.room = server_room,
	.on_input_end = server_input_end,
	.on_input_error = server_input_error,
	.on_deadline = server_deadline,
	.detach = server_detach,
	.release = server_release,
};

/* --- making one -------------------------------------------------------------------- */

static void server_call_on_close(struct http_stream *s, const struct error *err)
{
	struct grpc_call *c = s->data;
	struct grpc_status st = { GRPC_OK, STR_NULL };

	/* For the handler, every failure of the stream means that the client went away. */
	if (err || !server_call_of(c)->finished)
		st = (struct grpc_status){ GRPC_CANCELLED, str_from(err ? err->msg : "") };
	grpc_call_end(c, st);
}

static const struct http_stream_ops stream_ops = {
	.on_body = grpc_call_on_body,
	.on_end = grpc_call_on_end,
	.on_writable = grpc_call_on_writable,
	.on_close = server_call_on_close,
};

struct grpc_server_call *grpc_server_call_new(const struct grpc_handler *h, void *service,
					      const struct grpc_server_opts *opts,
					      struct http_stream *s)
{
	struct grpc_server_call *sc = XNEW(struct grpc_server_call);

	grpc_call_init(&sc->call, &server_role, http_stream_loop(s), h->method,
		       h->method->max_request);
	sc->handler = h;
	sc->service = service;
	sc->opts = opts;
	grpc_call_attach(&sc->call, s, &stream_ops);
	return sc;
}

void grpc_server_call_begin(struct grpc_server_call *sc)
{
	sc->call.ops = &sc->handler->ops;
	if (sc->call.in_streams && sc->handler->on_open)
		sc->handler->on_open(&sc->call);
}

/* --- a server's verbs --------------------------------------------------------------- */

void *grpc_call_service(const struct grpc_call *c)
{
	assert(c->role == &server_role);
	return CONTAINER_OF(c, const struct grpc_server_call, call)->service;
}

int grpc_call_add_header(struct grpc_call *c, struct grpc_metadata md)
{
	struct grpc_server_call *sc = server_call_of(c);

	if (c->ended || sc->headers_sent || sc->finished)
		return -ERR_CANCELED;
	return grpc_metadata_add(&sc->out_headers, &c->arena, md, NULL);
}

int grpc_call_add_trailer(struct grpc_call *c, struct grpc_metadata md)
{
	struct grpc_server_call *sc = server_call_of(c);

	if (c->ended || sc->finished)
		return -ERR_CANCELED;
	return grpc_metadata_add(&sc->out_trailers, &c->arena, md, NULL);
}

int grpc_call_send_headers(struct grpc_call *c)
{
	struct grpc_server_call *sc = server_call_of(c);

	return c->ended || sc->finished ? -ERR_CANCELED : send_head(sc);
}

int grpc_call_finish(struct grpc_call *c, enum grpc_code code, struct str message)
{
	struct grpc_server_call *sc = server_call_of(c);

	if (c->ended || sc->finished)
		return -ERR_CANCELED;
	c->deaf = true;
	loop_timer_stop(&c->timer);
	send_status(sc, code, message);
	return 0;
}

int grpc_call_fail(struct grpc_call *c, const struct error *err)
{
	struct grpc_status st = grpc_status_of_error(err);

	return grpc_call_finish(c, st.code, st.message);
}

int grpc_call_reply(struct grpc_call *c, const ProtobufCMessage *message)
{
	struct error err;
	int r;

	r = grpc_call_send(c, message);
	if (r == -ERR_TOO_LARGE) {
		(void)error_set(&err, ERR_TOO_LARGE, "grpc: the reply is too large to be sent");
		return grpc_call_fail(c, &err);
	}
	return r < 0 ? r : grpc_call_finish(c, GRPC_OK, STR_NULL);
}
