/* A node and an API server in a simulated world. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/mem.h"
#include "client/api/client.h"
#include "client/events/recorder.h"
#include "client/testing/fakeapi_world.h"
#include "client/work/lease.h"
#include "net/loop/loop.h"
#include "node/health/health.h"
#include "node/registration/object.h"

struct world {
	struct sim *sim;
	struct fakeapi *api;
	struct loop *loop;
	struct client *client;
	struct recorder *recorder;
	struct machine machine;
	struct assign *assign;
	struct health *health;
	struct node_object *node;
	int told; /* calls of on_node */
};

static void on_node(void *arg, const struct json *node)
{
	struct world *w = arg;

	assert_true(str_eqz(json_text_at(json_getz(node, "metadata"), "name"), "n1"));
	w->told++;
}

static struct world *world_new(void)
{
	struct world *w = XNEW(struct world);

	w->sim = sim_new(&(struct sim_opts){ .seed = 3 });
	w->api = fakeapi_new(w->sim, 3);
	w->loop = sim_loop_new(w->sim, "node");
	w->client = fakeapi_client(w->api, w->loop);
	w->recorder = recorder_new(
		&(struct recorder_opts){ .client = w->client, .component = "kubelet" });
	machine_make(&w->machine, 4, INT64_C(8) << 30, 1);
	assert_int_equal(
		assign_new(&(struct assign_opts){ .machine = &w->machine }, &w->assign, NULL), 0);
	return w;
}

static void begin(struct world *w, bool register_node)
{
	struct node_object_opts o = { .loop = w->loop,
				      .client = w->client,
				      .recorder = w->recorder,
				      .name = "n1",
				      .node_ip = "10.1.2.3",
				      .register_node = register_node,
				      .machine = &w->machine,
				      .assign = w->assign,
				      .health = w->health,
				      .on_node = on_node,
				      .arg = w };

	assert_int_equal(node_object_new(&o, &w->node, NULL), 0);
}

static void world_free(struct world *w)
{
	node_object_free(w->node);
	recorder_free(w->recorder);
	client_free(w->client);
	sim_run_for(w->sim, 100);
	fakeapi_free(w->api);
	loop_free(w->loop);
	sim_free(w->sim);
	assign_free(w->assign);
	health_free(w->health);
	machine_release(&w->machine);
	free(w);
}

static bool has(struct world *w, const char *text)
{
	return fakeapi_has(w->api, "nodes", "", "n1", text);
}

static bool event(struct world *w, const char *reason)
{
	return fakeapi_count_with(w->api, "events", reason) > 0;
}

static void ready(struct world *w)
{
	node_object_set_runtime(w->node, true, STR_NULL, STR("containerd"), STR("1.6"));
}

static void offer(struct world *w, const char *resource)
{
	struct assign_device d = { .id = STR("a") };

	assign_set_resource(w->assign, str_from(resource), &d, 1);
	node_object_touch(w->node);
}

static int64_t renewed(struct world *w)
{
	const struct fakeapi_object *o = fakeapi_find(w->api, "leases", "kube-node-lease", "n1");
	struct lease_record r = { NULL };
	int64_t at;

	assert_non_null(o);
	assert_int_equal(lease_record_read(str_from(o->text), &r, NULL), 0);
	assert_string_equal(r.holder, "n1");
	assert_int_equal(r.duration_s, 40);
	at = r.renew_ns;
	lease_record_release(&r);
	return at;
}

static void a_node_registers_and_becomes_ready(void **state UNUSED)
{
	struct world *w = world_new();

	begin(w, true);
	assert_false(node_object_registered(w->node));
	sim_run_for(w->sim, 1000);
	assert_true(node_object_registered(w->node));
	assert_true(has(w, "\"kubernetes.io/hostname\":\"n1\""));
	assert_true(has(w, "container runtime status check may not have completed yet"));
	assert_true(event(w, "\"Starting\""));
	assert_false(event(w, "NodeReady"));
	ready(w);
	sim_run_for(w->sim, 1000);
	assert_true(has(w, "kubelet is posting ready status"));
	assert_true(has(w, "containerd://1.6"));
	assert_true(event(w, "Node n1 status is now: NodeReady"));
	assert_true(w->told >= 2);
	assert_true(str_eqz(node_object_ip(w->node), "10.1.2.3"));
	assert_int_equal(node_object_cpu_milli(w->node), 4000);
	world_free(w);
}

#define CALM                                                  \
	"{\"type\":\"MemoryPressure\",\"status\":\"False\"}," \
	"{\"type\":\"DiskPressure\",\"status\":\"False\"},"   \
	"{\"type\":\"PIDPressure\",\"status\":\"False\"},"

static void an_existing_node_is_adopted_with_its_labels(void **state UNUSED)
{
	struct world *w = world_new();

	fakeapi_add(w->api, "nodes", "", "n1", ",\"uid\":\"u-old\",\"labels\":{\"mine\":\"x\"}",
		    ",\"status\":{\"conditions\":[" CALM
		    "{\"type\":\"Ready\",\"status\":\"Unknown\"}]}");
	begin(w, true);
	ready(w);
	sim_run_for(w->sim, 1000);
	assert_true(has(w, "\"mine\":\"x\""));
	assert_true(has(w, "\"kubernetes.io/hostname\":\"n1\""));
	assert_true(has(w, "kubelet is posting ready status"));
	assert_true(event(w, "NodeReady"));
	assert_true(fakeapi_has(w->api, "leases", "kube-node-lease", "n1", "u-old"));
	world_free(w);
}

static void a_reboot_is_told(void **state UNUSED)
{
	struct world *w = world_new();

	fakeapi_add(w->api, "nodes", "", "n1", ",\"uid\":\"u\"",
		    ",\"status\":{\"nodeInfo\":{\"bootID\":\"boot-1\"},\"conditions\":[" CALM
		    "{\"type\":\"Ready\",\"status\":\"False\"}]}");
	w->machine.boot_id = STR("boot-2");
	begin(w, true);
	sim_run_for(w->sim, 1000);
	assert_true(event(w, "Node n1 has been rebooted, boot id: boot-2"));
	world_free(w);
}

static void new_conditions_are_told_once(void **state UNUSED)
{
	struct world *w = world_new();

	fakeapi_add(w->api, "nodes", "", "n1", ",\"uid\":\"u\"",
		    ",\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\"}]}");
	begin(w, true);
	sim_run_for(w->sim, 5000);
	assert_true(event(w, "Node n1 status is now: NodeHasSufficientMemory"));
	assert_true(event(w, "\"count\":1"));
	assert_false(event(w, "\"count\":2"));
	world_free(w);
}

static void devices_that_come_and_go_are_written_at_once(void **state UNUSED)
{
	struct world *w = world_new();
	uint64_t writes;

	begin(w, true);
	ready(w);
	sim_run_for(w->sim, 1000);
	writes = w->api->writes;
	offer(w, "acme.com/gpu");
	offer(w, "acme.com/nic");
	node_object_touch(w->node);
	sim_run_for(w->sim, 100);
	assert_true(has(w, "\"acme.com/gpu\":\"1\""));
	assert_true(has(w, "\"acme.com/nic\":\"1\""));
	assert_int_equal(w->api->writes - writes, 1);
	assign_drop_resource(w->assign, STR("acme.com/gpu"));
	node_object_touch(w->node);
	sim_run_for(w->sim, 100);
	assert_false(has(w, "acme.com/gpu"));
	assert_true(has(w, "\"acme.com/nic\":\"1\""));
	world_free(w);
}

static void on_health(void *arg, const struct health_device *now UNUSED,
		      enum assign_health before UNUSED)
{
	struct world *w = arg;

	if (w->node)
		node_object_touch_health(w->node);
}

static void report(struct world *w, enum assign_health health)
{
	struct plugin_health v = { .pool = STR("p"), .device = STR("g"), .health = health };

	(void)health_report(w->health, STR("d"), &v, 1, 0);
}

static void health_that_flaps_is_written_once_in_a_second(void **state UNUSED)
{
	struct world *w = world_new();
	uint64_t writes;

	w->health = health_new(&(struct health_opts){ .on_change = on_health, .arg = w });
	report(w, ASSIGN_HEALTHY);
	begin(w, true);
	ready(w);
	sim_run_for(w->sim, 100);
	assert_true(has(w, "device-health"));
	assert_false(has(w, "Unhealthy"));
	writes = w->api->writes;
	for (int i = 0; i < 900; i++) {
		report(w, i / 5 % 2 ? ASSIGN_HEALTHY : ASSIGN_UNHEALTHY);
		if (i % 37 == 0) /* changes of devices are still written at once */
			node_object_touch(w->node);
		sim_run_for(w->sim, 3);
	}
	assert_in_range(w->api->writes - writes, 1, 3);
	report(w, ASSIGN_UNHEALTHY);
	sim_run_for(w->sim, 1500);
	assert_true(has(w, "Unhealthy"));
	world_free(w);
}

static void nothing_is_written_when_nothing_changes(void **state UNUSED)
{
	struct world *w = world_new();
	uint64_t writes;

	begin(w, true);
	ready(w);
	sim_run_for(w->sim, 5000);
	writes = w->api->writes;
	for (int i = 0; i < 10; i++) {
		node_object_touch(w->node);
		sim_run_for(w->sim, 100);
	}
	assert_int_equal(w->api->writes - writes, 0);
	/* Heartbeats: the lease every 10 s, the status at least once in 7.5 minutes. */
	sim_run_for(w->sim, 450000);
	assert_in_range(w->api->writes - writes, 43, 50);
	world_free(w);
}

static void the_lease_is_renewed_and_belongs_to_the_node(void **state UNUSED)
{
	struct world *w = world_new();
	int64_t first;

	begin(w, true);
	sim_run_for(w->sim, 1000);
	first = renewed(w);
	assert_true(fakeapi_has(w->api, "leases", "kube-node-lease", "n1", "\"kind\":\"Node\""));
	sim_run_for(w->sim, 30000);
	assert_true(renewed(w) - first >= 19 * CLOCK_SEC);
	assert_int_equal(fakeapi_call(w->api, "DELETE",
				      "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/"
				      "leases/n1",
				      STR_NULL, NULL),
			 200);
	sim_run_for(w->sim, 11000);
	assert_true(renewed(w) > first);
	world_free(w);
}

static void a_failing_server_is_tried_again(void **state UNUSED)
{
	struct world *w = world_new();

	w->api->fail = 0.7;
	begin(w, true);
	ready(w);
	sim_run_for(w->sim, 120000);
	w->api->fail = 0;
	sim_run_for(w->sim, 15000);
	assert_true(has(w, "kubelet is posting ready status"));
	assert_true(clock_wall(loop_clock(w->loop)) - renewed(w) < 11 * CLOCK_SEC);
	world_free(w);
}

static void a_server_that_cannot_be_reached_gets_the_latest_later(void **state UNUSED)
{
	struct world *w = world_new();

	begin(w, true);
	ready(w);
	sim_run_for(w->sim, 2000);
	sim_cut(w->sim, "node", "api");
	offer(w, "acme.com/gpu");
	sim_run_for(w->sim, 60000);
	assert_false(has(w, "acme.com/gpu"));
	sim_heal(w->sim, NULL, NULL);
	sim_run_for(w->sim, 30000);
	assert_true(has(w, "acme.com/gpu"));
	assert_true(clock_wall(loop_clock(w->loop)) - renewed(w) < 11 * CLOCK_SEC);
	world_free(w);
}

static void without_registration_it_waits_for_its_node(void **state UNUSED)
{
	struct world *w = world_new();

	begin(w, false);
	sim_run_for(w->sim, 20000);
	assert_false(node_object_registered(w->node));
	fakeapi_add(w->api, "nodes", "", "n1", ",\"uid\":\"u1\"", "");
	sim_run_for(w->sim, 8000);
	assert_true(node_object_registered(w->node));
	assert_true(has(w, "KubeletNotReady"));
	world_free(w);
}

static void fields_of_the_agent_that_others_change_are_written_again(void **state UNUSED)
{
	struct world *w = world_new();

	begin(w, true);
	ready(w);
	sim_run_for(w->sim, 2000);
	assert_int_equal(fakeapi_call(w->api, "PATCH", "/api/v1/nodes/n1/status",
				      STR("{\"status\":{\"conditions\":[{\"type\":\"Ready\","
					  "\"status\":\"Unknown\"}]}}"),
				      NULL),
			 200);
	sim_run_for(w->sim, 2000);
	assert_true(has(w, "kubelet is posting ready status"));
	world_free(w);
}

/* As if a patch whose reply was lost was applied after all, while the next one is made. */
static void a_change_that_the_watch_missed_is_written_again(void **state UNUSED)
{
	struct world *w = world_new();

	begin(w, true);
	ready(w);
	offer(w, "acme.com/gpu");
	sim_run_for(w->sim, 2000);
	assert_int_equal(
		fakeapi_call(w->api, "PATCH", "/api/v1/nodes/n1/status",
			     STR("{\"status\":{\"allocatable\":{\"acme.com/gpu\":\"7\"}}}"), NULL),
		200);
	offer(w, "acme.com/other");
	sim_run_for(w->sim, 2000);
	assert_true(has(w, "acme.com/other"));
	assert_false(has(w, "\"acme.com/gpu\":\"7\""));
	world_free(w);
}

static void a_node_that_was_deleted_stays_so(void **state UNUSED)
{
	struct world *w = world_new();

	begin(w, true);
	ready(w);
	sim_run_for(w->sim, 2000);
	assert_int_equal(fakeapi_call(w->api, "DELETE", "/api/v1/nodes/n1", STR_NULL, NULL), 200);
	sim_run_for(w->sim, 400000);
	assert_false(node_object_registered(w->node));
	assert_int_equal(fakeapi_count(w->api, "nodes"), 0);
	world_free(w);
}

static void a_bad_address_is_refused(void **state UNUSED)
{
	struct world *w = world_new();
	struct node_object_opts o = { .loop = w->loop,
				      .client = w->client,
				      .name = "n1",
				      .node_ip = "somewhere",
				      .machine = &w->machine };
	struct error err;

	assert_int_equal(node_object_new(&o, &w->node, &err), -ERR_INVALID);
	assert_non_null(strstr(err.msg, "somewhere"));
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_node_registers_and_becomes_ready),
		cmocka_unit_test(an_existing_node_is_adopted_with_its_labels),
		cmocka_unit_test(a_reboot_is_told),
		cmocka_unit_test(new_conditions_are_told_once),
		cmocka_unit_test(devices_that_come_and_go_are_written_at_once),
		cmocka_unit_test(health_that_flaps_is_written_once_in_a_second),
		cmocka_unit_test(nothing_is_written_when_nothing_changes),
		cmocka_unit_test(the_lease_is_renewed_and_belongs_to_the_node),
		cmocka_unit_test(a_failing_server_is_tried_again),
		cmocka_unit_test(a_server_that_cannot_be_reached_gets_the_latest_later),
		cmocka_unit_test(without_registration_it_waits_for_its_node),
		cmocka_unit_test(fields_of_the_agent_that_others_change_are_written_again),
		cmocka_unit_test(a_change_that_the_watch_missed_is_written_again),
		cmocka_unit_test(a_node_that_was_deleted_stays_so),
		cmocka_unit_test(a_bad_address_is_refused),
	};

	return cmocka_run_group_tests_name("node/node_object", tests, NULL, NULL);
}
