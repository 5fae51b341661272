/*
 * Admission policies and their bindings, valid and not: the rows are in cases/.
 */
#include "api/check/check_fixture.h"
#include "base/core/limits.h"

static void policies_and_bindings_are_judged_as_upstream_does(void **state)
{
	(void)state;
	assert_in_range(run_cases("admission_policy.cases"), 50, 1000);
}

/* The number of errors of an object with these changes. */
static size_t faults_of(const char *base, const char *lines)
{
	const struct check_case c = { .operation = STR("create"), .lines = str_from(lines) };
	CLEANUP(arena_release) struct arena arena;
	struct field_errors errs;
	struct gates gates;
	struct validation v = { .errs = &errs, .arena = &arena, .gates = &gates, .now_ns = NOW_NS };

	arena_init(&arena, 256 * MIB);
	field_errors_init(&errs, &arena);
	gates_init(&gates);
	run(&c, str_from(base), &v);
	return errs.n + errs.dropped;
}

/* Each of these takes minutes if elements are compared each with each. */
static void very_long_lists_are_judged_without_comparing_each_with_each(void **state)
{
	const char *binding = "{\"apiVersion\":\"admissionregistration.k8s.io/v1\","
			      "\"kind\":\"ValidatingAdmissionPolicyBinding\","
			      "\"metadata\":{\"name\":\"b\"},\"spec\":{\"policyName\":\"p\","
			      "\"validationActions\":[\"Deny\"],\"matchResources\":{"
			      "\"resourceRules\":[{\"apiGroups\":[\"\"],\"apiVersions\":[\"v1\"],"
			      "\"operations\":[\"*\"],\"resources\":[\"pods\"]}]}}}";
	const char *policy = "{\"apiVersion\":\"admissionregistration.k8s.io/v1\","
			     "\"kind\":\"ValidatingAdmissionPolicy\","
			     "\"metadata\":{\"name\":\"p\"},\"spec\":{\"matchConstraints\":{"
			     "\"resourceRules\":[{\"apiGroups\":[\"\"],\"apiVersions\":[\"v1\"],"
			     "\"operations\":[\"*\"],\"resources\":[\"pods\"]}]},"
			     "\"validations\":[{\"expression\":\"true\"}]}}";
	const char *rule = "\tspec.matchResources.resourceRules[0].resources*100000=\"r%/s\"\n"
			   "\tspec.matchResources.resourceRules[0].resourceNames*100000=\"n%\"\n";

	(void)state;
	assert_int_equal(faults_of(binding, "\tspec.validationActions*20000=\"a%\"\n"), 20000);
	assert_int_equal(faults_of(binding, "\tspec.validationActions*3=\"Audit\"\n"), 2);
	assert_int_equal(faults_of(binding, rule), 0);
	assert_int_equal(faults_of(policy, "\tspec.variables*20000={\"name\":\"v%\","
					   "\"expression\":\"1\"}\n"),
			 0);
	/*
	 * Beyond the limit nothing is compiled, so the invalid expressions are not reported either.
	 */
	assert_int_equal(faults_of(policy, "\tspec.matchConditions*50000={\"name\":\"c\","
					   "\"expression\":\"no(\"}\n"),
			 1);
	assert_int_equal(faults_of(policy, "\tspec.auditAnnotations*50000={\"key\":\"k\","
					   "\"valueExpression\":\"no(\"}\n"),
			 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(policies_and_bindings_are_judged_as_upstream_does),
		cmocka_unit_test(very_long_lists_are_judged_without_comparing_each_with_each),
	};

	return cmocka_run_group_tests_name("api/check_admission", tests, NULL, NULL);
}
