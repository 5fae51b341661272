/*
 * The annotation of a Node with the health of its devices.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/core/clock.h"
#include "base/core/limits.h"
#include "base/json/json.h"
#include "dra/dra_limits.h"
#include "node/health/health.h"
#include "node/registration/health.h"

#define DRIVER STR("d")
#define WALL   (INT64_C(1700000000) * CLOCK_SEC)

struct test {
	struct health *h;
	struct arena arena;
};

static void on_change(void *arg, const struct health_device *now, enum assign_health before)
{
	(void)arg;
	(void)now;
	(void)before;
}

static int set_up(void **state)
{
	static struct test t;

	t.h = health_new(&(struct health_opts){ .on_change = on_change });
	arena_init(&t.arena, 16 * MIB);
	*state = &t;
	return 0;
}

static int tear_down(void **state)
{
	struct test *t = *state;

	health_free(t->h);
	arena_release(&t->arena);
	return 0;
}

static struct plugin_health device(const char *name, enum assign_health health, const char *message)
{
	return (struct plugin_health){ .pool = STR("p"),
				       .device = str_from(name),
				       .health = health,
				       .message = str_from(message),
				       .timeout_s = 30 };
}

static void assert_text(struct test *t, const char *before, int64_t wall, const char *expected)
{
	struct str text = node_health_annotation(&t->arena, t->h, str_from(before), wall);

	assert_string_equal(arena_strdup(&t->arena, text), expected);
}

static void without_reports_there_is_no_annotation(void **state)
{
	struct test *t = *state;

	assert_text(t, "", WALL, "");
	assert_int_equal(node_health_annotation(&t->arena, NULL, STR("x"), WALL).n, 0);
}

static void healthy_devices_are_names_by_pool(void **state)
{
	static const char expected[] =
		"[{\"driver\":\"d\",\"pool\":\"p\",\"health\":\"Healthy\",\"devices\":[\"a\",\"b\"]"
		"},"
		"{\"driver\":\"d\",\"pool\":\"q\",\"health\":\"Healthy\",\"devices\":[\"a\"]},"
		"{\"driver\":\"e\",\"pool\":\"q\",\"health\":\"Healthy\",\"devices\":[\"\\\"\"]}]";
	struct plugin_health v[] = { device("b", ASSIGN_HEALTHY, "fine"),
				     device("a", ASSIGN_HEALTHY, ""),
				     device("a", ASSIGN_HEALTHY, "") };
	struct plugin_health other[] = { device("\"", ASSIGN_HEALTHY, "") };
	struct test *t = *state;

	v[2].pool = other[0].pool = STR("q");
	assert_int_equal(health_report(t->h, DRIVER, v, 3, 0), 0);
	assert_int_equal(health_report(t->h, STR("e"), other, 1, 0), 0);
	assert_text(t, "", WALL, expected);
	v[0].message = STR("still fine");
	assert_int_equal(health_report(t->h, DRIVER, v, 3, 1000), 0);
	assert_text(t, expected, WALL + 60 * CLOCK_SEC, expected);
	health_driver_gone(t->h, DRIVER);
	health_driver_gone(t->h, STR("e"));
	assert_text(t, expected, WALL, "");
}

static void unhealthy_devices_come_first(void **state)
{
	struct plugin_health v[] = { device("a", ASSIGN_UNKNOWN, ""),
				     device("b", ASSIGN_UNHEALTHY, "say \"no\""),
				     device("c", ASSIGN_HEALTHY, "") };

	health_report(((struct test *)*state)->h, DRIVER, v, 3, 0);
	assert_text(
		*state, "", WALL,
		"[{\"id\":\"d/p/b\",\"health\":\"Unhealthy\","
		"\"since\":\"2023-11-14T22:13:20Z\",\"message\":\"say \\\"no\\\"\"},"
		"{\"id\":\"d/p/a\",\"health\":\"Unknown\","
		"\"since\":\"2023-11-14T22:13:20Z\"},"
		"{\"driver\":\"d\",\"pool\":\"p\",\"health\":\"Healthy\",\"devices\":[\"c\"]}]");
}

static void an_equal_health_keeps_its_beginning(void **state)
{
	static const char first[] = "[{\"id\":\"d/p/a\",\"health\":\"Unhealthy\","
				    "\"since\":\"2023-11-14T22:13:20Z\",\"message\":\"x\"}]";
	struct plugin_health v[] = { device("a", ASSIGN_UNHEALTHY, "x") };
	struct test *t = *state;

	health_report(t->h, DRIVER, v, 1, 0);
	assert_text(t, "", WALL, first);
	assert_text(t, first, WALL + 60 * CLOCK_SEC, first);
	health_expire(t->h, 40 * 1000);
	assert_text(t, first, WALL + 60 * CLOCK_SEC,
		    "[{\"id\":\"d/p/a\",\"health\":\"Unknown\","
		    "\"since\":\"2023-11-14T22:14:20Z\"}]");
}

static void text_that_is_not_ours_is_ignored(void **state)
{
	static const char *const bad[] = {
		"{",
		"3",
		"[1,{}]",
		"[{\"id\":\"d/p/a\"}]",
		"[{\"id\":\"d/p/a\",\"health\":\"Unhealthy\",\"since\":\"yesterday\"}]",
	};
	struct plugin_health v[] = { device("a", ASSIGN_UNHEALTHY, "") };
	struct test *t = *state;

	health_report(t->h, DRIVER, v, 1, 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_text(t, bad[i], WALL,
			    "[{\"id\":\"d/p/a\",\"health\":\"Unhealthy\","
			    "\"since\":\"2023-11-14T22:13:20Z\"}]");
}

enum { DEVICES = 4000, NAME_MAX_BYTES = 64 };

/* Reports devices with names of `width` bytes; the last `bad` of them are Unhealthy. */
static struct json *report_many(struct test *t, int width, size_t bad)
{
	static struct plugin_health v[DEVICES];
	static char names[DEVICES][NAME_MAX_BYTES];
	struct json *list;
	struct str text;

	for (size_t i = 0; i < DEVICES; i++) {
		snprintf(names[i], sizeof(names[i]), "x%0*zu", width - 1, i);
		v[i] = i < DEVICES - bad ? device(names[i], ASSIGN_HEALTHY, "")
					 : device(names[i], ASSIGN_UNHEALTHY,
						  "h\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4");
		if (i % 2 > 0)
			v[i].pool = STR("q");
	}
	health_report(t->h, DRIVER, v, DEVICES, 0);
	text = node_health_annotation(&t->arena, t->h, STR_NULL, WALL);
	assert_in_range(text.n, 1, DEVICE_HEALTH_ANNOTATION_MAX);
	assert_int_equal(json_parse(&t->arena, text, NULL, &list, NULL), 0);
	return list;
}

static size_t count_names(const struct json *list)
{
	size_t n = 0;

	JSON_FOREACH (v, list)
		n += json_count(json_getz(v, "devices"));
	return n;
}

static void it_is_bounded_and_can_be_read(void **state)
{
	assert_in_range(json_count(report_many(*state, 5, DEVICES)), 200, 1000);
}

static void names_are_bounded_by_number_and_by_bytes(void **state)
{
	struct json *list = report_many(*state, 5, 0);

	assert_int_equal(json_count(list), 1);
	assert_int_equal(count_names(list), DEVICE_HEALTH_REPORTS_MAX);
	for (int width = 40; width < 60; width++)
		assert_in_range(count_names(report_many(*state, width, 0)),
				DEVICE_HEALTH_ANNOTATION_MAX / (width + 3) - 3,
				DEVICE_HEALTH_ANNOTATION_MAX / (width + 3));
}

static void healthy_devices_have_the_room_that_others_leave(void **state)
{
	struct json *list = report_many(*state, 5, 100);

	assert_int_equal(count_names(list), DEVICE_HEALTH_REPORTS_MAX - 100);
	assert_int_equal(json_count(list), 101);
	assert_int_equal(count_names(report_many(*state, 5, 2000)), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(without_reports_there_is_no_annotation),
		TEST(healthy_devices_are_names_by_pool),
		TEST(unhealthy_devices_come_first),
		TEST(an_equal_health_keeps_its_beginning),
		TEST(text_that_is_not_ours_is_ignored),
		TEST(it_is_bounded_and_can_be_read),
		TEST(names_are_bounded_by_number_and_by_bytes),
		TEST(healthy_devices_have_the_room_that_others_leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
