/*
 * The order and time of calls; the test is the clock.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/compiler.h"
#include "base/core/random.h"
#include "node/attach/poll.h"

enum { IDLE = 10 * 1000 };

struct world {
	struct attach_poll poll;
	struct attach_poll_ops ops;
	struct prng prng;
	int64_t now;
	bool gettable, settled; /* for all pods */
	struct str uid; /* of the last Get */
	int64_t wait;
};

static bool asks_get(void *arg, struct str uid UNUSED)
{
	return ((struct world *)arg)->gettable;
}

static bool is_settled(void *arg, struct str uid UNUSED)
{
	return ((struct world *)arg)->settled;
}

static enum attach_ask next(struct world *w)
{
	return attach_poll_next(&w->poll, &w->ops, w->now, &w->uid, &w->wait);
}

static void answered(struct world *w)
{
	attach_poll_answered(&w->poll, &w->ops, w->now);
}

static void expect(struct world *w, enum attach_ask ask)
{
	assert_int_equal(next(w), ask);
	answered(w);
}

/* Expects no call for this time, which then has passed. */
static void quiet(struct world *w, int64_t ms)
{
	assert_int_equal(next(w), ATTACH_ASK_NOTHING);
	assert_int_equal(w->wait, ms);
	w->now += ms;
}

/* The first List and allocatable were received, long ago. */
static void init(struct world *w)
{
	*w = (struct world){ .now = 5000, .gettable = true, .settled = true };
	w->ops = (struct attach_poll_ops){ asks_get, is_settled, w };
	prng_init(&w->prng, 1);
	attach_poll_init(&w->poll, 0, 0, w->now);
	expect(w, ATTACH_ASK_ALLOCATABLE);
	expect(w, ATTACH_ASK_LIST);
	w->now += IDLE - 1000;
}

static void without_a_reason_little_is_asked(void **state UNUSED)
{
	struct world w;
	int64_t began;
	int calls = 0;

	init(&w);
	quiet(&w, 1000);
	for (began = w.now; w.now < began + 60 * 1000; w.now += MAX(w.wait, 0)) {
		if (next(&w) != ATTACH_ASK_NOTHING) {
			answered(&w);
			calls++;
		}
	}
	assert_int_equal(calls, 12);
	attach_poll_release(&w.poll);
}

static void one_pod_is_asked_for_by_get_and_two_by_list(void **state UNUSED)
{
	struct world w;

	init(&w);
	attach_poll_pod(&w.poll, STR("u1"), w.now);
	quiet(&w, 20);
	assert_int_equal(next(&w), ATTACH_ASK_GET);
	assert_true(str_eqz(w.uid, "u1"));
	answered(&w);
	quiet(&w, 980);
	expect(&w, ATTACH_ASK_ALLOCATABLE);
	expect(&w, ATTACH_ASK_LIST);
	attach_poll_pod(&w.poll, STR("u1"), w.now);
	w.now += 5;
	attach_poll_pod(&w.poll, STR("u2"), w.now);
	quiet(&w, 15);
	w.now += 5;
	expect(&w, ATTACH_ASK_LIST);
	quiet(&w, IDLE - 25);
	attach_poll_release(&w.poll);
}

static void a_burst_of_reasons_makes_one_call(void **state UNUSED)
{
	struct world w;
	char uid[8] = "u0";

	init(&w);
	for (int i = 0; i < 100; i++) {
		uid[1] = (char)('0' + i % 50);
		attach_poll_pod(&w.poll, str_from(uid), w.now);
	}
	quiet(&w, 20);
	expect(&w, ATTACH_ASK_LIST);
	quiet(&w, 980); /* until allocatable */
	attach_poll_release(&w.poll);
}

static void a_pod_of_which_more_is_expected_is_asked_for_ever_less_often(void **state UNUSED)
{
	static const int64_t waits[] = { 50, 100, 200, 400, 800, 1600, 3200, 4000, 4000 };
	struct world w;

	init(&w);
	w.poll.idle_ms = w.poll.list_due = w.poll.allocatable_due = INT64_MAX / 2;
	w.settled = false;
	attach_poll_pod(&w.poll, STR("u1"), w.now);
	w.now += 20;
	expect(&w, ATTACH_ASK_GET);
	for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
		quiet(&w, waits[i]);
		expect(&w, ATTACH_ASK_GET);
	}
	attach_poll_pod(&w.poll, STR("u1"), w.now); /* a new change: soon again */
	quiet(&w, 20);
	expect(&w, ATTACH_ASK_GET);
	quiet(&w, 50);
	w.settled = true;
	expect(&w, ATTACH_ASK_GET);
	assert_int_equal(next(&w), ATTACH_ASK_NOTHING);
	assert_true(w.wait > IDLE);
	attach_poll_release(&w.poll);
}

static void many_such_pods_are_asked_for_together(void **state UNUSED)
{
	struct world w;
	char uid[8] = "u0";
	int calls = 0;

	init(&w);
	w.poll.idle_ms = w.poll.list_due = w.poll.allocatable_due = INT64_MAX / 2;
	w.settled = false;
	for (int i = 0; i < 50; i++, w.now += 70) {
		uid[1] = (char)('0' + i);
		attach_poll_pod(&w.poll, str_from(uid), w.now);
		if (next(&w) != ATTACH_ASK_NOTHING)
			answered(&w);
	}
	w.now += 30 * 1000;
	expect(&w, ATTACH_ASK_LIST);
	for (int64_t end = w.now + 60 * 1000; w.now < end; w.now += MAX(w.wait, 1)) {
		if (next(&w) != ATTACH_ASK_NOTHING) {
			answered(&w);
			calls++;
		}
	}
	assert_in_range(calls, 15, 20);
	attach_poll_release(&w.poll);
}

static void a_pod_that_a_list_left_open_is_requested_again(void **state UNUSED)
{
	struct world w;

	init(&w);
	attach_poll_expect(&w.poll, STR("u1"), w.now);
	attach_poll_expect(&w.poll, STR("u1"), w.now + 40);
	quiet(&w, 50);
	expect(&w, ATTACH_ASK_GET);
	attach_poll_release(&w.poll);
}

static void a_reason_that_comes_during_a_call_outlives_its_answer(void **state UNUSED)
{
	struct world w;

	init(&w);
	attach_poll_pod(&w.poll, STR("u1"), w.now);
	w.now += 20;
	assert_int_equal(next(&w), ATTACH_ASK_GET);
	attach_poll_pod(&w.poll, STR("u1"), w.now);
	assert_int_equal(next(&w), ATTACH_ASK_NOTHING);
	assert_int_equal(w.wait, -1);
	answered(&w);
	quiet(&w, 20);
	expect(&w, ATTACH_ASK_GET);
	attach_poll_list(&w.poll, w.now);
	assert_int_equal(next(&w), ATTACH_ASK_LIST);
	attach_poll_list(&w.poll, w.now);
	answered(&w);
	quiet(&w, 20);
	expect(&w, ATTACH_ASK_LIST);
	attach_poll_release(&w.poll);
}

static void a_pod_that_get_cannot_show_is_listed(void **state UNUSED)
{
	struct world w;

	init(&w);
	w.gettable = false;
	attach_poll_pod(&w.poll, STR("u1"), w.now);
	w.now += 20;
	expect(&w, ATTACH_ASK_LIST);
	w.gettable = true;
	attach_poll_offer_get(&w.poll, false);
	attach_poll_pod(&w.poll, STR("u1"), w.now);
	w.now += 20;
	expect(&w, ATTACH_ASK_LIST);
	attach_poll_offer_get(&w.poll, true);
	attach_poll_pod(&w.poll, STR("u1"), w.now);
	w.now += 20;
	expect(&w, ATTACH_ASK_GET);
	attach_poll_release(&w.poll);
}

static void allocatable_is_asked_before_pods(void **state UNUSED)
{
	struct world w;

	init(&w);
	attach_poll_pod(&w.poll, STR("u1"), w.now);
	attach_poll_allocatable(&w.poll, w.now);
	expect(&w, ATTACH_ASK_ALLOCATABLE);
	quiet(&w, 20);
	expect(&w, ATTACH_ASK_GET);
	attach_poll_list(&w.poll, w.now);
	attach_poll_allocatable(&w.poll, w.now);
	expect(&w, ATTACH_ASK_ALLOCATABLE);
	expect(&w, ATTACH_ASK_LIST);
	attach_poll_release(&w.poll);
}

static void an_allocatable_that_always_fails_does_not_hinder_pods(void **state UNUSED)
{
	struct world w;

	init(&w);
	attach_poll_allocatable(&w.poll, w.now);
	attach_poll_list(&w.poll, w.now);
	assert_int_equal(next(&w), ATTACH_ASK_ALLOCATABLE);
	attach_poll_failed(&w.poll, &w.prng, w.now);
	w.now += 100;
	expect(&w, ATTACH_ASK_LIST);
	expect(&w, ATTACH_ASK_ALLOCATABLE);
	attach_poll_release(&w.poll);
}

static void calls_in_a_second_are_limited(void **state UNUSED)
{
	struct world w;
	int calls = 0;

	init(&w);
	for (int64_t end = w.now + 10 * 1000; w.now < end; w.now++) {
		attach_poll_list(&w.poll, w.now);
		if (next(&w) != ATTACH_ASK_NOTHING) {
			answered(&w);
			calls++;
		}
	}
	assert_in_range(calls, 100, 105);
	attach_poll_release(&w.poll);
}

static void a_failure_keeps_the_reason_and_waits_longer_each_time(void **state UNUSED)
{
	static const int64_t most[] = { 100, 200, 400, 800, 1600, 3200, 5000, 5000 };
	struct world w;

	init(&w);
	attach_poll_pod(&w.poll, STR("u1"), w.now);
	w.now += 20;
	for (size_t i = 0; i < ARRAY_SIZE(most); i++) {
		assert_int_not_equal(next(&w), ATTACH_ASK_NOTHING);
		attach_poll_failed(&w.poll, &w.prng, w.now);
		assert_int_equal(next(&w), ATTACH_ASK_NOTHING);
		assert_in_range(w.wait, most[i] * 4 / 5, most[i]);
		w.now += w.wait;
	}
	assert_true(attach_poll_waiting_since(&w.poll, w.now) < w.now - 10 * 1000);
	assert_int_not_equal(next(&w), ATTACH_ASK_NOTHING);
	attach_poll_failed(&w.poll, &w.prng, w.now);
	attach_poll_resume(&w.poll);
	for (int i = 0; i < 2; i++) { /* in either order */
		assert_int_not_equal(next(&w), ATTACH_ASK_NOTHING);
		answered(&w);
	}
	assert_true(attach_poll_waiting_since(&w.poll, w.now) == INT64_MAX);
	attach_poll_release(&w.poll);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_reason_little_is_asked),
		cmocka_unit_test(one_pod_is_asked_for_by_get_and_two_by_list),
		cmocka_unit_test(a_burst_of_reasons_makes_one_call),
		cmocka_unit_test(a_pod_of_which_more_is_expected_is_asked_for_ever_less_often),
		cmocka_unit_test(many_such_pods_are_asked_for_together),
		cmocka_unit_test(a_pod_that_a_list_left_open_is_requested_again),
		cmocka_unit_test(a_reason_that_comes_during_a_call_outlives_its_answer),
		cmocka_unit_test(a_pod_that_get_cannot_show_is_listed),
		cmocka_unit_test(allocatable_is_asked_before_pods),
		cmocka_unit_test(an_allocatable_that_always_fails_does_not_hinder_pods),
		cmocka_unit_test(calls_in_a_second_are_limited),
		cmocka_unit_test(a_failure_keeps_the_reason_and_waits_longer_each_time),
	};

	return cmocka_run_group_tests_name("node/attach_poll", tests, NULL, NULL);
}
