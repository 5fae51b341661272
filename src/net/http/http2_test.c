/*
 * HTTP/2 sessions in memory: requests, bodies both ways with backpressure,
 * resets, limits, drain; and frames written by hand where a well-behaved peer
 * would not send them. Conformance to the letter is shown end to end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "net/http/pair.h"
#include "net/net_limits.h"

/* The callbacks that a stream's owner got. */
struct seen {
	struct buf body;
	int heads, ends, closes, writables;
	int status;
	bool hold; /* do not consume */
	bool failed;
	struct error err;
	size_t to_send; /* bytes still to be produced */
};

static void seen_head(struct http_stream *s)
{
	struct seen *z = s->data;

	z->heads++;
	z->status = s->in.status;
}

static void seen_body(struct http_stream *s, struct str piece)
{
	struct seen *z = s->data;

	assert_int_equal(buf_add_str(&z->body, piece), 0);
	if (!z->hold)
		http_stream_consume(s, piece.n);
}

static void seen_end(struct http_stream *s)
{
	((struct seen *)s->data)->ends++;
}

static void seen_close(struct http_stream *s, const struct error *err)
{
	struct seen *z = s->data;

	z->closes++;
	z->failed = err != NULL;
	if (err)
		z->err = *err;
}

static void produce(struct http_stream *s)
{
	static const char block[8192] = { 'x' };
	struct seen *z = s->data;
	size_t room, n;

	while (z->to_send && (room = http_stream_room(s)) > 0) {
		n = MIN(MIN(room, z->to_send), sizeof(block));
		assert_int_equal(http_stream_send_copy(s, str_of(block, n)), 0);
		z->to_send -= n;
	}
	if (!z->to_send)
		(void)http_stream_end(s, NULL, 0);
}

static void seen_writable(struct http_stream *s)
{
	((struct seen *)s->data)->writables++;
	produce(s);
}

static const struct http_stream_ops seen_ops = {
	.on_head = seen_head,
	.on_body = seen_body,
	.on_end = seen_end,
	.on_writable = seen_writable,
	.on_close = seen_close,
};

static void seen_init(struct seen *z)
{
	*z = (struct seen){ .body = BUF_INIT(64 * MIB) };
}

/* The server's side of one test at a time. */
struct world {
	struct http_pair pair;
	struct seen client, server;
	struct http_stream *stream; /* the server's, while open */
};

static void reply_echo(struct http_stream *s, struct str body)
{
	(void)http_stream_reply(s, 200, STR("text/plain"), slice_static(STR("")));
	(void)body;
}

static void echo_body(struct http_stream *s, struct str body)
{
	struct bytes *b = bytes_copy(body);

	(void)http_stream_reply(s, 200, STR("text/plain"), (struct slice){ b->data, b->n, b });
}

static void world_handler(struct http_pair *p, struct http_stream *s)
{
	struct world *w = p->data;

	w->stream = s;
	s->ops = &seen_ops;
	s->data = &w->server;
	w->server.heads++;
	if (str_eq(s->in.path, STR("/echo"))) {
		http_stream_collect(s, echo_body);
	} else if (str_eq(s->in.path, STR("/empty"))) {
		http_stream_collect(s, reply_echo);
	} else if (str_eq(s->in.path, STR("/stream"))) {
		(void)http_stream_respond(s, 200, NULL, 0, -1);
		produce(s);
	} else if (str_eq(s->in.path, STR("/slow"))) {
		http_stream_body_timeout(s, 500, 0);
		http_stream_collect(s, echo_body);
	}
}

static void world_init(struct world *w, const struct http_config *config, uint64_t seed)
{
	seen_init(&w->client);
	seen_init(&w->server);
	w->stream = NULL;
	http_pair_init(&w->pair, HTTP_2, config, world_handler, seed);
	w->pair.data = w;
}

static void world_release(struct world *w)
{
	http_pair_release(&w->pair);
	buf_release(&w->client.body);
	buf_release(&w->server.body);
}

static struct http_stream *ask(struct world *w, const char *method, const char *target, bool end)
{
	return http_pair_request(&w->pair, str_from(method), str_from(target), end, &seen_ops,
				 &w->client);
}

static void a_request_is_answered_whatever_the_pieces(void **state UNUSED)
{
	for (size_t piece = 0; piece < 40; piece++) {
		struct world w;

		world_init(&w, NULL, piece);
		w.pair.piece_max = piece;
		struct http_stream *s = ask(&w, "POST", "/echo?a=b", false);

		assert_int_equal(http_stream_send_copy(s, STR("hello, ")), 0);
		assert_int_equal(http_stream_send_copy(s, STR("world")), 0);
		assert_int_equal(http_stream_end(s, NULL, 0), 0);
		http_pair_run(&w.pair);
		assert_int_equal(w.client.status, 200);
		assert_string_equal(w.client.body.p, "hello, world");
		assert_int_equal(w.client.ends, 1);
		assert_int_equal(w.client.closes, 1);
		assert_false(w.client.failed);
		assert_int_equal(w.server.closes, 1);
		assert_false(w.server.failed);
		world_release(&w);
	}
}

static void an_empty_body_ends_with_the_head(void **state UNUSED)
{
	struct world w;

	world_init(&w, NULL, 1);
	(void)ask(&w, "GET", "/empty", true);
	http_pair_run(&w.pair);
	assert_int_equal(w.client.status, 200);
	assert_int_equal(w.client.body.n, 0);
	assert_int_equal(w.client.ends, 1);
	assert_int_equal(w.client.closes, 1);
	world_release(&w);
}

static void a_producer_is_held_while_the_reader_does_not_consume(void **state UNUSED)
{
	struct world w;
	struct http_stream *s;
	size_t got;

	world_init(&w, NULL, 2);
	w.server.to_send = 10 * MIB;
	w.client.hold = true;
	s = ask(&w, "GET", "/stream", true);
	http_pair_run(&w.pair);
	assert_int_equal(w.client.body.n, HTTP_WINDOW);
	assert_true(w.server.to_send >= 10 * MIB - HTTP_WINDOW - 2 * HTTP_OUT_HIGH);
	got = w.client.body.n;
	http_stream_consume(s, got);
	w.client.hold = false;
	http_pair_run(&w.pair);
	assert_int_equal(w.client.body.n, 10 * MIB);
	assert_true(w.server.writables > 1);
	assert_false(w.client.failed);
	world_release(&w);
}

static void an_upload_is_held_while_the_handler_does_not_consume(void **state UNUSED)
{
	struct http_config config = { .body_max = -1 };
	struct world w;
	struct http_stream *s;

	world_init(&w, &config, 3);
	w.server.hold = true;
	w.client.to_send = 4 * MIB;
	s = ask(&w, "POST", "/sink", false);
	produce(s);
	http_pair_run(&w.pair);
	assert_int_equal(w.server.body.n, HTTP_WINDOW);
	w.server.hold = false;
	http_stream_consume(w.stream, w.server.body.n);
	http_pair_run(&w.pair);
	assert_int_equal(w.server.body.n, 4 * MIB);
	assert_int_equal(w.server.ends, 1);
	world_release(&w);
}

static void one_held_stream_does_not_stop_another(void **state UNUSED)
{
	struct http_config config = { .body_max = -1 };
	struct seen others[40];
	struct world w;

	world_init(&w, &config, 4);
	w.server.hold = true;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		struct http_stream *s;

		seen_init(&others[i]);
		others[i].to_send = MIB;
		s = http_pair_request(&w.pair, STR("POST"), STR("/sink"), false, &seen_ops,
				      &others[i]);
		produce(s);
	}
	http_pair_run(&w.pair);
	/* 40 windows are more than the connection's: it must have been given back. */
	assert_int_equal(w.server.body.n, ARRAY_SIZE(others) * HTTP_WINDOW);
	(void)ask(&w, "GET", "/empty", true);
	http_pair_run(&w.pair);
	assert_int_equal(w.client.status, 200);
	world_release(&w);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		buf_release(&others[i].body);
}

static void a_body_beyond_the_limit_is_413(void **state UNUSED)
{
	struct http_config config = { .body_max = 1000 };
	struct world w;
	struct http_stream *s;

	world_init(&w, &config, 5);
	w.client.to_send = MIB;
	s = ask(&w, "POST", "/echo", false);
	produce(s);
	http_pair_run(&w.pair);
	assert_int_equal(w.client.status, 413);
	assert_int_equal(w.client.closes, 1);
	assert_int_equal(w.server.closes, 1);
	world_release(&w);
}

static void a_slow_body_is_408(void **state UNUSED)
{
	struct world w;
	struct http_stream *s;

	world_init(&w, NULL, 6);
	s = ask(&w, "POST", "/slow", false);
	(void)http_stream_send_copy(s, STR("a"));
	http_pair_run(&w.pair);
	http_pair_advance(&w.pair, 400);
	assert_int_equal(w.client.status, 0);
	(void)http_stream_send_copy(s, STR("b"));
	http_pair_run(&w.pair);
	http_pair_advance(&w.pair, 400);
	assert_int_equal(w.client.status, 0);
	http_pair_advance(&w.pair, 200);
	assert_int_equal(w.client.status, 408);
	world_release(&w);
}

static void large_fields_are_431(void **state UNUSED)
{
	static char value[40 * 1024];
	struct http_field fields[] = { HTTP_FIELD("x-a", str_of(value, sizeof(value))),
				       HTTP_FIELD("x-b", str_of(value, 20 * 1024)) };
	struct http_config config = { .headers_max = 50 * 1024 };
	struct http_request r = { .method = STR("GET"),
				  .scheme = STR("http"),
				  .authority = STR("a"),
				  .target = STR("/echo"),
				  .fields = fields,
				  .nfields = 2,
				  .end = true,
				  .ops = &seen_ops };
	struct http_stream *s;
	struct world w;

	memset(value, 'v', sizeof(value));
	world_init(&w, &config, 7);
	r.data = &w.client;
	assert_int_equal(http_session_request(w.pair.client.session, &r, &s, NULL), 0);
	http_pair_run(&w.pair);
	assert_int_equal(w.client.status, 431);
	assert_int_equal(w.server.heads, 0);
	/* The connection lives on. */
	(void)ask(&w, "GET", "/empty", true);
	http_pair_run(&w.pair);
	assert_int_equal(w.client.status, 200);
	world_release(&w);
}

static void both_sides_hear_of_a_reset(void **state UNUSED)
{
	struct world w;
	struct http_stream *s;

	world_init(&w, NULL, 8);
	s = ask(&w, "POST", "/sink", false);
	http_pair_run(&w.pair);
	http_stream_reset(s, NULL);
	http_pair_run(&w.pair);
	assert_int_equal(w.client.closes, 1);
	assert_int_equal(w.server.closes, 1);
	assert_true(w.server.failed);
	assert_int_equal(w.server.err.code, ERR_CANCELED);
	assert_int_equal(w.pair.server.session->nstreams, 0);
	world_release(&w);
}

static void a_reset_while_output_is_queued_is_safe(void **state UNUSED)
{
	struct world w;
	struct http_stream *s;

	for (uint64_t seed = 0; seed < 50; seed++) {
		world_init(&w, NULL, seed);
		w.pair.piece_max = 5000;
		w.server.to_send = MIB;
		s = ask(&w, "GET", "/stream", true);
		for (uint64_t i = 0; i < seed; i++)
			(void)http_pair_step(&w.pair);
		if (seed % 2 && w.stream && !w.stream->closed)
			http_stream_reset(w.stream, NULL);
		else if (!w.client.closes)
			http_stream_reset(s, NULL);
		http_pair_run(&w.pair);
		assert_int_equal(w.client.closes, 1);
		world_release(&w);
	}
}

static void trailers_arrive(void **state UNUSED)
{
	struct http_field trailer = HTTP_FIELD("grpc-status", STR("0"));
	struct world w;
	struct http_stream *s;

	world_init(&w, NULL, 9);
	s = ask(&w, "GET", "/hold", true);
	(void)http_stream_ref(s);
	http_pair_run(&w.pair);
	assert_int_equal(http_stream_respond(w.stream, 200, NULL, 0, -1), 0);
	(void)http_stream_send_copy(w.stream, STR("data"));
	(void)http_stream_end(w.stream, &trailer, 1);
	http_pair_run(&w.pair);
	assert_int_equal(w.client.ends, 1);
	assert_true(str_eq(http_fields_get(&s->trailers, STR("grpc-status")), STR("0")));
	http_stream_unref(s);
	world_release(&w);
}

static void a_drained_server_ends_after_its_streams(void **state UNUSED)
{
	struct world w;

	world_init(&w, NULL, 10);
	(void)ask(&w, "GET", "/hold", true);
	http_pair_run(&w.pair);
	w.pair.server.session->ops->drain(w.pair.server.session);
	http_pair_run(&w.pair);
	assert_false(w.pair.server.session->done);
	assert_true(w.pair.client.session->draining);
	echo_body(w.stream, STR("last"));
	http_pair_run(&w.pair);
	assert_string_equal(w.client.body.p, "last");
	assert_false(w.client.failed);
	assert_true(w.pair.server.session->done);
	world_release(&w);
}

static void an_idle_client_closes_when_the_server_drains(void **state UNUSED)
{
	struct http_session *h;
	struct world w;

	world_init(&w, NULL, 11);
	http_pair_run(&w.pair);
	h = w.pair.server.session;
	h->ops->drain(h);
	http_pair_run(&w.pair);
	assert_true(w.pair.client.session->done);
	assert_int_equal(h->ops->eof(h, NULL), 0);
	assert_true(h->done);
	world_release(&w);
}

/* nghttp2 lets a PING overtake; its answer would then promise nothing. */
static void a_drain_is_announced_before_its_ping(void **state UNUSED)
{
	struct http_session *h;
	struct outbuf *o;
	struct world w;

	world_init(&w, NULL, 22);
	http_pair_run(&w.pair);
	h = w.pair.server.session;
	o = w.pair.out;
	h->ops->drain(h);
	(void)h->ops->output(h, o);
	assert_int_equal(o->total, 9 + 8 + 9 + 8);
	assert_int_equal(o->scratch[3], 7); /* GOAWAY */
	assert_int_equal(o->scratch[9 + 8 + 3], 6); /* PING */
	outbuf_clear(o);
	world_release(&w);
}

static void a_body_that_we_do_not_take_is_not_late(void **state UNUSED)
{
	struct http_stream *s;
	struct world w;

	world_init(&w, NULL, 23);
	w.server.hold = true;
	w.client.to_send = 2 * HTTP_WINDOW;
	s = ask(&w, "POST", "/hold", false);
	produce(s);
	http_pair_run(&w.pair);
	http_stream_body_timeout(w.stream, 500, 0);
	http_pair_advance(&w.pair, 600);
	http_pair_advance(&w.pair, 600);
	assert_int_equal(w.server.closes, 0);
	assert_int_equal(w.client.heads, 0);
	/* Now the peer may go on, and has as long again. */
	http_stream_consume(w.stream, HTTP_WINDOW);
	assert_int_equal(w.stream->deadline, w.pair.now + 500);
	http_pair_run(&w.pair);
	assert_int_equal(w.server.body.n, 2 * HTTP_WINDOW);
	world_release(&w);
}

/* A client that has taken one window of an answer, and gives no other. */
static void stall(struct world *w, uint64_t seed)
{
	struct http_config config = { .stall_timeout_ms = 1000 };

	world_init(w, &config, seed);
	w->client.hold = true;
	w->server.to_send = 3 * HTTP_WINDOW;
	(void)ask(w, "GET", "/stream", true);
	http_pair_run(&w->pair);
	assert_int_equal(w->client.body.n, HTTP_WINDOW);
}

static void an_answer_that_nobody_takes_is_reset(void **state UNUSED)
{
	struct http_stream *s;
	struct world w;

	stall(&w, 31);
	http_pair_advance(&w.pair, 999);
	assert_int_equal(w.server.closes, 0);
	/* More window is progress. */
	s = LIST_ENTRY(w.pair.client.session->streams.next, struct http_stream, link);
	http_stream_consume(s, HTTP_WINDOW);
	http_pair_run(&w.pair);
	http_pair_advance(&w.pair, 999);
	assert_int_equal(w.server.closes, 0);
	http_pair_advance(&w.pair, 1);
	assert_int_equal(w.server.closes, 1);
	assert_int_equal(w.server.err.code, ERR_TIMEOUT);
	assert_true(w.client.failed);
	world_release(&w);
}

static void a_stream_that_has_nothing_to_take_or_is_patient_waits(void **state UNUSED)
{
	struct world w;

	stall(&w, 32);
	http_stream_patient(w.stream);
	http_pair_advance(&w.pair, 1000 * 1000);
	assert_int_equal(w.server.closes, 0);
	world_release(&w);
	world_init(&w, NULL, 33);
	w.server.to_send = 0;
	(void)ask(&w, "GET", "/hold", true);
	http_pair_run(&w.pair);
	(void)http_stream_respond(w.stream, 200, NULL, 0, -1);
	(void)http_stream_send_copy(w.stream, STR("event"));
	http_pair_run(&w.pair);
	http_pair_advance(&w.pair, 1000 * 1000);
	assert_int_equal(w.server.closes, 0);
	world_release(&w);
}

/* As when a connection fails, or its owner leaves, in the middle of its input. */
static void close_all_streams(struct http_stream *s)
{
	struct http_session *h = s->session;
	struct error err;

	(void)error_set(&err, ERR_UNAVAILABLE, "gone");
	while (!list_empty(&h->streams))
		http_stream_close(LIST_ENTRY(h->streams.next, struct http_stream, link), &err);
}

static void streams_closed_from_outside_are_forgotten(void **state UNUSED)
{
	static const struct http_stream_ops ops = { .on_head = close_all_streams,
						    .on_close = seen_close };
	struct world w;

	world_init(&w, NULL, 24);
	w.server.to_send = 100;
	for (int i = 0; i < 3; i++) {
		(void)http_pair_request(&w.pair, STR("GET"), STR("/stream"), true, &ops, &w.client);
		w.server.to_send = 100;
	}
	http_pair_run(&w.pair);
	assert_int_equal(w.client.closes, 3);
	assert_int_equal(w.client.err.code, ERR_UNAVAILABLE);
	assert_int_equal(w.pair.client.session->nstreams, 0);
	assert_int_equal(w.server.closes, 3);
	assert_false(w.pair.client.failed || w.pair.server.failed);
	world_release(&w);
}

static void expect_continue_is_granted(void **state UNUSED)
{
	struct http_field expect = HTTP_FIELD("expect", STR("100-continue"));
	struct http_request r = { .method = STR("POST"),
				  .scheme = STR("http"),
				  .authority = STR("a"),
				  .target = STR("/echo"),
				  .fields = &expect,
				  .nfields = 1,
				  .length = -1,
				  .ops = &seen_ops };
	struct http_stream *s;
	struct world w;

	world_init(&w, NULL, 12);
	r.data = &w.client;
	assert_int_equal(http_session_request(w.pair.client.session, &r, &s, NULL), 0);
	http_pair_run(&w.pair);
	assert_int_equal(w.client.heads, 0); /* interim responses are not shown */
	(void)http_stream_send_copy(s, STR("body"));
	(void)http_stream_end(s, NULL, 0);
	http_pair_run(&w.pair);
	assert_int_equal(w.client.status, 200);
	assert_string_equal(w.client.body.p, "body");
	world_release(&w);
}

/* --- frames by hand ------------------------------------------------------------------- */

static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

static void add_frame(struct buf *b, uint8_t type, uint8_t flags, uint32_t stream,
		      const void *payload, size_t n)
{
	char head[9] = { (char)(n >> 16),      (char)(n >> 8),      (char)n,
			 (char)type,           (char)flags,         (char)(stream >> 24),
			 (char)(stream >> 16), (char)(stream >> 8), (char)stream };

	(void)buf_add(b, head, sizeof(head));
	(void)buf_add(b, payload, n);
}

/* Feeds what a client sent; the result of input(). */
static int feed(struct world *w, struct buf *b)
{
	struct http_session *h = w->pair.server.session;

	h->now = w->pair.now;
	return h->ops->input(h, b->p, b->n, &w->server.err);
}

static void start_by_hand(struct world *w, struct buf *b)
{
	world_init(w, NULL, 20);
	buf_init(b, MIB);
	(void)buf_addz(b, preface);
	add_frame(b, 4, 0, 0, NULL, 0);
}

static void floods(uint8_t type, uint32_t stream, const void *payload, size_t n, size_t times)
{
	struct world w;
	struct buf b;

	start_by_hand(&w, &b);
	for (size_t i = 0; i < times; i++)
		add_frame(&b, type, 0, stream, payload, n);
	assert_int_equal(feed(&w, &b), -ERR_TOO_MANY_REQUESTS);
	buf_release(&b);
	world_release(&w);
}

static void control_frames_without_end_are_a_flood(void **state UNUSED)
{
	static const char ping[8], priority[5] = { 0, 0, 0, 0, 1 };

	floods(6, 0, ping, sizeof(ping), HTTP2_CONTROL_BURST + 10);
	floods(4, 0, NULL, 0, HTTP2_CONTROL_BURST + 10);
	floods(2, 3, priority, sizeof(priority), HTTP2_CONTROL_BURST + 10);
}

/* As gRPC's Go implementation does, thousands a second, to measure the link. */
static void a_ping_for_each_answer_is_no_flood(void **state UNUSED)
{
	/* :method GET, :scheme http, :path /empty; :authority "a" */
	static const char get[] = { (char)0x82, (char)0x86, 0x04, 6,    '/', 'e', 'm',
				    'p',        't',        'y',  0x41, 1,   'a' };
	static const char ping[8];
	struct outbuf *out = outbuf_new();
	struct http_session *h;
	struct world w;
	struct buf b;

	start_by_hand(&w, &b);
	h = w.pair.server.session;
	for (uint32_t i = 0; i < 3 * HTTP2_CONTROL_BURST; i++) {
		add_frame(&b, 1, 5, 2 * i + 1, get, sizeof(get));
		add_frame(&b, 6, 0, 0, ping, sizeof(ping));
		assert_int_equal(feed(&w, &b), 0);
		while (h->ops->output(h, out))
			outbuf_clear(out);
		outbuf_clear(out);
		buf_clear(&b);
	}
	assert_int_equal(w.server.closes, 3 * HTTP2_CONTROL_BURST);
	outbuf_free(out);
	buf_release(&b);
	world_release(&w);
}

static void cancelled_streams_without_end_are_a_flood(void **state UNUSED)
{
	/* :method GET, :scheme http, :path /, from the static table; :authority "a" */
	static const char get[] = { (char)0x82, (char)0x86, (char)0x84, 0x41, 1, 'a' };
	static const char cancel[4] = { 0, 0, 0, 8 };
	struct world w;
	struct buf b;
	int r;

	start_by_hand(&w, &b);
	r = feed(&w, &b);
	for (uint32_t i = 0; i <= HTTP2_RESETS_BURST && r == 0; i++) {
		buf_clear(&b);
		add_frame(&b, 1, 5, 2 * i + 1, get, sizeof(get));
		add_frame(&b, 3, 0, 2 * i + 1, cancel, sizeof(cancel));
		r = feed(&w, &b);
	}
	assert_int_equal(r, -ERR_TOO_MANY_REQUESTS);
	buf_release(&b);
	world_release(&w);
}

static void continuations_without_end_are_refused(void **state UNUSED)
{
	static const char get[] = { (char)0x82, (char)0x86, (char)0x84 };
	struct world w;
	struct buf b;

	start_by_hand(&w, &b);
	add_frame(&b, 1, 1, 1, get, sizeof(get));
	for (int i = 0; i < HTTP2_CONTINUATIONS_MAX + 2; i++)
		add_frame(&b, 9, 0, 1, "\x40\x01x\x01y", 5);
	assert_true(feed(&w, &b) < 0);
	buf_release(&b);
	world_release(&w);
}

static void an_unfinished_header_block_times_out(void **state UNUSED)
{
	static const char get[] = { (char)0x82, (char)0x86, (char)0x84 };
	struct world w;
	struct buf b;

	start_by_hand(&w, &b);
	add_frame(&b, 1, 1, 1, get, sizeof(get)); /* no END_HEADERS */
	assert_int_equal(feed(&w, &b), 0);
	w.pair.client.over = true; /* only the server is driven here */
	http_pair_advance(&w.pair, 9999);
	assert_false(w.pair.server.failed);
	http_pair_advance(&w.pair, 2);
	assert_true(w.pair.server.failed);
	assert_int_equal(w.pair.server.err.code, ERR_SLOW_REQUEST);
	buf_release(&b);
	world_release(&w);
}

/* Plugins built on an old grpc-go send the path of a socket as :authority. */
static int path_as_authority(bool lax)
{
	static const char head[] = { (char)0x83, (char)0x86, 0x44, 2,   '/', 'x', 0x41, 7,
				     '/',        'a',        '/',  'b', '.', 's', 'k' };
	struct http_config config = { .lax_messaging = lax };
	struct world w;
	struct buf b;
	int heads;

	world_init(&w, &config, 21);
	buf_init(&b, MIB);
	(void)buf_addz(&b, preface);
	add_frame(&b, 4, 0, 0, NULL, 0);
	add_frame(&b, 1, 5, 1, head, sizeof(head));
	assert_int_equal(feed(&w, &b), 0);
	heads = w.server.heads;
	buf_release(&b);
	world_release(&w);
	return heads;
}

static void a_path_as_authority_passes_only_where_messaging_is_lax(void **state UNUSED)
{
	assert_int_equal(path_as_authority(false), 0);
	assert_int_equal(path_as_authority(true), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_is_answered_whatever_the_pieces),
		cmocka_unit_test(an_empty_body_ends_with_the_head),
		cmocka_unit_test(a_producer_is_held_while_the_reader_does_not_consume),
		cmocka_unit_test(an_upload_is_held_while_the_handler_does_not_consume),
		cmocka_unit_test(one_held_stream_does_not_stop_another),
		cmocka_unit_test(a_body_beyond_the_limit_is_413),
		cmocka_unit_test(a_slow_body_is_408),
		cmocka_unit_test(large_fields_are_431),
		cmocka_unit_test(both_sides_hear_of_a_reset),
		cmocka_unit_test(a_reset_while_output_is_queued_is_safe),
		cmocka_unit_test(trailers_arrive),
		cmocka_unit_test(a_drained_server_ends_after_its_streams),
		cmocka_unit_test(an_idle_client_closes_when_the_server_drains),
		cmocka_unit_test(a_drain_is_announced_before_its_ping),
		cmocka_unit_test(a_body_that_we_do_not_take_is_not_late),
		cmocka_unit_test(an_answer_that_nobody_takes_is_reset),
		cmocka_unit_test(a_stream_that_has_nothing_to_take_or_is_patient_waits),
		cmocka_unit_test(streams_closed_from_outside_are_forgotten),
		cmocka_unit_test(expect_continue_is_granted),
		cmocka_unit_test(control_frames_without_end_are_a_flood),
		cmocka_unit_test(a_ping_for_each_answer_is_no_flood),
		cmocka_unit_test(cancelled_streams_without_end_are_a_flood),
		cmocka_unit_test(continuations_without_end_are_refused),
		cmocka_unit_test(an_unfinished_header_block_times_out),
		cmocka_unit_test(a_path_as_authority_passes_only_where_messaging_is_lax),
	};

	return cmocka_run_group_tests_name("net/http2", tests, NULL, NULL);
}
