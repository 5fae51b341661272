/*
 * What a pod's status means, and the order in which pods are deleted: one table row per rule.
 */
#include "controller/pods/pod_state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/time/timestamp.h"

static const struct json *pod_of(struct arena *a, const char *text)
{
	struct json *v;

	assert_int_equal(json_parse(a, str_from(text), NULL, &v, NULL), 0);
	return v;
}

static int64_t at(const char *text)
{
	int64_t ns;

	assert_int_equal(timestamp_parse(str_from(text), &ns, NULL), 0);
	return ns;
}

#define PHASE(p)        "\"phase\":\"" p "\""
#define READY(t)        CONDITION_READY "\"True\",\"lastTransitionTime\":\"" t "\"}]"
#define CONDITION_READY "\"conditions\":[{\"type\":\"Ready\",\"status\":"
#define RUNNING         PHASE("Running")
#define ON(node)        "\"spec\":{\"nodeName\":\"" node "\"}"
#define DELETED         "\"metadata\":{\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"}"

static void phases_and_deletion_decide(void **state UNUSED)
{
	static const struct {
		const char *pod;
		bool active, finished, terminating;
	} cases[] = {
		{ "{}", true, false, false },
		{ "{\"status\":{" PHASE("Pending") "}}", true, false, false },
		{ "{\"status\":{" RUNNING "}}", true, false, false },
		{ "{\"status\":{" PHASE("Unknown") "}}", true, false, false },
		{ "{\"status\":{" PHASE("Succeeded") "}}", false, true, false },
		{ "{\"status\":{" PHASE("Failed") "}}", false, true, false },
		{ "{" DELETED ",\"status\":{" RUNNING "}}", false, false, true },
		{ "{" DELETED ",\"status\":{" PHASE("Failed") "}}", false, true, false },
	};
	struct arena a;

	arena_init(&a, MIB);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct json *pod = pod_of(&a, cases[i].pod);

		if (pod_state_active(pod) != cases[i].active ||
		    pod_state_finished(pod) != cases[i].finished ||
		    pod_state_terminating(pod) != cases[i].terminating)
			fail_msg("%s", cases[i].pod);
	}
	arena_release(&a);
}

static void a_pod_is_available_after_its_time(void **state UNUSED)
{
	static const struct {
		const char *status;
		int64_t min_ready_s;
		const char *now;
		bool available;
		int64_t wait_s;
	} cases[] = {
		{ "", 0, "2026-01-01T00:00:00Z", false, 0 },
		{ "", 10, "2026-01-01T00:00:00Z", false, 0 },
		{ "\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\",\"lastTransitionTime\":"
		  "\"2026-01-01T00:00:00Z\"}]",
		  10, "2026-01-01T00:00:01Z", false, 0 },
		{ READY("2026-01-01T00:00:00Z"), 0, "2026-01-01T00:00:00Z", true, 0 },
		{ READY("2026-01-01T00:00:00Z"), 10, "2026-01-01T00:00:00Z", false, 10 },
		{ READY("2026-01-01T00:00:00Z"), 10, "2026-01-01T00:00:09Z", false, 1 },
		{ READY("2026-01-01T00:00:00Z"), 10, "2026-01-01T00:00:10Z", true, 0 },
		/* A clock that runs behind. */
		{ READY("2026-01-01T00:00:00Z"), 0, "2025-12-31T23:59:59Z", true, 0 },
		{ "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]", 0,
		  "2026-01-01T00:00:00Z", true, 0 },
		{ "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]", 1,
		  "2026-01-01T00:00:00Z", false, 0 },
	};
	struct arena a;

	arena_init(&a, MIB);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *text = arena_printf(&a, "{\"status\":{%s}}", cases[i].status);
		int64_t wait = -1;
		bool is = pod_state_available(pod_of(&a, text), cases[i].min_ready_s,
					      at(cases[i].now), &wait);

		if (is != cases[i].available || wait != cases[i].wait_s * 1000000000)
			fail_msg("case %zu: %d, %lld", i, is, (long long)wait);
		assert_int_equal(pod_state_available(pod_of(&a, text), cases[i].min_ready_s,
						     at(cases[i].now), NULL),
				 is);
	}
	arena_release(&a);
}

#define META(members)   "\"metadata\":{" members "}"
#define COST(c)         META("\"annotations\":{" COST_KEY ":\"" c "\"}")
#define COST_KEY        "\"controller.kubernetes.io/pod-deletion-cost\""
#define CREATED(t, uid) META("\"creationTimestamp\":\"" t "\",\"uid\":\"" uid "\"")
#define RESTARTS(n)     "\"containerStatuses\":[{\"name\":\"c\",\"restartCount\":" n "}]"
#define SIDECAR(policy)                                                                       \
	"\"spec\":{\"nodeName\":\"n\",\"initContainers\":[{\"name\":\"s\",\"restartPolicy\":" \
	"\"" policy "\"}]}"
#define SIDE(n)                                                                                  \
	"\"status\":{" RUNNING ",\"initContainerStatuses\":[{\"name\":\"s\",\"restartCount\":" n \
	"}]}"

static void the_first_of_two_is_deleted_first(void **state UNUSED)
{
	static const struct {
		const char *first, *second;
		size_t beside_first, beside_second;
		int result; /* -1, or 0: equal */
	} cases[] = {
		{ "{}", "{}", 0, 0, 0 },
		{ "{\"status\":{" RUNNING "}}", "{" ON("n") "}", 0, 0, -1 },
		{ "{" ON("n") "}", "{" ON("n") ",\"status\":{" PHASE("Unknown") "}}", 0, 0, -1 },
		{ "{\"status\":{" PHASE("Unknown") "}}", "{\"status\":{" RUNNING "}}", 0, 0, -1 },
		{ "{\"status\":{" RUNNING "}}",
		  "{\"status\":{" RUNNING "," READY("2026-01-01T00:00:00Z") "}}", 0, 0, -1 },
		/* Readiness counts before cost, cost before neighbours. */
		{ "{" COST("5") ",\"status\":{" RUNNING "}}",
		  "{" COST("-5") ",\"status\":{" RUNNING "," READY("2026-01-01T00:00:00Z") "}}", 0,
		  0, -1 },
		{ "{" COST("-1") "}", "{}", 0, 0, -1 },
		{ "{}", "{" COST("2147483647") "}", 9, 0, -1 },
		{ "{}", "{" COST("2147483648") "}", 0, 0, 0 },
		{ "{}", "{" COST("+5") "}", 0, 0, 0 },
		{ "{}", "{" COST("05") "}", 0, 0, 0 },
		{ "{}", "{" COST("x") "}", 0, 0, 0 },
		{ "{}", "{}", 2, 1, -1 },
		{ "{\"status\":{" READY("2026-01-01T00:59:50Z") "}}",
		  "{\"status\":{" READY("2026-01-01T00:00:00Z") "," RESTARTS("7") "}}", 0, 0, -1 },
		{ "{\"status\":{" RESTARTS("2") "}}", "{\"status\":{" RESTARTS("1") "}}", 0, 0,
		  -1 },
		{ "{" SIDECAR("Always") "," SIDE("2") "}", "{" SIDECAR("Always") "," SIDE("1") "}",
		  0, 0, -1 },
		{ "{" SIDECAR("Never") "," SIDE("2") "}", "{" SIDECAR("Never") "," SIDE("1") "}", 0,
		  0, 0 },
		{ "{" CREATED("2026-01-01T00:59:00Z", "b") "}",
		  "{" CREATED("2026-01-01T00:00:00Z", "a") "}", 0, 0, -1 },
		{ "{}", "{" CREATED("2026-01-01T00:59:00Z", "a") "}", 0, 0, -1 },
		/* Ages of 58 and 60 minutes are alike: the uid decides. */
		{ "{" CREATED("2026-01-01T00:00:00Z", "a") "}",
		  "{" CREATED("2026-01-01T00:02:00Z", "b") "}", 0, 0, -1 },
	};
	int64_t now = at("2026-01-01T01:00:00Z");
	struct arena a;

	arena_init(&a, MIB);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pod_rank x = { pod_of(&a, cases[i].first), cases[i].beside_first, now };
		struct pod_rank y = { pod_of(&a, cases[i].second), cases[i].beside_second, now };
		int xy = pod_rank_compare(&x, &y), yx = pod_rank_compare(&y, &x);

		if ((xy > 0) - (xy < 0) != cases[i].result ||
		    (yx > 0) - (yx < 0) != -cases[i].result)
			fail_msg("case %zu: %d, %d", i, xy, yx);
	}
	arena_release(&a);
}

static void without_a_time_ages_are_exact(void **state UNUSED)
{
	struct arena a;
	struct pod_rank x, y;

	arena_init(&a, MIB);
	x = (struct pod_rank){ pod_of(&a, "{" CREATED("2026-01-01T00:00:00Z", "a") "}"), 0, 0 };
	y = (struct pod_rank){ pod_of(&a, "{" CREATED("2026-01-01T00:02:00Z", "b") "}"), 0, 0 };
	assert_true(pod_rank_compare(&y, &x) < 0);
	arena_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(phases_and_deletion_decide),
		cmocka_unit_test(a_pod_is_available_after_its_time),
		cmocka_unit_test(the_first_of_two_is_deleted_first),
		cmocka_unit_test(without_a_time_ages_are_exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
