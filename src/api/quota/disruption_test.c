/*
 * Budgets: the pods they select, what they allow, and what an eviction subtracts.
 */
#include "api/quota/disruption.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/limits.h"
#include "base/json/json.h"

#define NOW_NS (INT64_C(1790000000) * 1000000000)

#define BUDGET(spec, status)                                                                       \
	"{\"metadata\":{\"name\":\"b\",\"generation\":2},\"spec\":{\"selector\":{\"matchLabels\":" \
	"{\"app\":\"web\"}}" spec "},\"status\":{" status "}}"
#define POD(status)                                                                          \
	"{\"metadata\":{\"name\":\"p\",\"labels\":{\"app\":\"web\"}},\"status\":{\"phase\":" \
	"\"Running\"" status "}}"
#define READY   ",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]"
#define UNREADY ",\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\"}]"

struct fixture {
	struct arena arena;
	struct json *patch;
	struct disruption_refusal refusal;
	struct error err;
};

static struct json *tree(struct fixture *f, const char *text)
{
	struct json *v = NULL;

	if (json_parse(&f->arena, str_from(text), NULL, &v, NULL) < 0)
		fail_msg("no JSON: %s", text);
	return v;
}

static int check(struct fixture *f, const char *budget, const char *pod)
{
	f->err = (struct error){ 0 };
	return disruption_check(&f->arena, tree(f, budget), tree(f, pod), NOW_NS, &f->patch,
				&f->refusal, &f->err);
}

static void assert_text(const struct json *v, const char *want)
{
	struct buf b = BUF_INIT(MIB);

	assert_int_equal(json_print(&b, v, NULL), 0);
	assert_string_equal(b.p, want);
	buf_release(&b);
}

static void a_budget_is_about_pods_that_its_selector_finds(void **state)
{
	struct fixture *f = *state;
	struct json *pod = tree(f, POD(""));

	assert_true(disruption_covers(tree(f, BUDGET("", "")), pod));
	assert_true(disruption_covers(tree(f, "{\"spec\":{\"selector\":{}}}"), pod));
	assert_false(disruption_covers(tree(f, "{\"spec\":{}}"), pod));
	assert_false(disruption_covers(
		tree(f, "{\"spec\":{\"selector\":{\"matchLabels\":{\"app\":\"db\"}}}}"), pod));
}

static void no_budget_holds_a_pod_that_runs_no_more_or_not_yet(void **state)
{
	struct fixture *f = *state;

	assert_false(disruption_is_free(tree(f, POD(""))));
	assert_true(disruption_is_free(tree(f, "{\"status\":{\"phase\":\"Pending\"}}")));
	assert_true(disruption_is_free(tree(f, "{\"status\":{\"phase\":\"Failed\"}}")));
	assert_true(disruption_is_free(tree(f, "{\"metadata\":{\"deletionTimestamp\":\"x\"},"
					       "\"status\":{\"phase\":\"Running\"}}")));
}

static void an_eviction_takes_one_off_and_leaves_its_name(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(check(f, BUDGET("", "\"observedGeneration\":2,\"disruptionsAllowed\":1"),
			       POD(READY)),
			 0);
	assert_text(f->patch, "{\"status\":{\"disruptionsAllowed\":0,\"disruptedPods\":{\"p\":"
			      "\"2026-09-21T14:13:20Z\"}}}");
}

static void a_budget_that_is_used_up_refuses(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(check(f,
			       BUDGET("", "\"observedGeneration\":2,\"disruptionsAllowed\":0,"
					  "\"currentHealthy\":2,\"desiredHealthy\":2"),
			       POD(READY)),
			 -ERR_TOO_MANY_REQUESTS);
	assert_string_equal(f->err.msg,
			    "Cannot evict pod as it would violate the pod's disruption budget.");
	assert_string_equal(f->refusal.cause,
			    "The disruption budget b needs 2 healthy pods and has 2 currently");
	assert_int_equal(f->refusal.retry_after_s, 0);
	assert_int_equal(check(f, BUDGET("", "\"observedGeneration\":2,\"disruptionsAllowed\":-1"),
			       POD(READY)),
			 -ERR_FORBIDDEN);
}

static void a_budget_that_nobody_has_seen_yet_refuses(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(check(f, BUDGET("", "\"observedGeneration\":1,\"disruptionsAllowed\":9"),
			       POD(READY)),
			 -ERR_TOO_MANY_REQUESTS);
	assert_non_null(strstr(f->refusal.cause, "still being processed"));
	assert_int_equal(f->refusal.retry_after_s, 10);
}

static void pods_that_are_not_ready_are_not_missed_while_others_are_enough(void **state)
{
	static const char enough[] = BUDGET("", "\"observedGeneration\":2,\"currentHealthy\":2,"
						"\"desiredHealthy\":2");
	static const char few[] = BUDGET("", "\"observedGeneration\":2,\"currentHealthy\":1,"
					     "\"desiredHealthy\":2");
	static const char always[] = BUDGET(",\"unhealthyPodEvictionPolicy\":\"AlwaysAllow\"",
					    "\"observedGeneration\":2,\"currentHealthy\":1,"
					    "\"desiredHealthy\":2");
	struct fixture *f = *state;

	assert_int_equal(check(f, enough, POD(UNREADY)), 0);
	assert_null(f->patch);
	assert_int_equal(check(f, enough, POD(READY)), -ERR_TOO_MANY_REQUESTS);
	assert_int_equal(check(f, few, POD(UNREADY)), -ERR_TOO_MANY_REQUESTS);
	assert_int_equal(check(f, always, POD(UNREADY)), 0);
	assert_int_equal(check(f, always, POD(READY)), -ERR_TOO_MANY_REQUESTS);
}

static void a_pod_says_that_it_was_evicted(void **state)
{
	struct fixture *f = *state;
	struct json *pod = tree(f, POD(READY)), *list;

	disruption_mark(&f->arena, pod, NOW_NS);
	disruption_mark(&f->arena, pod, NOW_NS);
	list = json_getz(json_getz(pod, "status"), "conditions");
	assert_int_equal(json_count(list), 2);
	assert_text(json_at(list, 1),
		    "{\"type\":\"DisruptionTarget\",\"status\":\"True\",\"reason\":"
		    "\"EvictionByEvictionAPI\",\"message\":\"Eviction API: evicting\","
		    "\"lastTransitionTime\":\"2026-09-21T14:13:20Z\"}");
	pod = tree(f, "{}");
	disruption_mark(&f->arena, pod, NOW_NS);
	assert_int_equal(json_count(json_getz(json_getz(pod, "status"), "conditions")), 1);
}

static int setup(void **state)
{
	static struct fixture f;

	arena_init(&f.arena, MIB);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	arena_release(&f->arena);
	return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_budget_is_about_pods_that_its_selector_finds),
		CASE(no_budget_holds_a_pod_that_runs_no_more_or_not_yet),
		CASE(an_eviction_takes_one_off_and_leaves_its_name),
		CASE(a_budget_that_is_used_up_refuses),
		CASE(a_budget_that_nobody_has_seen_yet_refuses),
		CASE(pods_that_are_not_ready_are_not_missed_while_others_are_enough),
		CASE(a_pod_says_that_it_was_evicted),
	};

	return cmocka_run_group_tests_name("api/disruption", tests, NULL, NULL);
}
