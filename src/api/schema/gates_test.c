#include "api/schema/gates.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void defaults_are_the_tables(void **state)
{
	struct gates g;

	gates_init(&g);
	assert_true(gates_on(&g, GATE_NONE));
	assert_true(gates_on(&g, GATE_DRADeviceTaints));
	assert_true(gates_on(&g, GATE_DRAResourceAvailabilityVisibility));
	assert_false(gates_on(&g, GATE_DRAListTypeAttributes));
}

static void an_assignment_switches_one_gate(void **state)
{
	struct gates g;

	gates_init(&g);
	assert_int_equal(gates_set(&g, STR("ResourceHealthStatus=false"), NULL), 0);
	assert_false(gates_on(&g, GATE_ResourceHealthStatus));
	assert_true(gates_on(&g, GATE_ResourceHealthStatusMessage));
	assert_int_equal(gates_set(&g, STR(" DRAListTypeAttributes = True "), NULL), 0);
	assert_true(gates_on(&g, GATE_DRAListTypeAttributes));
}

static void an_unknown_name_is_refused_with_a_suggestion(void **state)
{
	struct gates g;
	struct error err;

	gates_init(&g);
	assert_int_equal(gates_set(&g, STR("DRADeviceTaint=true"), &err), -ERR_BAD_REQUEST);
	assert_string_equal(
		err.msg,
		"unrecognized feature gate: DRADeviceTaint (did you mean DRADeviceTaints?)");
	assert_int_equal(gates_set(&g, STR("Sandwich=true"), &err), -ERR_BAD_REQUEST);
	assert_string_equal(err.msg, "unrecognized feature gate: Sandwich");
}

static void a_locked_gate_stays_what_it_is(void **state)
{
	struct gates g;
	struct error err;

	gates_init(&g);
	assert_int_equal(gates_set(&g, STR("DRAAdminAccess=true"), &err), 0);
	assert_int_equal(gates_set(&g, STR("DRAAdminAccess=false"), &err), -ERR_BAD_REQUEST);
	assert_string_equal(
		err.msg,
		"cannot set feature gate DRAAdminAccess to false, feature is locked to true");
	assert_true(gates_on(&g, GATE_DRAAdminAccess));
}

static void a_gate_without_a_boolean_is_rejected(void **state)
{
	struct gates g;
	struct error err;

	gates_init(&g);
	assert_int_equal(gates_set(&g, STR("DRADeviceTaints"), &err), -ERR_BAD_REQUEST);
	assert_string_equal(err.msg, "missing bool value for DRADeviceTaints");
	assert_int_equal(gates_set(&g, STR("DRADeviceTaints=maybe"), &err), -ERR_BAD_REQUEST);
	assert_int_equal(gates_set(&g, STR(""), &err), -ERR_BAD_REQUEST);
	assert_true(gates_on(&g, GATE_DRADeviceTaints));
}

static void stages_are_as_the_metric_has_them(void **state)
{
	assert_string_equal(gate_stage(GATE_DRAAdminAccess), "");
	assert_string_equal(gate_stage(GATE_DRAPartitionableDevices), "BETA");
	assert_string_equal(gate_name(GATE_KubeletPodResourcesWatch), "KubeletPodResourcesWatch");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_the_tables),
		cmocka_unit_test(an_assignment_switches_one_gate),
		cmocka_unit_test(an_unknown_name_is_refused_with_a_suggestion),
		cmocka_unit_test(a_locked_gate_stays_what_it_is),
		cmocka_unit_test(a_gate_without_a_boolean_is_rejected),
		cmocka_unit_test(stages_are_as_the_metric_has_them),
	};

	return cmocka_run_group_tests_name("api/gates", tests, NULL, NULL);
}
