/*
 * Callbacks of nghttp2 while it reads. Frames that cost us work without a request (SETTINGS, PING,
 * PRIORITY, empty DATA, cancelled streams) are counted against a token bucket. If it is empty, the
 * peer gets ENHANCE_YOUR_CALM and is disconnected.
 */
#include "net/http/http2.h"
#include "net/net_limits.h"

static struct http_stream *stream_of(nghttp2_session *ng, int32_t id)
{
	return id ? nghttp2_session_get_stream_user_data(ng, id) : NULL;
}

static void http2_in_count(struct http2 *x, struct http2_bucket *b, int64_t burst, int64_t per_s)
{
	if (!http2_bucket_take(b, x->h.now, burst, per_s))
		x->flooded = true;
}

void http2_count_control(struct http2 *x)
{
	http2_in_count(x, &x->control, HTTP2_CONTROL_BURST, HTTP2_CONTROL_PER_S);
}

void http2_earn_control(struct http2 *x)
{
	x->control.tokens = MIN(x->control.tokens + 1, HTTP2_CONTROL_BURST);
}

/* --- heads ---------------------------------------------------------------------- */

static int on_begin_headers(nghttp2_session *ng, const nghttp2_frame *frame, void *user)
{
	struct http2 *x = user;
	struct http_stream *s;

	x->head_since = x->h.now;
	if (!x->h.server || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	s = http_stream_new(&x->h);
	s->id = frame->hd.stream_id;
	s->in.version = HTTP_2;
	(void)nghttp2_session_set_stream_user_data(ng, s->id, s);
	return 0;
}

static void pseudo_field(struct http_stream *s, struct str name, struct str value)
{
	uint64_t status;

	if (str_eq(name, STR(":method")))
		s->in.method = arena_str(&s->arena, value);
	else if (str_eq(name, STR(":path")))
		s->in.target = arena_str(&s->arena, value);
	else if (str_eq(name, STR(":scheme")))
		s->in.scheme = arena_str(&s->arena, value);
	else if (str_eq(name, STR(":authority")))
		s->in.authority = arena_str(&s->arena, value);
	else if (str_eq(name, STR(":status")) && str_to_u64(value, &status) && status < 1000)
		s->in.status = (int)status;
}

static int on_header(nghttp2_session *ng, const nghttp2_frame *frame, const uint8_t *name,
		     size_t namelen, const uint8_t *value, size_t valuelen, uint8_t flags UNUSED,
		     void *user)
{
	struct http2 *x = user;
	struct http_stream *s = stream_of(ng, frame->hd.stream_id);
	struct str n = str_of(name, namelen), v = str_of(value, valuelen);
	struct http_fields *to;

	if (!s || s->too_many_fields)
		return 0;
	if (n.n && n.p[0] == ':' && !s->head_done) {
		if (v.n > HTTP_TARGET_MAX)
			s->too_many_fields = true;
		else
			pseudo_field(s, n, v);
		return 0;
	}
	to = s->head_done ? &s->trailers : &s->in.fields;
	if (to->bytes + n.n + v.n > x->h.config->headers_max ||
	    http_fields_add(to, &s->arena, n, v) < 0)
		s->too_many_fields = true;
	return 0;
}

static void read_length(struct http_head *head)
{
	uint64_t length;

	if (str_to_u64(http_fields_get(&head->fields, STR("content-length")), &length) &&
	    length <= INT64_MAX)
		head->length = (int64_t)length;
}

static void http2_in_refuse(struct http_stream *s, enum error_code code, const char *why)
{
	struct error err;

	(void)error_set(&err, code, "%s", why);
	s->head_done = true;
	http_stream_fail(s, &err);
}

static void request_head(struct http2 *x, struct http_stream *s)
{
	struct str expect = http_fields_get(&s->in.fields, STR("expect"));

	if (s->too_many_fields) {
		http2_in_refuse(s, ERR_HEADERS_TOO_LARGE,
				"the request's header fields are too large");
		return;
	}
	/* Only possible with lax messaging: otherwise nghttp2 has checked it. */
	if (!s->in.method.n || (!s->in.target.n && !str_eq(s->in.method, STR("CONNECT")))) {
		http2_in_refuse(s, ERR_BAD_REQUEST, "the request has no method or path");
		return;
	}
	if (str_eq(s->in.method, STR("CONNECT"))) {
		http2_in_refuse(s, ERR_UNIMPLEMENTED, "CONNECT is not supported");
		return;
	}
	s->head_request = str_eq(s->in.method, STR("HEAD"));
	if (!s->in.authority.n)
		s->in.authority = http_fields_get(&s->in.fields, STR("host"));
	read_length(&s->in);
	s->wants_continue = str_ieq(expect, STR("100-continue"));
	http_stream_in_head(s);
	if (!s->closed && s->wants_continue && !s->out_head && !s->discard)
		http2_continue(x, s);
}

/* A client's stream: interim responses are dropped before the head. */
static void response_head(struct http_stream *s)
{
	if (s->in.status >= 100 && s->in.status < 200) {
		s->in.fields = (struct http_fields){ 0 };
		return;
	}
	s->in.version = HTTP_2;
	read_length(&s->in);
	http_stream_in_head(s);
}

static void response_too_large(struct http2 *x, struct http_stream *s)
{
	struct error err;

	(void)error_set(&err, ERR_HEADERS_TOO_LARGE, "the response's header fields are too large");
	if (x->h.server)
		http_stream_fail(s, &err);
	else
		http_stream_reset(s, &err);
}

static void on_headers_done(struct http2 *x, struct http_stream *s)
{
	x->head_since = -1;
	if (!s)
		return;
	if (x->h.server && !s->head_done)
		request_head(x, s);
	else if (s->too_many_fields)
		response_too_large(x, s);
	else if (!s->head_done)
		response_head(s);
}

/* --- frames --------------------------------------------------------------------- */

static int on_frame_recv(nghttp2_session *ng, const nghttp2_frame *frame, void *user)
{
	struct http2 *x = user;
	struct http_stream *s = stream_of(ng, frame->hd.stream_id);
	bool end = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
	bool ack = frame->hd.flags & NGHTTP2_FLAG_ACK;

	switch (frame->hd.type) {
	case NGHTTP2_HEADERS:
		if (s)
			(void)http_stream_ref(s);
		on_headers_done(x, s);
		if (s && end)
			http_stream_in_end(s);
		http_stream_unref(s);
		break;
	case NGHTTP2_DATA:
		if (s && end)
			http_stream_in_end(s);
		else if (frame->hd.length == 0)
			http2_count_control(x);
		break;
	case NGHTTP2_RST_STREAM:
		x->reset_by_peer = frame->hd.stream_id;
		http2_in_count(x, &x->resets, http2_resets_burst(x), HTTP2_RESETS_PER_S);
		break;
	case NGHTTP2_PING:
		if (ack)
			http2_drain_acked(x);
		else
			http2_count_control(x);
		break;
	case NGHTTP2_SETTINGS:
		if (!x->preface_seen)
			x->head_since = -1;
		x->preface_seen = true;
		if (!ack)
			http2_count_control(x);
		break;
	case NGHTTP2_PRIORITY:
		http2_count_control(x);
		break;
	case NGHTTP2_GOAWAY:
		x->h.draining = true;
		break;
	default:
		break;
	}
	return x->flooded ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

/* Also for a stream that was rejected, and so is never closed. */
static int on_invalid_frame(nghttp2_session *ng UNUSED, const nghttp2_frame *frame, int code UNUSED,
			    void *user)
{
	struct http2 *x = user;

	if (frame->hd.type == NGHTTP2_HEADERS) {
		x->head_since = -1;
		http2_remember_end(x, frame->hd.stream_id, HTTP2_END_BY_US);
	}
	return 0;
}

static int on_data_chunk(nghttp2_session *ng, uint8_t flags UNUSED, int32_t id, const uint8_t *data,
			 size_t n, void *user UNUSED)
{
	struct http_stream *s = stream_of(ng, id);

	(void)nghttp2_session_consume_connection(ng, n);
	if (s)
		http_stream_in_body(s, str_of(data, n));
	else
		(void)nghttp2_session_consume_stream(ng, id, n);
	return 0;
}

static enum error_code close_code(uint32_t code)
{
	switch (code) {
	case NGHTTP2_CANCEL:
		return ERR_CANCELED;
	case NGHTTP2_REFUSED_STREAM:
		return ERR_UNAVAILABLE;
	case NGHTTP2_ENHANCE_YOUR_CALM:
		return ERR_TOO_MANY_REQUESTS;
	case NGHTTP2_INADEQUATE_SECURITY:
		return ERR_FORBIDDEN;
	case NGHTTP2_NO_ERROR:
		return ERR_CANCELED;
	default:
		return ERR_PROTOCOL;
	}
}

static int on_stream_close(nghttp2_session *ng, int32_t id, uint32_t code, void *user)
{
	struct http2 *x = user;
	struct http_stream *s = stream_of(ng, id);
	struct error err UNZEROED;

	http2_remember_end(x, id,
			   id == x->reset_by_us     ? HTTP2_END_BY_US
			   : id == x->reset_by_peer ? HTTP2_END_BY_PEER
						    : HTTP2_END_BOTH);
	if (!s)
		return 0;
	(void)nghttp2_session_set_stream_user_data(ng, id, NULL);
	s->id = 0;
	if (code == NGHTTP2_NO_ERROR && s->out_sent && (s->in_ended || s->server)) {
		http_stream_close(s, NULL);
		return 0;
	}
	(void)error_set(&err, close_code(code), "the stream was reset: %s",
			nghttp2_http2_strerror(code));
	http_stream_close(s, &err);
	return 0;
}

void http2_set_in_callbacks(nghttp2_session_callbacks *cb)
{
	nghttp2_session_callbacks_set_on_begin_headers_callback(cb, on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame_recv);
	nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(cb, on_invalid_frame);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data_chunk);
	nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_stream_close);
}
