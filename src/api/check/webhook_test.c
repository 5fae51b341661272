/*
 * Configurations of webhooks, valid and not: the rows are in cases/.
 */
#include "api/check/check_fixture.h"

static void configurations_of_webhooks_are_judged_as_upstream_does(void **state)
{
	(void)state;
	assert_in_range(run_cases("webhooks.cases"), 25, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(configurations_of_webhooks_are_judged_as_upstream_does),
	};

	return cmocka_run_group_tests_name("api/check_webhook", tests, NULL, NULL);
}
