/*
 * Decisions about children: when they are restarted, and when not.
 */
#include "cli/up/supervisor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/core/compiler.h"
#include "base/core/random.h"
#include "cli/program/cli.h"

static const struct supervised_end killed = { .signum = 9 };
static const struct supervised_end failed = { .status = 1 };
static const struct supervised_end misused = { .status = CLI_USAGE };

struct world {
	struct supervised s;
	struct prng g;
	int64_t now, delay;
};

static void begin(struct world *w)
{
	*w = (struct world){ .now = 1000 };
	prng_init(&w->g, 1);
	supervised_init(&w->s, w->now);
	supervised_started(&w->s, w->now);
}

static enum supervised_verdict end_after(struct world *w, int64_t ms,
					 const struct supervised_end *end)
{
	w->now += ms;
	return supervised_ended(&w->s, end, w->now, &w->g, &w->delay);
}

static void start_again(struct world *w)
{
	w->now += w->delay;
	supervised_started(&w->s, w->now);
}

static void a_child_that_dies_is_started_again(void **state UNUSED)
{
	struct world w;

	begin(&w);
	supervised_ready(&w.s, w.now);
	assert_int_equal(end_after(&w, 50, &killed), SUPERVISED_AGAIN);
	assert_int_equal(w.s.state, SUPERVISED_BACKOFF);
	assert_in_range(w.delay, SUPERVISOR_FIRST_MS * 8 / 10, SUPERVISOR_FIRST_MS);
	start_again(&w);
	assert_int_equal(w.s.state, SUPERVISED_STARTING);
	assert_int_equal(w.s.restarts, 1);
}

static void delays_grow_up_to_a_bound(void **state UNUSED)
{
	struct world w;
	int64_t last = 0;

	begin(&w);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(end_after(&w, 1, &failed), SUPERVISED_AGAIN);
		assert_true(w.delay >= last * 8 / 10);
		assert_true(w.delay <= SUPERVISOR_MOST_MS);
		last = w.delay;
		start_again(&w);
	}
	assert_true(last >= SUPERVISOR_MOST_MS * 8 / 10);
	assert_int_equal(w.s.restarts, 20);
}

static void having_run_for_long_begins_the_delays_anew(void **state UNUSED)
{
	struct world w;

	begin(&w);
	for (int i = 0; i < 8; i++) {
		(void)end_after(&w, 1, &killed);
		start_again(&w);
	}
	(void)end_after(&w, SUPERVISOR_GOOD_MS, &killed);
	assert_true(w.delay <= SUPERVISOR_FIRST_MS);
}

static void being_ready_for_a_moment_does_not(void **state UNUSED)
{
	struct world w;

	begin(&w);
	for (int i = 0; i < 8; i++) {
		supervised_ready(&w.s, w.now);
		(void)end_after(&w, 500, &killed);
		start_again(&w);
	}
	assert_true(w.delay > SUPERVISOR_FIRST_MS * 10);
}

static void one_that_was_called_wrongly_is_given_up(void **state UNUSED)
{
	struct world w;

	begin(&w);
	assert_int_equal(end_after(&w, 5, &misused), SUPERVISED_GIVE_UP);
	assert_int_equal(w.s.state, SUPERVISED_FAILED);
}

static void before_all_was_ready_a_failure_ends_the_start(void **state UNUSED)
{
	struct supervised_end first = failed, shot = killed;
	struct world w;

	first.first = shot.first = true;
	begin(&w);
	assert_int_equal(end_after(&w, 5, &first), SUPERVISED_GIVE_ALL_UP);
	begin(&w);
	assert_int_equal(end_after(&w, 5, &shot), SUPERVISED_AGAIN);
}

static void one_that_was_told_to_stop_is_done(void **state UNUSED)
{
	struct world w;

	begin(&w);
	supervised_stopping(&w.s, w.now);
	assert_int_equal(w.s.state, SUPERVISED_STOPPING);
	assert_int_equal(end_after(&w, 5, &failed), SUPERVISED_DONE);
	assert_int_equal(w.s.state, SUPERVISED_STOPPED);
}

static void one_that_waits_for_its_start_stops_at_once(void **state UNUSED)
{
	struct world w;

	begin(&w);
	(void)end_after(&w, 5, &killed);
	supervised_stopping(&w.s, w.now);
	assert_int_equal(w.s.state, SUPERVISED_STOPPED);
	assert_false(supervised_runs(&w.s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_child_that_dies_is_started_again),
		cmocka_unit_test(delays_grow_up_to_a_bound),
		cmocka_unit_test(having_run_for_long_begins_the_delays_anew),
		cmocka_unit_test(being_ready_for_a_moment_does_not),
		cmocka_unit_test(one_that_was_called_wrongly_is_given_up),
		cmocka_unit_test(before_all_was_ready_a_failure_ends_the_start),
		cmocka_unit_test(one_that_was_told_to_stop_is_done),
		cmocka_unit_test(one_that_waits_for_its_start_stops_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
