/*
 * Exact paths of methods, and conversions of messages.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "grpc/message.h"
#include "node/node_limits.h"
#include "node/plugins/wire.h"

/* Wire bytes, built by hand from upstream's field numbers. */
#define WIRE(literal) STR(literal)

static int set_up(void **state)
{
	struct arena *a = XNEW(struct arena);

	arena_init(a, 64 * MIB);
	*state = a;
	return 0;
}

static int tear_down(void **state)
{
	arena_release(*state);
	free(*state);
	return 0;
}

static void *unpack(struct arena *a, const ProtobufCMessageDescriptor *type, struct str wire)
{
	struct error err;
	void *m = NULL;

	if (grpc_message_unpack(type, wire, a, &m, &err) < 0)
		fail_msg("%s", err.msg);
	return m;
}

static void paths_are_upstreams(void **state UNUSED)
{
	assert_string_equal(plugin_wire_register.path, "/v1beta1.Registration/Register");
	assert_string_equal(plugin_wire_options.path,
			    "/v1beta1.DevicePlugin/GetDevicePluginOptions");
	assert_string_equal(plugin_wire_list_and_watch.path, "/v1beta1.DevicePlugin/ListAndWatch");
	assert_string_equal(plugin_wire_get_info.path, "/pluginregistration.Registration/GetInfo");
	assert_string_equal(plugin_wire_notify.path,
			    "/pluginregistration.Registration/NotifyRegistrationStatus");
	assert_string_equal(plugin_wire_dra[0].prepare.path,
			    "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources");
	assert_string_equal(
		plugin_wire_dra[1].unprepare.path,
		"/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin/NodeUnprepareResources");
	assert_string_equal(plugin_wire_health[0].watch.path,
			    "/v1.DRAResourceHealth/NodeWatchResources");
	assert_string_equal(plugin_wire_health[1].watch.path,
			    "/v1alpha1.DRAResourceHealth/NodeWatchResources");
	assert_string_equal(plugin_wire_health[2].watch.path,
			    "/v1alpha1.NodeHealth/WatchResources");
	assert_string_equal(plugin_wire_health[2].name, "v1alpha1.NodeHealth");
}

static void devices_have_topology_or_an_empty_one_or_none(void **state)
{
	struct arena *a = *state;
	/* Three devices: nodes 0 and 1; a topology without nodes; no topology, but field 4680. */
	struct str wire = WIRE("\x0A\x14"
			       "\x0A\x01"
			       "a"
			       "\x12\x07"
			       "Healthy"
			       "\x1A\x06"
			       "\x0A\x00"
			       "\x0A\x02\x08\x01"
			       "\x0A\x0E"
			       "\x0A\x01"
			       "b"
			       "\x12\x07"
			       "healthy"
			       "\x1A\x00"
			       "\x0A\x09"
			       "\x0A\x01"
			       "c"
			       "\xC2\xA4\x02\x02"
			       "ho");
	struct assign_device *v;
	struct error err;
	size_t n;
	void *m;

	m = unpack(a, plugin_wire_list_and_watch.response, wire);
	assert_int_equal(plugin_wire_devices(m, a, &v, &n, &err), 0);
	assert_int_equal(n, 3);
	assert_true(str_eqz(v[0].id, "a"));
	assert_int_equal(v[0].health, ASSIGN_HEALTHY);
	assert_true(v[0].has_topology);
	assert_int_equal(v[0].nnuma, 2);
	assert_int_equal(v[0].numa[0], 0);
	assert_int_equal(v[0].numa[1], 1);
	assert_int_equal(v[0].message.n, 0);
	assert_int_equal(v[1].health, ASSIGN_UNHEALTHY); /* the word is case-sensitive */
	assert_true(v[1].has_topology);
	assert_int_equal(v[1].nnuma, 0);
	assert_int_equal(v[2].health, ASSIGN_UNHEALTHY); /* and required */
	assert_false(v[2].has_topology);
	assert_true(str_eqz(v[2].message, "ho"));
}

static void messages_of_all_kinds_are_cleaned(void **state)
{
	static char sent[] = "too\nhot\n";
	Deviceplugin__ListAndWatchResponse list = DEVICEPLUGIN__LIST_AND_WATCH_RESPONSE__INIT;
	Deviceplugin__Device device = DEVICEPLUGIN__DEVICE__INIT;
	Drahealth__WatchResponse report = DRAHEALTH__WATCH_RESPONSE__INIT;
	Drahealth__DeviceHealth health = DRAHEALTH__DEVICE_HEALTH__INIT;
	Drahealth__NodeHealthResponse node_report = DRAHEALTH__NODE_HEALTH_RESPONSE__INIT;
	Drahealth__NodeDeviceHealth node_health = DRAHEALTH__NODE_DEVICE_HEALTH__INIT;
	struct plugin_health *u, *w;
	struct assign_device *v;
	size_t n;

	device.message = health.message = node_health.message = sent;
	list.n_devices = report.n_devices = node_report.n_devices = 1;
	list.devices = (Deviceplugin__Device *[]){ &device };
	report.devices = (Drahealth__DeviceHealth *[]){ &health };
	node_report.devices = (Drahealth__NodeDeviceHealth *[]){ &node_health };
	assert_int_equal(plugin_wire_devices(&list, *state, &v, &n, NULL), 0);
	assert_int_equal(plugin_wire_health[0].read(&report, *state, &u, &n, NULL), 0);
	assert_int_equal(plugin_wire_health[2].read(&node_report, *state, &w, &n, NULL), 0);
	assert_true(str_eqz(v[0].message, "too hot"));
	assert_true(str_eqz(u[0].message, "too hot"));
	assert_true(str_eqz(w[0].message, "too hot"));
}

static void too_many_devices_are_refused(void **state)
{
	Deviceplugin__ListAndWatchResponse m = DEVICEPLUGIN__LIST_AND_WATCH_RESPONSE__INIT;
	Drahealth__WatchResponse h = DRAHEALTH__WATCH_RESPONSE__INIT;
	Drahealth__NodeHealthResponse k = DRAHEALTH__NODE_HEALTH_RESPONSE__INIT;
	struct assign_device *v;
	struct plugin_health *u;
	struct error err;
	size_t n;

	m.n_devices = h.n_devices = k.n_devices = RESOURCE_DEVICES_MAX + 1;
	assert_int_equal(plugin_wire_devices(&m, *state, &v, &n, &err), -ERR_TOO_LARGE);
	assert_int_equal(plugin_wire_health[0].read(&h, *state, &u, &n, &err), -ERR_TOO_LARGE);
	assert_int_equal(plugin_wire_health[2].read(&k, *state, &u, &n, &err), -ERR_TOO_LARGE);
}

static void health_in_upstreams_dialect(void **state)
{
	struct arena *a = *state;
	/*
	 * pool "p", device "d", UNHEALTHY, updated 5, time-out 7, "hot"; then no device, value 9.
	 */
	struct str wire = WIRE("\x0A\x13"
			       "\x0A\x06\x0A\x01p\x12\x01"
			       "d"
			       "\x10\x02"
			       "\x18\x05"
			       "\x20\x07"
			       "\x2A\x03hot"
			       "\x0A\x02"
			       "\x10\x09");
	struct plugin_health *v;
	struct error err;
	size_t n;
	void *m = unpack(a, plugin_wire_health[0].watch.response, wire);

	assert_int_equal(plugin_wire_health[0].read(m, a, &v, &n, &err), 0);
	assert_int_equal(n, 2);
	assert_true(str_eqz(v[0].pool, "p"));
	assert_true(str_eqz(v[0].device, "d"));
	assert_int_equal(v[0].health, ASSIGN_UNHEALTHY);
	assert_int_equal(v[0].updated_s, 5);
	assert_int_equal(v[0].timeout_s, 7);
	assert_true(str_eqz(v[0].message, "hot"));
	assert_int_equal(v[1].health, ASSIGN_UNKNOWN);
	assert_int_equal(v[1].device.n, 0);
}

static void health_in_the_keps_dialect(void **state)
{
	struct arena *a = *state;
	struct str wire = WIRE("\x0A\x18"
			       "\x0A\x01p"
			       "\x12\x01"
			       "d"
			       "\x1A\x09Unhealthy"
			       "\x20\x05"
			       "\x28\x07"
			       "\x32\x01!"
			       "\x0A\x09"
			       "\x1A\x07Unknown");
	struct plugin_health *v;
	struct error err;
	size_t n;
	void *m = unpack(a, plugin_wire_health[2].watch.response, wire);

	assert_int_equal(plugin_wire_health[2].read(m, a, &v, &n, &err), 0);
	assert_int_equal(n, 2);
	assert_true(str_eqz(v[0].pool, "p"));
	assert_true(str_eqz(v[0].device, "d"));
	assert_int_equal(v[0].health, ASSIGN_UNHEALTHY);
	assert_int_equal(v[0].updated_s, 5);
	assert_int_equal(v[0].timeout_s, 7);
	assert_true(str_eqz(v[0].message, "!"));
	assert_int_equal(v[1].health, ASSIGN_UNKNOWN);
}

static void a_prepared_claim_has_its_share_and_the_last_entry_counts(void **state)
{
	struct arena *a = *state;
	const struct plugin_claim asked[] = { { .uid = STR("u") } };
	/*
	 * "u" with an error; then "u" with one device: request "r", pool, device, cdi "c", share
	 * "s".
	 */
	struct str wire = WIRE("\x0A\x08"
			       "\x0A\x01u"
			       "\x12\x03\x12\x01"
			       "e"
			       "\x0A\x16"
			       "\x0A\x01u"
			       "\x12\x11\x0A\x0F"
			       "\x0A\x01r"
			       "\x12\x01p"
			       "\x1A\x01"
			       "d"
			       "\x22\x01"
			       "c"
			       "\x2A\x01s");
	struct plugin_claim_result *v;
	struct error err;
	void *m = unpack(a, plugin_wire_dra[0].prepare.response, wire);

	assert_int_equal(plugin_wire_prepared(m, STR("driver"), asked, 1, a, &v, &err), 0);
	assert_true(str_eqz(v[0].uid, "u"));
	assert_int_equal(v[0].error.n, 0);
	assert_int_equal(v[0].ndevices, 1);
	assert_true(str_eqz(v[0].devices[0].driver, "driver"));
	assert_true(str_eqz(v[0].devices[0].pool, "p"));
	assert_true(str_eqz(v[0].devices[0].device, "d"));
	assert_int_equal(v[0].devices[0].nrequests, 1);
	assert_true(str_eqz(v[0].devices[0].requests[0], "r"));
	assert_int_equal(v[0].devices[0].ncdi, 1);
	assert_true(str_eqz(v[0].devices[0].cdi[0], "c"));
	assert_true(str_eqz(v[0].devices[0].share_id, "s"));
}

static void an_entry_without_a_value_is_a_claim_without_devices(void **state)
{
	struct arena *a = *state;
	const struct plugin_claim asked[] = { { .uid = STR("u") } };
	struct plugin_claim_result *v;
	struct error err;
	void *m = unpack(a, plugin_wire_dra[0].prepare.response,
			 WIRE("\x0A\x03"
			      "\x0A\x01u"));

	assert_int_equal(plugin_wire_prepared(m, STR("driver"), asked, 1, a, &v, &err), 0);
	assert_int_equal(v[0].ndevices, 0);
	assert_int_equal(v[0].error.n, 0);
	m = unpack(a, plugin_wire_dra[0].unprepare.response,
		   WIRE("\x0A\x03"
			"\x0A\x01u"));
	assert_int_equal(plugin_wire_unprepared(m, asked, 1, a, &v, &err), 0);
	m = unpack(a, plugin_wire_dra[0].unprepare.response,
		   WIRE("\x0A\x08"
			"\x0A\x01u"
			"\x12\x03\x0A\x01"
			"e"));
	assert_int_equal(plugin_wire_unprepared(m, asked, 1, a, &v, &err), 0);
	assert_true(str_eqz(v[0].error, "e"));
}

static void failures_read_as_grpc_go_prints_them(void **state UNUSED)
{
	struct grpc_status st = { GRPC_CANCELLED, STR("gone") };
	struct error err;

	assert_int_equal(plugin_wire_error(&st, &err), -ERR_CANCELED);
	assert_string_equal(err.msg, "rpc error: code = Canceled desc = gone");
	assert_string_equal(plugin_wire_code((enum grpc_code)99), "Unknown");
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(paths_are_upstreams),
		TEST(devices_have_topology_or_an_empty_one_or_none),
		TEST(messages_of_all_kinds_are_cleaned),
		TEST(too_many_devices_are_refused),
		TEST(health_in_upstreams_dialect),
		TEST(health_in_the_keps_dialect),
		TEST(a_prepared_claim_has_its_share_and_the_last_entry_counts),
		TEST(an_entry_without_a_value_is_a_claim_without_devices),
		TEST(failures_read_as_grpc_go_prints_them),
	};

	return cmocka_run_group_tests_name("node/plugin_wire", tests, NULL, NULL);
}
