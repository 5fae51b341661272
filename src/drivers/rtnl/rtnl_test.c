/*
 * The kernel's answers, in network namespaces of the test's own: every test begins in a new, empty
 * one, beside another that stands for a pod's. Where such cannot be made all are skipped.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "drivers/rtnl/netns.h"
#include "drivers/rtnl/rtnl_impl.h"

struct world {
	struct rtnl *host, *pod; /* sockets in the two namespaces */
	int pod_ns;
	struct error err;
};

static int enter_world(void **state)
{
	struct world *w = XNEW(struct world);

	assert_int_equal(unshare(CLONE_NEWNET), 0);
	assert_int_equal(netns_make(&w->pod_ns, NULL), 0);
	assert_int_equal(rtnl_open(-1, &w->host, NULL), 0);
	assert_int_equal(rtnl_open(w->pod_ns, &w->pod, NULL), 0);
	*state = w;
	return 0;
}

static int leave_world(void **state)
{
	struct world *w = *state;

	rtnl_close(w->host);
	rtnl_close(w->pod);
	(void)close(w->pod_ns);
	free(w);
	return 0;
}

static struct rtnl_link link_of(struct rtnl *r, const char *name)
{
	struct rtnl_link l;
	struct error err;

	if (rtnl_link_by_name(r, name, &l, &err) < 0)
		fail_msg("%s", err.msg);
	return l;
}

static bool has_link(struct rtnl *r, const char *name)
{
	struct rtnl_link l;

	return rtnl_link_by_name(r, name, &l, NULL) == 0;
}

/* Both ends here, or the first in the pod. */
static void add_veth(struct world *w, const char *name, const char *peer, int ns_fd)
{
	struct rtnl_new_link l = { .kind = "veth", .name = name, .peer = peer, .ns_fd = ns_fd };

	if (rtnl_link_add(w->host, &l, &w->err) < 0)
		fail_msg("%s", w->err.msg);
}

static void change(struct rtnl *r, const char *name, const struct rtnl_change *c)
{
	struct error err;

	if (rtnl_link_change(r, link_of(r, name).index, c, &err) < 0)
		fail_msg("%s", err.msg);
}

static void set_up(struct rtnl *r, const char *name, bool up)
{
	change(r, name, &(struct rtnl_change){ .set_up = true, .up = up });
}

/* The kernel works out the state of a link after the request that changed it. */
static void await_running(struct rtnl *r, const char *name, bool running)
{
	while (link_of(r, name).running != running)
		(void)sched_yield();
}

static struct rtnl_ip ip(const char *text)
{
	struct rtnl_ip out;

	assert_true(rtnl_ip_parse(str_from(text), !strchr(text, '/'), &out));
	return out;
}

static struct rtnl_mac mac(const char *text)
{
	struct rtnl_mac out;

	assert_true(rtnl_mac_parse(str_from(text), &out));
	return out;
}

/* --- links ------------------------------------------------------------------------------ */

static void a_veth_pair_spans_two_namespaces(void **state)
{
	struct world *w = *state;
	struct rtnl_link near, far;

	add_veth(w, "net1", "peer1", w->pod_ns);
	near = link_of(w->host, "peer1");
	far = link_of(w->pod, "net1");
	assert_false(has_link(w->host, "net1"));
	assert_string_equal(near.kind, "veth");
	assert_string_equal(far.kind, "veth");
	assert_int_equal(near.parent, far.index);
	assert_int_equal(far.parent, near.index);
	assert_true(near.parent_nsid >= 0);
	assert_true(far.parent_nsid >= 0);
	assert_int_equal(near.mac.n, 6);
	assert_false(near.up || near.running || near.loopback);

	set_up(w->host, "peer1", true);
	assert_true(link_of(w->host, "peer1").up);
	assert_false(link_of(w->host, "peer1").running);
	set_up(w->pod, "net1", true);
	await_running(w->host, "peer1", true);
	await_running(w->pod, "net1", true);
	set_up(w->host, "peer1", false);
	await_running(w->pod, "net1", false);
	assert_true(link_of(w->pod, "net1").up);
}

static void a_veth_pair_in_one_namespace_has_no_namespace_id(void **state)
{
	struct world *w = *state;

	add_veth(w, "a", "b", -1);
	assert_int_equal(link_of(w->host, "a").parent, link_of(w->host, "b").index);
	assert_int_equal(link_of(w->host, "a").parent_nsid, -1);
}

static void a_macvlan_is_made_in_the_pod_on_a_parent_of_the_host(void **state)
{
	struct world *w = *state;
	struct rtnl_mac want = mac("02:00:00:00:00:17");
	struct rtnl_new_link l = {
		.kind = "macvlan", .name = "net1", .ns_fd = w->pod_ns, .mac = &want, .mtu = 1280
	};
	struct rtnl_link made;

	add_veth(w, "eth1", "eth1p", -1);
	l.parent = link_of(w->host, "eth1").index;
	assert_int_equal(rtnl_link_add(w->host, &l, &w->err), 0);
	made = link_of(w->pod, "net1");
	assert_string_equal(made.kind, "macvlan");
	assert_int_equal(made.parent, l.parent);
	assert_true(made.parent_nsid >= 0);
	assert_true(rtnl_mac_equal(&made.mac, &want));
	assert_int_equal(made.mtu, 1280);
	assert_int_equal(rtnl_link_delete(w->pod, made.index, &w->err), 0);
	assert_false(has_link(w->pod, "net1"));
}

static void a_link_becomes_part_of_a_bridge_and_leaves_it(void **state)
{
	struct world *w = *state;
	struct rtnl_new_link bridge = { .kind = "bridge", .name = "br0", .ns_fd = -1 };
	struct rtnl_change c = { .set_master = true };

	add_veth(w, "a", "b", -1);
	assert_int_equal(rtnl_link_add(w->host, &bridge, &w->err), 0);
	assert_string_equal(link_of(w->host, "br0").kind, "bridge");
	c.master = link_of(w->host, "br0").index;
	change(w->host, "a", &c);
	assert_int_equal(link_of(w->host, "a").master, c.master);
	c.master = 0;
	change(w->host, "a", &c);
	assert_int_equal(link_of(w->host, "a").master, 0);
}

static void a_link_is_moved_and_renamed_in_one_request(void **state)
{
	struct world *w = *state;
	struct rtnl_change c = { .name = "net1", .set_ns = true, .ns_fd = w->pod_ns };
	struct rtnl_link before, after;

	add_veth(w, "eth1", "eth1p", -1);
	set_up(w->host, "eth1", true); /* a rename alone would want it down */
	before = link_of(w->host, "eth1");
	change(w->host, "eth1", &c);
	assert_false(has_link(w->host, "eth1"));
	after = link_of(w->pod, "net1");
	assert_true(rtnl_mac_equal(&before.mac, &after.mac));
	assert_false(after.up);
}

static void mtu_and_hardware_address_are_set(void **state)
{
	struct world *w = *state;
	struct rtnl_mac want = mac("02:aa:bb:cc:dd:ee");
	struct rtnl_link l;

	add_veth(w, "a", "b", -1);
	change(w->host, "a",
	       &(struct rtnl_change){ .mtu = 9000, .mac = &want, .set_up = true, .up = true });
	l = link_of(w->host, "a");
	assert_int_equal(l.mtu, 9000);
	assert_true(rtnl_mac_equal(&l.mac, &want));
	assert_true(l.up);
	change(w->host, "a", &(struct rtnl_change){ .name = "c", .set_up = true, .up = false });
	assert_int_equal(link_of(w->host, "c").index, l.index);
}

struct seen {
	struct rtnl *r;
	unsigned n, veths, stop_at;
	int last;
};

static int count_link(void *arg, const struct rtnl_link *l)
{
	struct seen *s = arg;
	struct rtnl_link again;

	assert_true(l->index > s->last); /* the kernel lists in this order: none comes twice */
	s->last = l->index;
	s->veths += strcmp(l->kind, "veth") == 0;
	if (++s->n == s->stop_at)
		return -ERR_CANCELED;
	/* The socket is free for other questions meanwhile. */
	assert_int_equal(rtnl_link_by_index(s->r, l->index, &again, NULL), 0);
	assert_string_equal(again.name, l->name);
	return 0;
}

/* Nothing that the kernel answers arrives. */
static void make_deaf(struct rtnl *r)
{
	struct sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog all = { .len = 1, .filter = &drop };
	struct timeval soon = { .tv_usec = 1000 };

	assert_int_equal(setsockopt(r->fd, SOL_SOCKET, SO_ATTACH_FILTER, &all, sizeof(all)), 0);
	assert_int_equal(setsockopt(r->fd, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof(soon)), 0);
}

static void a_kernel_that_hangs_is_waited_for_once(void **state)
{
	struct world *w = *state;
	uint32_t before = w->host->sequence;
	int none = 0;

	make_deaf(w->host);
	assert_int_equal(rtnl_link_delete(w->host, 1, &w->err), -ERR_TIMEOUT);
	assert_memory_equal(w->err.msg, "delete interface 1: no answer", 29);
	assert_int_equal(w->host->sequence, before + 1);
	/* It may come to itself. */
	assert_int_equal(setsockopt(w->host->fd, SOL_SOCKET, SO_DETACH_FILTER, &none, sizeof(none)),
			 0);
	assert_true(has_link(w->host, "lo"));
	assert_true(rtnl_link_delete(w->host, 1, &w->err) < 0);
	assert_memory_equal(w->err.msg, "delete lo: ", 11);
}

static void five_hundred_links_are_listed(void **state)
{
	struct world *w = *state;
	struct seen s = { .r = w->host };
	char a[RTNL_NAME], b[RTNL_NAME];

	for (int i = 0; i < 250; i++) {
		(void)snprintf(a, sizeof(a), "a%d", i);
		(void)snprintf(b, sizeof(b), "b%d", i);
		add_veth(w, a, b, -1);
	}
	assert_int_equal(rtnl_links(w->host, count_link, &s, &w->err), 0);
	assert_int_equal(s.veths, 500);
	assert_true(s.n >= 501);
	s = (struct seen){ .r = w->host, .stop_at = 7 };
	assert_int_equal(rtnl_links(w->host, count_link, &s, &w->err), -ERR_CANCELED);
	assert_int_equal(s.n, 7);
}

static void the_loopback_is_known_as_such(void **state)
{
	struct world *w = *state;
	struct rtnl_link lo = link_of(w->pod, "lo");

	assert_true(lo.loopback);
	assert_int_equal(lo.index, 1);
	assert_int_equal(lo.parent, 0);
	assert_string_equal(lo.kind, "");
}

/* --- addresses -------------------------------------------------------------------------- */

struct addresses {
	struct rtnl_address v[16];
	size_t n;
};

static int keep_address(void *arg, const struct rtnl_address *a)
{
	struct addresses *z = arg;

	if (a->scope != RT_SCOPE_LINK && z->n < ARRAY_SIZE(z->v))
		z->v[z->n++] = *a;
	return 0;
}

static struct addresses addresses_of(struct rtnl *r, int index)
{
	struct addresses z = { .n = 0 };
	struct error err;

	if (rtnl_addresses(r, index, keep_address, &z, &err) < 0)
		fail_msg("%s", err.msg);
	return z;
}

static void assert_address(const struct rtnl_address *a, const char *text)
{
	char out[RTNL_IP_TEXT];

	rtnl_ip_print(&a->ip, out);
	assert_string_equal(out, text);
}

static void addresses_are_added_listed_and_deleted(void **state)
{
	struct world *w = *state;
	struct rtnl_address v4, v6;
	struct addresses z;

	add_veth(w, "a", "b", -1);
	set_up(w->host, "a", true);
	v4 = (struct rtnl_address){ .index = link_of(w->host, "a").index,
				    .ip = ip("192.0.2.5/24") };
	v6 = (struct rtnl_address){ .index = v4.index, .ip = ip("2001:db8::5/64") };
	assert_int_equal(rtnl_address_add(w->host, &v4, &w->err), 0);
	assert_int_equal(rtnl_address_add(w->host, &v6, &w->err), 0);
	z = addresses_of(w->host, v4.index);
	assert_int_equal(z.n, 2);
	assert_address(&z.v[0], "192.0.2.5/24");
	assert_address(&z.v[1], "2001:db8::5/64");
	assert_int_equal(z.v[0].index, v4.index);
	/* Used at once: nobody is asked whether they have it. */
	assert_true(z.v[1].flags & IFA_F_NODAD);
	assert_false(z.v[1].flags & IFA_F_TENTATIVE);
	assert_int_equal(addresses_of(w->host, link_of(w->host, "b").index).n, 0);
	assert_int_equal(addresses_of(w->host, 0).n, 2);

	assert_int_equal(rtnl_address_delete(w->host, &v4, &w->err), 0);
	assert_int_equal(rtnl_address_delete(w->host, &v6, &w->err), 0);
	assert_int_equal(addresses_of(w->host, v4.index).n, 0);
	assert_int_equal(rtnl_address_delete(w->host, &v4, &w->err), -ERR_NOT_FOUND);
	assert_non_null(strstr(w->err.msg, "delete address 192.0.2.5/24 of a: Cannot assign"));
}

/* --- routes ----------------------------------------------------------------------------- */

struct routes {
	char text[1024];
};

static int keep_route(void *arg, const struct rtnl_route *t)
{
	struct routes *z = arg;
	char to[RTNL_IP_TEXT], via[RTNL_IP_TEXT] = "-";
	size_t n = strlen(z->text);

	rtnl_ip_print(&t->to, to);
	if (t->via.family)
		rtnl_ip_print_plain(&t->via, via);
	if (strncmp(to, "fe80:", 5) != 0 && strncmp(to, "ff00:", 5) != 0)
		(void)snprintf(z->text + n, sizeof(z->text) - n, "%s via %s on %d metric %u\n", to,
			       via, t->index, t->metric);
	return 0;
}

static void assert_routes(struct rtnl *r, const char *fmt, int index)
{
	struct routes z = { .text = "" };
	char want[1024], *at;
	struct error err;

	if (rtnl_routes(r, keep_route, &z, &err) < 0)
		fail_msg("%s", err.msg);
	(void)snprintf(want, sizeof(want), "%s", fmt);
	while ((at = strchr(want, '#')))
		*at = (char)('0' + index);
	assert_string_equal(z.text, want);
}

static int add_route(struct world *w, const char *to, const char *via, int index, uint32_t metric)
{
	struct rtnl_route t = { .to = ip(to), .index = index, .metric = metric };

	if (via)
		t.via = ip(via);
	return rtnl_route_add(w->host, &t, &w->err);
}

static void routes_are_added_and_listed(void **state)
{
	struct world *w = *state;
	struct rtnl_address v4 = { .ip = ip("192.0.2.5/24") }, v6 = { .ip = ip("2001:db8::5/64") };
	int at;

	assert_routes(w->host, "", 0);
	add_veth(w, "a", "b", -1);
	set_up(w->host, "a", true);
	set_up(w->host, "b", true);
	await_running(w->host, "a", true);
	at = v4.index = v6.index = link_of(w->host, "a").index;
	assert_in_range(at, 2, 9);
	assert_int_equal(rtnl_address_add(w->host, &v4, &w->err), 0);
	assert_int_equal(rtnl_address_add(w->host, &v6, &w->err), 0);
	assert_int_equal(add_route(w, "0.0.0.0/0", "192.0.2.1", at, 50), 0);
	assert_int_equal(add_route(w, "198.51.100.0/24", NULL, at, 0), 0);
	assert_int_equal(add_route(w, "203.0.113.0/24", "2001:db8::1", at, 0), 0);
	assert_int_equal(add_route(w, "::/0", "2001:db8::1", at, 7), 0);
	assert_int_equal(add_route(w, "2001:db8:1::/48", "2001:db8::2", at, 0), 0);
	assert_routes(w->host,
		      "0.0.0.0/0 via 192.0.2.1 on # metric 50\n"
		      "192.0.2.0/24 via - on # metric 0\n"
		      "198.51.100.0/24 via - on # metric 0\n"
		      "203.0.113.0/24 via 2001:db8::1 on # metric 0\n"
		      "2001:db8::/64 via - on # metric 256\n"
		      "2001:db8:1::/48 via 2001:db8::2 on # metric 1024\n"
		      "::/0 via 2001:db8::1 on # metric 7\n",
		      at);
	assert_int_equal(add_route(w, "198.51.100.0/24", NULL, at, 0), -ERR_ALREADY_EXISTS);
	assert_non_null(strstr(w->err.msg, "add route to 198.51.100.0/24 on a: File exists"));
	assert_int_equal(add_route(w, "10.0.0.0/8", "10.9.9.9", at, 0), -ERR_IO);
	assert_int_equal(w->err.sys_errno, ENETUNREACH);
	assert_string_equal(w->err.msg, "add route to 10.0.0.0/8 via 10.9.9.9 on a: Network is "
					"unreachable (Nexthop has invalid gateway)");
}

/* --- errors ----------------------------------------------------------------------------- */

/* The kernel's text in parentheses differs by version. */
static void assert_failed(const struct world *w, int r, enum error_code code, const char *text)
{
	if (strncmp(w->err.msg, text, strlen(text)) != 0)
		fail_msg("\"%s\" does not begin with \"%s\"", w->err.msg, text);
	assert_int_equal(r, -(int)code);
	assert_int_equal(w->err.code, code);
}

static void a_link_that_cannot_be_made_says_why(void **state)
{
	struct world *w = *state;
	struct rtnl_new_link l = { .kind = "macvlan", .name = "net1", .ns_fd = -1, .parent = 99 };
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_failed(w, rtnl_link_add(w->host, &l, &w->err), ERR_NOT_FOUND,
		      "create macvlan net1 on interface 99: No such device");
	assert_int_equal(w->err.sys_errno, ENODEV);
	add_veth(w, "a", "b", -1);
	l.parent = link_of(w->host, "a").index;
	l.name = "a";
	assert_failed(w, rtnl_link_add(w->host, &l, &w->err), ERR_ALREADY_EXISTS,
		      "create macvlan a on a: File exists");
	l.name = "net1";
	l.mtu = 9000;
	assert_failed(w, rtnl_link_add(w->host, &l, &w->err), ERR_IO,
		      "create macvlan net1 on a: Invalid argument");
	l.mtu = 0;
	l.ns_fd = null;
	assert_failed(w, rtnl_link_add(w->host, &l, &w->err), ERR_IO,
		      "create macvlan net1 on a: Invalid argument");
	l = (struct rtnl_new_link){ .kind = "nosuchkind", .name = "net1", .ns_fd = -1 };
	assert_failed(w, rtnl_link_add(w->host, &l, &w->err), ERR_UNIMPLEMENTED,
		      "create nosuchkind net1: Operation not supported (Unknown device type)");
	(void)close(null);
}

static void a_change_that_is_refused_says_what_and_why(void **state)
{
	struct world *w = *state;
	struct rtnl_new_link l = { .kind = "macvlan", .name = "mv", .ns_fd = -1 };
	struct rtnl_mac zero = mac("00:00:00:00:00:00");
	int at;

	add_veth(w, "a", "b", -1);
	at = l.parent = link_of(w->host, "a").index;
	assert_int_equal(rtnl_link_add(w->host, &l, &w->err), 0);
	assert_failed(w, rtnl_link_change(w->host, 99, &(struct rtnl_change){ .mtu = 1 }, &w->err),
		      ERR_NOT_FOUND, "change interface 99 (mtu 1): No such device");
	assert_failed(w,
		      rtnl_link_change(w->host, at, &(struct rtnl_change){ .name = "b" }, &w->err),
		      ERR_ALREADY_EXISTS, "change a (name b): File exists");
	assert_failed(w,
		      rtnl_link_change(w->host, link_of(w->host, "mv").index,
				       &(struct rtnl_change){ .mtu = 9000 }, &w->err),
		      ERR_IO, "change mv (mtu 9000): Invalid argument");
	assert_failed(w,
		      rtnl_link_change(w->host, at, &(struct rtnl_change){ .mac = &zero }, &w->err),
		      ERR_IO, "change a (mac 00:00:00:00:00:00): Cannot assign requested address");
	assert_failed(w,
		      rtnl_link_change(w->host, at,
				       &(struct rtnl_change){ .set_ns = true, .ns_fd = -1 },
				       &w->err),
		      ERR_IO, "change a (into another network namespace): Bad file descriptor");
	assert_failed(w, rtnl_link_delete(w->host, 99, &w->err), ERR_NOT_FOUND,
		      "delete interface 99: No such device");
	assert_failed(w, rtnl_link_delete(w->host, 1, &w->err), ERR_UNIMPLEMENTED,
		      "delete lo: Operation not supported");
}

static void a_missing_interface_is_not_found(void **state)
{
	struct world *w = *state;
	struct rtnl_address a = { .index = 99, .ip = ip("192.0.2.5/24") };
	struct addresses z = { .n = 0 };
	struct rtnl_link l;
	char name[2000];

	assert_failed(w, rtnl_link_by_name(w->host, "eth9", &l, &w->err), ERR_NOT_FOUND,
		      "interface eth9: No such device");
	assert_failed(w, rtnl_link_by_index(w->host, 99, &l, &w->err), ERR_NOT_FOUND,
		      "interface 99: No such device");
	assert_failed(w, rtnl_addresses(w->host, 99, keep_address, &z, &w->err), ERR_NOT_FOUND,
		      "list addresses of interface 99: No such device");
	assert_failed(w, rtnl_address_add(w->host, &a, &w->err), ERR_NOT_FOUND,
		      "add address 192.0.2.5/24 of interface 99: No such device");
	a.index = 1;
	assert_int_equal(rtnl_address_add(w->host, &a, &w->err), 0);
	assert_failed(w, rtnl_address_add(w->host, &a, &w->err), ERR_ALREADY_EXISTS,
		      "add address 192.0.2.5/24 of lo: File exists");
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(rtnl_link_by_name(w->host, name, &l, &w->err), -ERR_INVALID);
	name[RTNL_NAME] = '\0';
	assert_int_equal(rtnl_link_by_name(w->host, name, &l, &w->err), -ERR_IO);
	assert_int_equal(w->err.sys_errno, ERANGE);
}

/* --- probing and namespaces --------------------------------------------------------------- */

static void a_probe_tells_which_kinds_there_are_and_leaves_nothing(void **state)
{
	struct world *w = *state;
	uint64_t before, after;
	int own, now;

	assert_int_equal(netns_open_own(&own, NULL), 0);
	assert_int_equal(netns_id(own, &before, NULL), 0);
	assert_int_equal(rtnl_probe_kind("veth", &w->err), 0);
	assert_int_equal(rtnl_probe_kind("macvlan", &w->err), 0);
	assert_failed(w, rtnl_probe_kind("nosuchkind", &w->err), ERR_UNIMPLEMENTED,
		      "this kernel has no links of type nosuchkind");
	/* Kernels differ here; either is an answer. */
	if (rtnl_probe_kind("vlan", &w->err) < 0)
		assert_string_equal(w->err.msg, "this kernel has no links of type vlan");
	assert_int_equal(netns_open_own(&now, NULL), 0);
	assert_int_equal(netns_id(now, &after, NULL), 0);
	assert_true(before == after);
	assert_false(has_link(w->host, "probe") || has_link(w->host, "parent"));
	(void)close(own);
	(void)close(now);
}

static void namespaces_are_told_apart(void **state)
{
	struct world *w = *state;
	char path[64];
	uint64_t a, b, own;
	int again, here;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", w->pod_ns);
	assert_int_equal(netns_open(path, &again, &w->err), 0);
	assert_int_equal(netns_open_own(&here, &w->err), 0);
	assert_int_equal(netns_id(w->pod_ns, &a, NULL), 0);
	assert_int_equal(netns_id(again, &b, NULL), 0);
	assert_int_equal(netns_id(here, &own, NULL), 0);
	assert_true(a == b);
	assert_true(a != own);
	assert_true(fcntl(again, F_GETFD) & FD_CLOEXEC);
	(void)close(again);
	(void)close(here);
}

static void a_file_that_is_not_a_network_namespace_is_rejected(void **state)
{
	struct world *w = *state;
	struct rtnl *r = NULL;
	int fd = -1, mount_ns = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);

	assert_int_equal(netns_open("/dev/null", &fd, &w->err), -ERR_INVALID);
	assert_string_equal(w->err.msg, "/dev/null is not a network namespace");
	assert_int_equal(netns_open("/proc/self/ns/mnt", &fd, &w->err), -ERR_INVALID);
	assert_int_equal(netns_open("/proc/self/ns/nothing", &fd, &w->err), -ERR_NOT_FOUND);
	assert_int_equal(fd, -1);
	assert_failed(w, rtnl_open(mount_ns, &r, &w->err), ERR_INVALID,
		      "open rtnetlink: enter network namespace: Invalid argument");
	assert_null(r);
	(void)close(mount_ns);
	assert_int_equal(rtnl_open(9999, &r, &w->err), -ERR_INVALID);
	assert_int_equal(netns_id(9999, &(uint64_t){ 0 }, &w->err), -ERR_INVALID);
}

struct names {
	unsigned n;
	char last[RTNL_ALTNAME];
};

static int count_name(void *arg, const char *name)
{
	struct names *z = arg;

	(void)snprintf(z->last, sizeof(z->last), "%s", name);
	z->n++;
	return 0;
}

static struct names names_of(struct world *w, struct rtnl *r, int index)
{
	struct names z = { 0 };

	if (rtnl_altnames(r, index, count_name, &z, &w->err) < 0)
		fail_msg("%s", w->err.msg);
	return z;
}

static void other_names_are_given_move_along_and_are_taken(void **state)
{
	struct world *w = *state;
	struct rtnl_change move = { .set_ns = true, .ns_fd = w->pod_ns };
	int index;

	add_veth(w, "a", "b", -1);
	add_veth(w, "c", "d", w->pod_ns);
	index = link_of(w->host, "a").index;
	assert_int_equal(names_of(w, w->host, index).n, 0);
	assert_int_equal(rtnl_altname_add(w->host, index, "c", &w->err), 0);
	assert_string_equal(names_of(w, w->host, index).last, "c");
	assert_int_equal(link_of(w->host, "c").index, index);
	assert_int_equal(rtnl_altname_add(w->host, index, "b", &w->err), -ERR_ALREADY_EXISTS);
	assert_string_equal(w->err.msg, "add another name of a: File exists");

	/* The name is taken there. */
	assert_int_equal(rtnl_link_change(w->host, index, &move, &w->err), -ERR_ALREADY_EXISTS);
	assert_int_equal(rtnl_altname_delete(w->host, index, "c", &w->err), 0);
	assert_true(rtnl_altname_delete(w->host, index, "c", &w->err) < 0);
	assert_int_equal(names_of(w, w->host, index).n, 0);
	assert_int_equal(rtnl_link_change(w->host, index, &move, &w->err), 0);
}

/* An answer about it is larger than what the kernel would send at a time. */
static void a_link_with_hundreds_of_names_is_still_seen(void **state)
{
	struct world *w = *state;
	struct seen seen = { .r = w->host };
	char name[RTNL_ALTNAME];
	int index;

	add_veth(w, "a", "b", -1);
	index = link_of(w->host, "a").index;
	for (unsigned i = 0; i < 400; i++) {
		(void)snprintf(name, sizeof(name), "%0115u", i);
		if (rtnl_altname_add(w->host, index, name, &w->err) < 0)
			fail_msg("%s", w->err.msg);
	}
	assert_int_equal(names_of(w, w->host, index).n, 400);
	assert_int_equal(link_of(w->host, "a").index, index);
	if (rtnl_links(w->host, count_link, &seen, &w->err) < 0)
		fail_msg("%s", w->err.msg);
	assert_int_equal(seen.veths, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, enter_world, leave_world)
		IN_WORLD(a_veth_pair_spans_two_namespaces),
		IN_WORLD(a_veth_pair_in_one_namespace_has_no_namespace_id),
		IN_WORLD(a_macvlan_is_made_in_the_pod_on_a_parent_of_the_host),
		IN_WORLD(a_link_becomes_part_of_a_bridge_and_leaves_it),
		IN_WORLD(a_link_is_moved_and_renamed_in_one_request),
		IN_WORLD(mtu_and_hardware_address_are_set),
		IN_WORLD(a_kernel_that_hangs_is_waited_for_once),
		IN_WORLD(five_hundred_links_are_listed),
		IN_WORLD(the_loopback_is_known_as_such),
		IN_WORLD(addresses_are_added_listed_and_deleted),
		IN_WORLD(routes_are_added_and_listed),
		IN_WORLD(a_link_that_cannot_be_made_says_why),
		IN_WORLD(a_change_that_is_refused_says_what_and_why),
		IN_WORLD(a_missing_interface_is_not_found),
		IN_WORLD(a_probe_tells_which_kinds_there_are_and_leaves_nothing),
		IN_WORLD(namespaces_are_told_apart),
		IN_WORLD(a_file_that_is_not_a_network_namespace_is_rejected),
		IN_WORLD(other_names_are_given_move_along_and_are_taken),
		IN_WORLD(a_link_with_hundreds_of_names_is_still_seen),
	};
	struct error err;
	int fd;

	if (netns_make(&fd, &err) < 0) {
		printf("1..0 # SKIP %s\n", err.msg);
		return 0;
	}
	(void)close(fd);
	return cmocka_run_group_tests_name("drivers/rtnl", tests, NULL, NULL);
}
