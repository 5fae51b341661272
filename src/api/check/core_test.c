/*
 * Pods and the small kinds, valid and not: the rows are in cases/.
 */
#include "api/check/check_fixture.h"

static void pods_are_judged_as_upstream_does(void **state)
{
	(void)state;
	assert_in_range(run_cases("pod.cases"), 90, 1000);
}

static void small_kinds_are_judged_as_upstream_does(void **state)
{
	(void)state;
	assert_in_range(run_cases("core.cases"), 35, 1000);
}

static void services_are_judged_as_upstream_does(void **state)
{
	(void)state;
	assert_in_range(run_cases("service.cases"), 40, 1000);
}

static void storage_versions_are_judged_as_upstream_does(void **state)
{
	(void)state;
	assert_in_range(run_cases("storage_version.cases"), 20, 1000);
}

static void quotas_and_limit_ranges_are_judged_as_upstream_does(void **state)
{
	(void)state;
	assert_in_range(run_cases("quota.cases"), 25, 1000);
}

static void volume_claims_are_judged_as_upstream_does(void **state)
{
	(void)state;
	assert_in_range(run_cases("volume_claim.cases"), 12, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pods_are_judged_as_upstream_does),
		cmocka_unit_test(small_kinds_are_judged_as_upstream_does),
		cmocka_unit_test(services_are_judged_as_upstream_does),
		cmocka_unit_test(storage_versions_are_judged_as_upstream_does),
		cmocka_unit_test(quotas_and_limit_ranges_are_judged_as_upstream_does),
		cmocka_unit_test(volume_claims_are_judged_as_upstream_does),
	};

	return cmocka_run_group_tests_name("api/check_core", tests, NULL, NULL);
}
