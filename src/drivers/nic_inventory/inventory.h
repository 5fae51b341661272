/*
 * nic_inventory - the network devices of a node, as they are now.
 *
 * Made of what the kernel tells about this namespace's links (rtnl.h), of sysfs (speed, driver,
 * NUMA node) and of what was asked for (nic_inventory/spec.h). A device that is in a pod is no
 * link here any more: whoever attaches says so, and it stays with the attributes that it had. One
 * that was created for a pod is one of `creates`; to say so of it, too, only means that its health
 * is not its parent's.
 *
 * Attributes, all of the driver's own domain: kind ("host", "veth", "macvlan", "vlan"), interface
 * (name on the node), mac, mtu, speed (Mbit/s), driver, numaNode, up, parent, vlan, mode (of a
 * macvlan). What is not known is left out. `up` of one that is to be created is its parent's (true
 * without one).
 *
 * Health, for a device that is not in a pod: a host interface that is switched on and has no
 * carrier is Unhealthy ("no carrier"); one that is to be created is Unhealthy when its parent is
 * not there ("parent eth1 does not exist") or down; else Healthy. Of one in a pod whoever
 * attached knows.
 *
 * A device is called after its interface (nic_label()), and keeps that name while it is there.
 * Where another has it already, a hash of the interface's own name is behind it: nothing that
 * changes when it is moved, as its index would. Renaming an interface is the end of one device
 * and the beginning of another.
 * Threads: the loop's.
 */
#ifndef DRIVERS_NIC_INVENTORY_INVENTORY_H
#define DRIVERS_NIC_INVENTORY_INVENTORY_H

#include "devplane/driver.h"
#include "drivers/nic_inventory/spec.h"
#include "drivers/nic_inventory/sysfs.h"

struct nic_inventory;

/* One device. Lives until the inventory changes. */
struct nic {
	char device[NIC_LABEL]; /* its name in the pool */
	enum nic_kind kind;
	char interface[RTNL_NAME]; /* NIC_HOST: its name on the node */
	char parent[RTNL_NAME]; /* or bridge; "": none */
	uint16_t vlan;
	uint32_t macvlan_mode;
	struct rtnl_link link; /* NIC_HOST: as last seen here */
	struct nic_hardware hardware; /* NIC_HOST: as last seen here */
	bool present; /* NIC_HOST: is here; else parent is here, or there is none */
	bool away; /* in a pod */
	uint32_t health; /* DP_HEALTHY .. */
	const char *message; /* of health; or NULL */
};

/* `spec` is borrowed, and right (nic_spec_check()). `sysfs` is "/sys" but in tests. */
struct nic_inventory *nic_inventory_new(const struct nic_spec *spec, const char *sysfs);
void nic_inventory_free(struct nic_inventory *v); /* NULL allowed */
/*
 * `fn` comes once for each interface that would be a device, but is not offered because the node
 * needs it: nic_inventory_is_routed().
 */
void nic_inventory_on_needed(struct nic_inventory *v, void (*fn)(void *arg, const char *interface),
			     void *arg);

/*
 * The whole state: nic_inventory_begin(), nic_inventory_link_set() of each link, the index of each
 * link that a default route leads through, then nic_inventory_end(). Changes between:
 * nic_inventory_link_set() and _gone(). Each of end, set and gone tells whether a device came,
 * went or changed: its attributes or its health.
 */
void nic_inventory_begin(struct nic_inventory *v);
void nic_inventory_default_route(struct nic_inventory *v, int index);
bool nic_inventory_end(struct nic_inventory *v);
/* Instead of the end: the state cannot be had, and what was known stays. */
void nic_inventory_cancel(struct nic_inventory *v);
bool nic_inventory_link_set(struct nic_inventory *v, const struct rtnl_link *l);
bool nic_inventory_link_gone(struct nic_inventory *v, int index);

/*
 * The device is in a pod from now on, whatever happens to the link here; false: it is back, or
 * was not away. One that is back and whose link has not been told yet goes until it is: tell it
 * first (rtnl_link_by_name(), nic_inventory_link_set()). Before the first state, for what was
 * attached when the driver ended: `last` is the device as it was; NULL where it is known already.
 * Whether a device came, went or changed.
 */
bool nic_inventory_set_away(struct nic_inventory *v, const char *device, bool away,
			    const struct nic *last);
/* How a device is that is in a pod; text is copied. Whether that is new. */
bool nic_inventory_set_health(struct nic_inventory *v, const char *device, uint32_t health,
			      const char *message);
/* A link here is of ours (a veth's other end) and offered to nobody. Whether a device went. */
bool nic_inventory_hide(struct nic_inventory *v, const char *interface);

/*
 * At the last state a default route led through the link: itself, what is on it (a VLAN, a
 * macvlan), or the bridge or bond that it is a port of. Such a link is never offered, by whatever
 * pattern it is asked for.
 */
bool nic_inventory_is_routed(const struct nic_inventory *v, int index);

/* NULL: no such device. */
const struct nic *nic_inventory_find(const struct nic_inventory *v, const char *device);
/* What is created in its order, then the others by name. NULL: the end. */
const struct nic *nic_inventory_at(const struct nic_inventory *v, size_t i);

/* As the SDK wants them; the array and all in it live until the next call or change. */
const struct dp_device *nic_inventory_devices(struct nic_inventory *v, size_t *ret_n);

#endif
