#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/core/random.h"
#include "net/loop/gzip.h"

/* "hello\n" as gzip(1) with -n writes it. */
static const char hello[] = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"
			    "\xcb\x48\xcd\xc9\xc9\xe7\x02\x00\x20\x30\x3a\x36\x06\x00\x00\x00";
#define HELLO str_of(hello, sizeof(hello) - 1)

/* Half text, half noise: some of it shrinks, some does not. */
static void fill(struct buf *b, size_t n)
{
	struct prng g;
	char noise[64];

	prng_init(&g, n);
	while (b->n < n) {
		prng_bytes(&g, noise, sizeof(noise));
		assert_int_equal(buf_add(b, noise, MIN(sizeof(noise), n - b->n)), 0);
		if (b->n + 64 <= n)
			assert_int_equal(buf_printf(b, "%064zu", b->n), 0);
	}
}

static void inflate_reads_what_gzip_wrote(void **state)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(KIB);

	assert_int_equal(gzip_inflate(HELLO, &b, KIB, NULL), 0);
	assert_string_equal(b.p, "hello\n");
}

static void deflate_then_inflate_gives_the_same_bytes(void **state)
{
	static const size_t sizes[] = { 0, 1, 255, 256, 16384, 16385, 1000000 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (int level = 1; level <= 9; level += 4) {
			CLEANUP(buf_release) struct buf plain = BUF_INIT(MIB);
			CLEANUP(buf_release) struct buf packed = BUF_INIT(2 * MIB);
			CLEANUP(buf_release) struct buf back = BUF_INIT(MIB);

			fill(&plain, sizes[i]);
			assert_int_equal(gzip_deflate(buf_str(&plain), level, &packed, NULL), 0);
			assert_int_equal(gzip_inflate(buf_str(&packed), &back, plain.n, NULL), 0);
			assert_int_equal(back.n, plain.n);
			assert_true(str_eq(buf_str(&back), buf_str(&plain)));
		}
	}
}

/* Feeds pieces of `in_max` and takes pieces of `out_max` bytes. */
static int in_pieces(struct gzip *z, struct str in, size_t in_max, struct buf *out, size_t out_max,
		     struct error *err)
{
	struct str piece;
	size_t before;
	bool last;
	int r;

	do {
		piece = str_of(in.p, MIN(in.n, in_max));
		last = piece.n == in.n;
		before = out->n;
		r = gzip_step(z, &piece, last, out, out_max, err);
		assert_true(out->n - before <= out_max);
		/* Something must have moved, else this would never end. */
		assert_true(r != 0 || out->n > before || piece.p > in.p || !last);
		in = str_skip(in, (size_t)(piece.p - in.p));
	} while (r == 0);
	return r;
}

static void steps_of_any_size_give_the_same_bytes(void **state)
{
	static const size_t sizes[] = { 1, 7, 1000, 100000 };
	CLEANUP(buf_release) struct buf plain = BUF_INIT(MIB);

	fill(&plain, 50000);
	for (size_t i = 0; i < ARRAY_SIZE(sizes) * ARRAY_SIZE(sizes); i++) {
		CLEANUP(buf_release) struct buf packed = BUF_INIT(MIB);
		CLEANUP(buf_release) struct buf back = BUF_INIT(MIB);
		CLEANUP(gzip_free) struct gzip *d = gzip_deflate_new(1);
		CLEANUP(gzip_free) struct gzip *u = gzip_inflate_new();
		size_t in_max = sizes[i % 4], out_max = sizes[i / 4];

		assert_int_equal(in_pieces(d, buf_str(&plain), in_max, &packed, out_max, NULL), 1);
		assert_int_equal(in_pieces(u, buf_str(&packed), in_max, &back, out_max, NULL), 1);
		assert_true(str_eq(buf_str(&back), buf_str(&plain)));
	}
}

static void inflate_takes_several_streams_in_a_row(void **state)
{
	CLEANUP(buf_release) struct buf in = BUF_INIT(KIB);
	CLEANUP(buf_release) struct buf out = BUF_INIT(KIB);
	CLEANUP(gzip_free) struct gzip *z = gzip_inflate_new();

	for (int i = 0; i < 3; i++)
		assert_int_equal(buf_add_str(&in, HELLO), 0);
	assert_int_equal(gzip_inflate(buf_str(&in), &out, KIB, NULL), 0);
	assert_string_equal(out.p, "hello\nhello\nhello\n");

	buf_clear(&out);
	assert_int_equal(in_pieces(z, buf_str(&in), 1, &out, 1, NULL), 1);
	assert_string_equal(out.p, "hello\nhello\nhello\n");
}

static void the_end_may_be_told_after_the_last_byte(void **state)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(KIB);
	CLEANUP(gzip_free) struct gzip *z = gzip_inflate_new();
	struct str in = HELLO, nothing = STR_NULL;

	assert_int_equal(gzip_step(z, &in, false, &out, KIB, NULL), 0);
	assert_int_equal(in.n, 0);
	assert_int_equal(gzip_step(z, &nothing, true, &out, KIB, NULL), 1);
	assert_int_equal(gzip_step(z, &nothing, true, &out, KIB, NULL), 1);
	assert_string_equal(out.p, "hello\n");
}

static void inflate_refuses_every_truncation(void **state)
{
	for (size_t n = 0; n < HELLO.n; n++) {
		CLEANUP(buf_release) struct buf out = BUF_INIT(KIB);
		struct error err;

		assert_int_equal(gzip_inflate(str_of(hello, n), &out, KIB, &err), -ERR_BAD_REQUEST);
		assert_string_equal(err.msg, "gzip: the stream ends too early");
		assert_int_equal(out.n, 0);
	}
}

static void inflate_refuses_garbage_after_the_stream(void **state)
{
	static const char *const tails[] = { "x", "\x1f", "\x1f\x8b", "garbage, and more of it" };

	for (size_t i = 0; i < ARRAY_SIZE(tails); i++) {
		CLEANUP(buf_release) struct buf in = BUF_INIT(KIB);
		CLEANUP(buf_release) struct buf out = BUF_INIT(KIB);

		assert_int_equal(buf_add_str(&in, HELLO), 0);
		assert_int_equal(buf_addz(&in, tails[i]), 0);
		assert_int_equal(gzip_inflate(buf_str(&in), &out, KIB, NULL), -ERR_BAD_REQUEST);
	}
}

static void inflate_refuses_other_formats_and_broken_sums(void **state)
{
	/* zlib's own format, and raw text. */
	static const char zlib[] = "\x78\x9c\xcb\x48\xcd\xc9\xc9\xe7\x02\x00\x08\x4b\x02\x1f";
	CLEANUP(buf_release) struct buf out = BUF_INIT(KIB);
	char broken[sizeof(hello)];
	struct error err;

	assert_int_equal(gzip_inflate(STR("{}"), &out, KIB, &err), -ERR_BAD_REQUEST);
	assert_string_equal(err.msg, "gzip: incorrect header check");
	assert_int_equal(gzip_inflate(str_of(zlib, sizeof(zlib) - 1), &out, KIB, &err),
			 -ERR_BAD_REQUEST);

	memcpy(broken, hello, sizeof(hello));
	broken[18] ^= 1;
	assert_int_equal(gzip_inflate(str_of(broken, HELLO.n), &out, KIB, &err), -ERR_BAD_REQUEST);
	assert_string_equal(err.msg, "gzip: incorrect data check");
	assert_int_equal(out.n, 0);
}

static void inflate_stops_a_bomb_at_the_limit(void **state)
{
	CLEANUP(buf_release) struct buf zeros = BUF_INIT(8 * MIB);
	CLEANUP(buf_release) struct buf bomb = BUF_INIT(MIB);
	CLEANUP(buf_release) struct buf out = BUF_INIT(8 * MIB);
	struct error err;

	assert_int_equal(buf_reserve(&zeros, 8 * MIB), 0);
	memset(zeros.p, 0, 8 * MIB);
	zeros.n = 8 * MIB;
	assert_int_equal(gzip_deflate(buf_str(&zeros), 9, &bomb, NULL), 0);
	assert_true(bomb.n < 16 * KIB);

	assert_int_equal(gzip_inflate(buf_str(&bomb), &out, 100 * KIB, &err), -ERR_TOO_LARGE);
	assert_string_equal(err.msg, "gzip: the uncompressed data exceeds 102400 bytes");
	assert_true(out.cap <= 128 * KIB);
	assert_int_equal(out.n, 0);
	assert_int_equal(gzip_inflate(buf_str(&bomb), &out, 8 * MIB - 1, &err), -ERR_TOO_LARGE);
	assert_int_equal(gzip_inflate(buf_str(&bomb), &out, 8 * MIB, &err), 0);
	assert_int_equal(out.n, 8 * MIB);
}

static void the_buffer_s_own_limit_holds_too(void **state)
{
	CLEANUP(buf_release) struct buf exact = BUF_INIT(9);
	CLEANUP(buf_release) struct buf small = BUF_INIT(8);

	assert_int_equal(buf_addz(&exact, "abc"), 0);
	assert_int_equal(gzip_inflate(HELLO, &exact, SIZE_MAX, NULL), 0);
	assert_string_equal(exact.p, "abchello\n");

	assert_int_equal(buf_addz(&small, "abc"), 0);
	assert_int_equal(gzip_inflate(HELLO, &small, SIZE_MAX, NULL), -ERR_TOO_LARGE);
	assert_string_equal(small.p, "abc");
	assert_int_equal(small.max, 8);
	assert_int_equal(gzip_deflate(STR("hello\n"), 1, &small, NULL), -ERR_TOO_LARGE);
	assert_string_equal(small.p, "abc");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inflate_reads_what_gzip_wrote),
		cmocka_unit_test(deflate_then_inflate_gives_the_same_bytes),
		cmocka_unit_test(steps_of_any_size_give_the_same_bytes),
		cmocka_unit_test(inflate_takes_several_streams_in_a_row),
		cmocka_unit_test(the_end_may_be_told_after_the_last_byte),
		cmocka_unit_test(inflate_refuses_every_truncation),
		cmocka_unit_test(inflate_refuses_garbage_after_the_stream),
		cmocka_unit_test(inflate_refuses_other_formats_and_broken_sums),
		cmocka_unit_test(inflate_stops_a_bomb_at_the_limit),
		cmocka_unit_test(the_buffer_s_own_limit_holds_too),
	};

	return cmocka_run_group_tests_name("net/gzip", tests, NULL, NULL);
}
