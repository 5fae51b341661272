/*
 * The namespaces are real and die with their last descriptor, so nothing has to be removed but the
 * folder.
 */
#include "drivers/nic_attach/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/folder_fixture.h"
#include "drivers/rtnl/netns.h"

/* --- the hook and the book ---------------------------------------------------------------- */

void attach_world_must(const struct attach_world *w, int r, const char *file, int line)
{
	if (r >= 0)
		return;
	print_error("%s\n", w->err.msg);
	_fail(file, line);
}

static void on_warning(void *arg, const char *message)
{
	struct attach_world *w = arg;

	(void)snprintf(w->warned, sizeof(w->warned), "%s", message);
	w->warnings++;
}

static int on_step(void *arg, struct error *err)
{
	struct attach_world *w = arg;

	w->steps++;
	if (!w->stop_at || w->steps < w->stop_at || (w->steps > w->stop_at && !w->for_good))
		return 0;
	if (w->crash)
		_exit(ATTACH_WORLD_CRASHED);
	return error_set(err, ERR_IO, "step %u fails", w->steps);
}

void attach_world_stop_at(struct attach_world *w, unsigned step)
{
	w->steps = 0;
	w->stop_at = step;
}

/* The state of a process that starts now. */
void attach_world_open(struct attach_world *w)
{
	NIC_MUST(w, nic_book_open(w->dir, on_warning, w, &w->book, &w->err));
	NIC_MUST(w, nic_attach_new(w->book, &w->attach, &w->err));
	w->attach->on_step = on_step;
	w->attach->arg = w;
	w->use = nic_book_next(w->book, NULL);
	attach_world_stop_at(w, 0);
}

void attach_world_close(struct attach_world *w)
{
	nic_attach_free(w->attach);
	nic_book_close(w->book);
	w->attach = NULL;
	w->book = NULL;
	w->use = NULL;
}

/* --- the kernel's side -------------------------------------------------------------------- */

static int add_to_dump(void *arg, const struct rtnl_link *l)
{
	struct attach_world_dump *d = arg;
	size_t at = d->n;

	assert_true(d->n < ATTACH_WORLD_LINKS);
	for (; at > 0 && strcmp(l->name, d->links[at - 1].name) < 0; at--)
		d->links[at] = d->links[at - 1];
	d->links[at] = *l;
	d->n++;
	return 0;
}

void attach_world_dump(struct attach_world *w, struct rtnl *r, struct attach_world_dump *d)
{
	d->n = 0;
	NIC_MUST(w, rtnl_links(r, add_to_dump, d, &w->err));
}

static const char *world_name_of(const struct attach_world_dump *d, int index)
{
	for (size_t i = 0; i < d->n; i++)
		if (index && d->links[i].index == index)
			return d->links[i].name;
	return "";
}

static bool same_link(const struct attach_world_dump *da, const struct rtnl_link *a,
		      const struct attach_world_dump *db, const struct rtnl_link *b)
{
	return strcmp(a->name, b->name) == 0 && strcmp(a->kind, b->kind) == 0 &&
	       rtnl_mac_equal(&a->mac, &b->mac) && a->mtu == b->mtu && a->up == b->up &&
	       strcmp(world_name_of(da, a->master), world_name_of(db, b->master)) == 0 &&
	       strcmp(world_name_of(da, a->parent), world_name_of(db, b->parent)) == 0;
}

static void print_dump(const char *title, const struct attach_world_dump *d)
{
	for (size_t i = 0; i < d->n; i++) {
		const struct rtnl_link *l = &d->links[i];
		char mac[RTNL_MAC_TEXT];

		rtnl_mac_print(&l->mac, mac);
		print_message("# %s: %d %s (%s) %s mtu %u %s master %s parent %s\n", title,
			      l->index, l->name, l->kind, mac, l->mtu, l->up ? "up" : "down",
			      world_name_of(d, l->master), world_name_of(d, l->parent));
	}
}

void attach_world_assert_same(const struct attach_world_dump *was,
			      const struct attach_world_dump *is, const char *when)
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

static void assert_as_before(struct attach_world *w, const char *when)
{
	struct attach_world_dump now;

	attach_world_dump(w, w->here, &now);
	attach_world_assert_same(&w->home, &now, when);
	attach_world_dump(w, w->pod, &now);
	attach_world_assert_same(&w->inside, &now, when);
}

struct rtnl_link attach_world_link(struct attach_world *w, struct rtnl *r, const char *name)
{
	struct rtnl_link l = { 0 };

	NIC_MUST(w, rtnl_link_by_name(r, name, &l, &w->err));
	return l;
}

void attach_world_change(struct attach_world *w, struct rtnl *r, const char *name,
			 struct rtnl_change c)
{
	NIC_MUST(w, rtnl_link_change(r, attach_world_link(w, r, name).index, &c, &w->err));
}

static void switch_link(struct attach_world *w, struct rtnl *r, const char *name, bool up)
{
	attach_world_change(w, r, name, (struct rtnl_change){ .set_up = true, .up = up });
}

void attach_world_rename(struct attach_world *w, struct rtnl *r, const char *name,
			 const char *new_name)
{
	bool up = attach_world_link(w, r, name).up;

	switch_link(w, r, name, false);
	attach_world_change(w, r, name, (struct rtnl_change){ .name = new_name });
	switch_link(w, r, new_name, up);
}

static void make_link(struct attach_world *w, struct rtnl *r, struct rtnl_new_link l)
{
	NIC_MUST(w, rtnl_link_add(r, &l, &w->err));
}

void attach_world_make_veth(struct attach_world *w, struct rtnl *r, const char *name,
			    const char *peer)
{
	make_link(
		w, r,
		(struct rtnl_new_link){ .kind = "veth", .name = name, .ns_fd = -1, .peer = peer });
}

void attach_world_make_macvlan(struct attach_world *w, const char *name, const char *parent,
			       int ns_fd)
{
	make_link(w, w->here,
		  (struct rtnl_new_link){ .kind = "macvlan",
					  .name = name,
					  .ns_fd = ns_fd,
					  .parent = attach_world_link(w, w->here, parent).index });
}

/* --- the world ---------------------------------------------------------------------------- */

bool attach_world_can(const struct attach_world *w)
{
	if (!w->attach)
		print_message("# skipped: %s\n", w->err.msg);
	return w->attach;
}

static int need_kinds(struct error *err)
{
	static const char *const kinds[] = { "veth", "bridge", "macvlan" };
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(kinds) && r == 0; i++)
		r = rtnl_probe_kind(kinds[i], err);
	return r;
}

/* eth1 is what the node offers; its numbers are taken in the pod, so it gets another there. */
static void make_node(struct attach_world *w)
{
	/* Without an address of its own a bridge takes its ports'. */
	make_link(w, w->here,
		  (struct rtnl_new_link){ .kind = "bridge",
					  .name = "br0",
					  .ns_fd = -1,
					  .mac = &(struct rtnl_mac){ .n = 6, .bytes = { 2, 9 } } });
	attach_world_make_veth(w, w->here, "eth1", "wire1");
	attach_world_make_veth(w, w->here, "eth2", "wire2");
	attach_world_change(w, w->here, "eth1",
			    (struct rtnl_change){ .mtu = 1450, .set_up = true, .up = true });
	switch_link(w, w->here, "wire1", true);
	switch_link(w, w->here, "eth2", true);
	attach_world_make_veth(w, w->pod, "eth0", "x0");
	attach_world_make_veth(w, w->pod, "x1", "x2");
}

int attach_world_setup(void **state)
{
	struct attach_world *w = calloc(1, sizeof(*w));

	*state = w;
	w->pod_fd = -1;
	/* In memory, where there is such a folder: the test saves a thousand times. */
	(void)snprintf(w->dir, sizeof(w->dir), "%s/attach-world-XXXXXX",
		       access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	assert_non_null(mkdtemp(w->dir));
	if (unshare(CLONE_NEWNET) < 0) {
		(void)error_set_errno(&w->err, ERR_IO, errno, "no network namespace can be made");
		return 0;
	}
	if (need_kinds(&w->err) < 0)
		return 0;
	NIC_MUST(w, netns_make(&w->pod_fd, &w->err));
	NIC_MUST(w, rtnl_open(-1, &w->here, &w->err));
	NIC_MUST(w, rtnl_open(w->pod_fd, &w->pod, &w->err));
	make_node(w);
	attach_world_dump(w, w->here, &w->home);
	attach_world_dump(w, w->pod, &w->inside);
	attach_world_open(w);
	return 0;
}

void attach_world_end_pod(struct attach_world *w)
{
	rtnl_close(w->pod);
	w->pod = NULL;
	(void)close(w->pod_fd);
	w->pod_fd = -1;
}

int attach_world_teardown(void **state)
{
	struct attach_world *w = *state;

	attach_world_close(w);
	rtnl_close(w->here);
	if (w->pod_fd >= 0)
		attach_world_end_pod(w);
	(void)folder_fixture_try_remove(w->dir);
	free(w);
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

static bool can_make(const struct offer *o)
{
	struct error err;

	if (o->kind == NIC_HOST || rtnl_probe_kind(nic_kind_name(o->kind), &err) == 0)
		return true;
	print_message("# skipped: %s: %s\n", o->device, err.msg);
	return false;
}

struct rtnl_ip attach_world_ip(const char *text)
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

	ips[0] = attach_world_ip("192.0.2.5/24");
	ips[1] = attach_world_ip("2001:db8::5/64");
	routes[0] = (struct rtnl_route){ .to = attach_world_ip("198.51.100.0/24"),
					 .via = attach_world_ip("203.0.113.1"),
					 .metric = 100 };
	routes[1] = (struct rtnl_route){ .to = attach_world_ip("203.0.113.0/24") };
	routes[2] = (struct rtnl_route){ .to = attach_world_ip("::/0"),
					 .via = attach_world_ip("2001:db8::1") };
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
struct nic_use *attach_world_add(struct attach_world *w, int which)
{
	const struct offer *o = &offers[which];
	struct nic_use *u = nic_book_add(w->book);

	u->claim_ns = u->claim_name = u->pod_name = u->pool = nic_use_text(u, STR("x"));
	u->claim_uid = nic_use_text(u, STR("claim-uid"));
	u->pod_uid = nic_use_text(u, STR("pod-uid"));
	(void)snprintf(u->nic.device, sizeof(u->nic.device), "%s", o->device);
	(void)snprintf(u->nic.interface, RTNL_NAME, "%s", o->interface);
	(void)snprintf(u->nic.parent, RTNL_NAME, "%s", o->parent);
	u->nic.kind = o->kind;
	u->nic.vlan = o->vlan;
	if (o->kind == NIC_HOST)
		u->nic.link = attach_world_link(w, w->here, o->interface);
	NIC_MUST(w, nic_book_save(w->book, &w->err));
	return u;
}

struct nic_use *attach_world_add_full(struct attach_world *w, int which)
{
	struct nic_use *u = attach_world_add(w, which);

	set_config(u);
	NIC_MUST(w, nic_book_save(w->book, &w->err));
	w->use = u;
	return u;
}

int attach_world_begin(struct attach_world *w, struct nic_use *u)
{
	if (u->state == NIC_PREPARED)
		nic_use_set_sandbox(u, "sandbox", "/run/netns/pod", NULL);
	return nic_attach_begin(w->attach, u, w->pod_fd, &w->err);
}

int attach_world_put(struct attach_world *w, struct nic_use *u)
{
	int r = attach_world_begin(w, u);

	return r < 0 ? r : nic_attach_put(w->attach, u, w->pod_fd, &w->err);
}

int attach_world_detach(struct attach_world *w, struct nic_use *u)
{
	return nic_detach(w->attach, u, w->pod_fd, &w->err);
}

struct nic_seen attach_world_look(struct attach_world *w, const struct nic_use *u)
{
	struct nic_seen seen;

	NIC_MUST(w, nic_attach_look(w->pod, u, &seen, &w->err));
	return seen;
}

void attach_world_for_each(struct attach_world *w, unsigned which,
			   void (*check)(struct attach_world *w, struct nic_use *u))
{
	for (int i = 0; i < ATTACH_WORLD_OFFERS; i++) {
		if (!(which & 1U << i) || !can_make(&offers[i]))
			continue;
		w->use = attach_world_add_full(w, i);
		check(w, w->use);
		nic_book_remove(w->book, w->use);
		NIC_MUST(w, nic_book_save(w->book, &w->err));
	}
}

/* The state of the use in the file. */
enum nic_state attach_world_state_in_file(struct attach_world *w)
{
	struct nic_book *b = NULL;
	enum nic_state state;

	NIC_MUST(w, nic_book_open(w->dir, NULL, NULL, &b, &w->err));
	state = nic_book_next(b, NULL)->state;
	nic_book_close(b);
	return state;
}

void attach_world_assert_prepared(struct attach_world *w, const struct nic_use *u, const char *when)
{
	assert_int_equal(u->state, NIC_PREPARED);
	assert_int_equal(u->index, 0);
	assert_as_before(w, when);
}
