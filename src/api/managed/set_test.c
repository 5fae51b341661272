/*
 * Sets of fields: their order, differences and unions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/managed/set.h"
#include "base/core/limits.h"

static struct json *parse(struct arena *a, const char *text)
{
	struct json *v;

	assert_int_equal(json_parse(a, str_from(text), NULL, &v, NULL), 0);
	return v;
}

static void assert_prints(const struct json *v, const char *expected)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(MIB);

	assert_int_equal(json_print(&out, v, NULL), 0);
	assert_string_equal(out.p, expected);
}

static void steps_have_upstreams_order(void **state)
{
	static const char *const steps[] = {
		".",
		"f:a",
		"f:ab",
		"f:b",
		"k:{\"name\":\"a\"}",
		"k:{\"name\":\"b\"}",
		"k:{\"port\":9,\"protocol\":\"UDP\"}",
		"k:{\"port\":10,\"protocol\":\"TCP\"}",
		"k:{\"port\":10,\"protocol\":\"UDP\"}",
		"k:{\"port\":\"\\\\\",\"protocol\":\"10\"}",
		"k:{\"port\":\"\\\\\",\"protocol\":\"9\"}",
		"k:{\"port\":\"a\"}",
		"k:{\"port\":\"a!\"}",
		"v:7",
		"v:\"10\"",
		"v:\"9\"",
		"i:0",
	};

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(steps); k++) {
			int order = managed_step_cmp(str_from(steps[i]), str_from(steps[k]));

			assert_int_equal((order > 0) - (order < 0), (i > k) - (i < k));
		}
	}
}

static void reading_sorts_and_refuses_what_is_no_set(void **state)
{
	static const char *const wrong[] = { "[]", "{\"x:a\":{}}", "{\"a\":{}}", "{\"f:a\":1}",
					     "{\"f:a\":{\"\":{}}}" };
	CLEANUP(arena_release) struct arena a;
	struct json *v;

	arena_init(&a, MIB);
	v = parse(&a, "{\"f:b\":{\"f:z\":{},\".\":{},\"f:y\":{}},\"f:a\":{}}");
	assert_true(managed_set_read(&a, v));
	assert_prints(v, "{\"f:a\":{},\"f:b\":{\".\":{},\"f:y\":{},\"f:z\":{}}}");
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_false(managed_set_read(&a, parse(&a, wrong[i])));
}

static void a_set_that_is_too_deep_is_refused(void **state)
{
	CLEANUP(arena_release) struct arena a;
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);

	arena_init(&a, 16 * MIB);
	for (int i = 0; i < 2000; i++)
		(void)buf_addz(&b, "{\"f:a\":");
	(void)buf_addz(&b, "{}");
	for (int i = 0; i < 2000; i++)
		(void)buf_addc(&b, '}');
	assert_false(managed_set_read(&a, parse(&a, b.p)));
}

static void assert_difference(const char *set, const char *minus, const char *expected)
{
	CLEANUP(arena_release) struct arena a;
	struct json *v;

	arena_init(&a, MIB);
	v = parse(&a, set);
	assert_int_equal(managed_set_subtract(&a, v, parse(&a, minus)),
			 !str_eqz(STR("{}"), expected));
	assert_prints(v, expected);
}

static void subtraction_takes_fields_and_not_what_is_below_them(void **state)
{
	assert_difference("{\"f:a\":{},\"f:b\":{}}", "{\"f:a\":{}}", "{\"f:b\":{}}");
	assert_difference("{\"f:a\":{}}", "{\"f:a\":{}}", "{}");
	assert_difference("{\"f:a\":{\".\":{},\"f:x\":{}}}", "{\"f:a\":{}}",
			  "{\"f:a\":{\"f:x\":{}}}");
	assert_difference("{\"f:a\":{\".\":{},\"f:x\":{}}}", "{\"f:a\":{\"f:x\":{}}}",
			  "{\"f:a\":{}}");
	assert_difference("{\"f:a\":{\"f:x\":{}}}", "{\"f:a\":{\".\":{},\"f:x\":{}}}", "{}");
	assert_difference("{\"f:a\":{\"f:x\":{}}}", "{\"f:a\":{}}", "{\"f:a\":{\"f:x\":{}}}");
	assert_difference("{\"f:a\":{}}", "{\"f:a\":{\"f:x\":{}}}", "{\"f:a\":{}}");
	assert_difference("{\"f:b\":{}}", "{\"f:a\":{},\"f:c\":{}}", "{\"f:b\":{}}");
}

static void nothing_taken_leaves_everything(void **state)
{
	CLEANUP(arena_release) struct arena a;

	arena_init(&a, MIB);
	assert_true(managed_set_subtract(&a, parse(&a, "{\"f:a\":{}}"), NULL));
	assert_false(managed_set_subtract(&a, parse(&a, "{}"), NULL));
}

static void assert_union(const char *set, const char *plus, const char *expected)
{
	CLEANUP(arena_release) struct arena a;
	struct json *v;

	arena_init(&a, MIB);
	v = parse(&a, set);
	assert_int_equal(managed_set_unite(&a, v, parse(&a, plus)), 0);
	assert_prints(v, expected);
}

static void union_keeps_both_in_order(void **state)
{
	assert_union("{\"f:b\":{}}", "{\"f:a\":{},\"f:c\":{}}",
		     "{\"f:a\":{},\"f:b\":{},\"f:c\":{}}");
	assert_union("{\"f:a\":{}}", "{\"f:a\":{\"f:x\":{}}}", "{\"f:a\":{\".\":{},\"f:x\":{}}}");
	assert_union("{\"f:a\":{\"f:x\":{}}}", "{\"f:a\":{}}", "{\"f:a\":{\".\":{},\"f:x\":{}}}");
	assert_union("{\"f:a\":{\".\":{},\"f:x\":{}}}", "{\"f:a\":{\".\":{},\"f:y\":{}}}",
		     "{\"f:a\":{\".\":{},\"f:x\":{},\"f:y\":{}}}");
	assert_union("{}", "{\"f:a\":{}}", "{\"f:a\":{}}");
	assert_union("{\"f:a\":{}}", "{}", "{\"f:a\":{}}");
}

static void steps_get_our_spelling(void **state)
{
	static const char *const wrong[] = { "{\"k:name\":{}}", "{\"k:{}\":{}}", "{\"v:{}\":{}}",
					     "{\"k:{\\\"a\\\":[]}\":{}}", "{\"v:null\":{}}" };
	CLEANUP(arena_release) struct arena a;
	struct json *set;

	arena_init(&a, MIB);
	set = parse(&a,
		    "{\"v:\\\"a\\\"\":{},\"k:{ \\\"b\\\" : 1,\\\"a\\\":\\\"<\\\"}\":{\"f:x\":{}}}");
	assert_true(managed_set_normalise(&a, set));
	assert_prints(set, "{\"k:{\\\"a\\\":\\\"\\\\u003c\\\",\\\"b\\\":1}\":{\"f:x\":{}},"
			   "\"v:\\\"a\\\"\":{}}");
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_false(managed_set_normalise(&a, parse(&a, wrong[i])));
}

static void the_intersection_is_found_at_every_depth(void **state)
{
	static const struct {
		const char *x, *y, *both;
	} rows[] = {
		{ "{}", "{\"f:a\":{}}", "{}" },
		{ "{\"f:a\":{}}", "{\"f:a\":{}}", "{\"f:a\":{}}" },
		{ "{\"f:a\":{\".\":{},\"f:b\":{}}}", "{\"f:a\":{\"f:b\":{}}}",
		  "{\"f:a\":{\"f:b\":{}}}" },
		{ "{\"f:a\":{\".\":{},\"f:b\":{}}}", "{\"f:a\":{}}", "{\"f:a\":{}}" },
		{ "{\"f:a\":{\".\":{},\"f:b\":{}}}", "{\"f:a\":{\".\":{},\"f:b\":{},\"f:c\":{}}}",
		  "{\"f:a\":{\".\":{},\"f:b\":{}}}" },
		{ "{\"f:a\":{\"f:b\":{}}}", "{\"f:a\":{\"f:c\":{}}}", "{}" },
	};
	CLEANUP(arena_release) struct arena a;

	arena_init(&a, MIB);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct json *x = parse(&a, rows[i].x), *y = parse(&a, rows[i].y);

		assert_prints(managed_set_intersect(&a, x, y), rows[i].both);
		assert_prints(managed_set_intersect(&a, y, x), rows[i].both);
		assert_true(managed_set_covers(x, parse(&a, rows[i].both)));
		assert_true(managed_set_covers(y, parse(&a, rows[i].both)));
	}
	assert_false(
		managed_set_covers(parse(&a, "{\"f:a\":{\"f:b\":{}}}"), parse(&a, "{\"f:a\":{}}")));
	assert_false(managed_set_covers(parse(&a, "{\"f:a\":{}}"), parse(&a, "{\"f:b\":{}}")));
}

static void a_deep_difference_takes_all_below(void **state)
{
	static const struct {
		const char *set, *minus, *left;
	} rows[] = {
		{ "{\"f:a\":{\".\":{},\"f:b\":{}},\"f:c\":{}}", "{\"f:a\":{}}", "{\"f:c\":{}}" },
		{ "{\"f:a\":{\"f:b\":{\"f:x\":{}},\"f:c\":{}}}", "{\"f:a\":{\"f:b\":{}}}",
		  "{\"f:a\":{\"f:c\":{}}}" },
		{ "{\"f:a\":{\"f:b\":{\"f:x\":{}}}}", "{\"f:a\":{\"f:b\":{}}}", "{}" },
		{ "{\"f:a\":{\".\":{},\"f:b\":{}}}", "{\"f:a\":{\"f:b\":{}}}", "{\"f:a\":{}}" },
	};
	CLEANUP(arena_release) struct arena a;

	arena_init(&a, MIB);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct json *set = parse(&a, rows[i].set);

		managed_set_subtract_deep(&a, set, parse(&a, rows[i].minus));
		assert_prints(set, rows[i].left);
	}
}

static bool add_path(void *arg, struct str path)
{
	return buf_printf(arg, "%.*s ", STR_ARG(path)) == 0;
}

static void paths_are_told_as_messages_tell_them(void **state)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(KIB);
	CLEANUP(arena_release) struct arena a;

	arena_init(&a, MIB);
	managed_set_paths(&a,
			  parse(&a, "{\"f:a\":{\".\":{},\"k:{\\\"n\\\":\\\"x\\\",\\\"p\\\":1}\":{"
				    "\"f:i\":{}}},\"f:b\":{\"v:\\\"s\\\"\":{},\"i:0\":{}}}"),
			  add_path, &out);
	assert_string_equal(out.p, ".a .a[n=\"x\",p=1].i .b[=\"s\"] .b[0] ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_have_upstreams_order),
		cmocka_unit_test(steps_get_our_spelling),
		cmocka_unit_test(the_intersection_is_found_at_every_depth),
		cmocka_unit_test(a_deep_difference_takes_all_below),
		cmocka_unit_test(paths_are_told_as_messages_tell_them),
		cmocka_unit_test(reading_sorts_and_refuses_what_is_no_set),
		cmocka_unit_test(a_set_that_is_too_deep_is_refused),
		cmocka_unit_test(subtraction_takes_fields_and_not_what_is_below_them),
		cmocka_unit_test(nothing_taken_leaves_everything),
		cmocka_unit_test(union_keeps_both_in_order),
	};

	return cmocka_run_group_tests_name("api/managed_set", tests, NULL, NULL);
}
