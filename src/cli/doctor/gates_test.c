#include "cli/doctor/gates.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char metrics[] = "# TYPE kubernetes_feature_enabled gauge\n"
			      "kubernetes_feature_enabled{name=\"A\",stage=\"BETA\"} 1\n"
			      "kubernetes_feature_enabled{name=\"AB\",stage=\"BETA\"} 0\n"
			      "kubernetes_feature_enabled{name=\"C\",stage=\"\"} 10\n"
			      "other{name=\"D\"} 0\n"
			      "kubernetes_feature_enabled{name=\"E\",stage=\"ALPHA\"} 0";

static void a_gate_is_off_if_its_line_says_so(void **state)
{
	struct str text = str_from(metrics);

	(void)state;
	assert_true(doctor_gates_are_in(text));
	assert_false(doctor_gate_is_off(text, "A"));
	assert_true(doctor_gate_is_off(text, "AB"));
	assert_false(doctor_gate_is_off(text, "C"));
	assert_false(doctor_gate_is_off(text, "D"));
	assert_true(doctor_gate_is_off(text, "E"));
	assert_false(doctor_gate_is_off(text, "Removed"));
}

static void a_text_without_gates_is_noticed(void **state)
{
	(void)state;
	assert_false(doctor_gates_are_in(STR("")));
	assert_false(doctor_gates_are_in(STR("up 1\n")));
	assert_false(doctor_gates_are_in(STR("kubernetes_feature_enabled{name=\"A")));
	assert_false(doctor_gates_are_in(STR("kubernetes_feature_enabled{name=\"A\"}")));
	assert_true(doctor_gates_are_in(STR("kubernetes_feature_enabled{name=\"A\"} ")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_gate_is_off_if_its_line_says_so),
		cmocka_unit_test(a_text_without_gates_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
