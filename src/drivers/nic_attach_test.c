/*
 * Interfaces go into pods and come back, in network namespaces of the test's own: the node's, which is the
 * thread's, and a pod's. What counts is how the links of both are before and after.
 *
 * Each step of attaching and of detaching is made to fail, and to be where a process dies. The node is to look
 * as before when nic_detach() has run, in the same process or in the next one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ftw.h>
#include <linux/if_link.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits.h"
#include "drivers/netns.h"
#include "drivers/nic_attach_impl.h"

enum { LINKS_MAX = 24, CRASHED = 42, STEPS_MAX = 40 };

struct dump {
	struct rtnl_link links[LINKS_MAX];
	size_t n;
};

struct test {
	char dir[64];
	struct nic_book *book;
	struct nic_attach *attach;
	struct nic_use *use;
	int pod_fd;
	struct rtnl *here, *pod;
	struct dump home, inside; /* as all is at first */
	/* The hook: what happens at the step stop_at (0: nothing ever). */
	unsigned steps, stop_at;
	bool crash, for_good;
	struct error err;
	unsigned warnings;
	char warned[512];
};

/* --- the hook and the book ---------------------------------------------------------------- */

static void must(struct test *t, int r)
{
	if (r < 0)
		fail_msg("%s", t->err.msg);
}

static void on_warning(void *arg, const char *message)
{
	struct test *t = arg;

	(void)snprintf(t->warned, sizeof(t->warned), "%s", message);
	t->warnings++;
}

static int on_step(void *arg, struct error *err)
{
	struct test *t = arg;

	t->steps++;
	if (!t->stop_at || t->steps < t->stop_at || (t->steps > t->stop_at && !t->for_good))
		return 0;
	if (t->crash)
		_exit(CRASHED);
	return error_set(err, ERR_IO, "step %u fails", t->steps);
}

static void stop_at(struct test *t, unsigned step)
{
	t->steps = 0;
	t->stop_at = step;
}

/* What a process has that starts now. */
static void open_all(struct test *t)
{
	must(t, nic_book_open(t->dir, on_warning, t, &t->book, &t->err));
	must(t, nic_attach_new(t->book, &t->attach, &t->err));
	t->attach->on_step = on_step;
	t->attach->arg = t;
	t->use = nic_book_next(t->book, NULL);
	stop_at(t, 0);
}

static void close_all(struct test *t)
{
	nic_attach_free(t->attach);
	nic_book_close(t->book);
	t->attach = NULL;
	t->book = NULL;
	t->use = NULL;
}

/* --- the kernel's side -------------------------------------------------------------------- */

static int add_to_dump(void *arg, const struct rtnl_link *l)
{
	struct dump *d = arg;
	size_t at = d->n;

	assert_true(d->n < LINKS_MAX);
	for (; at > 0 && strcmp(l->name, d->links[at - 1].name) < 0; at--)
		d->links[at] = d->links[at - 1];
	d->links[at] = *l;
	d->n++;
	return 0;
}

static void dump(struct test *t, struct rtnl *r, struct dump *d)
{
	d->n = 0;
	must(t, rtnl_links(r, add_to_dump, d, &t->err));
}

static const char *name_of(const struct dump *d, int index)
{
	for (size_t i = 0; i < d->n; i++)
		if (index && d->links[i].index == index)
			return d->links[i].name;
	return "";
}

/* But for the index, which the kernel does not promise to keep, and the carrier, which comes later. */
static bool same_link(const struct dump *da, const struct rtnl_link *a, const struct dump *db,
		      const struct rtnl_link *b)
{
	return strcmp(a->name, b->name) == 0 && strcmp(a->kind, b->kind) == 0 &&
	       rtnl_mac_equal(&a->mac, &b->mac) && a->mtu == b->mtu && a->up == b->up &&
	       strcmp(name_of(da, a->master), name_of(db, b->master)) == 0 &&
	       strcmp(name_of(da, a->parent), name_of(db, b->parent)) == 0;
}

static void print_dump(const char *title, const struct dump *d)
{
	for (size_t i = 0; i < d->n; i++) {
		const struct rtnl_link *l = &d->links[i];
		char mac[RTNL_MAC_TEXT];

		rtnl_mac_print(&l->mac, mac);
		print_message("# %s: %d %s (%s) %s mtu %u %s master %s parent %s\n", title,
			      l->index, l->name, l->kind, mac, l->mtu, l->up ? "up" : "down",
			      name_of(d, l->master), name_of(d, l->parent));
	}
}

static void assert_same_dump(const struct dump *was, const struct dump *is, const char *when)
{
	bool same = was->n == is->n;

	for (size_t i = 0; same && i < was->n; i++)
		same = same_link(was, &was->links[i], is, &is->links[i]);
	if (same)
		return;
	print_dump("was", was);
	print_dump("is", is);
	fail_msg("links have changed: %s", when);
}

static void assert_as_before(struct test *t, const char *when)
{
	struct dump now;

	dump(t, t->here, &now);
	assert_same_dump(&t->home, &now, when);
	dump(t, t->pod, &now);
	assert_same_dump(&t->inside, &now, when);
}

static struct rtnl_link link_named(struct test *t, struct rtnl *r, const char *name)
{
	struct rtnl_link l = { 0 };

	must(t, rtnl_link_by_name(r, name, &l, &t->err));
	return l;
}

static void change(struct test *t, struct rtnl *r, const char *name, struct rtnl_change c)
{
	must(t, rtnl_link_change(r, link_named(t, r, name).index, &c, &t->err));
}

static void switch_link(struct test *t, struct rtnl *r, const char *name, bool up)
{
	change(t, r, name, (struct rtnl_change){ .set_up = true, .up = up });
}

static void rename_link(struct test *t, struct rtnl *r, const char *name, const char *new_name)
{
	bool up = link_named(t, r, name).up;

	switch_link(t, r, name, false);
	change(t, r, name, (struct rtnl_change){ .name = new_name });
	switch_link(t, r, new_name, up);
}

static void make_link(struct test *t, struct rtnl *r, struct rtnl_new_link l)
{
	must(t, rtnl_link_add(r, &l, &t->err));
}

static void make_veth(struct test *t, struct rtnl *r, const char *name, const char *peer)
{
	make_link(
		t, r,
		(struct rtnl_new_link){ .kind = "veth", .name = name, .ns_fd = -1, .peer = peer });
}

static void make_macvlan(struct test *t, const char *name, const char *parent, int ns_fd)
{
	make_link(t, t->here,
		  (struct rtnl_new_link){ .kind = "macvlan",
					  .name = name,
					  .ns_fd = ns_fd,
					  .parent = link_named(t, t->here, parent).index });
}

/* --- the world ---------------------------------------------------------------------------- */

static bool may_make_namespaces(void)
{
	if (geteuid() == 0)
		return true;
	print_message("# skipped: needs root to make network namespaces\n");
	return false;
}

/* eth1 is what the node offers; its numbers are taken in the pod, so it gets another there. */
static void make_node(struct test *t)
{
	/* Without an address of its own a bridge takes its ports'. */
	make_link(t, t->here,
		  (struct rtnl_new_link){ .kind = "bridge",
					  .name = "br0",
					  .ns_fd = -1,
					  .mac = &(struct rtnl_mac){ .n = 6, .bytes = { 2, 9 } } });
	make_veth(t, t->here, "eth1", "wire1");
	make_veth(t, t->here, "eth2", "wire2");
	change(t, t->here, "eth1", (struct rtnl_change){ .mtu = 1450, .set_up = true, .up = true });
	switch_link(t, t->here, "wire1", true);
	switch_link(t, t->here, "eth2", true);
	make_veth(t, t->pod, "eth0", "x0");
	make_veth(t, t->pod, "x1", "x2");
}

static int setup(void **state)
{
	struct test *t = calloc(1, sizeof(*t));

	*state = t;
	t->pod_fd = -1;
	(void)snprintf(t->dir, sizeof(t->dir), "/tmp/nic-attach-XXXXXX");
	assert_non_null(mkdtemp(t->dir));
	if (!may_make_namespaces())
		return 0;
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	must(t, netns_make(&t->pod_fd, &t->err));
	must(t, rtnl_open(-1, &t->here, &t->err));
	must(t, rtnl_open(t->pod_fd, &t->pod, &t->err));
	make_node(t);
	dump(t, t->here, &t->home);
	dump(t, t->pod, &t->inside);
	open_all(t);
	return 0;
}

static int remove_entry(const char *path, const struct stat *st UNUSED, int type UNUSED,
			struct FTW *at UNUSED)
{
	return remove(path);
}

static void end_pod(struct test *t)
{
	rtnl_close(t->pod);
	t->pod = NULL;
	(void)close(t->pod_fd);
	t->pod_fd = -1;
}

static int teardown(void **state)
{
	struct test *t = *state;

	close_all(t);
	rtnl_close(t->here);
	if (t->pod_fd >= 0)
		end_pod(t);
	(void)nftw(t->dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
	free(t);
	return 0;
}

/* --- uses --------------------------------------------------------------------------------- */

static const struct offer {
	const char *device;
	enum nic_kind kind;
	const char *interface, *parent;
	uint16_t vlan;
} offers[] = {
	{ "eth1", NIC_HOST, "eth1", "", 0 },
	{ "veth-0", NIC_VETH, "", "", 0 },
	{ "veth-br0-0", NIC_VETH, "", "br0", 0 },
	{ "macvlan-eth2-0", NIC_MACVLAN, "", "eth2", 0 },
	{ "vlan-eth2-100", NIC_VLAN, "", "eth2", 100 },
};

enum { HOST, VETH, VETH_BRIDGE, MACVLAN, VLAN, OFFERS };

static bool can(const struct offer *o)
{
	struct error err;

	if (o->kind == NIC_HOST || rtnl_probe_kind(nic_kind_name(o->kind), &err) == 0)
		return true;
	print_message("# skipped: %s: %s\n", o->device, err.msg);
	return false;
}

static struct rtnl_ip ip_of(const char *text)
{
	struct rtnl_ip ip = { 0 };

	assert_true(rtnl_ip_parse(str_from(text), !strchr(text, '/'), &ip));
	return ip;
}

/* Everything that a configuration can say, gateways before what leads to them. */
static void set_config(struct nic_use *u)
{
	struct rtnl_ip *ips = ARENA_ARRAY(&u->arena, struct rtnl_ip, 2);
	struct rtnl_route *routes = ARENA_ARRAY(&u->arena, struct rtnl_route, 3);

	ips[0] = ip_of("192.0.2.5/24");
	ips[1] = ip_of("2001:db8::5/64");
	routes[0] = (struct rtnl_route){ .to = ip_of("198.51.100.0/24"),
					 .via = ip_of("203.0.113.1"),
					 .metric = 100 };
	routes[1] = (struct rtnl_route){ .to = ip_of("203.0.113.0/24") };
	routes[2] = (struct rtnl_route){ .to = ip_of("::/0"), .via = ip_of("2001:db8::1") };
	u->config = (struct nic_config){ .interface_name = "blue0",
					 .network = "blue",
					 .addresses = ips,
					 .naddresses = 2,
					 .routes = routes,
					 .nroutes = 3,
					 .mtu = 1300,
					 .mac = { .n = 6, .bytes = { 2, 0, 0, 0, 0, 5 } } };
}

/* Prepared, in the file. */
static struct nic_use *add(struct test *t, int which)
{
	const struct offer *o = &offers[which];
	struct nic_use *u = nic_book_add(t->book);

	u->claim_ns = u->claim_name = u->pod_name = u->pool = nic_use_text(u, STR("x"));
	u->claim_uid = nic_use_text(u, STR("claim-uid"));
	u->pod_uid = nic_use_text(u, STR("pod-uid"));
	(void)snprintf(u->nic.device, sizeof(u->nic.device), "%s", o->device);
	(void)snprintf(u->nic.interface, RTNL_NAME, "%s", o->interface);
	(void)snprintf(u->nic.parent, RTNL_NAME, "%s", o->parent);
	u->nic.kind = o->kind;
	u->nic.vlan = o->vlan;
	if (o->kind == NIC_HOST)
		u->nic.link = link_named(t, t->here, o->interface);
	must(t, nic_book_save(t->book, &t->err));
	return u;
}

static struct nic_use *add_full(struct test *t, int which)
{
	struct nic_use *u = add(t, which);

	set_config(u);
	must(t, nic_book_save(t->book, &t->err));
	t->use = u;
	return u;
}

static int begin(struct test *t, struct nic_use *u)
{
	if (u->state == NIC_PREPARED)
		nic_use_set_sandbox(u, "sandbox", "/run/netns/pod", NULL);
	return nic_attach_begin(t->attach, u, t->pod_fd, &t->err);
}

static int put(struct test *t, struct nic_use *u)
{
	int r = begin(t, u);

	return r < 0 ? r : nic_attach_put(t->attach, u, t->pod_fd, &t->err);
}

static int detach(struct test *t, struct nic_use *u)
{
	return nic_detach(t->attach, u, t->pod_fd, &t->err);
}

static struct nic_seen look(struct test *t, const struct nic_use *u)
{
	struct nic_seen seen;

	must(t, nic_attach_look(t->pod, u, &seen, &t->err));
	return seen;
}

/* Each of them that the kernel has, whole: setup and teardown are the test's. */
static void for_each_offer(struct test *t, void (*check)(struct test *t, struct nic_use *u))
{
	for (int i = 0; i < OFFERS; i++) {
		if (!can(&offers[i]))
			continue;
		t->use = add_full(t, i);
		check(t, t->use);
		nic_book_remove(t->book, t->use);
		must(t, nic_book_save(t->book, &t->err));
	}
}

static void assert_prepared(struct test *t, const struct nic_use *u, const char *when)
{
	assert_int_equal(u->state, NIC_PREPARED);
	assert_int_equal(u->index, 0);
	assert_as_before(t, when);
}

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

static void assert_routes(struct test *t, const struct nic_use *u)
{
	for (size_t i = 0; i < u->config.nroutes; i++) {
		struct route_search s = { .want = &u->config.routes[i], .index = u->index };

		must(t, rtnl_routes(t->pod, look_at_route, &s, &t->err));
		assert_int_equal(s.found, 1);
	}
}

static void assert_peer(struct test *t, const struct nic_use *u)
{
	struct rtnl_link peer = link_named(t, t->here, u->peer), bridge;

	assert_true(peer.up);
	assert_int_equal(peer.mtu, 1300);
	if (!u->nic.parent[0]) {
		assert_int_equal(peer.master, 0);
		return;
	}
	bridge = link_named(t, t->here, u->nic.parent);
	assert_int_equal(peer.master, bridge.index);
}

static void check_all_that_a_config_says(struct test *t, struct nic_use *u)
{
	struct nic_seen seen;

	must(t, put(t, u));
	assert_int_equal(u->state, NIC_ATTACHED);
	seen = look(t, u);
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
	assert_routes(t, u);
	if (u->nic.kind == NIC_VETH)
		assert_peer(t, u);

	must(t, detach(t, u));
	assert_prepared(t, u, u->nic.device);
	seen = look(t, u);
	assert_false(seen.there);
}

static void all_that_a_config_says_is_set_and_taken_back(void **state)
{
	if (may_make_namespaces())
		for_each_offer(*state, check_all_that_a_config_says);
	else
		skip();
}

static void check_twice(struct test *t, struct nic_use *u)
{
	struct dump inside, again;

	must(t, put(t, u));
	dump(t, t->pod, &inside);
	stop_at(t, 0);
	must(t, put(t, u));
	assert_int_equal(t->steps, 0);
	dump(t, t->pod, &again);
	assert_same_dump(&inside, &again, u->nic.device);
	must(t, detach(t, u));
	stop_at(t, 0);
	must(t, detach(t, u));
	assert_int_equal(t->steps, 0);
	assert_prepared(t, u, u->nic.device);
}

static void doing_it_twice_is_doing_it_once(void **state)
{
	if (may_make_namespaces())
		for_each_offer(*state, check_twice);
	else
		skip();
}

static void without_a_config_an_interface_keeps_what_it_has(void **state)
{
	struct test *t = *state;
	struct nic_use *u;
	struct nic_seen seen;

	if (!may_make_namespaces())
		skip();
	u = add(t, HOST);
	must(t, put(t, u));
	seen = look(t, u);
	assert_string_equal(seen.link.name, "net1");
	assert_int_equal(seen.link.mtu, 1450);
	assert_true(rtnl_mac_equal(&seen.link.mac, &u->before.mac));
	assert_int_equal(seen.nips, 0);
	must(t, detach(t, u));
	assert_prepared(t, u, "no config");
}

static void names_are_given_in_order_and_never_twice(void **state)
{
	struct test *t = *state;
	struct nic_use *a, *b, *c;

	if (!may_make_namespaces())
		skip();
	make_veth(t, t->pod, "net2", "y0");
	dump(t, t->pod, &t->inside);
	a = add(t, HOST);
	b = add(t, VETH);
	c = add(t, VETH_BRIDGE);
	must(t, begin(t, a));
	must(t, begin(t, b));
	assert_string_equal(a->interface, "net1");
	assert_string_equal(b->interface, "net3");
	(void)snprintf(c->config.interface_name, RTNL_NAME, "net3");
	assert_int_equal(begin(t, c), -ERR_ALREADY_EXISTS);
	assert_non_null(strstr(t->err.msg, "net3 is taken by device veth-0"));
	must(t, nic_attach_put(t->attach, b, t->pod_fd, &t->err));
	must(t, nic_attach_put(t->attach, a, t->pod_fd, &t->err));
	must(t, detach(t, a));
	must(t, detach(t, b));
	assert_prepared(t, c, "names");
}

static void addresses_come_in_the_order_of_the_config(void **state)
{
	struct test *t = *state;
	struct rtnl_address more = { 0 };
	struct nic_seen seen;
	struct nic_use *u;
	char text[64];

	if (!may_make_namespaces())
		skip();
	u = add_full(t, VETH);
	must(t, put(t, u));
	more.index = u->index;
	for (unsigned i = 20; i > 0; i--) {
		(void)snprintf(text, sizeof(text), "10.0.0.%u/32", i);
		more.ip = ip_of(text);
		must(t, rtnl_address_add(t->pod, &more, &t->err));
	}
	seen = look(t, u);
	assert_int_equal(seen.nips, NIC_IPS_MAX);
	rtnl_ip_print(&seen.ips[0], text);
	assert_string_equal(text, "192.0.2.5/24");
	rtnl_ip_print(&seen.ips[1], text);
	assert_string_equal(text, "2001:db8::5/64");
	rtnl_ip_print(&seen.ips[2], text);
	assert_string_equal(text, "10.0.0.1/32");
	rtnl_ip_print(&seen.ips[15], text);
	assert_string_equal(text, "10.0.0.14/32");
	must(t, detach(t, u));
}

/* --- refusals ----------------------------------------------------------------------------- */

static void refused(struct test *t, struct nic_use *u, int code, const char *says)
{
	stop_at(t, 0);
	assert_int_equal(put(t, u), -code);
	if (!strstr(t->err.msg, says))
		fail_msg("\"%s\" is not in: %s", says, t->err.msg);
	assert_prepared(t, u, t->err.msg);
}

static void what_cannot_be_is_refused_before_anything_is_done(void **state)
{
	struct test *t = *state;
	struct nic_use *u;

	if (!may_make_namespaces())
		skip();
	u = add_full(t, HOST);
	(void)snprintf(u->config.interface_name, RTNL_NAME, "eth0");
	refused(t, u, ERR_ALREADY_EXISTS, "eth0 is taken in the pod");
	assert_int_equal(t->steps, 0);
	(void)snprintf(u->nic.interface, RTNL_NAME, "eth9");
	u->config.interface_name[0] = 0;
	refused(t, u, ERR_NOT_FOUND, "eth9 is not on this node");
	(void)snprintf(u->nic.interface, RTNL_NAME, "lo");
	refused(t, u, ERR_INVALID, "loopback");
	(void)snprintf(u->nic.interface, RTNL_NAME, "eth1");
	u->nic.link.permanent = (struct rtnl_mac){ .n = 6, .bytes = { 2, 1 } };
	refused(t, u, ERR_CONFLICT, "eth1 is another interface now");
	u = add(t, VETH_BRIDGE);
	(void)snprintf(u->nic.parent, RTNL_NAME, "br7");
	refused(t, u, ERR_NOT_FOUND, "bridge br7 does not exist");
	u = add(t, MACVLAN);
	(void)snprintf(u->nic.parent, RTNL_NAME, "eth7");
	refused(t, u, ERR_NOT_FOUND, "parent eth7 does not exist");
	assert_int_equal(t->steps, 0);
	nic_use_set_sandbox(u, "sandbox", "/proc/self/ns/net", NULL);
	assert_int_equal(nic_attach_begin(t->attach, u, t->attach->home, &t->err), -ERR_INVALID);
	assert_prepared(t, u, t->err.msg);
}

static void check_the_kernels_words(struct test *t, struct nic_use *u)
{
	struct rtnl_ip twice[2] = { ip_of("192.0.2.5/24"), ip_of("192.0.2.5/24") };
	struct rtnl_route far = { .to = ip_of("198.51.100.0/24"), .via = ip_of("203.0.113.1") };
	char as[128];

	(void)snprintf(as, sizeof(as), "cannot attach %s as blue0: ", u->nic.device);
	u->config.addresses = twice;
	refused(t, u, ERR_ALREADY_EXISTS, as);
	refused(t, u, ERR_ALREADY_EXISTS, "File exists");
	u->config.naddresses = 1;
	u->config.routes = &far;
	u->config.nroutes = 1;
	assert_true(put(t, u) < 0);
	assert_non_null(strstr(t->err.msg, as));
	assert_true(t->err.sys_errno != 0);
	assert_prepared(t, u, t->err.msg);
	u->config.nroutes = 0;
	u->config.mac = (struct rtnl_mac){ .n = 6, .bytes = { 1 } }; /* of a group */
	assert_true(put(t, u) < 0);
	assert_true(t->err.sys_errno != 0);
	assert_prepared(t, u, t->err.msg);
}

static void what_the_kernel_refuses_is_undone_and_told_in_its_words(void **state)
{
	if (may_make_namespaces())
		for_each_offer(*state, check_the_kernels_words);
	else
		skip();
}

static void a_second_namespace_waits_for_the_first(void **state)
{
	struct test *t = *state;
	struct nic_use *u;
	int other;

	if (!may_make_namespaces())
		skip();
	u = add_full(t, MACVLAN);
	must(t, put(t, u));
	must(t, netns_make(&other, &t->err));
	assert_int_equal(nic_attach_begin(t->attach, u, other, &t->err), -ERR_CONFLICT);
	assert_int_equal(u->state, NIC_ATTACHED);
	assert_true(look(t, u).there);
	(void)close(other);
	must(t, detach(t, u));
	assert_prepared(t, u, "second namespace");
}

/* --- steps that fail ---------------------------------------------------------------------- */

/* Of the use in the file. */
static enum nic_state state_in_file(struct test *t)
{
	struct nic_book *b = NULL;
	enum nic_state state;

	must(t, nic_book_open(t->dir, NULL, NULL, &b, &t->err));
	state = nic_book_next(b, NULL)->state;
	nic_book_close(b);
	return state;
}

static void check_each_failure_of_attaching(struct test *t, struct nic_use *u)
{
	char when[96];

	for (unsigned n = 1;; n++) {
		assert_true(n < STEPS_MAX);
		(void)snprintf(when, sizeof(when), "%s, step %u", u->nic.device, n);
		stop_at(t, n);
		if (put(t, u) == 0) {
			assert_true(n > 3);
			break;
		}
		assert_non_null(strstr(t->err.msg, " fails"));
		assert_prepared(t, u, when);
		assert_int_equal(state_in_file(t), NIC_PREPARED);
	}
	stop_at(t, 0);
	must(t, detach(t, u));
}

static void a_step_of_attaching_that_fails_is_undone(void **state)
{
	if (may_make_namespaces())
		for_each_offer(*state, check_each_failure_of_attaching);
	else
		skip();
}

/* Undoing fails, too: the disk is full, say. Trying again is of use. */
static void check_attaching_that_cannot_be_undone(struct test *t, struct nic_use *u)
{
	char when[96];

	t->for_good = true;
	for (unsigned n = 2;; n++) {
		assert_true(n < STEPS_MAX);
		(void)snprintf(when, sizeof(when), "%s, from step %u on", u->nic.device, n);
		stop_at(t, n);
		if (put(t, u) == 0)
			break;
		assert_int_equal(u->state, NIC_ATTACHING);
		assert_non_null(strstr(t->err.msg, "it could not be undone"));
		assert_int_equal(state_in_file(t), NIC_ATTACHING);
		stop_at(t, 0);
		if (n % 2 == 0) {
			must(t, detach(t, u));
		} else {
			/* The runtime asks again: the rest is cleared away on the way. */
			must(t, put(t, u));
			assert_true(look(t, u).there);
			must(t, detach(t, u));
		}
		assert_prepared(t, u, when);
	}
	stop_at(t, 0);
	must(t, detach(t, u));
	t->for_good = false;
}

static void what_could_not_be_undone_is_undone_later(void **state)
{
	if (may_make_namespaces())
		for_each_offer(*state, check_attaching_that_cannot_be_undone);
	else
		skip();
}

static void check_each_failure_of_detaching(struct test *t, struct nic_use *u)
{
	bool failed = true;

	for (unsigned n = 1; failed; n++) {
		assert_true(n < STEPS_MAX);
		stop_at(t, 0);
		must(t, put(t, u));
		stop_at(t, n);
		failed = detach(t, u) < 0;
		if (failed)
			assert_int_equal(u->state, n == 1 ? NIC_ATTACHED : NIC_DETACHING);
		stop_at(t, 0);
		must(t, detach(t, u));
		assert_prepared(t, u, u->nic.device);
	}
}

static void a_step_of_detaching_that_fails_is_made_up_for(void **state)
{
	if (may_make_namespaces())
		for_each_offer(*state, check_each_failure_of_detaching);
	else
		skip();
}

/* --- crashes ------------------------------------------------------------------------------ */

/*
 * Another process does it and is gone before step n. True: it came to its end. What this process knew is
 * dropped before and read anew afterwards.
 */
static bool dies_at(struct test *t, unsigned n, int (*work)(struct test *t, struct nic_use *u))
{
	int status;
	pid_t child;

	close_all(t);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		open_all(t);
		t->crash = true;
		stop_at(t, n);
		_exit(work(t, t->use) < 0 ? 1 : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_true(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == CRASHED);
	open_all(t);
	assert_non_null(t->use);
	return WEXITSTATUS(status) == 0;
}

static void check_each_crash_of_attaching(struct test *t, struct nic_use *u UNUSED)
{
	bool whole = false;
	char when[96];

	for (unsigned n = 1; !whole; n++) {
		assert_true(n < STEPS_MAX);
		whole = dies_at(t, n, put);
		assert_true(n > 3 || !whole);
		assert_int_equal(t->use->state, whole    ? NIC_ATTACHED
						: n == 1 ? NIC_PREPARED
							 : NIC_ATTACHING);
		(void)snprintf(when, sizeof(when), "%s, died before step %u", t->use->nic.device,
			       n);
		must(t, detach(t, t->use));
		assert_prepared(t, t->use, when);
	}
	must(t, put(t, t->use));
	assert_true(look(t, t->use).there);
	must(t, detach(t, t->use));
	assert_prepared(t, t->use, "after all crashes");
}

static void a_crash_at_any_step_of_attaching_is_undone_by_the_next_start(void **state)
{
	if (may_make_namespaces())
		for_each_offer(*state, check_each_crash_of_attaching);
	else
		skip();
}

static void check_each_crash_of_detaching(struct test *t, struct nic_use *u UNUSED)
{
	bool whole = false;
	char when[96];

	for (unsigned n = 1; !whole; n++) {
		assert_true(n < STEPS_MAX);
		must(t, put(t, t->use));
		whole = dies_at(t, n, detach);
		assert_int_equal(t->use->state, whole    ? NIC_PREPARED
						: n == 1 ? NIC_ATTACHED
							 : NIC_DETACHING);
		(void)snprintf(when, sizeof(when), "%s, died before step %u", t->use->nic.device,
			       n);
		must(t, detach(t, t->use));
		assert_prepared(t, t->use, when);
	}
}

static void a_crash_at_any_step_of_detaching_is_made_up_for(void **state)
{
	if (may_make_namespaces())
		for_each_offer(*state, check_each_crash_of_detaching);
	else
		skip();
}

static void a_crash_while_the_namespace_ends_leaves_nothing(void **state)
{
	struct test *t = *state;
	struct dump now;

	if (!may_make_namespaces())
		skip();
	(void)add_full(t, VETH_BRIDGE);
	for (unsigned n = 2; n < 4; n++) {
		assert_false(dies_at(t, n, put));
		assert_int_equal(t->use->state, NIC_ATTACHING);
		end_pod(t);
		must(t, nic_detach(t->attach, t->use, -1, &t->err));
		assert_int_equal(t->use->state, NIC_PREPARED);
		dump(t, t->here, &now);
		assert_same_dump(&t->home, &now, "the namespace has ended");
		must(t, netns_make(&t->pod_fd, &t->err));
		must(t, rtnl_open(t->pod_fd, &t->pod, &t->err));
	}
}

/* --- what others do meanwhile ------------------------------------------------------------- */

static void check_renamed_by_the_pod(struct test *t, struct nic_use *u)
{
	struct rtnl_change own = { .mtu = 1290,
				   .mac = &(struct rtnl_mac){ .n = 6, .bytes = { 2, 7, 7 } } };
	struct nic_seen seen;

	must(t, put(t, u));
	rename_link(t, t->pod, "blue0", "green0");
	change(t, t->pod, "green0", own);
	make_veth(t, t->pod, "blue0", "y0"); /* nobody's but the pod's */
	seen = look(t, u);
	assert_true(seen.there);
	assert_string_equal(seen.link.name, "green0");
	must(t, detach(t, u));
	assert_int_equal(u->state, NIC_PREPARED);
	must(t, rtnl_link_delete(t->pod, link_named(t, t->pod, "blue0").index, &t->err));
	assert_prepared(t, u, u->nic.device);
}

static void what_the_pod_has_renamed_is_found(void **state)
{
	if (may_make_namespaces())
		for_each_offer(*state, check_renamed_by_the_pod);
	else
		skip();
}

static void check_deleted_by_the_pod(struct test *t, struct nic_use *u)
{
	if (u->nic.kind == NIC_HOST)
		return;
	must(t, put(t, u));
	must(t, rtnl_link_delete(t->pod, u->index, &t->err));
	assert_false(look(t, u).there);
	must(t, detach(t, u));
	assert_prepared(t, u, u->nic.device);
}

static void what_the_pod_has_deleted_needs_no_taking_back(void **state)
{
	if (may_make_namespaces())
		for_each_offer(*state, check_deleted_by_the_pod);
	else
		skip();
}

/* Between the look and the deed somebody makes an interface of that name: it stays. */
static void an_interface_of_somebody_else_is_left_alone(void **state)
{
	static const int kinds[] = { HOST, VETH, MACVLAN };
	struct test *t = *state;

	if (!may_make_namespaces())
		skip();
	make_macvlan(t, "mine", "wire2", -1);
	dump(t, t->here, &t->home);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct nic_use *u = add_full(t, kinds[i]);

		must(t, begin(t, u));
		make_macvlan(t, "blue0", "wire2", t->pod_fd);
		dump(t, t->pod, &t->inside);
		assert_int_equal(nic_attach_put(t->attach, u, t->pod_fd, &t->err),
				 -ERR_ALREADY_EXISTS);
		assert_prepared(t, u, "the name was taken");

		must(t, rtnl_link_delete(t->pod, link_named(t, t->pod, "blue0").index, &t->err));
		must(t, begin(t, u));
		make_macvlan(t, "blue0", "wire2", t->pod_fd);
		dump(t, t->pod, &t->inside);
		must(t, detach(t, u)); /* as after a crash */
		assert_prepared(t, u, "the name was taken, crash");
		must(t, rtnl_link_delete(t->pod, link_named(t, t->pod, "blue0").index, &t->err));
		dump(t, t->pod, &t->inside);
		nic_book_remove(t->book, u);
	}
}

static void a_name_that_was_taken_meanwhile_is_told(void **state)
{
	struct test *t = *state;
	struct rtnl_link back;
	struct nic_use *u;
	char own[RTNL_NAME];

	if (!may_make_namespaces())
		skip();
	u = add_full(t, HOST);
	must(t, put(t, u));
	make_veth(t, t->here, "eth1", "wire9");
	must(t, detach(t, u));
	assert_int_equal(u->state, NIC_PREPARED);
	nic_own_name(u, "dph", own);
	assert_int_equal(t->warnings, 1);
	assert_non_null(strstr(t->warned, "eth1 is back as dph"));
	back = link_named(t, t->here, own);
	assert_int_equal(back.mtu, 1450);
	assert_true(back.up);
	assert_true(rtnl_mac_equal(&back.mac, &u->nic.link.mac));
	/* When the name is free again all is as before. */
	must(t, rtnl_link_delete(t->here, link_named(t, t->here, "eth1").index, &t->err));
	rename_link(t, t->here, own, "eth1");
	assert_prepared(t, u, "renamed by hand");
}

static void a_bridge_gets_its_port_back(void **state)
{
	struct test *t = *state;
	struct nic_use *u;

	if (!may_make_namespaces())
		skip();
	change(t, t->here, "eth1",
	       (struct rtnl_change){ .set_master = true,
				     .master = link_named(t, t->here, "br0").index });
	dump(t, t->here, &t->home);
	u = add_full(t, HOST);
	must(t, put(t, u));
	must(t, detach(t, u));
	assert_prepared(t, u, "bridge");
}

/* --- namespaces that are gone ------------------------------------------------------------- */

static void what_was_made_goes_with_its_namespace(void **state)
{
	struct test *t = *state;
	struct nic_use *a, *b;
	struct dump now;

	if (!may_make_namespaces())
		skip();
	a = add(t, MACVLAN);
	b = add(t, VETH_BRIDGE);
	must(t, put(t, a));
	must(t, put(t, b));
	end_pod(t);
	must(t, nic_detach(t->attach, a, -1, &t->err));
	must(t, nic_detach(t->attach, b, -1, &t->err));
	assert_int_equal(a->state, NIC_PREPARED);
	assert_int_equal(b->state, NIC_PREPARED);
	dump(t, t->here, &now);
	assert_same_dump(&t->home, &now, "the namespace has ended");
	assert_int_equal(t->warnings, 0);
}

/* As the kernel does with hardware when its namespace ends: here again, as it is, under any name. */
static void hardware_that_came_back_by_itself_is_put_right(void **state)
{
	struct test *t = *state;
	struct nic_use *u;
	int other;

	if (!may_make_namespaces())
		skip();
	must(t, netns_make(&other, &t->err));
	u = add_full(t, HOST);
	for (int i = 0; i < 2; i++) {
		must(t, put(t, u));
		change(t, t->pod, "blue0",
		       (struct rtnl_change){ .set_ns = true, .ns_fd = t->attach->home });
		/* Another namespace under the same path is not where it was. */
		must(t, nic_detach(t->attach, u, i ? other : -1, &t->err));
		assert_prepared(t, u, "came back");
	}
	(void)close(other);
}

static void hardware_that_is_nowhere_is_waited_for_or_forgotten(void **state)
{
	struct test *t = *state;
	struct nic_use *u;

	if (!may_make_namespaces())
		skip();
	u = add_full(t, HOST);
	must(t, put(t, u));
	/* Hardware has no kind, so the test's veth is none; its namespace is said to be gone. */
	u->before.kind[0] = 0;
	assert_int_equal(nic_detach(t->attach, u, -1, &t->err), -ERR_NOT_FOUND);
	assert_non_null(strstr(t->err.msg, "eth1 is neither on the node nor in the pod's"));
	assert_int_equal(u->state, NIC_DETACHING);
	assert_int_equal(state_in_file(t), NIC_DETACHING);
	(void)snprintf(u->before.kind, RTNL_KIND, "veth");
	change(t, t->pod, "blue0",
	       (struct rtnl_change){ .set_ns = true, .ns_fd = t->attach->home });
	must(t, nic_detach(t->attach, u, -1, &t->err));
	assert_prepared(t, u, "found at last");

	must(t, put(t, u));
	u->before.kind[0] = 0;
	assert_int_equal(nic_detach(t->attach, u, -1, &t->err), -ERR_NOT_FOUND);
	must(t, nic_detach_forget(t->attach, u, &t->err));
	assert_int_equal(u->state, NIC_PREPARED);
	assert_int_equal(state_in_file(t), NIC_PREPARED);
}

/* --- cni ---------------------------------------------------------------------------------- */

static void an_interface_of_a_plugin_is_adopted_and_left_to_it(void **state)
{
	struct test *t = *state;
	struct nic_use *u;
	struct json *cni;

	if (!may_make_namespaces())
		skip();
	u = add(t, VETH);
	must(t, json_parse(&u->arena, STR("{\"type\":\"bridge\"}"), NULL, &cni, &t->err));
	u->config.cni = cni;
	must(t, begin(t, u));
	assert_string_equal(u->interface, "net1");
	assert_int_equal(nic_attach_adopt(t->attach, u, t->pod_fd, &t->err), -ERR_NOT_FOUND);
	assert_non_null(strstr(t->err.msg, "no interface net1"));
	assert_int_equal(u->state, NIC_ATTACHING);
	make_veth(t, t->pod, "net1", "y0");
	must(t, nic_attach_adopt(t->attach, u, t->pod_fd, &t->err));
	assert_int_equal(state_in_file(t), NIC_ATTACHED);
	assert_int_equal(look(t, u).link.index, u->index);
	must(t, detach(t, u));
	assert_int_equal(u->state, NIC_PREPARED);
	(void)link_named(t, t->pod, "net1");
}

#define ATTACH_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ATTACH_TEST(all_that_a_config_says_is_set_and_taken_back),
		ATTACH_TEST(doing_it_twice_is_doing_it_once),
		ATTACH_TEST(without_a_config_an_interface_keeps_what_it_has),
		ATTACH_TEST(names_are_given_in_order_and_never_twice),
		ATTACH_TEST(addresses_come_in_the_order_of_the_config),
		ATTACH_TEST(what_cannot_be_is_refused_before_anything_is_done),
		ATTACH_TEST(what_the_kernel_refuses_is_undone_and_told_in_its_words),
		ATTACH_TEST(a_second_namespace_waits_for_the_first),
		ATTACH_TEST(a_step_of_attaching_that_fails_is_undone),
		ATTACH_TEST(what_could_not_be_undone_is_undone_later),
		ATTACH_TEST(a_step_of_detaching_that_fails_is_made_up_for),
		ATTACH_TEST(a_crash_at_any_step_of_attaching_is_undone_by_the_next_start),
		ATTACH_TEST(a_crash_at_any_step_of_detaching_is_made_up_for),
		ATTACH_TEST(a_crash_while_the_namespace_ends_leaves_nothing),
		ATTACH_TEST(what_the_pod_has_renamed_is_found),
		ATTACH_TEST(what_the_pod_has_deleted_needs_no_taking_back),
		ATTACH_TEST(an_interface_of_somebody_else_is_left_alone),
		ATTACH_TEST(a_name_that_was_taken_meanwhile_is_told),
		ATTACH_TEST(a_bridge_gets_its_port_back),
		ATTACH_TEST(what_was_made_goes_with_its_namespace),
		ATTACH_TEST(hardware_that_came_back_by_itself_is_put_right),
		ATTACH_TEST(hardware_that_is_nowhere_is_waited_for_or_forgotten),
		ATTACH_TEST(an_interface_of_a_plugin_is_adopted_and_left_to_it),
	};

	return cmocka_run_group_tests_name("drivers/nic_attach", tests, NULL, NULL);
}
