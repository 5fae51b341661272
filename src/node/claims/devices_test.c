/*
 * Devices that claims of earlier pods still hold on the node, although the scheduler has given them
 * to other claims.
 */
#include "node/claims/claims_fixture.h"

#define DEVICE(name, more)                                                                       \
	"{\"request\":\"r\",\"driver\":\"gpu.example.com\",\"pool\":\"pool\",\"device\":\"" name \
	"\"" more "}"

/* The first pod's end is not on disk, which was full, when the agent restarts. */
static void lose_an_end(struct test *t, struct pod *pod)
{
	assert_int_equal(prepare_pod(t, pod).code, ERR_OK);
	t->disk_full = true;
	assert_int_not_equal(unprepare_pod(t, "p0").code, ERR_OK);
	kill_agent(t);
	t->disk_full = false;
	t->inactive[0] = true;
	start_agent(t);
	t->log[0] = '\0';
}

/* The server has given the device to another claim since: two must not hold it here. */
static void a_device_that_a_gone_pod_left_is_unprepared_before_another_gets_it(void **state UNUSED)
{
	struct pod *first = make_pod("p0", ONE, ""), *second = make_pod("p1", TWO, "");
	struct test t;

	begin(&t);
	put_claim(&t, "one", "c1", DEVICE("c1", ""));
	put_claim(&t, "two", "c2", DEVICE("c1", ""));
	lose_an_end(&t, first);
	assert_string_equal(prepare_pod(&t, second).msg,
			    "prepare dynamic resources: ResourceClaim one of a pod that has ended "
			    "is not unprepared yet");
	sim_run_for(t.w.sim, 1000);
	assert_int_equal(prepare_pod(&t, second).code, ERR_OK);
	assert_log(&t, "unprepare gpu c1, save, save, prepare gpu c2, save, ");
	pod_unref(first);
	pod_unref(second);
	end(&t);
}

/* The claim has got another device since, but the log still has the old one. */
static void a_claim_that_a_gone_pod_left_is_prepared_anew_for_the_next(void **state UNUSED)
{
	struct pod *first = make_pod("p0", ONE, ""), *second = make_pod("p1", ONE, "");
	struct test t;

	begin(&t);
	put_claim(&t, "one", "c1", DEVICE("c1", ""));
	lose_an_end(&t, first);
	put_claim(&t, "one", "c1", DEVICE("other", ""));
	assert_int_equal(prepare_pod(&t, second).code, ERR_CONFLICT);
	sim_run_for(t.w.sim, 1000);
	assert_int_equal(prepare_pod(&t, second).code, ERR_OK);
	assert_log(&t, "unprepare gpu c1, save, save, prepare gpu c1, save, ");
	pod_unref(first);
	pod_unref(second);
	end(&t);
}

/*
 * The first pod was force-deleted and its driver has not even replied. The server knows neither the
 * pod nor its claim any more and has given the device to another claim. A restart forgets nothing.
 */
static void a_device_waits_until_the_claim_of_a_forced_deletion_is_unprepared(void **state UNUSED)
{
	struct pod *first = make_pod("p0", ONE, ""), *second = make_pod("p1", TWO, "");
	struct wait up = { 0 };
	struct test t;

	begin(&t);
	put_claim(&t, "one", "c1", DEVICE("x", ""));
	put_claim(&t, "two", "c2", DEVICE("x", ""));
	t.plugins.hold = true;
	claims_prepare(t.claims, first, on_done, &up);
	sim_run_for(t.w.sim, 1000);
	for (unsigned restarts = 0; restarts < 2; restarts++) {
		assert_string_equal(prepare_pod(&t, second).msg,
				    "prepare dynamic resources: device gpu.example.com/pool/x is "
				    "held by ResourceClaim default/one, which is not unprepared "
				    "yet (previous pod force-deleted?!)");
		kill_agent(&t);
		start_agent(&t);
	}
	t.plugins.hold = false;
	assert_int_equal(unprepare_pod(&t, "p0").code, ERR_OK);
	assert_int_equal(prepare_pod(&t, second).code, ERR_OK);
	assert_log(&t,
		   "save, prepare gpu c1, unprepare gpu c1, save, save, prepare gpu c2, save, ");
	pod_unref(first);
	pod_unref(second);
	end(&t);
}

/* Several claims have the device on purpose, in any order. */
static void administrative_access_and_shares_wait_for_nobody(void **state UNUSED)
{
	static const char *const devices[][2] = {
		{ DEVICE("x", ""), DEVICE("x", ",\"adminAccess\":true") },
		{ DEVICE("x", ",\"adminAccess\":true"), DEVICE("x", "") },
		{ DEVICE("x", ",\"shareID\":\"s1\""), DEVICE("x", ",\"shareID\":\"s2\"") },
	};
	struct pod *first = make_pod("p0", ONE, ""), *second = make_pod("p1", TWO, "");
	struct test t;

	for (size_t i = 0; i < ARRAY_SIZE(devices); i++) {
		begin(&t);
		put_claim(&t, "one", "c1", devices[i][0]);
		put_claim(&t, "two", "c2", devices[i][1]);
		assert_int_equal(prepare_pod(&t, first).code, ERR_OK);
		assert_int_equal(prepare_pod(&t, second).code, ERR_OK);
		end(&t);
	}
	pod_unref(first);
	pod_unref(second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_device_that_a_gone_pod_left_is_unprepared_before_another_gets_it),
		cmocka_unit_test(a_claim_that_a_gone_pod_left_is_prepared_anew_for_the_next),
		cmocka_unit_test(a_device_waits_until_the_claim_of_a_forced_deletion_is_unprepared),
		cmocka_unit_test(administrative_access_and_shares_wait_for_nobody),
	};

	return cmocka_run_group_tests_name("node/claims_devices", tests, NULL, NULL);
}
