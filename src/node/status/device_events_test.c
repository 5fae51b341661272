/*
 * Which changes of health become events: how often, which are held back, and that the last state is
 * always reported in the end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/random.h"
#include "node/status/device_events.h"

enum { PERIOD = DEVICE_EVENTS_PERIOD_MS };

struct test {
	struct device_events *e;
	unsigned n; /* reported events */
	char last[128];
	enum assign_health health;
	int64_t at; /* the time now */
	int64_t told_at[ASSIGN_UNKNOWN + 1];
};

static void on_tell(void *arg, struct str pod_uid, const struct device_status_change *c)
{
	struct test *t = arg;

	t->n++;
	t->health = c->now;
	t->told_at[c->now] = t->at;
	(void)snprintf(t->last, sizeof(t->last), "%.*s %.*s %.*s: %d -> %d %.*s", STR_ARG(pod_uid),
		       STR_ARG(c->resource), STR_ARG(c->id), (int)c->before, (int)c->now,
		       STR_ARG(c->message));
}

static void begin(struct test *t)
{
	*t = (struct test){ .e = device_events_new() };
}

static void change(struct test *t, enum assign_health before, enum assign_health now, int64_t at)
{
	t->at = at;
	device_events_change(t->e, STR("pod"),
			     &(struct device_status_change){ .resource = STR("claim:gpu"),
							     .id = STR("d/p/0"),
							     .before = before,
							     .now = now },
			     at, on_tell, t);
}

static void due(struct test *t, int64_t at)
{
	t->at = at;
	device_events_due(t->e, at, on_tell, t);
}

static void the_first_of_each_direction_is_told_at_once(void **state UNUSED)
{
	struct test t;

	begin(&t);
	change(&t, ASSIGN_HEALTHY, ASSIGN_UNHEALTHY, 5);
	assert_string_equal(t.last, "pod claim:gpu d/p/0: 0 -> 1 ");
	change(&t, ASSIGN_UNHEALTHY, ASSIGN_HEALTHY, 6);
	assert_string_equal(t.last, "pod claim:gpu d/p/0: 1 -> 0 ");
	change(&t, ASSIGN_HEALTHY, ASSIGN_UNKNOWN, 7);
	assert_string_equal(t.last, "pod claim:gpu d/p/0: 0 -> 2 ");
	assert_int_equal(t.n, 3);
	assert_true(device_events_next(t.e) == INT64_MAX);
	device_events_free(t.e);
}

static void a_delayed_event_is_reported_after_its_minute(void **state UNUSED)
{
	struct test t;

	begin(&t);
	change(&t, ASSIGN_HEALTHY, ASSIGN_UNHEALTHY, 0);
	change(&t, ASSIGN_UNHEALTHY, ASSIGN_HEALTHY, 1000);
	change(&t, ASSIGN_HEALTHY, ASSIGN_UNHEALTHY, 2000);
	assert_int_equal(t.n, 2);
	assert_int_equal(device_events_next(t.e), PERIOD);
	due(&t, PERIOD - 1);
	assert_int_equal(t.n, 2);
	due(&t, PERIOD);
	assert_int_equal(t.n, 3);
	assert_string_equal(t.last, "pod claim:gpu d/p/0: 0 -> 1 ");
	assert_true(device_events_next(t.e) == INT64_MAX);
	/* It starts another minute. */
	change(&t, ASSIGN_UNHEALTHY, ASSIGN_HEALTHY, PERIOD + 2000);
	change(&t, ASSIGN_HEALTHY, ASSIGN_UNHEALTHY, PERIOD + 3000);
	assert_int_equal(t.n, 4);
	assert_int_equal(device_events_next(t.e), 2 * PERIOD);
	device_events_free(t.e);
}

static void an_outdated_event_is_not_reported(void **state UNUSED)
{
	struct test t;

	begin(&t);
	change(&t, ASSIGN_HEALTHY, ASSIGN_UNHEALTHY, 0);
	change(&t, ASSIGN_UNHEALTHY, ASSIGN_HEALTHY, 1);
	change(&t, ASSIGN_HEALTHY, ASSIGN_UNHEALTHY, 2);
	change(&t, ASSIGN_UNHEALTHY, ASSIGN_HEALTHY, 3);
	assert_true(device_events_next(t.e) == INT64_MAX);
	due(&t, 10 * PERIOD);
	assert_int_equal(t.n, 2);
	assert_int_equal(t.health, ASSIGN_HEALTHY);
	device_events_free(t.e);
}

static void a_new_message_is_news_of_the_same_direction(void **state UNUSED)
{
	struct device_status_change c = { .resource = STR("vendor.com/fpga"),
					  .id = STR("f0"),
					  .message = STR("warm"),
					  .before = ASSIGN_HEALTHY,
					  .now = ASSIGN_UNHEALTHY };
	struct test t;

	begin(&t);
	device_events_change(t.e, STR("p"), &c, 0, on_tell, &t);
	c.before = ASSIGN_UNHEALTHY;
	c.message = STR("hot");
	device_events_change(t.e, STR("p"), &c, 1, on_tell, &t);
	c.message = STR("hotter");
	device_events_change(t.e, STR("p"), &c, 2, on_tell, &t);
	assert_int_equal(t.n, 1);
	device_events_due(t.e, PERIOD, on_tell, &t);
	assert_int_equal(t.n, 2);
	assert_string_equal(t.last, "p vendor.com/fpga f0: 1 -> 1 hotter");
	device_events_free(t.e);
}

static void pods_devices_and_resources_are_apart_but_claims_of_one_device_are_not(
	void **state UNUSED)
{
	static const struct {
		const char *pod, *resource, *id;
		bool same; /* the same as the first: held back */
	} cases[] = {
		{ "p", "claim:gpu", "d/p/0", false },  { "q", "claim:gpu", "d/p/0", false },
		{ "p", "claim:gpu", "d/p/1", false },  { "p", "claim:gpu/r", "d/p/0", true },
		{ "p", "vendor.com/a", "f0", false },  { "p", "vendor.com/b", "f0", false },
		{ "pp", "claim:gpu", "d/p/0", false },
	};
	struct test t;

	begin(&t);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct device_status_change c = { .resource = str_from(cases[i].resource),
						  .id = str_from(cases[i].id),
						  .before = ASSIGN_HEALTHY,
						  .now = ASSIGN_UNHEALTHY };
		unsigned before = t.n;

		device_events_change(t.e, str_from(cases[i].pod), &c, 0, on_tell, &t);
		assert_int_equal(t.n, before + !cases[i].same);
	}
	device_events_free(t.e);
}

static void a_pod_that_is_forgotten_is_told_nothing_and_nobody_else_is_touched(void **state UNUSED)
{
	struct device_status_change c = { .resource = STR("claim:gpu"), .id = STR("d/p/0") };
	static const char *const pods[] = { "p", "pod", "o", "p0" };
	struct test t;

	begin(&t);
	for (int64_t round = 0; round < 3; round++) {
		for (size_t i = 0; i < ARRAY_SIZE(pods); i++) {
			c.before = round % 2 ? ASSIGN_UNHEALTHY : ASSIGN_HEALTHY;
			c.now = round % 2 ? ASSIGN_HEALTHY : ASSIGN_UNHEALTHY;
			device_events_change(t.e, str_from(pods[i]), &c, round, on_tell, &t);
		}
	}
	t.n = 0;
	device_events_forget(t.e, STR("p"));
	device_events_forget(t.e, STR("nobody"));
	device_events_due(t.e, PERIOD, on_tell, &t);
	assert_int_equal(t.n, 3);
	device_events_free(t.e);
}

/* Time passes; then the device changes, or a held-back change is due: at most one event. */
static enum assign_health flap(struct test *t, struct prng *prng, int64_t *now,
			       enum assign_health health)
{
	enum assign_health next = (enum assign_health)prng_below(prng, 3);
	int64_t told[ASSIGN_UNKNOWN + 1];
	unsigned n = t->n;

	memcpy(told, t->told_at, sizeof(told));
	*now += (int64_t)prng_below(prng, 20000);
	if (prng_below(prng, 3) == 0) {
		due(t, *now);
		next = health;
	} else if (next != health) {
		change(t, health, next, *now);
	}
	assert_true(t->n - n <= 1);
	if (t->n > n)
		assert_true(*now - told[t->health] >= PERIOD);
	return next;
}

/* In every case: at most one event of each direction in a period, and the last state in the end. */
static void flapping_ends_in_the_last_state_and_never_floods(void **state UNUSED)
{
	struct prng prng;

	prng_init(&prng, 1);
	for (int run = 0; run < 200; run++) {
		enum assign_health health = ASSIGN_HEALTHY;
		int64_t now = 0;
		struct test t;

		begin(&t);
		t.health = health;
		for (size_t i = 0; i < ARRAY_SIZE(t.told_at); i++)
			t.told_at[i] = -2 * PERIOD;
		for (int step = 0; step < 100; step++)
			health = flap(&t, &prng, &now, health);
		while (device_events_next(t.e) != INT64_MAX)
			due(&t, device_events_next(t.e));
		assert_int_equal(t.health, health);
		device_events_free(t.e);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_of_each_direction_is_told_at_once),
		cmocka_unit_test(a_delayed_event_is_reported_after_its_minute),
		cmocka_unit_test(an_outdated_event_is_not_reported),
		cmocka_unit_test(a_new_message_is_news_of_the_same_direction),
		cmocka_unit_test(
			pods_devices_and_resources_are_apart_but_claims_of_one_device_are_not),
		cmocka_unit_test(
			a_pod_that_is_forgotten_is_told_nothing_and_nobody_else_is_touched),
		cmocka_unit_test(flapping_ends_in_the_last_state_and_never_floods),
	};

	return cmocka_run_group_tests_name("node/device_events", tests, NULL, NULL);
}
