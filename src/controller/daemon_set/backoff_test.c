/*
 * Intervals between deletions of failed pods.
 */
#include "controller/daemon_set/backoff.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void intervals_grow_to_fifteen_minutes(void **state UNUSED)
{
	struct daemon_backoff b;
	int64_t now = 1000000, expected = 1000;

	daemon_backoff_init(&b);
	assert_int_equal(daemon_backoff_take(&b, STR("n1"), now), 0);
	for (unsigned i = 0; i < 15; i++) {
		assert_int_equal(daemon_backoff_take(&b, STR("n1"), now), expected);
		assert_int_equal(daemon_backoff_take(&b, STR("n1"), now + expected - 1), 1);
		now += expected;
		assert_int_equal(daemon_backoff_take(&b, STR("n1"), now), 0);
		expected = MIN(2 * expected, (int64_t)DAEMON_BACKOFF_MAX_MS);
	}
	assert_int_equal(expected, 900000);
	assert_int_equal(daemon_backoff_count(&b, STR("n1")), 16);
	assert_int_equal(daemon_backoff_count(&b, STR("n2")), 0);
	/* Another node has its own. */
	assert_int_equal(daemon_backoff_take(&b, STR("n2"), now), 0);
	daemon_backoff_release(&b);
}

static void intervals_are_forgotten(void **state UNUSED)
{
	struct daemon_backoff b;
	int64_t now = 5;

	daemon_backoff_init(&b);
	for (unsigned i = 0; i < 4; i++, now += 1000000)
		assert_int_equal(daemon_backoff_take(&b, STR("n1"), now), 0);
	assert_int_equal(daemon_backoff_take(&b, STR("n1"), now - 1000000 + 7999), 1);
	now += 2 * DAEMON_BACKOFF_MAX_MS;
	assert_int_equal(daemon_backoff_take(&b, STR("n2"), now), 0);
	assert_int_equal(b.by_node.n, 1);
	assert_int_equal(daemon_backoff_take(&b, STR("n1"), now), 0);
	assert_int_equal(daemon_backoff_take(&b, STR("n1"), now), 1000);
	assert_int_equal(daemon_backoff_count(&b, STR("n1")), 1);
	daemon_backoff_clear(&b);
	assert_int_equal(daemon_backoff_take(&b, STR("n1"), now), 0);
	daemon_backoff_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intervals_grow_to_fifteen_minutes),
		cmocka_unit_test(intervals_are_forgotten),
	};

	return cmocka_run_group_tests_name("controller/daemon_backoff", tests, NULL, NULL);
}
