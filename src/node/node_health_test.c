/*
 * The annotation of a Node about devices that are not healthy.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "node/health.h"
#include "node/node_health.h"

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

static void healthy_devices_need_no_annotation(void **state)
{
	struct plugin_health v[] = { device("a", ASSIGN_HEALTHY, "fine") };
	struct test *t = *state;

	assert_text(t, "", WALL, "");
	assert_int_equal(health_report(t->h, DRIVER, v, 1, 0), 0);
	assert_text(t, "", WALL, "");
	assert_int_equal(node_health_annotation(&t->arena, NULL, STR("x"), WALL).n, 0);
}

static void unhealthy_devices_come_first(void **state)
{
	struct plugin_health v[] = { device("a", ASSIGN_UNKNOWN, ""),
				     device("b", ASSIGN_UNHEALTHY, "say \"no\""),
				     device("c", ASSIGN_HEALTHY, "") };

	health_report(((struct test *)*state)->h, DRIVER, v, 3, 0);
	assert_text(*state, "", WALL,
		    "[{\"id\":\"d/p/b\",\"health\":\"Unhealthy\","
		    "\"since\":\"2023-11-14T22:13:20Z\",\"message\":\"say \\\"no\\\"\"},"
		    "{\"id\":\"d/p/a\",\"health\":\"Unknown\","
		    "\"since\":\"2023-11-14T22:13:20Z\"}]");
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

static void it_is_bounded_and_can_be_read(void **state)
{
	enum { DEVICES = 4000 };
	static struct plugin_health v[DEVICES];
	static char names[DEVICES][8];
	struct test *t = *state;
	struct json *list;
	struct str text;

	for (size_t i = 0; i < DEVICES; i++) {
		snprintf(names[i], sizeof(names[i]), "x%zu", i);
		v[i] = device(names[i], ASSIGN_UNHEALTHY,
			      "h\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4");
	}
	health_report(t->h, DRIVER, v, DEVICES, 0);
	text = node_health_annotation(&t->arena, t->h, STR_NULL, WALL);
	assert_in_range(text.n, DEVICE_HEALTH_ANNOTATION_MAX - 200, DEVICE_HEALTH_ANNOTATION_MAX);
	assert_int_equal(json_parse(&t->arena, text, NULL, &list, NULL), 0);
	assert_in_range(json_count(list), 200, 1000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(healthy_devices_need_no_annotation),  TEST(unhealthy_devices_come_first),
		TEST(an_equal_health_keeps_its_beginning), TEST(text_that_is_not_ours_is_ignored),
		TEST(it_is_bounded_and_can_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
