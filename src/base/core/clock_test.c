/*
 * The system clock is compared with the kernel's, bracketing it; the manual one
 * moves only by hand.
 */
#include "base/core/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>

static int64_t kernel_ns(clockid_t id)
{
	struct timespec ts;

	assert_int_equal(clock_gettime(id, &ts), 0);
	return (int64_t)ts.tv_sec * CLOCK_SEC + ts.tv_nsec;
}

static void the_system_clock_is_the_kernels(void **state)
{
	const struct clock *c = clock_system();
	int64_t before = kernel_ns(CLOCK_MONOTONIC), now = clock_monotonic(c);

	assert_true(before <= now);
	assert_true(now <= kernel_ns(CLOCK_MONOTONIC));
	/* May be set meanwhile, but hardly by a minute. */
	before = kernel_ns(CLOCK_REALTIME);
	now = clock_wall(c);
	assert_true(now > before - 60 * CLOCK_SEC && now < before + 60 * CLOCK_SEC);
}

static void monotonic_time_never_goes_back(void **state)
{
	int64_t last = clock_monotonic(clock_system());

	for (int i = 0; i < 1000; i++) {
		int64_t now = clock_monotonic(clock_system());

		assert_true(now >= last);
		last = now;
	}
}

static void a_manual_clock_moves_by_hand(void **state)
{
	struct clock_manual c;

	clock_manual_init(&c, 5, 7 * CLOCK_SEC);
	assert_int_equal(clock_monotonic(&c.clock), 5);
	assert_int_equal(clock_wall(&c.clock), 7 * CLOCK_SEC);
	assert_int_equal(clock_monotonic(&c.clock), 5);
	c.monotonic_ns += 100 * CLOCK_MS;
	c.wall_ns = -1;
	assert_int_equal(clock_monotonic(&c.clock), 100000005);
	assert_int_equal(clock_wall(&c.clock), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_system_clock_is_the_kernels),
		cmocka_unit_test(monotonic_time_never_goes_back),
		cmocka_unit_test(a_manual_clock_moves_by_hand),
	};

	return cmocka_run_group_tests_name("base/clock", tests, NULL, NULL);
}
