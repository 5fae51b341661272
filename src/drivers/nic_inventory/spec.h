/*
 * nic_spec - which network devices a node offers, by `--interface`, `--exclude` and `--create`.
 *
 * Existing interfaces are offered as they are, and moved into the pod. By default these are all
 * hardware interfaces that no default route uses and that are not part of a bridge or bond. With
 * patterns they are those that match (never the loopback). Devices of `--create` are offered in
 * advance, and created when a pod gets them:
 *
 *	veth:COUNT[:BRIDGE]            a pair; the other end stays here, in the bridge if given
 *	macvlan:COUNT:PARENT[:MODE]    bridge (default), private, vepa or passthru (COUNT 1)
 *	vlan:ID[-ID]:PARENT            one for each ID
 *
 * Parents of --create are not offered themselves: moved into a pod, they would take the others
 * along. `--claim-cni` lists the CNI plugins that claims may use. No I/O.
 */
#ifndef DRIVERS_NIC_INVENTORY_SPEC_H
#define DRIVERS_NIC_INVENTORY_SPEC_H

#include "drivers/rtnl/rtnl.h"

enum nic_kind {
	NIC_HOST, /* an existing interface; moved */
	NIC_VETH,
	NIC_MACVLAN,
	NIC_VLAN,
};

enum { NIC_LABEL = 64 }; /* a DNS label and its NUL */

/* "host", "veth", "macvlan", "vlan" */
const char *nic_kind_name(enum nic_kind kind);
bool nic_kind_parse(struct str word, enum nic_kind *ret_kind);

struct nic_create {
	enum nic_kind kind;
	char parent[RTNL_NAME]; /* parent or bridge; "": none */
	unsigned first, count; /* numbers of the devices; for vlan, the VLAN IDs */
	uint32_t macvlan_mode; /* MACVLAN_MODE_* */
};

struct nic_spec {
	const char *const *patterns; /* globs as in fnmatch(3); none: all hardware */
	size_t npatterns;
	const char *const *excluded;
	size_t nexcluded;
	const struct nic_create *creates;
	size_t ncreates;
};

/* Parses one --create. Returns -ERR_INVALID with a suggestion. */
int nic_create_parse(struct str text, struct nic_create *ret_create, struct error *err);

/* Returns -ERR_INVALID if two creates yield the same name, or there are too many devices. */
int nic_spec_check(const struct nic_spec *s, struct error *err);

/* The default of --claim-cni. */
#define NIC_CLAIM_CNI "none"

/* Returns 0 if the text is a valid --claim-cni (nic_inventory/config.h), else -ERR_INVALID. */
int nic_spec_check_cni(const char *claim_cni, struct error *err);

/* Whether the user selected the interface by its name (patterns, excludes, parents). */
bool nic_spec_matches(const struct nic_spec *s, const char *interface);
/* Whether it is a parent of --create. */
bool nic_spec_is_parent(const struct nic_spec *s, const char *interface);

/* MACVLAN_MODE_* for "bridge" and so on, or 0 if unknown; and back, or NULL if unknown. */
uint32_t nic_macvlan_mode(struct str word);
const char *nic_macvlan_mode_name(uint32_t mode);

/*
 * The device's name, a DNS label: "eth1", "eth1-100" for eth1.100. If two interfaces yield the same
 * label, nic_inventory appends a hash to one of them ("eth1-100-9f3a").
 */
void nic_label(struct str interface, char out[static NIC_LABEL]);
/*
 * The same for a device to be created, with `number` from first to first + count - 1: "veth-0",
 * "veth-br0-0", "macvlan-eth1-0", "macvlan-eth1-private-0", "vlan-eth1-100".
 */
void nic_create_label(const struct nic_create *c, unsigned number, char out[static NIC_LABEL]);

#endif
