/* nic_inventory_impl - shared by the files that implement nic_inventory/inventory.h. */
#ifndef DRIVERS_NIC_INVENTORY_INVENTORY_IMPL_H
#define DRIVERS_NIC_INVENTORY_INVENTORY_IMPL_H

#include "base/core/vec.h"
#include "drivers/nic_inventory/inventory.h"

struct nic_parent {
	char name[RTNL_NAME];
	struct rtnl_link link; /* valid if present */
	bool present, seen;
};

struct nic_entry {
	struct nic nic;
	struct rtnl_link
		here; /* NIC_HOST that is present: its link; the same but while it is away */
	bool asked; /* one of the spec's creates: exists for ever */
	bool seen; /* in the state that is being set */
	char message[256]; /* the text of nic.message */
	char mac[RTNL_MAC_TEXT]; /* for the attribute */
};

/* A link that is never offered. */
struct nic_hidden {
	char name[RTNL_NAME];
	int index; /* 0: not seen yet */
};

struct nic_inventory {
	const struct nic_spec *spec;
	char *sysfs;
	VEC(struct nic_entry *) v; /* the spec's creates in their order; then the others by name */
	VEC(struct nic_parent) parents; /* each parent of the creates, once */
	VEC(struct nic_hidden) hidden;
	VEC(int) routes; /* links of default routes, between begin and end */
	VEC(int) routed; /* sorted: nic_inventory_is_routed() */
	VEC(int) told; /* links that on_needed was called for */
	void (*on_needed)(void *arg, const char *interface); /* or NULL */
	void *arg;
	VEC(struct rtnl_link) state; /* links between begin and end */
	bool in_state;
	struct dp_device *devices; /* the last result of nic_inventory_devices() */
	struct dp_attribute *attributes;
};

const struct nic_parent *nic_inventory_parent(const struct nic_inventory *v, const char *name);

/* Computes present, health and message of an entry that is not away. */
void nic_entry_judge(const struct nic_inventory *v, struct nic_entry *e);

#endif
