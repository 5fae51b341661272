/*
 * Gathering: what is added comes out in order, references are kept and
 * dropped exactly once, and what a socket did not take survives.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "base/core/random.h"
#include "net/loop/outbuf.h"

static void join(const struct outbuf *o, struct buf *all)
{
	for (int i = 0; i < o->n; i++)
		(void)buf_add(all, o->iov[i].iov_base, o->iov[i].iov_len);
}

static void small_things_share_one_piece(void **state UNUSED)
{
	CLEANUP(buf_release) struct buf all = BUF_INIT(MIB);
	struct outbuf *o = outbuf_new();

	outbuf_add(o, "one ", 4);
	outbuf_add_slice(o, slice_static(STR("two ")));
	outbuf_add(o, "three", 5);
	assert_int_equal(o->n, 1);
	assert_int_equal(o->total, 13);
	join(o, &all);
	assert_string_equal(all.p, "one two three");
	outbuf_free(o);
}

static void a_large_slice_is_carried_and_its_reference_taken_over(void **state UNUSED)
{
	struct bytes *b = bytes_new(5000);
	struct outbuf *o = outbuf_new();

	memset(b->data, 'x', b->n);
	outbuf_add(o, "head", 4);
	outbuf_add_slice(o, slice_of(b));
	assert_int_equal(o->n, 2);
	assert_ptr_equal(o->iov[1].iov_base, b->data);
	assert_int_equal(atomic_load(&b->refs), 2);
	outbuf_clear(o);
	assert_int_equal(atomic_load(&b->refs), 1);
	bytes_unref(b);
	outbuf_free(o);
}

static void neighbouring_parts_of_one_owner_become_one_piece(void **state UNUSED)
{
	struct bytes *b = bytes_new(6000);
	struct outbuf *o = outbuf_new();

	memset(b->data, 'x', b->n);
	outbuf_add_slice(o, slice_part(b, 0, 2000));
	outbuf_add_slice(o, slice_part(b, 2000, 3000));
	assert_int_equal(o->n, 1);
	assert_int_equal(o->iov[0].iov_len, 5000);
	assert_int_equal(atomic_load(&b->refs), 2);
	outbuf_free(o);
	bytes_unref(b);
}

/* A frame of 16 KiB in slices of `size`. */
static void add_frame(struct outbuf *o, size_t size)
{
	struct bytes *b;
	size_t n;

	outbuf_add(o, "123456789", 9);
	for (size_t left = 16384; left; left -= n) {
		n = MIN(left, size);
		b = bytes_new(n);
		memset(b->data, 'x', n);
		outbuf_add_slice(o, (struct slice){ b->data, n, b });
	}
}

/* The adders assert that it fits. */
static void room_is_enough_for_a_frame_in_pieces_of_any_size(void **state UNUSED)
{
	static const size_t sizes[] = { 1, 100, OUTBUF_COPY_MAX, OUTBUF_COPY_MAX + 1, 5000, 16384 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct outbuf *o = outbuf_new();

		while (outbuf_room(o))
			add_frame(o, sizes[i]);
		assert_true(o->n <= OUTBUF_IOVS && o->scratch_n <= OUTBUF_SCRATCH);
		outbuf_free(o);
	}
}

/* As in a list of objects: a comma between each two. */
static void room_is_enough_for_large_and_small_pieces_in_turn(void **state UNUSED)
{
	struct outbuf *o = outbuf_new();

	while (outbuf_room(o)) {
		outbuf_add(o, "123456789", 9);
		for (size_t sent = 0; sent + OUTBUF_COPY_MAX + 2 <= 16384;) {
			struct bytes *b = bytes_new(OUTBUF_COPY_MAX + 1);

			memset(b->data, 'x', b->n);
			sent += b->n + 1;
			outbuf_add_slice(o, (struct slice){ b->data, b->n, b });
			outbuf_add_slice(o, slice_static(STR(",")));
		}
	}
	assert_true(o->n <= OUTBUF_IOVS && o->scratch_n <= OUTBUF_SCRATCH);
	outbuf_free(o);
}

/* Random content, written up to a random byte: the rest is exactly what is missing. */
static void unwritten_data_is_kept(void **state UNUSED)
{
	struct prng g;

	prng_init(&g, 7);
	for (int round = 0; round < 300; round++) {
		CLEANUP(buf_release) struct buf all = BUF_INIT(MIB);
		CLEANUP(buf_release) struct buf got = BUF_INIT(MIB);
		struct slice rest[OUTBUF_IOVS];
		struct outbuf *o = outbuf_new();
		size_t written;
		int n;

		for (int i = 0; i < 8 && outbuf_room(o); i++) {
			struct bytes *b = bytes_new((size_t)prng_below(&g, 4000));

			prng_bytes(&g, b->data, b->n);
			outbuf_add_slice(o, (struct slice){ b->data, b->n, b });
		}
		join(o, &all);
		written = (size_t)prng_below(&g, all.n + 1);
		n = outbuf_keep(o, written, rest);
		assert_int_equal(o->n, 0);
		memset(o->scratch, 0xee, sizeof(o->scratch)); /* used by others meanwhile */
		for (int i = 0; i < n; i++) {
			(void)buf_add(&got, rest[i].p, rest[i].n);
			slice_release(&rest[i]);
		}
		assert_int_equal(got.n, all.n - written);
		if (got.n)
			assert_memory_equal(got.p, all.p + written, got.n);
		outbuf_free(o);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_things_share_one_piece),
		cmocka_unit_test(a_large_slice_is_carried_and_its_reference_taken_over),
		cmocka_unit_test(neighbouring_parts_of_one_owner_become_one_piece),
		cmocka_unit_test(room_is_enough_for_a_frame_in_pieces_of_any_size),
		cmocka_unit_test(room_is_enough_for_large_and_small_pieces_in_turn),
		cmocka_unit_test(unwritten_data_is_kept),
	};

	return cmocka_run_group_tests_name("net/outbuf", tests, NULL, NULL);
}
