/*
 * Growth by doubling, the limit, and both ways of removing.
 */
#include "base/core/vec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/compiler.h"

struct pair {
	int a, b;
};

static void elements_keep_their_order_while_it_grows(void **state)
{
	VEC(int) v;

	vec_init(&v, 100000);
	for (int i = 0; i < 5000; i++)
		assert_true(vec_push(&v, i));
	assert_int_equal(v.n, 5000);
	for (int i = 0; i < 5000; i++)
		assert_int_equal(v.v[i], i);
	assert_true(v.cap < 10000);
	vec_release(&v);
	assert_null(v.v);
	assert_int_equal(v.n, 0);
	assert_int_equal(v.max, 100000);
}

static void a_struct_can_be_pushed_as_a_literal(void **state)
{
	VEC(struct pair) v;

	vec_init(&v, 10);
	assert_true(vec_push(&v, (struct pair){ 1, 2 }));
	assert_int_equal(v.v[0].b, 2);
	vec_release(&v);
}

static void a_full_vector_refuses_and_evaluates_nothing(void **state)
{
	VEC(int) v;
	int evaluated = 0;

	vec_init(&v, 3);
	for (int i = 0; i < 3; i++)
		assert_true(vec_push(&v, ++evaluated));
	assert_false(vec_push(&v, ++evaluated));
	assert_int_equal(evaluated, 3);
	assert_int_equal(v.n, 3);
	assert_int_equal(v.cap, 3);
	vec_release(&v);
}

static void reserving_makes_room_up_to_the_limit(void **state)
{
	VEC(int) v;
	int *before;

	vec_init(&v, 100);
	assert_true(vec_reserve(&v, 0));
	assert_true(vec_reserve(&v, 60));
	before = v.v;
	for (int i = 0; i < 60; i++)
		assert_true(vec_push(&v, i));
	assert_ptr_equal(v.v, before);
	assert_false(vec_reserve(&v, 41));
	assert_false(vec_reserve(&v, SIZE_MAX));
	assert_true(vec_reserve(&v, 40));
	vec_release(&v);
}

static void removing_closes_the_gap_or_swaps(void **state)
{
	VEC(int) v;

	vec_init(&v, 10);
	for (int i = 0; i < 5; i++)
		assert_true(vec_push(&v, i));
	vec_remove(&v, 1);
	assert_memory_equal(v.v, ((int[]){ 0, 2, 3, 4 }), 4 * sizeof(int));
	vec_remove_swap(&v, 0);
	assert_memory_equal(v.v, ((int[]){ 4, 2, 3 }), 3 * sizeof(int));
	vec_remove(&v, 2);
	vec_remove_swap(&v, 1);
	assert_int_equal(v.n, 1);
	assert_int_equal(v.v[0], 4);
	vec_remove(&v, 0);
	assert_int_equal(v.n, 0);
	vec_release(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(elements_keep_their_order_while_it_grows),
		cmocka_unit_test(a_struct_can_be_pushed_as_a_literal),
		cmocka_unit_test(a_full_vector_refuses_and_evaluates_nothing),
		cmocka_unit_test(reserving_makes_room_up_to_the_limit),
		cmocka_unit_test(removing_closes_the_gap_or_swaps),
	};

	return cmocka_run_group_tests_name("base/vec", tests, NULL, NULL);
}
