/*
 * nic_spec - which network devices a node offers: what `--interface`, `--exclude` and `--create`
 * say.
 *
 * Interfaces that are there are offered as they are and moved into the pod: all hardware that no
 * default route leads through and that is part of no bridge or bond, or, with patterns, what they
 * match (never the loopback). What is to be created is offered beforehand and comes into being
 * when a pod gets it:
 *
 *	veth:COUNT[:BRIDGE]            a pair; the other end stays here, in the bridge when named
 *	macvlan:COUNT:PARENT[:MODE]    bridge (default), private, vepa or passthru (COUNT 1)
 *	vlan:ID[-ID]:PARENT            one for each id
 *
 * What --create builds on is not offered itself: in a pod it would take the others with it.
 * Pure.
 */
#ifndef DRIVERS_NIC_INVENTORY_SPEC_H
#define DRIVERS_NIC_INVENTORY_SPEC_H

#include "drivers/rtnl/rtnl.h"

enum nic_kind {
	NIC_HOST, /* an interface that is there; moved */
	NIC_VETH,
	NIC_MACVLAN,
	NIC_VLAN,
};

enum { NIC_LABEL = 64 }; /* a DNS label with its NUL */

/* "host", "veth", "macvlan", "vlan" */
const char *nic_kind_name(enum nic_kind kind);
bool nic_kind_parse(struct str word, enum nic_kind *ret_kind);

struct nic_create {
	enum nic_kind kind;
	char parent[RTNL_NAME]; /* or bridge; "": none */
	unsigned first, count; /* numbers of the devices; of vlan their ids */
	uint32_t macvlan_mode; /* MACVLAN_MODE_* */
};

struct nic_spec {
	const char *const *patterns; /* globs as fnmatch(3); n 0: hardware */
	size_t npatterns;
	const char *const *excluded;
	size_t nexcluded;
	const struct nic_create *creates;
	size_t ncreates;
};

/* One --create; -ERR_INVALID with what to write instead. */
int nic_create_parse(struct str text, struct nic_create *ret_create, struct error *err);

/* Whether all of it can be offered; else -ERR_INVALID: two creates give one name, too many. */
int nic_spec_check(const struct nic_spec *s, struct error *err);

/* Whether the interface is one that is asked for by its name (patterns, excludes, parents). */
bool nic_spec_matches(const struct nic_spec *s, const char *interface);
/* Whether --create builds on it. */
bool nic_spec_is_parent(const struct nic_spec *s, const char *interface);

/* MACVLAN_MODE_* of "bridge" ..; 0: there is none. And back; NULL: it is none. */
uint32_t nic_macvlan_mode(struct str word);
const char *nic_macvlan_mode_name(uint32_t mode);

/*
 * The device's name, a DNS label: "eth1", "eth1-100" of eth1.100. Of two interfaces whose names
 * become one label one has something behind it ("eth1-100-9f3a"); nic_inventory/inventory.h sees
 * to that.
 */
void nic_label(struct str interface, char out[static NIC_LABEL]);
/*
 * The same of one to be created, `number` of first .. first + count - 1: "veth-0", "veth-br0-0",
 * "macvlan-eth1-0", "macvlan-eth1-private-0", "vlan-eth1-100".
 */
void nic_create_label(const struct nic_create *c, unsigned number, char out[static NIC_LABEL]);

#endif
