/*
 * A client's session against canned responses, and against a server's session
 * in memory, with bodies both ways, random pieces and backpressure.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/http/pair.h"
#include "net/http/wire.h"
#include "net/net_limits.h"

#define OK   "HTTP/1.1 200 OK\r\n"
#define OK_2 OK "Content-Length: 2\r\n\r\nok"

static void start(struct http_wire *w)
{
	http_wire_init(w, false, NULL);
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

static void heard(struct http_wire *w, const char *text)
{
	assert_string_equal(w->log.p, text);
	buf_clear(&w->log);
}

static void requests_are_sent_one_after_the_other(void **state UNUSED)
{
	struct http_wire w;

	start(&w);
	(void)http_wire_ask(&w, "GET", "/1", NULL);
	(void)http_wire_ask(&w, "GET", "/2", NULL);
	(void)http_wire_ask(&w, "GET", "/3", NULL);
	wrote(&w, "GET /1 HTTP/1.1\r\nHost: h\r\n\r\n");
	say(&w, OK "Content-Length: 2\r\n\r\no");
	wrote(&w, "");
	say(&w, "k");
	wrote(&w, "GET /2 HTTP/1.1\r\nHost: h\r\n\r\n");
	heard(&w, "response 200\nbody=ok\nend\nclose\n");
	say(&w, "HTTP/1.1 204 No Content\r\n\r\n");
	wrote(&w, "GET /3 HTTP/1.1\r\nHost: h\r\n\r\n");
	say(&w, OK "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
	heard(&w, "response 204\nend\nclose\nresponse 200\nend\nclose\n");
	assert_false(w.session->done);
	http_wire_release(&w);
}

static void waiting_requests_fail_when_the_server_closes(void **state UNUSED)
{
	struct http_wire w;

	start(&w);
	(void)http_wire_ask(&w, "GET", "/1", NULL);
	(void)http_wire_ask(&w, "GET", "/2", NULL);
	http_wire_flush(&w);
	say(&w, OK "Connection: close\r\nContent-Length: 2\r\n\r\n");
	assert_true(w.session->draining);
	assert_false(w.session->done);
	assert_null(http_wire_ask(&w, "GET", "/3", NULL));
	assert_int_equal(w.result, -ERR_UNAVAILABLE);
	say(&w, "ok");
	heard(&w, "response 200\nbody=ok\nend\nclose\nclose: the server closes the connection\n");
	assert_true(w.session->done);
	http_wire_release(&w);
}

static void http_1_0_is_not_kept_without_asking(void **state UNUSED)
{
	struct http_wire w;

	start(&w);
	(void)http_wire_ask(&w, "GET", "/", NULL);
	http_wire_flush(&w);
	say(&w, "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n");
	assert_false(w.session->done);
	(void)http_wire_ask(&w, "GET", "/", NULL);
	http_wire_flush(&w);
	say(&w, "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n");
	assert_true(w.session->done);
	http_wire_release(&w);
}

static void a_body_may_end_with_the_connection(void **state UNUSED)
{
	struct http_wire w;

	start(&w);
	(void)http_wire_ask(&w, "GET", "/", NULL);
	http_wire_flush(&w);
	say(&w, OK "\r\nab");
	say(&w, "c");
	http_wire_eof(&w);
	assert_int_equal(w.result, 0);
	heard(&w, "response 200\nbody=abc\nend\nclose\n");
	assert_true(w.session->done);
	http_wire_release(&w);
}

static void an_early_end_of_the_connection_is_a_failure(void **state UNUSED)
{
	static const char *const v[] = { "",
					 "HTTP/1.1 20",
					 "HTTP/1.1 100 Continue\r\n\r\n",
					 OK "Content-Length: 3\r\n\r\nab",
					 OK "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n",
					 OK "Transfer-Encoding: chunked\r\n\r\n0\r\nX: y\r\n" };

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		struct http_wire w;

		start(&w);
		(void)http_wire_ask(&w, "GET", "/1", NULL);
		(void)http_wire_ask(&w, "GET", "/2", NULL);
		http_wire_flush(&w);
		say(&w, v[i]);
		http_wire_eof(&w);
		assert_int_equal(w.result, -ERR_UNAVAILABLE);
		assert_null(strstr(w.log.p, "end\n"));
		assert_non_null(strstr(w.log.p, "close: the server closed the connection before"));
		assert_non_null(
			strstr(w.log.p, "close: the connection accepts no more requests\n"));
		assert_true(w.session->done);
		http_wire_release(&w);
	}
}

static void an_idle_connection_may_end(void **state UNUSED)
{
	struct http_wire w;

	start(&w);
	(void)http_wire_ask(&w, "GET", "/", NULL);
	http_wire_flush(&w);
	say(&w, OK_2);
	http_wire_eof(&w);
	assert_int_equal(w.result, 0);
	assert_true(w.session->done);
	assert_null(http_wire_ask(&w, "GET", "/", NULL));
	http_wire_release(&w);
}

static void an_unrequested_response_ends_the_session(void **state UNUSED)
{
	struct http_wire w;

	start(&w);
	say(&w, "HTTP/1.1 408 Request Timeout\r\n\r\n");
	assert_int_equal(w.result, -ERR_PROTOCOL);
	assert_true(w.session->done);
	http_wire_release(&w);
}

static void an_early_answer_cuts_the_upload(void **state UNUSED)
{
	struct http_stream *s;
	struct http_wire w;

	start(&w);
	s = http_stream_ref(http_wire_ask(&w, "POST", "/", ""));
	(void)http_stream_send_copy(s, STR("abc"));
	http_wire_flush(&w);
	say(&w, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n");
	heard(&w, "response 413\nend\nclose\n");
	assert_true(w.session->done);
	assert_int_equal(http_stream_send_copy(s, STR("abc")), -ERR_CANCELED);
	http_stream_unref(s);
	http_wire_release(&w);
}

static void a_reset_ends_the_connection_only_if_something_was_sent(void **state UNUSED)
{
	struct http_stream *first, *second;
	struct http_wire w;

	start(&w);
	first = http_wire_ask(&w, "GET", "/1", NULL);
	second = http_wire_ask(&w, "GET", "/2", NULL);
	http_wire_flush(&w);
	http_stream_reset(second, NULL);
	assert_false(w.session->done);
	(void)http_wire_ask(&w, "GET", "/3", NULL);
	http_wire_flush(&w);
	http_stream_reset(first, NULL);
	http_wire_flush(&w);
	assert_true(w.session->done);
	heard(&w, "close\nclose\nclose: the connection accepts no more requests\n");
	http_wire_release(&w);
}

static void an_answer_that_does_not_come_times_out(void **state UNUSED)
{
	struct http_wire w;

	start(&w);
	http_stream_body_timeout(http_wire_ask(&w, "GET", "/1", NULL), 100, 0);
	http_wire_flush(&w);
	http_wire_advance(&w, 99);
	assert_false(w.session->done);
	http_wire_advance(&w, 1);
	assert_true(w.session->done);
	heard(&w, "close: the body did not arrive in time\n");
	http_wire_release(&w);
}

static void a_drained_client_ends_after_its_requests(void **state UNUSED)
{
	struct http_wire w;

	start(&w);
	(void)http_wire_ask(&w, "GET", "/1", NULL);
	(void)http_wire_ask(&w, "GET", "/2", NULL);
	http_wire_flush(&w);
	w.session->ops->drain(w.session);
	assert_null(http_wire_ask(&w, "GET", "/3", NULL));
	say(&w, OK_2);
	assert_false(w.session->done);
	say(&w, OK_2);
	assert_true(w.session->done);
	http_wire_release(&w);

	start(&w);
	w.session->ops->drain(w.session);
	assert_true(w.session->done);
	http_wire_release(&w);
}

static void a_download_is_paused_until_it_is_consumed(void **state UNUSED)
{
	struct http_config config = { .window = 10 };
	struct http_stream *s;
	struct http_wire w;

	http_wire_init(&w, false, &config);
	w.keep = true;
	s = http_wire_ask(&w, "GET", "/", NULL);
	http_wire_flush(&w);
	say(&w, OK "Content-Length: 30\r\n\r\n01234567890");
	assert_true(w.paused);
	http_stream_consume(s, 11);
	assert_false(w.paused);
	http_wire_release(&w);
}

static void too_large_a_response_fails(void **state UNUSED)
{
	struct http_wire w;
	struct http_stream *s;

	start(&w);
	s = http_wire_ask(&w, "GET", "/", NULL);
	http_stream_limit_body(s, 3);
	http_wire_flush(&w);
	say(&w, OK "Content-Length: 4\r\n\r\nabcd");
	heard(&w, "response 200\nclose: the body is larger than the limit of 3 bytes\n");
	assert_true(w.session->done);
	http_wire_release(&w);
}

/* --- an owner that cuts the connection ---------------------------------------------------- */

struct cutter {
	int in; /* which callback cuts */
	int calls;
};

/* Frees the connection inside a callback. */
static void cut(struct http_stream *s, int in)
{
	struct cutter *k = s->data;
	struct http_session *h = s->session;

	k->calls++;
	assert_false(s->closed);
	while (k->in == in && !list_empty(&h->streams))
		http_stream_close(LIST_ENTRY(h->streams.next, struct http_stream, link), NULL);
}

static void cut_head(struct http_stream *s)
{
	cut(s, 0);
}

static void cut_body(struct http_stream *s, struct str piece UNUSED)
{
	cut(s, 1);
}

static void cut_end(struct http_stream *s)
{
	cut(s, 2);
}

static const struct http_stream_ops cutter_ops = { .on_head = cut_head,
						   .on_body = cut_body,
						   .on_end = cut_end };

static void an_owner_may_cut_the_connection_from_a_callback(void **state UNUSED)
{
	static const char response[] = OK "Transfer-Encoding: chunked\r\n\r\n"
					  "1\r\na\r\n1\r\nb\r\n0\r\nX: y\r\n\r\n" OK_2;
	static const int calls[] = { 1, 2, 4 };

	for (int in = 0; in < 3; in++) {
		struct cutter k = { .in = in };
		struct http_stream *s;
		struct http_wire w;

		start(&w);
		for (int i = 0; i < 2; i++) {
			s = http_wire_ask(&w, "GET", "/", NULL);
			s->ops = &cutter_ops;
			s->data = &k;
		}
		http_wire_flush(&w);
		say(&w, response);
		assert_int_equal(k.calls, calls[in]);
		assert_true(w.session->done);
		http_wire_release(&w);
	}
}

static void cut_in_handler(struct http_wire *w UNUSED, struct http_stream *s)
{
	http_stream_close(s, NULL);
}

static void a_server_may_be_cut_from_its_handler(void **state UNUSED)
{
	struct http_wire w;

	http_wire_init(&w, true, NULL);
	w.handler = cut_in_handler;
	say(&w, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
		"GET / HTTP/1.1\r\nHost: a\r\n\r\n");
	assert_int_equal(w.requests, 1);
	assert_true(w.session->done);
	wrote(&w, "");
	http_wire_release(&w);
}

/* --- two sessions --------------------------------------------------------------------- */

enum { BODY = 500000, WIRE = 100000 };

/* One side's sending and receiving of bytes that depend on their place. */
struct transfer {
	size_t sent, received;
	size_t to_send;
	size_t peak; /* most that was not consumed */
	bool lazy; /* consumes only on request */
	bool ended, closed, failed;
};

static char byte_at(size_t at)
{
	return (char)(at * 31 ^ at >> 9);
}

static void push(struct http_stream *s)
{
	struct transfer *t = s->data;
	char piece[5000];
	size_t room;

	while (t->sent < t->to_send && (room = http_stream_room(s)) > 0) {
		size_t n = MIN(MIN(room, sizeof(piece)), t->to_send - t->sent);

		n = MIN(n, 1 + t->sent % sizeof(piece));
		for (size_t i = 0; i < n; i++)
			piece[i] = byte_at(t->sent + i);
		assert_int_equal(http_stream_send_copy(s, str_of(piece, n)), 0);
		t->sent += n;
	}
	/* A server that ends before the request does would not read the rest of it. */
	if (t->sent == t->to_send && (t->ended || !s->server))
		(void)http_stream_end(s, NULL, 0);
}

static void pull(struct http_stream *s, struct str piece)
{
	struct transfer *t = s->data;
	size_t wrong = 0;

	for (size_t i = 0; i < piece.n; i++)
		wrong += piece.p[i] != byte_at(t->received + i);
	assert_int_equal(wrong, 0);
	t->received += piece.n;
	t->peak = MAX(t->peak, s->unconsumed);
	if (!t->lazy)
		http_stream_consume(s, piece.n);
}

static void transfer_end(struct http_stream *s)
{
	((struct transfer *)s->data)->ended = true;
	if (s->server)
		push(s);
}

static void transfer_close(struct http_stream *s, const struct error *err)
{
	((struct transfer *)s->data)->closed = true;
	((struct transfer *)s->data)->failed = err != NULL;
}

static const struct http_stream_ops transfer_ops = {
	.on_body = pull,
	.on_end = transfer_end,
	.on_writable = push,
	.on_close = transfer_close,
};

struct both {
	struct transfer client, server;
	struct http_stream *at_server;
};

static void answer_with_body(struct http_pair *p, struct http_stream *s)
{
	struct both *b = p->data;

	s->ops = &transfer_ops;
	s->data = &b->server;
	b->at_server = s;
	http_stream_limit_body(s, -1);
	(void)http_stream_respond(s, 200, NULL, 0, s->in.query.n ? BODY : -1);
	push(s);
}

/* Lets lazy readers consume when everything stands still. */
static void run_lazily(struct http_pair *p, struct both *b, struct http_stream *s)
{
	do {
		http_pair_run(p);
		if (!b->client.closed)
			http_stream_consume(s, s->unconsumed);
		if (!b->server.closed)
			http_stream_consume(b->at_server, b->at_server->unconsumed);
	} while (http_pair_step(p));
}

static void exchange(const char *target, size_t upload, bool lazy, size_t piece, uint64_t seed)
{
	struct both b = { .client = { .to_send = upload, .lazy = lazy },
			  .server = { .to_send = BODY, .lazy = lazy } };
	struct http_stream *s;
	struct http_pair p;

	http_pair_init(&p, HTTP_1_1, NULL, answer_with_body, seed);
	p.data = &b;
	p.piece_max = piece;
	p.wire_max = WIRE;
	s = http_pair_request(&p, STR("POST"), str_from(target), false, &transfer_ops, &b.client);
	push(s);
	run_lazily(&p, &b, s);
	assert_true(b.client.closed && !b.client.failed && b.client.ended);
	assert_true(b.server.closed && !b.server.failed);
	assert_int_equal(b.client.received, BODY);
	assert_int_equal(b.server.received, upload);
	assert_false(p.client.session->done || p.server.session->done);
	/* The window, and one piece more that was on its way. */
	assert_true(b.client.peak <= HTTP_WINDOW + MIN(piece - 1, WIRE + 2 * OUTBUF_FULL));
	assert_true(p.wire_peak <= WIRE + 2 * OUTBUF_FULL);
	http_pair_release(&p);
}

static void bodies_go_both_ways_in_any_pieces(void **state UNUSED)
{
	static const size_t pieces[] = { 0, 300, 5000, 70000 };

	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		exchange("/", 0, false, pieces[i], i);
		exchange("/", 60000, false, pieces[i], i);
		exchange("/?length", 60000, false, pieces[i], i);
		exchange("/", 60000, true, pieces[i], i);
		exchange("/?length", BODY, true, pieces[i], i);
	}
}

/* Answers only when the body is over. */
static void answer_at_end(struct http_stream *s)
{
	((struct transfer *)s->data)->ended = true;
	(void)http_stream_respond(s, 200, NULL, 0, -1);
	push(s);
}

static const struct http_stream_ops sink_ops = {
	.on_body = pull,
	.on_end = answer_at_end,
	.on_writable = push,
	.on_close = transfer_close,
};

static void sink(struct http_pair *p, struct http_stream *s)
{
	struct both *b = p->data;

	s->ops = &sink_ops;
	s->data = &b->server;
	b->at_server = s;
	http_stream_limit_body(s, -1);
}

static void a_long_upload_arrives_within_the_window(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 4; seed++) {
		struct both b = { .client = { .to_send = BODY }, .server = { .lazy = seed % 2 } };
		struct http_stream *s;
		struct http_pair p;

		http_pair_init(&p, HTTP_1_1, NULL, sink, seed);
		p.data = &b;
		p.piece_max = 20000;
		p.wire_max = WIRE;
		s = http_pair_request(&p, STR("PUT"), STR("/"), false, &transfer_ops, &b.client);
		push(s);
		run_lazily(&p, &b, s);
		assert_int_equal(b.server.received, BODY);
		assert_true(b.server.ended && b.client.ended && !b.client.failed);
		assert_true(b.server.peak <= HTTP_WINDOW + p.piece_max);
		assert_true(p.wire_peak <= WIRE + 2 * OUTBUF_FULL);
		http_pair_release(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_are_sent_one_after_the_other),
		cmocka_unit_test(waiting_requests_fail_when_the_server_closes),
		cmocka_unit_test(http_1_0_is_not_kept_without_asking),
		cmocka_unit_test(a_body_may_end_with_the_connection),
		cmocka_unit_test(an_early_end_of_the_connection_is_a_failure),
		cmocka_unit_test(an_idle_connection_may_end),
		cmocka_unit_test(an_unrequested_response_ends_the_session),
		cmocka_unit_test(an_early_answer_cuts_the_upload),
		cmocka_unit_test(a_reset_ends_the_connection_only_if_something_was_sent),
		cmocka_unit_test(an_answer_that_does_not_come_times_out),
		cmocka_unit_test(a_drained_client_ends_after_its_requests),
		cmocka_unit_test(a_download_is_paused_until_it_is_consumed),
		cmocka_unit_test(too_large_a_response_fails),
		cmocka_unit_test(an_owner_may_cut_the_connection_from_a_callback),
		cmocka_unit_test(a_server_may_be_cut_from_its_handler),
		cmocka_unit_test(bodies_go_both_ways_in_any_pieces),
		cmocka_unit_test(a_long_upload_arrives_within_the_window),
	};

	return cmocka_run_group_tests_name("net/http1_client", tests, NULL, NULL);
}
