/*
 * Mutating policies at the whole server. Messages are those of a kube-apiserver for the same
 * requests.
 */
#include "server/policies/mutate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/sim/sim.h"
#include "server/authz/authz.h"
#include "server/policies/policy.h"
#include "server/server_limits.h"
#include "server/testing/state_fake.h"
#include "server/testing/verb_world.h"

#define GROUP    "/apis/admissionregistration.k8s.io/v1"
#define POLICIES GROUP "/mutatingadmissionpolicies"
#define BINDINGS GROUP "/mutatingadmissionpolicybindings"
#define MAPS     "/api/v1/namespaces/default/configmaps"
#define DEPLOYS  "/apis/apps/v1/namespaces/default/deployments"
#define MERGE    "application/merge-patch+json"
#define SAID     "policy 'p' with binding 'b' denied request: "
#define PARAMS   "\"paramKind\":{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\"},"
#define MAP      "{\"metadata\":{\"name\":\"x\"},\"data\":{\"a\":\"1\"}}"
#define DEPLOY                                                                          \
	"{\"metadata\":{\"name\":\"d\"},\"spec\":{\"replicas\":1,\"selector\":{"        \
	"\"matchLabels\":{\"a\":\"b\"}},\"template\":{\"metadata\":{\"labels\":{\"a\":" \
	"\"b\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}"
#define APPLY(text)                                                      \
	"{\"patchType\":\"ApplyConfiguration\",\"applyConfiguration\":{" \
	"\"expression\":\"" text "\"}}"
#define PATCH(text) "{\"patchType\":\"JSONPatch\",\"jsonPatch\":{\"expression\":\"" text "\"}}"
#define DO(list)    "\"mutations\":[" list "]"
#define SET(value)  DO(APPLY("Object{data: {'b': " value "}}"))

static const char *const rule_maps =
	"{\"apiGroups\":[\"\"],\"apiVersions\":[\"v1\"],\"operations\":[\"*\"],\"resources\":["
	"\"configmaps\"]}";
static const char *const rule_deploys =
	"{\"apiGroups\":[\"apps\"],\"apiVersions\":[\"v1\"],\"operations\":[\"*\"],"
	"\"resources\":[\"deployments\",\"deployments/scale\"]}";

/* Creates a policy for `rule` and a binding, of those names. */
static void set_named(struct verb_world *w, const char *policy, const char *name, const char *rule,
		      const char *spec, const char *binding)
{
	const char *again = strstr(spec, "reinvocationPolicy")
				    ? ""
				    : "\"reinvocationPolicy\":\"Never\",";

	(void)verb_world_call(w, "POST", POLICIES,
			      arena_printf(&w->arena,
					   "{\"metadata\":{\"name\":\"%s\"},\"spec\":{%s"
					   "\"matchConstraints\":{\"resourceRules\":[%s]},%s}}",
					   policy, again, rule, spec),
			      201);
	(void)verb_world_call(w, "POST", BINDINGS,
			      arena_printf(&w->arena,
					   "{\"metadata\":{\"name\":\"%s\"},\"spec\":{"
					   "\"policyName\":\"%s\"%s%s}}",
					   name, policy, *binding ? "," : "", binding),
			      201);
}

static void set_policy(struct verb_world *w, const char *rule, const char *spec,
		       const char *binding)
{
	set_named(w, "p", "b", rule, spec, binding);
}

static void drop_policy(struct verb_world *w)
{
	(void)verb_world_call(w, "DELETE", POLICIES "/p", NULL, 200);
	(void)verb_world_call(w, "DELETE", BINDINGS "/b", NULL, 200);
}

/* The effect of a policy on a ConfigMap that is created. */
static const struct {
	const char *spec, *binding;
	int status;
	const char *want; /* data.b, or the message of a rejection */
} cases[] = {
	{ SET("'2'"), "", 201, "2" },
	{ SET("object.data.a + request.operation + namespaceObject.metadata.name"), "", 201,
	  "1CREATEdefault" },
	{ SET("string(has(object.metadata.uid)) + string(has(object.metadata.generation))"), "",
	  201, "falsefalse" },
	{ "\"variables\":[{\"name\":\"v\",\"expression\":\"object.data.a + 'x'\"}]," SET(
		  "variables.v + variables.v"),
	  "", 201, "1x1x" },
	{ DO(APPLY("Object{data: {'b': '1'}}") "," APPLY(
		  "Object{data: {'b': object.data.b + '2'}}")),
	  "", 201, "12" },
	{ DO(PATCH("[JSONPatch{op: 'add', path: '/data/b', value: '3'}]")), "", 201, "3" },
	{ DO(PATCH("[JSONPatch{op: 'test', path: '/data/a', value: '2'}, JSONPatch{op: 'add', "
		   "path: '/data/b', value: '3'}]")),
	  "", 201, "" },
	{ DO(PATCH("[JSONPatch{op: 'remove', path: '/data/q'}]")), "", 403,
	  SAID "JSON Patch: remove operation does not apply: doc is missing path: \"/data/q\": "
	       "missing value" },
	{ DO(PATCH("[JSONPatch{op: 'add', path: '/nothing', value: 1}]")), "", 500,
	  "Internal error occurred: strict decoding error: unknown field \"nothing\"" },
	{ DO(APPLY("Object{nothing: 1}")), "", 403,
	  SAID "error applying patch: failed to convert patch object to typed object: .nothing: "
	       "field not declared in schema" },
	{ DO(APPLY("Object{metadata: Object.meta{}}")), "", 403,
	  SAID "type mismatch: unexpected type name \"Object.meta\", expected "
	       "\"Object.metadata\", which matches field name path from root Object type" },
	{ SET("object.data.q"), "", 403,
	  SAID "expression 'Object{data: {'b': object.data.q}}' resulted in error: no such key: "
	       "q" },
	{ "\"failurePolicy\":\"Ignore\"," SET("object.data.q"), "", 201, "" },
	{ "\"matchConditions\":[{\"name\":\"c\",\"expression\":\"object.data.a == '2'\"}]," SET(
		  "'2'"),
	  "", 201, "" },
	{ "\"matchConditions\":[{\"name\":\"c\",\"expression\":\"object.q == '2'\"}]," SET("'2'"),
	  "", 403, SAID "expression 'object.q == '2'' resulted in error: no such key: q" },
	{ PARAMS SET("params == null ? 'none' : 'some'"), "", 201, "none" },
	{ PARAMS SET("params.data.max"),
	  "\"paramRef\":{\"name\":\"limits\",\"parameterNotFoundAction\":\"Deny\"}", 201, "5" },
	{ PARAMS SET("params.data.max"),
	  "\"paramRef\":{\"selector\":{\"matchLabels\":{\"l\":\"m\"}},"
	  "\"parameterNotFoundAction\":\"Deny\"}",
	  201, "5" },
	{ PARAMS SET("'2'"),
	  "\"paramRef\":{\"name\":\"none\",\"parameterNotFoundAction\":\"Allow\"}", 201, "" },
	{ PARAMS SET("'2'"),
	  "\"paramRef\":{\"name\":\"none\",\"parameterNotFoundAction\":\"Deny\"}", 403,
	  SAID "failed to configure binding: no params found for policy binding with `Deny` "
	       "parameterNotFoundAction" },
	{ "\"paramKind\":{\"apiVersion\":\"example.com/v1\",\"kind\":\"Foo\"}," SET("'2'"),
	  "\"paramRef\":{\"name\":\"a\",\"parameterNotFoundAction\":\"Deny\"}", 403,
	  "policy \"p\" denied request: failed to configure policy: failed to find resource "
	  "referenced by paramKind: 'example.com/v1, Kind=Foo'" },
	{ SET("'2'"), "\"matchResources\":{\"namespaceSelector\":{\"matchLabels\":{\"a\":\"b\"}}}",
	  201, "" },
	{ SET("string([0,1,2,3,4,5,6,7,8,9].all(a, [0,1,2,3,4,5,6,7,8,9].all(b, [0,1,2,3,4,5,6,7,8,"
	      "9].all(c, [0,1,2,3,4,5,6,7,8,9].all(d, [0,1,2,3,4,5,6,7,8,9].all(e, [0,1,2,3,4,5,6]"
	      ".all(f, object.data.a == '1')))))))"),
	  "", 403, NULL },
	{ DO(PATCH("[JSONPatch{op: 'add', path: '/metadata/uid', value: 'y'}, JSONPatch{op: 'add', "
		   "path: '/data/b', value: 'kept'}]")),
	  "", 201, "kept" },
};

static void a_policy_changes_what_is_created(void **state)
{
	struct verb_world *w = *state;

	(void)verb_world_call(w, "POST", MAPS,
			      "{\"metadata\":{\"name\":\"limits\",\"labels\":{\"l\":\"m\"}},"
			      "\"data\":{\"max\":\"5\"}}",
			      201);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct json *got;

		set_policy(w, rule_maps, cases[i].spec, cases[i].binding);
		got = verb_world_call(w, "POST", MAPS "?dryRun=All", MAP, cases[i].status);
		if (cases[i].status == 201)
			assert_string_not_equal(verb_world_text(w, got, "/metadata/uid"), "y");
		if (cases[i].status == 201)
			assert_string_equal(verb_world_text(w, got, "/data/b"), cases[i].want);
		else if (cases[i].want)
			assert_string_equal(verb_world_text(w, got, "/message"), cases[i].want);
		else
			assert_non_null(strstr(verb_world_text(w, got, "/message"),
					       "actual cost limit exceeded"));
		drop_policy(w);
	}
}

static void a_rejection_names_all_failures(void **state)
{
	struct verb_world *w = *state;
	struct json *got;

	set_policy(w, rule_maps,
		   DO(APPLY("Object{data: {'b': object.q}}") "," APPLY("Object{x: 1}")), "");
	got = verb_world_call(w, "POST", MAPS, MAP, 403);
	assert_string_equal(verb_world_text(w, got, "/reason"), "Invalid");
	assert_string_equal(verb_world_text(w, got, "/details/name"), "x");
	assert_string_equal(verb_world_text(w, got, "/details/kind"), "configmaps");
	assert_string_equal(verb_world_text(w, got, "/message"),
			    verb_world_text(w, got, "/details/causes/0/message"));
	assert_non_null(strstr(verb_world_text(w, got, "/details/causes/1/message"),
			       ".x: field not declared in schema"));
	(void)verb_world_call(w, "GET", MAPS "/x", NULL, 404);
}

static void a_deployment_is_changed_defaulted_and_validated(void **state)
{
	struct verb_world *w = *state;
	struct json *got;

	set_policy(
		w, rule_deploys,
		DO(APPLY("Object{metadata: Object.metadata{annotations: {'by': 'policy'}}, "
			 "spec: Object.spec{replicas: 1337}}") "," PATCH("[JSONPatch{op: 'add', "
									 "path: "
									 "'/spec/template/spec/"
									 "containers/-', value: "
									 "Object.spec.template."
									 "spec.containers{name: "
									 "'e', image: 'j', ports: "
									 "[Object.spec.template."
									 "spec.containers.ports{"
									 "containerPort: 80}]}}]")),
		"");
	got = verb_world_call(w, "POST", DEPLOYS, DEPLOY, 201);
	assert_int_equal(json_i64_at(json_getz(got, "spec"), "replicas", 0), 1337);
	assert_string_equal(verb_world_text(w, got, "/metadata/annotations/by"), "policy");
	assert_string_equal(
		verb_world_text(w, got, "/spec/template/spec/containers/1/imagePullPolicy"),
		"Always");
	assert_string_equal(
		verb_world_text(w, got, "/spec/template/spec/containers/1/ports/0/protocol"),
		"TCP");
	/* As upstream, no manager owns what a policy adds. */
	assert_non_null(json_pointer(got, STR("/metadata/managedFields/0/fieldsV1/f:spec")));
	assert_null(json_pointer(
		got, STR("/metadata/managedFields/0/fieldsV1/f:metadata/f:annotations")));
	drop_policy(w);
	set_policy(w, rule_deploys, DO(APPLY("Object{spec: Object.spec{replicas: -1}}")), "");
	got = verb_world_patch(w, DEPLOYS "/d", MERGE, "{\"spec\":{\"paused\":true}}", 422);
	assert_string_equal(verb_world_text(w, got, "/details/causes/0/field"), "spec.replicas");
}

static void a_scale_is_changed_as_itself(void **state)
{
	struct verb_world *w = *state;
	struct json *got;

	(void)verb_world_call(w, "POST", DEPLOYS, DEPLOY, 201);
	set_policy(w, rule_deploys,
		   "\"matchConditions\":[{\"name\":\"c\",\"expression\":"
		   "\"has(request.subResource)\"}]," DO(
			   APPLY("Object{spec: Object.spec{replicas: object.spec.replicas * 2}}")),
		   "");
	got = verb_world_patch(w, DEPLOYS "/d/scale", MERGE, "{\"spec\":{\"replicas\":4}}", 200);
	assert_int_equal(json_i64_at(json_getz(got, "spec"), "replicas", 0), 8);
	got = verb_world_patch(w, DEPLOYS "/d", MERGE, "{\"spec\":{\"replicas\":3}}", 200);
	assert_int_equal(json_i64_at(json_getz(got, "spec"), "replicas", 0), 3);
}

static void another_version_is_changed_as_the_one_that_was_asked_for(void **state)
{
	struct verb_world *w = *state;
	struct json *got;

	set_policy(w,
		   "{\"apiGroups\":[\"resource.k8s.io\"],\"apiVersions\":[\"v1\"],\"operations\":["
		   "\"CREATE\"],\"resources\":[\"resourceclaims\"]}",
		   DO(PATCH("[JSONPatch{op: 'replace', path: "
			    "'/spec/devices/requests/0/exactly/deviceClassName', value: 'y'}]")),
		   "");
	got = verb_world_call(
		w, "POST", "/apis/resource.k8s.io/v1beta1/namespaces/default/resourceclaims",
		"{\"metadata\":{\"name\":\"x\"},\"spec\":{\"devices\":{\"requests\":[{"
		"\"name\":\"r\",\"deviceClassName\":\"x\"}]}}}",
		201);
	assert_string_equal(verb_world_text(w, got, "/spec/devices/requests/0/deviceClassName"),
			    "y");
}

/*
 * Policies run in the order of their names. Each appends its name; the first one also in the second
 * round, in which the others, which run never again, do not.
 */
static void policies_run_in_order_and_once_more_if_they_want(void **state)
{
	static const char *const append = "Object{data: {'b': object.data.?b.orValue('') + '%s'}}";
	struct verb_world *w = *state;
	struct json *got;

	for (int i = 2; i >= 0; i--) {
		const char *name = arena_printf(&w->arena, "p%d", i);
		const char *text = arena_printf(&w->arena, append, name);

		set_named(w, name, name, rule_maps,
			  arena_printf(&w->arena, "\"reinvocationPolicy\":\"%s\"," DO(APPLY("%s")),
				       i == 1 ? "Never" : "IfNeeded", text),
			  "");
	}
	got = verb_world_call(w, "POST", MAPS, MAP, 201);
	assert_string_equal(verb_world_text(w, got, "/data/b"), "p0p1p2p0p2");
}

/* Two that undo each other end, with what the last one says. */
static void policies_that_fight_end(void **state)
{
	struct verb_world *w = *state;
	struct json *got;

	for (int i = 0; i < 2; i++) {
		const char *name = arena_printf(&w->arena, "p%d", i);

		set_named(w, name, name, rule_maps,
			  arena_printf(&w->arena,
				       "\"reinvocationPolicy\":\"IfNeeded\"," SET("'%s'"), name),
			  "");
	}
	got = verb_world_call(w, "POST", MAPS, MAP, 201);
	assert_string_equal(verb_world_text(w, got, "/data/b"), "p1");
}

static void drafts_and_updates_are_changed_too(void **state)
{
	struct verb_world *w = *state;

	set_policy(w, rule_maps, SET("object.data.a + '!'"), "");
	for (unsigned lane = 0; lane < 2; lane++) {
		const char *name = arena_printf(&w->arena, "m%u", lane);
		struct json *got;

		verb_world_choose(w, lane);
		got = verb_world_call(w, "POST", MAPS,
				      arena_printf(&w->arena,
						   "{\"metadata\":{\"name\":\"%s\"},\"data\":{"
						   "\"a\":\"1\"}}",
						   name),
				      201);
		assert_string_equal(verb_world_text(w, got, "/data/b"), "1!");
		verb_world_choose(w, lane);
		got = verb_world_patch(w, arena_printf(&w->arena, MAPS "/%s", name), MERGE,
				       "{\"data\":{\"a\":\"2\"}}", 200);
		assert_string_equal(verb_world_text(w, got, "/data/b"), "2!");
		(void)verb_world_call(w, "DELETE", arena_printf(&w->arena, MAPS "/%s", name), NULL,
				      200);
	}
}

static void policies_are_changed_by_none(void **state)
{
	struct verb_world *w = *state;
	struct json *got;

	set_policy(w,
		   "{\"apiGroups\":[\"*\"],\"apiVersions\":[\"*\"],\"operations\":[\"*\"],"
		   "\"resources\":[\"*\"]}",
		   DO(APPLY("Object{metadata: Object.metadata{labels: {'by': 'p'}}}")), "");
	got = verb_world_patch(w, POLICIES "/p", MERGE, "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}",
			       200);
	assert_string_equal(verb_world_text(w, got, "/metadata/labels/by"), "");
	got = verb_world_call(w, "POST", MAPS, MAP, 201);
	assert_string_equal(verb_world_text(w, got, "/metadata/labels/by"), "p");
}

static void a_validating_policy_sees_what_a_mutating_one_made(void **state)
{
	struct verb_world *w = *state;
	struct json *got;

	set_policy(w, rule_maps, SET("'2'"), "");
	(void)verb_world_call(
		w, "POST", GROUP "/validatingadmissionpolicies",
		"{\"metadata\":{\"name\":\"v\"},\"spec\":{\"matchConstraints\":{\"resourceRules\":"
		"[{\"apiGroups\":[\"\"],\"apiVersions\":[\"v1\"],\"operations\":[\"CREATE\"],"
		"\"resources\":[\"configmaps\"]}]},\"validations\":[{\"expression\":"
		"\"object.data.b != '2'\"}]}}",
		201);
	(void)verb_world_call(w, "POST", GROUP "/validatingadmissionpolicybindings",
			      "{\"metadata\":{\"name\":\"v\"},\"spec\":{\"policyName\":\"v\","
			      "\"validationActions\":[\"Deny\"]}}",
			      201);
	got = verb_world_call(w, "POST", MAPS, MAP, 422);
	assert_non_null(strstr(verb_world_text(w, got, "/message"),
			       "failed expression: object.data.b != '2'"));
}

/* Each parameter is one invocation; beyond the limit none runs. */
static void too_many_parameters_are_refused(void **state)
{
	struct verb_world *w = *state;
	struct json *got;

	verb_world_make_maps(w, MUTATIONS_MAX + 1, 1);
	set_policy(w, rule_maps, PARAMS SET("'2'"),
		   "\"paramRef\":{\"selector\":{},\"parameterNotFoundAction\":\"Deny\"}");
	got = verb_world_call(w, "POST", MAPS, MAP, 403);
	assert_string_equal(verb_world_text(w, got, "/message"),
			    SAID "failed to configure binding: too many parameters");
}

static int set_up(void **state)
{
	int r = verb_world_set_up(state);
	struct verb_world *w = *state;

	w->server.authz = authz_new(1);
	authz_attach(w->server.authz, w->server.state);
	return r;
}

static int tear_down(void **state)
{
	struct verb_world *w = *state;
	struct authz *az = w->server.authz;
	int r = verb_world_tear_down(state);

	authz_free(az);
	return r;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(a_policy_changes_what_is_created),
		TEST(a_rejection_names_all_failures),
		TEST(a_deployment_is_changed_defaulted_and_validated),
		TEST(a_scale_is_changed_as_itself),
		TEST(another_version_is_changed_as_the_one_that_was_asked_for),
		TEST(policies_run_in_order_and_once_more_if_they_want),
		TEST(policies_that_fight_end),
		TEST(drafts_and_updates_are_changed_too),
		TEST(policies_are_changed_by_none),
		TEST(a_validating_policy_sees_what_a_mutating_one_made),
		TEST(too_many_parameters_are_refused),
	};

	return cmocka_run_group_tests_name("server/admit_mutation", tests, NULL, NULL);
}
