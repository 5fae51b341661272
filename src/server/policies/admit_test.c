/*
 * Policies at the whole server. Messages are those of a kube-apiserver for the same requests.
 */
#include "server/policies/admit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "net/sim/sim.h"
#include "server/authz/authz.h"
#include "server/http/audit.h"
#include "server/policies/policy.h"
#include "server/testing/state_fake.h"
#include "server/testing/verb_world.h"

#define GROUP    "/apis/admissionregistration.k8s.io/v1"
#define POLICIES GROUP "/validatingadmissionpolicies"
#define BINDINGS GROUP "/validatingadmissionpolicybindings"
#define MAPS     "/api/v1/namespaces/default/configmaps"
#define MERGE    "application/merge-patch+json"
#define SAID                                                                                    \
	"configmaps \"x\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied " \
	"request: "
#define PARAMS "\"paramKind\":{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\"},"

/* Creates the policy p with `spec` for `rules` (NULL: ConfigMaps) and its binding b. */
static void set_policy(struct verb_world *w, const char *rules, const char *spec,
		       const char *binding)
{
	if (!rules)
		rules = "{\"apiGroups\":[\"\"],\"apiVersions\":[\"v1\"],\"operations\":[\"*\"],"
			"\"resources\":[\"configmaps\"]}";
	(void)verb_world_call(w, "POST", POLICIES,
			      arena_printf(&w->arena,
					   "{\"metadata\":{\"name\":\"p\"},\"spec\":{"
					   "\"matchConstraints\":{\"resourceRules\":[%s]},%s}}",
					   rules, spec),
			      201);
	(void)verb_world_call(w, "POST", BINDINGS,
			      arena_printf(&w->arena,
					   "{\"metadata\":{\"name\":\"b\"},\"spec\":{"
					   "\"policyName\":\"p\",%s}}",
					   binding),
			      201);
}

static void drop_policy(struct verb_world *w)
{
	(void)verb_world_call(w, "DELETE", POLICIES "/p", NULL, 200);
	(void)verb_world_call(w, "DELETE", BINDINGS "/b", NULL, 200);
}

#define MAP                  "{\"metadata\":{\"name\":\"x\"},\"data\":{\"a\":\"1\"}}"
#define DENY                 "\"validationActions\":[\"Deny\"]"
#define IF(expression, more) "\"validations\":[{\"expression\":\"" expression "\"" more "}]"

/*
 * The effect of a policy on a ConfigMap that is created. Every user is an administrator here;
 * service accounts have no rights.
 */
static const struct {
	const char *spec, *binding;
	int status;
	const char *reason, *message; /* NULL: accepted */
} cases[] = {
	{ IF("object.data.a == '1'", ""), DENY, 201, NULL, NULL },
	{ IF("object.data.a == '2'", ""), DENY, 422, "Invalid",
	  SAID "failed expression: object.data.a == '2'" },
	{ IF("false", ",\"message\":\" why \",\"reason\":\"Forbidden\""), DENY, 403, "Forbidden",
	  SAID "why" },
	{ IF("false", ",\"reason\":\"RequestEntityTooLarge\",\"messageExpression\":\"'a is ' + "
		      "object.data.a\""),
	  DENY, 413, "RequestEntityTooLarge", SAID "a is 1" },
	{ IF("false", ",\"message\":\"m\",\"messageExpression\":\"'a\\\\nb'\""), DENY, 422,
	  "Invalid", SAID "m" },
	{ IF("object.data.b == '1'", ""), DENY, 422, "Invalid",
	  SAID "expression 'object.data.b == '1'' resulted in error: no such key: b" },
	{ "\"failurePolicy\":\"Ignore\"," IF("object.data.b == '1'", ""), DENY, 201, NULL, NULL },
	{ "\"matchConditions\":[{\"name\":\"c\",\"expression\":\"object.x == 1\"},"
	  "{\"name\":\"d\",\"expression\":\"request.name != 'x'\"}]," IF("false", ""),
	  DENY, 201, NULL, NULL },
	{ "\"matchConditions\":[{\"name\":\"c\",\"expression\":\"object.x == 1\"},"
	  "{\"name\":\"d\",\"expression\":\"true\"}]," IF("false", ""),
	  DENY, 422, "Invalid",
	  SAID "expression 'object.x == 1' resulted in error: no such key: x" },
	{ "\"variables\":[{\"name\":\"a\",\"expression\":\"object.data.a\"},{\"name\":\"b\","
	  "\"expression\":\"variables.a + 'x'\"},{\"name\":\"never\",\"expression\":"
	  "\"object.q\"}]," IF("variables.b == 'x'", ",\"messageExpression\":\"variables.b\""),
	  DENY, 422, "Invalid", SAID "1x" },
	{ "\"variables\":[{\"name\":\"v\",\"expression\":\"object.q\"}]," IF("variables.v == 1",
									     ""),
	  DENY, 422, "Invalid",
	  SAID "expression 'variables.v == 1' resulted in error: composited variable \"v\" fails "
	       "to evaluate: no such key: q" },
	{ IF("namespaceObject.metadata.name == 'default' && oldObject == null && "
	     "request.operation == 'CREATE' && request.userInfo.groups[0] == 'system:masters'",
	     ""),
	  DENY, 201, NULL, NULL },
	{ IF("['a', 'b'].map(v, v + 'c').size() == 2 && request.name.replace('x', 'y') == 'y'",
	     "},{\"expression\":\"authorizer.requestResource.check('a').allowed()\"},"
	     "{\"expression\":\"authorizer.requestResource.check('b').allowed()\""),
	  DENY, 201, NULL, NULL },
	{ IF("authorizer.requestResource.check('create').allowed() && "
	     "!authorizer.serviceAccount('default', 'a').path('/x').check('get').allowed()",
	     ""),
	  DENY, 201, NULL, NULL },
	{ IF("['a', 'b', 'c'].all(v, authorizer.requestResource.check(v).allowed())", ""), DENY,
	  422, "Invalid",
	  SAID "expression '['a', 'b', 'c'].all(v, authorizer.requestResource.check(v).allowed())' "
	       "resulted in error: operation cancelled: actual cost limit exceeded" },
	{ PARAMS IF("params == null", ""), DENY, 201, NULL, NULL },
	{ PARAMS IF("object.data.a == params.data.max",
		    ",\"messageExpression\":\"string(params.data.max)\""),
	  DENY ",\"paramRef\":{\"name\":\"limits\",\"parameterNotFoundAction\":\"Deny\"}", 422,
	  "Invalid", SAID "5" },
	{ PARAMS IF("params.data.max == '5' && !has(params.metadata.managedFields)", ""),
	  DENY ",\"paramRef\":{\"name\":\"limits\",\"parameterNotFoundAction\":\"Deny\"}", 201,
	  NULL, NULL },
	{ PARAMS IF("params.data.max == '5'", ""),
	  DENY ",\"paramRef\":{\"selector\":{},\"namespace\":\"default\","
	       "\"parameterNotFoundAction\":\"Deny\"}",
	  201, NULL, NULL },
	{ PARAMS IF("false", ""),
	  DENY ",\"paramRef\":{\"name\":\"none\",\"parameterNotFoundAction\":\"Allow\"}", 201, NULL,
	  NULL },
	{ PARAMS IF("true", ""),
	  DENY ",\"paramRef\":{\"name\":\"none\",\"parameterNotFoundAction\":\"Deny\"}", 422,
	  "Invalid",
	  SAID "failed to configure binding: no params found for policy binding with `Deny` "
	       "parameterNotFoundAction" },
	{ "\"paramKind\":{\"apiVersion\":\"v1\",\"kind\":\"Namespace\"}," IF("true", ""),
	  DENY ",\"paramRef\":{\"name\":\"default\",\"namespace\":\"x\","
	       "\"parameterNotFoundAction\":\"Deny\"}",
	  422, "Invalid",
	  SAID "failed to configure binding: paramRef.namespace must not be provided for a "
	       "cluster-scoped `paramKind`" },
	{ "\"paramKind\":{\"apiVersion\":\"example.com/v1\",\"kind\":\"Foo\"}," IF("true", ""),
	  DENY ",\"paramRef\":{\"name\":\"a\",\"parameterNotFoundAction\":\"Deny\"}", 422,
	  "Invalid",
	  "configmaps \"x\" is forbidden: ValidatingAdmissionPolicy 'p' denied request: failed to "
	  "configure policy: failed to find resource referenced by paramKind: 'example.com/v1, "
	  "Kind=Foo'" },
	{ IF("false", ""),
	  DENY ",\"matchResources\":{\"namespaceSelector\":{\"matchLabels\":{\"a\":\"b\"}}}", 201,
	  NULL, NULL },
	{ "\"auditAnnotations\":[{\"key\":\"k\",\"valueExpression\":\"string(object.q)\"}]",
	  "\"validationActions\":[\"Warn\"]", 422, "Invalid",
	  SAID "expression 'string(object.q)' resulted in error: no such key: q" },
};

static void a_policy_judges_what_is_created(void **state)
{
	struct verb_world *w = *state;

	(void)verb_world_call(w, "POST", MAPS,
			      "{\"metadata\":{\"name\":\"limits\"},\"data\":{\"max\":\"5\"}}", 201);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct json *got;

		set_policy(w, NULL, cases[i].spec, cases[i].binding);
		got = verb_world_call(w, "POST", MAPS "?dryRun=All", MAP, cases[i].status);
		if (cases[i].message) {
			assert_string_equal(verb_world_text(w, got, "/message"), cases[i].message);
			assert_string_equal(verb_world_text(w, got, "/reason"), cases[i].reason);
			assert_string_equal(verb_world_text(w, got, "/details/kind"), "configmaps");
			assert_string_equal(verb_world_text(w, got, "/details/name"), "x");
			assert_non_null(
				strstr(cases[i].message,
				       verb_world_text(w, got, "/details/causes/0/message")));
		}
		drop_policy(w);
	}
	(void)verb_world_call(w, "POST", MAPS, MAP, 201);
}

static void a_write_with_only_warnings_is_accepted(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask ask = {
		.method = "POST", .target = MAPS, .content_type = "application/json", .body = MAP
	};

	set_policy(w, NULL, IF("false", "},{\"expression\":\"1 > 2\",\"message\":\"two\""),
		   "\"validationActions\":[\"Warn\",\"Audit\"]");
	(void)verb_world_ask(w, &ask);
	assert_int_equal(ask.status, 201);
	assert_string_equal(ask.warnings,
			    "299 - \"Validation failed for ValidatingAdmissionPolicy 'p' with "
			    "binding 'b': failed expression: false\"\n"
			    "299 - \"Validation failed for ValidatingAdmissionPolicy 'p' with "
			    "binding 'b': two\"\n");
	verb_ask_release(&ask);
}

static void updates_and_deletions_see_what_is_stored(void **state)
{
	struct verb_world *w = *state;
	struct json *got;

	(void)verb_world_call(w, "POST", MAPS, MAP, 201);
	set_policy(w, NULL,
		   IF("request.operation == 'DELETE' ? object == null && oldObject.data.a != '1' : "
		      "object.data.a == oldObject.data.a",
		      ",\"messageExpression\":\"request.operation + request.options.kind\""),
		   DENY);
	got = verb_world_patch(w, MAPS "/x", MERGE, "{\"data\":{\"a\":\"2\"}}", 422);
	assert_string_equal(verb_world_text(w, got, "/message"), SAID "UPDATEUpdateOptions");
	(void)verb_world_patch(w, MAPS "/x", MERGE, "{\"data\":{\"b\":\"2\"}}", 200);
	got = verb_world_call(w, "DELETE", MAPS "/x", NULL, 422);
	assert_string_equal(verb_world_text(w, got, "/message"), SAID "DELETEDeleteOptions");
	got = verb_world_call(w, "DELETE", MAPS, NULL, 422);
	assert_string_equal(verb_world_text(w, got, "/message"), SAID "DELETEDeleteOptions");
	(void)verb_world_call(w, "GET", MAPS "/x", NULL, 200);
}

static void an_update_that_lets_an_object_go_is_seen(void **state)
{
	struct verb_world *w = *state;

	(void)verb_world_call(w, "POST", MAPS,
			      "{\"metadata\":{\"name\":\"x\",\"finalizers\":[\"a.b/c\"]}}", 201);
	(void)verb_world_call(w, "DELETE", MAPS "/x", NULL, 200);
	set_policy(w, NULL, IF("object.metadata.name == 'x' && !has(object.data)", ""), DENY);
	(void)verb_world_patch(w, MAPS "/x", MERGE,
			       "{\"metadata\":{\"finalizers\":null},\"data\":{\"a\":\"b\"}}", 422);
	(void)verb_world_patch(w, MAPS "/x", MERGE, "{\"metadata\":{\"finalizers\":null}}", 200);
	(void)verb_world_call(w, "GET", MAPS "/x", NULL, 404);
}

static void a_subresource_is_seen_as_itself(void **state)
{
	struct verb_world *w = *state;
	struct json *got;

	(void)verb_world_call(
		w, "POST", "/apis/apps/v1/namespaces/default/deployments",
		"{\"metadata\":{\"name\":\"x\"},\"spec\":{\"replicas\":1,\"selector\":{"
		"\"matchLabels\":{\"a\":\"b\"}},\"template\":{\"metadata\":{\"labels\":{"
		"\"a\":\"b\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}"
		"]}}}}",
		201);
	set_policy(w,
		   "{\"apiGroups\":[\"apps\"],\"apiVersions\":[\"v1\"],\"operations\":[\"*\"],"
		   "\"resources\":[\"deployments/scale\"]}",
		   IF("object.spec.replicas <= oldObject.spec.replicas + 1",
		      ",\"messageExpression\":\"request.kind.kind + request.subResource + "
		      "string(object.kind)\""),
		   DENY);
	got = verb_world_patch(w, "/apis/apps/v1/namespaces/default/deployments/x/scale", MERGE,
			       "{\"spec\":{\"replicas\":5}}", 422);
	assert_string_equal(verb_world_text(w, got, "/details/causes/0/message"),
			    "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: "
			    "ScalescaleScale");
	(void)verb_world_patch(w, "/apis/apps/v1/namespaces/default/deployments/x/scale", MERGE,
			       "{\"spec\":{\"replicas\":2}}", 200);
	(void)verb_world_patch(w, "/apis/apps/v1/namespaces/default/deployments/x", MERGE,
			       "{\"spec\":{\"replicas\":9}}", 200);
}

static void another_version_is_seen_as_the_one_that_was_asked_for(void **state)
{
	struct verb_world *w = *state;
	struct json *got;

	set_policy(
		w,
		"{\"apiGroups\":[\"resource.k8s.io\"],\"apiVersions\":[\"v1\"],\"operations\":["
		"\"CREATE\"],\"resources\":[\"resourceclaims\"]}",
		IF("object.spec.devices.requests[0].exactly.deviceClassName != 'x'",
		   ",\"messageExpression\":\"request.kind.version + request.requestKind.version\""),
		DENY);
	got = verb_world_call(
		w, "POST", "/apis/resource.k8s.io/v1beta1/namespaces/default/resourceclaims",
		"{\"metadata\":{\"name\":\"x\"},\"spec\":{\"devices\":{\"requests\":[{"
		"\"name\":\"r\",\"deviceClassName\":\"x\"}]}}}",
		422);
	assert_string_equal(verb_world_text(w, got, "/details/causes/0/message"),
			    "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: "
			    "v1v1beta1");
}

static void policies_are_subject_to_none(void **state)
{
	struct verb_world *w = *state;

	set_policy(w,
		   "{\"apiGroups\":[\"*\"],\"apiVersions\":[\"*\"],\"operations\":[\"*\"],"
		   "\"resources\":[\"*\"]}",
		   IF("false", ""), DENY);
	(void)verb_world_call(w, "POST", MAPS, MAP, 422);
	(void)verb_world_patch(w, POLICIES "/p", MERGE, "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}",
			       200);
	drop_policy(w);
	(void)verb_world_call(w, "POST", MAPS, MAP, 201);
}

static void a_policy_counts_as_it_is_now(void **state)
{
	struct verb_world *w = *state;

	set_policy(w, NULL, IF("false", ""), DENY);
	(void)verb_world_call(w, "POST", MAPS, MAP, 422);
	(void)verb_world_patch(w, POLICIES "/p", MERGE, "{\"spec\":{" IF("true", "") "}}", 200);
	(void)verb_world_call(w, "POST", MAPS "?dryRun=All", MAP, 201);
	(void)verb_world_patch(w, POLICIES "/p", MERGE, "{\"spec\":{" IF("false", "") "}}", 200);
	(void)verb_world_call(w, "DELETE", BINDINGS "/b", NULL, 200);
	(void)verb_world_call(w, "POST", MAPS, MAP, 201);
}

/*
 * Another server deleted the namespace. A write that was first denied by a policy, on an older
 * state, is then rejected for the namespace, and the reply says so.
 */
static void the_reason_of_an_earlier_try_is_not_reported(void **state)
{
	struct verb_world *w = *state;

	set_policy(w, NULL, IF("false", ""), DENY);
	for (int i = 0; i < 20; i++) {
		const char *name = arena_printf(&w->arena, "n%d", i);
		struct json *got;

		(void)verb_world_call(
			w, "POST", "/api/v1/namespaces",
			arena_printf(&w->arena, "{\"metadata\":{\"name\":\"%s\"}}", name), 201);
		(void)fake_data_put(w->data, STR("core/namespaces"), STR(""), str_from(name),
				    STR(""));
		got = verb_world_call(
			w, "POST",
			arena_printf(&w->arena, "/api/v1/namespaces/%s/configmaps", name), MAP,
			404);
		assert_string_equal(verb_world_text(w, got, "/reason"), "NotFound");
	}
	drop_policy(w);
}

/* --- drafts ----------------------------------------------------------------------- */

/* Writes on which policies decided, by the loop that evaluated them. */
static long judged(struct verb_world *w, const char *loop)
{
	return verb_world_metric(
		w, arena_printf(&w->arena, "devplane_admission_policy_checks_total{loop=\"%s\"}",
				loop));
}

static struct json *call(struct verb_world *w, unsigned lane, const char *method,
			 const char *target, const char *body, int status)
{
	verb_world_choose(w, lane);
	return verb_world_call(w, method, target, body, status);
}

/* Denials, questions about rights, and parameters by a selector are the state's. */
static bool is_for_state(size_t i)
{
	return cases[i].message || strstr(cases[i].spec, "authorizer") ||
	       strstr(cases[i].binding, "\"paramRef\":{\"selector");
}

static void a_draft_is_judged_as_other_writes(void **state)
{
	struct verb_world *w = *state;
	long connection = 0, on_state = 0;

	(void)verb_world_call(w, "POST", MAPS,
			      "{\"metadata\":{\"name\":\"limits\"},\"data\":{\"max\":\"5\"}}", 201);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct json *one, *other;

		set_policy(w, NULL, cases[i].spec, cases[i].binding);
		one = call(w, 0, "POST", MAPS "?dryRun=All", MAP, cases[i].status);
		other = call(w, 1, "POST", MAPS, MAP, cases[i].status);
		assert_true(!cases[i].message || json_equal(one, other));
		on_state += 1 + is_for_state(i);
		connection += !is_for_state(i);
		assert_int_equal(judged(w, "state"), on_state);
		assert_int_equal(judged(w, "connection"), connection);
		drop_policy(w);
		if (!cases[i].message)
			(void)verb_world_call(w, "DELETE", MAPS "/x", NULL, 200);
	}
}

static void a_draft_of_each_verb_is_judged(void **state)
{
	struct verb_world *w = *state;

	set_policy(w, NULL,
		   IF("request.operation == 'CREATE' ? oldObject == null : "
		      "request.operation == 'UPDATE' ? object.data.a != oldObject.data.a : "
		      "object == null && oldObject.data.a == '3'",
		      ""),
		   DENY);
	/* The first write after a change makes the set that drafts use. */
	(void)call(w, 1, "POST", MAPS "?dryRun=All", MAP, 201);
	(void)call(w, 1, "POST", MAPS, MAP, 201);
	assert_int_equal(judged(w, "connection"), 1);
	verb_world_choose(w, 1);
	(void)verb_world_patch(w, MAPS "/x", MERGE, "{\"data\":{\"a\":\"2\"}}", 200);
	assert_int_equal(judged(w, "connection"), 2);
	/* Nothing changes. */
	verb_world_choose(w, 1);
	(void)verb_world_patch(w, MAPS "/x", MERGE, "{\"data\":{\"a\":\"2\"}}", 422);
	(void)call(w, 1, "DELETE", MAPS "/x", NULL, 422);
	(void)call(w, 1, "PUT", MAPS "/x", "{\"metadata\":{\"name\":\"x\"},\"data\":{\"a\":\"3\"}}",
		   200);
	assert_int_equal(judged(w, "connection"), 3);
	(void)call(w, 1, "DELETE", MAPS "/x", NULL, 200);
	assert_int_equal(judged(w, "connection"), 4);
}

static bool is_drafted(void *arg)
{
	struct verb_world *w = arg;

	return atomic_load(&w->server.policies->active)->refs > 1;
}

static void set_binding(struct verb_world *w, struct object *now, struct object *before)
{
	const struct state_observer *o = &w->server.policies->observers[1];

	o->changed(o->arg, now, before);
}

/* The binding changes after the draft was made, and before the state gets it. */
static void a_policy_that_changes_under_a_draft_counts(void **state)
{
	struct verb_world *w = *state;
	struct resource *r = state_resource(
		w->server.state,
		schema_find_resource(STR("admissionregistration.k8s.io"), STR("v1"),
				     STR("validatingadmissionpolicybindings")));
	struct verb_ask ask = {
		.method = "POST", .target = MAPS, .content_type = "application/json", .body = MAP
	};
	struct object *binding;

	set_policy(w, NULL, IF("false", ""), DENY);
	(void)verb_world_call(
		w, "POST", BINDINGS,
		"{\"metadata\":{\"name\":\"elsewhere\"},\"spec\":{\"policyName\":\"p\","
		"\"matchResources\":{\"namespaceSelector\":{\"matchLabels\":{\"a\":\"b\"}}}," DENY
		"}}",
		201);
	binding = object_ref(resource_get(r, STR(""), STR("b")));
	set_binding(w, NULL, binding);
	(void)call(w, 0, "POST", MAPS "?dryRun=All", MAP, 201);
	verb_world_choose(w, 1);
	verb_world_begin(w, &ask);
	assert_true(sim_run_until(w->sim, is_drafted, w, 1000));
	set_binding(w, binding, NULL);
	verb_world_finish(w, &ask);
	assert_int_equal(ask.status, 422);
	assert_int_equal(judged(w, "connection"), 0);
	assert_int_equal(judged(w, "state"), 2);
	verb_ask_release(&ask);
	object_unref(binding);
}

/* Nobody can know yet whether the parameter's change is written, so the state decides. */
static void a_parameter_that_changes_under_a_draft_counts(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask change = { .method = "PATCH",
				   .target = MAPS "/limits",
				   .content_type = MERGE,
				   .body = "{\"data\":{\"max\":\"0\"}}" };
	struct verb_ask ask = {
		.method = "POST", .target = MAPS, .content_type = "application/json", .body = MAP
	};

	(void)verb_world_call(w, "POST", MAPS,
			      "{\"metadata\":{\"name\":\"limits\"},\"data\":{\"max\":\"5\"}}", 201);
	set_policy(w, NULL, PARAMS IF("params.data.max == '5'", ""),
		   DENY ",\"paramRef\":{\"name\":\"limits\",\"parameterNotFoundAction\":\"Deny\"}");
	(void)call(w, 0, "POST", MAPS "?dryRun=All", MAP, 201);
	(void)call(w, 1, "POST", MAPS, MAP, 201);
	assert_int_equal(judged(w, "connection"), 1);
	(void)call(w, 0, "DELETE", MAPS "/x", NULL, 200);
	fake_store_hold(w->server.store, true);
	verb_world_choose(w, 0);
	verb_world_begin(w, &change);
	sim_run_for(w->sim, 100);
	verb_world_begin(w, &ask);
	sim_run_for(w->sim, 100);
	fake_store_hold(w->server.store, false);
	verb_world_finish(w, &change);
	verb_world_finish(w, &ask);
	assert_int_equal(change.status, 200);
	assert_int_equal(ask.status, 201);
	assert_int_equal(judged(w, "connection"), 1);
	verb_ask_release(&change);
	verb_ask_release(&ask);
}

/* The annotations in the last line of the audit log. */
static const struct json *last_annotations(struct verb_world *w, const char *path)
{
	char text[8192];
	struct json *line = NULL;
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	while (fgets(text, sizeof(text), f))
		assert_int_equal(json_parse(&w->arena, arena_str(&w->arena, str_from(text)), NULL,
					    &line, NULL),
				 0);
	(void)fclose(f);
	return json_getz(line, "annotations");
}

static void a_drafts_audit_annotations_are_those_of_the_state(void **state)
{
	struct verb_world *w = *state;
	char path[] = "/tmp/devplane-audit-XXXXXX";
	struct audit_opts opts = { .path = path, .metrics = w->server.metrics, .log = &w->log };
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(audit_open(&opts, &w->server.audit, NULL), 0);
	set_policy(w, NULL,
		   "\"auditAnnotations\":[{\"key\":\"k\",\"valueExpression\":\"'is ' + "
		   "object.data.a\"}]," IF("object.data.a == '1'", ""),
		   "\"validationActions\":[\"Deny\",\"Audit\"]");
	for (int bad = 0; bad < 2; bad++) {
		const char *body = bad ? "{\"metadata\":{\"name\":\"y\"},\"data\":{\"a\":\"2\"}}"
				       : MAP;
		const struct json *one, *other;

		(void)call(w, 0, "POST", MAPS "?dryRun=All", body, bad ? 422 : 201);
		one = last_annotations(w, path);
		(void)call(w, 1, "POST", MAPS, body, bad ? 422 : 201);
		other = last_annotations(w, path);
		assert_int_equal(json_count(other), 1 + bad);
		assert_true(json_equal(one, other));
		assert_int_equal(judged(w, "connection"), 1);
	}
	audit_close(w->server.audit);
	w->server.audit = NULL;
	(void)close(fd);
	(void)unlink(path);
}

static void attach_authz(struct verb_world *w)
{
	w->server.authz = authz_new(1);
	authz_attach(w->server.authz, w->server.state);
}

static int set_up(void **state)
{
	int r = verb_world_set_up(state);

	attach_authz(*state);
	return r;
}

static int set_up_shared(void **state)
{
	int r = verb_world_set_up_http1(state);

	attach_authz(*state);
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
		TEST(a_policy_judges_what_is_created),
		TEST(a_write_with_only_warnings_is_accepted),
		TEST(updates_and_deletions_see_what_is_stored),
		TEST(an_update_that_lets_an_object_go_is_seen),
		TEST(a_subresource_is_seen_as_itself),
		TEST(another_version_is_seen_as_the_one_that_was_asked_for),
		TEST(policies_are_subject_to_none),
		TEST(a_policy_counts_as_it_is_now),
		TEST(a_draft_is_judged_as_other_writes),
		TEST(a_draft_of_each_verb_is_judged),
		TEST(a_policy_that_changes_under_a_draft_counts),
		TEST(a_parameter_that_changes_under_a_draft_counts),
		TEST(a_drafts_audit_annotations_are_those_of_the_state),
		cmocka_unit_test_setup_teardown(the_reason_of_an_earlier_try_is_not_reported,
						set_up_shared, tear_down),
	};

	return cmocka_run_group_tests_name("server/admit_policy", tests, NULL, NULL);
}
