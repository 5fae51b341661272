/*
 * Interfaces of each kind go into a pod and come back, as configured, whatever the pod, the node
 * and the kernel do meanwhile.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/socket.h>
#include <unistd.h>

#include "drivers/nic_attach/world.h"
#include "drivers/rtnl/netns.h"
#include "drivers/rtnl/rtnl_impl.h"

/* --- attaching ---------------------------------------------------------------------------- */

struct route_search {
	const struct rtnl_route *want;
	int index;
	unsigned found;
};

static int look_at_route(void *arg, const struct rtnl_route *r)
{
	struct route_search *s = arg;
	const struct rtnl_route *w = s->want;
	bool same_via = r->via.family == w->via.family &&
			memcmp(r->via.bytes, w->via.bytes, sizeof(w->via.bytes)) == 0;

	if (r->to.family == w->to.family && r->to.prefix == w->to.prefix && same_via &&
	    memcmp(r->to.bytes, w->to.bytes, sizeof(w->to.bytes)) == 0 && r->index == s->index)
		s->found += !w->metric || w->metric == r->metric;
	return 0;
}

static void assert_routes(struct attach_world *w, const struct nic_use *u)
{
	for (size_t i = 0; i < u->config.nroutes; i++) {
		struct route_search s = { .want = &u->config.routes[i], .index = u->index };

		NIC_MUST(w, rtnl_routes(w->pod, look_at_route, &s, &w->err));
		assert_int_equal(s.found, 1);
	}
}

static void assert_peer(struct attach_world *w, const struct nic_use *u)
{
	struct rtnl_link peer = attach_world_link(w, w->here, u->peer), bridge;

	assert_true(peer.up);
	assert_int_equal(peer.mtu, 1300);
	if (!u->nic.parent[0]) {
		assert_int_equal(peer.master, 0);
		return;
	}
	bridge = attach_world_link(w, w->here, u->nic.parent);
	assert_int_equal(peer.master, bridge.index);
}

static void check_all_that_a_config_says(struct attach_world *w, struct nic_use *u)
{
	struct nic_seen seen;

	NIC_MUST(w, attach_world_put(w, u));
	assert_int_equal(u->state, NIC_ATTACHED);
	seen = attach_world_look(w, u);
	assert_true(seen.there);
	assert_string_equal(seen.link.name, "blue0");
	assert_string_equal(seen.link.kind,
			    u->nic.kind == NIC_HOST ? "veth" : nic_kind_name(u->nic.kind));
	assert_true(rtnl_mac_equal(&seen.link.mac, &u->config.mac));
	assert_int_equal(seen.link.mtu, 1300);
	assert_true(seen.link.up);
	assert_int_equal(seen.nips, 2);
	assert_memory_equal(seen.ips[0].bytes, u->config.addresses[0].bytes, 4);
	assert_int_equal(seen.ips[0].prefix, 24);
	assert_memory_equal(seen.ips[1].bytes, u->config.addresses[1].bytes, 16);
	assert_int_equal(seen.ips[1].prefix, 64);
	assert_routes(w, u);
	if (u->nic.kind == NIC_VETH)
		assert_peer(w, u);

	NIC_MUST(w, attach_world_detach(w, u));
	attach_world_assert_prepared(w, u, u->nic.device);
	seen = attach_world_look(w, u);
	assert_false(seen.there);
}

static void all_that_a_config_says_is_set_and_taken_back(void **state)
{
	if (attach_world_can(*state))
		attach_world_for_each(*state, ATTACH_WORLD_ALL, check_all_that_a_config_says);
	else
		skip();
}

static void check_twice(struct attach_world *w, struct nic_use *u)
{
	struct attach_world_dump inside, again;

	NIC_MUST(w, attach_world_put(w, u));
	attach_world_dump(w, w->pod, &inside);
	attach_world_stop_at(w, 0);
	NIC_MUST(w, attach_world_put(w, u));
	assert_int_equal(w->steps, 0);
	attach_world_dump(w, w->pod, &again);
	attach_world_assert_same(&inside, &again, u->nic.device);
	NIC_MUST(w, attach_world_detach(w, u));
	attach_world_stop_at(w, 0);
	NIC_MUST(w, attach_world_detach(w, u));
	assert_int_equal(w->steps, 0);
	attach_world_assert_prepared(w, u, u->nic.device);
}

static void doing_it_twice_is_doing_it_once(void **state)
{
	if (attach_world_can(*state))
		attach_world_for_each(*state, ATTACH_WORLD_MOST, check_twice);
	else
		skip();
}

static void without_a_config_an_interface_keeps_what_it_has(void **state)
{
	struct attach_world *w = *state;
	struct nic_use *u;
	struct nic_seen seen;

	if (!attach_world_can(*state))
		skip();
	u = attach_world_add(w, ATTACH_WORLD_HOST);
	NIC_MUST(w, attach_world_put(w, u));
	seen = attach_world_look(w, u);
	assert_string_equal(seen.link.name, "net1");
	assert_int_equal(seen.link.mtu, 1450);
	assert_true(rtnl_mac_equal(&seen.link.mac, &u->before.mac));
	assert_int_equal(seen.nips, 0);
	NIC_MUST(w, attach_world_detach(w, u));
	attach_world_assert_prepared(w, u, "no config");
}

static void names_are_given_in_order_and_never_twice(void **state)
{
	struct attach_world *w = *state;
	struct nic_use *a, *b, *c;

	if (!attach_world_can(*state))
		skip();
	attach_world_make_veth(w, w->pod, "net2", "y0");
	attach_world_make_veth(w, w->pod, "eth1", "y1"); /* the name that it comes with */
	attach_world_dump(w, w->pod, &w->inside);
	a = attach_world_add(w, ATTACH_WORLD_HOST);
	b = attach_world_add(w, ATTACH_WORLD_VETH);
	c = attach_world_add(w, ATTACH_WORLD_VETH_BRIDGE);
	NIC_MUST(w, attach_world_begin(w, a));
	NIC_MUST(w, attach_world_begin(w, b));
	assert_string_equal(a->interface, "net1");
	assert_string_equal(b->interface, "net3");
	(void)snprintf(c->config.interface_name, RTNL_NAME, "net3");
	assert_int_equal(attach_world_begin(w, c), -ERR_ALREADY_EXISTS);
	assert_non_null(strstr(w->err.msg, "net3 is already used by device veth-0"));
	NIC_MUST(w, nic_attach_put(w->attach, b, w->pod_fd, &w->err));
	NIC_MUST(w, nic_attach_put(w->attach, a, w->pod_fd, &w->err));
	NIC_MUST(w, attach_world_detach(w, a));
	NIC_MUST(w, attach_world_detach(w, b));
	attach_world_assert_prepared(w, c, "names");
}

static void addresses_come_in_the_order_of_the_config(void **state)
{
	struct attach_world *w = *state;
	struct rtnl_address more = { 0 };
	struct nic_seen seen;
	struct nic_use *u;
	char text[64];

	if (!attach_world_can(*state))
		skip();
	u = attach_world_add_full(w, ATTACH_WORLD_VETH);
	NIC_MUST(w, attach_world_put(w, u));
	more.index = u->index;
	for (unsigned i = 20; i > 0; i--) {
		(void)snprintf(text, sizeof(text), "10.0.0.%u/32", i);
		more.ip = attach_world_ip(text);
		NIC_MUST(w, rtnl_address_add(w->pod, &more, &w->err));
	}
	seen = attach_world_look(w, u);
	assert_int_equal(seen.nips, NIC_IPS_MAX);
	rtnl_ip_print(&seen.ips[0], text);
	assert_string_equal(text, "192.0.2.5/24");
	rtnl_ip_print(&seen.ips[1], text);
	assert_string_equal(text, "2001:db8::5/64");
	rtnl_ip_print(&seen.ips[2], text);
	assert_string_equal(text, "10.0.0.1/32");
	rtnl_ip_print(&seen.ips[15], text);
	assert_string_equal(text, "10.0.0.14/32");
	NIC_MUST(w, attach_world_detach(w, u));
}

/* The one that it has, towards another side. */
static void add_peer(struct attach_world *w, int index, const char *text, unsigned char last)
{
	struct rtnl_address a = { .index = index, .ip = attach_world_ip(text) };
	struct rtnl_request q;

	rtnl_request_address_add(&q, &a);
	/* After both headers and IFA_LOCAL comes IFA_ADDRESS, four bytes and its own header. */
	q.bytes[16 + 8 + 8 + 4 + 3] = last;
	NIC_MUST(w, rtnl_ask(w->pod, &q, NULL, NULL, &w->err));
}

static void an_address_that_is_there_twice_is_seen_once(void **state)
{
	struct attach_world *w = *state;
	struct nic_seen seen;
	struct nic_use *u;
	char text[64];

	if (!attach_world_can(*state))
		skip();
	u = attach_world_add(w, ATTACH_WORLD_VETH);
	NIC_MUST(w, attach_world_put(w, u));
	add_peer(w, u->index, "10.9.9.1/32", 2);
	add_peer(w, u->index, "10.9.9.1/32", 3);
	seen = attach_world_look(w, u);
	assert_int_equal(seen.nips, 1);
	rtnl_ip_print(&seen.ips[0], text);
	assert_string_equal(text, "10.9.9.1/32");
	NIC_MUST(w, attach_world_detach(w, u));
}

static void a_name_that_another_device_of_the_pod_wants_is_left_to_it(void **state)
{
	struct attach_world *w = *state;
	struct nic_use *a, *b;

	if (!attach_world_can(*state))
		skip();
	a = attach_world_add(w, ATTACH_WORLD_HOST);
	b = attach_world_add(w, ATTACH_WORLD_VETH);
	(void)snprintf(b->config.interface_name, RTNL_NAME, "net1");
	NIC_MUST(w, attach_world_put(w, a));
	assert_string_equal(a->interface, "net2");
	NIC_MUST(w, attach_world_put(w, b));
	assert_string_equal(b->interface, "net1");
	NIC_MUST(w, attach_world_detach(w, a));
	NIC_MUST(w, attach_world_detach(w, b));
}

/* --- refusals ----------------------------------------------------------------------------- */

static void refused(struct attach_world *w, struct nic_use *u, int code, const char *says)
{
	attach_world_stop_at(w, 0);
	assert_int_equal(attach_world_put(w, u), -code);
	if (!strstr(w->err.msg, says))
		fail_msg("\"%s\" is not in: %s", says, w->err.msg);
	attach_world_assert_prepared(w, u, w->err.msg);
}

static void an_impossible_use_is_rejected_before_any_change(void **state)
{
	struct attach_world *w = *state;
	struct nic_use *u;

	if (!attach_world_can(*state))
		skip();
	u = attach_world_add_full(w, ATTACH_WORLD_HOST);
	(void)snprintf(u->config.interface_name, RTNL_NAME, "eth0");
	refused(w, u, ERR_ALREADY_EXISTS, "eth0 is already in use in the pod");
	assert_int_equal(w->steps, 0);
	(void)snprintf(u->nic.interface, RTNL_NAME, "eth9");
	u->config.interface_name[0] = 0;
	refused(w, u, ERR_NOT_FOUND, "eth9 is no longer on this node");
	(void)snprintf(u->nic.interface, RTNL_NAME, "lo");
	refused(w, u, ERR_INVALID, "loopback");
	(void)snprintf(u->nic.interface, RTNL_NAME, "eth1");
	u->nic.link.permanent = (struct rtnl_mac){ .n = 6, .bytes = { 2, 1 } };
	refused(w, u, ERR_CONFLICT, "eth1 is another interface now");
	u = attach_world_add(w, ATTACH_WORLD_VETH_BRIDGE);
	(void)snprintf(u->nic.parent, RTNL_NAME, "br7");
	refused(w, u, ERR_NOT_FOUND, "bridge br7 does not exist");
	u = attach_world_add(w, ATTACH_WORLD_MACVLAN);
	(void)snprintf(u->nic.parent, RTNL_NAME, "eth7");
	refused(w, u, ERR_NOT_FOUND, "parent eth7 does not exist");
	assert_int_equal(w->steps, 0);
	nic_use_set_sandbox(u, "sandbox", "/proc/self/ns/net", NULL);
	assert_int_equal(nic_attach_begin(w->attach, u, w->attach->home, &w->err), -ERR_INVALID);
	attach_world_assert_prepared(w, u, w->err.msg);
}

static void check_the_kernels_words(struct attach_world *w, struct nic_use *u)
{
	struct rtnl_ip twice[2] = { attach_world_ip("192.0.2.5/24"),
				    attach_world_ip("192.0.2.5/24") };
	struct rtnl_route far = { .to = attach_world_ip("198.51.100.0/24"),
				  .via = attach_world_ip("203.0.113.1") };
	char as[128];

	(void)snprintf(as, sizeof(as), "cannot attach %s as blue0: ", u->nic.device);
	u->config.addresses = twice;
	refused(w, u, ERR_ALREADY_EXISTS, as);
	refused(w, u, ERR_ALREADY_EXISTS, "File exists");
	u->config.naddresses = 1;
	u->config.routes = &far;
	u->config.nroutes = 1;
	assert_true(attach_world_put(w, u) < 0);
	assert_non_null(strstr(w->err.msg, as));
	assert_true(w->err.sys_errno != 0);
	attach_world_assert_prepared(w, u, w->err.msg);
	u->config.nroutes = 0;
	u->config.mac = (struct rtnl_mac){ .n = 6, .bytes = { 1 } }; /* of a group */
	assert_true(attach_world_put(w, u) < 0);
	assert_true(w->err.sys_errno != 0);
	attach_world_assert_prepared(w, u, w->err.msg);
}

static void a_failed_attach_is_undone_with_the_kernels_message(void **state)
{
	if (attach_world_can(*state))
		attach_world_for_each(*state, ATTACH_WORLD_MOST, check_the_kernels_words);
	else
		skip();
}

static void a_second_namespace_waits_for_the_first(void **state)
{
	struct attach_world *w = *state;
	struct nic_use *u;
	int other;

	if (!attach_world_can(*state))
		skip();
	u = attach_world_add_full(w, ATTACH_WORLD_MACVLAN);
	NIC_MUST(w, attach_world_put(w, u));
	NIC_MUST(w, netns_make(&other, &w->err));
	assert_int_equal(nic_attach_begin(w->attach, u, other, &w->err), -ERR_CONFLICT);
	assert_int_equal(u->state, NIC_ATTACHED);
	assert_true(attach_world_look(w, u).there);
	(void)close(other);
	NIC_MUST(w, attach_world_detach(w, u));
	attach_world_assert_prepared(w, u, "second namespace");
}

/* --- what others do meanwhile ------------------------------------------------------------- */

static void check_renamed_by_the_pod(struct attach_world *w, struct nic_use *u)
{
	struct rtnl_change own = { .mtu = 1290,
				   .mac = &(struct rtnl_mac){ .n = 6, .bytes = { 2, 7, 7 } } };
	struct nic_seen seen;

	NIC_MUST(w, attach_world_put(w, u));
	attach_world_rename(w, w->pod, "blue0", "green0");
	attach_world_change(w, w->pod, "green0", own);
	attach_world_make_veth(w, w->pod, "blue0", "y0"); /* nobody's but the pod's */
	seen = attach_world_look(w, u);
	assert_true(seen.there);
	assert_string_equal(seen.link.name, "green0");
	NIC_MUST(w, attach_world_detach(w, u));
	assert_int_equal(u->state, NIC_PREPARED);
	NIC_MUST(w, rtnl_link_delete(w->pod, attach_world_link(w, w->pod, "blue0").index, &w->err));
	attach_world_assert_prepared(w, u, u->nic.device);
}

static void an_interface_that_the_pod_renamed_is_found(void **state)
{
	if (attach_world_can(*state))
		attach_world_for_each(*state, ATTACH_WORLD_MOST, check_renamed_by_the_pod);
	else
		skip();
}

static void check_deleted_by_the_pod(struct attach_world *w, struct nic_use *u)
{
	if (u->nic.kind == NIC_HOST)
		return;
	NIC_MUST(w, attach_world_put(w, u));
	NIC_MUST(w, rtnl_link_delete(w->pod, u->index, &w->err));
	assert_false(attach_world_look(w, u).there);
	NIC_MUST(w, attach_world_detach(w, u));
	attach_world_assert_prepared(w, u, u->nic.device);
}

static void an_interface_that_the_pod_deleted_counts_as_detached(void **state)
{
	if (attach_world_can(*state))
		attach_world_for_each(*state, ATTACH_WORLD_MOST, check_deleted_by_the_pod);
	else
		skip();
}

/* Between the look and the deed somebody makes an interface of that name: it stays. */
static void an_interface_of_somebody_else_is_left_alone(void **state)
{
	static const int kinds[] = { ATTACH_WORLD_HOST, ATTACH_WORLD_VETH, ATTACH_WORLD_MACVLAN };
	struct attach_world *w = *state;

	if (!attach_world_can(*state))
		skip();
	attach_world_make_macvlan(w, "mine", "wire2", -1);
	attach_world_dump(w, w->here, &w->home);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct nic_use *u = attach_world_add_full(w, kinds[i]);

		NIC_MUST(w, attach_world_begin(w, u));
		attach_world_make_macvlan(w, "blue0", "wire2", w->pod_fd);
		attach_world_dump(w, w->pod, &w->inside);
		assert_int_equal(nic_attach_put(w->attach, u, w->pod_fd, &w->err),
				 -ERR_ALREADY_EXISTS);
		attach_world_assert_prepared(w, u, "the name was taken");

		NIC_MUST(w, rtnl_link_delete(w->pod, attach_world_link(w, w->pod, "blue0").index,
					     &w->err));
		NIC_MUST(w, attach_world_begin(w, u));
		attach_world_make_macvlan(w, "blue0", "wire2", w->pod_fd);
		attach_world_dump(w, w->pod, &w->inside);
		NIC_MUST(w, attach_world_detach(w, u)); /* as after a crash */
		attach_world_assert_prepared(w, u, "the name was taken, crash");
		NIC_MUST(w, rtnl_link_delete(w->pod, attach_world_link(w, w->pod, "blue0").index,
					     &w->err));
		attach_world_dump(w, w->pod, &w->inside);
		nic_book_remove(w->book, u);
	}
}

static void a_name_that_was_taken_meanwhile_is_told(void **state)
{
	struct attach_world *w = *state;
	struct rtnl_link back;
	struct nic_use *u;
	char own[RTNL_NAME];

	if (!attach_world_can(*state))
		skip();
	u = attach_world_add_full(w, ATTACH_WORLD_HOST);
	NIC_MUST(w, attach_world_put(w, u));
	attach_world_make_veth(w, w->here, "eth1", "wire9");
	NIC_MUST(w, attach_world_detach(w, u));
	assert_int_equal(u->state, NIC_PREPARED);
	nic_own_name(u, "dph", own);
	assert_int_equal(w->warnings, 1);
	assert_non_null(strstr(w->warned, "eth1 is back as dph"));
	back = attach_world_link(w, w->here, own);
	assert_int_equal(back.mtu, 1450);
	assert_true(back.up);
	assert_true(rtnl_mac_equal(&back.mac, &u->nic.link.mac));
	/* When the name is free again all is as before. */
	NIC_MUST(w,
		 rtnl_link_delete(w->here, attach_world_link(w, w->here, "eth1").index, &w->err));
	attach_world_rename(w, w->here, own, "eth1");
	attach_world_assert_prepared(w, u, "renamed by hand");
}

static void a_bridge_gets_its_port_back(void **state)
{
	struct attach_world *w = *state;
	struct nic_use *u;

	if (!attach_world_can(*state))
		skip();
	attach_world_change(
		w, w->here, "eth1",
		(struct rtnl_change){ .set_master = true,
				      .master = attach_world_link(w, w->here, "br0").index });
	attach_world_dump(w, w->here, &w->home);
	u = attach_world_add_full(w, ATTACH_WORLD_HOST);
	NIC_MUST(w, attach_world_put(w, u));
	NIC_MUST(w, attach_world_detach(w, u));
	attach_world_assert_prepared(w, u, "bridge");
}

static int add_name(void *arg, const char *name)
{
	struct buf *names = arg;

	return buf_printf(names, "%s ", name);
}

static void assert_altnames(struct attach_world *w, int index, const char *want)
{
	CLEANUP(buf_release) struct buf names = BUF_INIT(1024);

	NIC_MUST(w, rtnl_altnames(w->here, index, add_name, &names, &w->err));
	assert_string_equal(names.n ? names.p : "", want);
}

/* "br0" is taken at home; the interface may not come back by that name, but it must come. */
static void other_names_of_the_pod_s_choice_do_not_keep_an_interface_there(void **state)
{
	struct attach_world *w = *state;
	struct nic_use *u;
	int index;

	if (!attach_world_can(*state))
		skip();
	index = attach_world_link(w, w->here, "eth1").index;
	NIC_MUST(w, rtnl_altname_add(w->here, index, "enp1s0", &w->err));
	NIC_MUST(w, rtnl_altname_add(w->here, index, "eno1", &w->err));
	u = attach_world_add_full(w, ATTACH_WORLD_HOST);
	NIC_MUST(w, attach_world_put(w, u));
	attach_world_close(w);
	attach_world_open(w);
	u = w->use;
	assert_int_equal(u->naltnames, 2);
	NIC_MUST(w, rtnl_altname_add(w->pod, u->index, "br0", &w->err));
	NIC_MUST(w, rtnl_altname_add(w->pod, u->index, "eth1", &w->err));
	NIC_MUST(w, rtnl_altname_add(w->pod, u->index, "\xff", &w->err));
	NIC_MUST(w, rtnl_altname_delete(w->pod, u->index, "enp1s0", &w->err));
	NIC_MUST(w, attach_world_detach(w, u));
	attach_world_assert_prepared(w, u, "other names");
	index = attach_world_link(w, w->here, "eth1").index;
	assert_altnames(w, index, "eno1 enp1s0 ");

	/* One of its own that somebody else has by now. */
	NIC_MUST(w, attach_world_put(w, u));
	NIC_MUST(w, rtnl_altname_add(w->here, attach_world_link(w, w->here, "br0").index, "eno1",
				     &w->err));
	NIC_MUST(w, attach_world_detach(w, u));
	attach_world_assert_prepared(w, u, "a name that was taken");
	assert_altnames(w, attach_world_link(w, w->here, "eth1").index, "enp1s0 ");
	assert_non_null(strstr(w->warned, "eth1 has lost its other name eno1"));
}

/* --- namespaces that are gone ------------------------------------------------------------- */

static void created_interfaces_end_with_their_namespace(void **state)
{
	struct attach_world *w = *state;
	struct nic_use *a, *b;
	struct attach_world_dump now;

	if (!attach_world_can(*state))
		skip();
	a = attach_world_add(w, ATTACH_WORLD_MACVLAN);
	b = attach_world_add(w, ATTACH_WORLD_VETH_BRIDGE);
	NIC_MUST(w, attach_world_put(w, a));
	NIC_MUST(w, attach_world_put(w, b));
	attach_world_end_pod(w);
	NIC_MUST(w, nic_detach(w->attach, a, -1, &w->err));
	NIC_MUST(w, nic_detach(w->attach, b, -1, &w->err));
	assert_int_equal(a->state, NIC_PREPARED);
	assert_int_equal(b->state, NIC_PREPARED);
	attach_world_dump(w, w->here, &now);
	attach_world_assert_same(&w->home, &now, "the namespace has ended");
	assert_int_equal(w->warnings, 0);
}

/* As the kernel does with hardware when its namespace ends: here again, under any name. */
static void hardware_that_came_back_by_itself_is_put_right(void **state)
{
	struct attach_world *w = *state;
	struct nic_use *u;
	int other;

	if (!attach_world_can(*state))
		skip();
	NIC_MUST(w, netns_make(&other, &w->err));
	u = attach_world_add_full(w, ATTACH_WORLD_HOST);
	for (int i = 0; i < 2; i++) {
		NIC_MUST(w, attach_world_put(w, u));
		attach_world_change(
			w, w->pod, "blue0",
			(struct rtnl_change){ .set_ns = true, .ns_fd = w->attach->home });
		/* Another namespace under the same path is not where it was. */
		NIC_MUST(w, nic_detach(w->attach, u, i ? other : -1, &w->err));
		attach_world_assert_prepared(w, u, "came back");
	}
	(void)close(other);
}

static void hardware_that_is_nowhere_is_waited_for_or_forgotten(void **state)
{
	struct attach_world *w = *state;
	struct nic_use *u;

	if (!attach_world_can(*state))
		skip();
	u = attach_world_add_full(w, ATTACH_WORLD_HOST);
	NIC_MUST(w, attach_world_put(w, u));
	/* Hardware has no kind, so the veth does not match; -1 says that its namespace is gone. */
	u->before.kind[0] = 0;
	assert_int_equal(nic_detach(w->attach, u, -1, &w->err), -ERR_NOT_FOUND);
	assert_non_null(strstr(w->err.msg, "eth1 is neither on the node nor in the pod's"));
	assert_int_equal(u->state, NIC_DETACHING);
	assert_int_equal(attach_world_state_in_file(w), NIC_DETACHING);
	(void)snprintf(u->before.kind, RTNL_KIND, "veth");
	attach_world_change(w, w->pod, "blue0",
			    (struct rtnl_change){ .set_ns = true, .ns_fd = w->attach->home });
	NIC_MUST(w, nic_detach(w->attach, u, -1, &w->err));
	attach_world_assert_prepared(w, u, "found at last");

	NIC_MUST(w, attach_world_put(w, u));
	u->before.kind[0] = 0;
	assert_int_equal(nic_detach(w->attach, u, -1, &w->err), -ERR_NOT_FOUND);
	NIC_MUST(w, nic_detach_forget(w->attach, u, &w->err));
	assert_int_equal(u->state, NIC_PREPARED);
	assert_int_equal(attach_world_state_in_file(w), NIC_PREPARED);
}

/* --- cni ---------------------------------------------------------------------------------- */

static void an_interface_of_a_plugin_is_adopted_and_left_to_it(void **state)
{
	struct attach_world *w = *state;
	struct nic_use *u;
	struct json *cni;

	if (!attach_world_can(*state))
		skip();
	u = attach_world_add(w, ATTACH_WORLD_VETH);
	NIC_MUST(w, json_parse(&u->arena, STR("{\"type\":\"bridge\"}"), NULL, &cni, &w->err));
	u->config.cni = cni;
	NIC_MUST(w, attach_world_begin(w, u));
	assert_string_equal(u->interface, "net1");
	assert_string_equal(u->cni_ifname, "net1");
	assert_int_equal(nic_attach_adopt(w->attach, u, w->pod_fd, &w->err), -ERR_NOT_FOUND);
	assert_non_null(strstr(w->err.msg, "no interface net1"));
	assert_int_equal(u->state, NIC_ATTACHING);
	attach_world_make_veth(w, w->pod, "net1", "y0");
	NIC_MUST(w, nic_attach_adopt(w->attach, u, w->pod_fd, &w->err));
	assert_int_equal(attach_world_state_in_file(w), NIC_ATTACHED);
	assert_int_equal(attach_world_look(w, u).link.index, u->index);
	NIC_MUST(w, attach_world_detach(w, u));
	assert_int_equal(u->state, NIC_PREPARED);
	(void)attach_world_link(w, w->pod, "net1");
}

#define ATTACH_TEST(f) cmocka_unit_test_setup_teardown(f, attach_world_setup, attach_world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ATTACH_TEST(all_that_a_config_says_is_set_and_taken_back),
		ATTACH_TEST(doing_it_twice_is_doing_it_once),
		ATTACH_TEST(without_a_config_an_interface_keeps_what_it_has),
		ATTACH_TEST(names_are_given_in_order_and_never_twice),
		ATTACH_TEST(addresses_come_in_the_order_of_the_config),
		ATTACH_TEST(an_address_that_is_there_twice_is_seen_once),
		ATTACH_TEST(a_name_that_another_device_of_the_pod_wants_is_left_to_it),
		ATTACH_TEST(an_impossible_use_is_rejected_before_any_change),
		ATTACH_TEST(a_failed_attach_is_undone_with_the_kernels_message),
		ATTACH_TEST(a_second_namespace_waits_for_the_first),
		ATTACH_TEST(an_interface_that_the_pod_renamed_is_found),
		ATTACH_TEST(an_interface_that_the_pod_deleted_counts_as_detached),
		ATTACH_TEST(an_interface_of_somebody_else_is_left_alone),
		ATTACH_TEST(a_name_that_was_taken_meanwhile_is_told),
		ATTACH_TEST(a_bridge_gets_its_port_back),
		ATTACH_TEST(other_names_of_the_pod_s_choice_do_not_keep_an_interface_there),
		ATTACH_TEST(created_interfaces_end_with_their_namespace),
		ATTACH_TEST(hardware_that_came_back_by_itself_is_put_right),
		ATTACH_TEST(hardware_that_is_nowhere_is_waited_for_or_forgotten),
		ATTACH_TEST(an_interface_of_a_plugin_is_adopted_and_left_to_it),
	};

	return cmocka_run_group_tests_name("drivers/nic_attach", tests, NULL, NULL);
}
