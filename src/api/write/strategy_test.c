/*
 * Strategies of kinds, and the commands on pods.
 */
#include "api/write/write_fixture.h"

#define POD(spec) "{\"metadata\":{\"name\":\"p\"},\"spec\":{" spec "}}"
#define CONTAINER(resources) \
	"\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{" resources "}}]"

static void a_new_pod_is_pending_and_has_a_class(void **state)
{
	static const struct {
		const char *body, *qos;
	} cases[] = {
		{ POD(CONTAINER("")), "BestEffort" },
		{ POD(CONTAINER("\"requests\":{\"cpu\":\"1\"}")), "Burstable" },
		{ POD(CONTAINER("\"limits\":{\"cpu\":\"1\",\"memory\":\"1Gi\"},"
				"\"requests\":{\"cpu\":\"1000m\",\"memory\":\"1024Mi\"}")),
		  "Guaranteed" },
		{ POD(CONTAINER("\"limits\":{\"cpu\":\"1\",\"memory\":\"1Gi\"},"
				"\"requests\":{\"cpu\":\"500m\",\"memory\":\"1Gi\"}")),
		  "Burstable" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fixture f;
		const struct json *pod;

		fixture_init(&f, "", "v1", "pods");
		pod = fixture_stored(&f, cases[i].body);
		assert_at(&f, pod, "/status/phase", "Pending");
		assert_at(&f, pod, "/status/qosClass", cases[i].qos);
		assert_at(&f, pod, "/metadata/generation", "1");
		fixture_release(&f);
	}
}

static void a_gated_pod_says_so(void **state)
{
	struct fixture f;
	const struct json *pod;

	fixture_init(&f, "", "v1", "pods");
	pod = fixture_stored(&f, POD(CONTAINER("") ",\"schedulingGates\":[{\"name\":\"g\"}]"));
	assert_at(&f, pod, "/status/conditions/0/reason", "SchedulingGated");
	assert_at(&f, pod, "/status/conditions/0/status", "False");
	fixture_release(&f);
}

static void a_pods_status_keeps_what_old_clients_leave_out(void **state)
{
	struct fixture f;
	const struct json *old;

	fixture_init(&f, "", "v1", "pods");
	old = fixture_stored(&f, POD(CONTAINER("")));
	f.w.subresource = STR("status");
	assert_written(&f, fixture_update(&f, old,
					  "{\"metadata\":{\"name\":\"p\",\"labels\":{\"a\":\"b\"}},"
					  "\"spec\":{\"nodeName\":\"x\"},"
					  "\"status\":{\"phase\":\"Running\"}}"));
	assert_at(&f, f.out, "/status/phase", "Running");
	assert_at(&f, f.out, "/status/qosClass", "BestEffort");
	assert_at(&f, f.out, "/spec/nodeName", "");
	assert_at(&f, f.out, "/spec/containers/0/name", "c");
	assert_at(&f, f.out, "/metadata/labels/a", "b");
	assert_at(&f, f.out, "/metadata/generation", "1");
	fixture_release(&f);
}

/* Binds the pod, or not. */
static int bind_pod(struct fixture *f, const struct json *pod, const char *binding)
{
	fixture_again(f);
	f->w.subresource = STR("binding");
	return write_bind(&f->w, pod, fixture_body(f, binding), &f->out, &f->err);
}

#define BINDING(more) \
	"{\"metadata\":{\"name\":\"p\"" more "},\"target\":{\"kind\":\"Node\",\"name\":\"n1\"}}"

static void a_binding_sets_the_node_and_the_condition(void **state)
{
	struct fixture f;
	const struct json *pod;

	fixture_init(&f, "", "v1", "pods");
	pod = fixture_stored(&f, POD(CONTAINER("")));
	assert_written(&f, bind_pod(&f, pod,
				    BINDING(",\"annotations\":{\"a\":\"b\"},"
					    "\"labels\":{\"zone\":\"z\"}")));
	assert_at(&f, f.out, "/spec/nodeName", "n1");
	assert_at(&f, f.out, "/status/conditions/0/type", "PodScheduled");
	assert_at(&f, f.out, "/status/conditions/0/status", "True");
	assert_at(&f, f.out, "/metadata/annotations/a", "b");
	assert_at(&f, f.out, "/metadata/labels/zone", "z");
	assert_at(&f, pod, "/spec/nodeName", "");

	pod = f.out;
	assert_int_equal(bind_pod(&f, pod, BINDING("")), -ERR_CONFLICT);
	assert_string_equal(f.err.msg, "pod p is already assigned to node \"n1\"");
	fixture_release(&f);
}

static void a_binding_is_refused_for_its_reasons(void **state)
{
	struct fixture f;
	const struct json *pod;
	struct json *gated;

	fixture_init(&f, "", "v1", "pods");
	pod = fixture_stored(&f, POD(CONTAINER("")));
	assert_int_equal(
		bind_pod(&f, pod, "{\"metadata\":{\"name\":\"x\"},\"target\":{\"name\":\"n\"}}"),
		-ERR_BAD_REQUEST);
	assert_string_equal(f.err.msg, "name in URL does not match name in Binding object");
	assert_int_equal(bind_pod(&f, pod, "{\"metadata\":{\"name\":\"p\"},\"target\":{}}"),
			 -ERR_INVALID);
	assert_string_equal(fixture_faults(&f), "target.name: Required value");
	assert_int_equal(bind_pod(&f, pod, BINDING(",\"uid\":\"u\"")), -ERR_CONFLICT);

	gated = (struct json *)pod;
	json_setz(json_getz(gated, "spec"), "schedulingGates",
		  fixture_tree(&f, "[{\"name\":\"g\"}]"));
	assert_int_equal(bind_pod(&f, gated, BINDING("")), -ERR_CONFLICT);
	assert_string_equal(f.err.msg, "pod p has non-empty .spec.schedulingGates");
	json_put_str(&f.arena, json_getz(gated, "metadata"), "deletionTimestamp",
		     STR("2026-01-01T00:00:00Z"));
	assert_int_equal(bind_pod(&f, gated, BINDING("")), -ERR_CONFLICT);
	assert_string_equal(f.err.msg, "pod p is being deleted, cannot be assigned to a host");
	fixture_release(&f);
}

static void an_eviction_carries_delete_options(void **state)
{
	struct delete_options o;
	struct fixture f;
	const struct json *pod;
	struct json *body;

	fixture_init(&f, "", "v1", "pods");
	pod = fixture_stored(&f, POD(CONTAINER("")));
	f.w.subresource = STR("eviction");
	body = fixture_body(&f, "{\"metadata\":{\"name\":\"p\"},\"deleteOptions\":"
				"{\"gracePeriodSeconds\":3}}");
	assert_written(&f, write_evict(&f.w, pod, body, &o, &f.err));
	assert_int_equal(o.grace_s, 3);
	body = fixture_body(&f, "{\"metadata\":{\"name\":\"q\"}}");
	assert_int_equal(write_evict(&f.w, pod, body, &o, &f.err), -ERR_BAD_REQUEST);
	body = fixture_body(&f, "{\"apiVersion\":\"policy/v1beta1\",\"kind\":\"Eviction\","
				"\"metadata\":{\"name\":\"p\"}}");
	assert_written(&f, write_evict(&f.w, pod, body, &o, &f.err));
	fixture_release(&f);
}

static void a_new_namespace_is_active_and_labelled(void **state)
{
	struct fixture f;
	const struct json *ns;

	fixture_init(&f, "", "v1", "namespaces");
	ns = fixture_stored(
		&f, "{\"metadata\":{\"name\":\"n\"},\"status\":{\"phase\":\"Terminating\"}}");
	assert_at(&f, ns, "/status/phase", "Active");
	assert_at(&f, ns, "/spec/finalizers", "[\"kubernetes\"]");
	assert_at(&f, ns, "/metadata/labels/kubernetes.io~1metadata.name", "n");
	fixture_release(&f);
}

static void a_new_node_keeps_its_status(void **state)
{
	struct fixture f;
	const struct json *node;

	fixture_init(&f, "", "v1", "nodes");
	node = fixture_stored(&f,
			      "{\"metadata\":{\"name\":\"n\"},\"status\":{\"capacity\":{\"cpu\":"
			      "\"4\"}}}");
	assert_at(&f, node, "/status/capacity/cpu", "4");
	fixture_release(&f);
}

static void string_data_of_a_secret_becomes_data(void **state)
{
	struct fixture f;
	const struct json *secret;

	fixture_init(&f, "", "v1", "secrets");
	secret = fixture_stored(&f, "{\"metadata\":{\"name\":\"s\"},\"data\":{\"a\":\"eA==\","
				    "\"b\":\"eQ==\"},\"stringData\":{\"b\":\"hello\"}}");
	assert_at(&f, secret, "/data", "{\"a\":\"eA==\",\"b\":\"aGVsbG8=\"}");
	assert_at(&f, secret, "/stringData", "");
	assert_at(&f, secret, "/type", "Opaque");
	fixture_release(&f);
}

static void secrets_of_service_accounts_are_names(void **state)
{
	struct fixture f;
	const struct json *account;

	fixture_init(&f, "", "v1", "serviceaccounts");
	account = fixture_stored(&f, "{\"metadata\":{\"name\":\"s\"},\"secrets\":[{\"name\":\"x\","
				     "\"namespace\":\"other\"}]}");
	assert_at(&f, account, "/secrets", "[{\"name\":\"x\"}]");
	fixture_release(&f);
}

static void volumes_begin_pending(void **state)
{
	struct fixture f;
	const struct json *claim;

	fixture_init(&f, "", "v1", "persistentvolumeclaims");
	claim = fixture_stored(&f, "{\"metadata\":{\"name\":\"c\"},\"spec\":{\"accessModes\":"
				   "[\"ReadWriteOnce\"],\"resources\":{\"requests\":{\"storage\":"
				   "\"1Gi\"}}}}");
	assert_at(&f, claim, "/status/phase", "Pending");
	fixture_release(&f);
}

#define TEMPLATE                                                                            \
	"\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"containers\":[{" \
	"\"name\":\"c\",\"image\":\"i\"}]}}"

static void annotations_of_a_deployment_count_as_a_change(void **state)
{
	struct fixture f;
	const struct json *old;

	fixture_init(&f, "apps", "v1", "deployments");
	old = fixture_stored(&f, "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"selector\":"
				 "{\"matchLabels\":{\"a\":\"b\"}}," TEMPLATE "}}");
	assert_at(&f, old, "/metadata/generation", "1");
	assert_written(&f, fixture_patch(&f, old, PATCH_MERGE,
					 "{\"metadata\":{\"annotations\":{\"x\":\"y\"}}}"));
	assert_at(&f, f.out, "/metadata/generation", "2");
	fixture_again(&f);
	assert_written(&f, fixture_patch(&f, old, PATCH_MERGE,
					 "{\"metadata\":{\"labels\":{\"x\":\"y\"}}}"));
	assert_at(&f, f.out, "/metadata/generation", "1");
	fixture_release(&f);
}

static void a_job_selects_its_own_pods(void **state)
{
	struct fixture f;
	const struct json *job;
	const char *uid;

	fixture_init(&f, "batch", "v1", "jobs");
	job = fixture_stored(&f, "{\"metadata\":{\"name\":\"j\"},\"spec\":{\"template\":{\"spec\":{"
				 "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\","
				 "\"image\":\"i\"}]}}}}");
	uid = fixture_at(&f, job, "/metadata/uid");
	assert_at(&f, job, "/spec/selector/matchLabels/batch.kubernetes.io~1controller-uid", uid);
	assert_at(&f, job, "/spec/template/metadata/labels/job-name", "j");
	assert_at(&f, job, "/metadata/labels/batch.kubernetes.io~1controller-uid", uid);
	fixture_release(&f);
}

#define CONDITION(type) "{\"type\":\"" type "\",\"status\":\"True\"}"
#define SIGNING(user, status)                                                                   \
	"{\"metadata\":{\"name\":\"r\"},\"spec\":{\"request\":\"eA==\",\"signerName\":\"a/b\"," \
	"\"usages\":[\"client auth\"],\"username\":\"" user "\"},\"status\":{" status "}}"

static void each_path_of_a_signing_request_writes_its_own_part(void **state)
{
	struct fixture f;
	const struct json *old;

	fixture_init(&f, "certificates.k8s.io", "v1", "certificatesigningrequests");
	old = fixture_stored(&f, SIGNING("ann", ""));
	assert_written(
		&f, fixture_update(&f, old,
				   SIGNING("eve", "\"conditions\":[" CONDITION("Approved") "]")));
	assert_at(&f, f.out, "/spec/username", "ann");
	assert_at(&f, f.out, "/status/conditions", "");
	f.w.subresource = STR("approval");
	assert_written(
		&f, fixture_update(&f, old,
				   SIGNING("eve", "\"certificate\":\"eA==\","
						  "\"conditions\":[" CONDITION("Approved") "]")));
	assert_at(&f, f.out, "/spec/username", "ann");
	assert_at(&f, f.out, "/status/certificate", "");
	assert_at(&f, f.out, "/status/conditions/0/type", "Approved");
	old = f.out;
	assert_int_equal(fixture_update(&f, old, SIGNING("", "")), -ERR_INVALID);
	assert_string_equal(fixture_faults(&f),
			    "status.conditions: Forbidden: updates may not remove a condition of "
			    "type \"Approved\"");
	fixture_again(&f);
	assert_int_equal(
		fixture_update(&f, old,
			       SIGNING("", "\"conditions\":[" CONDITION("Approved") "," CONDITION(
						   "Denied") "]")),
		-ERR_INVALID);
	fixture_again(&f);
	f.w.subresource = STR("status");
	assert_int_equal(
		fixture_update(&f, old,
			       SIGNING("", "\"conditions\":[" CONDITION("Approved") "," CONDITION(
						   "Denied") "]")),
		-ERR_INVALID);
	fixture_again(&f);
	assert_written(
		&f, fixture_update(&f, old,
				   SIGNING("eve", "\"certificate\":\"eA==\","
						  "\"conditions\":[" CONDITION("Approved") "]")));
	assert_at(&f, f.out, "/spec/username", "ann");
	assert_at(&f, f.out, "/status/certificate", "eA==");
	fixture_release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_pod_is_pending_and_has_a_class),
		cmocka_unit_test(a_gated_pod_says_so),
		cmocka_unit_test(a_pods_status_keeps_what_old_clients_leave_out),
		cmocka_unit_test(a_binding_sets_the_node_and_the_condition),
		cmocka_unit_test(a_binding_is_refused_for_its_reasons),
		cmocka_unit_test(an_eviction_carries_delete_options),
		cmocka_unit_test(a_new_namespace_is_active_and_labelled),
		cmocka_unit_test(a_new_node_keeps_its_status),
		cmocka_unit_test(string_data_of_a_secret_becomes_data),
		cmocka_unit_test(secrets_of_service_accounts_are_names),
		cmocka_unit_test(volumes_begin_pending),
		cmocka_unit_test(annotations_of_a_deployment_count_as_a_change),
		cmocka_unit_test(a_job_selects_its_own_pods),
		cmocka_unit_test(each_path_of_a_signing_request_writes_its_own_part),
	};

	return cmocka_run_group_tests_name("api/strategy", tests, NULL, NULL);
}
