/*
 * Workloads, valid and not: the rows are in cases/.
 */
#include "api/check/check_fixture.h"

static void workloads_are_judged_as_upstream_does(void **state)
{
	(void)state;
	assert_in_range(run_cases("apps.cases"), 25, 1000);
}

static void jobs_are_judged_as_upstream_does(void **state)
{
	(void)state;
	assert_in_range(run_cases("job.cases"), 50, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(workloads_are_judged_as_upstream_does),
		cmocka_unit_test(jobs_are_judged_as_upstream_does),
	};

	return cmocka_run_group_tests_name("api/check_apps", tests, NULL, NULL);
}
