#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "cel/cel_limits.h"
#include "cel/core/json.h"
#include "cel/lib/libraries.h"

struct fixture {
	struct arena scratch, trees;
	struct cel_eval ev;
};

static int set_up(void **state)
{
	struct fixture *f = XNEW(struct fixture);

	arena_init(&f->scratch, CEL_SCRATCH_MAX);
	arena_init(&f->trees, CEL_SCRATCH_MAX);
	f->ev.scratch = &f->scratch;
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	arena_release(&f->scratch);
	arena_release(&f->trees);
	free(f);
	return 0;
}

static struct cel_value of(struct fixture *f, const char *text)
{
	struct json *tree;
	struct error err;

	if (json_parse(&f->trees, str_from(text), NULL, &tree, &err) < 0)
		fail_msg("%s: %s", text, err.msg);
	return cel_of_json(tree);
}

static struct cel_value text_of(const char *text)
{
	return CEL_STRING_V(str_from(text));
}

static void assert_printed(struct fixture *f, struct cel_value v, const char *expected)
{
	struct buf out = BUF_INIT(1 << 20);

	cel_value_print(&f->ev, &v, &out);
	assert_string_equal(out.p ? out.p : "", expected);
	buf_release(&out);
}

static void assert_json(struct fixture *f, struct cel_value v, const char *expected)
{
	struct buf out = BUF_INIT(1 << 20);
	struct json_writer w;

	json_writer_init(&w, &out, NULL);
	cel_write_json(&f->ev, &v, &w);
	assert_int_equal(json_writer_finish(&w), 0);
	assert_string_equal(out.p, expected);
	buf_release(&out);
}

static bool equal(struct fixture *f, struct cel_value a, struct cel_value b)
{
	bool there = cel_equal(&f->ev, &a, &b);

	assert_int_equal(there, cel_equal(&f->ev, &b, &a));
	return there;
}

static void numbers_are_equal_across_types(void **state)
{
	struct fixture *f = *state;

	assert_true(equal(f, CEL_INT_V(1), CEL_UINT_V(1)));
	assert_true(equal(f, CEL_INT_V(1), CEL_DOUBLE_V(1)));
	assert_true(equal(f, CEL_UINT_V(1), CEL_DOUBLE_V(1)));
	assert_false(equal(f, CEL_INT_V(-1), CEL_UINT_V(UINT64_MAX)));
	assert_false(equal(f, CEL_INT_V(1), CEL_DOUBLE_V(1.5)));
	assert_false(equal(f, CEL_DOUBLE_V(NAN), CEL_DOUBLE_V(NAN)));
	assert_false(equal(f, CEL_INT_V(0), CEL_DOUBLE_V(NAN)));
	assert_true(equal(f, CEL_DOUBLE_V(0.0), CEL_DOUBLE_V(-0.0)));
	/* By way of a double. */
	assert_true(equal(f, CEL_INT_V(INT64_MAX), CEL_DOUBLE_V(0x1p63)));
	assert_false(equal(f, CEL_INT_V(1), CEL_BOOL_V(true)));
	assert_false(equal(f, CEL_NULL_V, CEL_INT_V(0)));
	assert_true(equal(f, CEL_NULL_V, CEL_NULL_V));
}

static void equality_goes_into_depth(void **state)
{
	struct fixture *f = *state;
	struct cel_value items[] = { CEL_INT_V(1), CEL_UINT_V(2) };
	struct cel_value pairs[] = { text_of("b"), CEL_INT_V(2), text_of("a"), CEL_DOUBLE_V(1) };

	assert_true(equal(f, cel_list(&f->ev, items, 2), of(f, "[1.0, 2]")));
	assert_false(equal(f, cel_list(&f->ev, items, 2), of(f, "[1]")));
	assert_false(equal(f, cel_list(&f->ev, items, 2), of(f, "[2, 1]")));
	assert_true(equal(f, cel_map(&f->ev, pairs, 2), of(f, "{\"a\": 1, \"b\": 2}")));
	assert_false(equal(f, cel_map(&f->ev, pairs, 2), of(f, "{\"a\": 1, \"b\": 3}")));
	assert_false(equal(f, cel_map(&f->ev, pairs, 2), of(f, "{\"a\": 1, \"c\": 2}")));
	assert_false(equal(f, of(f, "[]"), of(f, "{}")));
	assert_true(equal(f, cel_none(), cel_none()));
	assert_false(equal(f, cel_none(), cel_optional(&f->ev, CEL_NULL_V)));
	assert_true(
		equal(f, cel_optional(&f->ev, CEL_INT_V(1)), cel_optional(&f->ev, CEL_UINT_V(1))));
	assert_true(equal(f, CEL_TYPE_V(&cel_list_a), CEL_TYPE_V(&cel_list_dyn)));
	assert_false(equal(f, CEL_TYPE_V(&cel_int), CEL_TYPE_V(&cel_uint)));
}

/* A value that shares its parts has 2^60 elements in 60 lists. */
static void comparing_what_is_astronomic_ends(void **state)
{
	struct fixture *f = *state;
	struct cel_value v = CEL_INT_V(1);

	for (int i = 0; i < 60; i++) {
		struct cel_value *items = cel_alloc(&f->ev, 2 * sizeof(*items));

		items[0] = items[1] = v;
		v = cel_list(&f->ev, items, 2);
	}
	assert_false(cel_equal(&f->ev, &v, &v));
	assert_string_equal(f->ev.exhausted, CEL_TOO_LONG);
}

/* Far deeper than an expression may nest: two trees of JSON. */
static void deep_trees_are_compared_written_and_cut_when_printed(void **state)
{
	enum { DEPTH = 9000 };
	struct fixture *f = *state;
	char *text = xcalloc(1, 2 * DEPTH + 2);
	struct cel_value a, b;
	struct buf out;

	memset(text, '[', DEPTH);
	text[DEPTH] = '1';
	memset(text + DEPTH + 1, ']', DEPTH);
	a = of(f, text);
	b = of(f, text);
	assert_true(equal(f, a, b));
	assert_json(f, a, text);
	buf_init(&out, 1 << 20);
	cel_value_print(&f->ev, &a, &out);
	assert_true(str_find(buf_str(&out), STR("[...]")) > 0);
	buf_release(&out);
	free(text);
}

/* A writer of JSON has 64 levels of its own. */
static void deep_lists_are_written(void **state)
{
	enum { DEPTH = 250 };
	struct fixture *f = *state;
	char text[2 * DEPTH + 2] = { 0 };
	struct cel_value v = CEL_INT_V(1);

	memset(text, '[', DEPTH);
	text[DEPTH] = '1';
	memset(text + DEPTH + 1, ']', DEPTH);
	for (int i = 0; i < DEPTH; i++) {
		struct cel_value *item = cel_alloc(&f->ev, sizeof(*item));

		*item = v;
		v = cel_list(&f->ev, item, 1);
	}
	assert_json(f, v, text);
}

static void order_is_that_of_the_language(void **state)
{
	static const struct {
		struct cel_value a, b;
		int order;
	} rows[] = {
		{ CEL_INT_V(1), CEL_INT_V(2), -1 },
		{ CEL_INT_V(-1), CEL_UINT_V(0), -1 },
		{ CEL_UINT_V(UINT64_MAX), CEL_INT_V(INT64_MAX), 1 },
		{ CEL_DOUBLE_V(1.5), CEL_INT_V(1), 1 },
		{ CEL_DOUBLE_V(-INFINITY), CEL_INT_V(INT64_MIN), -1 },
		{ CEL_UINT_V(3), CEL_DOUBLE_V(3), 0 },
		{ CEL_BOOL_V(false), CEL_BOOL_V(true), -1 },
		{ CEL_DURATION_V(5), CEL_DURATION_V(5), 0 },
	};
	struct cel_value nan = CEL_DOUBLE_V(NAN), one = CEL_INT_V(1), t = text_of("1");
	int order;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_true(cel_compare(&rows[i].a, &rows[i].b, &order));
		assert_int_equal(order, rows[i].order);
		assert_true(cel_compare(&rows[i].b, &rows[i].a, &order));
		assert_int_equal(order, -rows[i].order);
	}
	assert_false(cel_compare(&nan, &one, &order));
	assert_false(cel_compare(&nan, &nan, &order));
	assert_false(cel_compare(&t, &one, &order));
}

/* Every number of entries around the change from searching to halving. */
static void maps_find_what_they_have(void **state)
{
	struct fixture *f = *state;
	struct cel_value pairs[2 * 40] = { 0 }, m, key, value;
	size_t at, seen;

	for (size_t n = 0; n <= 40; n++) {
		for (size_t i = 0; i < n; i++) {
			pairs[2 * i] = i % 3 == 0   ? CEL_INT_V((int64_t)(i * 7919 % 101) - 50)
				       : i % 3 == 1 ? CEL_UINT_V(1000 + i * 7919 % 101)
						    : CEL_STRING_V(str_from(arena_printf(
							      &f->trees, "k%zu", i * 7919 % 101)));
			pairs[2 * i + 1] = CEL_INT_V((int64_t)i);
		}
		m = cel_map(&f->ev, pairs, n);
		assert_int_equal(cel_map_size(&m), n);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(cel_map_find(&f->ev, &m, &pairs[2 * i]).i, i);
		key = text_of("missing");
		assert_true(cel_is_error(cel_map_find(&f->ev, &m, &key)));
		key = CEL_DOUBLE_V(0.5);
		assert_true(cel_is_error(cel_map_find(&f->ev, &m, &key)));
		key = CEL_NULL_V;
		assert_true(cel_is_error(cel_map_find(&f->ev, &m, &key)));
		for (at = 0, seen = 0; cel_map_next(&f->ev, &m, &at, &key, &value); seen++)
			assert_int_equal(value.i, seen);
		assert_int_equal(seen, n);
	}
}

static void keys_are_found_across_types(void **state)
{
	struct fixture *f = *state;
	struct cel_value pairs[2 * 20], m;
	static const struct cel_value keys[] = {
		CEL_INT_V(3),
		CEL_UINT_V(3),
		CEL_DOUBLE_V(3),
	};

	for (size_t n = 4; n <= 20; n += 16) {
		for (size_t i = 0; i < n; i++) {
			pairs[2 * i] = CEL_INT_V((int64_t)i);
			pairs[2 * i + 1] = CEL_INT_V((int64_t)i * 10);
		}
		m = cel_map(&f->ev, pairs, n);
		for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
			assert_int_equal(cel_map_find(&f->ev, &m, &keys[i]).i, 30);
	}
}

/* Long lists and objects are read by an index, in any order. */
static void large_trees_are_indexed(void **state)
{
	enum { N = 3000 };
	struct fixture *f = *state;
	struct json *list = json_make_array(&f->trees), *object = json_make_object(&f->trees);
	struct cel_value v, m, key;

	for (int64_t i = 0; i < N; i++) {
		json_append(list, json_make_i64(&f->trees, i));
		json_add(object, str_from(arena_printf(&f->trees, "%d", (int)(i * 7919 % N))),
			 json_make_i64(&f->trees, i * 7919 % N));
	}
	v = cel_of_json(list);
	m = cel_of_json(object);
	for (size_t i = 0; i < N; i++) {
		size_t j = i * 1237 % N;

		assert_int_equal(cel_list_at(&f->ev, &v, j).i, j);
		key = CEL_STRING_V(str_from(arena_printf(&f->trees, "%zu", j)));
		assert_int_equal(cel_map_find(&f->ev, &m, &key).i, j);
	}
	key = text_of("3000");
	assert_true(cel_is_error(cel_map_find(&f->ev, &m, &key)));
}

/* A tree that is accessed once, or iterated once, gets no index. */
static void trees_are_indexed_only_when_that_pays(void **state)
{
	enum { LISTS = 20000, N = 3000 };
	struct fixture *f = *state;
	struct json *lists = json_make_array(&f->trees), *list, *object;
	struct cel_value v, last = text_of("k19");

	for (int i = 0; i < LISTS; i++) {
		list = json_make_array(&f->trees);
		for (int k = 0; k < 20; k++)
			json_append(list, json_make_i64(&f->trees, i + k));
		json_append(lists, list);
	}
	for (const struct json *l = json_first(lists); l; l = l->next) {
		v = cel_of_json(l);
		for (size_t k = 0; k < 20; k++)
			assert_int_equal(cel_list_at(&f->ev, &v, k).i,
					 cel_list_at(&f->ev, &v, 0).i + (int64_t)k);
	}
	/* Slots of the table, 32 bytes each, and what smaller tables took. */
	assert_true(f->scratch.used < LISTS * 32 * 4);

	object = json_make_object(&f->trees);
	for (int k = 0; k < N; k++)
		json_add(object, str_from(arena_printf(&f->trees, "k%d", k)),
			 json_make_i64(&f->trees, k));
	v = cel_of_json(object);
	for (int i = 0; i < 3; i++)
		assert_int_equal(cel_map_find(&f->ev, &v, &last).i, 19);
}

/* The same without memory for an index. */
static void trees_are_read_without_memory(void **state)
{
	struct fixture *f = *state;
	struct cel_value v = of(f, "[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19]");

	arena_init(&f->scratch, 0);
	assert_int_equal(cel_list_at(&f->ev, &v, 17).i, 17);
	assert_true(cel_is_error(cel_list(&f->ev, NULL, 0)));
	assert_true(cel_is_error(cel_errorf(&f->ev, "%d", 1)));
}

static void appending_leaves_what_was_there(void **state)
{
	struct fixture *f = *state;
	struct cel_value one = of(f, "[1]"), two = of(f, "[2]"), three = of(f, "[3]");
	struct cel_value a = cel_list_append(&f->ev, &one, &two);
	struct cel_value b = cel_list_append(&f->ev, &a, &three);
	struct cel_value c = cel_list_append(&f->ev, &a, &one);

	assert_json(f, a, "[1,2]");
	assert_json(f, b, "[1,2,3]");
	assert_json(f, c, "[1,2,1]");
	assert_json(f, cel_list_append(&f->ev, &b, &b), "[1,2,3,1,2,3]");
	assert_json(f, b, "[1,2,3]");
}

static void appending_one_by_one_is_linear_in_memory(void **state)
{
	struct fixture *f = *state;
	struct cel_value one = of(f, "[1]"), v = one;

	for (int i = 0; i < 100000; i++)
		v = cel_list_append(&f->ev, &v, &one);
	assert_int_equal(cel_list_size(&v), 100001);
	assert_true(f->scratch.used < 24UL * MIB);
}

static void values_print_as_one_writes_them(void **state)
{
	struct fixture *f = *state;
	struct cel_value pairs[] = { CEL_INT_V(2), text_of("x\n"), CEL_BOOL_V(true), CEL_NULL_V };

	assert_printed(f, CEL_NULL_V, "null");
	assert_printed(f, CEL_UINT_V(7), "7u");
	assert_printed(f, CEL_DOUBLE_V(1), "1.0");
	assert_printed(f, CEL_DOUBLE_V(1e21), "1000000000000000000000.0");
	assert_printed(f, CEL_DOUBLE_V(-1.5e-7), "-0.00000015");
	assert_printed(f, CEL_DOUBLE_V(NAN), "double(\"NaN\")");
	assert_printed(f, CEL_DOUBLE_V(-INFINITY), "double(\"-Infinity\")");
	assert_printed(f, CEL_BYTES_V(STR("a\0")), "b\"\\141\\000\"");
	assert_printed(f, cel_map(&f->ev, pairs, 2), "{2: \"x\\n\", true: null}");
	assert_printed(f, of(f, "[{\"b\": 1, \"a\": []}]"), "[{\"a\": [], \"b\": 1}]");
	assert_printed(f, CEL_DURATION_V(1500000000), "duration(\"1.5s\")");
	assert_printed(f, (struct cel_value){ .kind = CEL_TIMESTAMP, .i = 0, .nanos = 120000000 },
		       "timestamp(\"1970-01-01T00:00:00.12Z\")");
	assert_printed(f, CEL_TYPE_V(&cel_int), "int");
	assert_printed(f, cel_none(), "optional.none()");
	assert_printed(f, cel_optional(&f->ev, CEL_INT_V(1)), "optional.of(1)");
}

static void values_are_written_as_json(void **state)
{
	struct fixture *f = *state;
	struct cel_value pairs[] = { CEL_INT_V(-2),    CEL_DOUBLE_V(-0.0), CEL_BOOL_V(true),
				     CEL_UINT_V(~0UL), text_of("\"x"),     CEL_DOUBLE_V(NAN),
				     CEL_UINT_V(3),    CEL_NULL_V };

	assert_json(f, cel_map(&f->ev, pairs, 4),
		    "{\"-2\":-0,\"true\":18446744073709551615,\"\\\"x\":\"NaN\",\"3\":null}");
	assert_json(f, CEL_DOUBLE_V(INFINITY), "\"Infinity\"");
	assert_json(f, CEL_DOUBLE_V(-INFINITY), "\"-Infinity\"");
	assert_json(f, CEL_BYTES_V(STR("\x01\xff")), "\"Af8=\"");
	assert_json(f, CEL_TYPE_V(&cel_timestamp), "\"google.protobuf.Timestamp\"");
	assert_json(f, CEL_DURATION_V(-90 * INT64_C(1000000000)), "\"-90s\"");
	assert_json(f, (struct cel_value){ .kind = CEL_TIMESTAMP, .i = CEL_TIMESTAMP_MIN },
		    "\"0001-01-01T00:00:00Z\"");
	assert_json(f, cel_none(), "null");
	assert_json(f, cel_optional(&f->ev, of(f, "[18446744073709551615,1e300]")),
		    "[18446744073709551615,1e+300]");
}

/* cel_library_find() and the checker rely on this. */
static void the_table_is_sorted_and_complete(void **state)
{
	const struct cel_overload *rows = cel_lib_standard.overloads;

	(void)state;
	for (size_t i = 0; i < cel_lib_standard.n; i++) {
		assert_non_null(rows[i].result);
		for (size_t a = 0; a < CEL_ARGS_MAX; a++)
			assert_int_equal(a < rows[i].nargs, rows[i].args[a] != NULL);
		if (i > 0)
			assert_true(strcmp(rows[i - 1].function, rows[i].function) <= 0);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(rows[j].id, rows[i].id);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(numbers_are_equal_across_types),
		TEST(equality_goes_into_depth),
		TEST(comparing_what_is_astronomic_ends),
		TEST(deep_trees_are_compared_written_and_cut_when_printed),
		TEST(deep_lists_are_written),
		TEST(order_is_that_of_the_language),
		TEST(maps_find_what_they_have),
		TEST(keys_are_found_across_types),
		TEST(large_trees_are_indexed),
		TEST(trees_are_indexed_only_when_that_pays),
		TEST(trees_are_read_without_memory),
		TEST(appending_leaves_what_was_there),
		TEST(appending_one_by_one_is_linear_in_memory),
		TEST(values_print_as_one_writes_them),
		TEST(values_are_written_as_json),
		TEST(the_table_is_sorted_and_complete),
	};

	return cmocka_run_group_tests_name("cel/value", tests, NULL, NULL);
}
