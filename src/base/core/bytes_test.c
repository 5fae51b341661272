/*
 * Counts are checked by hand; that the last holder frees, and nobody reads
 * after that, is for the sanitizers.
 */
#include "base/core/bytes.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/core/queue.h"

static void a_copy_is_terminated_and_independent(void **state)
{
	char source[] = "hello";
	struct bytes *b = bytes_copy(str_from(source)), *empty = bytes_copy(STR_NULL);

	memset(source, 'x', 5);
	assert_string_equal(b->data, "hello");
	assert_int_equal(bytes_str(b).n, 5);
	assert_int_equal(bytes_str(empty).n, 0);
	assert_string_equal(empty->data, "");
	bytes_unref(b);
	bytes_unref(empty);
	bytes_unref(NULL);
}

static void new_bytes_are_for_their_maker_to_fill(void **state)
{
	CLEANUP(bytes_unref) struct bytes *b = bytes_new(3);

	memcpy(b->data, "abc", 3);
	assert_string_equal(b->data, "abc");
	assert_int_equal(atomic_load(&b->refs), 1);
}

static void references_are_counted(void **state)
{
	struct bytes *b = bytes_copy(STR("x"));

	assert_ptr_equal(bytes_ref(b), b);
	assert_int_equal(atomic_load(&b->refs), 2);
	bytes_unref(b);
	assert_int_equal(atomic_load(&b->refs), 1);
	bytes_unref(b);
}

static void slices_hold_their_owner(void **state)
{
	struct bytes *b = bytes_copy(STR("hello world"));
	struct slice all = slice_of(b), part = slice_part(b, 6, 5), none = slice_part(b, 11, 0);

	assert_int_equal(atomic_load(&b->refs), 4);
	bytes_unref(b);
	assert_true(str_eqz(str_of(all.p, all.n), "hello world"));
	slice_release(&all);
	assert_true(str_eqz(str_of(part.p, part.n), "world"));
	assert_int_equal(none.n, 0);
	slice_release(&none);
	slice_release(&part);
	assert_null(part.p);
	assert_null(part.owner);
	slice_release(&part);
}

static void static_bytes_have_no_owner(void **state)
{
	struct slice s = slice_static(STR("literal"));

	assert_null(s.owner);
	assert_true(str_eqz(str_of(s.p, s.n), "literal"));
	slice_release(&s);
	assert_int_equal(s.n, 0);
}

static void hold_and_drop(void *arg)
{
	struct bytes *b = arg;

	for (int i = 0; i < 10000; i++) {
		struct slice s = slice_part(b, 0, 1);

		slice_release(&s);
	}
	bytes_unref(b);
}

static void any_thread_may_be_the_last(void **state)
{
	struct bytes *b = bytes_copy(STR("shared"));
	struct thread threads[4];

	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		assert_int_equal(
			thread_start(&threads[i], "holder", hold_and_drop, bytes_ref(b), NULL), 0);
	bytes_unref(b);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		thread_join(&threads[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_copy_is_terminated_and_independent),
		cmocka_unit_test(new_bytes_are_for_their_maker_to_fill),
		cmocka_unit_test(references_are_counted),
		cmocka_unit_test(slices_hold_their_owner),
		cmocka_unit_test(static_bytes_have_no_owner),
		cmocka_unit_test(any_thread_may_be_the_last),
	};

	return cmocka_run_group_tests_name("base/bytes", tests, NULL, NULL);
}
