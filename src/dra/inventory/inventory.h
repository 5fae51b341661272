/*
 * inventory - the devices of a cluster, built from ResourceSlices, classes, taint rules and claims.
 *
 * Callers put and remove objects one by one, as a watch delivers them; the cost depends on the
 * change, not on the cluster. A pool knows its newest generation, and whether its slices are
 * complete and valid. A device knows its holders. An index finds the pools that a node can reach:
 * node-local pools by the node's name, all others in one list.
 *
 * No I/O, no clock. Objects are copied: the inventory keeps no pointers into the JSON trees that
 * callers pass.
 * Threads: one at a time.
 */
#ifndef DRA_INVENTORY_INVENTORY_H
#define DRA_INVENTORY_INVENTORY_H

#include "base/core/error.h"
#include "base/json/json.h"

struct inventory;

/* Number of selector evaluations so far, and their total CEL cost. */
struct inventory_counts {
	uint64_t evaluations, cost;
};
struct inventory_counts inventory_counts(const struct inventory *inv);

/* Feature gates. In upstream's defaults of 1.37 all are on except the last three. Zero: off. */
struct inventory_features {
	bool admin_access, prioritized_list, partitionable, taints, binding_conditions;
	bool consumable_capacity, fractional_range;
	bool list_attributes, derived_attributes, compatibility_groups;
	/*
	 * Not a gate. The inventory only observes and allocates nothing, and its state must depend
	 * only on the current objects, not on earlier ones.
	 */
	bool observer;
};
extern const struct inventory_features inventory_defaults;

/* All features on, for observers: they count whatever the server stores, whatever its gates are. */
extern const struct inventory_features inventory_everything;

struct inventory *inventory_new(struct inventory_features features);
void inventory_free(struct inventory *inv);

/*
 * Puts an object of resource.k8s.io/v1 that an API server has validated. It replaces the object of
 * the same name. Returns -ERR_INVALID if validation should have rejected the object: then it counts
 * as absent, and the old object is removed. A slice with known uid and metadata.generation is
 * skipped, since its spec is unchanged, so status updates cost nothing.
 *
 * A taint rule without a selector matches no device, as in the API documentation and in upstream's
 * eviction and pool status. (Upstream's scheduler matches all devices.)
 */
int inventory_put_slice(struct inventory *inv, const struct json *slice, struct error *err);
int inventory_put_class(struct inventory *inv, const struct json *device_class, struct error *err);
int inventory_put_taint_rule(struct inventory *inv, const struct json *rule, struct error *err);
void inventory_remove_slice(struct inventory *inv, struct str name);
void inventory_remove_slices(struct inventory *inv); /* all of them */
void inventory_remove_class(struct inventory *inv, struct str name);
void inventory_remove_taint_rule(struct inventory *inv, struct str name);

/*
 * Puts a claim, which holds the devices in its status.allocation. A claim without an allocation
 * holds nothing and costs nothing. Claims are identified by namespace and name; a new uid replaces
 * the old claim. Returns -ERR_INVALID if the allocation cannot be read. Then, unlike other objects,
 * the claim keeps its earlier devices, since allocating them twice is worse than holding them too
 * long. An earlier claim with another uid is removed all the same. For an observer, an unreadable
 * claim holds nothing.
 */
int inventory_put_claim(struct inventory *inv, const struct json *claim, struct error *err);
void inventory_remove_claim(struct inventory *inv, struct str namespace, struct str name);
void inventory_remove_claims(struct inventory *inv); /* all of them, also assumed ones */

/*
 * Assumes an allocation (the object for status.allocation) that is decided but not yet stored. It
 * holds its devices until inventory_forget(), or until the claim is put with an allocation.
 */
int inventory_assume(struct inventory *inv, const struct json *claim, const struct json *allocation,
		     struct error *err);
void inventory_forget(struct inventory *inv, struct str namespace, struct str name);

/*
 * Set which nodes exist. `labels` is an object of strings, or NULL. Before inventory_know_nodes(),
 * every node counts as existing; afterwards, nodes that were not put count as gone. Only
 * device_state.h uses this: the allocator works for any node that the caller describes. A change of
 * a node's labels costs one evaluation of each distinct node selector of the slices. A node that is
 * put again with the same labels costs nothing.
 */
void inventory_put_node(struct inventory *inv, struct str name, const struct json *labels);
void inventory_remove_node(struct inventory *inv, struct str name);
void inventory_know_nodes(struct inventory *inv);

/*
 * The node exists and is lost: it is dead since then (ns since 1970). It counts as missing until it
 * is put again, but for the reason that device_state.h and device_health.h give.
 */
void inventory_put_lost_node(struct inventory *inv, struct str name, int64_t since);

/*
 * Since when a Node is lost; 0: it is not. It is if it has a taint node.kubernetes.io/unreachable
 * or node.kubernetes.io/out-of-service: since the first of them was added, or, if that is not
 * known, since its condition Ready changed.
 */
int64_t inventory_node_lost_since(const struct json *node);

/* Puts a Node, lost or not. */
void inventory_put_node_object(struct inventory *inv, const struct json *node);

size_t inventory_devices(struct inventory *inv); /* of current generations */
size_t inventory_claims(const struct inventory *inv); /* claims that hold a device */
size_t inventory_bytes(struct inventory *inv); /* heap memory held */

#endif
