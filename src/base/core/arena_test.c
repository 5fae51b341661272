/*
 * Alignment, limits and the order in which held objects are dropped. Memory
 * errors show under the address sanitizer: every byte handed out is written.
 */
#include "base/core/arena.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/core/random.h"

static void allocations_are_aligned_and_do_not_overlap(void **state)
{
	enum { N = 2000 };
	static struct {
		char *p;
		size_t n;
	} pieces[N];
	struct arena a;
	struct prng g;

	prng_init(&g, 1);
	arena_init(&a, SIZE_MAX);
	for (int i = 0; i < N; i++) {
		pieces[i].n = prng_below(&g, prng_below(&g, 50) ? 200 : 20000);
		pieces[i].p = arena_alloc(&a, pieces[i].n);
		assert_int_equal((uintptr_t)pieces[i].p % 16, 0);
		memset(pieces[i].p, i % 251, pieces[i].n);
	}
	for (int i = 0; i < N; i++)
		for (size_t at = 0; at < pieces[i].n; at++)
			assert_int_equal((unsigned char)pieces[i].p[at], i % 251);
	arena_release(&a);
}

static void a_small_request_stays_in_the_owners_block(void **state)
{
	_Alignas(16) char block[1024];
	struct arena a;
	char *p;

	arena_init_in(&a, 0, block, sizeof(block));
	p = arena_alloc(&a, 1000);
	assert_true(p >= block && p + 1000 <= block + sizeof(block));
	assert_int_equal(a.used, 0);
	p = arena_alloc(&a, 100);
	assert_false(p >= block && p < block + sizeof(block));
	arena_clear(&a);
	assert_ptr_equal(arena_alloc(&a, 1), block);
	arena_release(&a);
}

static void a_lent_block_is_used_next(void **state)
{
	_Alignas(16) char block[64], lent[64];
	struct arena a;

	arena_init_in(&a, 0, block, sizeof(block));
	assert_ptr_equal(arena_alloc(&a, 1), block);
	arena_lend(&a, lent, sizeof(lent));
	assert_ptr_equal(arena_alloc(&a, sizeof(lent)), lent);
	memset(arena_alloc(&a, 1), 1, 1);
	assert_true(a.used > 0);
	arena_clear(&a);
	assert_ptr_equal(arena_alloc(&a, 1), block);
	arena_release(&a);
}

static void an_unaligned_block_is_used_from_its_first_aligned_byte(void **state)
{
	_Alignas(16) char block[64];
	struct arena a;

	arena_init_in(&a, 0, block + 1, sizeof(block) - 1);
	assert_ptr_equal(arena_alloc(&a, 48), block + 16);
	arena_release(&a);
	arena_init_in(&a, 0, block + 1, 3);
	memset(arena_alloc(&a, 8), 1, 8);
	assert_true(a.used > 0);
	arena_release(&a);
}

static void a_large_piece_leaves_the_current_block_in_use(void **state)
{
	struct arena a;
	char *before, *after;

	arena_init(&a, SIZE_MAX);
	before = arena_alloc(&a, 16);
	memset(arena_alloc(&a, 1 * MIB), 1, 1 * MIB);
	after = arena_alloc(&a, 16);
	assert_ptr_equal(after, before + 16);
	arena_release(&a);
}

static void cleared_memory_is_zero_and_none_is_a_piece_too(void **state)
{
	struct arena a;
	int *v;

	arena_init(&a, SIZE_MAX);
	memset(arena_alloc(&a, 100), 0xff, 100);
	v = ARENA_ARRAY(&a, int, 100);
	for (int i = 0; i < 100; i++)
		assert_int_equal(v[i], 0);
	assert_ptr_not_equal(arena_alloc(&a, 0), arena_alloc(&a, 0));
	arena_release(&a);
}

/* Allocates pieces until the limit; returns the total. */
static size_t exhaust(size_t limit, size_t size)
{
	struct arena a;
	size_t got = 0;
	char *p;

	arena_init(&a, limit);
	while ((p = arena_try_alloc(&a, size))) {
		memset(p, 1, size);
		got += size;
		assert_true(a.used <= limit);
	}
	arena_release(&a);
	return got;
}

static void the_limit_bounds_what_is_taken_from_the_heap(void **state)
{
	static const size_t limits[] = { 100, 5000, 8192, 100000, 1000000 };

	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		for (size_t size = 1; size <= 5000; size = size * 3 + 1) {
			size_t got = exhaust(limits[i], size);

			/* And most of it can be allocated, in much smaller pieces. */
			if (size >= 16 && size * 10 < limits[i])
				assert_true(got >= limits[i] / 2);
		}
	}
}

static void sizes_that_input_chose_cannot_overflow(void **state)
{
	volatile size_t most = SIZE_MAX; /* not to be refused by the compiler already */
	struct arena a;

	arena_init(&a, 1000);
	assert_null(arena_try_alloc(&a, most));
	assert_null(arena_try_alloc(&a, most - 8));
	assert_null(arena_try_alloc(&a, 1001));
	assert_non_null(arena_try_alloc(&a, 10));
	arena_release(&a);
	arena_init(&a, SIZE_MAX);
	assert_null(arena_try_alloc(&a, most - 8));
	arena_release(&a);
}

static void the_owners_block_counts_for_no_limit(void **state)
{
	_Alignas(16) char block[256];
	struct arena a;

	arena_init_in(&a, 0, block, sizeof(block));
	assert_non_null(arena_try_alloc(&a, 256));
	assert_null(arena_try_alloc(&a, 1));
	arena_release(&a);
}

static void text_is_copied_and_terminated(void **state)
{
	struct arena a;
	char source[] = "abcdef";
	struct str s;

	arena_init(&a, SIZE_MAX);
	s = arena_str(&a, str_of(source, 3));
	memset(source, 'z', 6);
	assert_string_equal(s.p, "abc");
	assert_int_equal(s.n, 3);
	assert_string_equal(arena_lower(&a, STR("aZ{@[\xc3\x89")).p, "az{@[\xc3\x89");
	assert_string_equal(arena_strdup(&a, STR_NULL), "");
	assert_string_equal(arena_printf(&a, "%s-%d", "x", 5), "x-5");
	arena_release(&a);
}

struct held {
	char name;
	char *log; /* where the name goes when it is dropped */
};

static void drop(void *object)
{
	struct held *h = object;

	h->log[strlen(h->log)] = h->name;
}

static void hold(struct arena *a, char name, char *log)
{
	struct held *h = ARENA_NEW(a, struct held);

	*h = (struct held){ .name = name, .log = log };
	arena_hold(a, drop, h);
}

static void held_objects_are_dropped_in_reverse_order(void **state)
{
	char log[8] = "";
	struct arena a;

	arena_init(&a, SIZE_MAX);
	hold(&a, 'a', log);
	hold(&a, 'b', log);
	hold(&a, 'c', log);
	arena_clear(&a);
	assert_string_equal(log, "cba");
	arena_clear(&a);
	assert_string_equal(log, "cba");
	arena_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(allocations_are_aligned_and_do_not_overlap),
		cmocka_unit_test(a_small_request_stays_in_the_owners_block),
		cmocka_unit_test(a_lent_block_is_used_next),
		cmocka_unit_test(an_unaligned_block_is_used_from_its_first_aligned_byte),
		cmocka_unit_test(a_large_piece_leaves_the_current_block_in_use),
		cmocka_unit_test(cleared_memory_is_zero_and_none_is_a_piece_too),
		cmocka_unit_test(the_limit_bounds_what_is_taken_from_the_heap),
		cmocka_unit_test(sizes_that_input_chose_cannot_overflow),
		cmocka_unit_test(the_owners_block_counts_for_no_limit),
		cmocka_unit_test(text_is_copied_and_terminated),
		cmocka_unit_test(held_objects_are_dropped_in_reverse_order),
	};

	return cmocka_run_group_tests_name("base/arena", tests, NULL, NULL);
}
