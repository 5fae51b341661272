/*
 * Detaching. It does not rely on what should have been done: it reads both namespaces, and does
 * what is missing. So a failure, a crash and a second call are the same case.
 *
 * Our interfaces are identified by more than a name. A host interface has the same kind and the
 * permanent hardware address in `before`. If its driver has no permanent address, it has one of the
 * two addresses that we know, in a place where it can be. It gets its old address back while still
 * in the pod, so that it is recognised at home. A created interface is identified by its parent and
 * the name that was free before. A veth is identified by its end here, whose name is unique to us,
 * or, if somebody renamed that, by its index there.
 */
#include "drivers/nic_attach/attach_impl.h"
#include "drivers/rtnl/netns.h"

/* --- finding ------------------------------------------------------------------------------ */

struct search {
	const struct nic_use *u;
	unsigned (*rank)(const struct search *s, const struct rtnl_link *l); /* 0: no match */
	unsigned best;
	struct rtnl_link found;
};

static int detach_look_at(void *arg, const struct rtnl_link *l)
{
	struct search *s = arg;
	unsigned rank = l->loopback ? 0 : s->rank(s, l);

	if (rank > s->best) {
		s->best = rank;
		s->found = *l;
	}
	return 0;
}

enum { SURE = 4 };

/*
 * Returns 1 if found, 0 if not, or an error. Looks at the expected index first: processes in the
 * pod may have made so many links that they cannot be listed.
 */
static int detach_find(struct search *s, struct rtnl *r, int index, bool only, struct error *err)
{
	struct rtnl_link l;
	int failed = index ? rtnl_link_by_index(r, index, &l, err) : -ERR_NOT_FOUND;

	if (failed == 0)
		(void)detach_look_at(s, &l);
	if (failed < 0 && failed != -ERR_NOT_FOUND)
		return failed;
	if (s->best < SURE && !only)
		failed = rtnl_links(r, detach_look_at, s, err);
	else
		failed = 0;
	return failed < 0 ? failed : s->best > 0;
}

static bool is_same_hardware(const struct nic_use *u, const struct rtnl_link *l)
{
	if (strcmp(l->kind, u->before.kind) != 0)
		return false;
	if (u->before.permanent.n)
		return rtnl_mac_equal(&l->permanent, &u->before.permanent);
	return rtnl_mac_equal(&l->mac, &u->before.mac) ||
	       (u->config.mac.n && rtnl_mac_equal(&l->mac, &u->config.mac));
}

/*
 * The pod may have changed its address. Without a permanent address it is identified by its index.
 */
static unsigned rank_host_in_pod(const struct search *s, const struct rtnl_link *l)
{
	const struct nic_use *u = s->u;

	if (u->index)
		return l->index == u->index && strcmp(l->kind, u->before.kind) == 0 &&
		       (!u->before.permanent.n || is_same_hardware(u, l));
	return is_same_hardware(u, l) &&
	       (strcmp(l->name, u->interface) == 0 || strcmp(l->name, u->before.name) == 0);
}

/*
 * A move keeps the index if it is free, and the name. From a namespace that ends, hardware may come
 * back as "dev3"; only its permanent address identifies it then.
 */
static unsigned rank_host_here(const struct search *s, const struct rtnl_link *l)
{
	const struct nic_use *u = s->u;
	bool in_pod_name = strcmp(l->name, u->interface) == 0;
	char own[RTNL_NAME];

	if (!is_same_hardware(u, l))
		return u->index && l->index == u->index && in_pod_name && !u->before.permanent.n &&
		       strcmp(l->kind, u->before.kind) == 0;
	if (l->index == u->before.index)
		return strcmp(l->name, u->before.name) == 0 ? SURE : 3;
	nic_own_name(u, "dph", own);
	if (in_pod_name || strcmp(l->name, u->before.name) == 0 || strcmp(l->name, own) == 0)
		return 2;
	return u->before.permanent.n != 0;
}

static unsigned rank_made(const struct search *s, const struct rtnl_link *l)
{
	const struct nic_use *u = s->u;

	if (strcmp(l->kind, nic_kind_name(u->nic.kind)) != 0)
		return 0;
	if (u->index ? l->index != u->index : strcmp(l->name, u->interface) != 0)
		return 0;
	if (u->nic.kind == NIC_VETH)
		return u->index != 0;
	return l->parent == u->parent && l->vlan == u->nic.vlan;
}

/* --- host interfaces ---------------------------------------------------------------------- */

/* Its name here: its own, or a temporary one while that is taken. */
static int home_name(struct nic_attach *t, const struct nic_use *u, char out[static RTNL_NAME],
		     struct error *err)
{
	struct rtnl_link other;
	int r;

	r = nic_link_named(t->here, u->before.name, &other, err);
	if (r > 0)
		nic_own_name(u, "dph", out);
	else
		memcpy(out, u->before.name, RTNL_NAME);
	return MIN(r, 0);
}

static int set_down(struct nic_attach *t, struct rtnl *r, struct rtnl_link *l, struct error *err)
{
	struct rtnl_change down = { .set_up = true, .up = false };
	int failed = l->up ? nic_step_change(t, r, l->index, &down, err) : 0;

	l->up = l->up && failed < 0;
	return failed;
}

/* Collects the properties to restore; returns whether there are any. */
static bool detach_differs(const struct nic_use *u, const struct rtnl_link *l,
			   struct rtnl_change *c)
{
	if (l->mtu != u->before.mtu)
		c->mtu = u->before.mtu;
	if (u->before.mac.n && !rtnl_mac_equal(&l->mac, &u->before.mac))
		c->mac = &u->before.mac;
	return c->mtu || c->mac || c->name;
}

static bool had_altname(const struct nic_use *u, const char *name)
{
	for (size_t i = 0; i < u->naltnames; i++)
		if (strcmp(u->altnames[i], name) == 0)
			return true;
	return false;
}

struct naming {
	struct nic_attach *t;
	const struct nic_use *u;
	struct rtnl *r;
	int index;
	struct error *err;
};

/* A name that the pod added, or that is taken at home by now, would prevent the move. */
static int drop_altname(void *arg, const char *name)
{
	const struct naming *n = arg;
	struct rtnl_link other;
	int r = 0;

	if (had_altname(n->u, name))
		r = nic_link_named(n->t->here, name, &other, n->err);
	if (r < 0 || (r == 0 && had_altname(n->u, name)))
		return r;
	return nic_step_altname(n->t, n->r, n->index, name, false, n->err);
}

/* Restores its alternative names, except those taken by others. */
static int restore_altnames(struct nic_attach *t, const struct nic_use *u, int index,
			    struct error *err)
{
	struct rtnl_link other;
	int r = 0;

	for (size_t i = 0; i < u->naltnames && r == 0; i++) {
		r = nic_link_named(t->here, u->altnames[i], &other, err);
		if (r == 0)
			r = nic_step_altname(t, t->here, index, u->altnames[i], true, err);
		else if (r > 0 && other.index != index)
			nic_book_warn(t->book,
				      "%s has lost its other name %s: another interface has it",
				      u->before.name, u->altnames[i]);
		r = MIN(r, 0);
	}
	return r;
}

static int send_home(struct nic_attach *t, const struct nic_use *u, struct rtnl *pod,
		     struct rtnl_link *l, struct error *err)
{
	struct rtnl_change own = { 0 };
	struct rtnl_change move = { .set_ns = true, .ns_fd = t->home };
	struct naming naming = { .t = t, .u = u, .r = pod, .index = l->index, .err = err };
	char name[RTNL_NAME];
	int r;

	r = set_down(t, pod, l, err);
	if (r == 0)
		r = rtnl_altnames(pod, l->index, drop_altname, &naming, err);
	if (r == 0 && detach_differs(u, l, &own))
		r = nic_step_change(t, pod, l->index, &own, err);
	if (r == 0)
		r = home_name(t, u, name, err);
	if (r < 0)
		return r;
	move.name = name;
	return nic_step_change(t, pod, l->index, &move, err);
}

static int rejoin(struct nic_attach *t, const struct nic_use *u, const struct rtnl_link *l,
		  struct error *err)
{
	struct rtnl_change c = { .set_master = true };
	struct rtnl_link master;
	int r;

	if (!u->master[0])
		return 0;
	r = nic_link_named(t->here, u->master, &master, err);
	if (r == 0)
		nic_book_warn(t->book, "%s was part of %s, which is not there any more", l->name,
			      u->master);
	if (r <= 0 || l->master == master.index)
		return MIN(r, 0);
	c.master = master.index;
	return nic_step_change(t, t->here, l->index, &c, err);
}

/* It is here: restores its name, address, MTU, bridge and up or down state. */
static int restore(struct nic_attach *t, const struct nic_use *u, struct rtnl_link *l,
		   struct error *err)
{
	struct rtnl_change own = { 0 }, up = { .set_up = true, .up = true };
	char name[RTNL_NAME];
	int r = 0;

	if (strcmp(l->name, u->before.name) != 0) {
		r = home_name(t, u, name, err);
		own.name = strcmp(l->name, name) != 0 ? name : NULL;
	}
	if (r == 0 && (detach_differs(u, l, &own) || !u->before.up))
		r = set_down(t, t->here, l, err);
	if (r == 0 && (own.name || own.mtu || own.mac))
		r = nic_step_change(t, t->here, l->index, &own, err);
	if (r == 0)
		r = restore_altnames(t, u, l->index, err);
	if (r == 0)
		r = rejoin(t, u, l, err);
	if (r == 0 && u->before.up && !l->up)
		r = nic_step_change(t, t->here, l->index, &up, err);
	if (r == 0 && strcmp(own.name ? own.name : l->name, u->before.name) != 0)
		nic_book_warn(t->book,
			      "%s is back as %s: another interface has taken its name; rename it",
			      u->before.name, own.name ? own.name : l->name);
	return r;
}

static int undo_host(struct nic_attach *t, const struct nic_use *u, struct rtnl *pod,
		     struct error *err)
{
	struct search there = { .u = u, .rank = rank_host_in_pod };
	struct search here = { .u = u, .rank = rank_host_here };
	int r = 0;

	if (pod)
		r = detach_find(&there, pod, u->index, u->index != 0, err);
	if (r > 0)
		r = send_home(t, u, pod, &there.found, err);
	if (r == 0)
		r = detach_find(&here, t->here, u->before.index, false, err);
	if (r > 0)
		return restore(t, u, &here.found, err);
	if (r < 0)
		return r;
	if (!u->before.kind[0])
		return error_set(err, ERR_NOT_FOUND,
				 "%s is neither on the node nor in the pod's network namespace",
				 u->before.name);
	nic_book_warn(t->book, "%s is gone: the pod's network namespace had it", u->before.name);
	return 0;
}

/* --- what was made ------------------------------------------------------------------------ */

static int undo_made(struct nic_attach *t, const struct nic_use *u, struct rtnl *pod,
		     struct error *err)
{
	struct search s = { .u = u, .rank = rank_made };
	struct rtnl_link peer;
	int r = 0;

	if (u->peer[0])
		r = nic_link_named(t->here, u->peer, &peer, err);
	if (r > 0 && strcmp(peer.kind, "veth") == 0)
		return nic_step_delete(t, t->here, peer.index, err);
	if (r >= 0 && pod)
		r = detach_find(&s, pod, u->index, u->index != 0, err);
	if (r > 0 && s.best)
		r = nic_step_delete(t, pod, s.found.index, err);
	return MIN(r, 0);
}

int nic_undo(struct nic_attach *t, struct nic_use *u, struct rtnl *pod, struct error *err)
{
	if (u->nic.kind == NIC_HOST)
		return undo_host(t, u, pod, err);
	return undo_made(t, u, pod, err);
}

int nic_undone(struct nic_attach *t, struct nic_use *u, struct error *err)
{
	int r = nic_step_save(t, u, NIC_PREPARED, err);

	if (r < 0)
		return r;
	nic_use_clear(u);
	return 0;
}

/* --- public ------------------------------------------------------------------------------- */

/* A socket in the pod's namespace; NULL if that is not the namespace of the interface. */
static int open_pod(const struct nic_use *u, int ns_fd, struct rtnl **ret_pod, struct error *err)
{
	uint64_t id;
	int r;

	if (ns_fd < 0)
		return 0;
	r = netns_id(ns_fd, &id, err);
	if (r < 0 || id != u->netns_id)
		return r;
	return rtnl_open(ns_fd, ret_pod, err);
}

int nic_detach(struct nic_attach *t, struct nic_use *u, int ns_fd, struct error *err)
{
	struct rtnl *pod = NULL;
	int r;

	if (u->state == NIC_PREPARED)
		return 0;
	if (u->config.cni)
		return nic_undone(t, u, err);
	r = open_pod(u, ns_fd, &pod, err);
	if (r < 0)
		return r;
	if (u->state != NIC_DETACHING)
		r = nic_step_save(t, u, NIC_DETACHING, err);
	if (r == 0) {
		r = nic_undo(t, u, pod, err);
		u->stuck += r < 0 && r != -ERR_NOT_FOUND;
	}
	rtnl_close(pod);
	if (r < 0)
		return error_wrap(err, r, "cannot take %s back", u->nic.device);
	return nic_undone(t, u, err);
}

int nic_detach_forget(struct nic_attach *t, struct nic_use *u, struct error *err)
{
	return u->state == NIC_PREPARED ? 0 : nic_undone(t, u, err);
}
