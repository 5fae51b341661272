#include "cli/output/object_sort.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"

/* Sorts {"k":VALUE} of each value by .k; `want` is the compact list, or the error's message. */
static void check(const char *list, const char *want)
{
	CLEANUP(arena_release) struct arena a;
	CLEANUP(buf_release) struct buf b = BUF_INIT(64 * KIB);
	const struct jsonpath *path;
	struct error err;
	struct json *v;

	arena_init(&a, MIB);
	assert_int_equal(json_parse(&a, str_from(list), NULL, &v, NULL), 0);
	assert_int_equal(jsonpath_compile(&a, STR(".k"), &path, NULL), 0);
	if (object_sort(v, NULL, path, &err) < 0)
		(void)buf_addz(&b, err.msg);
	else
		(void)json_print(&b, v, NULL);
	if (!str_eqz(buf_str(&b), want))
		fail_msg("%s becomes %.*s, not %s", list, STR_ARG(buf_str(&b)), want);
}

static void values_are_compared_by_their_kind(void **state)
{
	check("[{\"k\":10},{\"k\":9},{\"k\":9.5}]", "[{\"k\":9},{\"k\":9.5},{\"k\":10}]");
	check("[{\"k\":\"gpu-2\"},{\"k\":\"gpu-10\"}]", "[{\"k\":\"gpu-10\"},{\"k\":\"gpu-2\"}]");
	check("[{\"k\":\"1Gi\"},{\"k\":\"500Mi\"}]", "[{\"k\":\"500Mi\"},{\"k\":\"1Gi\"}]");
	check("[]", "[]");
}

static void objects_without_a_value_come_first_and_equals_keep_their_order(void **state)
{
	check("[{\"k\":\"b\"},{\"n\":1},{\"k\":\"a\",\"n\":1},{\"n\":2},{\"k\":\"a\",\"n\":2}]",
	      "[{\"n\":1},{\"n\":2},{\"k\":\"a\",\"n\":1},{\"k\":\"a\",\"n\":2},{\"k\":\"b\"}]");
}

static void values_without_an_order_are_refused(void **state)
{
	check("[{\"n\":1}]", "--sort-by: none of the objects has this field");
	check("[{\"k\":1},{\"k\":\"a\"}]",
	      "--sort-by: some values are numbers and others are text");
	check("[{\"k\":{}}]", "--sort-by: the values are neither numbers nor text");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_compared_by_their_kind),
		cmocka_unit_test(objects_without_a_value_come_first_and_equals_keep_their_order),
		cmocka_unit_test(values_without_an_order_are_refused),
	};

	return cmocka_run_group_tests_name("cli/object_sort", tests, NULL, NULL);
}
