/*
 * A server's session: the life of a connection, its pauses and its timeouts. Parsing is tested in
 * http1_parse_test.c, output in http1_send_test.c, the client in http1_client_test.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "net/http/wire.h"
#include "net/net_limits.h"

#define GET(path) "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"
#define POST      "POST /echo HTTP/1.1\r\nHost: a\r\n"
#define OK        "HTTP/1.1 200 OK\r\n"
#define OK_2      OK "Content-Length: 2\r\n\r\nok"

static void start(struct http_wire *w)
{
	http_wire_init(w, true, NULL);
}

static void say(struct http_wire *w, const char *text)
{
	http_wire_feed(w, str_from(text), 0);
}

/* Checks the output since the last call. */
static void wrote(struct http_wire *w, const char *text)
{
	assert_string_equal(w->out.p, text);
	buf_clear(&w->out);
}

static void heard(struct http_wire *w, const char *text)
{
	assert_string_equal(w->log.p, text);
	buf_clear(&w->log);
}

static size_t count(const char *text, const char *part)
{
	size_t n = 0;

	while ((text = strstr(text, part))) {
		text += strlen(part);
		n++;
	}
	return n;
}

/* --- keeping the connection ---------------------------------------------------------- */

static void a_connection_lives_as_version_and_options_say(void **state UNUSED)
{
	static const struct {
		const char *line, *connection, *answer;
	} v[] = {
		{ "HTTP/1.1", NULL, "" },
		{ "HTTP/1.1", "keep-alive", "" },
		{ "HTTP/1.1", "close", "Connection: close\r\n" },
		{ "HTTP/1.1", "x, CLOSE", "Connection: close\r\n" },
		{ "HTTP/1.1", "keep-alive, close", "Connection: close\r\n" },
		{ "HTTP/1.0", NULL, "Connection: close\r\n" },
		{ "HTTP/1.0", "Keep-Alive", "Connection: keep-alive\r\n" },
		{ "HTTP/1.0", "keep-alive, close", "Connection: close\r\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		struct http_wire w;
		char in[256], out[256];

		start(&w);
		(void)snprintf(in, sizeof(in), "GET /now %s\r\nHost: a\r\n%s%s%s\r\n", v[i].line,
			       v[i].connection ? "Connection: " : "",
			       v[i].connection ? v[i].connection : "",
			       v[i].connection ? "\r\n" : "");
		(void)snprintf(out, sizeof(out), OK "Content-Length: 2\r\n%s\r\nok", v[i].answer);
		say(&w, in);
		wrote(&w, out);
		assert_int_equal(w.session->done, strstr(v[i].answer, "close") != NULL);
		http_wire_release(&w);
	}
}

static void a_thousand_pipelined_requests_are_answered_in_order(void **state UNUSED)
{
	static const size_t pieces[] = { 0, 1, 7, 1000 };
	struct buf in = BUF_INIT(MIB), out = BUF_INIT(MIB);

	for (int i = 0; i < 1000; i++) {
		(void)buf_printf(
			&in, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n%04d", i);
		(void)buf_printf(&out, OK "Content-Length: 4\r\n\r\n%04d", i);
	}
	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		struct http_wire w;

		start(&w);
		http_wire_feed(&w, buf_str(&in), pieces[i]);
		assert_string_equal(w.out.p, out.p);
		assert_int_equal(w.requests, 1000);
		assert_false(w.session->done);
		http_wire_release(&w);
	}
	buf_release(&in);
	buf_release(&out);
}

static void a_pipelined_request_waits_for_the_answer_before(void **state UNUSED)
{
	struct http_wire w;

	start(&w);
	say(&w, GET("/wait") GET("/now"));
	assert_int_equal(w.requests, 1);
	wrote(&w, "");
	say(&w, GET("/now?2"));
	assert_int_equal(w.requests, 1);
	(void)http_stream_respond(w.stream, 200, NULL, 0, 3);
	(void)http_stream_send_copy(w.stream, STR("on"));
	http_wire_flush(&w);
	assert_int_equal(w.requests, 1);
	(void)http_stream_send_copy(w.stream, STR("e"));
	(void)http_stream_end(w.stream, NULL, 0);
	http_wire_flush(&w);
	assert_int_equal(w.requests, 3);
	wrote(&w, OK "Content-Length: 3\r\n\r\none" OK_2 OK_2);
	http_wire_release(&w);
}

static void a_bad_request_is_answered_after_the_good_ones_before_it(void **state UNUSED)
{
	struct http_wire w;

	start(&w);
	say(&w, GET("/now") GET("/now") "BAD\r\n\r\n" GET("/now"));
	assert_int_equal(w.requests, 2);
	assert_int_equal(count(w.out.p, OK), 2);
	assert_non_null(strstr(w.out.p, "okHTTP/1.1 400 Bad Request\r\n"));
	assert_true(w.session->done);
	http_wire_release(&w);
}

static void reading_pauses_while_many_requests_wait(void **state UNUSED)
{
	struct http_wire w;
	struct buf in = BUF_INIT(MIB);

	start(&w);
	while (in.n <= HTTP_WINDOW)
		(void)buf_addz(&in, GET("/now"));
	say(&w, GET("/wait"));
	http_wire_feed(&w, str_of(in.p, in.n / 2), 0);
	assert_false(w.paused);
	http_wire_feed(&w, str_skip(buf_str(&in), in.n / 2), 0);
	assert_true(w.paused);
	(void)http_stream_reply(w.stream, 200, STR_NULL, slice_static(STR("ok")));
	http_wire_flush(&w);
	assert_false(w.paused);
	assert_int_equal(w.pauses, 1);
	assert_int_equal(w.requests, 1 + in.n / strlen(GET("/now")));
	http_wire_release(&w);
	buf_release(&in);
}

static void a_peer_that_ignores_the_pause_is_cut(void **state UNUSED)
{
	struct http_wire w;
	struct buf in = BUF_INIT(HTTP1_HELD_MAX + 1);

	start(&w);
	while (in.n <= HTTP1_HELD_MAX)
		(void)buf_addc(&in, 'x');
	say(&w, GET("/wait"));
	http_wire_feed(&w, buf_str(&in), 0);
	assert_int_equal(w.result, -ERR_TOO_LARGE);
	assert_true(w.session->done);
	http_wire_release(&w);
	buf_release(&in);
}

/* --- 100-continue ------------------------------------------------------------------------ */

static void a_client_that_waits_is_told_to_continue(void **state UNUSED)
{
	struct http_wire w;

	start(&w);
	say(&w, POST "Expect: 100-Continue\r\nContent-Length: 2\r\n\r\n");
	wrote(&w, "HTTP/1.1 100 Continue\r\n\r\n");
	say(&w, "hi");
	wrote(&w, OK "Content-Length: 2\r\n\r\nhi");
	assert_false(w.session->done);
	http_wire_release(&w);
}

static void a_client_that_does_not_wait_is_not_told(void **state UNUSED)
{
	struct http_wire w;

	start(&w);
	say(&w, POST "Expect: 100-continue\r\nContent-Length: 2\r\n\r\nh");
	wrote(&w, "");
	say(&w, "i");
	wrote(&w, OK "Content-Length: 2\r\n\r\nhi");
	/* No body, and HTTP/1.0, which does not know of it. */
	say(&w, POST "Expect: 100-continue\r\n\r\n");
	wrote(&w, OK "Content-Length: 0\r\n\r\n");
	say(&w, "POST /echo HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
	wrote(&w, "");
	http_wire_release(&w);
}

static void an_answer_instead_of_continue_ends_the_connection(void **state UNUSED)
{
	struct http_wire w;

	start(&w);
	say(&w,
	    "POST /now HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
	wrote(&w, OK "Content-Length: 2\r\nConnection: close\r\n\r\nok");
	assert_true(w.session->done);
	http_wire_release(&w);
}

/* --- answers before the body is read ------------------------------------------------------- */

static void the_little_rest_of_an_answered_request_is_dropped(void **state UNUSED)
{
	struct http_wire w;

	start(&w);
	say(&w, "POST /now HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
	wrote(&w, OK_2);
	heard(&w, "request POST /now host=a\nbody=abc\nclose\n");
	say(&w, "defg");
	say(&w, "hij" GET("/now"));
	wrote(&w, OK_2);
	heard(&w, "request GET /now host=a\nend\nclose\n");
	assert_false(w.session->done);
	http_wire_release(&w);
}

static void a_rest_that_never_comes_ends_the_connection(void **state UNUSED)
{
	struct http_wire w;

	start(&w);
	say(&w, "POST /now HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
	http_wire_advance(&w, 9999);
	assert_false(w.session->done);
	http_wire_advance(&w, 1);
	assert_true(w.session->done);
	wrote(&w, OK_2);
	http_wire_release(&w);
}

static void a_large_or_unknown_rest_ends_the_connection(void **state UNUSED)
{
	static const char *const v[] = { "Content-Length: 65537\r\n\r\n",
					 "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n" };

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		struct http_wire w;
		char in[256];

		start(&w);
		(void)snprintf(in, sizeof(in), "POST /now HTTP/1.1\r\nHost: a\r\n%s", v[i]);
		say(&w, in);
		wrote(&w, OK "Content-Length: 2\r\nConnection: close\r\n\r\nok");
		assert_true(w.session->done);
		http_wire_release(&w);
	}
}

static void an_unread_body_that_is_there_already_keeps_the_connection(void **state UNUSED)
{
	struct http_wire w;

	start(&w);
	say(&w, "POST /now HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
		"5\r\nhello\r\n0\r\n\r\n");
	wrote(&w, OK_2);
	assert_false(w.session->done);
	http_wire_release(&w);
}

static void a_body_beyond_the_limit_is_413(void **state UNUSED)
{
	struct http_config config = { .body_max = 4 };
	static const char *const v[] = {
		"Content-Length: 5\r\n\r\n", "Content-Length: 100000\r\n\r\nabcde",
		"Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n",
		"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n3\r\nabc\r\n"
	};

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		struct http_wire w;
		char in[256];

		http_wire_init(&w, true, &config);
		(void)snprintf(in, sizeof(in), POST "%s", v[i]);
		say(&w, in);
		assert_memory_equal(w.out.p, "HTTP/1.1 413 ", 13);
		assert_int_equal(count(w.out.p, "HTTP/1.1 "), 1);
		/* Small rests are read and dropped; else the connection ends after the answer. */
		assert_int_equal(w.session->done, i % 2);
		assert_int_equal(count(w.out.p, "Connection: close\r\n"), i % 2);
		http_wire_release(&w);
	}
}

/* --- time -------------------------------------------------------------- */

static void a_slow_head_is_408(void **state UNUSED)
{
	struct http_wire w;

	start(&w);
	http_wire_advance(&w, 0);
	http_wire_advance(&w, 5000);
	say(&w, "GET / HTTP/1.1\r\n");
	http_wire_advance(&w, 9000);
	say(&w, "Host:");
	http_wire_advance(&w, 999);
	wrote(&w, "");
	http_wire_advance(&w, 1);
	assert_memory_equal(w.out.p, "HTTP/1.1 408 ", 13);
	assert_true(w.session->done);
	http_wire_release(&w);
}

static void a_silent_connection_is_closed_without_a_word(void **state UNUSED)
{
	struct http_wire w;

	start(&w);
	http_wire_advance(&w, 0);
	http_wire_advance(&w, 9999);
	assert_false(w.session->done);
	http_wire_advance(&w, 1);
	assert_true(w.session->done);
	wrote(&w, "");
	http_wire_release(&w);
}

static void an_idle_connection_has_no_deadline_of_ours(void **state UNUSED)
{
	struct http_wire w;

	start(&w);
	say(&w, GET("/now"));
	assert_int_equal(w.session->deadline, INT64_MAX);
	http_wire_advance(&w, 1000000);
	say(&w, GET("/now"));
	wrote(&w, OK_2 OK_2);
	http_wire_release(&w);
}

static void slow_body_handler(struct http_wire *w, struct http_stream *s)
{
	http_stream_body_timeout(s, 500, 0);
	http_wire_serve(w, s);
}

static void a_slow_body_is_408(void **state UNUSED)
{
	struct http_wire w;

	start(&w);
	w.handler = slow_body_handler;
	say(&w, POST "Content-Length: 3\r\n\r\na");
	http_wire_advance(&w, 499);
	say(&w, "b");
	http_wire_advance(&w, 499);
	wrote(&w, "");
	http_wire_advance(&w, 1);
	assert_memory_equal(w.out.p, "HTTP/1.1 408 ", 13);
	http_wire_release(&w);
}

static void trickle_handler(struct http_wire *w, struct http_stream *s)
{
	http_stream_body_timeout(s, 500, 1000);
	http_wire_serve(w, s);
}

static void a_body_that_trickles_is_408(void **state UNUSED)
{
	struct http_wire w;

	start(&w);
	w.handler = trickle_handler;
	say(&w, POST "Content-Length: 1000\r\n\r\n");
	/* 100 bytes are worth 100 ms; a byte at a time is not worth the next 400. */
	for (size_t i = 0; i < 100; i++)
		say(&w, "a");
	http_wire_advance(&w, 400);
	say(&w, "b");
	http_wire_advance(&w, 200);
	wrote(&w, "");
	http_wire_advance(&w, 1);
	assert_memory_equal(w.out.p, "HTTP/1.1 408 ", 13);
	http_wire_release(&w);
}

static void a_body_that_we_keep_from_coming_is_not_slow(void **state UNUSED)
{
	struct http_config config = { .window = 4 };
	struct http_wire w;

	http_wire_init(&w, true, &config);
	w.handler = slow_body_handler;
	w.keep = true;
	say(&w, "POST /sink HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\nabcde");
	assert_true(w.paused);
	http_wire_advance(&w, 501);
	wrote(&w, "");
	http_stream_consume(w.stream, 5);
	assert_false(w.paused);
	http_wire_advance(&w, 500);
	assert_memory_equal(w.out.p, "HTTP/1.1 408 ", 13);
	http_wire_release(&w);
}

/* --- ends -------------------------------------------------------------- */

static void an_idle_server_drains_at_once(void **state UNUSED)
{
	struct http_wire w;

	start(&w);
	say(&w, GET("/now"));
	w.session->ops->drain(w.session);
	assert_true(w.session->done);
	http_wire_release(&w);
}

static void a_busy_server_drains_after_its_answer(void **state UNUSED)
{
	struct http_wire w;

	start(&w);
	say(&w, GET("/wait") GET("/now"));
	w.session->ops->drain(w.session);
	assert_false(w.session->done);
	(void)http_stream_reply(w.stream, 200, STR_NULL, slice_static(STR("ok")));
	http_wire_flush(&w);
	wrote(&w, OK "Content-Length: 2\r\nConnection: close\r\n\r\nok");
	assert_true(w.session->done);
	http_wire_release(&w);
}

static void a_request_that_has_begun_is_served_while_draining(void **state UNUSED)
{
	struct http_wire w;

	start(&w);
	say(&w, "GET /now HT");
	w.session->ops->drain(w.session);
	assert_false(w.session->done);
	say(&w, "TP/1.1\r\nHost: a\r\n\r\n");
	wrote(&w, OK "Content-Length: 2\r\nConnection: close\r\n\r\nok");
	assert_true(w.session->done);
	http_wire_release(&w);
}

static void the_end_of_input_ends_an_idle_session(void **state UNUSED)
{
	static const char *const v[] = {
		GET("/now"), "GET / HT", "\r\n",
		"POST /now HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx"
	};

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		struct http_wire w;

		start(&w);
		say(&w, v[i]);
		assert_false(w.session->done);
		http_wire_eof(&w);
		assert_int_equal(w.result, 0);
		assert_true(w.session->done);
		http_wire_release(&w);
	}
}

static void a_client_that_closes_its_side_still_gets_replies(void **state UNUSED)
{
	struct http_wire w;

	start(&w);
	say(&w, GET("/wait") GET("/now") GET("/now") "GET / H");
	http_wire_eof(&w);
	assert_false(w.session->done);
	(void)http_stream_reply(w.stream, 200, STR_NULL, slice_static(STR("ok")));
	http_wire_flush(&w);
	wrote(&w, OK_2 OK_2 OK_2);
	assert_true(w.session->done);
	http_wire_release(&w);
}

static void a_half_close_ends_the_session_if_the_server_wants(void **state UNUSED)
{
	struct http_config config = { .eof_cancels = true };
	struct http_wire w;

	http_wire_init(&w, true, &config);
	say(&w, GET("/wait"));
	http_wire_eof(&w);
	assert_int_equal(w.result, -ERR_CANCELED);
	assert_true(w.session->done);
	heard(&w, "request GET /wait host=a\nend\nclose: the client closed the connection\n");
	wrote(&w, "");
	http_wire_release(&w);
	/* An answer that is complete still leaves. */
	http_wire_init(&w, true, &config);
	say(&w, GET("/now"));
	http_wire_eof(&w);
	assert_int_equal(w.result, 0);
	wrote(&w, OK_2);
	http_wire_release(&w);
}

static void a_fault_is_answered_though_the_input_has_ended(void **state UNUSED)
{
	struct http_wire w;
	char bad[] = "BAD\r\n\r\n";

	start(&w);
	assert_int_equal(w.session->ops->input(w.session, bad, strlen(bad), NULL), 0);
	assert_int_equal(w.session->ops->eof(w.session, NULL), 0);
	http_wire_flush(&w);
	assert_memory_equal(w.out.p, "HTTP/1.1 400 ", 13);
	assert_true(w.session->done);
	http_wire_release(&w);
}

static void a_request_that_breaks_off_is_canceled(void **state UNUSED)
{
	struct http_wire w;

	start(&w);
	say(&w, "POST /sink HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabc");
	http_wire_eof(&w);
	assert_int_equal(w.result, -ERR_CANCELED);
	assert_true(w.session->done);
	heard(&w, "request POST /sink host=a\nbody=abc\nclose: the client closed the connection\n");
	wrote(&w, "");
	http_wire_release(&w);
}

static void an_endless_answer_ends_when_the_client_closes(void **state UNUSED)
{
	struct http_wire w;

	start(&w);
	say(&w, GET("/wait"));
	(void)http_stream_respond(w.stream, 200, NULL, 0, -1);
	(void)http_stream_send_copy(w.stream, STR("event"));
	http_wire_flush(&w);
	http_wire_eof(&w);
	assert_int_equal(w.result, -ERR_CANCELED);
	assert_true(w.session->done);
	assert_int_equal(http_stream_send_copy(w.stream, STR("late")), -ERR_CANCELED);
	http_wire_release(&w);
}

static void reset_in_handler(struct http_wire *w UNUSED, struct http_stream *s)
{
	http_stream_reset(s, NULL);
}

static void a_reset_cuts_the_connection(void **state UNUSED)
{
	struct http_wire w;

	start(&w);
	say(&w, GET("/wait") GET("/now"));
	(void)http_stream_respond(w.stream, 200, NULL, 0, -1);
	(void)http_stream_send_copy(w.stream, STR("abc"));
	http_wire_flush(&w);
	http_stream_reset(w.stream, NULL);
	http_wire_flush(&w);
	wrote(&w, OK "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
	assert_true(w.session->done);
	assert_int_equal(w.requests, 1);
	http_wire_release(&w);

	start(&w);
	w.handler = reset_in_handler;
	say(&w, POST "Content-Length: 3\r\n\r\nabc" GET("/now"));
	wrote(&w, "");
	heard(&w, "request POST /echo host=a\nclose\n");
	assert_true(w.session->done);
	http_wire_release(&w);
}

static void an_upload_is_paused_until_it_is_consumed(void **state UNUSED)
{
	struct http_config config = { .window = 10 };
	struct http_wire w;

	http_wire_init(&w, true, &config);
	w.keep = true;
	say(&w, "POST /sink HTTP/1.1\r\nHost: a\r\nContent-Length: 30\r\n\r\n0123456789");
	assert_false(w.paused);
	say(&w, "0");
	assert_true(w.paused);
	http_stream_consume(w.stream, 5);
	assert_true(w.paused);
	http_stream_consume(w.stream, 1);
	assert_false(w.paused);
	say(&w, "0123456789012345678");
	assert_int_equal(w.pauses, 2);
	/* Input that nobody will consume does not block reading. */
	wrote(&w, OK "Content-Length: 4\r\n\r\ndone");
	assert_false(w.paused);
	http_wire_release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_connection_lives_as_version_and_options_say),
		cmocka_unit_test(a_thousand_pipelined_requests_are_answered_in_order),
		cmocka_unit_test(a_pipelined_request_waits_for_the_answer_before),
		cmocka_unit_test(a_bad_request_is_answered_after_the_good_ones_before_it),
		cmocka_unit_test(reading_pauses_while_many_requests_wait),
		cmocka_unit_test(a_peer_that_ignores_the_pause_is_cut),
		cmocka_unit_test(a_client_that_waits_is_told_to_continue),
		cmocka_unit_test(a_client_that_does_not_wait_is_not_told),
		cmocka_unit_test(an_answer_instead_of_continue_ends_the_connection),
		cmocka_unit_test(the_little_rest_of_an_answered_request_is_dropped),
		cmocka_unit_test(a_rest_that_never_comes_ends_the_connection),
		cmocka_unit_test(a_large_or_unknown_rest_ends_the_connection),
		cmocka_unit_test(an_unread_body_that_is_there_already_keeps_the_connection),
		cmocka_unit_test(a_body_beyond_the_limit_is_413),
		cmocka_unit_test(a_slow_head_is_408),
		cmocka_unit_test(a_silent_connection_is_closed_without_a_word),
		cmocka_unit_test(an_idle_connection_has_no_deadline_of_ours),
		cmocka_unit_test(a_slow_body_is_408),
		cmocka_unit_test(a_body_that_trickles_is_408),
		cmocka_unit_test(a_body_that_we_keep_from_coming_is_not_slow),
		cmocka_unit_test(an_idle_server_drains_at_once),
		cmocka_unit_test(a_busy_server_drains_after_its_answer),
		cmocka_unit_test(a_request_that_has_begun_is_served_while_draining),
		cmocka_unit_test(the_end_of_input_ends_an_idle_session),
		cmocka_unit_test(a_client_that_closes_its_side_still_gets_replies),
		cmocka_unit_test(a_half_close_ends_the_session_if_the_server_wants),
		cmocka_unit_test(a_fault_is_answered_though_the_input_has_ended),
		cmocka_unit_test(a_request_that_breaks_off_is_canceled),
		cmocka_unit_test(an_endless_answer_ends_when_the_client_closes),
		cmocka_unit_test(a_reset_cuts_the_connection),
		cmocka_unit_test(an_upload_is_paused_until_it_is_consumed),
	};

	return cmocka_run_group_tests_name("net/http1", tests, NULL, NULL);
}
