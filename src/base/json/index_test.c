/*
 * Indexes over few children, which are searched, and over many, which are mapped.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/json/index.h"

enum { SIZES = 2 };

static const int sizes[SIZES] = { 3, 3000 };

static const char *name_of(struct arena *a, int i)
{
	return arena_printf(a, "n%d", i);
}

/* {"name":"n0"}, .., then the first again, and one without a name. */
static struct json *make_list(struct arena *a, int n)
{
	struct json *list = json_make_array(a);

	for (int i = 0; i <= n; i++) {
		struct json *item = json_make_object(a);

		json_put_str(a, item, "name", str_from(name_of(a, i % n)));
		json_append(list, item);
	}
	json_append(list, json_make_object(a));
	return list;
}

static void elements_are_found_by_a_member(void **state)
{
	(void)state;
	for (size_t k = 0; k < SIZES; k++) {
		CLEANUP(json_index_release) struct json_index x;
		CLEANUP(arena_release) struct arena a;
		struct json *list;

		arena_init(&a, 4 * MIB);
		list = make_list(&a, sizes[k]);
		json_index_init(&x, list, "name");
		assert_ptr_equal(json_index_get(&x, STR("n1")), json_at(list, 1));
		assert_null(json_index_get(&x, STR("n")));
		assert_ptr_equal(json_index_get(&x, STR("")), list->last);
		assert_ptr_equal(json_index_get(&x, STR_NULL), list->last);
	}
}

static void the_second_of_a_name_came_before(void **state)
{
	(void)state;
	for (size_t k = 0; k < SIZES; k++) {
		CLEANUP(json_index_release) struct json_index x;
		CLEANUP(arena_release) struct arena a;
		struct json *list;
		int i = 0;

		arena_init(&a, 4 * MIB);
		list = make_list(&a, sizes[k]);
		json_index_init(&x, list, "name");
		JSON_FOREACH (item, list)
			assert_int_equal(json_index_came_before(&x, item), i++ == sizes[k]);
	}
}

static void texts_are_found_and_names_of_members(void **state)
{
	(void)state;
	for (size_t k = 0; k < SIZES; k++) {
		CLEANUP(json_index_release) struct json_index texts;
		CLEANUP(json_index_release) struct json_index members;
		CLEANUP(arena_release) struct arena a;
		struct json *list, *object;

		arena_init(&a, 4 * MIB);
		list = json_make_array(&a);
		object = json_make_object(&a);
		for (int i = 0; i < sizes[k]; i++) {
			json_append(list, json_make_str(&a, str_from(name_of(&a, i))));
			json_add(object, str_from(name_of(&a, i)), json_make_i64(&a, i));
		}
		json_index_init(&texts, list, NULL);
		json_index_init(&members, object, NULL);
		assert_ptr_equal(json_index_get(&texts, STR("n2")), list->first->next->next);
		assert_null(json_index_get(&texts, STR("")));
		assert_int_equal(json_index_get(&members, STR("n2"))->i64, 2);
		assert_null(json_index_get(&members, STR("m2")));
	}
}

static void an_index_of_a_missing_list_is_empty(void **state)
{
	CLEANUP(json_index_release) struct json_index x;

	(void)state;
	json_index_init(&x, NULL, "name");
	assert_null(json_index_get(&x, STR("")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(elements_are_found_by_a_member),
		cmocka_unit_test(the_second_of_a_name_came_before),
		cmocka_unit_test(texts_are_found_and_names_of_members),
		cmocka_unit_test(an_index_of_a_missing_list_is_empty),
	};

	return cmocka_run_group_tests_name("base/json_index", tests, NULL, NULL);
}
