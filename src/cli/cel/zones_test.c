#include "cli/cel/zones.h"
#include "cli/cli_limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static bool is_known(struct zones *z, const char *name)
{
	int32_t offset;

	return zones_offset(z, str_from(name), 0, &offset);
}

static void names_that_lead_elsewhere_are_not_remembered(void **state)
{
	static const char *const names[] = { "", "/etc/localtime", "../x", "a/../b", "a//b", "a/" };
	struct zones z;

	(void)state;
	zones_init(&z);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_false(is_known(&z, names[i]));
	assert_int_equal(z.known.n, 0);
	zones_release(&z);
}

static void names_that_do_not_exist_are_remembered_up_to_a_limit(void **state)
{
	struct zones z;
	char name[32];

	(void)state;
	zones_init(&z);
	for (int i = 0; i < 2 * ZONES_MAX; i++) {
		(void)snprintf(name, sizeof(name), "Nowhere/%d", i);
		assert_false(is_known(&z, name));
	}
	assert_int_equal(z.known.n, ZONES_MAX);
	assert_false(is_known(&z, "Nowhere/0"));
	assert_int_equal(z.known.n, ZONES_MAX);
	zones_release(&z);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_that_lead_elsewhere_are_not_remembered),
		cmocka_unit_test(names_that_do_not_exist_are_remembered_up_to_a_limit),
	};

	return cmocka_run_group_tests_name("cli/zones", tests, NULL, NULL);
}
