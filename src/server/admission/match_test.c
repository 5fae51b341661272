#include "server/admission/match.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct fixture {
	struct arena arena;
};

static int set_up(void **state)
{
	struct fixture *f = test_calloc(1, sizeof(*f));

	arena_init(&f->arena, SIZE_MAX);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	arena_release(&f->arena);
	test_free(f);
	return 0;
}

static struct json *parsed(struct fixture *f, const char *text)
{
	struct json *tree = NULL;

	if (text)
		assert_int_equal(json_parse(&f->arena, str_from(text), NULL, &tree, NULL), 0);
	return tree;
}

/* A pod that is created in the namespace n. */
static struct admission_attr pod(void)
{
	return (struct admission_attr){
		.op = ADMIT_CREATE,
		.kind = schema_find_resource(STR(""), STR("v1"), STR("pods")),
		.ns = STR("n"),
		.name = STR("p"),
	};
}

#define RULE(op, group, version, resource, more)                                                 \
	"{\"operations\":[\"" op "\"],\"apiGroups\":[\"" group "\"],\"apiVersions\":[\"" version \
	"\"],\"resources\":[\"" resource "\"]" more "}"

static bool rule_is_about(struct fixture *f, const char *rule, const struct admission_attr *attr)
{
	const struct schema_kind *kind;
	const struct json *tree = parsed(
		f, arena_printf(&f->arena, "{\"matchPolicy\":\"Exact\",\"rules\":[%s]}", rule));
	struct admission_match m = admission_match_webhook(&f->arena, tree);

	return admission_matches(&m, attr, &kind);
}

static void a_rule_names_operation_group_version_and_resource(void **state)
{
	static const struct {
		const char *rule;
		bool matches;
	} cases[] = {
		{ RULE("CREATE", "", "v1", "pods", ""), true },
		{ RULE("*", "*", "*", "*", ""), true },
		{ RULE("UPDATE", "", "v1", "pods", ""), false },
		{ RULE("CREATE", "apps", "v1", "pods", ""), false },
		{ RULE("CREATE", "", "v2", "pods", ""), false },
		{ RULE("CREATE", "", "v1", "services", ""), false },
		{ RULE("CREATE", "", "v1", "pods/status", ""), false },
		{ RULE("CREATE", "", "v1", "*/*", ""), true },
		{ RULE("CREATE", "", "v1", "pods/*", ""), true },
		{ RULE("CREATE", "", "v1", "pods", ",\"scope\":\"Namespaced\""), true },
		{ RULE("CREATE", "", "v1", "pods", ",\"scope\":\"Cluster\""), false },
		{ RULE("CREATE", "", "v1", "pods", ",\"scope\":\"*\""), true },
		{ RULE("CREATE", "", "v1", "pods", ",\"resourceNames\":[\"a\",\"p\"]"), true },
		{ RULE("CREATE", "", "v1", "pods", ",\"resourceNames\":[\"a\"]"), false },
	};
	struct fixture *f = *state;
	struct admission_attr attr = pod();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (rule_is_about(f, cases[i].rule, &attr) != cases[i].matches)
			fail_msg("%s", cases[i].rule);
}

static void subresources_are_named(void **state)
{
	struct fixture *f = *state;
	struct admission_attr attr = pod();

	attr.subresource = STR("status");
	assert_false(rule_is_about(f, RULE("CREATE", "", "v1", "pods", ""), &attr));
	assert_true(rule_is_about(f, RULE("CREATE", "", "v1", "pods/status", ""), &attr));
	assert_true(rule_is_about(f, RULE("CREATE", "", "v1", "*/status", ""), &attr));
	assert_false(rule_is_about(f, RULE("CREATE", "", "v1", "*", ""), &attr));
}

static void namespaces_are_of_the_cluster(void **state)
{
	struct fixture *f = *state;
	struct admission_attr attr = {
		.op = ADMIT_CREATE,
		.kind = schema_find_resource(STR(""), STR("v1"), STR("namespaces")),
		.ns = STR("x"),
		.name = STR("x"),
	};

	assert_true(rule_is_about(
		f, RULE("CREATE", "", "v1", "namespaces", ",\"scope\":\"Cluster\""), &attr));
	assert_false(rule_is_about(
		f, RULE("CREATE", "", "v1", "namespaces", ",\"scope\":\"Namespaced\""), &attr));
}

static bool policy_is_about(struct fixture *f, const char *resources,
			    const struct admission_attr *attr, const struct schema_kind **ret_kind)
{
	struct admission_match m = admission_match_policy(&f->arena, parsed(f, resources));

	return admission_matches(&m, attr, ret_kind);
}

static void without_rules_policies_are_about_all_and_webhooks_about_nothing(void **state)
{
	struct fixture *f = *state;
	struct admission_attr attr = pod();
	struct admission_match hook = admission_match_webhook(&f->arena, parsed(f, "{}"));
	const struct schema_kind *kind = NULL;

	assert_true(policy_is_about(f, "{}", &attr, &kind));
	assert_ptr_equal(kind, attr.kind);
	assert_false(admission_matches(&hook, &attr, &kind));
}

static void excluded_rules_come_first(void **state)
{
	struct fixture *f = *state;
	struct admission_attr attr = pod();
	const struct schema_kind *kind;
	const char *resources = "{\"resourceRules\":[" RULE(
		"*", "*", "*", "*", "") "],"
					"\"excludeResourceRules\":[" RULE("*", "", "*", "pods",
									  "") "]}";

	assert_false(policy_is_about(f, resources, &attr, &kind));
	attr.kind = schema_find_resource(STR(""), STR("v1"), STR("services"));
	assert_true(policy_is_about(f, resources, &attr, &kind));
}

static void another_version_matches_unless_exactly_this_is_wanted(void **state)
{
	struct fixture *f = *state;
	struct admission_attr attr = {
		.op = ADMIT_CREATE,
		.kind = schema_find_resource(STR("resource.k8s.io"), STR("v1beta1"),
					     STR("resourceclaims")),
		.ns = STR("n"),
	};
	const struct schema_kind *kind = NULL;
	const char *rule = RULE("CREATE", "resource.k8s.io", "v1", "resourceclaims", "");

	assert_true(policy_is_about(
		f,
		arena_printf(&f->arena, "{\"matchPolicy\":\"Equivalent\",\"resourceRules\":[%s]}",
			     rule),
		&attr, &kind));
	assert_true(str_eqz(kind->version, "v1"));
	assert_false(policy_is_about(
		f,
		arena_printf(&f->arena, "{\"matchPolicy\":\"Exact\",\"resourceRules\":[%s]}", rule),
		&attr, &kind));
}

#define LABELLED(value) "{\"metadata\":{\"labels\":{\"a\":\"" value "\"}}}"

static void selectors_look_at_the_object_and_at_what_it_was(void **state)
{
	struct fixture *f = *state;
	struct admission_attr attr = pod();
	const struct schema_kind *kind;
	const char *resources = "{\"objectSelector\":{\"matchLabels\":{\"a\":\"b\"}}}";

	assert_false(policy_is_about(f, resources, &attr, &kind));
	attr.object = parsed(f, LABELLED("c"));
	assert_false(policy_is_about(f, resources, &attr, &kind));
	attr.old = parsed(f, LABELLED("b"));
	assert_true(policy_is_about(f, resources, &attr, &kind));
	/* A CONNECT has no labels, so no selector matches it, not even one for missing labels. */
	attr = pod();
	attr.op = ADMIT_CONNECT;
	attr.object = parsed(f, "{\"kind\":\"PodExecOptions\"}");
	resources = "{\"objectSelector\":{\"matchExpressions\":["
		    "{\"key\":\"a\",\"operator\":\"DoesNotExist\"}]}}";
	assert_false(policy_is_about(f, resources, &attr, &kind));
}

static void selectors_of_namespaces_look_at_labels_of_the_namespace(void **state)
{
	struct fixture *f = *state;
	struct admission_attr attr = pod();
	const struct schema_kind *kind;
	const char *resources = "{\"namespaceSelector\":{\"matchExpressions\":["
				"{\"key\":\"a\",\"operator\":\"In\",\"values\":[\"b\",\"c\"]}]}}";

	assert_false(policy_is_about(f, resources, &attr, &kind));
	attr.namespace_labels = parsed(f, "{\"a\":\"c\"}");
	assert_true(policy_is_about(f, resources, &attr, &kind));
	/* An object without a namespace is not exempt. */
	attr.namespace_labels = NULL;
	attr.ns = STR("");
	attr.kind = schema_find_resource(STR(""), STR("v1"), STR("nodes"));
	assert_true(policy_is_about(f, resources, &attr, &kind));
	/* A namespace is matched by its own labels; for a deletion by the current ones. */
	attr.kind = schema_find_resource(STR(""), STR("v1"), STR("namespaces"));
	attr.ns = STR("n");
	assert_false(policy_is_about(f, resources, &attr, &kind));
	attr.object = parsed(f, LABELLED("c"));
	assert_true(policy_is_about(f, resources, &attr, &kind));
	attr.op = ADMIT_DELETE;
	assert_false(policy_is_about(f, resources, &attr, &kind));
}

static void policies_and_webhooks_are_exempt(void **state UNUSED)
{
	struct str group = STR("admissionregistration.k8s.io");

	assert_true(admission_is_exempt(
		schema_find_resource(group, STR("v1"), STR("validatingadmissionpolicies"))));
	assert_false(admission_is_exempt(schema_find_resource(STR(""), STR("v1"), STR("pods"))));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(a_rule_names_operation_group_version_and_resource),
		TEST(subresources_are_named),
		TEST(namespaces_are_of_the_cluster),
		TEST(without_rules_policies_are_about_all_and_webhooks_about_nothing),
		TEST(excluded_rules_come_first),
		TEST(another_version_matches_unless_exactly_this_is_wanted),
		TEST(selectors_look_at_the_object_and_at_what_it_was),
		TEST(selectors_of_namespaces_look_at_labels_of_the_namespace),
		TEST(policies_and_webhooks_are_exempt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
