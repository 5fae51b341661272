/*
 * Objects of resource.k8s.io, valid and not: the rows are in cases/.
 */
#include "api/api_limits.h"
#include "api/check/check_fixture.h"
#include "api/devices/known_selectors.h"
#include "base/core/limits.h"
#include "cel/core/env.h"

static void slices_are_judged_as_upstream_does(void **state)
{
	(void)state;
	assert_in_range(run_cases("resource_slice.cases"), 190, 1000);
}

static void claims_are_judged_as_upstream_does(void **state)
{
	(void)state;
	assert_in_range(run_cases("resource_claim.cases"), 100, 1000);
}

static void the_status_of_claims_is_judged_as_upstream_does(void **state)
{
	(void)state;
	assert_in_range(run_cases("claim_status.cases"), 155, 1000);
}

static void the_other_kinds_are_judged_as_upstream_does(void **state)
{
	(void)state;
	assert_in_range(run_cases("resource_other.cases"), 90, 1000);
}

static void upper_case_drivers_are_warned_of(void **state)
{
	CLEANUP(arena_release) struct arena arena;
	struct field_errors errs;
	struct text_list *warnings = NULL;
	struct gates gates;
	struct validation v = {
		.errs = &errs,
		.arena = &arena,
		.gates = &gates,
		.warnings = &warnings,
	};
	const struct check_case row = {
		.operation = STR("create"),
		.lines = STR("spec={\"driver\":\"GPU.example.com\",\"allNodes\":true,"
			     "\"pool\":{\"name\":\"p\",\"resourceSliceCount\":1}}"),
	};

	(void)state;
	arena_init(&arena, MIB);
	field_errors_init(&errs, &arena);
	gates_init(&gates);
	run(&row,
	    STR("{\"apiVersion\":\"resource.k8s.io/v1\",\"kind\":\"ResourceSlice\","
		"\"metadata\":{\"name\":\"s\"}}"),
	    &v);
	assert_int_equal(errs.n, 0);
	assert_non_null(warnings);
	assert_true(str_find(warnings->text, STR("should be lowercase")) >= 0);
}

/* The number of errors of a class with that selector. */
static size_t class_faults_within(struct known_selectors *known, const char *expression,
				  struct cel_budget *budget)
{
	CLEANUP(arena_release) struct arena arena;
	struct field_errors errs;
	struct text_list *warnings = NULL;
	struct gates gates;
	struct validation v = { .errs = &errs,
				.arena = &arena,
				.gates = &gates,
				.warnings = &warnings,
				.selectors = known,
				.budget = budget };
	struct check_case row = { .operation = STR("create") };

	arena_init(&arena, MIB);
	field_errors_init(&errs, &arena);
	gates_init(&gates);
	row.lines = str_from(arena_printf(
		&arena, "spec={\"selectors\":[{\"cel\":{\"expression\":\"%s\"}}]}", expression));
	run(&row,
	    STR("{\"apiVersion\":\"resource.k8s.io/v1\",\"kind\":\"DeviceClass\","
		"\"metadata\":{\"name\":\"c\"}}"),
	    &v);
	return errs.n;
}

static size_t class_faults(struct known_selectors *known, const char *expression)
{
	return class_faults_within(known, expression, NULL);
}

static void selectors_that_were_right_are_remembered(void **state)
{
	struct known_selectors *known = known_selectors_new();
	char text[16];

	(void)state;
	assert_false(known_selectors_have(NULL, STR("true")));
	assert_int_equal(class_faults(known, "device.driver == 'a'"), 0);
	assert_true(known_selectors_have(known, STR("device.driver == 'a'")));
	assert_false(known_selectors_have(known, STR("device.driver == 'b'")));
	assert_int_equal(class_faults(known, "device.driver == 1"), 1);
	assert_false(known_selectors_have(known, STR("device.driver == 1")));
	assert_int_equal(class_faults(known, "device.driver == 1"), 1);
	for (int i = 0; i < 10000; i++) { /* many more than the cache holds */
		(void)snprintf(text, sizeof(text), "%d == 1", i);
		known_selectors_add(known, str_from(text));
		assert_true(known_selectors_have(known, str_from(text)));
	}
	/* A cached selector is trusted: it is not compiled. */
	known_selectors_add(known, STR("wrong"));
	assert_int_equal(class_faults(known, "wrong"), 0);
	assert_int_equal(class_faults(NULL, "wrong"), 1);
	known_selectors_free(known);
}

static void expressions_of_an_object_have_one_budget(void **state)
{
	const char *selector = "device.driver == 'budget'";
	struct cel_budget budget = { .left = 800 };

	(void)state;
	assert_int_equal(class_faults_within(NULL, selector, &budget), 0);
	assert_in_range(budget.left, 1, 700);
	assert_false(budget.spent);
	assert_int_equal(class_faults_within(NULL, selector, &budget), 1);
	assert_true(budget.spent);
	/* It was reported once already. */
	assert_int_equal(class_faults_within(NULL, selector, &budget), 0);
}

static void long_selectors_are_remembered_within_bounds(void **state)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(CEL_EXPRESSION_MAX + 1);
	struct known_selectors *known = known_selectors_new();
	size_t kept = 0;

	(void)state;
	while (text.n < CEL_EXPRESSION_MAX)
		assert_int_equal(buf_addc(&text, 'x'), 0);
	for (int i = 0; i < 200; i++) { /* 2 MB */
		text.p[0] = (char)('0' + i % 50);
		text.p[1] = (char)('0' + i / 50);
		known_selectors_add(known, buf_str(&text));
		assert_true(known_selectors_have(known, buf_str(&text)));
	}
	for (int i = 0; i < 200; i++) {
		text.p[0] = (char)('0' + i % 50);
		text.p[1] = (char)('0' + i / 50);
		kept += known_selectors_have(known, buf_str(&text));
	}
	assert_in_range(kept, 20, 51); /* half a MiB */
	assert_int_equal(buf_addc(&text, 'x'), 0);
	known_selectors_add(known, buf_str(&text));
	assert_false(known_selectors_have(known, buf_str(&text)));
	known_selectors_free(known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slices_are_judged_as_upstream_does),
		cmocka_unit_test(claims_are_judged_as_upstream_does),
		cmocka_unit_test(the_status_of_claims_is_judged_as_upstream_does),
		cmocka_unit_test(the_other_kinds_are_judged_as_upstream_does),
		cmocka_unit_test(upper_case_drivers_are_warned_of),
		cmocka_unit_test(selectors_that_were_right_are_remembered),
		cmocka_unit_test(expressions_of_an_object_have_one_budget),
		cmocka_unit_test(long_selectors_are_remembered_within_bounds),
	};

	return cmocka_run_group_tests_name("api/check_resource", tests, NULL, NULL);
}
