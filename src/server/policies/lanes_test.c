/* Drafts are judged on several threads while policies change. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sched.h>

#include "base/report/log.h"
#include "server/core/parts.h"
#include "server/engine/looks.h"
#include "server/policies/admit.h"
#include "server/policies/policy.h"

enum { LANES = 3, ROUNDS = 400 };

#define GROUP "admissionregistration.k8s.io"
#define META  "{\"apiVersion\":\"admissionregistration.k8s.io/v1\",\"metadata\":{\"name\":\"p\"},"

/* Two versions of a policy: both allow what the lanes write. */
static const char *const policies[] = {
	META "\"kind\":\"ValidatingAdmissionPolicy\",\"spec\":{\"matchConstraints\":{"
	     "\"resourceRules\":[{\"apiGroups\":[\"\"],\"apiVersions\":[\"v1\"],\"operations\":["
	     "\"*\"],\"resources\":[\"configmaps\"]}]},\"matchConditions\":[{\"name\":\"c\","
	     "\"expression\":\"request.name == 'x'\"}],\"variables\":[{\"name\":\"l\","
	     "\"expression\":\"object.data.a.split(',')\"}],\"validations\":[{\"expression\":"
	     "\"variables.l.all(v, v.matches('^[a-z]+$')) && variables.l.isSorted()"
	     "\"}],\"auditAnnotations\":[{\"key\":\"k\",\"valueExpression\":\"'n' + "
	     "string(variables.l.size())\"}]}}",
	META "\"kind\":\"ValidatingAdmissionPolicy\",\"spec\":{\"validations\":[{\"expression\":"
	     "\"namespaceObject.metadata.name == 'default' && object.data.a.find('[b-d]') == "
	     "'b'\"}]}}",
};

static const char binding[] = META "\"kind\":\"ValidatingAdmissionPolicyBinding\",\"spec\":{"
				   "\"policyName\":\"p\",\"validationActions\":[\"Deny\"]}}";

struct scene {
	struct server server;
	struct admission_policies policies;
	struct object *ns;
	atomic_size_t entered;
	atomic_bool over;
};

struct lane_of {
	struct scene *scene;
	size_t lane;
	size_t judged, unsure;
};

static struct object *made(struct str group, struct str resource, struct str version,
			   const char *text)
{
	struct gates gates;
	struct object *o;

	gates_init(&gates);
	assert_int_equal(object_new(schema_find_resource(group, version, resource), str_from(text),
				    1, &gates, &o, NULL),
			 0);
	return o;
}

/* --- on the lanes ----------------------------------------------------------------- */

static bool judge_one(struct scene *s, size_t lane)
{
	const struct schema_kind *kind = schema_find_resource(STR(""), STR("v1"),
							      STR("configmaps"));
	struct request request = { .verb = REQUEST_CREATE };
	struct user user = { .name = STR("u") };
	struct arena arena;
	struct write w = { .arena = &arena, .kind = kind };
	struct looks looks = { .lane = lane };
	struct admission_request req = {
		.server = &s->server,
		.user = &user,
		.request = &request,
		.path_kind = kind,
		.ns = STR("default"),
		.name = STR("x"),
		.write = &w,
		.work = &arena,
		.op = ADMIT_CREATE,
		.looks = &looks,
	};
	struct json *object = NULL;
	bool allowed;

	arena_init(&arena, SIZE_MAX);
	(void)json_parse(&arena,
			 STR("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":"
			     "\"x\"},\"data\":{\"a\":\"a,b,c\"}}"),
			 NULL, &object, NULL);
	admit_policy_draft(&req, s->ns, NULL, object);
	allowed = req.verdict;
	arena_release(&arena);
	return allowed;
}

static void *judge_until_over(void *arg)
{
	struct lane_of *l = arg;

	(void)atomic_fetch_add(&l->scene->entered, 1);
	while (!atomic_load(&l->scene->over)) {
		if (judge_one(l->scene, l->lane))
			l->judged++;
		else
			l->unsure++;
	}
	return NULL;
}

/* --- on the state's thread -------------------------------------------------------- */

static void notify(struct scene *s, size_t observer, struct object *now)
{
	const struct state_observer *o = &s->policies.observers[observer];

	o->changed(o->arg, now, NULL);
	assert_true(admission_active_any(admission_policies_now(&s->policies)) || observer == 0);
}

static void scene_init(struct scene *s, struct object *v[3])
{
	const struct str group = STR(GROUP), v1 = STR("v1");

	v[0] = made(group, STR("validatingadmissionpolicies"), v1, policies[0]);
	v[1] = made(group, STR("validatingadmissionpolicies"), v1, policies[1]);
	v[2] = made(group, STR("validatingadmissionpolicybindings"), v1, binding);
	s->ns = made(STR(""), STR("namespaces"), v1,
		     "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":"
		     "\"default\"}}");
	s->server.policies = &s->policies;
	admission_policies_init(&s->policies, ADMISSION_VALIDATING, LANES, log_null());
	notify(s, 0, v[0]);
	notify(s, 1, v[2]);
}

static void drafts_are_judged_while_policies_change(void **state UNUSED)
{
	static const struct scene empty;
	struct scene s = empty;
	struct lane_of lanes[LANES];
	pthread_t threads[LANES];
	struct object *v[3];

	scene_init(&s, v);
	for (size_t i = 0; i < LANES; i++) {
		lanes[i] = (struct lane_of){ .scene = &s, .lane = i };
		assert_int_equal(pthread_create(&threads[i], NULL, judge_until_over, &lanes[i]), 0);
	}
	while (atomic_load(&s.entered) < LANES)
		(void)sched_yield();
	for (size_t round = 0; round < ROUNDS; round++)
		notify(&s, round % 3 == 2, v[round % 3]);
	atomic_store(&s.over, true);
	for (size_t i = 0; i < LANES; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_true(lanes[i].judged > 0);
		assert_int_equal(lanes[i].unsure, 0);
	}
	admission_policies_release(&s.policies);
	object_unref(s.ns);
	for (size_t i = 0; i < 3; i++)
		object_unref(v[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(drafts_are_judged_while_policies_change),
	};

	return cmocka_run_group_tests_name("server/policies_lanes", tests, NULL, NULL);
}
