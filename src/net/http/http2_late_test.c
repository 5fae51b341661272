/*
 * The replies that RFC 9113 requires to frames that come too late or out of turn. A client's frames
 * are written by hand; the server's replies are read back frame by frame.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "net/http/session.h"

enum { DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH, PING, GOAWAY, WINDOW_UPDATE };
enum { END_STREAM = 1, END_HEADERS = 4 };
enum {
	NO_ERROR,
	PROTOCOL_ERROR,
	INTERNAL_ERROR,
	FLOW_CONTROL_ERROR,
	STREAM_CLOSED = 5,
	CANCEL = 8
};

/* From the static table: GET or POST, http, /; and :authority "a". */
static const char get[] = { (char)0x82, (char)0x86, (char)0x84, 0x41, 1, 'a' };
static const char post[] = { (char)0x83, (char)0x86, (char)0x84, 0x41, 1, 'a' };

struct server {
	struct http_config config;
	struct http_session *session;
	struct outbuf *out;
	struct buf in, answer;
	int result;
	int requests;
};

static const struct http_stream_ops quiet = { 0 };

static void on_whole(struct http_stream *s, struct str body)
{
	(void)body;
	(void)http_stream_reply(s, 200, STR("text/plain"), slice_static(STR("ok")));
}

static void on_stream(void *owner, struct http_stream *s)
{
	((struct server *)owner)->requests++;
	s->ops = &quiet;
	if (str_eq(s->in.method, STR("POST")))
		http_stream_collect(s, on_whole);
	else
		on_whole(s, STR_NULL);
}

static void on_output(void *owner)
{
	(void)owner;
}

static void on_pause(void *owner, bool pause)
{
	(void)owner;
	(void)pause;
}

static const struct http_session_events events = { on_stream, on_output, on_pause };

static void add(struct server *v, uint8_t type, uint8_t flags, uint32_t stream, const void *p,
		size_t n)
{
	char head[9] = {
		0, (char)(n >> 8), (char)n, (char)type, (char)flags, 0, 0, 0, (char)stream
	};

	(void)buf_add(&v->in, head, sizeof(head));
	(void)buf_add(&v->in, p, n);
}

static void add_u32(struct server *v, uint8_t type, uint32_t stream, uint32_t value)
{
	char p[4] = { (char)(value >> 24), (char)(value >> 16), (char)(value >> 8), (char)value };

	add(v, type, 0, stream, p, sizeof(p));
}

/* Feeds what was added, in pieces of `piece` bytes (0: at once), and gathers the answer. */
static void flush(struct server *v, size_t piece)
{
	struct http_session *h = v->session;

	for (size_t at = 0, n; at < v->in.n && v->result == 0 && !h->done; at += n) {
		n = piece ? MIN(piece, v->in.n - at) : v->in.n;
		v->result = h->ops->input(h, v->in.p + at, n, NULL);
	}
	buf_clear(&v->in);
	(void)h->ops->output(h, v->out);
	for (int i = 0; i < v->out->n; i++)
		(void)buf_add(&v->answer, v->out->iov[i].iov_base, v->out->iov[i].iov_len);
	outbuf_clear(v->out);
}

static void start(struct server *v)
{
	*v = (struct server){ .in = BUF_INIT(MIB), .answer = BUF_INIT(MIB), .out = outbuf_new() };
	v->config = http_config_fill(NULL);
	v->session = http2_new(true, &v->config, &events, v);
	(void)buf_addz(&v->in, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
	add(v, SETTINGS, 0, 0, NULL, 0);
	flush(v, 0);
	buf_clear(&v->answer);
}

static void finish(struct server *v)
{
	http_session_free(v->session, NULL);
	outbuf_free(v->out);
	buf_release(&v->in);
	buf_release(&v->answer);
}

/* The code of the first RST_STREAM for `stream`, or of the GOAWAY for stream 0; -1 when none. */
static int64_t answered(const struct server *v, uint32_t stream)
{
	const uint8_t *p = (const uint8_t *)v->answer.p, *end = p + v->answer.n;

	while (p && end - p >= 9) {
		uint32_t n = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];

		if (p[3] == (stream ? RST_STREAM : GOAWAY) && p[8] == stream)
			return p[9 + (stream ? 3 : 7)];
		p += 9 + n;
	}
	return -1;
}

typedef void scenario(struct server *v);

/* Every scenario also with its bytes one by one, and with a flush between its frames. */
static void assert_answer(scenario *fn, uint32_t stream, int64_t code)
{
	for (size_t piece = 0; piece < 12; piece++) {
		struct server v;

		start(&v);
		fn(&v);
		flush(&v, piece);
		if (answered(&v, stream) != code)
			fail_msg("pieces of %zu: %lld instead of %lld", piece,
				 (long long)answered(&v, stream), (long long)code);
		finish(&v);
	}
}

static void data_after_end(struct server *v)
{
	add(v, HEADERS, END_HEADERS | END_STREAM, 1, get, sizeof(get));
	flush(v, 0); /* answered and over */
	add(v, DATA, END_STREAM, 1, "x", 1);
}

static void headers_after_end(struct server *v)
{
	add(v, HEADERS, END_HEADERS | END_STREAM, 1, get, sizeof(get));
	flush(v, 0);
	add(v, HEADERS, END_HEADERS | END_STREAM, 1, get, sizeof(get));
}

static void data_after_reset(struct server *v)
{
	add(v, HEADERS, END_HEADERS, 1, post, sizeof(post));
	add_u32(v, RST_STREAM, 1, CANCEL);
	add(v, DATA, END_STREAM, 1, "x", 1);
}

static void headers_after_reset(struct server *v)
{
	add(v, HEADERS, END_HEADERS, 1, post, sizeof(post));
	add_u32(v, RST_STREAM, 1, CANCEL);
	add(v, HEADERS, END_HEADERS | END_STREAM, 1, post, sizeof(post));
}

static void lower_stream(struct server *v)
{
	add(v, HEADERS, END_HEADERS | END_STREAM, 5, get, sizeof(get));
	add(v, HEADERS, END_HEADERS | END_STREAM, 3, get, sizeof(get));
}

static void zero_update_after_end(struct server *v)
{
	add(v, HEADERS, END_HEADERS | END_STREAM, 1, get, sizeof(get));
	flush(v, 0);
	add_u32(v, WINDOW_UPDATE, 1, 0);
}

static void update_after_end(struct server *v)
{
	add(v, HEADERS, END_HEADERS | END_STREAM, 1, get, sizeof(get));
	flush(v, 0);
	add_u32(v, WINDOW_UPDATE, 1, 1000);
}

static void overflowing_updates(struct server *v)
{
	add(v, HEADERS, END_HEADERS, 1, get, sizeof(get));
	flush(v, 0); /* answered, but the request is not complete */
	add_u32(v, WINDOW_UPDATE, 1, 0x7fffffff);
	add_u32(v, WINDOW_UPDATE, 1, 0x7fffffff);
}

static void wrong_length(struct server *v)
{
	static const char head[] = { (char)0x83, (char)0x86, (char)0x84, 0x41, 1,
				     'a',        0x0f,       0x0d,       1,    '9' };

	add(v, HEADERS, END_HEADERS, 1, head, sizeof(head));
	add(v, DATA, END_STREAM, 1, "x", 1);
}

static void late_frames_are_answered_as_the_rfc_says(void **state UNUSED)
{
	assert_answer(data_after_end, 0, STREAM_CLOSED);
	assert_answer(headers_after_end, 0, STREAM_CLOSED);
	assert_answer(data_after_reset, 1, STREAM_CLOSED);
	assert_answer(data_after_reset, 0, -1);
	assert_answer(headers_after_reset, 1, STREAM_CLOSED);
	assert_answer(lower_stream, 0, PROTOCOL_ERROR);
	assert_answer(zero_update_after_end, 1, PROTOCOL_ERROR);
	assert_answer(update_after_end, 1, -1);
	assert_answer(update_after_end, 0, -1);
	assert_answer(overflowing_updates, 1, FLOW_CONTROL_ERROR);
	assert_answer(wrong_length, 1, PROTOCOL_ERROR);
}

/* Frames in flight when we reset a stream are not the client's fault. */
static void frames_on_their_way_after_our_reset_are_let_pass(void **state UNUSED)
{
	struct server v;

	start(&v);
	add(&v, HEADERS, END_HEADERS, 1, post, sizeof(post));
	flush(&v, 0);
	http_stream_reset(LIST_ENTRY(v.session->streams.next, struct http_stream, link), NULL);
	flush(&v, 0);
	assert_int_equal(answered(&v, 1), CANCEL);
	add(&v, DATA, 0, 1, "x", 1);
	add(&v, DATA, END_STREAM, 1, "y", 1);
	add(&v, HEADERS, END_HEADERS | END_STREAM, 3, get, sizeof(get));
	flush(&v, 0);
	assert_int_equal(answered(&v, 0), -1);
	assert_int_equal(v.requests, 2);
	finish(&v);
}

/* The same when so many were reset that the first are forgotten: there are other streams. */
static void bodies_of_requests_that_are_forgotten_are_let_pass(void **state UNUSED)
{
	enum { COUNT = 64 }; /* more than are remembered */
	struct server v;

	start(&v);
	for (uint32_t i = 0; i < COUNT; i++)
		add(&v, HEADERS, END_HEADERS, 2 * i + 1, post, sizeof(post));
	flush(&v, 0);
	while (!list_empty(&v.session->streams))
		http_stream_reset(LIST_ENTRY(v.session->streams.next, struct http_stream, link),
				  NULL);
	flush(&v, 0);
	for (uint32_t i = 0; i < COUNT; i++)
		add(&v, DATA, END_STREAM, 2 * i + 1, "x", 1);
	add(&v, HEADERS, END_HEADERS | END_STREAM, 2 * COUNT + 1, get, sizeof(get));
	flush(&v, 0);
	assert_int_equal(answered(&v, 0), -1);
	assert_int_equal(v.requests, COUNT + 1);
	finish(&v);
}

/* After GOAWAY a client may still be sending to streams that we never looked at. */
static void a_drain_forgives_streams_that_it_ignores(void **state UNUSED)
{
	struct server v;

	start(&v);
	add(&v, HEADERS, END_HEADERS, 1, post, sizeof(post));
	flush(&v, 0);
	v.session->ops->drain(v.session);
	flush(&v, 0);
	add(&v, PING, 1, 0, "drain\0\0\1", 8);
	flush(&v, 0);
	buf_clear(&v.answer);
	add(&v, HEADERS, END_HEADERS, 3, post, sizeof(post));
	add(&v, DATA, END_STREAM, 3, "x", 1);
	add(&v, DATA, END_STREAM, 1, "x", 1);
	flush(&v, 0);
	assert_int_equal(answered(&v, 0), -1);
	assert_int_equal(v.requests, 1);
	assert_true(v.session->done); /* stream 1 was answered */
	finish(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(late_frames_are_answered_as_the_rfc_says),
		cmocka_unit_test(frames_on_their_way_after_our_reset_are_let_pass),
		cmocka_unit_test(bodies_of_requests_that_are_forgotten_are_let_pass),
		cmocka_unit_test(a_drain_forgives_streams_that_it_ignores),
	};

	return cmocka_run_group_tests_name("net/http2_late", tests, NULL, NULL);
}
