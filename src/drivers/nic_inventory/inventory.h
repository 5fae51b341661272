/*
 * nic_inventory - the current network devices of a node.
 *
 * It combines the kernel's links in this namespace (rtnl.h), sysfs (speed, driver, NUMA node) and
 * the user's choice (nic_inventory/spec.h). A device that is in a pod has no link here any more.
 * The code that attaches it calls nic_inventory_set_away(), and the device stays with its last
 * attributes. For a device that was created for a pod (one of `creates`), that call only means that
 * its health is no longer that of its parent.
 *
 * Attributes, all in the driver's own domain: kind ("host", "veth", "macvlan", "vlan"), interface
 * (name on the node), mac, mtu, speed (Mbit/s), driver, numaNode, up, parent, vlan, mode (of a
 * macvlan). Unknown ones are omitted. For a device that is yet to be created, `up` is that of its
 * parent, or true without a parent.
 *
 * Health of a device that is not in a pod: a host interface that is switched on and has no carrier
 * is Unhealthy ("no carrier"). A device that is yet to be created is Unhealthy if its parent is
 * missing ("parent eth1 does not exist") or down. Otherwise it is Healthy. For a device in a pod,
 * the code that attached it sets the health.
 *
 * A device is named after its interface (nic_label()), and keeps that name while it exists. If the
 * name is taken, a hash of the interface's name is appended, because that does not change when the
 * interface is moved, as its index would. Renaming an interface ends one device and starts another.
 * Threads: the loop's.
 */
#ifndef DRIVERS_NIC_INVENTORY_INVENTORY_H
#define DRIVERS_NIC_INVENTORY_INVENTORY_H

#include "devplane/driver.h"
#include "drivers/nic_inventory/spec.h"
#include "drivers/nic_inventory/sysfs.h"

struct nic_inventory;

/* One device. Valid until the inventory changes. */
struct nic {
	char device[NIC_LABEL]; /* its name in the pool */
	enum nic_kind kind;
	char interface[RTNL_NAME]; /* NIC_HOST: its name on the node */
	char parent[RTNL_NAME]; /* parent or bridge; "": none */
	uint16_t vlan;
	uint32_t macvlan_mode;
	struct rtnl_link link; /* NIC_HOST: as last seen here */
	struct nic_hardware hardware; /* NIC_HOST: as last seen here */
	bool present; /* NIC_HOST: its link is here; else its parent, if it has one */
	bool away; /* in a pod */
	uint32_t health; /* DP_HEALTHY .. */
	const char *message; /* explains the health; or NULL */
};

/* `spec` is borrowed, and must have passed nic_spec_check(). `sysfs` is "/sys" except in tests. */
struct nic_inventory *nic_inventory_new(const struct nic_spec *spec, const char *sysfs);
void nic_inventory_free(struct nic_inventory *v); /* NULL allowed */
/*
 * Sets a callback, called once for each interface that matches but is not offered because the node
 * needs it: nic_inventory_is_routed().
 */
void nic_inventory_on_needed(struct nic_inventory *v, void (*fn)(void *arg, const char *interface),
			     void *arg);

/*
 * To set the whole state, call nic_inventory_begin(), nic_inventory_link_set() for each link,
 * nic_inventory_default_route() for the link of each default route, then nic_inventory_end(). Later
 * changes need only nic_inventory_link_set() and _gone(). end, set and gone return whether a device
 * was added, removed or changed, in its attributes or its health.
 */
void nic_inventory_begin(struct nic_inventory *v);
void nic_inventory_default_route(struct nic_inventory *v, int index);
bool nic_inventory_end(struct nic_inventory *v);
/* Call it instead of nic_inventory_end() if listing failed: the old state stays. */
void nic_inventory_cancel(struct nic_inventory *v);
bool nic_inventory_link_set(struct nic_inventory *v, const struct rtnl_link *l);
bool nic_inventory_link_gone(struct nic_inventory *v, int index);

/*
 * With true, the device counts as being in a pod, whatever happens to its link here. With false, it
 * is back, or was never away. A device that is back disappears until its link is reported, so
 * report that first (rtnl_link_by_name(), nic_inventory_link_set()). `last` is for devices that
 * were attached in an earlier run of the driver: before the first state pass the device as it was.
 * Pass NULL if the device is known. Returns whether a device was added, removed or changed.
 */
bool nic_inventory_set_away(struct nic_inventory *v, const char *device, bool away,
			    const struct nic *last);
/* Sets the health of a device that is in a pod. Text is copied. Returns whether it changed. */
bool nic_inventory_set_health(struct nic_inventory *v, const char *device, uint32_t health,
			      const char *message);
/*
 * Never offers this link, which is ours (a veth's other end). Returns whether a device was removed.
 */
bool nic_inventory_hide(struct nic_inventory *v, const char *interface);

/*
 * Whether a default route used the link in the last state: itself, a VLAN or macvlan on it, or the
 * bridge or bond that it is a port of. Such a link is never offered, even if a pattern matches it.
 */
bool nic_inventory_is_routed(const struct nic_inventory *v, int index);

/* Returns NULL if not found. */
const struct nic *nic_inventory_find(const struct nic_inventory *v, const char *device);
/* Created devices in their order, then others by name. Returns NULL at the end. */
const struct nic *nic_inventory_at(const struct nic_inventory *v, size_t i);

/* The devices for the SDK. Valid until the next call or change. */
const struct dp_device *nic_inventory_devices(struct nic_inventory *v, size_t *ret_n);

#endif
