/*
 * inventory - the devices of a cluster, as ResourceSlices, classes, taint rules and claims tell.
 *
 * Objects come and go one by one, as a watch delivers them; each costs what it changes. Pools
 * know their newest generation, whether all of its slices are there and whether they make
 * sense; devices know who holds them. What a node can reach is found by an index, not
 * by looking at every pool: node-local pools by the node's name, all others in one list.
 *
 * No I/O, no clock. Nothing of a tree that is put is kept.
 * Threads: one at a time.
 */
#ifndef DRA_INVENTORY_INVENTORY_H
#define DRA_INVENTORY_INVENTORY_H

#include "base/core/error.h"
#include "base/json/json.h"

struct inventory;

/* Selectors that were evaluated so far, and what that cost. */
struct inventory_counts {
	uint64_t evaluations, cost;
};
struct inventory_counts inventory_counts(const struct inventory *inv);

/* Feature gates, all on in upstream's defaults of 1.37 but the last three. Zero: off. */
struct inventory_features {
	bool admin_access, prioritized_list, partitionable, taints, binding_conditions;
	bool consumable_capacity, fractional_range;
	bool list_attributes, derived_attributes, compatibility_groups;
	/* No gate: we look and give nothing out, and what we take in may not depend on the past. */
	bool observer;
};
extern const struct inventory_features inventory_defaults;

/* All on, for observers: what a server stores counts, whatever its gates. */
extern const struct inventory_features inventory_everything;

struct inventory *inventory_new(struct inventory_features features);
void inventory_free(struct inventory *inv);

/*
 * Puts an object of resource.k8s.io/v1 (validated by an API server), replacing what was there
 * under its name. -ERR_INVALID when it is none that validation would have let through: it is
 * then treated as absent, and so is what was there. A slice whose uid and metadata.generation are
 * known has the spec that is known: status writes cost nothing here.
 *
 * A taint rule without a selector matches no device, as the API says and as upstream's eviction
 * and pool status have it; its scheduler takes it for one that matches all.
 */
int inventory_put_slice(struct inventory *inv, const struct json *slice, struct error *err);
int inventory_put_class(struct inventory *inv, const struct json *device_class, struct error *err);
int inventory_put_taint_rule(struct inventory *inv, const struct json *rule, struct error *err);
void inventory_remove_slice(struct inventory *inv, struct str name);
void inventory_remove_class(struct inventory *inv, struct str name);
void inventory_remove_taint_rule(struct inventory *inv, struct str name);

/*
 * A claim: its status.allocation holds devices. A claim without one holds none and costs
 * nothing. Claims are told apart by namespace and name; a new uid replaces the old claim.
 * -ERR_INVALID when the allocation cannot be read: then, unlike other objects, the claim keeps the
 * devices that it had, since giving them out twice is worse than holding them too long. A
 * claim of another uid is gone all the same. To an observer it holds nothing.
 */
int inventory_put_claim(struct inventory *inv, const struct json *claim, struct error *err);
void inventory_remove_claim(struct inventory *inv, struct str namespace, struct str name);

/*
 * An allocation (the object that belongs into status.allocation) that is decided and not yet
 * stored: it holds its devices until it is forgotten or the claim is put with an allocation.
 */
int inventory_assume(struct inventory *inv, const struct json *claim, const struct json *allocation,
		     struct error *err);
void inventory_forget(struct inventory *inv, struct str namespace, struct str name);

/*
 * Which nodes exist, by name. Nodes that were not put count as existing until
 * inventory_know_nodes(), and as gone from then on. For device_state.h; the allocator gives devices
 * to whatever node it is asked for.
 */
void inventory_put_node(struct inventory *inv, struct str name);
void inventory_remove_node(struct inventory *inv, struct str name);
void inventory_know_nodes(struct inventory *inv);

size_t inventory_devices(struct inventory *inv); /* of current generations */
size_t inventory_claims(const struct inventory *inv); /* that hold something */
size_t inventory_bytes(struct inventory *inv); /* heap memory held */

#endif
