/*
 * Writing: heads are submitted to nghttp2 when set, bodies are pulled from the stream's queue when
 * there is window and room. Frame headers are copied into the outbuf, body pieces are passed by
 * reference (NO_COPY), so we never copy a body on its way to writev.
 *
 * Names and values point into the stream's arena. nghttp2 serialises a HEADERS frame only while its
 * stream is open, and our stream lives as long.
 */
#include "net/http/http2.h"
#include "net/net_limits.h"

enum {
	NV_MAX = HTTP_HEADER_COUNT_MAX + 8,
	FRAME_MAX = 16 * 1024, /* in a DATA frame; also in a record of TLS */
	FRAME_HEADER = 9,
};

static const uint8_t no_copy = NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE;

static nghttp2_nv nv_of(struct str name, struct str value)
{
	uint8_t flags = no_copy;

	/* Never in a shared compression table: RFC 7541, 7.1.3. */
	if (str_eq(name, STR("authorization")) || str_eq(name, STR("cookie")))
		flags |= NGHTTP2_NV_FLAG_NO_INDEX;
	return (nghttp2_nv){
		.name = (uint8_t *)(uintptr_t)name.p,
		.value = (uint8_t *)(uintptr_t)(value.p ? value.p : ""),
		.namelen = name.n,
		.valuelen = value.n,
		.flags = flags,
	};
}

/* Fields that HTTP/2 forbids (RFC 9113, 8.2.2); owners may give them for HTTP/1.1. */
static bool is_connection_field(struct str name)
{
	static const struct str forbidden[] = {
		{ "connection", 10 },        { "keep-alive", 10 }, { "proxy-connection", 16 },
		{ "transfer-encoding", 17 }, { "upgrade", 7 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(forbidden); i++)
		if (str_eq(name, forbidden[i]))
			return true;
	return false;
}

static size_t add_fields(nghttp2_nv *nv, const struct http_fields *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n; i++) {
		if (is_connection_field(f->v[i].name))
			continue;
		nv[n] = nv_of(f->v[i].name, f->v[i].value);
		if (f->v[i].unique)
			nv[n].flags |= NGHTTP2_NV_FLAG_NO_INDEX;
		n++;
	}
	return n;
}

static struct str decimal(struct http_stream *s, int64_t v)
{
	char *end = (char *)arena_alloc(&s->arena, 20) + 20, *p = end;

	do {
		*--p = (char)('0' + v % 10);
		v /= 10;
	} while (v > 0);
	return str_of(p, (size_t)(end - p));
}

static void submit_trailers(nghttp2_session *ng, struct http_stream *s)
{
	nghttp2_nv nv[NV_MAX] UNZEROED;
	size_t n = add_fields(nv, &s->out_trailers);

	(void)nghttp2_submit_trailer(ng, s->id, nv, n);
}

static ssize_t read_body(nghttp2_session *ng, int32_t id UNUSED, uint8_t *to UNUSED, size_t max,
			 uint32_t *flags, nghttp2_data_source *source, void *user)
{
	struct http_stream *s = source->ptr;
	size_t n = MIN(max, s->out_bytes);

	/*
	 * Not WOULDBLOCK from send_data: a started frame would outlive a stream that is reset
	 * meanwhile.
	 */
	if (!outbuf_room(((struct http2 *)user)->out))
		return NGHTTP2_ERR_PAUSE;

	if (n == 0 && !s->out_ended) {
		s->out_deferred = true;
		return NGHTTP2_ERR_DEFERRED;
	}
	*flags |= NGHTTP2_DATA_FLAG_NO_COPY;
	if (s->out_ended && n == s->out_bytes) {
		*flags |= NGHTTP2_DATA_FLAG_EOF;
		if (s->out_trailers.n) {
			*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
			submit_trailers(ng, s);
		}
	}
	return (ssize_t)n;
}

/*
 * The most in one DATA frame: as every peer takes. Over TLS a frame with its header is one record,
 * so that none is split or collected from two places.
 */
static ssize_t frame_length(nghttp2_session *ng UNUSED, uint8_t type UNUSED, int32_t id UNUSED,
			    int32_t session_window UNUSED, int32_t stream_window UNUSED,
			    uint32_t frame_max UNUSED, void *user)
{
	const struct http2 *x = user;

	return FRAME_MAX - (x->h.tls ? FRAME_HEADER : 0);
}

static int send_data(nghttp2_session *ng UNUSED, nghttp2_frame *frame UNUSED,
		     const uint8_t *framehd, size_t length, nghttp2_data_source *source, void *user)
{
	struct http2 *x = user;

	x->moved_at = x->h.now;
	outbuf_add(x->out, framehd, FRAME_HEADER);
	(void)http_stream_out_move(source->ptr, x->out, length);
	return 0;
}

static ssize_t send_bytes(nghttp2_session *ng UNUSED, const uint8_t *data, size_t n,
			  int flags UNUSED, void *user)
{
	struct http2 *x = user;

	if (!outbuf_room(x->out))
		return NGHTTP2_ERR_WOULDBLOCK;
	n = MIN(n, (size_t)16 * 1024);
	outbuf_add(x->out, data, n);
	return (ssize_t)n;
}

static int on_frame_send(nghttp2_session *ng, const nghttp2_frame *frame, void *user)
{
	struct http2 *x = user;
	struct http_stream *s;

	if (frame->hd.type == NGHTTP2_RST_STREAM)
		x->reset_by_us = frame->hd.stream_id;
	if (frame->hd.type == NGHTTP2_GOAWAY)
		http2_goaway_sent(x);
	if (frame->hd.type != NGHTTP2_DATA && frame->hd.type != NGHTTP2_HEADERS)
		return 0;
	http2_earn_control(x);
	if (!(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
		return 0;
	s = nghttp2_session_get_stream_user_data(ng, frame->hd.stream_id);
	if (!s)
		return 0;
	s->out_sent = true;
	if (x->h.server && !s->in_ended)
		http_stream_discard(s);
	return 0;
}

/* A request that was never sent: the peer has sent GOAWAY, or the stream IDs are used up. */
static int on_frame_not_send(nghttp2_session *ng, const nghttp2_frame *frame, int code, void *user)
{
	struct http2 *x = user;
	struct error err;

	if (x->h.server || frame->hd.type != NGHTTP2_HEADERS)
		return 0;
	LIST_FOREACH (it, &x->h.streams) {
		struct http_stream *s = LIST_ENTRY(it, struct http_stream, link);

		if (s->id != frame->hd.stream_id)
			continue;
		(void)nghttp2_session_set_stream_user_data(ng, s->id, NULL);
		s->id = 0;
		(void)error_set(&err, ERR_UNAVAILABLE, "HTTP/2: %s", nghttp2_strerror(code));
		http_stream_close(s, &err);
		break;
	}
	return 0;
}

static bool has_no_body(const struct http_stream *s)
{
	return s->out_length == 0 || s->head_request || s->out_status == 204 ||
	       s->out_status == 304;
}

void http2_respond(struct http_session *h, struct http_stream *s)
{
	nghttp2_nv nv[NV_MAX] UNZEROED; /* nghttp2 copies the array, not what it points to */
	nghttp2_data_provider body = { .source.ptr = s, .read_callback = read_body };
	size_t n = 0;
	int r;

	nv[n++] = nv_of(STR(":status"), decimal(s, s->out_status));
	n += add_fields(nv + n, &s->out_fields);
	if (s->out_length >= 0 && s->out_status != 204 && (s->out_length > 0 || s->head_request))
		nv[n++] = nv_of(STR("content-length"), decimal(s, s->out_length));
	if (h->date)
		nv[n++] = nv_of(STR("date"), arena_str(&s->arena, str_of(h->date, HTTP_DATE_LEN)));
	r = nghttp2_submit_response(http2_of(h)->ng, s->id, nv, n, has_no_body(s) ? NULL : &body);
	if (r == 0)
		h->events->on_output(h->owner);
}

void http2_continue(struct http2 *x, struct http_stream *s)
{
	nghttp2_nv nv = nv_of(STR(":status"), STR("100"));

	(void)nghttp2_submit_headers(x->ng, NGHTTP2_FLAG_NONE, s->id, NULL, &nv, 1, NULL);
	x->h.events->on_output(x->h.owner);
}

int http2_request(struct http_session *h, struct http_stream *s, struct error *err)
{
	nghttp2_nv nv[NV_MAX] UNZEROED; /* nghttp2 copies the array, not what it points to */
	nghttp2_data_provider body = { .source.ptr = s, .read_callback = read_body };
	size_t n = 0;

	if (s->upgrade.n)
		return error_set(err, ERR_BAD_REQUEST, "HTTP/2 has no upgrades");
	nv[n++] = nv_of(STR(":method"), s->request.method);
	nv[n++] = nv_of(STR(":scheme"), s->request.scheme);
	nv[n++] = nv_of(STR(":authority"), s->request.authority);
	nv[n++] = nv_of(STR(":path"), s->request.target);
	n += add_fields(nv + n, &s->out_fields);
	if (s->out_length > 0)
		nv[n++] = nv_of(STR("content-length"), decimal(s, s->out_length));
	s->id = nghttp2_submit_request(http2_of(h)->ng, NULL, nv, n, s->out_ended ? NULL : &body,
				       s);
	if (s->id < 0) {
		h->draining = true;
		return error_set(err, ERR_UNAVAILABLE, "HTTP/2: %s", nghttp2_strerror(s->id));
	}
	h->events->on_output(h->owner);
	return 0;
}

void http2_wake(struct http_session *h, struct http_stream *s)
{
	if (s->out_deferred) {
		s->out_deferred = false;
		(void)nghttp2_session_resume_data(http2_of(h)->ng, s->id);
	}
	h->events->on_output(h->owner);
}

bool http2_output(struct http_session *h, struct outbuf *o)
{
	struct http2 *x = http2_of(h);

	x->out = o;
	if (nghttp2_session_send(x->ng) != 0)
		h->done = true;
	x->out = NULL;
	return !outbuf_room(o) && nghttp2_session_want_write(x->ng);
}

void http2_set_out_callbacks(nghttp2_session_callbacks *cb)
{
	nghttp2_session_callbacks_set_send_callback(cb, send_bytes);
	nghttp2_session_callbacks_set_send_data_callback(cb, send_data);
	nghttp2_session_callbacks_set_data_source_read_length_callback(cb, frame_length);
	nghttp2_session_callbacks_set_on_frame_send_callback(cb, on_frame_send);
	nghttp2_session_callbacks_set_on_frame_not_send_callback(cb, on_frame_not_send);
}
