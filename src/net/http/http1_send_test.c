/*
 * Output on the wire: responses and requests, their framing, and attempts of owners to break it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "net/http/wire.h"

#define GET(path) "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"
#define OK        "HTTP/1.1 200 OK\r\n"

static void start(struct http_wire *w)
{
	http_wire_init(w, true, NULL);
}

static void say(struct http_wire *w, const char *text)
{
	http_wire_feed(w, str_from(text), 0);
}

static void wrote(struct http_wire *w, const char *text)
{
	http_wire_flush(w);
	assert_string_equal(w->out.p, text);
	buf_clear(&w->out);
}

struct response {
	const char *request;
	int status;
	int64_t length;
	const char *body; /* in two pieces, ended later; NULL: none, ended at once */
	const char *out;
};

static void a_response_is_framed_as_it_must_be(void **state UNUSED)
{
	static const struct response v[] = {
		{ GET("/wait"), 200, 4, "abcd", OK "Content-Length: 4\r\n\r\nabcd" },
		{ GET("/wait"), 200, -1, "abcd",
		  OK "Transfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n0\r\n\r\n" },
		{ GET("/wait"), 200, 0, NULL, OK "Content-Length: 0\r\n\r\n" },
		{ GET("/wait"), 200, -1, NULL, OK "Content-Length: 0\r\n\r\n" },
		{ GET("/wait"), 204, 0, NULL, "HTTP/1.1 204 No Content\r\n\r\n" },
		{ GET("/wait"), 204, -1, "abcd", "HTTP/1.1 204 No Content\r\n\r\n" },
		{ GET("/wait"), 304, 4, "abcd", "HTTP/1.1 304 Not Modified\r\n\r\n" },
		{ GET("/wait"), 299, 0, NULL, "HTTP/1.1 299 \r\nContent-Length: 0\r\n\r\n" },
		{ "HEAD /wait HTTP/1.1\r\nHost: a\r\n\r\n", 200, 4, "abcd",
		  OK "Content-Length: 4\r\n\r\n" },
		{ "HEAD /wait HTTP/1.1\r\nHost: a\r\n\r\n", 200, -1, "abcd", OK "\r\n" },
		{ "GET /wait HTTP/1.0\r\n\r\n", 200, -1, "abcd",
		  OK "Connection: close\r\n\r\nabcd" },
		{ "GET /wait HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", 200, -1, "abcd",
		  OK "Connection: close\r\n\r\nabcd" },
		{ "GET /wait HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", 200, 4, "abcd",
		  OK "Content-Length: 4\r\nConnection: keep-alive\r\n\r\nabcd" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		struct http_wire w;

		start(&w);
		say(&w, v[i].request);
		(void)http_stream_respond(w.stream, v[i].status, NULL, 0, v[i].length);
		if (v[i].body) {
			(void)http_stream_send_copy(w.stream, str_of(v[i].body, 1));
			(void)http_stream_send_copy(w.stream, str_from(v[i].body + 1));
			http_wire_flush(&w);
		}
		(void)http_stream_end(w.stream, NULL, 0);
		http_wire_flush(&w);
		wrote(&w, v[i].out);
		assert_int_equal(w.session->done, strstr(v[i].out, "close") != NULL);
		http_wire_release(&w);
	}
}

static void trailers_follow_the_last_chunk(void **state UNUSED)
{
	struct http_wire w;

	start(&w);
	say(&w, GET("/trailers"));
	wrote(&w, OK "Transfer-Encoding: chunked\r\n\r\n6\r\nonetwo\r\n0\r\nx-sum: 42\r\n\r\n");
	http_wire_release(&w);
}

static void owners_cannot_break_the_framing(void **state UNUSED)
{
	static const struct http_field fields[] = {
		{ { "x-good", 6 }, { "a\tb", 3 } },
		{ { "x-bad", 5 }, { "a\r\nSet-Cookie: b", 16 } },
		{ { "x-bad", 5 }, { "a\nb", 3 } },
		{ { "x-bad", 5 }, { "a\0b", 3 } },
		{ { "x bad", 5 }, { "a", 1 } },
		{ { "x:bad", 5 }, { "a", 1 } },
		{ { "", 0 }, { "a", 1 } },
		{ { "content-length", 14 }, { "7", 1 } },
		{ { "transfer-encoding", 17 }, { "chunked", 7 } },
		{ { "connection", 10 }, { "close", 5 } },
		{ { "keep-alive", 10 }, { "timeout=5", 9 } },
		{ { "upgrade", 7 }, { "x", 1 } },
		{ { "date", 4 }, { "now", 3 } },
		{ { "x-empty", 7 }, { NULL, 0 } },
	};
	struct http_wire w;

	start(&w);
	w.session->date = "Sun, 06 Nov 1994 08:49:37 GMT";
	say(&w, GET("/wait"));
	assert_int_equal(http_stream_respond(w.stream, 200, fields, ARRAY_SIZE(fields), 0), 0);
	(void)http_stream_end(w.stream, NULL, 0);
	http_wire_flush(&w);
	wrote(&w, OK "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nx-good: a\tb\r\nx-empty: \r\n"
		     "Content-Length: 0\r\n\r\n");
	http_wire_release(&w);
}

static void a_large_head_goes_out_whole(void **state UNUSED)
{
	static char value[40000];
	struct http_field f = HTTP_FIELD("x-large", str_of(value, sizeof(value)));
	struct http_wire w;

	memset(value, 'v', sizeof(value));
	start(&w);
	say(&w, GET("/wait"));
	(void)http_stream_respond(w.stream, 200, &f, 1, 0);
	(void)http_stream_end(w.stream, &f, 1);
	http_wire_flush(&w);
	assert_int_equal(w.out.n,
			 strlen(OK "x-large: \r\nContent-Length: 0\r\n\r\n") + sizeof(value));
	http_wire_release(&w);
}

static void a_body_of_the_wrong_length_cuts_the_connection(void **state UNUSED)
{
	for (int64_t length = 2; length <= 4; length++) {
		struct http_wire w;

		start(&w);
		say(&w, GET("/wait"));
		(void)http_stream_respond(w.stream, 200, NULL, 0, length);
		(void)http_stream_send_copy(w.stream, STR("abc"));
		(void)http_stream_end(w.stream, NULL, 0);
		http_wire_flush(&w);
		assert_int_equal(w.session->done, length != 3);
		assert_int_equal(strstr(w.log.p, "close: ") != NULL, length != 3);
		http_wire_release(&w);
	}
}

static void a_long_body_is_chunked_in_long_runs(void **state UNUSED)
{
	struct bytes *b = bytes_new(MIB);
	struct http_wire w;

	memset(b->data, 'x', b->n);
	start(&w);
	say(&w, GET("/wait"));
	(void)http_stream_respond(w.stream, 200, NULL, 0, -1);
	for (int i = 0; i < 100; i++)
		(void)http_stream_send(w.stream, slice_part(b, (size_t)i * 5000, 5000));
	http_wire_flush(&w);
	(void)http_stream_end(w.stream, NULL, 0);
	http_wire_flush(&w);
	assert_int_equal(w.out.n, strlen(OK "Transfer-Encoding: chunked\r\n\r\n") +
					  strlen("7a120\r\n") + 500000 + strlen("\r\n0\r\n\r\n"));
	bytes_unref(b);
	http_wire_release(&w);
}

/* Pieces that are neither copied nor joined take a place each, and places are few. */
static void many_separate_pieces_go_out_in_several_rounds(void **state UNUSED)
{
	static const struct {
		const char *request;
		int64_t length;
	} v[] = {
		{ GET("/wait"), 200 * 1100 },
		{ GET("/wait"), -1 },
		{ "GET /wait HTTP/1.0\r\n\r\n", -1 },
	};
	char piece[1100];

	memset(piece, 'x', sizeof(piece));
	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		struct http_wire w;
		size_t n = 0;

		start(&w);
		say(&w, v[i].request);
		(void)http_stream_respond(w.stream, 200, NULL, 0, v[i].length);
		for (int k = 0; k < 200; k++)
			(void)http_stream_send_copy(w.stream, str_of(piece, sizeof(piece)));
		http_wire_flush(&w);
		(void)http_stream_end(w.stream, NULL, 0);
		http_wire_flush(&w);
		for (size_t k = 0; k < w.out.n; k++)
			n += w.out.p[k] == 'x';
		assert_int_equal(n, 200 * sizeof(piece));
		http_wire_release(&w);
	}
}

static void a_request_is_framed_as_it_must_be(void **state UNUSED)
{
	static const struct {
		const char *method, *body, *out;
	} v[] = {
		{ "GET", NULL, "GET /x HTTP/1.1\r\nHost: h\r\n\r\n" },
		{ "HEAD", NULL, "HEAD /x HTTP/1.1\r\nHost: h\r\n\r\n" },
		{ "DELETE", NULL, "DELETE /x HTTP/1.1\r\nHost: h\r\n\r\n" },
		{ "POST", NULL, "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n" },
		{ "PUT", NULL, "PUT /x HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n" },
		{ "PATCH", NULL, "PATCH /x HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n" },
		{ "POST", "ab", "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nab" },
		{ "GET", "ab", "GET /x HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nab" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		struct http_wire w;

		http_wire_init(&w, false, NULL);
		assert_non_null(http_wire_ask(&w, v[i].method, "/x", v[i].body));
		wrote(&w, v[i].out);
		http_wire_release(&w);
	}
}

static void a_request_of_unknown_length_is_chunked(void **state UNUSED)
{
	struct http_field trailer = HTTP_FIELD("x-sum", STR("1"));
	struct http_stream *s;
	struct http_wire w;

	http_wire_init(&w, false, NULL);
	s = http_wire_ask(&w, "POST", "/x", "");
	wrote(&w, "POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
	(void)http_stream_send_copy(s, STR("abc"));
	(void)http_stream_send_copy(s, STR("0123456789abc"));
	wrote(&w, "10\r\nabc0123456789abc\r\n");
	(void)http_stream_end(s, &trailer, 1);
	wrote(&w, "0\r\nx-sum: 1\r\n\r\n");
	http_wire_release(&w);

	/* Unless its end is known in time. */
	http_wire_init(&w, false, NULL);
	s = http_wire_ask(&w, "POST", "/x", "");
	(void)http_stream_send_copy(s, STR("abc"));
	(void)http_stream_end(s, NULL, 0);
	wrote(&w, "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc");
	http_wire_release(&w);
}

static void a_request_of_the_wrong_length_fails(void **state UNUSED)
{
	struct http_request r = { .method = STR("PUT"),
				  .authority = STR("h"),
				  .target = STR("/"),
				  .ops = &http_wire_ops };

	for (r.length = 0; r.length <= 4; r.length++) {
		struct http_stream *s;
		struct http_wire w;

		http_wire_init(&w, false, NULL);
		r.data = &w;
		assert_int_equal(http_session_request(w.session, &r, &s, NULL), 0);
		(void)http_stream_send_copy(s, STR("abc"));
		(void)http_stream_end(s, NULL, 0);
		http_wire_flush(&w);
		assert_int_equal(w.session->done, r.length != 3);
		assert_int_equal(strstr(w.log.p, "close: ") != NULL, r.length != 3);
		http_wire_release(&w);
	}
}

static void requests_that_would_break_the_framing_are_refused(void **state UNUSED)
{
	static const struct {
		const char *method, *authority, *target;
	} v[] = {
		{ "G T", "h", "/" },          { "", "h", "/" },
		{ "GET\r\n", "h", "/" },      { "GET", "h", "" },
		{ "GET", "h", "/ HTTP/1.1" }, { "GET", "h", "/\r\nX: y" },
		{ "GET", "h\r\nX: y", "/" },  { "GET", "h h", "/" },
	};
	static const struct http_field fields[] = {
		{ { "x", 1 }, { "a\r\nb", 4 } },
		{ { "x", 1 }, { "a\0", 2 } },
		{ { "x y", 3 }, { "a", 1 } },
	};
	struct http_stream *s = NULL;
	struct http_wire w;

	http_wire_init(&w, false, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		struct http_request r = { .method = str_from(v[i].method),
					  .authority = str_from(v[i].authority),
					  .target = str_from(v[i].target) };

		assert_int_equal(http_session_request(w.session, &r, &s, &w.err), -ERR_BAD_REQUEST);
	}
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		struct http_request r = {
			.method = STR("GET"), .target = STR("/"), .fields = &fields[i], .nfields = 1
		};

		assert_int_equal(http_session_request(w.session, &r, &s, &w.err), -ERR_BAD_REQUEST);
	}
	assert_null(s);
	wrote(&w, "");
	assert_false(w.session->done);
	http_wire_release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_response_is_framed_as_it_must_be),
		cmocka_unit_test(trailers_follow_the_last_chunk),
		cmocka_unit_test(owners_cannot_break_the_framing),
		cmocka_unit_test(a_large_head_goes_out_whole),
		cmocka_unit_test(a_body_of_the_wrong_length_cuts_the_connection),
		cmocka_unit_test(a_long_body_is_chunked_in_long_runs),
		cmocka_unit_test(many_separate_pieces_go_out_in_several_rounds),
		cmocka_unit_test(a_request_is_framed_as_it_must_be),
		cmocka_unit_test(a_request_of_unknown_length_is_chunked),
		cmocka_unit_test(a_request_of_the_wrong_length_fails),
		cmocka_unit_test(requests_that_would_break_the_framing_are_refused),
	};

	return cmocka_run_group_tests_name("net/http1_send", tests, NULL, NULL);
}
