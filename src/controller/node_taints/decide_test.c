/*
 * When a pod has to leave a tainted node: one table row per rule, and nonsense.
 */
#include "controller/node_taints/decide.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/clock.h"
#include "base/core/limits.h"
#include "base/time/timestamp.h"

#define NOW   "2026-01-01T01:00:00Z"
#define NEVER (-1)

#define TAINT(key, rest) "{\"key\":\"" key "\",\"effect\":\"NoExecute\"" rest "}"
#define ADDED(time)      ",\"timeAdded\":\"" time "\""
#define MINUTE_AGO       "2026-01-01T00:59:00Z"
#define HOUR_AGO         "2026-01-01T00:00:00Z"
#define TOMORROW         "2026-01-02T00:00:00Z"
#define FOR(key, s)                                                \
	"{\"key\":\"" key "\",\"operator\":\"Exists\",\"effect\":" \
	"\"NoExecute\",\"tolerationSeconds\":" s "}"
#define ALWAYS(key) "{\"key\":\"" key "\",\"operator\":\"Exists\"}"

/* The pod came a day ago, unless `status` says otherwise. Times are seconds from now. */
static const struct {
	const char *name, *taints, *tolerations;
	int64_t due;
	const char *status;
} rules[] = {
	{ "no toleration", TAINT("a", ""), "", 0, NULL },
	{ "tolerated for ever", TAINT("a", ""), ALWAYS("a"), NEVER, NULL },
	{ "everything is tolerated", TAINT("a", ""), "{\"operator\":\"Exists\"}", NEVER, NULL },
	{ "another key", TAINT("a", ""), ALWAYS("b"), 0, NULL },
	{ "another effect", TAINT("a", ""),
	  "{\"key\":\"a\",\"operator\":\"Exists\",\"effect\":\"NoSchedule\"}", 0, NULL },
	{ "equal value", TAINT("a", ",\"value\":\"v\""), "{\"key\":\"a\",\"value\":\"v\"}", NEVER,
	  NULL },
	{ "equal value, named operator", TAINT("a", ",\"value\":\"v\""),
	  "{\"key\":\"a\",\"operator\":\"Equal\",\"value\":\"v\"}", NEVER, NULL },
	{ "another value", TAINT("a", ",\"value\":\"v\""), "{\"key\":\"a\",\"value\":\"w\"}", 0,
	  NULL },
	{ "an operator that we do not know", TAINT("a", ""), "{\"key\":\"a\",\"operator\":\"Gt\"}",
	  0, NULL },
	{ "seconds count from when we see it", TAINT("a", ""), FOR("a", "300"), 300, NULL },
	{ "seconds count from timeAdded", TAINT("a", ADDED(MINUTE_AGO)), FOR("a", "300"), 240,
	  NULL },
	{ "they are over", TAINT("a", ADDED(HOUR_AGO)), FOR("a", "300"), 0, NULL },
	{ "a time in the future counts as now", TAINT("a", ADDED(TOMORROW)), FOR("a", "300"), 300,
	  NULL },
	{ "an invalid time counts as now", TAINT("a", ADDED("soon")), FOR("a", "300"), 300, NULL },
	{ "a pod that came later has its time", TAINT("a", ADDED(HOUR_AGO)), FOR("a", "300"), 240,
	  "\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"True\","
	  "\"lastTransitionTime\":\"" MINUTE_AGO "\"}]" },
	{ "negative seconds are none", TAINT("a", ""), FOR("a", "-7"), 0, NULL },
	{ "zero seconds", TAINT("a", ""), FOR("a", "0"), 0, NULL },
	{ "endless seconds", TAINT("a", ""), FOR("a", "9223372036854775807"), NEVER, NULL },
	{ "seconds that are no number", TAINT("a", ""), FOR("a", "\"5\""), NEVER, NULL },
	{ "the shortest counts", TAINT("a", "") "," TAINT("b", ""),
	  FOR("a", "300") "," FOR("b", "60"), 60, NULL },
	{ "one is not tolerated", TAINT("a", "") "," TAINT("b", ""), FOR("a", "300"), 0, NULL },
	{ "one is tolerated for ever", TAINT("a", "") "," TAINT("b", ""),
	  ALWAYS("b") "," FOR("a", "300"), 300, NULL },
	{ "the first that matches counts", TAINT("a", ""), FOR("a", "300") "," ALWAYS("a"), 300,
	  NULL },
	{ "taints of other effects do not matter",
	  "{\"key\":\"a\",\"effect\":\"NoSchedule\"},{\"key\":\"b\"},7", "", NEVER, NULL },
	{ "tolerations that are nonsense", TAINT("a", ""), "7,null,{\"key\":8}", 0, NULL },
};

static int64_t time_of(const char *text)
{
	int64_t ns;

	assert_int_equal(timestamp_parse(str_from(text), &ns, NULL), 0);
	return ns;
}

static struct json *tree_of(struct arena *a, const char *text)
{
	struct json *v;

	if (json_parse(a, str_from(text), NULL, &v, NULL) < 0)
		fail_msg("%s", text);
	return v;
}

static struct node_taint_set *set_of(struct arena *a, const char *taints,
				     const struct node_taint_set *old, int64_t now)
{
	return node_taint_set_new(STR("n"), tree_of(a, arena_printf(a, "[%s]", taints)), old, now);
}

static void rules_follow_the_table(void **state UNUSED)
{
	int64_t now = time_of(NOW);

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		struct node_taint_set *s;
		struct arena a;
		struct json *pod;
		int64_t due;

		arena_init(&a, MIB);
		s = set_of(&a, rules[i].taints, NULL, now);
		pod = tree_of(&a, arena_printf(&a,
					       "{\"metadata\":{\"creationTimestamp\":"
					       "\"2025-12-31T00:00:00Z\"},"
					       "\"spec\":{\"tolerations\":[%s]},\"status\":{%s}}",
					       rules[i].tolerations,
					       rules[i].status ? rules[i].status : ""));
		due = node_taint_set_due(s, pod, now);
		due = due == NODE_TAINTS_NEVER ? NEVER : (due - now) / CLOCK_SEC;
		if (due != rules[i].due)
			fail_msg("%s: %lld", rules[i].name, (long long)due);
		free(s);
		arena_release(&a);
	}
}

/* The second set is made `later` seconds after the first. */
static int64_t since_after(const char *first, const char *second, int64_t later)
{
	int64_t now = time_of(NOW), since;
	struct node_taint_set *old, *s;
	struct arena a;

	arena_init(&a, MIB);
	old = set_of(&a, first, NULL, now);
	s = set_of(&a, second, old, now + later * CLOCK_SEC);
	assert_non_null(s);
	since = (s->v[0].since - now) / CLOCK_SEC;
	free(old);
	free(s);
	arena_release(&a);
	return since;
}

#define READY_LOST  "node.kubernetes.io/not-ready"
#define UNREACHABLE "node.kubernetes.io/unreachable"

static void a_taint_that_stays_keeps_its_start(void **state UNUSED)
{
	assert_int_equal(since_after(TAINT("a", ""), TAINT("a", ""), 60), 0);
	assert_int_equal(since_after(TAINT("a", ""), TAINT("b", ""), 60), 60);
	assert_int_equal(since_after(TAINT("a", ""), TAINT("a", ",\"value\":\"v\""), 60), 60);
	assert_int_equal(since_after(TAINT(READY_LOST, ""), TAINT(UNREACHABLE, ""), 60), 0);
	assert_int_equal(since_after(TAINT(UNREACHABLE, ""), TAINT(READY_LOST, ""), 60), 0);
	assert_int_equal(since_after(TAINT("a", ""), TAINT(READY_LOST, ""), 60), 60);
}

static void without_taints_there_is_no_set(void **state UNUSED)
{
	struct arena a;

	arena_init(&a, MIB);
	assert_null(set_of(&a, "{\"key\":\"a\",\"effect\":\"NoSchedule\"}", NULL, 0));
	assert_null(node_taint_set_new(STR("n"), NULL, NULL, 0));
	assert_null(node_taint_set_new(STR("n"), tree_of(&a, "{\"a\":1}"), NULL, 0));
	assert_true(node_taint_set_due(NULL, NULL, 0) == NODE_TAINTS_NEVER);
	arena_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_follow_the_table),
		cmocka_unit_test(a_taint_that_stays_keeps_its_start),
		cmocka_unit_test(without_taints_there_is_no_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
