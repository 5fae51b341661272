/*
 * The health cache. The first group is the unit test list of KEP-4680, "Health Information Cache
 * Logic", line by line. The rest tests the other parts of the contract, with a random walk beside a
 * model.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "api/api_limits.h"
#include "base/core/clock.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/core/random.h"
#include "base/system/file.h"
#include "node/health/health.h"
#include "node/host/saver.h"
#include "node/host/saver_header.h"
#include "node/node_limits.h"

#define DRIVER STR("gpu.example.com")
#define WALL   (INT64_C(1700000000) * CLOCK_SEC)

struct seen {
	char pool[64], device[64], message[RESOURCE_HEALTH_MESSAGE_MAX + 1];
	enum assign_health now, before;
};

struct test {
	struct health *h;
	struct seen seen[64];
	size_t n;
};

static void on_change(void *arg, const struct health_device *now, enum assign_health before)
{
	struct test *t = arg;
	struct seen *s = &t->seen[t->n++ % ARRAY_SIZE(t->seen)];

	(void)snprintf(s->pool, sizeof(s->pool), "%.*s", STR_ARG(now->pool));
	(void)snprintf(s->device, sizeof(s->device), "%.*s", STR_ARG(now->device));
	(void)snprintf(s->message, sizeof(s->message), "%.*s", STR_ARG(now->message));
	s->now = now->health;
	s->before = before;
}

static void begin(struct test *t)
{
	*t = (struct test){ 0 };
	t->h = health_new(&(struct health_opts){ .on_change = on_change, .arg = t });
}

static struct plugin_health device(const char *name, enum assign_health health)
{
	return (struct plugin_health){ .pool = STR("pool"),
				       .device = str_from(name),
				       .health = health };
}

static enum assign_health read_health(const struct test *t, const char *name)
{
	struct health_device d;

	(void)health_get(t->h, DRIVER, STR("pool"), str_from(name), &d);
	return d.health;
}

/* --- KEP-4680: Health Information Cache Logic ---------------------------------------------- */

static void a_cache_from_scratch_is_empty(void **state UNUSED)
{
	struct test t;

	begin(&t);
	assert_int_equal(health_count(t.h), 0);
	assert_true(health_next_expiry(t.h) == INT64_MAX);
	assert_int_equal(read_health(&t, "gpu-0"), ASSIGN_UNKNOWN);
	health_free(t.h);
}

static struct health *reload(const struct health *h, int64_t wall_then, int64_t mono_then,
			     int64_t wall_now, int64_t mono_now)
{
	CLEANUP(buf_release) struct buf body = BUF_INIT(MIB);
	struct health *again = health_new(&(struct health_opts){ 0 });

	assert_int_equal(health_encode(h, wall_then, mono_then, &body), 0);
	assert_int_equal(health_decode(again, buf_str(&body), wall_now, mono_now, NULL), 0);
	return again;
}

static void a_cache_is_initialised_from_a_checkpoint(void **state UNUSED)
{
	struct plugin_health v[] = { device("gpu-0", ASSIGN_HEALTHY),
				     device("gpu-1", ASSIGN_UNHEALTHY) };
	struct health_device d;
	struct test t;
	struct health *again;

	v[1].message = STR("fell off the bus");
	v[1].updated_s = 1699999999;
	begin(&t);
	(void)health_report(t.h, DRIVER, v, 2, 5000);
	again = reload(t.h, WALL, 5000, WALL + 10 * CLOCK_SEC, 70);
	assert_int_equal(health_count(again), 2);
	assert_true(health_get(again, DRIVER, STR("pool"), STR("gpu-1"), &d));
	assert_int_equal(d.health, ASSIGN_UNHEALTHY);
	assert_true(str_eqz(d.message, "fell off the bus"));
	assert_int_equal(d.updated_s, 1699999999);
	assert_int_equal(d.expires_ms, 70 + 30 * 1000);
	assert_int_equal(health_next_expiry(again), 70 + 30 * 1000);
	health_free(again);
	health_free(t.h);
}

static void a_report_is_the_complete_state_of_its_driver(void **state UNUSED)
{
	struct plugin_health first[] = { device("a", ASSIGN_HEALTHY), device("b", ASSIGN_HEALTHY) };
	struct plugin_health second[] = { device("c", ASSIGN_HEALTHY),
					  device("b", ASSIGN_UNHEALTHY) };
	struct test t;

	begin(&t);
	assert_int_equal(health_report(t.h, DRIVER, first, 2, 0), 0);
	assert_int_equal(health_report(t.h, DRIVER, second, 2, 1), 0);
	assert_int_equal(read_health(&t, "a"), ASSIGN_UNKNOWN);
	assert_int_equal(read_health(&t, "b"), ASSIGN_UNHEALTHY);
	assert_int_equal(read_health(&t, "c"), ASSIGN_HEALTHY);
	assert_int_equal(health_count(t.h), 2);
	/* a and b appear; then a goes, c appears, b changes: in that order. */
	assert_int_equal(t.n, 5);
	assert_string_equal(t.seen[2].device, "a");
	assert_int_equal(t.seen[2].now, ASSIGN_UNKNOWN);
	assert_int_equal(t.seen[2].before, ASSIGN_HEALTHY);
	assert_string_equal(t.seen[3].device, "c");
	assert_string_equal(t.seen[4].device, "b");
	/* An empty report: there are no devices. */
	(void)health_report(t.h, DRIVER, NULL, 0, 2);
	assert_int_equal(health_count(t.h), 0);
	assert_true(health_next_expiry(t.h) == INT64_MAX);
	assert_int_equal(t.n, 7);
	health_free(t.h);
}

static void the_drivers_time_stamp_is_kept_and_never_discards_a_report(void **state UNUSED)
{
	struct plugin_health v = device("a", ASSIGN_HEALTHY);
	struct health_device d;
	struct test t;

	begin(&t);
	v.updated_s = 2000;
	(void)health_report(t.h, DRIVER, &v, 1, 0);
	v.updated_s = 1000; /* its clock was set back */
	v.health = ASSIGN_UNHEALTHY;
	(void)health_report(t.h, DRIVER, &v, 1, 10);
	assert_true(health_get(t.h, DRIVER, STR("pool"), STR("a"), &d));
	assert_int_equal(d.updated_s, 1000);
	assert_int_equal(d.health, ASSIGN_UNHEALTHY);
	/* The time-out counts from the arrival. */
	assert_int_equal(d.expires_ms, 10 + 30 * 1000);
	/*
	 * A new time stamp alone is not a change, but it is stored and the time-out starts again.
	 */
	v.updated_s = 3000;
	(void)health_report(t.h, DRIVER, &v, 1, 500);
	assert_true(health_get(t.h, DRIVER, STR("pool"), STR("a"), &d));
	assert_int_equal(d.updated_s, 3000);
	assert_int_equal(d.expires_ms, 500 + 30 * 1000);
	assert_int_equal(t.n, 2);
	health_free(t.h);
}

static void a_device_is_unknown_after_its_time_out(void **state UNUSED)
{
	struct plugin_health v[] = { device("default", ASSIGN_HEALTHY),
				     device("quick", ASSIGN_HEALTHY),
				     device("negative", ASSIGN_HEALTHY) };
	struct test t;

	v[1].timeout_s = 2;
	v[1].message = STR("fine");
	v[2].timeout_s = -5;
	begin(&t);
	(void)health_report(t.h, DRIVER, v, 3, 100);
	assert_int_equal(health_next_expiry(t.h), 2100);
	health_expire(t.h, 2099);
	assert_int_equal(t.n, 3);
	health_expire(t.h, 2100);
	assert_int_equal(t.n, 4);
	assert_string_equal(t.seen[3].device, "quick");
	assert_string_equal(t.seen[3].message, "");
	assert_int_equal(t.seen[3].before, ASSIGN_HEALTHY);
	assert_int_equal(read_health(&t, "quick"), ASSIGN_UNKNOWN);
	assert_int_equal(health_next_expiry(t.h), 30100);
	health_expire(t.h, 30100);
	assert_int_equal(t.n, 6);
	assert_true(health_next_expiry(t.h) == INT64_MAX);
	/* It is reported again. */
	(void)health_report(t.h, DRIVER, v, 3, 40000);
	assert_int_equal(read_health(&t, "quick"), ASSIGN_HEALTHY);
	assert_int_equal(t.n, 9);
	health_free(t.h);
}

static void only_devices_that_read_otherwise_are_changed(void **state UNUSED)
{
	struct plugin_health v[] = { device("a", ASSIGN_HEALTHY), device("b", ASSIGN_UNHEALTHY),
				     device("c", ASSIGN_UNKNOWN) };
	struct test t;

	begin(&t);
	(void)health_report(t.h, DRIVER, v, 3, 0);
	/* c was unknown and still is. */
	assert_int_equal(t.n, 2);
	(void)health_report(t.h, DRIVER, v, 3, 1);
	assert_int_equal(t.n, 2);
	v[1].message = STR("too hot");
	(void)health_report(t.h, DRIVER, v, 3, 2);
	assert_int_equal(t.n, 3);
	assert_string_equal(t.seen[2].device, "b");
	assert_string_equal(t.seen[2].message, "too hot");
	assert_int_equal(t.seen[2].before, ASSIGN_UNHEALTHY);
	v[0].health = ASSIGN_UNHEALTHY;
	v[1].health = ASSIGN_HEALTHY;
	v[1].message = STR_NULL;
	(void)health_report(t.h, DRIVER, v, 3, 3);
	assert_int_equal(t.n, 5);
	health_free(t.h);
}

static void existing_timed_out_and_missing_devices_are_read_rightly(void **state UNUSED)
{
	struct plugin_health v[] = { device("a", ASSIGN_UNHEALTHY), device("b", ASSIGN_HEALTHY) };
	struct health_device d;
	struct test t;

	v[0].message = STR("broken");
	v[1].timeout_s = 1;
	begin(&t);
	(void)health_report(t.h, DRIVER, v, 2, 0);
	health_expire(t.h, 1000);
	assert_true(health_get(t.h, DRIVER, STR("pool"), STR("a"), &d));
	assert_int_equal(d.health, ASSIGN_UNHEALTHY);
	assert_true(str_eqz(d.message, "broken"));
	assert_true(health_get(t.h, DRIVER, STR("pool"), STR("b"), &d));
	assert_int_equal(d.health, ASSIGN_UNKNOWN);
	assert_int_equal(d.message.n, 0);
	assert_true(d.expires_ms == INT64_MAX);
	assert_false(health_get(t.h, DRIVER, STR("pool"), STR("z"), &d));
	assert_int_equal(d.health, ASSIGN_UNKNOWN);
	assert_true(str_eqz(d.device, "z"));
	assert_false(health_get(t.h, DRIVER, STR("other"), STR("a"), &d));
	assert_false(health_get(t.h, STR("nic.example.com"), STR("pool"), STR("a"), &d));
	assert_int_equal(d.health, ASSIGN_UNKNOWN);
	assert_int_equal(d.message.n, 0);
	health_free(t.h);
}

static void a_driver_that_is_gone_leaves_nothing(void **state UNUSED)
{
	struct plugin_health v[] = { device("a", ASSIGN_HEALTHY), device("b", ASSIGN_UNKNOWN) };
	struct test t;

	begin(&t);
	(void)health_report(t.h, DRIVER, v, 2, 0);
	(void)health_report(t.h, STR("nic.example.com"), v, 2, 0);
	t.n = 0;
	health_driver_gone(t.h, DRIVER);
	assert_int_equal(t.n, 1);
	assert_string_equal(t.seen[0].device, "a");
	assert_int_equal(t.seen[0].now, ASSIGN_UNKNOWN);
	assert_int_equal(read_health(&t, "a"), ASSIGN_UNKNOWN);
	assert_int_equal(health_count(t.h), 2);
	health_driver_gone(t.h, DRIVER);
	assert_int_equal(t.n, 1);
	health_driver_gone(t.h, STR("nic.example.com"));
	assert_int_equal(health_count(t.h), 0);
	assert_true(health_next_expiry(t.h) == INT64_MAX);
	health_free(t.h);
}

static void it_is_saved_to_a_file_and_loaded_from_it(void **state UNUSED)
{
	CLEANUP(buf_release)
	struct buf body = BUF_INIT(MIB), read = BUF_INIT(MIB), again = BUF_INIT(MIB);
	struct plugin_health v[] = { device("b", ASSIGN_UNHEALTHY), device("a", ASSIGN_HEALTHY) };
	char dir[] = "/tmp/health-XXXXXX", path[64];
	struct buf content = BUF_INIT(MIB);
	struct test t, u;

	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/health", dir);
	v[0].message = STR("\"quoted\"\\\xe2\x82\xac");
	begin(&t);
	begin(&u);
	(void)health_report(t.h, DRIVER, v, 2, 0);
	assert_int_equal(health_encode(t.h, WALL, 0, &body), 0);
	assert_string_equal(body.p, "{\"drivers\":[{\"name\":\"gpu.example.com\",\"devices\":["
				    "{\"pool\":\"pool\",\"device\":\"a\",\"health\":\"Healthy\","
				    "\"updated\":0,\"timeoutMs\":30000},"
				    "{\"pool\":\"pool\",\"device\":\"b\",\"health\":\"Unhealthy\","
				    "\"message\":\"\\\"quoted\\\"\\\\\xe2\x82\xac\","
				    "\"updated\":0,\"timeoutMs\":30000}]}]}");
	(void)saver_header_add(&content, HEALTH_STATE_KIND, HEALTH_STATE_VERSION, buf_str(&body));
	(void)buf_add_str(&content, buf_str(&body));
	assert_int_equal(file_write_atomic(path, buf_str(&content), 0600, NULL), 0);
	assert_int_equal(saver_load(path, HEALTH_STATE_KIND, HEALTH_STATE_VERSION, &read, NULL), 1);
	assert_int_equal(health_decode(u.h, buf_str(&read), WALL, 0, NULL), 0);
	(void)health_report(u.h, DRIVER, v, 2, 0);
	assert_int_equal(health_encode(u.h, WALL, 0, &again), 0);
	assert_string_equal(again.p, body.p);
	assert_int_equal(u.n, 0);
	assert_int_equal(remove(path), 0);
	assert_int_equal(remove(dir), 0);
	buf_release(&content);
	health_free(t.h);
	health_free(u.h);
}

/* --- other --------------------------------------------------------------------------------- */

static void a_restart_gives_a_device_its_whole_time_out_again(void **state UNUSED)
{
	struct plugin_health v[] = { device("a", ASSIGN_HEALTHY), device("b", ASSIGN_UNHEALTHY) };
	struct health_device d;
	struct health *again;
	struct test t;

	v[1].timeout_s = 3600;
	v[1].message = STR("too hot");
	begin(&t);
	(void)health_report(t.h, DRIVER, v, 2, 0);
	/* Saved at the last change, a day before the restart; reports came all the time. */
	again = reload(t.h, WALL, 0, WALL + 86400 * CLOCK_SEC, 70);
	assert_int_equal(health_unconfirmed(again), 2);
	assert_true(health_get(again, DRIVER, STR("pool"), STR("a"), &d));
	assert_int_equal(d.health, ASSIGN_HEALTHY);
	assert_int_equal(d.expires_ms, 70 + 30 * 1000);
	assert_true(health_get(again, DRIVER, STR("pool"), STR("b"), &d));
	assert_int_equal(d.health, ASSIGN_UNHEALTHY);
	assert_true(str_eqz(d.message, "too hot"));
	assert_int_equal(d.expires_ms, 70 + 3600 * 1000);
	/* The driver does not come back. */
	health_expire(again, 70 + 30 * 1000);
	assert_true(health_get(again, DRIVER, STR("pool"), STR("a"), &d));
	assert_int_equal(d.health, ASSIGN_UNKNOWN);
	assert_int_equal(health_unconfirmed(again), 1);
	health_free(again);
	health_free(t.h);
}

static void a_crash_loop_does_not_lengthen_the_time_of_a_silent_driver(void **state UNUSED)
{
	struct plugin_health v = device("a", ASSIGN_HEALTHY);
	struct health *one, *two, *three;
	struct health_device d;
	struct test t;

	begin(&t);
	(void)health_report(t.h, DRIVER, &v, 1, 0);
	one = reload(t.h, WALL, 0, WALL + 100 * CLOCK_SEC, 0);
	two = reload(one, WALL + 100 * CLOCK_SEC, 0, WALL + 120 * CLOCK_SEC, 0);
	assert_true(health_get(two, DRIVER, STR("pool"), STR("a"), &d));
	assert_int_equal(d.expires_ms, 10 * 1000);
	three = reload(two, WALL + 120 * CLOCK_SEC, 0, WALL + 131 * CLOCK_SEC, 0);
	assert_true(health_get(three, DRIVER, STR("pool"), STR("a"), &d));
	assert_int_equal(d.health, ASSIGN_UNKNOWN);
	health_free(three);
	/* If the wall clock is set back by a year, the expiry is later by the time-out at most. */
	three = reload(two, WALL + 120 * CLOCK_SEC, 0, WALL - 365 * 86400 * CLOCK_SEC, 0);
	assert_true(health_get(three, DRIVER, STR("pool"), STR("a"), &d));
	assert_int_equal(d.expires_ms, 30 * 1000);
	health_free(three);
	/* Once it is reported, a restart gives the whole time-out again. */
	(void)health_report(two, DRIVER, &v, 1, 5000);
	assert_int_equal(health_unconfirmed(two), 0);
	three = reload(two, WALL + 125 * CLOCK_SEC, 5000, WALL + 900 * CLOCK_SEC, 0);
	assert_true(health_get(three, DRIVER, STR("pool"), STR("a"), &d));
	assert_int_equal(d.health, ASSIGN_HEALTHY);
	assert_int_equal(d.expires_ms, 30 * 1000);
	health_driver_gone(three, DRIVER);
	assert_int_equal(health_unconfirmed(three), 0);
	health_free(three);
	health_free(two);
	health_free(one);
	health_free(t.h);
}

static void time_outs_beyond_all_time_do_not_wrap(void **state UNUSED)
{
	struct plugin_health v = device("a", ASSIGN_HEALTHY);
	struct health_device d;
	struct health *again;
	struct test t;

	v.timeout_s = INT64_MAX;
	begin(&t);
	(void)health_report(t.h, DRIVER, &v, 1, 1000);
	health_expire(t.h, INT64_C(1) << 60);
	assert_int_equal(read_health(&t, "a"), ASSIGN_HEALTHY);
	again = reload(t.h, WALL, 1000, WALL, 7);
	assert_true(health_get(again, DRIVER, STR("pool"), STR("a"), &d));
	assert_int_equal(d.health, ASSIGN_HEALTHY);
	assert_true(d.expires_ms > INT64_C(1000) * 86400 * 365 * 200);
	health_free(again);
	health_free(t.h);
}

static void of_a_device_named_twice_the_last_counts(void **state UNUSED)
{
	struct plugin_health v[] = { device("a", ASSIGN_UNHEALTHY), device("b", ASSIGN_HEALTHY),
				     device("a", ASSIGN_HEALTHY) };
	struct test t;

	begin(&t);
	(void)health_report(t.h, DRIVER, v, 3, 0);
	(void)health_report(t.h, DRIVER, v, 3, 1);
	assert_int_equal(t.n, 2);
	assert_int_equal(read_health(&t, "a"), ASSIGN_HEALTHY);
	health_free(t.h);
}

static void pools_and_devices_are_told_apart_whatever_their_names(void **state UNUSED)
{
	struct plugin_health v[] = { { .pool = STR("a/b"), .device = STR("c") },
				     { .pool = STR("a"), .device = STR("b/c") } };
	struct health_device d;
	struct test t;

	v[1].health = ASSIGN_UNHEALTHY;
	begin(&t);
	(void)health_report(t.h, DRIVER, v, 2, 0);
	assert_int_equal(health_count(t.h), 2);
	assert_true(health_get(t.h, DRIVER, STR("a/b"), STR("c"), &d));
	assert_int_equal(d.health, ASSIGN_HEALTHY);
	assert_true(health_get(t.h, DRIVER, STR("a"), STR("b/c"), &d));
	assert_int_equal(d.health, ASSIGN_UNHEALTHY);
	health_free(t.h);
}

static void names_that_no_device_can_have_are_not_kept(void **state UNUSED)
{
	char longest[HEALTH_NAME_MAX + 1];
	struct plugin_health v[] = {
		{ .pool = STR(""), .device = STR("a") },
		{ .pool = STR("a"), .device = STR_NULL },
		{ .pool = STR("a\0b"), .device = STR("a") },
		{ .pool = STR("\xff"), .device = STR("a") },
		{ .pool = str_of(longest, sizeof(longest)), .device = STR("a") },
		{ .pool = str_of(longest, sizeof(longest) - 1), .device = STR("a") },
	};
	struct health_device d;
	struct test t;

	memset(longest, 'x', sizeof(longest));
	begin(&t);
	assert_int_equal(health_report(t.h, DRIVER, v, ARRAY_SIZE(v), 0), 5);
	assert_int_equal(health_count(t.h), 1);
	assert_false(health_get(t.h, DRIVER, v[4].pool, STR("a"), &d));
	assert_true(health_get(t.h, DRIVER, v[5].pool, STR("a"), &d));
	health_free(t.h);
}

enum { MANY = HEALTH_DEVICES_MAX + 10 };

static void too_many_devices_are_not_kept_but_known_ones_are_taken(void **state UNUSED)
{
	struct plugin_health *v = xcalloc(MANY, sizeof(*v));
	char(*names)[16] = xcalloc(MANY, sizeof(*names));
	struct test t;

	for (size_t i = 0; i < MANY; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "d%zu", i);
		v[i] = device(names[i], ASSIGN_HEALTHY);
	}
	begin(&t);
	assert_int_equal(health_report(t.h, DRIVER, v, MANY, 0), 10);
	assert_int_equal(health_count(t.h), HEALTH_DEVICES_MAX);
	/* The same in another order: known devices stay. */
	for (size_t i = 0; i < MANY / 2; i++) {
		struct plugin_health swap = v[i];

		v[i] = v[MANY - 1 - i];
		v[MANY - 1 - i] = swap;
	}
	t.n = 0;
	assert_int_equal(health_report(t.h, DRIVER, v, MANY, 1), 10);
	assert_int_equal(t.n, 0);
	/* All others: the old ones make room. */
	for (size_t i = 0; i < MANY; i++)
		names[i][0] = 'e';
	assert_int_equal(health_report(t.h, DRIVER, v, HEALTH_DEVICES_MAX, 2), 0);
	assert_int_equal(health_count(t.h), HEALTH_DEVICES_MAX);
	health_free(t.h);
	free(names);
	free(v);
}

static void a_state_that_we_did_not_write_is_refused_whole(void **state UNUSED)
{
	static const char *const bad[] = {
		"",
		"{}",
		"[]",
		"{\"drivers\":{}}",
		"{\"drivers\":[1]}",
		"{\"drivers\":[{\"name\":\"\",\"devices\":[]}]}",
		"{\"drivers\":[{\"name\":\"a\"}]}",
		"{\"drivers\":[{\"name\":\"a\",\"devices\":[]},{\"name\":\"a\",\"devices\":[]}]}",
#define DEVICE(fields) "{\"drivers\":[{\"name\":\"a\",\"devices\":[{" fields "}]}]}"
		DEVICE("\"pool\":\"p\",\"device\":\"d\",\"health\":\"Fine\",\"timeoutMs\":1"),
		DEVICE("\"pool\":\"p\",\"device\":\"d\",\"health\":\"Healthy\",\"timeoutMs\":0"),
		DEVICE("\"pool\":\"\",\"device\":\"d\",\"health\":\"Healthy\",\"timeoutMs\":1"),
		DEVICE("\"pool\":\"p\",\"health\":\"Healthy\",\"timeoutMs\":1"),
		DEVICE("\"pool\":\"p\",\"device\":\"d\",\"health\":\"Healthy\",\"timeoutMs\":1,"
		       "\"expires\":\"soon\""),
		DEVICE("\"pool\":\"p\",\"device\":\"d\",\"health\":\"Healthy\",\"timeoutMs\":1},"
		       "{\"pool\":\"p\",\"device\":\"d\",\"health\":\"Healthy\",\"timeoutMs\":1"),
#undef DEVICE
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct error err = { 0 };
		struct test t;

		begin(&t);
		if (health_decode(t.h, str_from(bad[i]), WALL, 0, &err) != -ERR_INVALID)
			fail_msg("taken: %s", bad[i]);
		assert_true(err.msg[0]);
		assert_int_equal(health_count(t.h), 0);
		health_free(t.h);
	}
}

/* --- a random walk beside a model ---------------------------------------------------------- */

enum { MODEL_DEVICES = 40, STEPS = 4000 };

struct model {
	enum assign_health health;
	int64_t expires;
};

static void model_expire(struct model *m, int64_t now)
{
	for (size_t i = 0; i < MODEL_DEVICES; i++) {
		if (m[i].expires <= now)
			m[i] = (struct model){ ASSIGN_UNKNOWN, INT64_MAX };
	}
}

static void random_report(struct test *t, struct prng *prng, struct model *m, char names[][8],
			  int64_t now)
{
	struct plugin_health v[MODEL_DEVICES];
	size_t n = 0;

	for (size_t i = 0; i < MODEL_DEVICES; i++) {
		m[i] = (struct model){ ASSIGN_UNKNOWN, INT64_MAX };
		if (prng_below(prng, 5) == 0)
			continue;
		v[n] = device(names[i], (enum assign_health)prng_below(prng, 3));
		v[n].timeout_s = (int64_t)prng_below(prng, 20);
		m[i].health = v[n].health;
		m[i].expires = now + (v[n].timeout_s ? v[n].timeout_s : 30) * 1000;
		n++;
	}
	assert_int_equal(health_report(t->h, DRIVER, v, n, now), 0);
}

static void any_order_of_reports_and_time_agrees_with_a_model(void **state UNUSED)
{
	struct model m[MODEL_DEVICES];
	char names[MODEL_DEVICES][8];
	struct prng prng;
	struct test t;
	int64_t now = 0, next;

	prng_init(&prng, 4680);
	begin(&t);
	for (size_t i = 0; i < MODEL_DEVICES; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "d%zu", i);
		m[i] = (struct model){ ASSIGN_UNKNOWN, INT64_MAX };
	}
	for (int step = 0; step < STEPS; step++) {
		now += (int64_t)prng_below(&prng, 5000);
		health_expire(t.h, now);
		model_expire(m, now);
		if (prng_below(&prng, 3) == 0)
			random_report(&t, &prng, m, names, now);
		next = INT64_MAX;
		for (size_t i = 0; i < MODEL_DEVICES; i++) {
			assert_int_equal(read_health(&t, names[i]), m[i].health);
			next = MIN(next, m[i].expires);
		}
		assert_true(health_next_expiry(t.h) == next);
	}
	health_free(t.h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cache_from_scratch_is_empty),
		cmocka_unit_test(a_cache_is_initialised_from_a_checkpoint),
		cmocka_unit_test(a_report_is_the_complete_state_of_its_driver),
		cmocka_unit_test(the_drivers_time_stamp_is_kept_and_never_discards_a_report),
		cmocka_unit_test(a_device_is_unknown_after_its_time_out),
		cmocka_unit_test(only_devices_that_read_otherwise_are_changed),
		cmocka_unit_test(existing_timed_out_and_missing_devices_are_read_rightly),
		cmocka_unit_test(a_driver_that_is_gone_leaves_nothing),
		cmocka_unit_test(it_is_saved_to_a_file_and_loaded_from_it),
		cmocka_unit_test(a_restart_gives_a_device_its_whole_time_out_again),
		cmocka_unit_test(a_crash_loop_does_not_lengthen_the_time_of_a_silent_driver),
		cmocka_unit_test(time_outs_beyond_all_time_do_not_wrap),
		cmocka_unit_test(of_a_device_named_twice_the_last_counts),
		cmocka_unit_test(pools_and_devices_are_told_apart_whatever_their_names),
		cmocka_unit_test(names_that_no_device_can_have_are_not_kept),
		cmocka_unit_test(too_many_devices_are_not_kept_but_known_ones_are_taken),
		cmocka_unit_test(a_state_that_we_did_not_write_is_refused_whole),
		cmocka_unit_test(any_order_of_reports_and_time_agrees_with_a_model),
	};

	return cmocka_run_group_tests_name("node/health", tests, NULL, NULL);
}
