/*
 * The decoder of length-prefixed messages: whole, in pieces, too large,
 * compressed, malformed; and what memory it takes for them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/core/random.h"
#include "grpc/frame.h"
#include "net/loop/gzip.h"

static void add_frame(struct buf *wire, unsigned flag, struct str body)
{
	const unsigned char prefix[] = { (unsigned char)flag, (unsigned char)(body.n >> 24),
					 (unsigned char)(body.n >> 16),
					 (unsigned char)(body.n >> 8), (unsigned char)body.n };

	assert_int_equal(buf_add(wire, prefix, sizeof(prefix)), 0);
	assert_int_equal(buf_add_str(wire, body), 0);
}

static void add_zipped(struct buf *wire, struct str body)
{
	CLEANUP(buf_release) struct buf zipped = BUF_INIT(MIB);

	assert_int_equal(gzip_deflate(body, 6, &zipped, NULL), 0);
	add_frame(wire, 1, buf_str(&zipped));
}

/* The i-th message of the property test: sizes around the borders of buffers. */
static struct str sample(size_t i, const char *from)
{
	static const size_t sizes[] = { 0, 1, 2, 5, 100, 255, 256, 257, 1000, 5000, 40000 };

	return str_of(from + i, sizes[i % ARRAY_SIZE(sizes)]);
}

static void messages_in_one_piece_are_not_copied(void **state UNUSED)
{
	CLEANUP(buf_release) struct buf wire = BUF_INIT(KIB);
	struct grpc_frame f;
	struct str in, message;
	struct error err;

	add_frame(&wire, 0, STR("one"));
	add_frame(&wire, 0, STR(""));
	add_frame(&wire, 0, STR("three"));
	in = buf_str(&wire);
	grpc_frame_init(&f, 0);
	assert_int_equal(grpc_frame_next(&f, &in, &message, &err), 1);
	assert_true(str_eq(message, STR("one")));
	assert_ptr_equal(message.p, wire.p + GRPC_PREFIX);
	assert_int_equal(grpc_frame_next(&f, &in, &message, &err), 1);
	assert_int_equal(message.n, 0);
	assert_int_equal(grpc_frame_next(&f, &in, &message, &err), 1);
	assert_true(str_eq(message, STR("three")));
	assert_int_equal(grpc_frame_next(&f, &in, &message, &err), 0);
	assert_false(grpc_frame_partial(&f));
	assert_null(f.body.p);
	grpc_frame_release(&f);
}

static void check_pieces(struct buf *wire, const char *noise, size_t count, struct prng *g,
			 size_t piece_max)
{
	struct grpc_frame f;
	struct str rest = buf_str(wire), message;
	struct error err;
	size_t seen = 0;

	grpc_frame_init(&f, 0);
	while (rest.n) {
		size_t n = MIN(rest.n, 1 + (size_t)prng_below(g, piece_max));
		struct str in = str_of(rest.p, n);
		int r;

		while ((r = grpc_frame_next(&f, &in, &message, &err)) > 0) {
			assert_true(str_eq(message, sample(seen, noise)));
			seen++;
			grpc_frame_drop(&f);
		}
		assert_int_equal(r, 0);
		assert_int_equal(in.n, 0);
		rest = str_skip(rest, n);
	}
	assert_int_equal(seen, count);
	assert_false(grpc_frame_partial(&f));
	grpc_frame_release(&f);
}

static void messages_come_out_the_same_however_they_are_cut(void **state UNUSED)
{
	static const size_t pieces[] = { 1, 2, 3, 7, 64, 1000, 16384, 1000000 };
	CLEANUP(buf_release) struct buf wire = BUF_INIT(MIB);
	CLEANUP(free) char *noise = xmalloc(64 * KIB);
	struct prng g;

	prng_init(&g, 7);
	prng_bytes(&g, noise, 64 * KIB);
	for (size_t i = 0; i < 44; i++)
		add_frame(&wire, 0, sample(i, noise));
	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++)
		check_pieces(&wire, noise, 44, &g, pieces[i]);
}

static void a_message_above_the_limit_is_refused_by_its_prefix(void **state UNUSED)
{
	static const char prefix[] = { 0, 0, 0x40, 0, 1 }; /* 4 MiB and one byte */
	struct str in = str_of(prefix, sizeof(prefix)), message;
	struct grpc_frame f;
	struct error err;

	grpc_frame_init(&f, 0);
	assert_int_equal(grpc_frame_next(&f, &in, &message, &err), -ERR_TOO_LARGE);
	assert_string_equal(err.msg,
			    "grpc: received message larger than max (4194305 vs. 4194304)");
	assert_int_equal(error_grpc_status((int)err.code), 8);
	assert_null(f.body.p);
	grpc_frame_release(&f);
}

static void memory_grows_with_what_arrives_not_with_what_is_announced(void **state UNUSED)
{
	static const char prefix[] = { 0, 0x03, (char)0xff, (char)0xff, (char)0xff };
	static const char some[100] = { 'x' };
	struct str in = str_of(prefix, sizeof(prefix)), message;
	struct grpc_frame f;
	struct error err;

	grpc_frame_init(&f, 64 * MIB);
	assert_int_equal(grpc_frame_next(&f, &in, &message, &err), 0);
	in = str_of(some, sizeof(some));
	assert_int_equal(grpc_frame_next(&f, &in, &message, &err), 0);
	assert_true(grpc_frame_partial(&f));
	assert_true(f.body.cap < 4 * KIB);
	grpc_frame_release(&f);
}

static void a_large_buffer_is_given_back_after_its_message(void **state UNUSED)
{
	CLEANUP(buf_release) struct buf wire = BUF_INIT(MIB);
	CLEANUP(free) char *body = xcalloc(1, 200 * KIB);
	struct str in, message;
	struct grpc_frame f;
	struct error err;

	add_frame(&wire, 0, str_of(body, 200 * KIB));
	grpc_frame_init(&f, 0);
	in = str_of(wire.p, 1000);
	assert_int_equal(grpc_frame_next(&f, &in, &message, &err), 0);
	in = str_skip(buf_str(&wire), 1000);
	assert_int_equal(grpc_frame_next(&f, &in, &message, &err), 1);
	assert_int_equal(message.n, 200 * KIB);
	assert_true(f.body.cap <= 200 * KIB);
	grpc_frame_drop(&f);
	assert_null(f.body.p);
	grpc_frame_release(&f);
}

static void an_unknown_encoding_is_refused(void **state UNUSED)
{
	struct grpc_frame f;
	struct error err;

	grpc_frame_init(&f, 0);
	assert_int_equal(grpc_frame_set_encoding(&f, STR_NULL, &err), 0);
	assert_int_equal(grpc_frame_set_encoding(&f, STR("identity"), &err), 0);
	assert_int_equal(grpc_frame_set_encoding(&f, STR("gzip"), &err), 0);
	assert_int_equal(grpc_frame_set_encoding(&f, STR("snappy"), &err), -ERR_UNIMPLEMENTED);
	assert_string_equal(err.msg,
			    "grpc: Decompressor is not installed for grpc-encoding \"snappy\"");
}

static void compressed_messages_are_inflated_between_plain_ones(void **state UNUSED)
{
	CLEANUP(buf_release) struct buf wire = BUF_INIT(KIB);
	struct str in, message;
	struct grpc_frame f;
	struct error err;

	add_zipped(&wire, STR("squeezed squeezed squeezed"));
	add_frame(&wire, 0, STR("plain"));
	add_zipped(&wire, STR(""));
	in = buf_str(&wire);
	grpc_frame_init(&f, 0);
	assert_int_equal(grpc_frame_set_encoding(&f, STR("gzip"), &err), 0);
	assert_int_equal(grpc_frame_next(&f, &in, &message, &err), 1);
	assert_true(str_eq(message, STR("squeezed squeezed squeezed")));
	grpc_frame_drop(&f);
	assert_int_equal(grpc_frame_next(&f, &in, &message, &err), 1);
	assert_true(str_eq(message, STR("plain")));
	assert_int_equal(grpc_frame_next(&f, &in, &message, &err), 1);
	assert_int_equal(message.n, 0);
	grpc_frame_release(&f);
}

static void a_bomb_is_stopped_at_the_limit(void **state UNUSED)
{
	CLEANUP(buf_release) struct buf wire = BUF_INIT(MIB);
	CLEANUP(free) char *zeroes = xcalloc(1, 512 * KIB);
	struct str in, message;
	struct grpc_frame f;
	struct error err;

	add_zipped(&wire, str_of(zeroes, 512 * KIB));
	assert_true(wire.n < 4 * KIB);
	in = buf_str(&wire);
	grpc_frame_init(&f, 64 * KIB);
	assert_int_equal(grpc_frame_set_encoding(&f, STR("gzip"), &err), 0);
	assert_int_equal(grpc_frame_next(&f, &in, &message, &err), -ERR_TOO_LARGE);
	assert_true(f.plain.cap <= 64 * KIB);
	grpc_frame_release(&f);
}

static void malformed_frames_are_protocol_errors(void **state UNUSED)
{
	static const struct {
		const char *bytes;
		size_t n;
		const char *encoding;
		const char *says;
	} rows[] = {
		{ "\2\0\0\0\0", 5, "gzip", "grpc: received unexpected payload format 2" },
		{ "\xff\0\0\0\1x", 6, "", "grpc: received unexpected payload format 255" },
		{ "\1\0\0\0\1x", 6, "identity",
		  "grpc: compressed flag set with identity or empty encoding" },
		{ "\1\0\0\0\1x", 6, "",
		  "grpc: compressed flag set with identity or empty encoding" },
		{ "\1\0\0\0\4junk", 9, "gzip", "grpc: failed to decompress the message" },
		{ "\1\0\0\0\0", 5, "gzip", "grpc: failed to decompress the message" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct str in = str_of(rows[i].bytes, rows[i].n), message;
		struct grpc_frame f;
		struct error err;

		grpc_frame_init(&f, 0);
		assert_int_equal(grpc_frame_set_encoding(&f, str_from(rows[i].encoding), &err), 0);
		assert_int_equal(grpc_frame_next(&f, &in, &message, &err), -ERR_PROTOCOL);
		assert_string_equal(err.msg, rows[i].says);
		grpc_frame_release(&f);
	}
}

static void a_stream_that_ends_within_a_message_is_noticed(void **state UNUSED)
{
	CLEANUP(buf_release) struct buf wire = BUF_INIT(KIB);
	struct error err;

	add_frame(&wire, 0, STR("abc"));
	for (size_t n = 0; n <= wire.n; n++) {
		struct str in = str_of(wire.p, n), message;
		struct grpc_frame f;

		grpc_frame_init(&f, 0);
		assert_int_equal(grpc_frame_next(&f, &in, &message, &err), n == wire.n);
		assert_int_equal(grpc_frame_partial(&f), n > 0 && n < wire.n);
		grpc_frame_release(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_in_one_piece_are_not_copied),
		cmocka_unit_test(messages_come_out_the_same_however_they_are_cut),
		cmocka_unit_test(a_message_above_the_limit_is_refused_by_its_prefix),
		cmocka_unit_test(memory_grows_with_what_arrives_not_with_what_is_announced),
		cmocka_unit_test(a_large_buffer_is_given_back_after_its_message),
		cmocka_unit_test(an_unknown_encoding_is_refused),
		cmocka_unit_test(compressed_messages_are_inflated_between_plain_ones),
		cmocka_unit_test(a_bomb_is_stopped_at_the_limit),
		cmocka_unit_test(malformed_frames_are_protocol_errors),
		cmocka_unit_test(a_stream_that_ends_within_a_message_is_noticed),
	};

	return cmocka_run_group_tests_name("grpc/frame", tests, NULL, NULL);
}
