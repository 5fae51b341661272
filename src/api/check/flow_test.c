/*
 * FlowSchemas and PriorityLevelConfigurations, valid and not: the rows are in cases/.
 */
#include "api/check/check_fixture.h"
#include "api/check/flow_specs.h"
#include "base/core/limits.h"

static void schemas_and_levels_are_judged_as_upstream_does(void **state)
{
	(void)state;
	assert_in_range(run_cases("flow.cases"), 60, 1000);
}

/* One complete message: how specs are shown. */
static void a_spec_is_shown_by_the_names_that_upstreams_code_has(void **state)
{
	static const char text[] =
		"{\"apiVersion\":\"flowcontrol.apiserver.k8s.io/v1\",\"kind\":\"FlowSchema\","
		"\"metadata\":{\"name\":\"exempt\"},\"spec\":{\"matchingPrecedence\":2,"
		"\"priorityLevelConfiguration\":{\"name\":\"exempt\"},\"rules\":[{\"subjects\":["
		"{\"kind\":\"Group\",\"group\":{\"name\":\"g\"}}],\"resourceRules\":[{\"verbs\":"
		"[\"*\"],\"apiGroups\":[\"*\"],\"resources\":[\"*\"],\"clusterScope\":true}]}]}}";
	CLEANUP(buf_release) struct buf out = BUF_INIT(64 * KIB);
	CLEANUP(arena_release) struct arena a;
	struct field_errors errs;
	struct gates gates;
	struct validation v = { .errs = &errs, .arena = &a, .gates = &gates, .now_ns = NOW_NS };

	(void)state;
	arena_init(&a, MIB);
	field_errors_init(&errs, &a);
	gates_init(&gates);
	v.object = parsed(&a, str_from(text));
	v.kind = schema_find_kind(json_text_at(v.object, "apiVersion"), STR("FlowSchema"));
	validate_create(&v);
	assert_int_equal(field_errors_aggregate(&errs, &out), 0);
	assert_string_equal(
		out.p,
		"spec: Invalid value: {\"PriorityLevelConfiguration\":{\"Name\":\"exempt\"},"
		"\"MatchingPrecedence\":2,\"DistinguisherMethod\":null,\"Rules\":[{\"Subjects\":["
		"{\"Kind\":\"Group\",\"User\":null,\"Group\":{\"Name\":\"g\"},\"ServiceAccount\":"
		"null}],\"ResourceRules\":[{\"Verbs\":[\"*\"],\"APIGroups\":[\"*\"],\"Resources\":"
		"[\"*\"],\"ClusterScope\":true,\"Namespaces\":null}],\"NonResourceRules\":null}]}: "
		"spec of 'exempt' must equal the fixed value");
}

static void assert_whole_and_valid(const char *kind, const struct flow_default *d)
{
	CLEANUP(arena_release) struct arena a;
	struct field_errors errs;
	struct gates gates;
	struct validation v = { .errs = &errs, .arena = &a, .gates = &gates, .now_ns = NOW_NS };
	struct json *object;

	arena_init(&a, MIB);
	field_errors_init(&errs, &a);
	gates_init(&gates);
	object = parsed(&a, str_from(arena_printf(
				    &a,
				    "{\"apiVersion\":\"flowcontrol.apiserver.k8s.io/v1\",\"kind\":"
				    "\"%s\",\"metadata\":{\"name\":\"%s\"},\"spec\":%s}",
				    kind, d->name, d->spec)));
	v.object = object;
	v.kind = schema_find_kind(json_text_at(object, "apiVersion"), str_from(kind));
	defaults_fill(&a, object, v.kind->type, NOW_NS);
	assert_true(json_equal(json_getz(object, "spec"), parsed(&a, str_from(d->spec))));
	validate_create(&v);
	assert_false(field_errors_any(&errs));
}

/* Otherwise mandatory objects could not be written unchanged, nor the others be created. */
static void every_default_is_valid_and_lacks_no_defaults(void **state)
{
	size_t n;
	const struct flow_default *all = flow_defaults(FLOW_SCHEMA, &n);

	(void)state;
	assert_int_equal(n, 11);
	for (size_t i = 0; i < n; i++)
		assert_whole_and_valid("FlowSchema", &all[i]);
	all = flow_defaults(FLOW_LEVEL, &n);
	assert_int_equal(n, 8);
	for (size_t i = 0; i < n; i++)
		assert_whole_and_valid("PriorityLevelConfiguration", &all[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(schemas_and_levels_are_judged_as_upstream_does),
		cmocka_unit_test(a_spec_is_shown_by_the_names_that_upstreams_code_has),
		cmocka_unit_test(every_default_is_valid_and_lacks_no_defaults),
	};

	return cmocka_run_group_tests_name("api/check_flow", tests, NULL, NULL);
}
