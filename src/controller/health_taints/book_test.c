/*
 * When a device is tainted, when no longer, and how many of a pool.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "controller/health_taints/book.h"

#define A STR("d/p/a")
#define B STR("d/p/b")
#define C STR("d/p/c")

enum { SECOND = 1000, POOL = 4 };

static int set_up(void **state)
{
	*state = health_taints_book_new(&(struct health_taints_limits){ 0 });
	return 0;
}

static int tear_down(void **state)
{
	health_taints_book_free(*state);
	return 0;
}

static size_t entries(struct health_taints_book *b)
{
	struct arena a;
	struct str *ids;
	size_t n;

	arena_init(&a, SIZE_MAX);
	n = health_taints_ids(b, &a, &ids);
	arena_release(&a);
	return n;
}

static void a_device_is_tainted_after_ten_seconds(void **state)
{
	struct health_taints_book *b = *state;

	health_taints_see(b, A, DEVICE_HEALTHY, 0);
	assert_int_equal(entries(b), 0);
	health_taints_see(b, A, DEVICE_UNHEALTHY, 5 * SECOND);
	assert_false(health_taints_wants(b, A, POOL, 14 * SECOND));
	health_taints_see(b, A, DEVICE_UNHEALTHY, 14 * SECOND);
	assert_true(health_taints_wants(b, A, POOL, 15 * SECOND));
	assert_int_equal(health_taints_tainted(b), 1);
}

static void a_device_that_flaps_is_not_tainted(void **state)
{
	struct health_taints_book *b = *state;

	for (int64_t t = 0; t < 100 * SECOND; t += 10 * SECOND) {
		health_taints_see(b, A, DEVICE_UNHEALTHY, t);
		assert_false(health_taints_wants(b, A, POOL, t + 9 * SECOND));
		health_taints_see(b, A, DEVICE_HEALTHY, t + 9 * SECOND);
		assert_int_equal(entries(b), 0);
	}
}

static void a_rule_goes_a_minute_after_recovery(void **state)
{
	struct health_taints_book *b = *state;

	health_taints_see(b, A, DEVICE_UNHEALTHY, 0);
	assert_true(health_taints_wants(b, A, POOL, 10 * SECOND));
	health_taints_rule(b, A, true, 10 * SECOND);
	health_taints_see(b, A, DEVICE_HEALTHY, 20 * SECOND);
	assert_true(health_taints_wants(b, A, POOL, 79 * SECOND));
	health_taints_see(b, A, DEVICE_UNHEALTHY, 79 * SECOND);
	health_taints_see(b, A, DEVICE_NOT_REPORTED, 81 * SECOND);
	assert_true(health_taints_wants(b, A, POOL, 140 * SECOND));
	assert_false(health_taints_wants(b, A, POOL, 141 * SECOND));
	assert_int_equal(entries(b), 1);
	health_taints_rule(b, A, false, 142 * SECOND);
	assert_int_equal(entries(b), 0);
	assert_int_equal(health_taints_tainted(b), 0);
}

static void unknown_is_no_recovery(void **state)
{
	struct health_taints_book *b = *state;

	health_taints_see(b, A, DEVICE_UNHEALTHY, 0);
	health_taints_see(b, A, DEVICE_UNKNOWN, 5 * SECOND);
	assert_true(health_taints_wants(b, A, POOL, 10 * SECOND));
	assert_true(health_taints_wants(b, A, POOL, 1000 * SECOND));
	health_taints_see(b, B, DEVICE_UNKNOWN, 5 * SECOND);
	assert_false(health_taints_wants(b, B, POOL, 1000 * SECOND));
}

static void half_of_a_pool_is_tainted_at_most(void **state)
{
	struct health_taints_book *b = *state;

	health_taints_see(b, A, DEVICE_UNHEALTHY, 0);
	health_taints_see(b, B, DEVICE_UNHEALTHY, 0);
	health_taints_see(b, C, DEVICE_UNHEALTHY, 0);
	assert_true(health_taints_wants(b, A, POOL, 10 * SECOND));
	assert_true(health_taints_wants(b, B, POOL, 10 * SECOND));
	assert_false(health_taints_wants(b, C, POOL, 10 * SECOND));
	assert_int_equal(health_taints_withheld(b), 1);
	health_taints_see(b, A, DEVICE_HEALTHY, 20 * SECOND);
	assert_false(health_taints_wants(b, A, POOL, 80 * SECOND));
	assert_true(health_taints_wants(b, C, POOL, 80 * SECOND));
	assert_int_equal(health_taints_withheld(b), 0);
	assert_int_equal(health_taints_tainted(b), 2);
}

static void one_device_of_a_small_pool_is_tainted(void **state)
{
	struct health_taints_book *b = *state;

	health_taints_see(b, A, DEVICE_UNHEALTHY, 0);
	health_taints_see(b, B, DEVICE_UNHEALTHY, 0);
	assert_true(health_taints_wants(b, A, 1, 10 * SECOND));
	assert_false(health_taints_wants(b, B, 1, 10 * SECOND));
	health_taints_see(b, B, DEVICE_HEALTHY, 11 * SECOND);
	assert_int_equal(health_taints_withheld(b), 0);
	assert_int_equal(entries(b), 1);
}

static void a_rule_of_an_earlier_controller_goes_when_nobody_needs_it(void **state)
{
	struct health_taints_book *b = *state;

	health_taints_rule(b, A, true, 0);
	health_taints_rule(b, STR("nonsense"), true, 0);
	assert_int_equal(entries(b), 1);
	assert_true(health_taints_wants(b, A, POOL, 59 * SECOND));
	assert_false(health_taints_wants(b, A, POOL, 60 * SECOND));
}

static void a_rule_that_somebody_deletes_is_wanted_again(void **state)
{
	struct health_taints_book *b = *state;

	health_taints_see(b, A, DEVICE_UNHEALTHY, 0);
	assert_true(health_taints_wants(b, A, POOL, 10 * SECOND));
	health_taints_rule(b, A, true, 10 * SECOND);
	health_taints_rule(b, A, false, 20 * SECOND);
	assert_true(health_taints_wants(b, A, POOL, 20 * SECOND));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(a_device_is_tainted_after_ten_seconds),
		TEST(a_device_that_flaps_is_not_tainted),
		TEST(a_rule_goes_a_minute_after_recovery),
		TEST(unknown_is_no_recovery),
		TEST(half_of_a_pool_is_tainted_at_most),
		TEST(one_device_of_a_small_pool_is_tainted),
		TEST(a_rule_of_an_earlier_controller_goes_when_nobody_needs_it),
		TEST(a_rule_that_somebody_deletes_is_wanted_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
