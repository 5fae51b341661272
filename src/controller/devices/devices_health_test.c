/*
 * Health of devices in the status of slices, from the status of pods and claims and the annotations
 * of nodes, on a fake API server.
 */
#include "controller/slice_status/slice_status_fixture.h"

#include "dra/availability/device_health.h"

#define PODS  "/api/v1/namespaces/ns/pods"
#define NODES "/api/v1/nodes"
#define ID    WORLD_DRIVER "/p/"

static void call(struct bench *b, const char *method, const char *target, const char *body)
{
	int status = fakeapi_call(b->w->api, method, target, body ? str_from(body) : STR_NULL,
				  NULL);

	if (status != 200 && status != 201)
		fail_msg("%s %s: %d", method, target, status);
}

/* A pod of namespace ns that uses the claim c under the name gpu. */
static void put_pod(struct bench *b, const char *method, const char *phase, const char *device,
		    const char *health, const char *message)
{
	char body[1024];

	snprintf(body, sizeof(body),
		 "{\"metadata\":{\"name\":\"x\",\"namespace\":\"ns\",\"uid\":\"u1\"},\"spec\":{"
		 "\"resourceClaims\":[{\"name\":\"gpu\",\"resourceClaimName\":\"c\"}]},\"status\":{"
		 "\"phase\":\"%s\",\"containerStatuses\":[{\"name\":\"main\","
		 "\"allocatedResourcesStatus\":[{\"name\":\"claim:gpu\",\"resources\":[{"
		 "\"resourceID\":\"" ID "%s\",\"health\":\"%s\",\"message\":\"%s\"}]}]}]}}",
		 phase, device, health, message);
	call(b, method, method[1] == 'O' ? PODS : PODS "/x", body);
}

static void put_node(struct bench *b, const char *method, const char *name, const char *annotation)
{
	char body[1024], target[64];

	snprintf(target, sizeof(target), method[1] == 'O' ? NODES : NODES "/%s", name);
	snprintf(body, sizeof(body),
		 "{\"metadata\":{\"name\":\"%s\",\"annotations\":{\"devplane.dev/device-health\":"
		 "\"%s\"}}}",
		 name, annotation);
	call(b, method, target, body);
}

static struct bench *start(struct bench *b)
{
	*b = (struct bench){ .health = true };
	bench_init(b, 1);
	tell(b, "slice a p 1/2 n1 g0 g1");
	tell(b, "slice b p 1/2 n1 g2");
	tell(b, "claim ns/c p/g0 for=u1");
	run(b);
	return b;
}

static void assert_summary(struct bench *b, const char *slice, const char *unhealthy)
{
	assert_status(b, slice, "/summary/unhealthyDevices", unhealthy);
}

static void a_pods_report_changes_the_slice_that_it_concerns(void **state)
{
	struct bench b;
	size_t others;

	(void)state;
	start(&b);
	assert_summary(&b, "a", "0");
	others = writes_of(&b, "b");
	put_pod(&b, "POST", "Running", "g0", "Unhealthy", "Xid 79");
	run(&b);
	assert_status(&b, "a", "/devices/0/health", "\"Unhealthy\"");
	assert_status(&b, "a", "/devices/0/healthMessage", "\"Xid 79\"");
	assert_status(&b, "a", "/devices/0/healthSource", "\"pod ns/x\"");
	assert_status(&b, "a", "/devices/0/state", "\"Allocated\"");
	assert_summary(&b, "a", "1");
	put_pod(&b, "PUT", "Running", "g0", "Healthy", "");
	run(&b);
	assert_status(&b, "a", "/devices/0/health", "\"Healthy\"");
	assert_status(&b, "a", "/devices/0/healthSource", "null");
	assert_summary(&b, "a", "0");
	put_pod(&b, "PUT", "Failed", "g0", "Unhealthy", "Xid 79");
	run(&b);
	assert_status(&b, "a", "/devices/0/health", "null");
	assert_int_equal(writes_of(&b, "b"), others);
	bench_release(&b);
}

static void a_pod_is_believed_when_the_claim_is_reserved_for_it(void **state)
{
	struct bench b;

	(void)state;
	start(&b);
	tell(&b, "claim ns/c p/g0 for=other");
	put_pod(&b, "POST", "Running", "g0", "Unhealthy", "");
	run(&b);
	assert_summary(&b, "a", "0");
	tell(&b, "claim ns/c p/g0 for=u1");
	run(&b);
	assert_summary(&b, "a", "1");
	tell(&b, "remove claim ns/c");
	run(&b);
	assert_summary(&b, "a", "0");
	bench_release(&b);
}

/* Condition Ready of a device, in the status of claim ns/c. */
static void put_ready(struct bench *b, const char *device, const char *status)
{
	char body[512];

	snprintf(
		body, sizeof(body),
		"{\"status\":{\"devices\":[{\"driver\":\"d.example.com\",\"pool\":\"p\",\"device\":"
		"\"%s\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"%s\",\"reason\":\"R\","
		"\"message\":\"too hot\",\"lastTransitionTime\":\"2000-01-01T00:00:00Z\"}]}]}}",
		device, status);
	merge(b, CLAIMS "ns/resourceclaims/c", body);
}

static void a_claims_condition_counts_while_it_holds_the_device(void **state)
{
	struct bench b;
	size_t others;

	(void)state;
	start(&b);
	others = writes_of(&b, "b");
	put_ready(&b, "g0", "False");
	run(&b);
	assert_status(&b, "a", "/devices/0/health", "\"Unhealthy\"");
	assert_status(&b, "a", "/devices/0/healthMessage", "\"too hot\"");
	assert_status(&b, "a", "/devices/0/healthSince", "\"2000-01-01T00:00:00Z\"");
	assert_status(&b, "a", "/devices/0/healthSource", "\"claim ns/c\"");
	assert_int_equal(writes_of(&b, "b"), others);
	put_ready(&b, "g0", "True");
	run(&b);
	assert_status(&b, "a", "/devices/0/health", "\"Healthy\"");
	put_ready(&b, "g1", "False");
	run(&b);
	assert_summary(&b, "a", "0");
	put_ready(&b, "g0", "False");
	run(&b);
	assert_summary(&b, "a", "1");
	tell(&b, "remove claim ns/c");
	run(&b);
	assert_summary(&b, "a", "0");
	assert_int_equal(device_health_book_reports(devices_health(b.devices)), 0);
	bench_release(&b);
}

static void a_node_reports_devices_that_nobody_holds(void **state)
{
	static const char lost[] = "[{\\\"id\\\":\\\"" ID "g1\\\",\\\"health\\\":\\\"Unhealthy\\\","
				   "\\\"since\\\":\\\"2000-01-01T00:00:00Z\\\"}]";
	struct bench b;

	(void)state;
	start(&b);
	put_node(&b, "POST", "n1", lost);
	run(&b);
	assert_status(&b, "a", "/devices/1/health", "\"Unhealthy\"");
	assert_status(&b, "a", "/devices/1/healthSince", "\"2000-01-01T00:00:00Z\"");
	assert_status(&b, "a", "/devices/1/healthSource", "\"node n1\"");
	put_node(&b, "PUT", "n1", "{ no json");
	run(&b);
	assert_summary(&b, "a", "0");
	put_node(&b, "PUT", "n1", lost);
	run(&b);
	assert_summary(&b, "a", "1");
	call(&b, "DELETE", NODES "/n1", NULL);
	run(&b);
	assert_summary(&b, "a", "0");
	bench_release(&b);
}

static void devices_of_a_node_that_is_gone_are_unavailable(void **state)
{
	struct bench b;
	size_t others;

	(void)state;
	start(&b);
	tell(&b, "slice c q 1/1 all g3");
	run(&b);
	assert_status(&b, "a", "/devices/0/state", "\"Allocated\"");
	assert_status(&b, "a", "/devices/1/state", "\"Unavailable\"");
	assert_status(&b, "a", "/devices/1/stateReason", "\"NodeGone\"");
	assert_status(&b, "c", "/devices/0/state", "\"Available\"");
	others = writes_of(&b, "c");
	tell(&b, "node n1");
	tell(&b, "node n2");
	run(&b);
	assert_status(&b, "a", "/devices/1/state", "\"Available\"");
	assert_status(&b, "b", "/devices/0/state", "\"Available\"");
	merge(&b, "/api/v1/nodes/n1",
	      "{\"spec\":{\"taints\":[{\"key\":\"node.kubernetes.io/unreachable\"}]}}");
	run(&b);
	assert_status(&b, "a", "/devices/1/stateReason", "\"NodeUnreachable\"");
	assert_int_equal(writes_of(&b, "c"), others);
	tell(&b, "remove node n1");
	run(&b);
	assert_status(&b, "b", "/devices/0/stateReason", "\"NodeGone\"");
	assert_int_equal(writes_of(&b, "c"), others);
	bench_release(&b);
}

static void a_node_selector_follows_the_labels_of_nodes(void **state)
{
	struct bench b;
	size_t writes;

	(void)state;
	start(&b);
	tell(&b, "slice c q 1/1 zone=a g3");
	run(&b);
	assert_status(&b, "c", "/devices/0/stateReason", "\"NoNode\"");
	tell(&b, "node n1");
	tell(&b, "node n2");
	run(&b);
	assert_status(&b, "c", "/devices/0/stateReason", "\"NoNode\"");
	merge(&b, NODES "/n1", "{\"metadata\":{\"labels\":{\"zone\":\"a\"}}}");
	run(&b);
	assert_status(&b, "c", "/devices/0/state", "\"Available\"");
	/* Now two nodes match, then one again, and then none. */
	writes = b.writes.n;
	merge(&b, NODES "/n2", "{\"metadata\":{\"labels\":{\"zone\":\"a\"}}}");
	merge(&b, NODES "/n1", "{\"metadata\":{\"labels\":{\"zone\":\"b\"}}}");
	run(&b);
	assert_int_equal(b.writes.n, writes);
	tell(&b, "remove node n2");
	run(&b);
	assert_status(&b, "c", "/devices/0/stateReason", "\"NoNode\"");
	bench_release(&b);
}

static void a_node_that_lies_about_others_is_not_believed(void **state)
{
	struct bench b;
	size_t writes;

	(void)state;
	start(&b);
	writes = b.writes.n;
	put_node(&b, "POST", "n2",
		 "[{\\\"id\\\":\\\"" ID "g1\\\",\\\"health\\\":\\\"Unhealthy\\\"}]");
	run(&b);
	assert_summary(&b, "a", "0");
	assert_int_equal(b.writes.n, writes);
	bench_release(&b);
}

static void another_controller_goes_on_with_the_same_beginning(void **state)
{
	struct bench b;
	size_t writes;

	(void)state;
	start(&b);
	put_pod(&b, "POST", "Running", "g0", "Unhealthy", "Xid 79");
	run(&b);
	writes = b.writes.n;
	controller_world_run(b.w, 60 * 1000);
	bench_stop(&b);
	bench_start(&b);
	run(&b);
	assert_summary(&b, "a", "1");
	assert_int_equal(b.writes.n, writes);
	bench_release(&b);
}

static int forbid_pods(void *arg, const struct fakeapi_query *q)
{
	return str_starts(q->path, STR("/api/v1/pods")) ? 403 : bench_on_request(arg, q);
}

static void states_are_told_without_the_right_to_list_pods(void **state)
{
	struct bench b = { .health = true };

	(void)state;
	b.w = controller_world_new(1);
	b.w->api->fault = forbid_pods;
	b.w->api->fault_arg = &b;
	b.w->api->rv = 100;
	vec_init(&b.writes, SIZE_MAX);
	bench_start(&b);
	tell(&b, "slice a p 1/1 n1 g0");
	controller_world_run(b.w, 10 * 1000);
	run(&b);
	assert_summary(&b, "a", "0");
	bench_release(&b);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pods_report_changes_the_slice_that_it_concerns),
		cmocka_unit_test(a_pod_is_believed_when_the_claim_is_reserved_for_it),
		cmocka_unit_test(a_claims_condition_counts_while_it_holds_the_device),
		cmocka_unit_test(a_node_reports_devices_that_nobody_holds),
		cmocka_unit_test(devices_of_a_node_that_is_gone_are_unavailable),
		cmocka_unit_test(a_node_selector_follows_the_labels_of_nodes),
		cmocka_unit_test(a_node_that_lies_about_others_is_not_believed),
		cmocka_unit_test(states_are_told_without_the_right_to_list_pods),
		cmocka_unit_test(another_controller_goes_on_with_the_same_beginning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
