/*
 * Moves an interface into a pod. nic_attach_begin() does all checks and changes nothing, so most
 * failures happen with nothing to undo. A new interface is created in the pod's namespace with its
 * final name, in one request; an existing one is moved and renamed in one request, too.
 */
#include "drivers/nic_attach/attach_impl.h"

#include <assert.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "drivers/drivers_limits.h"
#include "drivers/rtnl/netns.h"

int nic_attach_new(struct nic_book *book, struct nic_attach **ret_attach, struct error *err)
{
	CLEANUP(nic_attach_free) struct nic_attach *t = XNEW(struct nic_attach);
	int r;

	t->book = book;
	t->home = -1;
	r = netns_open_own(&t->home, err);
	if (r == 0)
		r = netns_id(t->home, &t->home_id, err);
	if (r == 0)
		r = rtnl_open(-1, &t->here, err);
	if (r < 0)
		return r;
	*ret_attach = TAKE(t);
	return 0;
}

void nic_attach_free(struct nic_attach *t)
{
	if (!t)
		return;
	rtnl_close(t->here);
	if (t->home >= 0)
		(void)close(t->home);
	free(t);
}

/* --- looking before ----------------------------------------------------------------------- */

static const struct nic_use *use_of_name(const struct nic_attach *t, const struct nic_use *u,
					 uint64_t netns, const char *name)
{
	for (const struct nic_use *o = nic_book_next(t->book, NULL); o;
	     o = nic_book_next(t->book, o))
		if (o != u && o->state != NIC_PREPARED && o->netns_id == netns &&
		    strcmp(o->interface, name) == 0)
			return o;
	return NULL;
}

/* Returns 1 if taken, with the owner in the error; 0 if free; or an error. */
static int attach_is_taken(const struct nic_attach *t, const struct nic_use *u, struct rtnl *pod,
			   const char *name, struct error *err)
{
	const struct nic_use *o = use_of_name(t, u, u->netns_id, name);
	struct rtnl_link l;
	int r;

	if (o) {
		(void)error_set(err, ERR_ALREADY_EXISTS,
				"the pod's interface name %s is already used by device %s", name,
				o->nic.device);
		return 1;
	}
	r = nic_link_named(pod, name, &l, err);
	if (r > 0)
		(void)error_set(err, ERR_ALREADY_EXISTS,
				"the interface name %s is already in use in the pod", name);
	return r;
}

/* A name that is configured for another device of the pod is reserved for it. */
static bool attach_is_wanted(const struct nic_attach *t, const struct nic_use *u, const char *name)
{
	for (const struct nic_use *o = nic_book_next(t->book, NULL); o;
	     o = nic_book_next(t->book, o))
		if (o != u && strcmp(o->pod_uid, u->pod_uid) == 0 &&
		    strcmp(o->config.interface_name, name) == 0)
			return true;
	return false;
}

static int choose_name(struct nic_attach *t, struct nic_use *u, struct rtnl *pod, struct error *err)
{
	int r;

	if (u->config.interface_name[0]) {
		memcpy(u->interface, u->config.interface_name, RTNL_NAME);
		r = attach_is_taken(t, u, pod, u->interface, err);
		return r > 0 ? -ERR_ALREADY_EXISTS : r;
	}
	for (unsigned i = 1; i <= NIC_LINKS_MAX; i++) {
		(void)snprintf(u->interface, sizeof(u->interface), "net%u", i);
		if (attach_is_wanted(t, u, u->interface))
			continue;
		r = attach_is_taken(t, u, pod, u->interface, err);
		if (r <= 0)
			return r;
	}
	return error_set(err, ERR_ALREADY_EXISTS, "all names from net1 to net%d are in use",
			 NIC_LINKS_MAX);
}

static int keep_altname(void *arg, const char *name)
{
	nic_use_add_altname(arg, name);
	return 0;
}

/* Finds the link by name, and checks that it is still the prepared one. */
static int look_at_host(struct nic_attach *t, struct nic_use *u, struct error *err)
{
	const struct rtnl_mac *known = &u->nic.link.permanent;
	struct rtnl_link master;
	int r;

	r = nic_link_named(t->here, u->nic.interface, &u->before, err);
	if (r < 0)
		return r;
	if (r == 0)
		return error_set(err, ERR_NOT_FOUND, "interface %s is no longer on this node",
				 u->nic.interface);
	if (u->before.loopback)
		return error_set(err, ERR_INVALID, "%s is the loopback", u->nic.interface);
	if (known->n && !rtnl_mac_equal(known, &u->before.permanent))
		return error_set(err, ERR_CONFLICT, "%s is another interface now",
				 u->nic.interface);
	r = rtnl_altnames(t->here, u->before.index, keep_altname, u, err);
	if (r < 0 || !u->before.master)
		return r;
	r = rtnl_link_by_index(t->here, u->before.master, &master, err);
	if (r == 0)
		memcpy(u->master, master.name, RTNL_NAME);
	return r;
}

static int look_at_parent(struct nic_attach *t, struct nic_use *u, struct error *err)
{
	struct rtnl_link parent;
	int r = nic_link_named(t->here, u->nic.parent, &parent, err);

	if (r == 0)
		return error_set(err, ERR_NOT_FOUND, "parent %s does not exist", u->nic.parent);
	if (r > 0)
		u->parent = parent.index;
	return MIN(r, 0);
}

static int look_at_bridge(struct nic_attach *t, struct nic_use *u, struct error *err)
{
	struct rtnl_link l;
	int r;

	if (u->nic.parent[0]) {
		r = nic_link_named(t->here, u->nic.parent, &l, err);
		if (r < 0)
			return r;
		if (r == 0)
			return error_set(err, ERR_NOT_FOUND, "bridge %s does not exist",
					 u->nic.parent);
		u->parent = l.index;
	}
	nic_own_name(u, "dpv", u->peer);
	r = nic_link_named(t->here, u->peer, &l, err);
	if (r > 0)
		return error_set(err, ERR_ALREADY_EXISTS,
				 "%s, which is to be the other end, exists already", u->peer);
	return r;
}

static int look_at_kind(struct nic_attach *t, struct nic_use *u, struct error *err)
{
	if (u->config.cni)
		return 0;
	if (u->nic.kind == NIC_HOST)
		return look_at_host(t, u, err);
	if (u->nic.kind == NIC_VETH)
		return look_at_bridge(t, u, err);
	return look_at_parent(t, u, err);
}

static int attach_begin(struct nic_attach *t, struct nic_use *u, int ns_fd, uint64_t netns,
			struct error *err)
{
	struct rtnl *pod;
	int r;

	r = rtnl_open(ns_fd, &pod, err);
	if (r < 0)
		return r;
	u->netns_id = netns;
	r = choose_name(t, u, pod, err);
	if (r == 0 && u->config.cni)
		memcpy(u->cni_ifname, u->interface, RTNL_NAME);
	if (r == 0)
		r = look_at_kind(t, u, err);
	if (r == 0)
		r = nic_step_save(t, u, NIC_ATTACHING, err);
	rtnl_close(pod);
	if (r < 0)
		nic_use_clear(u);
	return r;
}

int nic_attach_begin(struct nic_attach *t, struct nic_use *u, int ns_fd, struct error *err)
{
	uint64_t netns;
	int r;

	assert(u->container_id && u->netns);
	r = netns_id(ns_fd, &netns, err);
	if (r < 0)
		return r;
	if (netns == t->home_id)
		return error_set(err, ERR_INVALID, "%s is the node's own network namespace",
				 u->netns);
	if (u->state != NIC_PREPARED && u->netns_id != netns)
		return error_set(err, ERR_CONFLICT,
				 "device %s is still in the network namespace of another sandbox",
				 u->nic.device);
	if (u->state == NIC_ATTACHED)
		return 0;
	r = nic_detach(t, u, ns_fd, err);
	if (r < 0)
		return r;
	r = attach_begin(t, u, ns_fd, netns, err);
	return r < 0 ? error_wrap(err, r, "cannot attach %s", u->nic.device) : 0;
}

/* --- doing -------------------------------------------------------------------------------- */

static int move_in(struct nic_attach *t, const struct nic_use *u, int ns_fd, struct error *err)
{
	struct rtnl_change down = { .set_up = true, .up = false };
	struct rtnl_change move = { .set_ns = true, .ns_fd = ns_fd, .name = u->interface };
	int r = 0;

	if (u->before.up)
		r = nic_step_change(t, t->here, u->before.index, &down, err);
	return r < 0 ? r : nic_step_change(t, t->here, u->before.index, &move, err);
}

/* Settings of the link itself can be made when it is created. */
static int attach_make(struct nic_attach *t, const struct nic_use *u, int ns_fd, struct error *err)
{
	struct rtnl_new_link l = {
		.kind = nic_kind_name(u->nic.kind),
		.name = u->interface,
		.ns_fd = ns_fd,
		.mac = u->config.mac.n ? &u->config.mac : NULL,
		.mtu = u->config.mtu,
	};

	if (u->nic.kind == NIC_VETH) {
		l.peer = u->peer;
	} else {
		l.parent = u->parent;
		l.vlan = u->nic.vlan;
		l.macvlan_mode = u->nic.macvlan_mode;
	}
	return nic_step_add(t, &l, err);
}

/* The end here: adds it to its bridge, with the MTU of the other end, and switches it on. */
static int set_peer(struct nic_attach *t, const struct nic_use *u, struct error *err)
{
	struct rtnl_change c = {
		.set_master = u->parent != 0,
		.master = u->parent,
		.set_up = true,
		.up = true,
		.mtu = u->config.mtu,
	};
	struct rtnl_link peer;
	int r = rtnl_link_by_name(t->here, u->peer, &peer, err);

	return r < 0 ? r : nic_step_change(t, t->here, peer.index, &c, err);
}

static int add_addresses(struct nic_attach *t, const struct nic_use *u, struct rtnl *pod, int index,
			 struct error *err)
{
	struct rtnl_address a = { .index = index };
	int r = 0;

	for (size_t i = 0; i < u->config.naddresses && r == 0; i++) {
		a.ip = u->config.addresses[i];
		r = nic_step_address(t, pod, &a, err);
	}
	return r;
}

/* Routes on the link come first: the gateways of the others may need them. */
static int add_routes(struct nic_attach *t, const struct nic_use *u, struct rtnl *pod, int index,
		      bool via, struct error *err)
{
	int r = 0;

	for (size_t i = 0; i < u->config.nroutes && r == 0; i++) {
		struct rtnl_route to = u->config.routes[i];

		if ((to.via.family != 0) != via)
			continue;
		to.index = index;
		r = nic_step_route(t, pod, &to, err);
	}
	return r;
}

static int configure(struct nic_attach *t, struct nic_use *u, struct rtnl *pod, struct error *err)
{
	const struct rtnl_mac *mac = u->config.mac.n ? &u->config.mac : NULL;
	struct rtnl_change own = { .mtu = u->config.mtu, .mac = mac };
	struct rtnl_change up = { .set_up = true, .up = true };
	struct rtnl_link l;
	int r;

	r = rtnl_link_by_name(pod, u->interface, &l, err);
	if (r == 0 && u->nic.kind == NIC_HOST && (own.mtu || own.mac))
		r = nic_step_change(t, pod, l.index, &own, err);
	if (r == 0)
		r = add_addresses(t, u, pod, l.index, err);
	if (r == 0)
		r = nic_step_change(t, pod, l.index, &up, err);
	if (r == 0)
		r = add_routes(t, u, pod, l.index, false, err);
	if (r == 0)
		r = add_routes(t, u, pod, l.index, true, err);
	if (r == 0)
		u->index = l.index;
	return r;
}

/* If the name was taken in the last moment, the link is not ours, and nothing needs undoing. */
static int attach_put(struct nic_attach *t, struct nic_use *u, int ns_fd, struct rtnl *pod,
		      bool *ret_made, struct error *err)
{
	bool host = u->nic.kind == NIC_HOST;
	int r;

	r = host ? move_in(t, u, ns_fd, err) : attach_make(t, u, ns_fd, err);
	*ret_made = host || r != -ERR_ALREADY_EXISTS;
	if (r == 0 && u->nic.kind == NIC_VETH)
		r = set_peer(t, u, err);
	if (r == 0)
		r = configure(t, u, pod, err);
	return r < 0 ? r : nic_step_save(t, u, NIC_ATTACHED, err);
}

static void take_back(struct nic_attach *t, struct nic_use *u, struct rtnl *pod, bool made,
		      struct error *err)
{
	struct error why, first;
	int r = made ? nic_undo(t, u, pod, &why) : 0;

	if (r == 0)
		r = nic_undone(t, u, &why);
	if (r == 0 || !err)
		return;
	first = *err;
	(void)error_set(err, first.code, "%.250s; and it could not be undone: %.200s", first.msg,
			why.msg);
	err->sys_errno = first.sys_errno;
}

int nic_attach_put(struct nic_attach *t, struct nic_use *u, int ns_fd, struct error *err)
{
	struct rtnl *pod = NULL;
	bool made = false;
	int r;

	if (u->state == NIC_ATTACHED)
		return 0;
	assert(u->state == NIC_ATTACHING && !u->config.cni);
	r = rtnl_open(ns_fd, &pod, err);
	if (r == 0)
		r = attach_put(t, u, ns_fd, pod, &made, err);
	if (r < 0) {
		(void)error_wrap(err, r, "cannot attach %s as %s", u->nic.device, u->interface);
		take_back(t, u, pod, made, err);
	}
	rtnl_close(pod);
	return r;
}

int nic_attach_adopt(struct nic_attach *t, struct nic_use *u, int ns_fd, struct error *err)
{
	struct rtnl_link l;
	struct rtnl *pod;
	int r;

	if (u->state == NIC_ATTACHED)
		return 0;
	r = rtnl_open(ns_fd, &pod, err);
	if (r < 0)
		return r;
	r = nic_link_named(pod, u->interface, &l, err);
	rtnl_close(pod);
	if (r == 0)
		return error_set(err, ERR_NOT_FOUND,
				 "the plugin has made no interface %s in the pod", u->interface);
	if (r < 0)
		return r;
	u->index = l.index;
	return nic_step_save(t, u, NIC_ATTACHED, err);
}

/* --- reading back ------------------------------------------------------------------------- */

struct seen {
	const struct nic_config *config;
	struct nic_seen *out;
};

static bool same_ip(const struct rtnl_ip *a, const struct rtnl_ip *b)
{
	return a->family == b->family && a->prefix == b->prefix &&
	       memcmp(a->bytes, b->bytes, a->family == AF_INET ? 4 : 16) == 0;
}

static size_t attach_place(const struct nic_config *c, const struct rtnl_ip *ip)
{
	size_t i = 0;

	while (i < c->naddresses && !same_ip(&c->addresses[i], ip))
		i++;
	return i;
}

static bool comes_before(const struct nic_config *c, const struct rtnl_ip *a,
			 const struct rtnl_ip *b)
{
	size_t place_a = attach_place(c, a), place_b = attach_place(c, b);
	int order;

	if (place_a != place_b)
		return place_a < place_b;
	if (a->family != b->family)
		return a->family == AF_INET;
	order = memcmp(a->bytes, b->bytes, a->family == AF_INET ? 4 : 16);
	return order != 0 ? order < 0 : a->prefix < b->prefix;
}

/* An address with several peers is listed several times. */
static bool is_seen(const struct nic_seen *s, const struct rtnl_ip *ip)
{
	for (size_t i = 0; i < s->nips; i++)
		if (same_ip(&s->ips[i], ip))
			return true;
	return false;
}

static int see_address(void *arg, const struct rtnl_address *a)
{
	const struct seen *s = arg;
	struct nic_seen *out = s->out;
	size_t at = out->nips;

	if (a->scope >= RT_SCOPE_LINK || (a->flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED)) != 0)
		return 0;
	if (is_seen(out, &a->ip))
		return 0;
	while (at > 0 && comes_before(s->config, &a->ip, &out->ips[at - 1]))
		at--;
	if (at == NIC_IPS_MAX)
		return 0;
	out->nips = MIN(out->nips + 1, (size_t)NIC_IPS_MAX);
	memmove(&out->ips[at + 1], &out->ips[at], (out->nips - 1 - at) * sizeof(out->ips[0]));
	out->ips[at] = a->ip;
	return 0;
}

int nic_attach_look(struct rtnl *pod, const struct nic_use *u, struct nic_seen *ret_seen,
		    struct error *err)
{
	struct seen s = { .config = &u->config, .out = ret_seen };
	int r;

	*ret_seen = (struct nic_seen){ 0 };
	if (u->index)
		r = rtnl_link_by_index(pod, u->index, &ret_seen->link, err);
	else
		r = rtnl_link_by_name(pod, u->interface, &ret_seen->link, err);
	if (r == 0)
		r = rtnl_addresses(pod, ret_seen->link.index, see_address, &s, err);
	ret_seen->there = r == 0;
	return r == -ERR_NOT_FOUND ? 0 : r;
}
