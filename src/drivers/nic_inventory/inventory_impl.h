/*
 * nic_inventory_impl - what the two files of nic_inventory/inventory.h share.
 */
#ifndef DRIVERS_NIC_INVENTORY_INVENTORY_IMPL_H
#define DRIVERS_NIC_INVENTORY_INVENTORY_IMPL_H

#include "base/core/vec.h"
#include "drivers/nic_inventory/inventory.h"

struct nic_parent {
	char name[RTNL_NAME];
	struct rtnl_link link; /* when it is present */
	bool present, seen;
};

struct nic_entry {
	struct nic nic;
	struct rtnl_link
		here; /* NIC_HOST that is present: its link; the same but while it is away */
	bool asked; /* one of the spec's creates: is there for ever */
	bool seen; /* in the state that is being told */
	char message[256]; /* what nic.message points at */
	char mac[RTNL_MAC_TEXT]; /* for the attribute */
};

/* A link that is offered to nobody. */
struct nic_hidden {
	char name[RTNL_NAME];
	int index; /* 0: not seen yet */
};

struct nic_inventory {
	const struct nic_spec *spec;
	char *sysfs;
	VEC(struct nic_entry *) v; /* what is asked for, in its order; then the others by name */
	VEC(struct nic_parent) parents; /* each that creates name, once */
	VEC(struct nic_hidden) hidden;
	VEC(int) routes; /* indexes of the default routes between begin and end */
	VEC(int) routed; /* sorted: nic_inventory_is_routed() */
	VEC(int) told; /* links that on_needed was called for */
	void (*on_needed)(void *arg, const char *interface); /* or NULL */
	void *arg;
	VEC(struct rtnl_link) state; /* links between begin and end */
	bool in_state;
	struct dp_device *devices; /* the last answer of nic_inventory_devices() */
	struct dp_attribute *attributes;
};

const struct nic_parent *nic_inventory_parent(const struct nic_inventory *v, const char *name);

/* Sets present, health and message of one that is not away as they follow from the rest. */
void nic_entry_judge(const struct nic_inventory *v, struct nic_entry *e);

#endif
