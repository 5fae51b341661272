/*
 * The client's end. Until the channel has a connection, messages wait here; then the stream takes
 * over.
 *
 * The status of a call is read from the trailers, from a head that has only the status, from an
 * HTTP status, or concluded from the end of the stream, in this order. It is reported after all
 * messages that came before.
 */
#include "grpc/client_call.h"

#include <assert.h>

#include "base/core/mem.h"
#include "net/http/client.h"
#include "net/net_limits.h"

static const struct grpc_role client_role;

static struct grpc_client_call *client_call_of(struct grpc_call *c)
{
	assert(c->role == &client_role);
	return CONTAINER_OF(c, struct grpc_client_call, call);
}

/* --- ending ------------------------------------------------------------------------- */

void grpc_client_call_fail(struct grpc_client_call *cc, struct grpc_status st)
{
	struct grpc_call *c = &cc->call;

	/* A stream that has ended on both sides needs no reset, and a server would count it. */
	if (c->stream && !(c->in_ended && http_stream_flushed(c->stream)))
		grpc_call_reset(c, ERR_CANCELED);
	grpc_call_end(c, st);
}

static void fail_error(struct grpc_client_call *cc, const struct error *err)
{
	grpc_client_call_fail(cc, grpc_status_of_error(err));
}

static void client_deadline(struct grpc_call *c)
{
	struct grpc_status st = { GRPC_DEADLINE_EXCEEDED, STR("context deadline exceeded") };

	if (!c->stream)
		st.message = STR("context deadline exceeded while waiting for a connection");
	grpc_client_call_fail(client_call_of(c), st);
}

static void client_input_error(struct grpc_call *c, const struct error *err)
{
	fail_error(client_call_of(c), err);
}

static bool is_trailers_only(const struct http_stream *s)
{
	return http_fields_get(&s->in.fields, STR("grpc-status")).p;
}

/* The server's status. The text is decoded into the call's arena. */
static struct grpc_status read_status(struct grpc_call *c, const struct http_fields *f)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(HTTP_HEADERS_MAX);
	struct str code = http_fields_get(f, STR("grpc-status"));

	if (!code.p)
		return (struct grpc_status){ GRPC_UNKNOWN, STR("the server gave no status") };
	grpc_status_text_decode(http_fields_get(f, STR("grpc-message")), &text);
	return (struct grpc_status){ grpc_code_of_field(code),
				     arena_str(&c->arena, buf_str(&text)) };
}

/* For OK the messages must also be complete and of the right number. */
static int check_ok(const struct grpc_call *c, struct error *err)
{
	if (grpc_frame_partial(&c->frame))
		return error_set(err, ERR_PROTOCOL, "unexpected EOF: the message is incomplete");
	if (!c->in_streams && c->received == 0)
		return error_set(err, ERR_UNIMPLEMENTED,
				 "cardinality violation: no response message for %s",
				 c->method->path);
	return 0;
}

static void client_input_end(struct grpc_call *c)
{
	struct grpc_client_call *cc = client_call_of(c);
	struct http_stream *s = c->stream;
	bool only = !s->trailers.n && is_trailers_only(s);
	struct grpc_status st;
	struct error err UNZEROED;

	if (cc->failed) {
		grpc_client_call_fail(cc, cc->failure);
		return;
	}
	if (!s->trailers.n && !only) {
		(void)error_set(&err, ERR_PROTOCOL,
				"server closed the stream without sending trailers");
		fail_error(cc, &err);
		return;
	}
	st = read_status(c, only ? &s->in.fields : &s->trailers);
	if ((!only && grpc_metadata_read(&s->trailers, &c->arena, &c->trailers, &err) < 0) ||
	    (st.code == GRPC_OK && check_ok(c, &err) < 0))
		st = grpc_status_of_error(&err);
	grpc_client_call_fail(cc, st);
}

/* --- the stream's callbacks ------------------------------------------------------------ */

/* A response that is not gRPC: from a proxy, or a plain web server. */
static void fail_http(struct grpc_client_call *cc, const struct http_head *head)
{
	struct str type = http_fields_get(&head->fields, STR("content-type"));
	struct error err;

	if (head->status != 200)
		(void)error_set(&err, ERR_PROTOCOL,
				"unexpected HTTP status code received from server: %d (%s)",
				head->status, http_status_text(head->status));
	else
		(void)error_set(&err, ERR_PROTOCOL, "received unexpected content-type \"%.*s\"",
				STR_ARG(type));
	grpc_client_call_fail(
		cc, (struct grpc_status){ grpc_code_of_http(head->status), str_from(err.msg) });
}

static int read_head(struct grpc_call *c, const struct http_fields *f, struct error *err)
{
	bool only = is_trailers_only(c->stream);
	int r;

	r = grpc_metadata_read(f, &c->arena, only ? &c->trailers : &c->headers, err);
	if (r < 0)
		return r;
	if (grpc_frame_set_encoding(&c->frame, http_fields_get(f, STR("grpc-encoding")), err) < 0)
		return error_recode(err, ERR_PROTOCOL);
	return 0;
}

static void client_call_on_head(struct http_stream *s)
{
	struct grpc_call *c = s->data;
	struct grpc_client_call *cc = client_call_of(c);
	struct str type = http_fields_get(&s->in.fields, STR("content-type"));
	struct error err UNZEROED;

	grpc_link_proven(cc->link);
	if (!str_starts(type, STR("application/grpc")) ||
	    (s->in.status != 200 && !is_trailers_only(s)))
		fail_http(cc, &s->in);
	else if (read_head(c, &s->in.fields, &err) < 0)
		fail_error(cc, &err);
	else if (!is_trailers_only(s) && c->ops->on_metadata)
		c->ops->on_metadata(c);
}

/* The code for the end of a stream without a status. */
static enum grpc_code code_of_close(const struct error *err)
{
	switch (err ? err->code : ERR_UNAVAILABLE) {
	case ERR_CANCELED:
	case ERR_PROTOCOL:
	case ERR_FORBIDDEN:
	case ERR_TOO_MANY_REQUESTS:
	case ERR_HEADERS_TOO_LARGE:
		return (enum grpc_code)error_grpc_status((int)err->code);
	default:
		return GRPC_UNAVAILABLE;
	}
}

static void client_call_on_close(struct http_stream *s, const struct error *err)
{
	struct grpc_call *c = s->data;
	struct grpc_client_call *cc = client_call_of(c);

	if (!c->in_ended) {
		cc->failed = true;
		cc->failure.code = code_of_close(err);
		cc->failure.message = arena_str(&c->arena, err ? str_from(err->msg)
							       : STR("the connection was closed"));
	}
	grpc_call_input_end(c);
}

static const struct http_stream_ops stream_ops = {
	.on_head = client_call_on_head,
	.on_body = grpc_call_on_body,
	.on_end = grpc_call_on_end,
	.on_writable = grpc_call_on_writable,
	.on_close = client_call_on_close,
};

/* --- sending ------------------------------------------------------------------------- */

static int client_send(struct grpc_call *c, struct slice piece)
{
	struct grpc_client_call *cc = client_call_of(c);

	if (cc->half_closed) {
		slice_release(&piece);
		return -ERR_CANCELED;
	}
	if (c->stream)
		return http_stream_send(c->stream, piece);
	cc->waiting_bytes += piece.n;
	(void)vec_push(&cc->waiting, piece);
	return 0;
}

static size_t client_room(struct grpc_call *c)
{
	struct grpc_client_call *cc = client_call_of(c);

	if (cc->half_closed)
		return 0;
	if (c->stream)
		return http_stream_room(c->stream);
	if (cc->waiting_bytes < HTTP_OUT_HIGH)
		return HTTP_OUT_HIGH - cc->waiting_bytes;
	cc->blocked = true;
	return 0;
}

int grpc_call_half_close(struct grpc_call *c)
{
	struct grpc_client_call *cc = client_call_of(c);

	if (c->ended || cc->half_closed)
		return -ERR_CANCELED;
	cc->half_closed = true;
	return c->stream ? http_stream_end(c->stream, NULL, 0) : 0;
}

static void drop_waiting(struct grpc_client_call *cc)
{
	for (size_t i = 0; i < cc->waiting.n; i++)
		slice_release(&cc->waiting.v[i]);
	vec_release(&cc->waiting);
	cc->waiting_bytes = 0;
}

static void send_waiting(struct grpc_client_call *cc)
{
	struct grpc_call *c = &cc->call;
	bool owed = cc->blocked;

	cc->blocked = false;
	for (size_t i = 0; i < cc->waiting.n; i++)
		(void)http_stream_send(c->stream, cc->waiting.v[i]);
	cc->waiting.n = 0;
	drop_waiting(cc);
	if (cc->half_closed)
		(void)http_stream_end(c->stream, NULL, 0);
	/* If the stream has no room either, it will call. */
	if (owed && http_stream_room(c->stream) > 0 && c->ops->on_writable)
		c->ops->on_writable(c);
}

/* --- starting ------------------------------------------------------------------------ */

/* te, content-type, user-agent, grpc-accept-encoding, grpc-timeout. */
enum { OWN_FIELDS = 5 };

static struct http_field *request_fields(struct grpc_client_call *cc, size_t *ret_n)
{
	struct grpc_call *c = &cc->call;
	struct http_field *v = ARENA_ARRAY(&c->arena, struct http_field,
					   cc->metadata.n + OWN_FIELDS);
	char timeout[GRPC_TIMEOUT_TEXT];
	size_t n = 0;

	v[n++] = HTTP_FIELD("te", STR("trailers"));
	v[n++] = HTTP_FIELD("content-type", STR("application/grpc"));
	v[n++] = HTTP_FIELD("user-agent", STR("devplane/" DEVPLANE_VERSION));
	v[n++] = HTTP_FIELD("grpc-accept-encoding", STR(GRPC_ACCEPT_ENCODING));
	if (c->deadline != INT64_MAX) {
		grpc_timeout_format(c->deadline - loop_now(c->loop), timeout);
		v[n++] = HTTP_FIELD("grpc-timeout", arena_str(&c->arena, str_from(timeout)));
	}
	if (cc->metadata.n)
		memcpy(v + n, cc->metadata.v, cc->metadata.n * sizeof(*v));
	*ret_n = n + cc->metadata.n;
	return v;
}

int grpc_client_call_start(struct grpc_client_call *cc, struct http_client *client,
			   struct grpc_link *link, struct str scheme, struct str authority,
			   struct error *err)
{
	struct http_request request = {
		.method = STR("POST"),
		.scheme = scheme,
		.authority = authority,
		.target = str_from(cc->call.method->path),
		.length = -1,
		.ops = &stream_ops,
		.data = &cc->call,
	};
	struct http_stream *s;
	int r;

	request.fields = request_fields(cc, &request.nfields);
	r = http_client_request(client, &request, &s, err);
	if (r < 0)
		return r;
	grpc_call_attach(&cc->call, s, &stream_ops);
	http_stream_limit_body(s, -1);
	cc->link = link;
	send_waiting(cc);
	return 0;
}

static void client_detach(struct grpc_call *c)
{
	struct grpc_client_call *cc = client_call_of(c);

	grpc_channel_forget(cc->channel, cc);
	cc->channel = NULL;
}

static void client_release(struct grpc_call *c)
{
	drop_waiting(client_call_of(c));
}

static const struct grpc_role client_role = {
	.send = client_send,
	.room = client_room,
	.on_input_end = client_input_end,
	.on_input_error = client_input_error,
	.on_deadline = client_deadline,
	.detach = client_detach,
	.release = client_release,
};

/* Invalid metadata fails the call; like all failures that is reported later. */
static void add_metadata(struct grpc_client_call *cc, const struct grpc_call_opts *opts)
{
	struct error err UNZEROED;

	for (size_t i = 0; i < opts->nmetadata && !cc->failed; i++) {
		if (grpc_metadata_add(&cc->metadata, &cc->call.arena, opts->metadata[i], &err) == 0)
			continue;
		cc->failed = true;
		cc->failure = grpc_status_of_error(&err);
		cc->failure.message = arena_str(&cc->call.arena, cc->failure.message);
	}
}

struct grpc_client_call *grpc_client_call_new(struct loop *l, const struct grpc_method *m,
					      const struct grpc_call_opts *opts,
					      const struct grpc_call_ops *ops, void *data)
{
	static const struct grpc_call_opts defaults = { 0 };
	struct grpc_client_call *cc = XNEW(struct grpc_client_call);

	opts = opts ? opts : &defaults;
	grpc_call_init(&cc->call, &client_role, l, m,
		       opts->max_response ? opts->max_response : m->max_response);
	cc->call.ops = ops;
	cc->call.data = data;
	cc->wait_for_ready = opts->wait_for_ready;
	list_init(&cc->node);
	vec_init(&cc->waiting, SIZE_MAX / sizeof(struct slice));
	add_metadata(cc, opts);
	if (opts->deadline_ms)
		grpc_call_set_timeout(&cc->call, opts->deadline_ms);
	return cc;
}
