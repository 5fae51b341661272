/* Stamps come back as they were put, and values without one stay as they are. */
#include "store/etcd/stamp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/core/compiler.h"

static void a_stamp_comes_back(void **state UNUSED)
{
	static const uint64_t stamps[] = { 1, 2, 0x0123456789abcdef, UINT64_MAX };
	struct str value;
	char stored[2 + ETCD_STAMP_SIZE];

	for (size_t i = 0; i < ARRAY_SIZE(stamps); i++) {
		memcpy(stored, "{}", 2);
		etcd_stamp_print(stamps[i], stored + 2);
		assert_true(etcd_stamp_split(str_of(stored, sizeof(stored)), &value) == stamps[i]);
		assert_true(str_eqz(value, "{}"));
	}
}

static void a_stamp_is_white_space_of_json(void **state UNUSED)
{
	char text[ETCD_STAMP_SIZE];

	etcd_stamp_print(0x1b1b1b1b1b1b1b1b, text);
	for (size_t i = 0; i < sizeof(text); i++)
		assert_non_null(strchr(" \t\n\r", text[i]));
}

static void values_without_a_stamp_stay_as_they_are(void **state UNUSED)
{
	static const char *const values[] = { "", "{}", "{\"a\":1}\n",
					      "{}                               ",
					      "0123456789012345678901234567890123456789" };
	struct str value;

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		assert_true(etcd_stamp_split(str_from(values[i]), &value) == 0);
		assert_true(str_eqz(value, values[i]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stamp_comes_back),
		cmocka_unit_test(a_stamp_is_white_space_of_json),
		cmocka_unit_test(values_without_a_stamp_stay_as_they_are),
	};

	return cmocka_run_group_tests_name("store/etcd_stamp", tests, NULL, NULL);
}
