/* The public view of a device: its health, and the SDK's struct. */
#include <stdio.h>

#include "base/core/mem.h"
#include "drivers/nic_inventory/inventory_impl.h"

enum { ATTRIBUTES_MAX = 11 };

/* --- health ------------------------------------------------------------------------------- */

static void judge_host(struct nic_entry *e)
{
	const struct rtnl_link *l = &e->nic.link;

	if (!l->up || l->running)
		return;
	e->nic.health = DP_UNHEALTHY;
	(void)snprintf(e->message, sizeof(e->message), "no carrier");
}

/* A bridge without ports has no carrier; it gets one with the first port. */
static const char *parent_fault(const struct nic_parent *p, enum nic_kind kind)
{
	if (!p->present)
		return "does not exist";
	if (kind == NIC_VETH && strcmp(p->link.kind, "bridge") != 0)
		return "is not a bridge";
	if (!p->link.up)
		return "is down";
	return kind == NIC_VETH || p->link.running ? NULL : "has no carrier";
}

static void judge_created(const struct nic_inventory *v, struct nic_entry *e)
{
	const struct nic_parent *p = nic_inventory_parent(v, e->nic.parent);
	const char *fault = p ? parent_fault(p, e->nic.kind) : NULL;

	e->nic.present = !p || p->present;
	if (!fault)
		return;
	e->nic.health = DP_UNHEALTHY;
	(void)snprintf(e->message, sizeof(e->message), "%s %s %s",
		       e->nic.kind == NIC_VETH ? "bridge" : "parent", e->nic.parent, fault);
}

void nic_entry_judge(const struct nic_inventory *v, struct nic_entry *e)
{
	e->nic.health = DP_HEALTHY;
	e->message[0] = 0;
	if (e->nic.kind == NIC_HOST)
		judge_host(e);
	else
		judge_created(v, e);
	e->nic.message = e->message[0] ? e->message : NULL;
}

/* --- attributes --------------------------------------------------------------------------- */

static void offer_add_text(struct dp_device *d, struct dp_attribute *all, const char *name,
			   const char *text)
{
	if (text && text[0])
		all[d->nattributes++] = (struct dp_attribute){ sizeof(*all), DP_STRING, name, text,
							       0 };
}

static void offer_add_number(struct dp_device *d, struct dp_attribute *all, uint32_t type,
			     const char *name, int64_t number)
{
	all[d->nattributes++] = (struct dp_attribute){ sizeof(*all), type, name, NULL, number };
}

static void describe_host(struct nic_entry *e, struct dp_device *d, struct dp_attribute *all)
{
	const struct nic *n = &e->nic;

	e->mac[0] = 0;
	if (n->link.mac.n > 0)
		rtnl_mac_print(&n->link.mac, e->mac);
	offer_add_text(d, all, "interface", n->interface);
	/* InfiniBand's twenty bytes are 59 characters, which fit in an attribute. */
	offer_add_text(d, all, "mac", strlen(e->mac) <= 64 ? e->mac : NULL);
	offer_add_number(d, all, DP_INT, "mtu", n->link.mtu);
	if (n->hardware.speed > 0)
		offer_add_number(d, all, DP_INT, "speed", n->hardware.speed);
	offer_add_text(d, all, "driver", n->hardware.driver);
	if (n->hardware.numa >= 0)
		offer_add_number(d, all, DP_INT, "numaNode", n->hardware.numa);
	offer_add_number(d, all, DP_BOOL, "up", n->link.up && n->link.running);
}

static void describe_created(const struct nic_inventory *v, const struct nic *n,
			     struct dp_device *d, struct dp_attribute *all)
{
	const struct nic_parent *p = nic_inventory_parent(v, n->parent);

	offer_add_text(d, all, "parent", n->parent);
	if (n->kind == NIC_VLAN)
		offer_add_number(d, all, DP_INT, "vlan", n->vlan);
	if (n->kind == NIC_MACVLAN)
		offer_add_text(d, all, "mode", nic_macvlan_mode_name(n->macvlan_mode));
	offer_add_number(d, all, DP_BOOL, "up", !p || !parent_fault(p, n->kind));
}

static void offer_describe(const struct nic_inventory *v, struct nic_entry *e, struct dp_device *d,
			   struct dp_attribute *all)
{
	*d = (struct dp_device){ .size = sizeof(*d),
				 .health = e->nic.health,
				 .name = e->nic.device,
				 .attributes = all,
				 .message = e->nic.message };
	offer_add_text(d, all, "kind", nic_kind_name(e->nic.kind));
	if (e->nic.kind == NIC_HOST)
		describe_host(e, d, all);
	else
		describe_created(v, &e->nic, d, all);
}

const struct dp_device *nic_inventory_devices(struct nic_inventory *v, size_t *ret_n)
{
	free(v->devices);
	free(v->attributes);
	v->devices = xcalloc(v->v.n + 1, sizeof(*v->devices));
	v->attributes = xcalloc(v->v.n + 1, ATTRIBUTES_MAX * sizeof(*v->attributes));
	for (size_t i = 0; i < v->v.n; i++)
		offer_describe(v, v->v.v[i], &v->devices[i], &v->attributes[i * ATTRIBUTES_MAX]);
	*ret_n = v->v.n;
	return v->devices;
}
