/* The number of I/O threads by the number of CPUs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/compiler.h"
#include "cli/roles/role.h"

static void threads_follow_the_machine(void **state UNUSED)
{
	static const size_t want[][2] = { { 1, 1 }, { 2, 1 }, { 3, 3 },  { 4, 4 },
					  { 8, 8 }, { 9, 8 }, { 16, 8 }, { 1000, 8 } };

	for (size_t i = 0; i < ARRAY_SIZE(want); i++)
		assert_int_equal(role_threads_for(want[i][0]), want[i][1]);
}

static void a_few_threads_spare_none(void **state UNUSED)
{
	assert_false(role_spares_first(1));
	assert_false(role_spares_first(3));
	assert_true(role_spares_first(4));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_follow_the_machine),
		cmocka_unit_test(a_few_threads_spare_none),
	};

	return cmocka_run_group_tests_name("cli/role", tests, NULL, NULL);
}
