/*
 * Trees: making, reading, comparing, copying and changing them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>

#include "base/core/limits.h"
#include "base/json/json.h"

static int setup(void **state)
{
	static struct arena arena;

	arena_init(&arena, 64 * MIB);
	*state = &arena;
	return 0;
}

static int teardown(void **state)
{
	arena_release(*state);
	return 0;
}

static struct json *parse(struct arena *a, const char *text)
{
	struct error err = { 0 };
	struct json *v = NULL;

	if (json_parse(a, str_from(text), NULL, &v, &err) < 0)
		fail_msg("%s: %s", text, err.msg);
	return v;
}

static void assert_json(const struct json *v, const char *expected)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);

	assert_int_equal(json_print(&b, v, NULL), 0);
	assert_string_equal(b.p, expected);
}

static void a_node_is_small(void **state)
{
	assert_true(sizeof(struct json) <= 48);
}

static void made_nodes_are_what_was_asked(void **state)
{
	struct arena *a = *state;
	struct json *array = json_make_array(a), *object = json_make_object(a);

	json_append(array, json_make_null(a));
	json_append(array, json_make_bool(a, true));
	json_append(array, json_make_i64(a, -7));
	json_append(array, json_make_u64(a, UINT64_MAX));
	json_append(array, json_make_u64(a, 7));
	json_append(array, json_make_f64(a, 0.25));
	json_append(array, json_make_str(a, STR("x")));
	json_append(array, json_make_str(a, STR_NULL));
	json_append(array, object);
	assert_json(array, "[null,true,-7,18446744073709551615,7,0.25,\"x\",\"\",{}]");
	assert_int_equal(json_at(array, 4)->type, JSON_INT);
	assert_non_null(json_str(json_at(array, 7)).p);
}

static void readers_take_what_is_not_there(void **state)
{
	int64_t i = 5;
	uint64_t u = 5;
	double f = 5;
	bool b = true;

	assert_null(json_get(NULL, STR("a")));
	assert_null(json_getz(json_getz(NULL, "a"), "b"));
	assert_null(json_at(NULL, 0));
	assert_null(json_first(NULL));
	assert_null(json_pointer(NULL, STR("/a")));
	assert_null(json_str(NULL).p);
	assert_int_equal(json_count(NULL), 0);
	assert_false(json_is(NULL, JSON_NULL));
	assert_false(json_i64(NULL, &i) || json_u64(NULL, &u) || json_f64(NULL, &f) ||
		     json_bool(NULL, &b));
	assert_true(i == 5 && u == 5 && f == 5 && b);
}

static void typed_getters_convert_nothing(void **state)
{
	struct json *v = parse(*state, "[1,-1,9223372036854775808,1.0,\"1\",true,null]");
	int64_t i = 0;
	uint64_t u = 0;
	double f = 0;
	bool b = false;

	assert_true(json_i64(json_at(v, 0), &i) && i == 1);
	assert_true(json_u64(json_at(v, 0), &u) && u == 1);
	assert_true(json_i64(json_at(v, 1), &i) && i == -1);
	assert_false(json_u64(json_at(v, 1), &u));
	assert_false(json_i64(json_at(v, 2), &i));
	assert_true(json_u64(json_at(v, 2), &u) && u == UINT64_C(9223372036854775808));
	assert_false(json_i64(json_at(v, 3), &i) || json_u64(json_at(v, 3), &u));
	assert_true(json_f64(json_at(v, 3), &f) && f == 1);
	assert_true(json_f64(json_at(v, 2), &f) && f == 9223372036854775808.0);
	assert_false(json_i64(json_at(v, 4), &i) || json_f64(json_at(v, 4), &f));
	assert_true(json_bool(json_at(v, 5), &b) && b);
	assert_false(json_bool(json_at(v, 0), &b));
	assert_null(json_str(json_at(v, 0)).p);
	assert_true(str_eq(json_str(json_at(v, 4)), STR("1")));
}

static void members_are_found_by_name(void **state)
{
	struct json *v = parse(*state, "{\"a\":1,\"ab\":2,\"\":3}");

	assert_int_equal(json_getz(v, "ab")->i64, 2);
	assert_int_equal(json_getz(v, "a")->i64, 1);
	assert_int_equal(json_get(v, STR_NULL)->i64, 3);
	assert_null(json_getz(v, "abc"));
	assert_null(json_getz(parse(*state, "[1]"), "a"));
	assert_null(json_at(v, 0));
}

static void children_are_visited_in_order(void **state)
{
	struct json *v = parse(*state, "[10,20,30]");
	int64_t sum = 0;

	/* clang-format off */
	JSON_FOREACH(child, v)
		sum = sum * 100 + child->i64;
	assert_int_equal(sum, 102030);
	JSON_FOREACH(child, json_at(v, 0))
		fail();
	JSON_FOREACH_SAFE(child, v)
		(void)json_unlink(v, child);
	/* clang-format on */
	assert_json(v, "[]");
}

/* The examples of RFC 6901, section 5, and what section 4 forbids. */
static void pointers_name_values(void **state)
{
	struct json *v = parse(*state, "{\"foo\":[\"bar\",\"baz\"],\"\":0,\"a/b\":1,\"c%d\":2,"
				       "\"e^f\":3,\"g|h\":4,\"i\\\\j\":5,\"k\\\"l\":6,\" \":7,"
				       "\"m~n\":8,\"~1\":9,\"o\":{\"\":{\"p\":10}}}");
	static const char *const none[] = { "foo",      "/foo/2", "/foo/-",  "/foo/00",
					    "/foo/01",  "/foo/",  "/foo/ 1", "/m~n",
					    "/m~2n",    "/m~",    "/a~b",    "/x",
					    "/foo/0/x", "//x",    "/foo/+1", "/foo/1e0" };
	static const struct {
		const char *pointer;
		int64_t value;
	} some[] = { { "/", 0 },     { "/a~1b", 1 }, { "/c%d", 2 },  { "/e^f", 3 },
		     { "/g|h", 4 },  { "/i\\j", 5 }, { "/k\"l", 6 }, { "/ ", 7 },
		     { "/m~0n", 8 }, { "/~01", 9 },  { "/o//p", 10 } };

	assert_ptr_equal(json_pointer(v, STR("")), v);
	assert_ptr_equal(json_pointer(v, STR("/foo")), v->first);
	assert_true(str_eq(json_str(json_pointer(v, STR("/foo/0"))), STR("bar")));
	assert_true(str_eq(json_str(json_pointer(v, STR("/foo/1"))), STR("baz")));
	for (size_t i = 0; i < ARRAY_SIZE(some); i++) {
		struct json *hit = json_pointer(v, str_from(some[i].pointer));

		if (!hit || hit->i64 != some[i].value)
			fail_msg("%s", some[i].pointer);
	}
	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		if (json_pointer(v, str_from(none[i])))
			fail_msg("%s", none[i]);
}

static void values_are_compared(void **state)
{
	static const struct {
		const char *a, *b;
		bool equal;
	} cases[] = {
		{ "null", "null", true },
		{ "null", "false", false },
		{ "true", "true", true },
		{ "true", "false", false },
		{ "\"a\"", "\"\\u0061\"", true },
		{ "\"a\"", "\"b\"", false },
		{ "\"a\"", "\"aa\"", false },
		{ "\"1\"", "1", false },
		{ "1", "1.0", true },
		{ "1", "2", false },
		{ "1", "-1", false },
		{ "0", "-0", true },
		{ "9007199254740993", "9007199254740992", false },
		{ "9223372036854775808", "9223372036854775808", true },
		{ "18446744073709551615", "-1", false },
		{ "9223372036854775808", "9223372036854775808.0", true },
		{ "[]", "[]", true },
		{ "[]", "{}", false },
		{ "[]", "null", false },
		{ "[1,2]", "[1,2]", true },
		{ "[1,2]", "[2,1]", false },
		{ "[1,2]", "[1]", false },
		{ "[[1],[2]]", "[[1],[3]]", false },
		{ "{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", true },
		{ "{\"a\":1,\"b\":2}", "{\"b\":1,\"a\":2}", false },
		{ "{\"a\":1}", "{\"b\":1}", false },
		{ "{\"a\":1}", "{\"a\":1,\"b\":2}", false },
		{ "{\"a\":{\"x\":[1,{\"y\":2,\"z\":3}]}}", "{\"a\":{\"x\":[1,{\"z\":3,\"y\":2}]}}",
		  true },
		{ "{\"a\":{\"x\":[1,{\"y\":2}]}}", "{\"a\":{\"x\":[1,{\"y\":3}]}}", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct json *a = parse(*state, cases[i].a), *b = parse(*state, cases[i].b);

		if (json_equal(a, b) != cases[i].equal || json_equal(b, a) != cases[i].equal)
			fail_msg("%s, %s", cases[i].a, cases[i].b);
	}
	assert_true(json_equal(NULL, NULL));
	assert_false(json_equal(NULL, parse(*state, "null")));
}

static struct json *numbered(struct arena *a, int n, bool backwards, int64_t last)
{
	struct json *v = json_make_object(a);

	for (int i = 0; i < n; i++) {
		int k = backwards ? n - 1 - i : i;

		json_add(v, str_from(arena_printf(a, "k%d", k)),
			 json_make_i64(a, k == n - 1 ? last : k));
	}
	return v;
}

static void large_objects_are_compared_whatever_their_order(void **state)
{
	struct json *a = numbered(*state, 20000, false, 1);

	assert_true(json_equal(a, numbered(*state, 20000, true, 1)));
	assert_false(json_equal(a, numbered(*state, 20000, true, 2)));
	(void)json_unlink(a, a->first);
	json_add(a, STR("other"), json_make_null(*state));
	assert_false(json_equal(a, numbered(*state, 20000, true, 1)));
}

static void a_copy_stands_alone(void **state)
{
	CLEANUP(arena_release) struct arena other;
	const char *printed = "{\"a\":[1,-2.5,{\"b\":\"x\\ny\"}],\"\":{},\"c\":[[]],\"d\":\"\"}";
	char text[100];
	struct json *v, *copy;

	(void)snprintf(text, sizeof(text), "{\"x\":%s}", printed);
	arena_init(&other, MIB);
	v = parse(&other, text);
	assert_int_equal(json_copy(*state, json_getz(v, "x"), &copy, NULL), 0);
	arena_clear(&other);
	memset(text, '?', sizeof(text));
	assert_json(copy, printed);
	assert_null(copy->key);
	assert_null(copy->next);
}

static void an_alias_shares_its_children(void **state)
{
	struct json *v = json_getz(parse(*state, "{\"x\":[1,{\"b\":2}],\"y\":3}"), "x");
	struct json *alias = json_alias(*state, v);

	assert_json(alias, "[1,{\"b\":2}]");
	assert_null(alias->key);
	assert_null(alias->next);
	assert_ptr_equal(json_first(alias), json_first(v));
}

static void a_copy_honours_the_limit(void **state)
{
	CLEANUP(arena_release) struct arena small;
	struct json *v = json_make_array(*state), *copy = NULL;
	struct error err;

	for (int i = 0; i < 10000; i++)
		json_append(v, json_make_null(*state));
	arena_init(&small, 64 * KIB);
	assert_int_equal(json_copy(&small, v, &copy, &err), -ERR_TOO_LARGE);
	assert_null(copy);
}

static void elements_are_inserted_and_removed(void **state)
{
	struct arena *a = *state;
	struct json *v = json_make_array(a), *taken;

	json_insert(v, 0, json_make_i64(a, 1));
	json_insert(v, 0, json_make_i64(a, 0));
	json_insert(v, 2, json_make_i64(a, 3));
	json_insert(v, 2, json_make_i64(a, 2));
	json_append(v, json_make_i64(a, 4));
	assert_json(v, "[0,1,2,3,4]");
	taken = json_remove_at(v, 4);
	assert_int_equal(taken->i64, 4);
	assert_null(taken->next);
	assert_int_equal(json_remove_at(v, 0)->i64, 0);
	assert_int_equal(json_remove_at(v, 1)->i64, 2);
	assert_null(json_remove_at(v, 2));
	assert_json(v, "[1,3]");
	json_append(v, taken);
	assert_json(v, "[1,3,4]");
	json_replace(v, v->last, json_make_bool(a, true));
	json_replace(v, v->first, json_make_bool(a, false));
	assert_json(v, "[false,3,true]");
	while (v->n)
		(void)json_remove_at(v, 0);
	assert_null(v->last);
	json_append(v, json_make_null(a));
	assert_json(v, "[null]");
}

static void members_are_set_and_removed(void **state)
{
	struct arena *a = *state;
	struct json *v = json_make_object(a), *taken;

	json_put_i64(a, v, "a", 1);
	json_put_i64(a, v, "b", 2);
	json_put_i64(a, v, "c", 3);
	json_put_str(a, v, "b", STR("two"));
	assert_json(v, "{\"a\":1,\"b\":\"two\",\"c\":3}");
	json_setz(v, "c", json_make_null(a));
	json_set(v, STR("d"), json_make_array(a));
	taken = json_remove(v, STR("a"));
	assert_true(str_eq(json_key(taken), STR("a")));
	assert_null(json_remove(v, STR("a")));
	assert_json(v, "{\"b\":\"two\",\"c\":null,\"d\":[]}");
	json_append(json_getz(v, "d"), taken);
	assert_json(v, "{\"b\":\"two\",\"c\":null,\"d\":[1]}");
	(void)json_remove(v, STR("d"));
	(void)json_remove(v, STR("b"));
	(void)json_remove(v, STR("c"));
	assert_json(v, "{}");
	assert_null(v->last);
}

static void an_assigned_node_keeps_its_place(void **state)
{
	struct json *v = parse(*state, "{\"a\":1,\"b\":2,\"c\":{\"d\":[true]}}");

	json_assign(json_getz(v, "b"), json_remove(v, STR("c")));
	assert_json(v, "{\"a\":1,\"b\":{\"d\":[true]}}");
}

static void *work_on_a_deep_tree(void *arg)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB), again = BUF_INIT(MIB);
	CLEANUP(arena_release) struct arena a;
	struct json *v, *copy;
	bool *ok = arg;

	arena_init(&a, 64 * MIB);
	for (int i = 0; i < 60000; i++)
		(void)buf_addz(&b, "[");
	for (int i = 0; i < 60000; i++)
		(void)buf_addz(&b, "]");
	*ok = json_parse(&a, buf_str(&b), &(struct json_options){ .depth_max = 60000 }, &v, NULL) ==
		      0 &&
	      json_copy(&a, v, &copy, NULL) == 0 && json_equal(v, copy) &&
	      json_print(&again, copy, NULL) == 0 && str_eq(buf_str(&b), buf_str(&again));
	return NULL;
}

static void depth_costs_no_stack(void **state)
{
	pthread_attr_t attr;
	pthread_t thread;
	bool ok = false;

	assert_int_equal(pthread_attr_init(&attr), 0);
	assert_int_equal(pthread_attr_setstacksize(&attr, 256 * KIB), 0);
	assert_int_equal(pthread_create(&thread, &attr, work_on_a_deep_tree, &ok), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	(void)pthread_attr_destroy(&attr);
	assert_true(ok);
}

static void members_are_read_and_made_by_name(void **state)
{
	struct arena *a = *state;
	struct json *o = json_make_object(a), *list, *inner;

	json_put_str(a, o, "name", STR("x"));
	json_put_str(a, o, "name", STR("pod"));
	json_put_bool(a, o, "yes", true);
	json_put_bool(a, o, "no", false);
	json_put_i64(a, o, "n", 7);
	assert_int_equal(json_count(o), 4);
	assert_true(str_eq(json_text_at(o, "name"), STR("pod")));
	assert_null(json_text_at(o, "n").p);
	assert_null(json_text_at(NULL, "name").p);
	assert_true(json_true_at(o, "yes"));
	assert_false(json_true_at(o, "no") || json_true_at(o, "n") || json_true_at(NULL, "yes"));
	assert_int_equal(json_i64_at(o, "n", -1), 7);
	assert_int_equal(json_i64_at(o, "yes", -1), -1);

	inner = json_need_object(a, o, "inner");
	assert_true(json_is(inner, JSON_OBJECT));
	assert_ptr_equal(json_need_object(a, o, "inner"), inner);
	list = json_need_array(a, o, "inner"); /* replaces what is something else */
	assert_ptr_equal(json_getz(o, "inner"), list);
	json_append(list, json_make_null(a));
	json_append(list, json_make_str(a, STR("b")));
	assert_true(json_has_text(list, STR("b")));
	assert_false(json_has_text(list, STR("")) || json_has_text(NULL, STR("b")));
	json_append(list, json_make_object(a));
	inner = json_make_object(a);
	json_put_str(a, inner, "name", STR("pod"));
	json_append(list, inner);
	assert_ptr_equal(json_find(list, "name", STR("pod")), inner);
	assert_null(json_find(list, "name", STR("po")));
	assert_null(json_find(list, "none", STR("")));
	assert_null(json_find(NULL, "name", STR("pod")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_node_is_small),
		cmocka_unit_test_setup_teardown(made_nodes_are_what_was_asked, setup, teardown),
		cmocka_unit_test(readers_take_what_is_not_there),
		cmocka_unit_test_setup_teardown(typed_getters_convert_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(members_are_found_by_name, setup, teardown),
		cmocka_unit_test_setup_teardown(children_are_visited_in_order, setup, teardown),
		cmocka_unit_test_setup_teardown(pointers_name_values, setup, teardown),
		cmocka_unit_test_setup_teardown(values_are_compared, setup, teardown),
		cmocka_unit_test_setup_teardown(large_objects_are_compared_whatever_their_order,
						setup, teardown),
		cmocka_unit_test_setup_teardown(a_copy_stands_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(an_alias_shares_its_children, setup, teardown),
		cmocka_unit_test_setup_teardown(a_copy_honours_the_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(elements_are_inserted_and_removed, setup, teardown),
		cmocka_unit_test_setup_teardown(members_are_set_and_removed, setup, teardown),
		cmocka_unit_test_setup_teardown(members_are_read_and_made_by_name, setup, teardown),
		cmocka_unit_test_setup_teardown(an_assigned_node_keeps_its_place, setup, teardown),
		cmocka_unit_test(depth_costs_no_stack),
	};

	return cmocka_run_group_tests_name("base/json", tests, NULL, NULL);
}
