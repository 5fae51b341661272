/*
 * Failures that neither a pod nor an unlucky order of events may cause, with the whole net driver,
 * as in driver_test.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/file.h"
#include "base/system/folder.h"
#include "drivers/nic/driver_impl.h"
#include "drivers/nic/node_world.h"

static const char *const slow = "{\"cni\":{\"type\":\"slow\"}}";

/* --- looking ------------------------------------------------------------------------------- */

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("\"%s\" is not in \"%s\"", part, text);
}

static struct nic_view *view(struct nic_node *w)
{
	return nic_view_of(nic_book_next(w->driver->book, NULL));
}

static size_t count_jobs(const struct nic_node *w)
{
	size_t n = 0;

	LIST_FOREACH (it, &w->driver->jobs)
		n++;
	return n;
}

static bool is_idle(struct nic_node *w)
{
	return count_jobs(w) == 0;
}

static bool has_job(struct nic_node *w)
{
	return count_jobs(w) == 1;
}

static bool has_three_jobs(struct nic_node *w)
{
	return count_jobs(w) == 3;
}

static bool has_four_jobs(struct nic_node *w)
{
	return count_jobs(w) == 4;
}

/* --- doing --------------------------------------------------------------------------------- */

static void prepare(struct nic_node *w, int n, const char *device, const char *parameters,
		    const char *pods)
{
	nic_node_claim(w, n, device, parameters, pods);
	nic_node_prepare(w, n);
}

static void attach(struct nic_node *w, int n, const char *device, const char *parameters)
{
	char pods[2] = { (char)('0' + n), 0 };

	prepare(w, n, device, parameters, pods);
	assert_string_equal(w->error, "");
	nic_node_ask(w, "/add", n, "");
	if (w->status != 200)
		fail_msg("%s", w->answer);
}

static void change(struct rtnl *r, const char *name, struct rtnl_change c)
{
	assert_int_equal(rtnl_link_change(r, nic_node_index(r, name), &c, NULL), 0);
}

static void write_file(struct nic_node *w, const char *name, const char *text)
{
	char path[160];

	(void)snprintf(path, sizeof(path), "%s/%s", w->bin, name);
	assert_int_equal(folder_make(w->bin, 0700, NULL), 0);
	assert_int_equal(file_write_atomic(path, str_from(text), 0700, NULL), 0);
}

/* ADD says that it has begun and fails when it is let go. */
static void make_slow_plugin(struct nic_node *w)
{
	write_file(w, "slow",
		   "#!/bin/sh\n[ $CNI_COMMAND = DEL ] && exit 0\n: >\"$0.at.$CNI_CONTAINERID\"\n"
		   "while [ ! -e \"$0.go.$CNI_CONTAINERID\" ]; do sleep 0.01; done; exit 1\n");
}

static bool is_at(struct nic_node *w, const char *container)
{
	char path[160];

	(void)snprintf(path, sizeof(path), "%s/slow.at.%s", w->bin, container);
	return access(path, F_OK) == 0;
}

static bool is_at_first(struct nic_node *w)
{
	return is_at(w, "c1");
}

static bool is_at_second(struct nic_node *w)
{
	return is_at(w, "c2");
}

/* The plugin is at work for pod 1, and pod 2, which the claim is reserved for by now, waits. */
static int make_queue(struct nic_node *w)
{
	int first;

	make_slow_plugin(w);
	prepare(w, 1, "veth-0", slow, "1");
	assert_string_equal(w->error, "");
	nic_node_say(w, "/add", 1, "");
	first = w->client;
	nic_node_wait(w, is_at_first);
	nic_node_reserve(w, 1, "2");
	nic_node_pod(w, 2, 1);
	nic_node_say(w, "/add", 2, "");
	nic_node_wait(w, has_three_jobs);
	return first;
}

/* --- one after the other ------------------------------------------------------------------- */

static void a_claim_that_was_handed_over_ends_after_its_new_pod_s_sandbox(void **state)
{
	struct nic_node *w = *state;
	int first = make_queue(w);

	nic_node_begin(w, true, 1);
	nic_node_wait(w, has_four_jobs);
	write_file(w, "slow.go.c1", "");
	nic_node_wait(w, is_at_second);
	assert_false(w->done);
	assert_int_equal(count_jobs(w), 2);
	write_file(w, "slow.go.c2", "");
	nic_node_end(w);
	assert_string_equal(w->error, "");
	(void)close(first);
	nic_node_hang_up(w);
	nic_node_wait(w, is_idle);
	assert_null(nic_book_next(w->driver->book, NULL));
}

static void a_driver_can_end_while_a_claim_is_handed_over(void **state)
{
	struct nic_node *w = *state;
	int first = make_queue(w);

	nic_node_stop(w);
	(void)close(first);
	nic_node_hang_up(w);
	nic_node_start(w);
	nic_node_unprepare(w, 1);
	assert_string_equal(w->error, "");
}

static void a_driver_can_end_while_a_pod_is_asked_for(void **state)
{
	struct nic_node *w = *state;

	nic_node_claim(w, 1, "veth-0", NULL, "1");
	nic_node_begin(w, false, 1);
	nic_node_wait(w, has_job);
	nic_node_stop(w);
	nic_node_start(w);
	nic_node_prepare(w, 1);
	assert_string_equal(w->error, "");
}

static void another_allocation_waits_for_the_sandbox_that_is_being_made(void **state)
{
	struct nic_node *w = *state;

	make_slow_plugin(w);
	prepare(w, 1, "veth-0", slow, "1");
	prepare(w, 2, "veth-1", NULL, "1");
	nic_node_say(w, "/add", 1, "");
	nic_node_wait(w, is_at_first);
	nic_node_delete_claim(w, 2);
	prepare(w, 2, "veth-2", NULL, "1");
	assert_has(w->error, "try again");
	write_file(w, "slow.go.c1", "");
	nic_node_hear(w);
	nic_node_wait(w, is_idle);
	nic_node_prepare(w, 2);
	assert_string_equal(w->error, "");
}

/* --- one for the other --------------------------------------------------------------------- */

static void a_new_claim_of_the_same_name_does_not_take_the_old_one_s_interface(void **state)
{
	struct nic_node *w = *state;

	attach(w, 1, "veth-0", NULL);
	nic_node_delete_claim(w, 1);
	fakeapi_add(w->api, "resourceclaims", "default", "claim-1", ",\"uid\":\"claim-uid-9\"",
		    ",\"status\":{\"reservedFor\":[{\"resource\":\"pods\",\"name\":\"pod-2\","
		    "\"uid\":\"pod-uid-2\"}]}");
	nic_node_pod(w, 2, 1);
	nic_node_ask(w, "/add", 2, "");
	assert_int_equal(w->status, 200);
	assert_int_not_equal(nic_node_index(w->pods[1], "net1"), 0);
	assert_int_equal(nic_node_index(w->pods[2], "net1"), 0);
	/* And when there is no new one. */
	nic_node_delete_claim(w, 1);
	nic_node_ask(w, "/add", 2, "");
	assert_int_equal(w->status, 200);
	assert_int_not_equal(nic_node_index(w->pods[1], "net1"), 0);
}

static void a_container_with_another_namespace_gets_its_interface_there(void **state)
{
	struct nic_node *w = *state;
	char body[512];

	attach(w, 1, "veth-0", NULL);
	(void)snprintf(body, sizeof(body),
		       "{\"containerID\":\"c1\",\"netns\":\"/proc/self/fd/%d\",\"ifname\":\"eth0\","
		       "\"podUID\":\"pod-uid-1\",\"podName\":\"pod-1\",\"podNamespace\":"
		       "\"default\",\"network\":\"pods\",\"path\":\"%s\"}",
		       NIC_NODE_POD_FD + 2, w->bin);
	nic_node_say_text(w, "/add", body);
	nic_node_hear(w);
	assert_int_equal(w->status, 200);
	assert_has(w->answer, "\"name\":\"net1\"");
	assert_int_equal(nic_node_index(w->pods[1], "net1"), 0);
	assert_int_not_equal(nic_node_index(w->pods[2], "net1"), 0);
	(void)nic_node_reason(w, 1, "Attached");
}

static void a_pod_in_the_node_s_network_is_refused(void **state)
{
	struct nic_node *w = *state;

	fakeapi_add(w->api, "pods", "default", "pod-1", ",\"uid\":\"pod-uid-1\"",
		    ",\"spec\":{\"hostNetwork\":true}");
	prepare(w, 1, "veth-0", NULL, "1");
	assert_has(w->error, "pod default/pod-1 uses the node's network (hostNetwork)");
	(void)nic_node_reason(w, 1, "Refused");
	assert_null(nic_book_next(w->driver->book, NULL));
	/* One of the same name that is gone already says nothing about this one. */
	fakeapi_add(w->api, "pods", "default", "pod-2", ",\"uid\":\"other\"",
		    ",\"spec\":{\"hostNetwork\":true}");
	prepare(w, 2, "veth-0", NULL, "2");
	assert_string_equal(w->error, "");
}

/* --- what the node needs ------------------------------------------------------------------- */

static void route_through(struct nic_node *w, const char *name)
{
	struct rtnl_address a = { .index = nic_node_index(w->host, name) };
	struct rtnl_route t = { .to = { .family = AF_INET }, .index = a.index };

	assert_true(rtnl_ip_parse(STR("198.18.1.1/24"), false, &a.ip));
	assert_true(rtnl_ip_parse(STR("198.18.1.2"), true, &t.via));
	assert_int_equal(rtnl_address_add(w->host, &a, NULL), 0);
	assert_int_equal(rtnl_route_add(w->host, &t, NULL), 0);
}

static void the_interface_of_the_default_route_is_not_prepared(void **state)
{
	struct nic_node *w = *state;

	route_through(w, "host0");
	prepare(w, 1, "host0", NULL, "1");
	assert_has(w->error, "default route uses host0");
	(void)nic_node_reason(w, 1, "Refused");
	assert_null(nic_inventory_find(w->driver->inventory, "host0"));
}

static void an_interface_that_got_the_default_route_is_not_moved(void **state)
{
	struct rtnl_new_link bridge = { .kind = "bridge", .name = "br0", .ns_fd = -1 };
	struct nic_node *w = *state;
	struct rtnl_change c = { .set_master = true };

	prepare(w, 1, "host0", NULL, "1");
	assert_string_equal(w->error, "");
	assert_int_equal(rtnl_link_add(w->host, &bridge, NULL), 0);
	c.master = nic_node_index(w->host, "br0");
	change(w->host, "host0", c);
	change(w->host, "br0", (struct rtnl_change){ .set_up = true, .up = true });
	route_through(w, "br0");
	nic_node_ask(w, "/add", 1, "");
	assert_int_not_equal(w->status, 200);
	assert_has(w->answer, "default route uses host0");
	(void)nic_node_reason(w, 1, "AttachFailed");
	assert_int_not_equal(nic_node_index(w->host, "host0"), 0);
}

/* --- what a pod does ----------------------------------------------------------------------- */

static void network_data_that_cannot_be_written_does_not_keep_ready_true(void **state)
{
	struct nic_node *w = *state;
	struct nic_view *v;
	const struct json *e;

	attach(w, 1, "veth-0", "{\"addresses\":[\"192.0.2.5/24\"]}");
	(void)nic_node_reason(w, 1, "Attached");
	v = view(w);
	v->seen.ips[v->seen.nips] = v->seen.ips[0];
	v->seen.nips++;
	v->seen.link.up = false;
	nic_status_tell(v);
	e = nic_node_reason(w, 1, "LinkDown");
	assert_null(json_getz(e, "networkData"));
	assert_true(v->untold);
	v->seen.nips--;
	nic_status_tell(v);
	assert_false(v->untold);
}

static bool has_seen(struct nic_node *w)
{
	return view(w)->seen.nips == 2 || loop_timer_running(&view(w)->later);
}

static bool has_seen_the_end(struct nic_node *w)
{
	return view(w)->seen.nips == 1 || loop_timer_running(&view(w)->later);
}

static void an_interface_that_flaps_is_looked_at_less_often(void **state)
{
	struct nic_node *w = *state;
	struct rtnl_address a = { 0 };
	int n = 0;

	attach(w, 1, "veth-0", "{\"addresses\":[\"192.0.2.5/24\"]}");
	(void)nic_node_reason(w, 1, "Attached");
	a.index = nic_node_index(w->pods[1], "net1");
	assert_true(rtnl_ip_parse(STR("192.0.2.6/32"), false, &a.ip));
	while (!loop_timer_running(&view(w)->later)) {
		assert_true(n++ < 1000);
		assert_int_equal(rtnl_address_add(w->pods[1], &a, NULL), 0);
		nic_node_wait(w, has_seen);
		assert_int_equal(rtnl_address_delete(w->pods[1], &a, NULL), 0);
		nic_node_wait(w, has_seen_the_end);
	}
	assert_true(n >= 4);
	/* The last word is heard nevertheless. */
	change(w->pods[1], "net1", (struct rtnl_change){ .set_up = true, .up = false });
	(void)nic_node_reason(w, 1, "LinkDown");
}

static bool is_renamed(struct nic_node *w)
{
	return strcmp(view(w)->use->interface, "net9") == 0;
}

static void a_new_name_is_known_to_the_next_driver(void **state)
{
	struct nic_node *w = *state;

	attach(w, 1, "veth-0", NULL);
	change(w->pods[1], "net1", (struct rtnl_change){ .set_up = true, .up = false });
	change(w->pods[1], "net1", (struct rtnl_change){ .name = "net9" });
	nic_node_wait(w, is_renamed);
	nic_node_stop(w);
	nic_node_start(w);
	assert_true(is_renamed(w));
}

#define WORLD_TEST(f) cmocka_unit_test_setup_teardown(f, nic_node_set_up, nic_node_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_claim_that_was_handed_over_ends_after_its_new_pod_s_sandbox),
		WORLD_TEST(a_driver_can_end_while_a_claim_is_handed_over),
		WORLD_TEST(a_driver_can_end_while_a_pod_is_asked_for),
		WORLD_TEST(another_allocation_waits_for_the_sandbox_that_is_being_made),
		WORLD_TEST(a_new_claim_of_the_same_name_does_not_take_the_old_one_s_interface),
		WORLD_TEST(a_container_with_another_namespace_gets_its_interface_there),
		WORLD_TEST(a_pod_in_the_node_s_network_is_refused),
		WORLD_TEST(the_interface_of_the_default_route_is_not_prepared),
		WORLD_TEST(an_interface_that_got_the_default_route_is_not_moved),
		WORLD_TEST(network_data_that_cannot_be_written_does_not_keep_ready_true),
		WORLD_TEST(an_interface_that_flaps_is_looked_at_less_often),
		WORLD_TEST(a_new_name_is_known_to_the_next_driver),
	};

	if (!nic_node_enter()) {
		printf("1..0 # SKIP no network namespaces\n");
		return 0;
	}
	return cmocka_run_group_tests_name("drivers/nic_guard", tests, NULL, NULL);
}
