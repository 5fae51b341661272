/*
 * Defaults that plugins set in objects: priorities, tolerations, classes.
 */
#include "server/plugins/defaults.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/admission/request.h"
#include "server/plugins/priority.h"
#include "server/testing/verb_world.h"

#define PODS    "/api/v1/namespaces/default/pods"
#define CLAIMS  "/api/v1/namespaces/default/persistentvolumeclaims"
#define CLASSES "/apis/scheduling.k8s.io/v1/priorityclasses"

static struct json *pod(struct verb_world *w, const char *name, const char *spec, int status)
{
	const char *body = arena_printf(&w->arena,
					"{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"containers\":"
					"[{\"name\":\"c\",\"image\":\"i\"}]%s%s}}",
					name, *spec ? "," : "", spec);

	return verb_world_call(w, "POST", PODS, body, status);
}

static struct json *class(struct verb_world *w, const char *name, const char *more, int status)
{
	return verb_world_call(
		w, "POST", CLASSES,
		arena_printf(&w->arena, "{\"metadata\":{\"name\":\"%s\"},%s}", name, more), status);
}

static int64_t priority(const struct json *got)
{
	return json_i64_at(json_getz(got, "spec"), "priority", -1);
}

static void a_class_becomes_a_number(void **state)
{
	struct verb_world *w = *state;
	struct json *got;

	(void)class(w, "high", "\"value\":1000,\"preemptionPolicy\":\"Never\"", 201);
	got = pod(w, "a", "\"priorityClassName\":\"high\"", 201);
	assert_int_equal(priority(got), 1000);
	assert_string_equal(verb_world_text(w, got, "/spec/preemptionPolicy"), "Never");
	assert_int_equal(priority(pod(w, "b", "", 201)), 0);
	got = pod(w, "c", "\"priorityClassName\":\"nobody\"", 403);
	assert_string_equal(verb_world_text(w, got, "/message"),
			    "pods \"c\" is forbidden: no PriorityClass with name nobody was found");
	got = pod(w, "c", "\"priorityClassName\":\"high\",\"priority\":7", 403);
	assert_string_equal(
		verb_world_text(w, got, "/message"),
		"pods \"c\" is forbidden: the integer value of priority (7) must not be "
		"provided in pod spec; priority admission controller computed 1000 from "
		"the given PriorityClass name");
}

static void one_class_is_the_default(void **state)
{
	struct verb_world *w = *state;
	struct json *got;

	(void)class(w, "usual", "\"value\":5,\"globalDefault\":true", 201);
	got = class(w, "other", "\"value\":6,\"globalDefault\":true", 403);
	assert_string_equal(
		verb_world_text(w, got, "/message"),
		"priorityclasses.scheduling.k8s.io \"other\" is forbidden: PriorityClass "
		"usual is already marked as default. Only one default can exist");
	got = pod(w, "a", "", 201);
	assert_int_equal(priority(got), 5);
	assert_string_equal(verb_world_text(w, got, "/spec/priorityClassName"), "usual");
	(void)verb_world_call(w, "DELETE", CLASSES "/usual", NULL, 200);
	assert_int_equal(priority(pod(w, "b", "", 201)), 0);
}

static void pods_tolerate_nodes_that_are_away_for_five_minutes(void **state)
{
	struct verb_world *w = *state;
	const struct json *list = json_pointer(pod(w, "a", "", 201), STR("/spec/tolerations"));

	assert_int_equal(json_count(list), 2);
	assert_string_equal(verb_world_text(w, list, "/1/key"), "node.kubernetes.io/unreachable");
	assert_int_equal(json_i64_at(json_at(list, 0), "tolerationSeconds", 0), 300);
	list = json_pointer(pod(w, "b", "\"tolerations\":[{\"operator\":\"Exists\"}]", 201),
			    STR("/spec/tolerations"));
	assert_int_equal(json_count(list), 1);
}

static void a_plugin_can_be_switched(void **state)
{
	struct verb_world *w = *state;
	struct admission *a = &w->admission;
	const char *const on[] = { "TaintNodesByCondition" }, *const bad[] = { "Foo" };
	const char *const lacking[] = { "ImagePolicyWebhook" }, *const fixed[] = {
		"NamespaceLifecycle"
	};
	struct server_opts opts = { .disable_admission_plugins = on,
				    .ndisable_admission_plugins = 1,
				    .enable_admission_plugins = on,
				    .nenable_admission_plugins = 1 };
	struct error err;

	assert_int_equal(admission_configure(a, &opts, &err), -ERR_INVALID);
	opts.ndisable_admission_plugins = 0;
	assert_int_equal(admission_configure(a, &opts, &err), 0);
	assert_string_equal(verb_world_text(w,
					    verb_world_call(w, "POST", "/api/v1/nodes",
							    "{\"metadata\":{\"name\":\"n\"}}", 201),
					    "/spec/taints/0/key"),
			    "node.kubernetes.io/not-ready");
	opts.enable_admission_plugins = lacking;
	assert_int_equal(admission_configure(a, &opts, &err), -ERR_INVALID);
	assert_non_null(strstr(err.msg, "upstream's plugin ImagePolicyWebhook is not implemented"));
	opts = (struct server_opts){ .disable_admission_plugins = lacking,
				     .ndisable_admission_plugins = 1 };
	assert_int_equal(admission_configure(a, &opts, &err), 0);
	opts.disable_admission_plugins = fixed;
	assert_int_equal(admission_configure(a, &opts, &err), -ERR_INVALID);
	opts.disable_admission_plugins = bad;
	assert_int_equal(admission_configure(a, &opts, &err), -ERR_INVALID);
	assert_non_null(strstr(err.msg, "unknown plugin Foo; known plugins: AlwaysPullImages, "));
	assert_true(admission_switch(a, STR("DefaultTolerationSeconds"), false));
	assert_null(json_pointer(pod(w, "a", "", 201), STR("/spec/tolerations")));
}

static void a_claim_gets_the_newest_default_class(void **state)
{
	struct verb_world *w = *state;
	const char *claim = "{\"metadata\":{\"generateName\":\"c\"},\"spec\":{\"accessModes\":["
			    "\"ReadWriteOnce\"],\"resources\":{\"requests\":{\"storage\":\"1\"}}}}";
	struct json *got = verb_world_call(w, "POST", CLAIMS, claim, 201);

	assert_null(json_pointer(got, STR("/spec/storageClassName")));
	(void)verb_world_call(w, "POST", "/apis/storage.k8s.io/v1/storageclasses",
			      "{\"metadata\":{\"name\":\"fast\",\"annotations\":{"
			      "\"storageclass.kubernetes.io/is-default-class\":\"true\"}},"
			      "\"provisioner\":\"x\"}",
			      201);
	got = verb_world_call(w, "POST", CLAIMS, claim, 201);
	assert_string_equal(verb_world_text(w, got, "/spec/storageClassName"), "fast");
}

/* Plugins see objects before validation, and as webhooks leave them. */
static void a_plugin_takes_a_pod_without_a_spec(void **state)
{
	static const char stored[] = "{\"spec\":{\"priority\":5}}";
	struct verb_world *w = *state;
	struct write write = { .arena = &w->arena };
	struct admission_request req = { .write = &write };
	struct json *pod = json_make_object(&w->arena), *old;
	struct error err;

	assert_int_equal(json_parse(&w->arena, str_from(stored), NULL, &old, &err), 0);
	assert_int_equal(admit_toleration_seconds(&req, NULL, pod, &err), 0);
	assert_int_equal(json_count(json_pointer(pod, STR("/spec/tolerations"))), 2);
	pod = json_make_object(&w->arena);
	assert_int_equal(admit_priority(&req, old, pod, &err), 0);
	assert_int_equal(priority(pod), 5);
}

static void objects_without_a_spec_are_refused_by_validation(void **state)
{
	static const char body[] = "{\"metadata\":{\"name\":\"a\"}}";
	struct verb_world *w = *state;
	struct json *got;

	(void)verb_world_call(w, "POST", "/apis/storage.k8s.io/v1/storageclasses",
			      "{\"metadata\":{\"name\":\"fast\",\"annotations\":{"
			      "\"storageclass.kubernetes.io/is-default-class\":\"true\"}},"
			      "\"provisioner\":\"x\"}",
			      201);
	got = verb_world_call(w, "POST", CLAIMS, body, 422);
	assert_string_equal(verb_world_text(w, got, "/message"),
			    "PersistentVolumeClaim \"a\" is invalid: [spec.accessModes: Required "
			    "value: at least 1 access mode is required, spec.resources[storage]: "
			    "Required value]");
	(void)verb_world_call(w, "POST", PODS, body, 422);
	(void)verb_world_call(w, "POST", PODS, "{\"metadata\":{\"name\":\"a\"},\"spec\":null}",
			      422);
}

static void a_runtime_class_adds_its_overhead_and_its_nodes(void **state)
{
	struct verb_world *w = *state;
	struct json *got;

	(void)verb_world_call(w, "POST", "/apis/node.k8s.io/v1/runtimeclasses",
			      "{\"metadata\":{\"name\":\"vm\"},\"handler\":\"vm\",\"overhead\":{"
			      "\"podFixed\":{\"cpu\":\"100m\"}},\"scheduling\":{\"nodeSelector\":"
			      "{\"vm\":\"yes\"}}}",
			      201);
	got = pod(w, "a", "\"runtimeClassName\":\"vm\",\"overhead\":{\"cpu\":\"0.1\"}", 201);
	assert_string_equal(verb_world_text(w, got, "/spec/overhead/cpu"), "100m");
	assert_string_equal(verb_world_text(w, got, "/spec/nodeSelector/vm"), "yes");
	(void)pod(w, "b", "\"runtimeClassName\":\"vm\",\"overhead\":{\"cpu\":\"1\"}", 403);
	(void)pod(w, "b", "\"runtimeClassName\":\"vm\",\"nodeSelector\":{\"vm\":\"no\"}", 403);
	(void)pod(w, "b", "\"overhead\":{\"cpu\":\"1\"}", 403);
	got = pod(w, "b", "\"runtimeClassName\":\"gone\"", 403);
	assert_string_equal(
		verb_world_text(w, got, "/message"),
		"pods \"b\" is forbidden: pod rejected: RuntimeClass \"gone\" not found");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, verb_world_set_up, verb_world_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_class_becomes_a_number),
		TEST(one_class_is_the_default),
		TEST(pods_tolerate_nodes_that_are_away_for_five_minutes),
		TEST(a_plugin_can_be_switched),
		TEST(a_claim_gets_the_newest_default_class),
		TEST(a_plugin_takes_a_pod_without_a_spec),
		TEST(objects_without_a_spec_are_refused_by_validation),
		TEST(a_runtime_class_adds_its_overhead_and_its_nodes),
	};

	return cmocka_run_group_tests_name("server/admit_defaults", tests, NULL, NULL);
}
