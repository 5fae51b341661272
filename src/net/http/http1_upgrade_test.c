/*
 * Upgrades: what is on the wire before and after a 101, at a server and at a
 * client, byte by byte and at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/http/pair.h"
#include "net/http/wire.h"

#define ASK      "GET /x HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: tube\r\n\r\n"
#define SWITCHED "HTTP/1.1 101 Switching Protocols\r\n"
#define GRANT    SWITCHED "x-a: b\r\nConnection: Upgrade\r\nUpgrade: tube\r\n\r\n"

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

static void heard(struct http_wire *w, const char *text)
{
	assert_string_equal(w->log.p, text);
	buf_clear(&w->log);
}

static int grant(struct http_stream *s)
{
	struct http_field fields[] = { HTTP_FIELD("x-a", STR("b")),
				       HTTP_FIELD("upgrade", STR("ignored")),
				       HTTP_FIELD("connection", STR("close")) };

	return http_stream_upgrade(s, STR("tube"), fields, ARRAY_SIZE(fields));
}

static void grant_at_once(struct http_wire *w UNUSED, struct http_stream *s)
{
	assert_true(http_stream_wants_upgrade(s));
	assert_int_equal(grant(s), 0);
	(void)http_stream_send_copy(s, STR("hello"));
}

static void grant_never(struct http_wire *w UNUSED, struct http_stream *s UNUSED)
{
}

static struct http_stream *ask(struct http_wire *w)
{
	struct http_request r = { .method = STR("GET"),
				  .authority = STR("h"),
				  .target = STR("/"),
				  .upgrade = STR("tube"),
				  .end = true,
				  .ops = &http_wire_ops,
				  .data = w };
	struct http_stream *s = NULL;

	w->result = http_session_request(w->session, &r, &s, &w->err);
	return s;
}

/* --- servers ---------------------------------------------------------------------- */

static void a_granted_upgrade_makes_the_connection_raw(void **state UNUSED)
{
	for (size_t piece = 0; piece < 4; piece++) {
		struct http_wire w;

		http_wire_init(&w, true, NULL);
		w.handler = grant_at_once;
		http_wire_feed(&w, STR(ASK "GET / HTTP/1.1\r\n\r\n"), piece);
		wrote(&w, GRANT "hello");
		heard(&w, "request GET /x host=a\nbody=GET / HTTP/1.1\r\n\r\n");
		(void)http_stream_send_copy(w.stream, STR("\r\n\r\n"));
		wrote(&w, "\r\n\r\n");
		assert_true(w.session->raw);
		http_wire_eof(&w);
		heard(&w, "\nend\n");
		assert_false(w.session->done);
		(void)http_stream_send_copy(w.stream, STR("bye"));
		(void)http_stream_end(w.stream, NULL, 0);
		wrote(&w, "bye");
		heard(&w, "close\n");
		assert_true(w.session->done);
		http_wire_release(&w);
	}
}

static void data_before_a_late_grant_waits_for_it(void **state UNUSED)
{
	struct http_wire w;

	http_wire_init(&w, true, NULL);
	w.handler = grant_never;
	say(&w, "GET /wait HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: tube\r\n\r\nabc");
	heard(&w, "request GET /wait host=a\nend\n");
	http_wire_eof(&w);
	wrote(&w, "");
	assert_int_equal(grant(w.stream), 0);
	wrote(&w, GRANT);
	heard(&w, "body=abc\nend\n");
	(void)http_stream_end(w.stream, NULL, 0);
	wrote(&w, "");
	heard(&w, "close\n");
	assert_true(w.session->done);
	http_wire_release(&w);
}

static void a_server_may_end_its_side_first(void **state UNUSED)
{
	struct http_wire w;

	http_wire_init(&w, true, NULL);
	w.handler = grant_at_once;
	say(&w, ASK);
	(void)http_stream_end(w.stream, NULL, 0);
	wrote(&w, GRANT "hello");
	assert_true(w.session->shut);
	assert_false(w.session->done);
	say(&w, "late");
	http_wire_eof(&w);
	heard(&w, "request GET /x host=a\nbody=late\nend\nclose\n");
	assert_true(w.session->done);
	http_wire_release(&w);
}

static void an_upgrade_that_nobody_grants_is_an_ordinary_request(void **state UNUSED)
{
	struct http_wire w;

	http_wire_init(&w, true, NULL);
	say(&w, ASK ASK);
	wrote(&w, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone"
		  "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone");
	assert_false(w.session->done);
	http_wire_release(&w);
}

static void a_request_without_an_upgrade_is_not_upgraded(void **state UNUSED)
{
	static const char *const v[] = {
		"GET /wait HTTP/1.1\r\nHost: a\r\nUpgrade: tube\r\n\r\n",
		"GET /wait HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\n\r\n",
		"GET /wait HTTP/1.0\r\nConnection: Upgrade\r\nUpgrade: tube\r\n\r\n",
		"HEAD /wait HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: tube\r\n\r\n",
		"POST /wait HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: tube\r\n"
		"Content-Length: 3\r\n\r\nab",
		"POST /wait HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: tube\r\n"
		"Transfer-Encoding: chunked\r\n\r\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		struct http_wire w;

		http_wire_init(&w, true, NULL);
		w.handler = grant_never;
		say(&w, v[i]);
		assert_int_equal(grant(w.stream), -ERR_BAD_REQUEST);
		wrote(&w, "");
		http_wire_release(&w);
	}
}

static void a_full_window_pauses_a_raw_connection(void **state UNUSED)
{
	struct http_config config = { .window = 10, .body_max = 5 };
	struct http_wire w;

	http_wire_init(&w, true, &config);
	w.handler = grant_at_once;
	w.keep = true;
	say(&w, ASK);
	say(&w, "0123456789");
	assert_false(w.paused);
	say(&w, "0");
	assert_true(w.paused);
	http_wire_advance(&w, INT64_C(100) * 3600 * 1000);
	assert_false(w.session->done);
	http_stream_consume(w.stream, 7);
	assert_false(w.paused);
	http_wire_release(&w);
}

/* --- clients ---------------------------------------------------------------------- */

static void a_client_asks_and_has_the_connection(void **state UNUSED)
{
	for (size_t piece = 0; piece < 4; piece++) {
		struct http_wire w;
		struct http_stream *s;

		http_wire_init(&w, false, NULL);
		s = ask(&w);
		(void)http_wire_ask(&w, "GET", "/2", NULL);
		wrote(&w, "GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: tube\r\n"
			  "\r\n");
		http_wire_feed(&w, STR("HTTP/1.1 100 Continue\r\n\r\n" GRANT "HTTP/1.1"), piece);
		heard(&w, "close: the connection was upgraded\nresponse 101\nbody=HTTP/1.1");
		assert_true(s->raw);
		(void)http_stream_send_copy(s, STR("up"));
		(void)http_stream_end(s, NULL, 0);
		wrote(&w, "up");
		assert_true(w.session->shut);
		http_wire_eof(&w);
		heard(&w, "\nend\nclose\n");
		assert_true(w.session->done);
		http_wire_release(&w);
	}
}

static void a_refused_upgrade_is_an_ordinary_response(void **state UNUSED)
{
	struct http_wire w;

	http_wire_init(&w, false, NULL);
	(void)ask(&w);
	http_wire_flush(&w);
	say(&w, "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
	heard(&w, "response 403\nbody=no\nend\nclose\n");
	(void)http_wire_ask(&w, "GET", "/2", NULL);
	assert_int_equal(w.result, 0);
	http_wire_release(&w);
}

static void a_switch_that_was_not_asked_for_is_a_failure(void **state UNUSED)
{
	struct http_wire w;

	http_wire_init(&w, false, NULL);
	(void)http_wire_ask(&w, "GET", "/", NULL);
	http_wire_flush(&w);
	say(&w, GRANT);
	assert_int_equal(w.result, -ERR_PROTOCOL);
	http_wire_release(&w);
}

static void nothing_grants(struct http_pair *p UNUSED, struct http_stream *s UNUSED)
{
}

static void http_2_has_no_upgrades(void **state UNUSED)
{
	struct http_request r = { .method = STR("GET"),
				  .scheme = STR("http"),
				  .authority = STR("h"),
				  .target = STR("/"),
				  .upgrade = STR("tube"),
				  .end = true };
	struct http_stream *s = NULL;
	struct http_pair p;
	struct error err;

	http_pair_init(&p, HTTP_2, NULL, nothing_grants, 1);
	assert_int_equal(http_session_request(p.client.session, &r, &s, &err), -ERR_BAD_REQUEST);
	assert_string_equal(err.msg, "HTTP/2 has no upgrades");
	http_pair_release(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_granted_upgrade_makes_the_connection_raw),
		cmocka_unit_test(data_before_a_late_grant_waits_for_it),
		cmocka_unit_test(a_server_may_end_its_side_first),
		cmocka_unit_test(an_upgrade_that_nobody_grants_is_an_ordinary_request),
		cmocka_unit_test(a_request_without_an_upgrade_is_not_upgraded),
		cmocka_unit_test(a_full_window_pauses_a_raw_connection),
		cmocka_unit_test(a_client_asks_and_has_the_connection),
		cmocka_unit_test(a_refused_upgrade_is_an_ordinary_response),
		cmocka_unit_test(a_switch_that_was_not_asked_for_is_a_failure),
		cmocka_unit_test(http_2_has_no_upgrades),
	};

	return cmocka_run_group_tests_name("net/http1_upgrade", tests, NULL, NULL);
}
