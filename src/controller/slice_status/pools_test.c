/*
 * The status of slices against a fake API server: what is written about their pool, and the times
 * of its conditions.
 */
#include "controller/slice_status/slice_status_fixture.h"

#include "base/core/limits.h"

#define AVAILABLE "\"Available\""
#define ALLOCATED "\"Allocated\""

/* A device is not available before all slices exist, and no slice is written twice for that. */
static void a_pool_that_becomes_complete_is_told_on_all_slices(void **state)
{
	struct bench b = { 0 };

	(void)state;
	bench_init(&b, 3);
	tell(&b, "slice a p 1/3 n g0");
	tell(&b, "slice b p 1/3 n g1");
	run(&b);
	assert_status(&b, "b", "/devices/0/stateReason", "\"PoolIncomplete\"");
	tell(&b, "slice c p 1/3 n g2");
	run(&b);
	assert_status(&b, "a", "/devices/0/state", AVAILABLE);
	assert_status(&b, "b", "/devices/0/state", AVAILABLE);
	assert_int_equal(writes_of(&b, "b"), 2);
	tell(&b, "remove slice c");
	run(&b);
	assert_status(&b, "a", "/devices/0/state", "\"Unavailable\"");
	assert_status(&b, "b", "/devices/0/state", "\"Unavailable\"");
	bench_release(&b);
}

static void a_pool_is_told_of_on_its_first_slice(void **state)
{
	struct bench b = { 0 };

	(void)state;
	bench_init(&b, 4);
	tell(&b, "slice b p 1/2 n g0");
	run(&b);
	assert_status(&b, "b", "/poolStatus/conditions/0/status", "\"False\"");
	assert_status(&b, "b", "/poolStatus/conditions/0/reason", "\"SliceCountMismatch\"");
	tell(&b, "slice c p 1/2 n g1");
	run(&b);
	assert_status(&b, "b", "/poolStatus/conditions/0/status", "\"True\"");
	assert_status(&b, "b", "/poolStatus/conditions/0/reason", "\"SliceCountMatch\"");
	assert_status(&b, "b", "/poolStatus/observedSliceCount", "2");
	assert_status(&b, "c", "/poolStatus", "null");
	tell(&b, "slice a p 1/2 n g2");
	run(&b);
	assert_status(&b, "b", "/poolStatus", "null");
	assert_status(&b, "a", "/poolStatus/observedSliceCount", "3");
	bench_release(&b);
}

/* The time of the pool's condition Complete on the slice, with quotes. */
static void time_of_transition(struct bench *b, const char *slice, char ret_text[64])
{
	struct arena a;
	struct str time;

	arena_init(&a, MIB);
	time = json_str(json_pointer(bench_object(b, "resourceslices", slice, &a),
				     STR("/status/poolStatus/conditions/0/lastTransitionTime")));
	(void)snprintf(ret_text, 64, "\"%.*s\"", STR_ARG(time));
	arena_release(&a);
}

static void a_new_first_slice_goes_on_with_the_pool_s_times(void **state)
{
	struct bench b = { 0 };
	char since[64], again[64];

	(void)state;
	bench_init(&b, 21);
	tell(&b, "slice b p 1/4 n g0");
	tell(&b, "slice c p 1/4 n g1");
	run(&b);
	time_of_transition(&b, "b", since);
	controller_world_run(b.w, 5000);
	tell(&b, "slice a p 1/4 n g2");
	run(&b);
	assert_status(&b, "a", "/poolStatus/conditions/0/lastTransitionTime", since);
	controller_world_run(b.w, 5000);
	tell(&b, "remove slice a");
	tell(&b, "remove slice b");
	run(&b);
	assert_status(&b, "c", "/poolStatus/conditions/0/lastTransitionTime", since);
	/* But a pool that was gone starts from scratch. */
	tell(&b, "remove slice c");
	run(&b);
	tell(&b, "slice c p 1/4 n g1");
	run(&b);
	assert_status(&b, "c", "/poolStatus/conditions/0/status", "\"False\"");
	time_of_transition(&b, "c", again);
	assert_string_not_equal(again, since);
	bench_release(&b);
}

/* The slices get their new generation one by one, the first slice last. */
static void a_pool_that_was_incomplete_for_a_while_says_since_when_it_is_not(void **state)
{
	struct bench b = { 0 };
	char complete[64], not_complete[64], again[64];

	(void)state;
	bench_init(&b, 28);
	tell(&b, "slice a p 1/2 n g0");
	tell(&b, "slice b p 1/2 n g1");
	run(&b);
	time_of_transition(&b, "a", complete);
	controller_world_run(b.w, 10000);
	tell(&b, "slice b p 2/2 n g1");
	controller_world_run(b.w, 2000);
	assert_status(&b, "b", "/poolStatus/conditions/0/status", "\"False\"");
	time_of_transition(&b, "b", not_complete);
	tell(&b, "slice a p 2/2 n g0");
	run(&b);
	assert_status(&b, "a", "/poolStatus/conditions/0/status", "\"True\"");
	time_of_transition(&b, "a", again);
	assert_true(strcmp(complete, not_complete) < 0);
	assert_true(strcmp(not_complete, again) < 0);
	bench_release(&b);
}

static void a_slice_that_moves_tells_since_when_its_new_pool_is_so(void **state)
{
	struct bench b = { 0 };
	char since[64];

	(void)state;
	bench_init(&b, 29);
	tell(&b, "slice a p 1/9 n g0");
	run(&b);
	controller_world_run(b.w, 10000);
	tell(&b, "slice b q 1/9 n g1");
	run(&b);
	time_of_transition(&b, "b", since);
	controller_world_run(b.w, 10000);
	tell(&b, "slice a q 1/9 n g0");
	run(&b);
	assert_status(&b, "a", "/poolStatus/conditions/0/lastTransitionTime", since);
	bench_release(&b);
}

static void a_restart_goes_on_with_what_any_slice_of_the_pool_told(void **state)
{
	struct bench b = { 0 };
	char since[64];

	(void)state;
	bench_init(&b, 30);
	tell(&b, "slice b p 1/9 n g0");
	run(&b);
	time_of_transition(&b, "b", since);
	controller_world_run(b.w, 10000);
	bench_stop(&b);
	tell(&b, "slice a p 1/9 n g1");
	bench_start(&b);
	run(&b);
	assert_status(&b, "a", "/poolStatus/conditions/0/lastTransitionTime", since);
	assert_status(&b, "b", "/poolStatus", "null");
	/*
	 * If two slices have conditions, the latest change wins: the other still has its old ones.
	 */
	bench_stop(&b);
	merge(&b, SLICES "/b/status",
	      "{\"status\":{\"poolStatus\":{\"conditions\":[{\"type\":\"Complete\","
	      "\"status\":\"True\",\"lastTransitionTime\":\"2023-01-01T00:00:00Z\"}]}}}");
	bench_start(&b);
	run(&b);
	assert_status(&b, "a", "/poolStatus/conditions/0/lastTransitionTime", since);
	bench_release(&b);
}

static int refuse_a(struct bench *b, const struct fakeapi_query *q)
{
	return b->faults && str_find(q->path, STR("/a/")) >= 0 ? 500 : FAKEAPI_WELL;
}

static void a_late_write_has_the_time_of_the_change(void **state)
{
	struct bench b = { .fault = refuse_a };
	char since[64];

	(void)state;
	bench_init(&b, 31);
	tell(&b, "slice a p 1/2 n g0");
	tell(&b, "slice b p 1/2 n g1");
	run(&b);
	controller_world_run(b.w, 10000);
	b.faults = 1;
	tell(&b, "remove slice b");
	tell(&b, "slice z q 1/2 n g1");
	controller_world_run(b.w, 60000);
	assert_status(&b, "a", "/poolStatus/conditions/0/status", "\"True\"");
	time_of_transition(&b, "z", since);
	b.faults = 0;
	run(&b);
	assert_status(&b, "a", "/poolStatus/conditions/0/status", "\"False\"");
	assert_status(&b, "a", "/poolStatus/conditions/0/lastTransitionTime", since);
	bench_release(&b);
}

static void faults_of_a_pool_are_told(void **state)
{
	struct bench b = { 0 };

	(void)state;
	bench_init(&b, 5);
	tell(&b, "slice a p 1/2 n g0");
	tell(&b, "slice b p 1/2 n g0");
	tell(&b, "claim ns/c p/g0");
	run(&b);
	assert_status(&b, "a", "/poolStatus/validationErrors",
		      "[\"device g0 appears in both a and b\"]");
	assert_status(&b, "a", "/poolStatus/conditions/1/reason", "\"ValidationFailed\"");
	assert_status(&b, "b", "/devices/0/state", ALLOCATED);
	tell(&b, "slice b p 1/2 n g1");
	run(&b);
	assert_status(&b, "a", "/poolStatus/validationErrors", "null");
	/* A device is removed while a claim holds it. */
	tell(&b, "claim ns/c p/g1");
	tell(&b, "slice b p 1/2 n g2");
	run(&b);
	assert_status(&b, "a", "/poolStatus/validationErrors",
		      "[\"ResourceClaim ns/c references non-existent device 'g1' in pool 'p'\"]");
	assert_status(&b, "b", "/devices", "[{\"name\":\"g2\",\"state\":\"Available\"}]");
	tell(&b, "remove claim ns/c");
	run(&b);
	assert_status(&b, "a", "/poolStatus/validationErrors", "null");
	bench_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pool_that_becomes_complete_is_told_on_all_slices),
		cmocka_unit_test(a_pool_is_told_of_on_its_first_slice),
		cmocka_unit_test(a_new_first_slice_goes_on_with_the_pool_s_times),
		cmocka_unit_test(a_pool_that_was_incomplete_for_a_while_says_since_when_it_is_not),
		cmocka_unit_test(a_slice_that_moves_tells_since_when_its_new_pool_is_so),
		cmocka_unit_test(a_restart_goes_on_with_what_any_slice_of_the_pool_told),
		cmocka_unit_test(a_late_write_has_the_time_of_the_change),
		cmocka_unit_test(faults_of_a_pool_are_told),
	};

	return cmocka_run_group_tests_name("controller/slice_status_pools", tests, NULL, NULL);
}
