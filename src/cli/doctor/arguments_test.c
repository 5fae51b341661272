#include "cli/doctor/arguments.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json/json.h"

static bool has(const char *args, const char *name, const char *item)
{
	struct json *tree = NULL;
	struct arena a;
	bool found;

	arena_init(&a, 4096);
	assert_int_equal(json_parse(&a, str_from(args), NULL, &tree, NULL), 0);
	found = doctor_has_flag(tree, &(struct doctor_flag){ name, item });
	arena_release(&a);
	return found;
}

static void a_flag_is_on_alone_or_with_a_value(void **state)
{
	(void)state;
	assert_true(has("[\"node\",\"--on\"]", "--on", NULL));
	assert_true(has("[\"--on=true\"]", "--on", NULL));
	assert_false(has("[\"--on=false\"]", "--on", NULL));
	assert_false(has("[\"--once\"]", "--on", NULL));
	assert_false(has("[7,null,\"\"]", "--on", NULL));
	assert_true(has("[]", NULL, NULL));
}

static void a_list_has_an_item_as_a_whole(void **state)
{
	(void)state;
	assert_true(has("[\"--list=a,b\"]", "--list", "b"));
	assert_false(has("[\"--list=a,bc\"]", "--list", "b"));
	assert_false(has("[\"--list=a,-b\"]", "--list", "b"));
	assert_false(has("[\"--list\"]", "--list", "b"));
	assert_false(has("[\"--list=\"]", "--list", "b"));
}

static void no_arguments_have_no_flag(void **state)
{
	(void)state;
	assert_false(doctor_has_flag(NULL, &(struct doctor_flag){ "--on", NULL }));
	assert_true(doctor_has_flag(NULL, &(struct doctor_flag){ NULL, NULL }));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_flag_is_on_alone_or_with_a_value),
		cmocka_unit_test(a_list_has_an_item_as_a_whole),
		cmocka_unit_test(no_arguments_have_no_flag),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
