/*
 * The sequences are checked exactly where there is no jitter, and by their
 * bounds where there is.
 */
#include "base/time/backoff.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/core/compiler.h"
#include "base/core/random.h"

static void without_jitter_the_delay_grows_to_the_maximum(void **state)
{
	static const int64_t expected[] = { 100, 200, 400, 800, 1000, 1000, 1000 };
	struct backoff b = { .initial_ms = 100, .max_ms = 1000, .factor = 2 };
	struct prng g;

	prng_init(&g, 1);
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
		assert_int_equal(backoff_next(&b, &g), expected[i]);
	backoff_reset(&b);
	assert_int_equal(backoff_next(&b, &g), 100);
}

static void a_small_factor_still_grows_a_small_delay(void **state)
{
	struct backoff b = { .initial_ms = 1, .max_ms = 100, .factor = 1.1 };
	int64_t delay = 0;
	struct prng g;

	prng_init(&g, 1);
	for (int i = 0; i < 60; i++)
		delay = backoff_next(&b, &g);
	assert_int_equal(delay, 100);
}

static void jitter_shortens_by_its_share_at_most(void **state)
{
	struct backoff b = { .initial_ms = 1000, .max_ms = 1000, .factor = 1, .jitter = 0.5 };
	int64_t low = INT64_MAX, high = 0;
	struct prng g;

	prng_init(&g, 2);
	for (int i = 0; i < 2000; i++) {
		int64_t d = backoff_next(&b, &g);

		low = MIN(low, d);
		high = MAX(high, d);
	}
	assert_in_range(low, 500, 510);
	assert_in_range(high, 990, 1000);
}

static void a_delay_is_never_zero_nor_above_the_maximum(void **state)
{
	struct backoff b = { .initial_ms = 5, .max_ms = 2, .factor = 3, .jitter = 1 };
	struct prng g;

	prng_init(&g, 3);
	for (int i = 0; i < 1000; i++)
		assert_in_range(backoff_next(&b, &g), 1, 2);
}

static void equal_seeds_give_equal_delays(void **state)
{
	struct backoff a = { .initial_ms = 10, .max_ms = 10000, .factor = 2, .jitter = 1 }, b = a;
	struct prng ga, gb;

	prng_init(&ga, 4);
	prng_init(&gb, 4);
	for (int i = 0; i < 20; i++)
		assert_int_equal(backoff_next(&a, &ga), backoff_next(&b, &gb));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_jitter_the_delay_grows_to_the_maximum),
		cmocka_unit_test(a_small_factor_still_grows_a_small_delay),
		cmocka_unit_test(jitter_shortens_by_its_share_at_most),
		cmocka_unit_test(a_delay_is_never_zero_nor_above_the_maximum),
		cmocka_unit_test(equal_seeds_give_equal_delays),
	};

	return cmocka_run_group_tests_name("base/backoff", tests, NULL, NULL);
}
