/*
 * Roles and bindings, valid and not: the rows are in cases/.
 */
#include "api/check/check_fixture.h"
#include "base/core/limits.h"

static void roles_and_bindings_are_judged_as_upstream_does(void **state)
{
	(void)state;
	assert_in_range(run_cases("rbac.cases"), 30, 1000);
}

static void users_and_groups_get_their_api_group(void **state)
{
	static const char *const kinds[] = { "User", "Group", "ServiceAccount" };
	CLEANUP(arena_release) struct arena a;

	(void)state;
	arena_init(&a, MIB);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct schema_type *type = schema_type_find(
			STR("io.k8s.api.rbac.v1.Subject"));
		struct json *subject = json_make_object(&a);

		json_put_str(&a, subject, "kind", str_from(kinds[i]));
		json_put_str(&a, subject, "name", STR("x"));
		defaults_fill(&a, subject, type, 0);
		assert_int_equal(json_getz(subject, "apiGroup") != NULL, i < 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(roles_and_bindings_are_judged_as_upstream_does),
		cmocka_unit_test(users_and_groups_get_their_api_group),
	};

	return cmocka_run_group_tests_name("api/check_rbac", tests, NULL, NULL);
}
