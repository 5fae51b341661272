#include "cli/doctor/readyz.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void the_first_failure_is_the_cause(void **state)
{
	struct str text = STR("[+]ping ok\n"
			      "[-]kubelet-socket failed: not connected to /k: failed: refused\n"
			      "[-]node-ready failed: behind for 3.0 s\n"
			      "readyz check failed\n");
	struct str check, why;

	(void)state;
	assert_true(doctor_readyz_is(text));
	assert_true(doctor_readyz_failure(text, &check, &why));
	assert_true(str_eqz(check, "kubelet-socket"));
	assert_true(str_eqz(why, "not connected to /k: failed: refused"));
	assert_true(doctor_readyz_passed(text, STR("ping")));
	assert_false(doctor_readyz_passed(text, STR("kubelet-")));
}

static void a_part_that_is_ready_has_no_failure(void **state)
{
	struct str text = STR("[+]ping ok\n[+]kubelet-socket ok: connected to /k\n"
			      "readyz check passed\n");
	struct str check, why;

	(void)state;
	assert_true(doctor_readyz_is(text));
	assert_false(doctor_readyz_failure(text, &check, &why));
	assert_true(doctor_readyz_passed(text, STR("kubelet-")));
}

static void other_texts_are_recognized(void **state)
{
	struct str check, why;

	(void)state;
	assert_false(doctor_readyz_is(STR("{\"kind\":\"Status\"}")));
	assert_false(doctor_readyz_is(STR("")));
	assert_false(doctor_readyz_is(STR("[")));
	assert_true(doctor_readyz_is(STR("[-]")));
	assert_false(doctor_readyz_failure(STR("[-]"), &check, &why));
	assert_false(doctor_readyz_failure(STR("[-] failed:"), &check, &why));
	assert_false(doctor_readyz_failure(STR("Error: [-]x failed: y"), &check, &why));
	assert_true(doctor_readyz_failure(STR("[-] failed: "), &check, &why));
	assert_int_equal(check.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_failure_is_the_cause),
		cmocka_unit_test(a_part_that_is_ready_has_no_failure),
		cmocka_unit_test(other_texts_are_recognized),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
