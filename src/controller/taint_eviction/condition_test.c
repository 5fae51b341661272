/*
 * The texts of a rule's status.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/clock.h"
#include "controller/taint_eviction/book.h"
#include "controller/taint_eviction/condition.h"

struct wanted {
	const char *effect;
	struct taint_counts counts;
	int64_t evicted;
	const char *status, *reason, *message;
};

static struct json *make_rule(struct arena *a, const char *effect)
{
	struct json *rule;
	const char *text = arena_printf(a,
					"{\"apiVersion\":\"resource.k8s.io/v1\",\"metadata\":{"
					"\"name\":\"r\",\"uid\":\"u\",\"generation\":7},\"spec\":{"
					"\"taint\":{\"effect\":\"%s\"}}}",
					effect);

	assert_int_equal(json_parse(a, str_from(text), NULL, &rule, NULL), 0);
	return rule;
}

static void assert_text(const struct json *c, const char *field, const char *want)
{
	struct str got = json_text_at(c, field);

	if (!str_eqz(got, want))
		fail_msg("%s: \"%.*s\", not \"%s\"", field, STR_ARG(got), want);
}

static void the_condition_is_told_in_upstreams_words(void **state UNUSED)
{
	static const struct wanted all[] = {
		{ "NoExecute", { 0 }, 0, "False", "NotStarted", "" },
		{ "NoExecute",
		  { .pods = 1, .namespaces = 1 },
		  0,
		  "True",
		  "PodsPendingEviction",
		  "1 pod needs to be evicted in 1 namespace." },
		{ "NoExecute",
		  { .pods = 3, .namespaces = 2 },
		  1,
		  "True",
		  "PodsPendingEviction",
		  "3 pods need to be evicted in 2 different namespaces. "
		  "1 pod evicted since starting the controller." },
		{ "NoExecute",
		  { 0 },
		  2,
		  "False",
		  "Completed",
		  "2 pods evicted since starting the controller." },
		{ "NoSchedule",
		  { 0 },
		  0,
		  "False",
		  "OtherEffect",
		  "Eviction only happens for the NoExecute effect." },
		{ "None",
		  { .published = 1, .allocated = 2, .pods = 1, .namespaces = 1 },
		  0,
		  "False",
		  "NoEffect",
		  "1 published device selected. 2 allocated devices selected. 1 pod would be "
		  "evicted in 1 namespace if the effect was NoExecute. This information will not "
		  "be updated again. Recreate the DeviceTaintRule to trigger an update." },
		{ "None",
		  { 0 },
		  4,
		  "False",
		  "NoEffect",
		  "0 published devices selected. 0 allocated devices selected. 0 pods would be "
		  "evicted in 0 different namespaces if the effect was NoExecute. This "
		  "information will not be updated again. Recreate the DeviceTaintRule to "
		  "trigger an update. 4 pods evicted since starting the controller." },
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		struct arena a;
		const struct json *c;

		arena_init(&a, SIZE_MAX);
		c = taint_condition_make(&a, make_rule(&a, all[i].effect), &all[i].counts,
					 all[i].evicted);
		assert_text(c, "type", "EvictionInProgress");
		assert_text(c, "status", all[i].status);
		assert_text(c, "reason", all[i].reason);
		assert_text(c, "message", all[i].message);
		assert_int_equal(json_i64_at(c, "observedGeneration", 0), 7);
		arena_release(&a);
	}
}

static void conditions_that_say_the_same_are_the_same_at_any_time(void **state UNUSED)
{
	struct taint_counts one = { .pods = 1, .namespaces = 1 },
			    two = { .pods = 2, .namespaces = 1 };
	struct arena a;
	struct json *rule, *c, *d;

	arena_init(&a, SIZE_MAX);
	rule = make_rule(&a, "NoExecute");
	c = taint_condition_make(&a, rule, &one, 0);
	d = taint_condition_make(&a, rule, &one, 0);
	(void)taint_condition_patch(&a, rule, d, 5 * CLOCK_SEC);
	assert_text(d, "lastTransitionTime", "1970-01-01T00:00:05Z");
	assert_true(taint_condition_same(c, d));
	assert_false(taint_condition_same(c, NULL));
	assert_false(taint_condition_same(c, taint_condition_make(&a, rule, &two, 0)));
	json_put_i64(&a, d, "observedGeneration", 8);
	assert_false(taint_condition_same(c, d));
	arena_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_condition_is_told_in_upstreams_words),
		cmocka_unit_test(conditions_that_say_the_same_are_the_same_at_any_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
