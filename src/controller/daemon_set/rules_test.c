/*
 * Which nodes a template wants, and what a pod for a node looks like.
 */
#include "controller/daemon_set/rules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/yaml/yaml.h"
#include "controller/pods/owned.h"

#define REQUIRED(terms)                                                              \
	"affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: " \
	"{nodeSelectorTerms: " terms "}}}"
#define TAINT(key, effect) "taints: [{key: " key ", effect: " effect "}]"

static struct json *rules_parse(struct arena *a, const char *yaml)
{
	struct json *v = NULL;
	struct error err;

	if (yaml_parse(a, str_from(arena_strdup(a, str_from(yaml))), NULL, &v, &err) < 0)
		fail_msg("%s: %s", err.msg, yaml);
	return v;
}

static const struct {
	const char *spec, *node; /* node: labels and taints */
	enum daemon_fit fit;
} fits[] = {
	{ "{}", "{}", DAEMON_RUNS },
	{ "{nodeName: n1}", "{}", DAEMON_RUNS },
	{ "{nodeName: n2}", "{}", DAEMON_UNFIT },
	{ "{nodeSelector: {a: b}}", "{labels: {a: b, c: d}}", DAEMON_RUNS },
	{ "{nodeSelector: {a: b}}", "{labels: {a: c}}", DAEMON_UNFIT },
	{ "{nodeSelector: {a: b}}", "{}", DAEMON_UNFIT },
	{ "{nodeSelector: {a: ''}}", "{}", DAEMON_UNFIT },
	{ "{" REQUIRED("[{matchExpressions: [{key: a, operator: In, values: [b]}]}]") "}",
	  "{labels: {a: b}}", DAEMON_RUNS },
	{ "{" REQUIRED("[{matchExpressions: [{key: a, operator: In, values: [b]}]}]") "}", "{}",
	  DAEMON_UNFIT },
	{ "{" REQUIRED("[{matchFields: [{key: metadata.name, operator: In, values: "
		       "[n1]}]}]") "}",
	  "{}", DAEMON_RUNS },
	{ "{" REQUIRED("[{matchFields: [{key: metadata.name, operator: In, values: [n2]}]},"
		       "{matchExpressions: [{key: a, operator: Exists}]}]") "}",
	  "{labels: {a: b}}", DAEMON_RUNS },
	{ "{" REQUIRED("[{}]") "}", "{}", DAEMON_UNFIT },
	{ "{" REQUIRED("[]") "}", "{}", DAEMON_UNFIT },
	{ "{" REQUIRED("[{matchExpressions: [{key: a, operator: What}]}]") "}", "{}",
	  DAEMON_UNFIT },
	/* Taints. */
	{ "{}", "{" TAINT("x", "NoSchedule") "}", DAEMON_STAYS },
	{ "{}", "{" TAINT("x", "NoExecute") "}", DAEMON_UNFIT },
	{ "{}", "{" TAINT("x", "PreferNoSchedule") "}", DAEMON_RUNS },
	{ "{tolerations: [{key: x, operator: Exists}]}", "{" TAINT("x", "NoSchedule") "}",
	  DAEMON_RUNS },
	{ "{tolerations: [{operator: Exists}]}", "{" TAINT("x", "NoExecute") "}", DAEMON_RUNS },
	{ "{tolerations: [{key: x, operator: Exists, effect: NoSchedule}]}",
	  "{" TAINT("x", "NoExecute") "}", DAEMON_UNFIT },
	{ "{tolerations: [{key: x, value: 'y'}]}",
	  "{taints: [{key: x, value: 'y', effect: NoSchedule}]}", DAEMON_RUNS },
	{ "{tolerations: [{key: x, value: 'y'}]}",
	  "{taints: [{key: x, value: z, effect: NoSchedule}]}", DAEMON_STAYS },
	{ "{tolerations: [{key: x, operator: Gt, value: '5'}]}",
	  "{taints: [{key: x, value: '6', effect: NoSchedule}]}", DAEMON_RUNS },
	{ "{tolerations: [{key: x, operator: Lt, value: '5'}]}",
	  "{taints: [{key: x, value: '6', effect: NoSchedule}]}", DAEMON_STAYS },
	{ "{tolerations: [{key: x, operator: What}]}", "{" TAINT("x", "NoSchedule") "}",
	  DAEMON_STAYS },
	/* Both: the worse counts. */
	{ "{}", "{taints: [{key: x, effect: NoSchedule}, {key: 'y', effect: NoExecute}]}",
	  DAEMON_UNFIT },
	/* Nodes in trouble. */
	{ "{}", "{" TAINT("node.kubernetes.io/not-ready", "NoExecute") "}", DAEMON_RUNS },
	{ "{}", "{" TAINT("node.kubernetes.io/not-ready", "NoSchedule") "}", DAEMON_STAYS },
	{ "{}", "{" TAINT("node.kubernetes.io/unreachable", "NoExecute") "}", DAEMON_RUNS },
	{ "{}", "{" TAINT("node.kubernetes.io/disk-pressure", "NoSchedule") "}", DAEMON_RUNS },
	{ "{}", "{" TAINT("node.kubernetes.io/memory-pressure", "NoSchedule") "}", DAEMON_RUNS },
	{ "{}", "{" TAINT("node.kubernetes.io/pid-pressure", "NoSchedule") "}", DAEMON_RUNS },
	{ "{}", "{" TAINT("node.kubernetes.io/unschedulable", "NoSchedule") "}", DAEMON_RUNS },
	{ "{}", "{" TAINT("node.kubernetes.io/network-unavailable", "NoSchedule") "}",
	  DAEMON_STAYS },
	{ "{hostNetwork: true}",
	  "{" TAINT("node.kubernetes.io/network-unavailable", "NoSchedule") "}", DAEMON_RUNS },
	/* Nonsense. */
	{ "7", "{taints: 7, labels: [1]}", DAEMON_RUNS },
	{ "{tolerations: {}, nodeSelector: [], affinity: 7}", "{taints: [7, {}]}", DAEMON_RUNS },
};

static void nodes_fit_as_upstream_says(void **state UNUSED)
{
	struct arena a;

	arena_init(&a, MIB);
	for (size_t i = 0; i < ARRAY_SIZE(fits); i++) {
		const struct json *template = rules_parse(
			&a, arena_printf(&a, "spec: %s", fits[i].spec));
		const struct json *v = rules_parse(&a, fits[i].node);
		struct daemon_node node = { .name = STR("n1"),
					    .labels = json_getz(v, "labels"),
					    .taints = json_getz(v, "taints") };
		struct daemon_rules rules;

		daemon_rules_read(&a, template, &rules);
		if (daemon_rules_fit(&rules, &node) != fits[i].fit)
			fail_msg("case %zu: %d", i, daemon_rules_fit(&rules, &node));
	}
	arena_release(&a);
}

static void a_limited_toleration_becomes_unlimited(void **state UNUSED)
{
	struct arena a;
	struct json *list;

	arena_init(&a, MIB);
	list = daemon_tolerations(
		&a, rules_parse(&a, "spec: {tolerations: [{key: node.kubernetes.io/not-ready, "
				    "operator: Exists, effect: NoExecute, tolerationSeconds: 5}, "
				    "{key: mine, operator: Exists}]}"));
	assert_int_equal(json_count(list), 7);
	assert_null(json_getz(json_first(list), "tolerationSeconds"));
	assert_true(str_eqz(json_text_at(json_at(list, 1), "key"), "mine"));
	arena_release(&a);
}

static struct owner daemon_owner(void)
{
	return (struct owner){ .api_version = STR("apps/v1"),
			       .kind = STR("DaemonSet"),
			       .ns = STR("n"),
			       .name = STR("d"),
			       .uid = STR("u1") };
}

static void a_pod_names_its_node(void **state UNUSED)
{
	struct owner owner = daemon_owner();
	struct arena a;
	const struct json *spec, *preferred;
	struct json *pod;

	arena_init(&a, MIB);
	pod = daemon_pod_make(
		&a,
		rules_parse(&a, "metadata: {labels: {app: d}}\nspec: {affinity: {nodeAffinity: "
				"{preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1}], "
				"requiredDuringSchedulingIgnoredDuringExecution: "
				"{nodeSelectorTerms: [{matchExpressions: [{key: a, operator: "
				"Exists}]}]}}}}"),
		&owner, STR("n1"), STR("abc"));
	spec = json_getz(pod, "spec");
	assert_true(str_eqz(daemon_pod_node(spec), "n1"));
	preferred = json_getz(json_getz(json_getz(spec, "affinity"), "nodeAffinity"),
			      "preferredDuringSchedulingIgnoredDuringExecution");
	assert_int_equal(json_count(preferred), 1);
	assert_true(str_eqz(json_str(json_get(json_getz(json_getz(pod, "metadata"), "labels"),
					      DAEMON_HASH_LABEL)),
			    "abc"));
	json_put_str(&a, json_getz(pod, "spec"), "nodeName", STR("n7"));
	assert_true(str_eqz(daemon_pod_node(spec), "n7"));
	assert_int_equal(daemon_pod_node(rules_parse(&a, "{affinity: 7}")).n, 0);
	arena_release(&a);
}

static void names_depend_on_owner_node_revision_and_attempt(void **state UNUSED)
{
	struct owner owner = daemon_owner(), other = daemon_owner();
	struct arena a;
	struct str name;

	arena_init(&a, MIB);
	other.uid = STR("u2");
	name = daemon_pod_name(&a, &owner, STR("n1"), STR("r"), 0);
	assert_true(str_eq(name, daemon_pod_name(&a, &owner, STR("n1"), STR("r"), 0)));
	assert_false(str_eq(name, daemon_pod_name(&a, &other, STR("n1"), STR("r"), 0)));
	assert_false(str_eq(name, daemon_pod_name(&a, &owner, STR("n2"), STR("r"), 0)));
	assert_false(str_eq(name, daemon_pod_name(&a, &owner, STR("n1"), STR("s"), 0)));
	assert_false(str_eq(name, daemon_pod_name(&a, &owner, STR("n1"), STR("r"), 1)));
	owner.name = STR("a-long-name-of-which-the-pods-keep-only-the-beginning.and-more");
	name = daemon_pod_name(&a, &owner, STR("n1"), STR("r"), 0);
	assert_in_range(name.n, 12, 63);
	owner.name = STR("a-name-with-a-dot-where-it-is-cut-off-for-the-pods.name");
	name = daemon_pod_name(&a, &owner, STR("n1"), STR("r"), 0);
	assert_true(str_find(name, STR(".-")) < 0);
	arena_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_fit_as_upstream_says),
		cmocka_unit_test(a_limited_toleration_becomes_unlimited),
		cmocka_unit_test(a_pod_names_its_node),
		cmocka_unit_test(names_depend_on_owner_node_revision_and_attempt),
	};

	return cmocka_run_group_tests_name("controller/daemon_rules", tests, NULL, NULL);
}
