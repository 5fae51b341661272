/*
 * Both policies, and back-off: tables.
 */
#include "controller/job/policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/clock.h"
#include "base/core/limits.h"
#include "base/time/timestamp.h"
#include "controller/job/backoff.h"
#include "controller/job/indexes.h"

static struct json *policy_tree(struct arena *a, const char *text)
{
	struct json *v = NULL;
	struct error err;

	if (json_parse(a, str_from(text), NULL, &v, &err) < 0)
		fail_msg("%s: %s", text, err.msg);
	return v;
}

/* --- failures -------------------------------------------------------------------------------- */

#define RULES(...) "{\"rules\":[" __VA_ARGS__ "]}"
#define CODES(action, name, op, values)                                          \
	"{\"action\":\"" action "\",\"onExitCodes\":{" name "\"operator\":\"" op \
	"\",\"values\":[" values "]}}"
#define PATTERN(action, type, status)                                       \
	"{\"action\":\"" action "\",\"onPodConditions\":[{\"type\":\"" type \
	"\",\"status\":\"" status "\"}]}"
#define NAMED(name) "\"containerName\":\"" name "\","
#define ENDED(name, code) \
	"{\"name\":\"" name "\",\"state\":{\"terminated\":{\"exitCode\":" code "}}}"
#define PODS(status) "{\"metadata\":{\"namespace\":\"n\",\"name\":\"p\"},\"status\":{" status "}}"
#define MAIN(...)    PODS("\"containerStatuses\":[" __VA_ARGS__ "]")
#define SICK                                                                        \
	PODS("\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\"},{\"type\":" \
	     "\"devplane.dev/DevicesHealthy\",\"status\":\"False\"}]")

static void the_first_rule_that_matches_decides(void **state UNUSED)
{
	static const struct {
		const char *policy, *pod;
		enum job_action action;
		const char *message; /* of FailJob */
	} cases[] = {
		{ "{}", MAIN(ENDED("a", "1")), JOB_NO_RULE, "" },
		{ RULES(CODES("Ignore", "", "In", "1,2")), MAIN(ENDED("a", "2")), JOB_IGNORE, "" },
		{ RULES(CODES("Ignore", "", "In", "1,2")), MAIN(ENDED("a", "3")), JOB_NO_RULE, "" },
		{ RULES(CODES("Ignore", "", "NotIn", "1,2")), MAIN(ENDED("a", "3")), JOB_IGNORE,
		  "" },
		/* A success matches neither operator. */
		{ RULES(CODES("Ignore", "", "NotIn", "1,2")), MAIN(ENDED("a", "0")), JOB_NO_RULE,
		  "" },
		{ RULES(CODES("FailIndex", NAMED("b"), "In", "1")),
		  MAIN(ENDED("a", "1") "," ENDED("b", "2")), JOB_NO_RULE, "" },
		{ RULES(CODES("FailIndex", NAMED("b"), "In", "1")),
		  MAIN(ENDED("a", "2") "," ENDED("b", "1")), JOB_FAIL_INDEX, "" },
		{ RULES(CODES("FailJob", "", "In", "42")),
		  MAIN(ENDED("a", "1") "," ENDED("b", "42")), JOB_FAIL_JOB,
		  "Container b for pod n/p failed with exit code 42 matching FailJob rule at index "
		  "0" },
		{ RULES(CODES("Count", "", "In", "1") "," CODES("FailJob", "", "In", "1,2")),
		  MAIN(ENDED("a", "1")), JOB_COUNT, "" },
		{ RULES(CODES("Count", "", "In", "1") "," CODES("FailJob", "", "In", "1,2")),
		  PODS("\"initContainerStatuses\":[" ENDED("i", "2") "]"), JOB_FAIL_JOB,
		  "Container i for pod n/p failed with exit code 2 matching FailJob rule at index "
		  "1" },
		/* It still runs. */
		{ RULES(CODES("Ignore", "", "NotIn", "1")),
		  MAIN("{\"name\":\"a\",\"state\":{\"running\":{}}}"), JOB_NO_RULE, "" },
		{ RULES(PATTERN("FailJob", "devplane.dev/DevicesHealthy", "False")), SICK,
		  JOB_FAIL_JOB,
		  "Pod n/p has condition devplane.dev/DevicesHealthy matching FailJob rule at "
		  "index 0" },
		{ RULES(PATTERN("FailJob", "devplane.dev/DevicesHealthy", "True")), SICK,
		  JOB_NO_RULE, "" },
		{ RULES(PATTERN("Ignore", "DisruptionTarget", "True") "," PATTERN("Count", "Ready",
										  "False")),
		  SICK, JOB_COUNT, "" },
		/* Nonsense. */
		{ RULES(PATTERN("Explode", "Ready", "False") "," PATTERN("Ignore", "Ready",
									 "False")),
		  SICK, JOB_IGNORE, "" },
		{ RULES(CODES("Ignore", "", "Like", "1")), MAIN(ENDED("a", "1")), JOB_NO_RULE, "" },
		{ RULES(CODES("Ignore", "", "In", "\"1\"")), MAIN(ENDED("a", "1")), JOB_NO_RULE,
		  "" },
		{ RULES("1,{},[]"), SICK, JOB_NO_RULE, "" },
		{ "[]", "1", JOB_NO_RULE, "" },
	};
	struct arena a;

	arena_init(&a, MIB);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct job_verdict v = job_failure_policy(&a, policy_tree(&a, cases[i].policy),
							  policy_tree(&a, cases[i].pod));

		if (v.action != cases[i].action)
			fail_msg("case %zu: %s", i, job_action_name(v.action));
		if (v.action == JOB_FAIL_JOB && !str_eqz(v.message, cases[i].message))
			fail_msg("case %zu: %.*s", i, STR_ARG(v.message));
	}
	assert_int_equal(job_failure_policy(&a, NULL, NULL).action, JOB_NO_RULE);
	arena_release(&a);
}

/* --- success --------------------------------------------------------------------------------- */

static void a_success_rule_is_met_by_indexes_or_their_number(void **state UNUSED)
{
	static const struct {
		const char *policy, *succeeded, *message; /* NULL: not met */
	} cases[] = {
		{ RULES("{\"succeededIndexes\":\"0\"}"), "0", "Matched rules at index 0" },
		{ RULES("{\"succeededIndexes\":\"0\"}"), "1-9", NULL },
		{ RULES("{\"succeededIndexes\":\"0,3-4\"}"), "0-3", NULL },
		{ RULES("{\"succeededIndexes\":\"0,3-4\"}"), "0,2-7", "Matched rules at index 0" },
		{ RULES("{\"succeededCount\":3}"), "0,5", NULL },
		{ RULES("{\"succeededCount\":3}"), "0,5,9", "Matched rules at index 0" },
		{ RULES("{\"succeededIndexes\":\"0-5\",\"succeededCount\":2}"), "5-9", NULL },
		{ RULES("{\"succeededIndexes\":\"0-5\",\"succeededCount\":2}"), "4-9",
		  "Matched rules at index 0" },
		{ RULES("{\"succeededIndexes\":\"9\"},{\"succeededCount\":1}"), "3",
		  "Matched rules at index 1" },
		{ RULES("{\"succeededCount\":0}"), "", NULL },
		{ RULES("{\"succeededIndexes\":\"x\"}"), "0-9", NULL },
		{ RULES("{\"succeededIndexes\":\"100\"}"), "0-9", NULL },
		{ RULES("{},3"), "0-9", NULL },
		{ "1", "0-9", NULL },
	};
	struct arena a;

	arena_init(&a, MIB);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct job_indexes set = job_indexes_read(&a, str_from(cases[i].succeeded), 10);
		struct str message = STR_NULL;
		bool met = job_success_policy(&a, policy_tree(&a, cases[i].policy), 10, &set,
					      &message);

		if (met != (cases[i].message != NULL) ||
		    (met && !str_eqz(message, cases[i].message)))
			fail_msg("case %zu: %.*s", i, STR_ARG(message));
	}
	arena_release(&a);
}

/* --- back-off -------------------------------------------------------------------------------- */

static void the_delay_doubles_up_to_ten_minutes(void **state UNUSED)
{
	static const struct {
		int64_t failures, elapsed_s, wait_s;
	} cases[] = {
		{ 0, 0, 0 },
		{ 1, 0, 10 },
		{ 1, 4, 6 },
		{ 1, 10, 0 },
		{ 1, 100, 0 },
		{ 2, 0, 20 },
		{ 3, 0, 40 },
		{ 6, 0, 320 },
		{ 7, 0, 600 },
		{ 8, 0, 600 },
		{ 2000000000, 0, 600 },
		{ -1, 0, 0 },
		/* The node's clock is ahead. */
		{ 1, -1000, 10 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct job_backoff b = { cases[i].failures, 5000 * CLOCK_SEC };
		int64_t wait = job_backoff_wait_ns(b, (5000 + cases[i].elapsed_s) * CLOCK_SEC);

		if (wait != cases[i].wait_s * CLOCK_SEC)
			fail_msg("case %zu: %lld", i, (long long)wait);
	}
}

static void a_success_starts_over(void **state UNUSED)
{
	static const struct {
		struct job_backoff before;
		int64_t succeeded[3], failed[3]; /* 0: none */
		struct job_backoff after;
	} cases[] = {
		{ { 2, 5 }, { 0 }, { 0 }, { 2, 5 } },
		{ { 2, 5 }, { 0 }, { 9, 7 }, { 4, 9 } },
		{ { 2, 5 }, { 8 }, { 0 }, { 0, 0 } },
		{ { 2, 5 }, { 8, 6 }, { 7, 9 }, { 1, 9 } },
		{ { 2, 5 }, { 8 }, { 7, 8 }, { 0, 0 } },
		{ { 2, 5 }, { 8 }, { 9, 11, 10 }, { 3, 11 } },
		{ { 0, 0 }, { 0 }, { 3 }, { 1, 3 } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct job_backoff b;
		size_t s = 0, f = 0;

		while (s < 3 && cases[i].succeeded[s])
			s++;
		while (f < 3 && cases[i].failed[f])
			f++;
		b = job_backoff_after(cases[i].before, cases[i].succeeded, s, cases[i].failed, f);
		if (b.failures != cases[i].after.failures || b.last_ns != cases[i].after.last_ns)
			fail_msg("case %zu: %lld at %lld", i, (long long)b.failures,
				 (long long)b.last_ns);
	}
}

#define AT(s) "\"2026-01-01T00:00:" s "Z\""
#define OVER(name, s) \
	"{\"name\":\"" name "\",\"state\":{\"terminated\":{\"finishedAt\":" AT(s) "}}}"

static void the_end_of_a_pod_is_the_best_known_time(void **state UNUSED)
{
	static const struct {
		const char *pod;
		int64_t second;
	} cases[] = {
		{ "{\"metadata\":{\"creationTimestamp\":" AT("01") "}}", 1 },
		{ "{\"metadata\":{\"creationTimestamp\":" AT("01") ",\"deletionTimestamp\":" AT(
			  "40") ",\"deletionGracePeriodSeconds\":30}}",
		  10 },
		{ "{\"metadata\":{\"deletionTimestamp\":" AT(
			  "40") "},\"status\":{\"conditions\":[{"
				"\"type\":\"Ready\",\"status\":\"False\","
				"\"lastTransitionTime\":" AT("20") "}]}}",
		  20 },
		{ "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\","
		  "\"lastTransitionTime\":" AT("20") "}],\"containerStatuses\":[" OVER(
			  "a", "15") "," OVER("b", "18") "]}}",
		  18 },
		/* One of them still runs. */
		{ "{\"metadata\":{\"creationTimestamp\":" AT(
			  "02") "},\"status\":{"
				"\"containerStatuses\":[" OVER(
					"a", "15") ",{\"name\":\"b\",\"state\":{}}]}}",
		  2 },
		/* A sidecar ends last; another init container does not count. */
		{ "{\"spec\":{\"initContainers\":[{\"name\":\"i\"},{\"name\":\"s\","
		  "\"restartPolicy\":\"Always\"}]},\"status\":{\"containerStatuses\":[" OVER(
			  "a",
			  "15") "],\"initContainerStatuses\":[" OVER("i",
								     "50") "," OVER("s",
										    "17") "]}}",
		  17 },
		{ "{\"metadata\":{\"creationTimestamp\":" AT("03") ",\"deletionTimestamp\":"
								   "\"never\"},\"status\":[1]}",
		  3 },
	};
	struct arena a;
	int64_t start;

	arena_init(&a, MIB);
	assert_int_equal(timestamp_parse(STR("2026-01-01T00:00:00Z"), &start, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t end = job_backoff_pod_end(policy_tree(&a, cases[i].pod));

		if (end != start + cases[i].second * CLOCK_SEC)
			fail_msg("case %zu: %lld", i, (long long)((end - start) / CLOCK_SEC));
	}
	assert_int_equal(job_backoff_pod_end(NULL), 0);
	arena_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_rule_that_matches_decides),
		cmocka_unit_test(a_success_rule_is_met_by_indexes_or_their_number),
		cmocka_unit_test(the_delay_doubles_up_to_ten_minutes),
		cmocka_unit_test(a_success_starts_over),
		cmocka_unit_test(the_end_of_a_pod_is_the_best_known_time),
	};

	return cmocka_run_group_tests_name("controller/job_policy", tests, NULL, NULL);
}
