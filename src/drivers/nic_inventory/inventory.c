/*
 * Keeps only links that matter: those that are offered, and parents of devices to be created. Other
 * links (such as a veth per pod) are not stored. Whether a link is offered follows from the link
 * itself, its folder in sysfs, and the default routes of the last state.
 *
 * A whole state is collected first and applied sorted by name. So the labels of devices do not
 * depend on the order of the kernel's list, which changes after one was in a pod.
 */
#include <stdio.h>

#include "base/core/map.h"
#include "base/core/mem.h"
#include "drivers/drivers_limits.h"
#include "drivers/nic_inventory/inventory_impl.h"

enum { PORTS_DEPTH = 8 }; /* a bond that is a port of a bridge, and so on */

static void set_name(char to[static RTNL_NAME], const char *name)
{
	(void)snprintf(to, RTNL_NAME, "%s", name);
}

/* --- finding ------------------------------------------------------------------------------ */

const struct nic_parent *nic_inventory_parent(const struct nic_inventory *v, const char *name)
{
	for (size_t i = 0; i < v->parents.n; i++)
		if (strcmp(v->parents.v[i].name, name) == 0)
			return &v->parents.v[i];
	return NULL;
}

static struct nic_entry *inventory_find(const struct nic_inventory *v, const char *device)
{
	for (size_t i = 0; i < v->v.n; i++)
		if (strcmp(v->v.v[i]->nic.device, device) == 0)
			return v->v.v[i];
	return NULL;
}

static struct nic_entry *host_by_index(const struct nic_inventory *v, int index)
{
	for (size_t i = 0; i < v->v.n; i++) {
		const struct nic *n = &v->v.v[i]->nic;

		if (n->kind == NIC_HOST && n->present && v->v.v[i]->here.index == index)
			return v->v.v[i];
	}
	return NULL;
}

static struct nic_entry *host_by_name(const struct nic_inventory *v, const char *interface)
{
	for (size_t i = 0; i < v->v.n; i++) {
		const struct nic *n = &v->v.v[i]->nic;

		if (n->kind == NIC_HOST && strcmp(n->interface, interface) == 0)
			return v->v.v[i];
	}
	return NULL;
}

/*
 * If a pod dies, the kernel brings hardware back with its name in the pod, until nic_detach()
 * renames it: that is not a new device.
 */
static bool is_away_under_other_name(const struct nic_inventory *v, const struct rtnl_link *l)
{
	for (size_t i = 0; i < v->v.n; i++) {
		const struct nic *n = &v->v.v[i]->nic;

		if (n->away && n->kind == NIC_HOST && l->permanent.n > 0 &&
		    rtnl_mac_equal(&n->link.permanent, &l->permanent))
			return true;
	}
	return false;
}

static struct nic_hidden *find_hidden(struct nic_inventory *v, const char *name, int index)
{
	for (size_t i = 0; i < v->hidden.n; i++) {
		struct nic_hidden *h = &v->hidden.v[i];

		if (name ? strcmp(h->name, name) == 0 : h->index == index)
			return h;
	}
	return NULL;
}

static int compare_ints(const void *a, const void *b)
{
	const int *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

bool nic_inventory_is_routed(const struct nic_inventory *v, int index)
{
	return v->routed.n > 0 &&
	       bsearch(&index, v->routed.v, v->routed.n, sizeof(index), compare_ints);
}

/* --- what is offered ---------------------------------------------------------------------- */

enum verdict { UNWANTED, NEEDED, OFFERED };

/* Between two states it may have become a port of a link that was routed in the last one. */
static bool is_needed(const struct nic_inventory *v, const struct rtnl_link *l)
{
	return nic_inventory_is_routed(v, l->index) ||
	       (l->master > 0 && nic_inventory_is_routed(v, l->master));
}

/* Reads sysfs only if the name matches. */
static enum verdict inventory_judge(const struct nic_inventory *v, const struct rtnl_link *l,
				    struct nic_hardware *ret_hardware)
{
	if (l->loopback || !rtnl_name_is_text(l->name) || !nic_spec_matches(v->spec, l->name))
		return UNWANTED;
	nic_sysfs_read(v->sysfs, l->name, ret_hardware);
	if (v->spec->npatterns == 0 && (!ret_hardware->there || l->master != 0))
		return UNWANTED;
	return is_needed(v, l) ? NEEDED : OFFERED;
}

/* Reports once that the node needs an interface. */
static void inventory_note(struct nic_inventory *v, const struct rtnl_link *l, bool needed)
{
	size_t at = 0;

	while (at < v->told.n && v->told.v[at] != l->index)
		at++;
	if (!needed && at < v->told.n)
		vec_remove_swap(&v->told, at);
	if (!needed || at < v->told.n)
		return;
	(void)vec_push(&v->told, l->index);
	if (v->on_needed)
		v->on_needed(v->arg, l->name);
}

static void name_host(const struct nic_inventory *v, const char *interface,
		      char out[static NIC_LABEL])
{
	uint64_t hash = hash_bytes(str_from(interface), 0);
	char base[NIC_LABEL];

	nic_label(str_from(interface), base);
	(void)snprintf(out, NIC_LABEL, "%s", base);
	for (unsigned i = 0; inventory_find(v, out); i++)
		(void)snprintf(out, NIC_LABEL, "%.32s-%04x", base, (unsigned)((hash + i) & 0xffff));
}

/* After the spec's creates, sorted by name. */
static bool inventory_insert(struct nic_inventory *v, struct nic_entry *e)
{
	size_t at = v->v.n;

	if (!vec_push(&v->v, e))
		return false;
	while (at > 0 && !v->v.v[at - 1]->asked &&
	       strcmp(v->v.v[at - 1]->nic.device, e->nic.device) > 0) {
		v->v.v[at] = v->v.v[at - 1];
		v->v.v[--at] = e;
	}
	return true;
}

static void remove_entry(struct nic_inventory *v, struct nic_entry *e)
{
	for (size_t i = 0; i < v->v.n; i++) {
		if (v->v.v[i] != e)
			continue;
		vec_remove(&v->v, i);
		free(e);
		return;
	}
}

static bool add_host(struct nic_inventory *v, const struct rtnl_link *l,
		     const struct nic_hardware *h)
{
	struct nic_entry *e = XNEW(struct nic_entry);

	e->nic = (struct nic){ .kind = NIC_HOST, .link = *l, .hardware = *h, .present = true };
	e->here = *l;
	e->seen = true;
	set_name(e->nic.interface, l->name);
	name_host(v, l->name, e->nic.device);
	nic_entry_judge(v, e);
	if (!inventory_insert(v, e)) {
		free(e);
		return false;
	}
	return true;
}

static bool links_look_equal(const struct rtnl_link *a, const struct rtnl_link *b)
{
	return rtnl_mac_equal(&a->mac, &b->mac) && a->mtu == b->mtu && a->up == b->up &&
	       a->running == b->running;
}

/* A device that is away keeps its data: on its way out it is switched off and loses its name. */
static bool update_host(struct nic_inventory *v, struct nic_entry *e, const struct rtnl_link *l,
			const struct nic_hardware *h)
{
	bool same;

	e->here = *l;
	e->nic.present = e->seen = true;
	if (e->nic.away)
		return false;
	same = links_look_equal(&e->nic.link, l) && nic_hardware_equal(&e->nic.hardware, h);
	e->nic.link = *l;
	e->nic.hardware = *h;
	nic_entry_judge(v, e);
	return !same;
}

/* --- what is to be created ---------------------------------------------------------------- */

static bool judge_again(struct nic_inventory *v, const char *parent)
{
	bool changed = false;

	for (size_t i = 0; i < v->v.n; i++) {
		struct nic_entry *e = v->v.v[i];
		char before[sizeof(e->message)];

		if (e->nic.kind == NIC_HOST || strcmp(e->nic.parent, parent) != 0)
			continue;
		if (e->nic.away) {
			changed = true; /* at most its attribute `up` */
			continue;
		}
		(void)snprintf(before, sizeof(before), "%s", e->message);
		nic_entry_judge(v, e);
		changed = changed || strcmp(before, e->message) != 0;
	}
	return changed;
}

/* Updates parents: the link may be one, or may have been one under another name. */
static bool parents_set(struct nic_inventory *v, const struct rtnl_link *l)
{
	bool changed = false;

	for (size_t i = 0; i < v->parents.n; i++) {
		struct nic_parent *p = &v->parents.v[i];
		bool is = strcmp(p->name, l->name) == 0;
		bool was = p->present && p->link.index == l->index;
		bool same = p->present && is && p->link.up == l->up &&
			    p->link.running == l->running && strcmp(p->link.kind, l->kind) == 0;

		if (!is && !was)
			continue;
		p->present = p->seen = is;
		p->link = *l;
		if (!same)
			changed = judge_again(v, p->name) || changed;
	}
	return changed;
}

static bool parents_gone(struct nic_inventory *v, int index)
{
	bool changed = false;

	for (size_t i = 0; i < v->parents.n; i++) {
		struct nic_parent *p = &v->parents.v[i];

		if (!p->present || p->link.index != index)
			continue;
		p->present = false;
		changed = judge_again(v, p->name) || changed;
	}
	return changed;
}

static void add_creates(struct nic_inventory *v, const struct nic_create *c)
{
	struct nic_parent parent = { .present = false };

	set_name(parent.name, c->parent);
	if (c->parent[0] && !nic_inventory_parent(v, c->parent))
		(void)vec_push(&v->parents, parent);
	for (unsigned i = c->first; i < c->first + c->count; i++) {
		struct nic_entry *e = XNEW(struct nic_entry);

		e->asked = true;
		e->nic.kind = c->kind;
		e->nic.vlan = c->kind == NIC_VLAN ? (uint16_t)i : 0;
		e->nic.macvlan_mode = c->macvlan_mode;
		set_name(e->nic.parent, c->parent);
		nic_create_label(c, i, e->nic.device);
		nic_entry_judge(v, e);
		if (!vec_push(&v->v, e))
			free(e);
	}
}

/* --- life --------------------------------------------------------------------------------- */

struct nic_inventory *nic_inventory_new(const struct nic_spec *spec, const char *sysfs)
{
	struct nic_inventory *v = XNEW(struct nic_inventory);

	v->spec = spec;
	v->sysfs = xstrdup(sysfs);
	vec_init(&v->v, DRIVER_DEVICES_MAX);
	vec_init(&v->parents, DRIVER_DEVICES_MAX);
	vec_init(&v->hidden, NIC_LINKS_MAX);
	vec_init(&v->routes, NIC_LINKS_MAX);
	vec_init(&v->routed, NIC_LINKS_MAX);
	vec_init(&v->told, NIC_LINKS_MAX);
	vec_init(&v->state, NIC_LINKS_MAX);
	for (size_t i = 0; i < spec->ncreates; i++)
		add_creates(v, &spec->creates[i]);
	return v;
}

void nic_inventory_on_needed(struct nic_inventory *v, void (*fn)(void *arg, const char *interface),
			     void *arg)
{
	v->on_needed = fn;
	v->arg = arg;
}

void nic_inventory_free(struct nic_inventory *v)
{
	if (!v)
		return;
	for (size_t i = 0; i < v->v.n; i++)
		free(v->v.v[i]);
	vec_release(&v->v);
	vec_release(&v->parents);
	vec_release(&v->hidden);
	vec_release(&v->routes);
	vec_release(&v->routed);
	vec_release(&v->told);
	vec_release(&v->state);
	free(v->devices);
	free(v->attributes);
	free(v->sysfs);
	free(v);
}

/* --- one link ----------------------------------------------------------------------------- */

/* The link is ours: stores its index, to notice when it goes. */
static bool set_hidden(struct nic_inventory *v, struct nic_hidden *h, int index)
{
	struct nic_entry *e = host_by_name(v, h->name);

	h->index = index;
	if (!e || e->nic.away)
		return false;
	remove_entry(v, e);
	return true;
}

static bool apply_link(struct nic_inventory *v, const struct rtnl_link *l)
{
	struct nic_entry *e = host_by_index(v, l->index);
	struct nic_hidden *h = find_hidden(v, l->name, 0);
	struct nic_hardware hardware = { .numa = -1 };
	bool changed = parents_set(v, l), wanted;
	enum verdict verdict;

	if (h)
		return set_hidden(v, h, l->index) || changed;
	if (e && strcmp(e->nic.interface, l->name) != 0) {
		changed = nic_inventory_link_gone(v, l->index) || changed;
		e = NULL;
	}
	if (!e)
		e = host_by_name(v, l->name);
	verdict = inventory_judge(v, l, &hardware);
	inventory_note(v, l, verdict == NEEDED);
	wanted = verdict == OFFERED;
	if (e && (wanted || e->nic.away))
		return update_host(v, e, l, &hardware) || changed;
	if (e)
		remove_entry(v, e);
	else if (wanted && !is_away_under_other_name(v, l))
		return add_host(v, l, &hardware) || changed;
	return e || changed;
}

bool nic_inventory_link_set(struct nic_inventory *v, const struct rtnl_link *l)
{
	if (!v->in_state)
		return apply_link(v, l);
	(void)vec_push(&v->state, *l);
	return false;
}

bool nic_inventory_link_gone(struct nic_inventory *v, int index)
{
	struct nic_entry *e = host_by_index(v, index);
	struct nic_hidden *h = find_hidden(v, NULL, index);
	bool changed = parents_gone(v, index);

	if (h && index != 0)
		vec_remove_swap(&v->hidden, h - v->hidden.v);
	inventory_note(v, &(struct rtnl_link){ .index = index }, false);
	if (!e)
		return changed;
	e->nic.present = false;
	if (e->nic.away)
		return changed;
	remove_entry(v, e);
	return true;
}

/* --- the whole state ---------------------------------------------------------------------- */

void nic_inventory_begin(struct nic_inventory *v)
{
	v->in_state = true;
	v->state.n = 0;
	v->routes.n = 0;
}

void nic_inventory_default_route(struct nic_inventory *v, int index)
{
	(void)vec_push(&v->routes, index);
}

void nic_inventory_cancel(struct nic_inventory *v)
{
	v->in_state = false;
	vec_release(&v->state);
}

static int compare_indexes(const void *a, const void *b)
{
	const struct rtnl_link *x = a, *y = b;

	return compare_ints(&x->index, &y->index);
}

/* The state is sorted by index. */
static const struct rtnl_link *in_state(const struct nic_inventory *v, int index)
{
	struct rtnl_link key = { .index = index };

	if (v->state.n == 0)
		return NULL;
	return bsearch(&key, v->state.v, v->state.n, sizeof(key), compare_indexes);
}

/*
 * The link below a link. A veth in a bridge does not count: its other end belongs to somebody else
 * and does not affect the bridge's own traffic.
 */
static const struct rtnl_link *inventory_below(const struct nic_inventory *v,
					       const struct rtnl_link *l)
{
	if (l->parent <= 0 || l->parent_nsid != -1 ||
	    (l->master > 0 && strcmp(l->kind, "veth") == 0))
		return NULL;
	return in_state(v, l->parent);
}

/* Marks the link, and those below it. */
static bool carry(const struct nic_inventory *v, bool *marks, const struct rtnl_link *l)
{
	bool news = false;

	for (; l && !marks[l - v->state.v]; l = inventory_below(v, l))
		news = marks[l - v->state.v] = true;
	return news;
}

/* Marks the ports of marked links. */
static bool carry_ports(const struct nic_inventory *v, bool *marks)
{
	bool news = false;

	for (size_t i = 0; i < v->state.n; i++) {
		const struct rtnl_link *l = &v->state.v[i];
		const struct rtnl_link *master = l->master > 0 ? in_state(v, l->master) : NULL;

		if (master && marks[master - v->state.v])
			news = carry(v, marks, l) || news;
	}
	return news;
}

/* Finds the links that default routes use, the links below them, and the ports of those. */
static void find_routed(struct nic_inventory *v)
{
	bool *marks = xcalloc(v->state.n + 1, sizeof(*marks));

	if (v->state.n > 0)
		qsort(v->state.v, v->state.n, sizeof(*v->state.v), compare_indexes);
	for (size_t i = 0; i < v->routes.n; i++)
		(void)carry(v, marks, in_state(v, v->routes.v[i]));
	for (int depth = 0; depth < PORTS_DEPTH && carry_ports(v, marks); depth++)
		continue;
	v->routed.n = 0;
	for (size_t i = 0; i < v->state.n; i++)
		if (marks[i])
			(void)vec_push(&v->routed, v->state.v[i].index);
	free(marks);
}

/* Names that are already valid labels come first, so that they keep theirs. */
static int compare_links(const void *a, const void *b)
{
	const struct rtnl_link *x = a, *y = b;
	char label_x[NIC_LABEL], label_y[NIC_LABEL];
	bool plain_x, plain_y;

	nic_label(str_from(x->name), label_x);
	nic_label(str_from(y->name), label_y);
	plain_x = strcmp(label_x, x->name) == 0;
	plain_y = strcmp(label_y, y->name) == 0;
	return plain_x != plain_y ? plain_y - plain_x : strcmp(x->name, y->name);
}

static void forget_seen(struct nic_inventory *v)
{
	for (size_t i = 0; i < v->v.n; i++)
		v->v.v[i]->seen = false;
	for (size_t i = 0; i < v->parents.n; i++)
		v->parents.v[i].seen = false;
	for (size_t i = 0; i < v->hidden.n; i++)
		v->hidden.v[i].index = 0;
}

static bool drop_unseen_hosts(struct nic_inventory *v)
{
	bool changed = false;

	for (size_t i = v->v.n; i-- > 0;) {
		struct nic_entry *e = v->v.v[i];

		if (e->nic.kind != NIC_HOST || e->seen)
			continue;
		e->nic.present = false;
		if (e->nic.away)
			continue;
		remove_entry(v, e);
		changed = true;
	}
	return changed;
}

static bool drop_unseen(struct nic_inventory *v)
{
	bool changed = drop_unseen_hosts(v);

	for (size_t i = 0; i < v->parents.n; i++)
		if (v->parents.v[i].present && !v->parents.v[i].seen)
			changed = parents_gone(v, v->parents.v[i].link.index) || changed;
	for (size_t i = v->hidden.n; i-- > 0;)
		if (v->hidden.v[i].index == 0)
			vec_remove_swap(&v->hidden, i);
	return changed;
}

bool nic_inventory_end(struct nic_inventory *v)
{
	bool changed = false;

	v->in_state = false;
	find_routed(v);
	forget_seen(v);
	if (v->state.n > 0)
		qsort(v->state.v, v->state.n, sizeof(*v->state.v), compare_links);
	for (size_t i = 0; i < v->state.n; i++)
		changed = apply_link(v, &v->state.v[i]) || changed;
	changed = drop_unseen(v) || changed;
	vec_release(&v->state);
	return changed;
}

/* --- in pods ------------------------------------------------------------------------------ */

static bool nic_inventory_inventory_remember(struct nic_inventory *v, const char *device,
					     const struct nic *last)
{
	struct nic_entry *e = XNEW(struct nic_entry);

	e->nic = *last;
	e->nic.present = false;
	e->nic.away = true;
	e->nic.health = DP_HEALTHY;
	e->nic.message = NULL;
	(void)snprintf(e->nic.device, sizeof(e->nic.device), "%s", device);
	if (!inventory_insert(v, e)) {
		free(e);
		return false;
	}
	return true;
}

static bool come_back(struct nic_inventory *v, struct nic_entry *e)
{
	struct nic_hardware h;

	e->nic.away = false;
	if (e->nic.kind == NIC_HOST && e->nic.present &&
	    inventory_judge(v, &e->here, &h) == OFFERED)
		(void)update_host(v, e, &e->here, &h);
	else if (e->asked)
		nic_entry_judge(v, e);
	else
		remove_entry(v, e);
	return true;
}

bool nic_inventory_set_away(struct nic_inventory *v, const char *device, bool away,
			    const struct nic *last)
{
	struct nic_entry *e = inventory_find(v, device);

	if (!e)
		return away && last && nic_inventory_inventory_remember(v, device, last);
	if (e->nic.away == away)
		return false;
	if (!away)
		return come_back(v, e);
	e->nic.away = true;
	return nic_inventory_set_health(v, device, DP_HEALTHY, NULL);
}

bool nic_inventory_set_health(struct nic_inventory *v, const char *device, uint32_t health,
			      const char *message)
{
	struct nic_entry *e = inventory_find(v, device);
	const char *text = message ? message : "";

	if (!e || !e->nic.away || (e->nic.health == health && strcmp(e->message, text) == 0))
		return false;
	e->nic.health = health;
	(void)snprintf(e->message, sizeof(e->message), "%s", text);
	e->nic.message = e->message[0] ? e->message : NULL;
	return true;
}

bool nic_inventory_hide(struct nic_inventory *v, const char *interface)
{
	const struct nic_entry *e = host_by_name(v, interface);
	struct nic_hidden hidden = { .index = e && e->nic.present ? e->here.index : 0 };
	struct nic_hidden *h = find_hidden(v, interface, 0);

	set_name(hidden.name, interface);
	if (!h && vec_push(&v->hidden, hidden))
		h = &v->hidden.v[v->hidden.n - 1];
	return h && set_hidden(v, h, hidden.index);
}

/* --- reading ------------------------------------------------------------------------------ */

const struct nic *nic_inventory_find(const struct nic_inventory *v, const char *device)
{
	const struct nic_entry *e = inventory_find(v, device);

	return e ? &e->nic : NULL;
}

const struct nic *nic_inventory_at(const struct nic_inventory *v, size_t i)
{
	return i < v->v.n ? &v->v.v[i]->nic : NULL;
}
