/*
 * The number of the boot: what the kernel says, without the end of the line, and always the same.
 */
#include "base/system/boot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/core/compiler.h"

static void a_boot_has_one_number(void **state UNUSED)
{
	char *a = boot_id(), *b = boot_id();

	assert_string_equal(a, b);
	assert_true(strlen(a) == 36 || strlen(a) == 0);
	assert_null(strpbrk(a, "\n "));
	free(a);
	free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_boot_has_one_number),
	};

	return cmocka_run_group_tests_name("base/boot", tests, NULL, NULL);
}
