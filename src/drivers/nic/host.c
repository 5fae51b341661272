/*
 * The node's own namespace. The watch is opened before the first list, so no change is missed.
 * Routes are not watched: the list is repeated from time to time, which costs a few messages, and
 * preparing a claim checks them again.
 */
#include "drivers/nic/driver_impl.h"
#include "drivers/rtnl/watch.h"

/* --- link types ------------------------------------------------------------------------------ */

static void host_skip(struct nic_driver *d, const struct nic_create *c, const struct error *why)
{
	log_warn(d->opts.log, "devices are not offered: the kernel cannot create them",
		 LOG_Z("kind", nic_kind_name(c->kind)), LOG_Z("parent", c->parent),
		 LOG_UINT("count", c->count), LOG_ERR(why));
	if (d->opts.on_skip)
		d->opts.on_skip(d->opts.arg, c, why);
}

void nic_host_probe(struct nic_driver *d)
{
	const struct nic_spec *s = d->opts.spec;
	struct error why;

	d->spec = *s;
	d->creates = xcalloc(s->ncreates + 1, sizeof(*d->creates));
	d->spec.creates = d->creates;
	d->spec.ncreates = 0;
	for (size_t i = 0; i < s->ncreates; i++) {
		if (rtnl_probe_kind(nic_kind_name(s->creates[i].kind), &why) < 0)
			host_skip(d, &s->creates[i], &why);
		else
			d->creates[d->spec.ncreates++] = s->creates[i];
	}
}

/* --- devices --------------------------------------------------------------------------------- */

static void changed(struct nic_driver *d)
{
	loop_defer(d->opts.loop, &d->tell);
}

void nic_host_tell(struct loop_task *t)
{
	struct nic_driver *d = CONTAINER_OF(t, struct nic_driver, tell);
	const struct dp_device *v;
	char message[512];
	size_t n;

	v = nic_inventory_devices(d->inventory, &n);
	if (dp_driver_set_devices(d->driver, v, n, message, sizeof(message)) < 0)
		log_error(d->opts.log, "cannot publish the devices", LOG_Z("error", message));
}

void nic_host_gone(struct nic_driver *d, const struct nic_use *u)
{
	if (u->peer[0])
		(void)nic_inventory_hide(d->inventory, u->peer);
	(void)nic_inventory_set_away(d->inventory, u->nic.device, true, NULL);
	changed(d);
}

/*
 * The kernel's event for the link comes later, so report it now; otherwise the device would be
 * gone.
 */
void nic_host_back(struct nic_driver *d, const struct nic_use *u)
{
	struct rtnl_link l;

	if (u->nic.kind == NIC_HOST && rtnl_link_by_name(d->host, u->nic.interface, &l, NULL) == 0)
		(void)nic_inventory_link_set(d->inventory, &l);
	(void)nic_inventory_set_away(d->inventory, u->nic.device, false, NULL);
	changed(d);
}

/* --- the list -------------------------------------------------------------------------------- */

static int add_link(void *arg, const struct rtnl_link *l)
{
	(void)nic_inventory_link_set(arg, l);
	return 0;
}

static int add_route(void *arg, const struct rtnl_route *t)
{
	if (t->to.prefix == 0)
		nic_inventory_default_route(arg, t->index);
	return 0;
}

int nic_host_list(struct nic_driver *d, struct error *err)
{
	int r;

	nic_inventory_begin(d->inventory);
	r = rtnl_links(d->host, add_link, d->inventory, err);
	if (r == 0)
		r = rtnl_routes(d->host, add_route, d->inventory, err);
	if (r < 0) {
		nic_inventory_cancel(d->inventory);
		return error_wrap(err, r, "list the node's network interfaces");
	}
	if (nic_inventory_end(d->inventory) || !d->known)
		changed(d);
	d->known = true;
	return 0;
}

int nic_host_check(struct nic_driver *d, const char *interface, struct error *err)
{
	struct rtnl_link l;
	int r = nic_host_list(d, err);

	if (r == 0)
		r = rtnl_link_by_name(d->host, interface, &l, err);
	if (r == 0 && nic_inventory_is_routed(d->inventory, l.index))
		r = error_set(err, ERR_FORBIDDEN,
			      "the node's default route uses %s: it stays on the node", interface);
	return r;
}

/* --- what changes ---------------------------------------------------------------------------- */

static void list_again(struct nic_driver *d)
{
	struct error err;

	if (nic_host_list(d, &err) < 0)
		log_warn(d->opts.log, "cannot read the node's network interfaces", LOG_ERR(&err));
}

static void on_event(void *arg, const struct rtnl_event *e)
{
	struct nic_driver *d = arg;
	bool news = false;

	switch (e->type) {
	case RTNL_LINK_SET:
		news = nic_inventory_link_set(d->inventory, &e->link);
		break;
	case RTNL_LINK_GONE:
		news = nic_inventory_link_gone(d->inventory, e->link.index);
		break;
	case RTNL_LOST:
		list_again(d);
		break;
	case RTNL_ADDRESS_SET:
	case RTNL_ADDRESS_GONE:
		break;
	}
	if (news)
		changed(d);
}

static void on_needed(void *arg, const char *interface)
{
	const struct nic_driver *d = arg;

	log_warn(d->opts.log, "interface is not offered: the node's default route uses it",
		 LOG_Z("interface", interface));
}

int nic_host_start(struct nic_driver *d, struct error *err)
{
	int r = rtnl_open(-1, &d->host, err);

	nic_inventory_on_needed(d->inventory, on_needed, d);
	if (r == 0)
		r = rtnl_watch_new(d->opts.loop, -1, on_event, d, &d->watch, err);
	return r < 0 ? r : nic_host_list(d, err);
}
