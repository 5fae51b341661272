/*
 * Text forms and version bits; randomness itself is random_test's matter.
 */
#include "base/system/uuid.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/core/random.h"

static void a_new_uuid_is_version_4_in_lower_case(void **state)
{
	char text[UUID_TEXT_SIZE];
	struct uuid u;

	for (int i = 0; i < 100; i++) {
		uuid_make(&u);
		assert_int_equal(uuid_print(&u, text).n, 36);
		assert_int_equal(strspn(text, "0123456789abcdef-"), 36);
		assert_int_equal(text[14], '4');
		assert_non_null(strchr("89ab", text[19]));
	}
}

static void two_uuids_differ_but_not_from_one_seed(void **state)
{
	struct uuid a, b;
	struct prng g;

	uuid_make(&a);
	uuid_make(&b);
	assert_memory_not_equal(&a, &b, sizeof(a));
	prng_init(&g, 1);
	uuid_make_seeded(&a, &g);
	prng_init(&g, 1);
	uuid_make_seeded(&b, &g);
	assert_memory_equal(&a, &b, sizeof(a));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_uuid_is_version_4_in_lower_case),
		cmocka_unit_test(two_uuids_differ_but_not_from_one_seed),
	};

	return cmocka_run_group_tests_name("base/uuid", tests, NULL, NULL);
}
