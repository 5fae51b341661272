/*
 * Bodies that are made when they are sent: whole, with any protocol and in any pieces; not before
 * the peer reads; not for nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "net/http/pair.h"
#include "net/net_limits.h"

enum { SIZE = 300 * 1000, FRAME_HEADER = 9, DATA = 0 };

struct world {
	struct http_pair pair;
	struct http_supply supply;
	size_t size; /* of the body */
	size_t made;
	struct bytes *large; /* pieces are copies and references to it in turn */
	struct http_stream *stream; /* the server's */
	/* The client's. */
	struct buf body;
	bool hold, ended;
	int closes;
};

static char byte_at(size_t i)
{
	return (char)('a' + i % 23);
}

static void put(struct http_supply *u, struct outbuf *o, size_t n)
{
	struct world *w = CONTAINER_OF(u, struct world, supply);

	assert_true(n > 0 && n <= 16 * 1024 && n <= w->size - w->made);
	assert_true(outbuf_room(o) || o->n > 0);
	for (size_t part; n; n -= part, w->made += part) {
		size_t at = w->made % 23;

		part = MIN(n, w->made % 2 ? (size_t)700 : (size_t)1500);
		if (part <= OUTBUF_COPY_MAX)
			outbuf_add(o, w->large->data + at, part);
		else
			outbuf_add_slice(o, slice_part(w->large, at, part));
	}
}

static void on_body(struct http_stream *s, struct str piece)
{
	struct world *w = s->data;

	assert_int_equal(buf_add_str(&w->body, piece), 0);
	if (!w->hold)
		http_stream_consume(s, piece.n);
}

static void on_end(struct http_stream *s)
{
	((struct world *)s->data)->ended = true;
}

static void on_close(struct http_stream *s, const struct error *err UNUSED)
{
	((struct world *)s->data)->closes++;
}

static const struct http_stream_ops client_ops = {
	.on_body = on_body,
	.on_end = on_end,
	.on_close = on_close,
};

static const struct http_stream_ops server_ops = { 0 };

static void handler(struct http_pair *p, struct http_stream *s)
{
	struct world *w = p->data;

	w->stream = http_stream_ref(s);
	s->ops = &server_ops;
	assert_int_equal(http_stream_supply(s, &w->supply, w->size), -ERR_CANCELED);
	assert_int_equal(http_stream_respond(s, 200, NULL, 0, (int64_t)w->size + 4), 0);
	assert_int_equal(http_stream_send_copy(s, STR("head")), 0);
	assert_int_equal(http_stream_supply(s, &w->supply, w->size), 0);
	assert_int_equal(http_stream_send_copy(s, STR("late")), -ERR_CANCELED);
}

static void world_init(struct world *w, enum http_version version, size_t size, uint64_t seed)
{
	*w = (struct world){ .supply.put = put, .size = size, .body = BUF_INIT(MIB) };
	w->large = bytes_new(4096);
	for (size_t i = 0; i < w->large->n; i++)
		w->large->data[i] = byte_at(i);
	http_pair_init(&w->pair, version, NULL, handler, seed);
	w->pair.data = w;
}

static void world_release(struct world *w)
{
	http_stream_unref(w->stream);
	http_pair_release(&w->pair);
	assert_int_equal(atomic_load(&w->large->refs), 1);
	bytes_unref(w->large);
	buf_release(&w->body);
}

static struct http_stream *ask(struct world *w, struct str method)
{
	return http_pair_request(&w->pair, method, STR("/"), true, &client_ops, w);
}

static void is_whole(const struct world *w)
{
	assert_int_equal(w->body.n, w->size + 4);
	assert_memory_equal(w->body.p, "head", 4);
	for (size_t i = 0; i < w->size; i++)
		if (w->body.p[4 + i] != byte_at(i))
			fail_msg("byte %zu is wrong", i);
	assert_true(w->ended);
	assert_int_equal(w->made, w->size);
}

static void a_body_arrives_whole(void **state UNUSED)
{
	static const enum http_version versions[] = { HTTP_1_1, HTTP_2 };

	for (uint64_t seed = 0; seed < 20; seed++) {
		struct world w;

		world_init(&w, versions[seed % 2], seed < 2 ? 0 : SIZE, seed);
		w.pair.piece_max = seed < 10 ? 0 : 5000;
		w.pair.wire_max = seed % 4 < 2 ? 0 : 30 * 1000;
		(void)ask(&w, STR("GET"));
		http_pair_run(&w.pair);
		is_whole(&w);
		world_release(&w);
	}
}

static void nothing_is_made_before_the_peer_reads(void **state UNUSED)
{
	struct http_stream *s;
	struct world w;

	world_init(&w, HTTP_2, SIZE, 1);
	w.hold = true;
	s = ask(&w, STR("GET"));
	http_pair_run(&w.pair);
	assert_int_equal(w.made, HTTP_WINDOW - 4);
	assert_int_equal(w.stream->out_n, 0);
	w.hold = false;
	http_stream_consume(s, s->unconsumed);
	http_pair_run(&w.pair);
	is_whole(&w);
	world_release(&w);
}

static void nothing_is_made_after_a_reset(void **state UNUSED)
{
	struct http_stream *s;
	struct world w;
	size_t made;

	world_init(&w, HTTP_2, SIZE, 2);
	w.hold = true;
	s = ask(&w, STR("GET"));
	http_pair_run(&w.pair);
	made = w.made;
	http_stream_reset(s, NULL);
	http_pair_run(&w.pair);
	assert_int_equal(w.closes, 1);
	assert_int_equal(w.made, made);
	assert_true(w.stream->closed);
	world_release(&w);
}

static void nothing_is_made_for_head(void **state UNUSED)
{
	struct world w;

	world_init(&w, HTTP_2, SIZE, 3);
	(void)ask(&w, STR("HEAD"));
	http_pair_run(&w.pair);
	assert_true(w.ended);
	assert_int_equal(w.body.n, 0);
	assert_int_equal(w.made, 0);
	world_release(&w);
}

/* The largest DATA frame on the wire to the client. */
static size_t largest_frame(const struct buf *wire)
{
	size_t largest = 0, n;

	for (size_t at = 0; at + FRAME_HEADER <= wire->n; at += FRAME_HEADER + n) {
		const unsigned char *h = (const unsigned char *)wire->p + at;

		n = (size_t)h[0] << 16 | (size_t)h[1] << 8 | h[2];
		if (h[3] == DATA)
			largest = MAX(largest, n);
	}
	return largest;
}

static void over_tls_a_frame_is_a_record(void **state UNUSED)
{
	static const size_t most[] = { 16 * 1024, 16 * 1024 - FRAME_HEADER };

	for (size_t tls = 0; tls < ARRAY_SIZE(most); tls++) {
		struct world w;

		world_init(&w, HTTP_2, SIZE, 4);
		http_pair_run(&w.pair);
		w.pair.server.session->tls = tls;
		(void)ask(&w, STR("GET"));
		w.pair.client.paused = true;
		http_pair_run(&w.pair);
		assert_int_equal(largest_frame(&w.pair.client.wire), most[tls]);
		w.pair.client.paused = false;
		http_pair_run(&w.pair);
		is_whole(&w);
		world_release(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_body_arrives_whole),
		cmocka_unit_test(nothing_is_made_before_the_peer_reads),
		cmocka_unit_test(nothing_is_made_after_a_reset),
		cmocka_unit_test(nothing_is_made_for_head),
		cmocka_unit_test(over_tls_a_frame_is_a_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
