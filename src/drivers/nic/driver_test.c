/*
 * The net driver as a whole, in real network namespaces: kubelet, runtime and API server are this
 * process.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <unistd.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/system/file.h"
#include "base/system/folder.h"
#include "drivers/nic/driver_impl.h"
#include "drivers/nic/node_world.h"

/* --- looking ------------------------------------------------------------------------------- */

static const char *const addressed = "{\"network\":\"blue\",\"interfaceName\":\"net1\","
				     "\"addresses\":[\"192.0.2.5/24\"],\"mtu\":1400}";

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("\"%s\" is not in \"%s\"", part, text);
}

static void prepare(struct nic_node *w, int n, const char *device, const char *parameters,
		    const char *pods)
{
	nic_node_claim(w, n, device, parameters, pods);
	nic_node_prepare(w, n);
}

/* --- the way of a claim -------------------------------------------------------------------- */

static void a_claim_goes_all_the_way(void **state)
{
	struct nic_node *w = *state;
	const struct json *e;

	prepare(w, 1, "veth-0", addressed, "1");
	assert_string_equal(w->error, "");
	e = nic_node_reason(w, 1, "Prepared");
	nic_node_text(e, "/data/network", "blue");
	assert_null(json_getz(e, "networkData"));
	assert_int_equal(nic_node_index(w->pods[1], "net1"), 0);

	nic_node_ask(w, "/add", 1, "");
	assert_int_equal(w->status, 200);
	assert_has(w->answer, "\"name\":\"net1\"");
	assert_has(w->answer, "192.0.2.5/24");
	e = nic_node_reason(w, 1, "Attached");
	nic_node_text(e, "/conditions/0/status", "True");
	nic_node_text(e, "/networkData/interfaceName", "net1");
	nic_node_text(e, "/networkData/ips/0", "192.0.2.5/24");
	nic_node_text(e, "/data/kind", "veth");
	assert_int_equal(json_i64_at(json_getz(e, "data"), "mtu", 0), 1400);
	nic_node_ask(w, "/check", 1, "");
	assert_int_equal(w->status, 200);

	nic_node_ask(w, "/del", 1, "");
	assert_int_equal(w->status, 200);
	e = nic_node_reason(w, 1, "Detached");
	assert_null(json_getz(e, "networkData"));
	assert_int_equal(nic_node_index(w->pods[1], "net1"), 0);

	nic_node_unprepare(w, 1);
	assert_string_equal(w->error, "");
	nic_node_no_entry(w, 1);
}

static uint32_t health_of(struct nic_node *w, const char *device)
{
	const struct device *d = device_table_find(w->driver->driver->table, STR("node"),
						   str_from(device));

	return d ? d->health : DP_UNREPORTED;
}

static bool is_unhealthy(struct nic_node *w)
{
	return health_of(w, "veth-0") == DP_UNHEALTHY;
}

static bool is_healthy(struct nic_node *w)
{
	return health_of(w, "veth-0") == DP_HEALTHY;
}

static void the_status_shows_what_the_kernel_reports(void **state)
{
	struct nic_node *w = *state;
	struct rtnl_address a = { 0 };
	struct rtnl_change rename = { .name = "other" };
	const struct json *e;

	nic_node_attach(w, 1, "veth-0", addressed);
	(void)nic_node_reason(w, 1, "Attached");

	nic_node_set_link(w->pods[1], "net1", false);
	e = nic_node_reason(w, 1, "LinkDown");
	nic_node_text(e, "/conditions/0/message", "net1 is switched off");
	nic_node_wait(w, is_unhealthy);
	nic_node_ask(w, "/check", 1, "");
	assert_int_not_equal(w->status, 200);
	assert_has(w->answer, "LinkDown");

	assert_int_equal(
		rtnl_link_change(w->pods[1], nic_node_index(w->pods[1], "net1"), &rename, NULL), 0);
	nic_node_set_link(w->pods[1], "other", true);
	e = nic_node_reason(w, 1, "Attached");
	nic_node_text(e, "/networkData/interfaceName", "other");
	nic_node_wait(w, is_healthy);

	assert_true(rtnl_ip_parse(STR("192.0.2.5/24"), false, &a.ip));
	a.index = nic_node_index(w->pods[1], "other");
	assert_int_equal(rtnl_address_delete(w->pods[1], &a, NULL), 0);
	e = nic_node_reason(w, 1, "AddressMissing");
	assert_null(json_pointer(e, STR("/networkData/ips/0")));

	assert_int_equal(rtnl_link_delete(w->pods[1], a.index, NULL), 0);
	e = nic_node_reason(w, 1, "InterfaceGone");
	assert_null(json_getz(e, "networkData"));
	nic_node_unprepare(w, 1);
	assert_string_equal(w->error, "");
}

static void an_interface_of_the_node_is_moved_and_comes_back(void **state)
{
	struct nic_node *w = *state;
	struct rtnl_link before, after;

	assert_int_equal(rtnl_link_by_name(w->host, "host0", &before, NULL), 0);
	nic_node_attach(w, 1, "host0", "{\"mtu\":1300,\"hardwareAddress\":\"02:00:00:00:00:77\"}");
	nic_node_text(nic_node_reason(w, 1, "Attached"), "/networkData/hardwareAddress",
		      "02:00:00:00:00:77");
	assert_int_equal(nic_node_index(w->host, "host0"), 0);
	assert_int_not_equal(nic_node_index(w->pods[1], "net1"), 0);

	/* Unprepare alone takes it back, too. */
	nic_node_unprepare(w, 1);
	assert_string_equal(w->error, "");
	assert_int_equal(rtnl_link_by_name(w->host, "host0", &after, NULL), 0);
	assert_int_equal(after.mtu, before.mtu);
	assert_true(rtnl_mac_equal(&after.mac, &before.mac));
	assert_int_equal(after.up, before.up);
	nic_node_ask(w, "/del", 1, "");
	assert_int_equal(w->status, 200);
}

/* --- refusals ------------------------------------------------------------------------------ */

static void an_unusable_claim_is_rejected_with_a_message(void **state)
{
	struct nic_node *w = *state;
	const struct json *e;

	prepare(w, 1, "veth-0", "{\"adresses\":[]}", "1");
	assert_has(w->error, "did you mean addresses");
	e = nic_node_reason(w, 1, "InvalidConfig");
	nic_node_text(e, "/conditions/0/message", w->error);

	prepare(w, 2, "veth-0", NULL, "12");
	assert_has(w->error, "pod-1, pod-2");
	(void)nic_node_reason(w, 2, "ReservedForSeveralPods");

	prepare(w, 3, "veth-0", NULL, "");
	assert_has(w->error, "no pod");
	(void)nic_node_reason(w, 3, "Refused");

	prepare(w, 4, "veth-0", addressed, "1");
	assert_string_equal(w->error, "");
	prepare(w, 5, "veth-0", NULL, "2");
	assert_has(w->error, "in use by claim default/claim-4");
	prepare(w, 6, "veth-1", addressed, "1");
	assert_has(w->error, "interfaceName net1 is wanted");

	/* Unpreparing a rejected claim succeeds. */
	nic_node_unprepare(w, 2);
	assert_string_equal(w->error, "");
	nic_node_no_entry(w, 2);
}

static void preparing_again_changes_nothing_and_a_second_pod_is_refused(void **state)
{
	struct nic_node *w = *state;

	nic_node_attach(w, 1, "veth-0", addressed);
	nic_node_prepare(w, 1);
	assert_string_equal(w->error, "");
	(void)nic_node_reason(w, 1, "Attached");

	nic_node_reserve(w, 1, "12");
	nic_node_prepare(w, 1);
	assert_has(w->error, "pod-1, pod-2");
	/* The first keeps it. */
	nic_node_text(nic_node_reason(w, 1, "ReservedForSeveralPods"), "/networkData/interfaceName",
		      "net1");
	nic_node_reserve(w, 1, "1");
	nic_node_prepare(w, 1);
	assert_string_equal(w->error, "");
	(void)nic_node_reason(w, 1, "Attached");
}

static void a_second_pod_is_refused_at_its_sandbox_until_the_claim_is_its_own(void **state)
{
	struct nic_node *w = *state;

	nic_node_attach(w, 1, "veth-0", addressed);
	nic_node_reserve(w, 1, "12");
	nic_node_pod(w, 2, 1);
	nic_node_pod(w, 3, 9);
	nic_node_ask(w, "/add", 2, "");
	assert_int_not_equal(w->status, 200);
	assert_has(w->answer, "pod-1, pod-2");
	(void)nic_node_reason(w, 1, "ReservedForSeveralPods");
	/* A pod that names another claim goes on. */
	nic_node_ask(w, "/add", 3, "");
	assert_int_equal(w->status, 200);

	nic_node_reserve(w, 1, "2");
	nic_node_ask(w, "/add", 2, "");
	assert_int_equal(w->status, 200);
	(void)nic_node_reason(w, 1, "Attached");
	assert_int_equal(nic_node_index(w->pods[1], "net1"), 0);
	assert_int_not_equal(nic_node_index(w->pods[2], "net1"), 0);
}

/* --- sandboxes ----------------------------------------------------------------------------- */

static void a_sandbox_has_all_interfaces_or_none(void **state)
{
	struct nic_node *w = *state;
	struct rtnl_new_link taken = {
		.kind = "veth", .name = "net7", .peer = "net7x", .ns_fd = -1
	};

	prepare(w, 1, "veth-0", addressed, "1");
	prepare(w, 2, "veth-1", "{\"interfaceName\":\"net7\"}", "1");
	assert_int_equal(rtnl_link_add(w->pods[1], &taken, NULL), 0);
	nic_node_ask(w, "/add", 1, "");
	assert_int_not_equal(w->status, 200);
	assert_has(w->answer, "net7");
	(void)nic_node_reason(w, 1, "AttachFailed");
	(void)nic_node_reason(w, 2, "AttachFailed");
	assert_int_equal(nic_node_index(w->pods[1], "net1"), 0);

	assert_int_equal(rtnl_link_delete(w->pods[1], nic_node_index(w->pods[1], "net7"), NULL), 0);
	nic_node_ask(w, "/add", 1, "");
	assert_int_equal(w->status, 200);
	(void)nic_node_reason(w, 1, "Attached");
	(void)nic_node_reason(w, 2, "Attached");
}

static void a_new_sandbox_of_the_pod_takes_over(void **state)
{
	struct nic_node *w = *state;
	int first;

	nic_node_attach(w, 1, "veth-0", addressed);
	first = nic_node_index(w->pods[1], "net1");
	nic_node_ask(w, "/add", 1, "");
	assert_int_equal(w->status, 200);
	assert_int_equal(nic_node_index(w->pods[1], "net1"), first);

	nic_node_ask(w, "/add", 1, "-again");
	assert_int_equal(w->status, 200);
	assert_int_not_equal(nic_node_index(w->pods[1], "net1"), first);
	/* Ending the old sandbox does not affect the new one. */
	nic_node_ask(w, "/del", 1, "");
	assert_int_equal(w->status, 200);
	assert_int_not_equal(nic_node_index(w->pods[1], "net1"), 0);
	nic_node_ask(w, "/del", 1, "-again");
	assert_int_equal(nic_node_index(w->pods[1], "net1"), 0);
}

static void interfaces_that_the_runtime_forgot_are_collected(void **state)
{
	struct nic_node *w = *state;

	nic_node_attach(w, 1, "veth-0", NULL);
	nic_node_attach(w, 2, "veth-1", NULL);
	nic_node_say_text(w, "/gc",
			  "{\"network\":\"pods\",\"valid\":[{\"containerID\":\"c1\","
			  "\"ifname\":\"eth0\"}]}");
	(void)nic_node_reason(w, 2, "Detached");
	(void)nic_node_reason(w, 1, "Attached");
	nic_node_hang_up(w);
	assert_int_not_equal(nic_node_index(w->pods[1], "net1"), 0);
	assert_int_equal(nic_node_index(w->pods[2], "net1"), 0);
}

static void ask_text(struct nic_node *w, const char *target, const char *body)
{
	nic_node_say_text(w, target, body);
	nic_node_hear(w);
}

static void only_interfaces_of_the_named_network_are_collected(void **state)
{
	struct nic_node *w = *state;

	nic_node_attach(w, 1, "veth-0", NULL);
	ask_text(w, "/gc", "{\"network\":\"others\",\"valid\":[]}");
	assert_int_equal(w->status, 200);
	assert_int_not_equal(nic_node_index(w->pods[1], "net1"), 0);
	/* Without a network, or a list, nothing is known. */
	ask_text(w, "/gc", "{\"valid\":[]}");
	assert_int_equal(w->status, 400);
	ask_text(w, "/gc", "{\"network\":\"pods\"}");
	assert_int_equal(w->status, 400);
	assert_int_not_equal(nic_node_index(w->pods[1], "net1"), 0);

	/* It is remembered. */
	nic_node_stop(w);
	nic_node_start(w);
	ask_text(w, "/gc", "{\"network\":\"pods\",\"valid\":[]}");
	assert_int_equal(w->status, 200);
	assert_int_equal(nic_node_index(w->pods[1], "net1"), 0);
	(void)nic_node_reason(w, 1, "Detached");
}

/* The request of a runtime that does not pass UIDs. */
static void ask_without_uid(struct nic_node *w, int n, const char *ns, const char *name)
{
	char body[512];

	(void)snprintf(
		body, sizeof(body),
		"{\"containerID\":\"c%d\",\"netns\":\"/proc/self/fd/%d\",\"ifname\":\"eth0\","
		"\"podName\":\"%s\",\"podNamespace\":\"%s\"}",
		n, NIC_NODE_POD_FD + n, name, ns);
	ask_text(w, "/add", body);
}

static void a_pod_without_a_uid_is_found_by_its_name_or_refused(void **state)
{
	struct nic_node *w = *state;

	ask_without_uid(w, 1, "", "");
	assert_int_equal(w->status, 200);
	prepare(w, 1, "veth-0", addressed, "1");
	assert_string_equal(w->error, "");
	/* Any may be the one that has it; a second one may want it, too. */
	ask_without_uid(w, 2, "", "");
	assert_int_not_equal(w->status, 200);
	assert_has(w->answer, "\"code\":4,");
	assert_has(w->answer, "K8S_POD_UID");
	ask_without_uid(w, 2, "default", "pod-2");
	assert_int_not_equal(w->status, 200);
	ask_without_uid(w, 2, "elsewhere", "pod-1");
	assert_int_equal(w->status, 200);
	assert_int_equal(nic_node_index(w->pods[2], "net1"), 0);

	ask_without_uid(w, 1, "default", "pod-1");
	assert_int_equal(w->status, 200);
	assert_has(w->answer, "\"name\":\"net1\"");
	assert_int_not_equal(nic_node_index(w->pods[1], "net1"), 0);
	/* A container without Kubernetes has nothing to wait for now. */
	ask_without_uid(w, 2, "", "");
	assert_int_equal(w->status, 200);
}

static void a_pod_without_claims_is_answered_at_once(void **state)
{
	struct nic_node *w = *state;

	nic_node_ask(w, "/add", 1, "");
	assert_int_equal(w->status, 200);
	assert_has(w->answer, "\"interfaces\":[]");
	nic_node_ask(w, "/del", 1, "");
	assert_int_equal(w->status, 200);
}

static bool is_back(struct nic_node *w)
{
	return nic_node_index(w->host, "host0") != 0;
}

static bool is_out(struct nic_node *w)
{
	return !is_back(w);
}

static void a_caller_that_hangs_up_gets_no_interface(void **state)
{
	struct nic_node *w = *state;

	prepare(w, 1, "host0", NULL, "1");
	prepare(w, 2, "veth-0", NULL, "2");
	/* A claim of another pod in the namespace: the API server is asked first. */
	nic_node_pod(w, 1, 1);
	nic_node_say(w, "/add", 1, "");
	nic_node_hang_up(w);
	/* The next request comes after it in any case. */
	nic_node_ask(w, "/del", 1, "");
	assert_int_equal(w->status, 200);
	assert_true(is_back(w));
}

/* --- plugins ------------------------------------------------------------------------------- */

static void make_plugin(struct nic_node *w, const char *name, const char *script)
{
	char path[160], text[512];

	(void)snprintf(path, sizeof(path), "%s/%s", w->bin, name);
	(void)snprintf(text, sizeof(text), "#!/bin/sh\necho $CNI_COMMAND >>%s/calls\n%s\n", w->root,
		       script);
	assert_int_equal(folder_make(w->bin, 0700, NULL), 0);
	assert_int_equal(file_write_atomic(path, str_from(text), 0700, NULL), 0);
}

static void assert_calls(struct nic_node *w, const char *want)
{
	struct buf text = BUF_INIT(KIB);
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/calls", w->root);
	(void)file_read(path, &text, NULL);
	assert_string_equal(text.n > 0 ? text.p : "", want);
	buf_release(&text);
}

static void a_plugin_that_fails_is_heard_and_asked_to_clean_up(void **state)
{
	struct nic_node *w = *state;

	make_plugin(w, "bad",
		    "[ $CNI_COMMAND = DEL ] && exit 0\n"
		    "echo '{\"cniVersion\":\"1.0.0\",\"code\":111,\"msg\":\"no cable\"}'; exit 1");
	prepare(w, 1, "veth-0", "{\"cni\":{\"type\":\"bad\"}}", "1");
	assert_string_equal(w->error, "");
	nic_node_ask(w, "/add", 1, "");
	assert_int_not_equal(w->status, 200);
	assert_has(w->answer, "no cable");
	(void)nic_node_reason(w, 1, "AttachFailed");
	assert_calls(w, "ADD\nDEL\n");
	nic_node_unprepare(w, 1);
	assert_string_equal(w->error, "");
}

static bool is_called(struct nic_node *w)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/calls", w->root);
	return access(path, F_OK) == 0;
}

/* It makes nothing; what is called net1 in the pod is taken for its work, and renamed. */
static void a_plugin_is_asked_to_delete_what_it_was_asked_to_make(void **state)
{
	struct nic_node *w = *state;
	struct rtnl_new_link l = { .kind = "veth", .name = "net1", .peer = "y0", .ns_fd = -1 };

	char go[128];

	make_plugin(w, "named",
		    "echo $CNI_IFNAME >>${0%/*}/../calls\n"
		    "[ $CNI_COMMAND = DEL ] && exit 0\n"
		    "until [ -e ${0%/*}/../go ]; do sleep 0.01; done\n"
		    "echo '{\"cniVersion\":\"1.0.0\"}'");
	prepare(w, 1, "veth-0", "{\"cni\":{\"type\":\"named\"}}", "1");
	nic_node_say(w, "/add", 1, "");
	nic_node_wait(w, is_called);
	assert_int_equal(rtnl_link_add(w->pods[1], &l, NULL), 0);
	(void)snprintf(go, sizeof(go), "%s/go", w->root);
	assert_int_equal(file_write_atomic(go, STR(""), 0600, NULL), 0);
	nic_node_hear(w);
	if (w->status != 200)
		fail_msg("%s", w->answer);
	nic_node_set_link(w->pods[1], "net1", false);
	assert_int_equal(rtnl_link_change(w->pods[1], nic_node_index(w->pods[1], "net1"),
					  &(struct rtnl_change){ .name = "evil0" }, NULL),
			 0);
	nic_view_look(nic_view_of(nic_book_next(w->driver->book, NULL)));
	nic_node_ask(w, "/del", 1, "");
	assert_int_equal(w->status, 200);
	assert_calls(w, "ADD\nnet1\nDEL\nnet1\n");
	assert_int_equal(rtnl_link_delete(w->pods[1], nic_node_index(w->pods[1], "evil0"), NULL),
			 0);
}

static void a_plugin_that_is_not_there_leaves_nothing_behind(void **state)
{
	struct nic_node *w = *state;

	prepare(w, 1, "veth-0", "{\"cni\":{\"type\":\"none\"}}", "1");
	nic_node_ask(w, "/add", 1, "");
	assert_int_not_equal(w->status, 200);
	assert_has(w->answer, "no CNI plugin");
	(void)nic_node_reason(w, 1, "AttachFailed");
	nic_node_unprepare(w, 1);
	assert_string_equal(w->error, "");
}

static void questions_of_a_pod_wait_for_each_other_and_not_for_other_pods(void **state)
{
	struct nic_node *w = *state;
	int slow;

	/* Ends when a file is there. */
	make_plugin(w, "slow", "while [ ! -e \"$0.go\" ]; do sleep 0.01; done; exit 1");
	prepare(w, 1, "veth-0", "{\"cni\":{\"type\":\"slow\"}}", "1");
	prepare(w, 2, "veth-1", addressed, "2");
	nic_node_pod(w, 1, 1);
	nic_node_pod(w, 2, 2);
	nic_node_say(w, "/add", 1, "");
	slow = w->client;
	nic_node_wait(w, is_called);
	nic_node_ask(w, "/add", 2, "");
	assert_int_equal(w->status, 200);
	/* The end of the sandbox waits for the plugin, which goes on though its asker has gone. */
	(void)close(slow);
	nic_node_say(w, "/del", 1, "");
	make_plugin(w, "slow.go", "");
	nic_node_hear(w);
	assert_calls(w, "ADD\nDEL\nDEL\n");
}

static void a_claim_may_not_name_any_plugin(void **state)
{
	struct nic_node *w = *state;
	const struct json *e;

	nic_node_stop(w);
	w->claim_cni = "bad,bridge";
	nic_node_start(w);
	make_plugin(w, "host-device", "exit 1");
	prepare(w, 1, "veth-0", "{\"cni\":{\"type\":\"host-device\"}}", "1");
	assert_string_equal(w->error,
			    "parameters.cni.type: a claim may not name the plugin \"host-device\": "
			    "this node allows bad, bridge; a DeviceClass may");
	e = nic_node_reason(w, 1, "InvalidConfig");
	nic_node_text(e, "/conditions/0/message", w->error);
	nic_node_ask(w, "/add", 1, "");
	assert_calls(w, "");

	/* One that it might when it was prepared stays so when the driver is stricter. */
	prepare(w, 2, "veth-0", "{\"cni\":{\"type\":\"bad\"}}", "2");
	assert_string_equal(w->error, "");
	nic_node_stop(w);
	w->claim_cni = "none";
	nic_node_start(w);
	nic_node_prepare(w, 2);
	assert_string_equal(w->error, "");
	prepare(w, 3, "veth-1", "{\"cni\":{\"type\":\"bad\"}}", "3");
	assert_has(w->error, "this node allows none");
}

/* --- the driver ends ----------------------------------------------------------------------- */

static void a_driver_that_starts_again_follows_what_is_in_pods(void **state)
{
	struct nic_node *w = *state;

	nic_node_attach(w, 1, "veth-0", addressed);
	(void)nic_node_reason(w, 1, "Attached");
	nic_node_stop(w);
	nic_node_set_link(w->pods[1], "net1", false);
	nic_node_start(w);
	(void)nic_node_reason(w, 1, "LinkDown");
	nic_node_set_link(w->pods[1], "net1", true);
	(void)nic_node_reason(w, 1, "Attached");
	nic_node_ask(w, "/del", 1, "");
	assert_int_equal(w->status, 200);
	assert_int_equal(nic_node_index(w->pods[1], "net1"), 0);
	nic_node_unprepare(w, 1);
	assert_string_equal(w->error, "");
}

static bool is_published(struct nic_node *w)
{
	return health_of(w, "host0") == DP_HEALTHY;
}

static void an_interface_in_a_pod_is_still_offered_after_a_restart(void **state)
{
	struct nic_node *w = *state;

	nic_node_attach(w, 1, "host0", NULL);
	(void)nic_node_reason(w, 1, "Attached");
	nic_node_stop(w);
	nic_node_start(w);
	nic_node_wait(w, is_published);
	assert_true(is_out(w));
	nic_node_unprepare(w, 1);
	assert_string_equal(w->error, "");
	assert_true(is_back(w));
	assert_true(is_published(w));
}

static void a_namespace_that_ended_while_the_driver_was_away_is_noticed(void **state)
{
	struct nic_node *w = *state;

	nic_node_attach(w, 1, "veth-0", addressed);
	(void)nic_node_reason(w, 1, "Attached");
	nic_node_stop(w);
	nic_node_end_pod(w, 1);
	nic_node_start(w);
	(void)nic_node_reason(w, 1, "Detached");
	nic_node_unprepare(w, 1);
	assert_string_equal(w->error, "");
}

static void a_driver_that_ends_in_the_middle_of_a_plugin_takes_back_at_its_start(void **state)
{
	struct nic_node *w = *state;

	make_plugin(w, "slow", "[ $CNI_COMMAND = DEL ] || exec sleep 1000");
	prepare(w, 1, "veth-0", "{\"cni\":{\"type\":\"slow\"}}", "1");
	nic_node_say(w, "/add", 1, "");
	nic_node_wait(w, is_called);
	nic_node_hang_up(w);
	nic_node_stop(w);
	nic_node_start(w);
	(void)nic_node_reason(w, 1, "Detached");
	assert_calls(w, "ADD\nDEL\n");
	nic_node_unprepare(w, 1);
	assert_string_equal(w->error, "");
}

/* --- what nobody tells --------------------------------------------------------------------- */

static void a_namespace_that_ends_without_a_word_gives_the_interface_back(void **state)
{
	struct nic_node *w = *state;

	nic_node_attach(w, 1, "host0", NULL);
	(void)nic_node_reason(w, 1, "Attached");
	nic_sandbox_sweep(w->driver);
	assert_true(is_out(w));
	nic_node_end_pod(w, 1);
	nic_sandbox_sweep(w->driver);
	(void)nic_node_reason(w, 1, "Detached");
	assert_true(is_back(w));
}

static void a_claim_that_is_one_pod_s_again_is_found_by_looking(void **state)
{
	struct nic_node *w = *state;

	nic_node_attach(w, 1, "veth-0", addressed);
	nic_node_reserve(w, 1, "12");
	nic_node_prepare(w, 1);
	(void)nic_node_reason(w, 1, "ReservedForSeveralPods");
	nic_node_reserve(w, 1, "1");
	nic_second_look(w->driver);
	(void)nic_node_reason(w, 1, "Attached");
}

/* --- listing ------------------------------------------------------------------------------- */

static void devices_are_listed_with_who_has_them(void **state)
{
	struct nic_node *w = *state;
	struct buf text = BUF_INIT(MIB);
	struct json_writer out;

	nic_node_attach(w, 1, "host0", addressed);
	nic_node_wait(w, is_out);
	json_writer_init(&out, &text, NULL);
	nic_driver_list(w->driver, &out);
	assert_int_equal(json_writer_finish(&out), 0);
	assert_has(text.p, "\"device\":\"host0\",\"kind\":\"host\",\"interface\":\"net1\","
			   "\"state\":\"attached\",\"pod\":\"default/pod-1\","
			   "\"claim\":\"default/claim-1\"");
	assert_has(text.p, "\"device\":\"veth-2\",\"kind\":\"veth\",\"interface\":\"\","
			   "\"state\":\"free\"");
	buf_release(&text);
	nic_node_unprepare(w, 1);
	assert_string_equal(w->error, "");
}

#define WORLD_TEST(f) cmocka_unit_test_setup_teardown(f, nic_node_set_up, nic_node_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_claim_goes_all_the_way),
		WORLD_TEST(the_status_shows_what_the_kernel_reports),
		WORLD_TEST(an_interface_of_the_node_is_moved_and_comes_back),
		WORLD_TEST(an_unusable_claim_is_rejected_with_a_message),
		WORLD_TEST(preparing_again_changes_nothing_and_a_second_pod_is_refused),
		WORLD_TEST(a_second_pod_is_refused_at_its_sandbox_until_the_claim_is_its_own),
		WORLD_TEST(a_sandbox_has_all_interfaces_or_none),
		WORLD_TEST(a_new_sandbox_of_the_pod_takes_over),
		WORLD_TEST(interfaces_that_the_runtime_forgot_are_collected),
		WORLD_TEST(only_interfaces_of_the_named_network_are_collected),
		WORLD_TEST(a_pod_without_a_uid_is_found_by_its_name_or_refused),
		WORLD_TEST(a_pod_without_claims_is_answered_at_once),
		WORLD_TEST(a_caller_that_hangs_up_gets_no_interface),
		WORLD_TEST(a_plugin_is_asked_to_delete_what_it_was_asked_to_make),
		WORLD_TEST(a_plugin_that_fails_is_heard_and_asked_to_clean_up),
		WORLD_TEST(a_plugin_that_is_not_there_leaves_nothing_behind),
		WORLD_TEST(a_claim_may_not_name_any_plugin),
		WORLD_TEST(questions_of_a_pod_wait_for_each_other_and_not_for_other_pods),
		WORLD_TEST(a_driver_that_starts_again_follows_what_is_in_pods),
		WORLD_TEST(an_interface_in_a_pod_is_still_offered_after_a_restart),
		WORLD_TEST(a_namespace_that_ended_while_the_driver_was_away_is_noticed),
		WORLD_TEST(a_driver_that_ends_in_the_middle_of_a_plugin_takes_back_at_its_start),
		WORLD_TEST(a_namespace_that_ends_without_a_word_gives_the_interface_back),
		WORLD_TEST(a_claim_that_is_one_pod_s_again_is_found_by_looking),
		WORLD_TEST(devices_are_listed_with_who_has_them),
	};

	if (!nic_node_enter()) {
		printf("1..0 # SKIP no network namespaces\n");
		return 0;
	}
	return cmocka_run_group_tests_name("drivers/nic_driver", tests, NULL, NULL);
}
