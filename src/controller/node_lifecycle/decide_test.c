/*
 * Conditions and taints that a node should have: one table row per rule, and nonsense.
 */
#include "controller/node_lifecycle/decide.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"

#define K(name)       "node.kubernetes.io/" name
#define IS(type, is)  "{\"type\":\"" type "\",\"status\":\"" is "\"}"
#define ON(key, what) "{\"key\":\"" key "\",\"effect\":\"" what "\"}"
#define EXECUTE(name) ON(K(name), "NoExecute")
#define NO_NEW(name)  ON(K(name), "NoSchedule")
#define OTHER         ON("example.com/mine", "NoExecute")

enum { GRANTED = 1, STOPPED = 2 };

/* `wanted`: NULL if nothing is to be written. New taints have their time cut off. */
static const struct {
	const char *name, *conditions, *taints;
	unsigned facts;
	const char *wanted;
	bool uses;
} rules[] = {
	{ "a node that is well", IS("Ready", "True"), "", GRANTED, NULL, false },
	{ "others' taints stay", IS("Ready", "True"), OTHER, 0, NULL, false },
	{ "the taint of admission goes", IS("Ready", "True"), NO_NEW("not-ready"), 0, "", false },
	{ "it also goes without any condition", "", NO_NEW("not-ready"), 0, "", false },
	{ "not ready", IS("Ready", "False"), "", 0, NO_NEW("not-ready"), false },
	{ "unreachable", IS("Ready", "Unknown"), "", 0, NO_NEW("unreachable"), false },
	{ "nonsense is unreachable for NoExecute only", IS("Ready", "Perhaps"), "", GRANTED,
	  EXECUTE("unreachable"), true },
	{ "one is replaced by the other", IS("Ready", "Unknown"), NO_NEW("not-ready"), 0,
	  NO_NEW("unreachable"), false },
	{ "a grant", IS("Ready", "Unknown"), NO_NEW("unreachable"), GRANTED,
	  NO_NEW("unreachable") "," EXECUTE("unreachable"), true },
	{ "a grant that is not needed", IS("Ready", "Unknown"),
	  NO_NEW("unreachable") "," EXECUTE("unreachable"), GRANTED, NULL, false },
	{ "replaced without a grant", IS("Ready", "Unknown"),
	  NO_NEW("unreachable") "," EXECUTE("not-ready"), 0,
	  NO_NEW("unreachable") "," EXECUTE("unreachable"), false },
	{ "the other way round", IS("Ready", "False"),
	  EXECUTE("unreachable") "," NO_NEW("not-ready"), 0,
	  NO_NEW("not-ready") "," EXECUTE("not-ready"), false },
	{ "both become one", IS("Ready", "False"),
	  NO_NEW("not-ready") "," EXECUTE("not-ready") "," EXECUTE("unreachable"), 0,
	  NO_NEW("not-ready") "," EXECUTE("not-ready"), false },
	{ "recovered", IS("Ready", "True"),
	  NO_NEW("unreachable") "," OTHER "," EXECUTE("unreachable"), 0, OTHER, false },
	{ "everything is lost", IS("Ready", "Unknown"),
	  NO_NEW("unreachable") "," EXECUTE("unreachable"), STOPPED | GRANTED,
	  NO_NEW("unreachable"), false },
	{ "without Ready nothing is known", "", EXECUTE("unreachable"), GRANTED, NULL, false },
	{ "pressure", IS("MemoryPressure", "True") "," IS("DiskPressure", "True"), "", 0,
	  NO_NEW("memory-pressure") "," NO_NEW("disk-pressure"), false },
	{ "processes and network", IS("PIDPressure", "True") "," IS("NetworkUnavailable", "True"),
	  "", 0, NO_NEW("pid-pressure") "," NO_NEW("network-unavailable"), false },
	{ "pressure is over", IS("MemoryPressure", "False"), NO_NEW("memory-pressure"), 0, "",
	  false },
	{ "pressure is unknown", IS("MemoryPressure", "Unknown"), NO_NEW("memory-pressure"), 0, "",
	  false },
	{ "pressure of effect NoExecute is somebody's own", IS("MemoryPressure", "False"),
	  EXECUTE("memory-pressure"), 0, NULL, false },
	{ "conditions and taints that are nonsense", "7,null,{\"type\":8}", "9,{\"key\":1}", 0,
	  NULL, false },
};

static struct json *tree_of(struct arena *a, const char *text)
{
	struct json *v;

	if (json_parse(a, str_from(text), NULL, &v, NULL) < 0)
		fail_msg("%s", text);
	return v;
}

static const struct json *node_of(struct arena *a, const char *spec, const char *conditions)
{
	return tree_of(a, arena_printf(a,
				       "{\"metadata\":{\"uid\":\"u\",\"resourceVersion\":\"7\"},"
				       "\"spec\":{%s},\"status\":{\"conditions\":[%s]}}",
				       spec, conditions));
}

/* The list of taints without their times; "none" without a patch. */
static struct str taints_in(struct arena *a, const struct json *patch)
{
	struct json *list = json_getz(json_getz(patch, "spec"), "taints");
	struct buf text = BUF_INIT(64 * KIB);
	struct str copy;

	if (!patch)
		return STR("none");
	assert_true(str_eqz(json_text_at(json_getz(patch, "metadata"), "resourceVersion"), "7"));
	JSON_FOREACH (it, list)
		(void)json_remove(it, STR("timeAdded"));
	assert_int_equal(json_print(&text, list, NULL), 0);
	copy = arena_str(a, buf_str(&text));
	buf_release(&text);
	return copy;
}

static void taints_follow_the_table(void **state UNUSED)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		struct node_decision_facts facts = { .granted = rules[i].facts & GRANTED,
						     .stopped = rules[i].facts & STOPPED };
		const char *wanted = rules[i].wanted;
		const struct json *node;
		struct str is;
		struct arena a;
		bool uses;

		arena_init(&a, MIB);
		node = node_of(&a, arena_printf(&a, "\"taints\":[%s]", rules[i].taints),
			       rules[i].conditions);
		is = taints_in(&a, node_decision_taints(&a, node, &facts, &uses));
		if (!str_eqz(is, wanted ? arena_printf(&a, "[%s]", wanted) : "none"))
			fail_msg("%s: %.*s", rules[i].name, STR_ARG(is));
		if (uses != rules[i].uses)
			fail_msg("%s: the grant", rules[i].name);
		arena_release(&a);
	}
}

static void unschedulable_is_a_taint(void **state UNUSED)
{
	struct node_decision_facts facts = { 0 };
	struct arena a;
	bool uses;

	arena_init(&a, MIB);
	assert_true(str_eqz(taints_in(&a, node_decision_taints(&a,
							       node_of(&a, "\"unschedulable\":true",
								       IS("Ready", "True")),
							       &facts, &uses)),
			    "[" NO_NEW("unschedulable") "]"));
	assert_true(str_eqz(
		taints_in(&a, node_decision_taints(
				      &a,
				      node_of(&a, "\"taints\":[" NO_NEW("unschedulable") "]",
					      IS("Ready", "True")),
				      &facts, &uses)),
		"[]"));
	arena_release(&a);
}

static struct str printed(struct arena *a, const struct json *v)
{
	struct buf text = BUF_INIT(64 * KIB);
	struct str copy;

	if (v)
		assert_int_equal(json_print(&text, v, NULL), 0);
	copy = arena_str(a, buf_str(&text));
	buf_release(&text);
	return copy;
}

#define META "{\"metadata\":{\"uid\":\"u\",\"resourceVersion\":\"7\"},\"status\":{\"conditions\":["
#define STOPPED_POSTING                                                                          \
	"\"status\":\"Unknown\",\"reason\":\"NodeStatusUnknown\",\"message\":\"Kubelet stopped " \
	"posting node status.\",\"lastTransitionTime\":\"1970-01-01T00:00:09Z\"}"
#define NEVER_POSTED                                                                          \
	"\"status\":\"Unknown\",\"reason\":\"NodeStatusNeverUpdated\",\"message\":\"Kubelet " \
	"never posted node status.\",\"lastTransitionTime\":\"1970-01-01T00:00:09Z\"}"

static void conditions_of_a_silent_node_become_unknown(void **state UNUSED)
{
	struct arena a;
	struct str is;

	arena_init(&a, MIB);
	is = printed(&a,
		     node_decision_lost(
			     &a,
			     node_of(&a, "",
				     IS("Ready", "True") "," IS("MemoryPressure", "Unknown") "," IS(
					     "DiskPressure", "False")),
			     9000000000));
	assert_true(str_eqz(is, META "{\"type\":\"Ready\"," STOPPED_POSTING
				     ",{\"type\":\"DiskPressure\"," STOPPED_POSTING
				     ",{\"type\":\"PIDPressure\"," NEVER_POSTED "]}}"));
	is = printed(&a, node_decision_lost(&a, node_of(&a, "", IS("Ready", "Unknown")), 9));
	assert_int_equal(is.n, 0);
	is = printed(&a, node_decision_lost(&a, tree_of(&a, "{\"status\":7}"), 9000000000));
	assert_true(str_find(is, STR("\"Ready\"," NEVER_POSTED)) > 0);
	arena_release(&a);
}

static void pods_become_not_ready(void **state UNUSED)
{
	struct arena a;

	arena_init(&a, MIB);
	assert_true(str_find(printed(&a, node_decision_pod(&a, node_of(&a, "", IS("Ready", "True")),
							   9000000000)),
			     STR("{\"type\":\"Ready\",\"status\":\"False\",\"lastTransitionTime\":"
				 "\"1970-01-01T00:00:09Z\"}")) > 0);
	assert_null(node_decision_pod(&a, node_of(&a, "", IS("Ready", "False")), 9));
	assert_null(node_decision_pod(&a, node_of(&a, "", IS("Initialized", "True")), 9));
	assert_null(node_decision_pod(&a, NULL, 9));
	arena_release(&a);
}

static struct str zone_of(struct arena *a, const char *labels)
{
	return node_decision_zone(
		tree_of(a, arena_printf(a, "{\"metadata\":{\"labels\":{%s}}}", labels)), a);
}

static void zones_come_from_labels(void **state UNUSED)
{
	struct arena a;

	arena_init(&a, MIB);
	assert_int_equal(zone_of(&a, "").n, 0);
	assert_false(str_eq(zone_of(&a, "\"topology.kubernetes.io/zone\":\"z\""),
			    zone_of(&a, "\"topology.kubernetes.io/region\":\"z\"")));
	assert_true(str_eq(zone_of(&a, "\"topology.kubernetes.io/zone\":\"z\""),
			   zone_of(&a, "\"failure-domain.beta.kubernetes.io/zone\":\"z\"")));
	assert_int_equal(node_decision_zone(tree_of(&a, "7"), &a).n, 0);
	assert_false(node_decision_excluded(tree_of(&a, "{}")));
	assert_true(node_decision_excluded(
		tree_of(&a, "{\"metadata\":{\"labels\":{\"" K("exclude-disruption") "\":\"\"}}}")));
	arena_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(taints_follow_the_table),
		cmocka_unit_test(unschedulable_is_a_taint),
		cmocka_unit_test(conditions_of_a_silent_node_become_unknown),
		cmocka_unit_test(pods_become_not_ready),
		cmocka_unit_test(zones_come_from_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
