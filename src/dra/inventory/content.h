/*
 * content - the structs of an inventory, for code that allocates or reports devices.
 *
 * The allocator, the explainer and availability read these structs in place and do not modify them.
 * Pointers are valid until the inventory is changed (put, remove, assume, forget) or settled.
 * inventory_node_pools() and the lookups settle it; without a change in between, settling again
 * does nothing.
 *
 * Each slice is one block of memory. Pools are computed from their slices, and recomputed lazily
 * after a slice changed. A claim only touches the devices that it holds.
 */
#ifndef DRA_INVENTORY_CONTENT_H
#define DRA_INVENTORY_CONTENT_H

#include "api/selector/node_selector.h"
#include "base/core/list.h"
#include "base/core/map.h"
#include "base/ordered/omap.h"
#include "cel/kubernetes/device.h"
#include "dra/inventory/inventory.h"

/* --- nodes -------------------------------------------------------------------------- */

enum inventory_nodes_kind {
	INVENTORY_NODES_NONE, /* no known node selection: no node */
	INVENTORY_NODES_NAME,
	INVENTORY_NODES_SELECTOR,
	INVENTORY_NODES_ALL,
	INVENTORY_NODES_PER_DEVICE, /* slices only: each device has its own nodes */
};

/* The nodes that can reach a slice or a device. */
struct inventory_nodes {
	enum inventory_nodes_kind kind;
	struct str name;
	const struct node_selector *selector; /* with one term; see api/selector/node_selector.h */
	struct str selector_text; /* as JSON: equal selectors have the same text */
};

/* A node as the scheduler knows it. */
struct inventory_node {
	struct str name;
	const struct json *labels; /* an object of strings, or NULL */
};

bool inventory_nodes_match(const struct inventory_nodes *nodes, const struct inventory_node *node);

/* Whether `nodes` names a single node that is known not to exist. */
bool inventory_nodes_gone(const struct inventory *inv, const struct inventory_nodes *nodes);

/*
 * Whether `nodes` names a single node that is lost: since when, or 0. *ret_who (may be NULL) is
 * then "node NAME", owned by the inventory.
 */
int64_t inventory_nodes_lost(const struct inventory *inv, const struct inventory_nodes *nodes,
			     struct str *ret_who);

/*
 * Whether `nodes` is a node selector that is known to match no existing node. It belongs to a slice
 * of its pool's newest generation; the pool must be settled.
 */
bool inventory_nodes_none(const struct inventory *inv, const struct inventory_nodes *nodes);

/* --- devices ------------------------------------------------------------------------ */

enum inventory_effect {
	INVENTORY_EFFECT_OTHER, /* None, or an unknown effect: ignored */
	INVENTORY_EFFECT_NO_SCHEDULE,
	INVENTORY_EFFECT_NO_EXECUTE,
};

struct inventory_taint {
	struct str key, value;
	struct str effect_text; /* as written */
	int64_t added; /* timeAdded, ns since 1970; INT64_MAX: not set */
	enum inventory_effect effect;
};

/* Whether the toleration tolerates the taint. */
bool inventory_tolerates(const struct json *toleration, const struct inventory_taint *t);

/* A DeviceTaintRule. */
struct inventory_rule {
	struct str name;
	bool any; /* it has a selector; without a selector it matches nothing */
	struct str driver, pool, device; /* p NULL: any */
	struct inventory_taint taint;
	size_t block;
};

/* How requests for a capacity are rounded. Optional fields have a `has` flag. */
struct inventory_policy {
	struct quantity standard; /* `default` */
	struct quantity min, max, step; /* of validRange */
	const struct quantity *values; /* validValues, ascending */
	uint8_t nvalues;
	bool has_standard, has_range, has_min, has_max, has_step;
};

/* The fields of device->view.capacity[i] that selectors do not see. */
struct inventory_capacity {
	struct str name; /* verbatim: "memory", "gpu.example.com/memory" */
	const struct quantity *value;
	const struct inventory_policy *policy; /* NULL: none */
};

/* An amount that a device consumes of a counter of its pool. */
struct inventory_consumption {
	struct str set, counter;
	struct quantity amount;
	/*
	 * Index in pool->counters; UINT32_MAX: there is no such counter, and the pool is invalid.
	 */
	uint32_t index;
};

struct inventory_device {
	struct str name;
	struct inventory_slice *slice; /* driver: slice->pool->driver */
	struct cel_device view; /* what selectors see; attributes for constraints, too */
	const struct inventory_capacity *capacities; /* view.ncapacity of them, in the same order */
	const struct inventory_taint *taints; /* the device's own; see inventory_next_taint() */
	struct inventory_consumption *counters;
	const struct inventory_nodes *nodes; /* its own node selection; NULL: the slice's */
	const struct str *binding; /* bindingConditions */
	const struct str *binding_failure; /* bindingFailureConditions */
	const struct inventory_use *use; /* its holders; NULL: no claim names it */
	uint8_t ntaints, ncounters, nbinding, nbinding_failure;
	/* use->whole is not 0, or shares are held although the device is not shareable. */
	bool in_use;
	bool binds_to_node;
	/* It has compatibilityGroups, which are unsupported: the slice is ignored. */
	bool has_groups;
};

/* --- slices and pools --------------------------------------------------------------- */

enum { INVENTORY_MEMOS = 2 };

/* Cached results of a class's selectors for a slice's first 64 devices, filled by the allocator. */
struct inventory_memo {
	uint64_t class; /* ID of the class; 0: unused */
	uint64_t known, yes; /* bits by device */
};

struct inventory_slice {
	/* Fields that are read for every node come first, to share cache lines. */
	struct inventory_pool *pool;
	struct inventory_device *devices; /* as listed */
	struct list local; /* slices that name the same node; private to the inventory */
	int64_t expected; /* spec.pool.resourceSliceCount */
	uint32_t ndevices;
	uint32_t ncounters;
	bool sound; /* the pool is neither invalid nor, by this slice's count, incomplete */
	bool current; /* it belongs to the pool's newest generation */
	bool binding; /* some device has binding conditions */
	bool ignored; /* it uses a disabled feature: no node sees its devices */
	bool uncounted; /* .. and it does not count towards its pool's completeness */
	bool skip_node_operations;
	uint64_t id; /* unique to this version of the slice */
	struct inventory_memo memo[INVENTORY_MEMOS]; /* most recently used first */
	/* Bitmaps of the first 64 devices. */
	uint64_t roomy; /* large enough for requests without amounts; filled by the allocator */
	uint64_t used; /* in_use; see inventory_slice_uses() */
	uint64_t plain; /* no taints, counters, shares, nodes or conditions of its own */
	struct inventory_nodes nodes;

	struct str name, uid; /* of the object */
	int64_t generation; /* spec.pool.generation */
	int64_t meta_generation; /* metadata.generation */
	const struct inventory_shared *counters; /* sharedCounters, flat: by set as listed */
	struct str partition_attribute; /* partitionTypeAttribute, or empty */
	/*
	 * Size of the object as JSON without its status and managedFields, at most OBJECT_MAX.
	 * Metadata counts with its maximum size, because it changes without a new generation.
	 */
	size_t bytes;
	size_t block; /* size of this block in bytes */
	size_t at; /* position in its index; SIZE_MAX: not indexed */
	struct list link; /* of pool->all */
};

/* A counter in sharedCounters of a slice. */
struct inventory_shared {
	struct str set, name;
	struct quantity value;
};

/* A counter of a pool. */
struct inventory_counter {
	struct str set, name;
	struct quantity value;
	/* Sum over all held devices, on any node, each counted once. May exceed the value. */
	struct quantity held;
};

struct inventory_verdicts;

struct inventory_pool {
	int64_t generation; /* the newest */
	/* Slices of the newest generation, sorted by name, including ignored ones. */
	struct inventory_slice **slices;
	uint32_t nslices;
	uint32_t nolder; /* slices of older generations that are still there */
	size_t ndevices;
	uint32_t observed; /* slices of the newest generation that count for completeness */
	int64_t expected; /* resourceSliceCount of the first slice */
	bool incomplete; /* observed != expected */
	bool invalid;
	bool sound; /* all of its slices are sound: it is complete and valid for every node */
	/* The first error, in upstream's words: "duplicate device name gpu-0"; or empty. */
	struct str invalid_reason;
	struct inventory_counter *counters; /* by set in byte order, then by name */
	uint32_t ncounters;
	/* Counters with held > value: then no consumer is allocated, as upstream. */
	uint32_t overdrawn;

	/* --- private to the inventory --- */
	struct list all; /* every slice, of any generation */
	struct list lost; /* subset of `uses`: devices that no slice of `slices` has */
	uint32_t settled; /* how often the pool was recomputed */
	uint32_t *consumers, *consumers_end; /* see inventory_consumers(); NULL: not computed yet */
	struct list dirty_link; /* of inventory->dirty */
	/* Rules that name the driver or pool, sorted by rule name. */
	const struct inventory_rule **rules;
	uint32_t nrules;
	struct inventory_verdicts *verdicts; /* NULL: not computed yet */
	char *name_fault, *counter_fault; /* or NULL */

	/*
	 * Fields that are read for every claim come last, beside the text, to share cache lines.
	 * The maps are private, too.
	 */
	bool dirty;
	bool duplicates;
	struct map uses; /* name -> struct inventory_use, also of devices that do not exist */
	struct map devices; /* name -> first device of that name */
	uint32_t nuses;
	struct str driver, name;
	struct str key; /* "driver/pool" */
	char text[]; /* the key */
};

/* --- holders ------------------------------------------------------------------------ */

struct inventory_amount {
	struct str name; /* of a capacity, verbatim */
	struct quantity value;
};

/* A claim with an allocation. */
struct inventory_claim {
	struct str namespace, name, uid;
	bool assumed; /* decided but not yet stored */
	struct inventory_holder *holders; /* one for each of allocation.devices.results */
	uint32_t n;
	const struct str *users; /* uids in status.reservedFor; only for observers */
	uint32_t nusers;
	size_t block;
	struct str key; /* "namespace/name" */
};

/* One result of a claim's allocation. */
struct inventory_holder {
	struct list link; /* of use->holders */
	struct inventory_use *use;
	struct inventory_claim *claim;
	struct str request; /* "gpu", "gpu/large" */
	struct str share_id; /* shareID, or empty for a whole device */
	const struct inventory_amount *consumed; /* consumedCapacity */
	uint32_t nconsumed;
	bool admin; /* adminAccess: holds nothing */
};

/* All holders of one device. It exists while some claim names the device. */
struct inventory_use {
	struct str name; /* of the device */
	struct inventory_pool *pool;
	struct list lost_link; /* of pool->lost */
	/*
	 * List of struct inventory_holder, sorted by their claim's key, then position in the claim.
	 */
	struct list holders;
	struct omap *order; /* if there are many: key of a claim -> its last holder; else NULL */
	uint32_t whole; /* holders of the whole device */
	uint32_t shares; /* holders of a share */
	uint32_t admins;
	uint32_t met; /* value of pool->settled when a slice last had the device */
	struct inventory_amount *consumed; /* sums over the shares, by name */
	uint32_t nconsumed;
};

/* Returns the device's own node selection, or its slice's. */
static inline const struct inventory_nodes *inventory_device_nodes(const struct inventory_device *d)
{
	return d->nodes ? d->nodes : &d->slice->nodes;
}

/* Whether the device, or its slice, names the node. */
static inline bool inventory_device_on_node(const struct inventory_device *d, struct str node)
{
	const struct inventory_nodes *nodes = inventory_device_nodes(d);

	return nodes->kind == INVENTORY_NODES_NAME && str_eq(nodes->name, node);
}

/*
 * Whether the device is held as a whole, so that no other claim can get it. Admin access does not
 * count.
 */
static inline bool inventory_device_in_use(const struct inventory_device *d)
{
	return d->in_use;
}

/* The same for the i-th device. Most answers come from the bitmap, without reading the device. */
static inline bool inventory_slice_uses(const struct inventory_slice *s, size_t i)
{
	return i < 64 ? s->used >> i & 1 : s->devices[i].in_use;
}

/* Whether some share of the device is held. */
static inline bool inventory_device_shared(const struct inventory_device *d)
{
	return d->use && d->use->shares;
}

/* Whether the device is held, whole or in shares, so that its counters are charged. */
static inline bool inventory_device_held(const struct inventory_device *d)
{
	return d->use && (d->use->whole || d->use->shares);
}

/* Returns the sum that shares take of a capacity, in the format of the capacity. */
struct quantity inventory_consumed(const struct inventory_device *d,
				   const struct inventory_capacity *c);

/* Returns the rest of a capacity; may be negative. */
struct quantity inventory_remaining(const struct inventory_device *d,
				    const struct inventory_capacity *c);

/* Returns the rest of a pool's counter; may be negative. */
static inline struct quantity inventory_counter_remaining(const struct inventory_counter *c)
{
	return quantity_sub(c->value, c->held);
}

/* --- classes and selectors ---------------------------------------------------------- */

struct inventory_selector {
	struct str text;
	const struct cel_program *program; /* NULL: it does not compile */
	struct str fault; /* why it does not compile: all issues as printed */
};

struct inventory_class {
	struct str name;
	uint64_t id; /* unique to this version of the class; from 1 */
	const struct inventory_selector *selectors;
	size_t nselectors;
	const struct json *config; /* spec.config, an array, or NULL */
	struct str extended_resource; /* extendedResourceName, or empty */
	struct str uid;
	int64_t created; /* creationTimestamp, seconds; 0 when unknown */
};

/* --- asking ------------------------------------------------------------------------- */

/* Recomputes the pools that changed. If any did, earlier pointers become invalid. */
void inventory_settle(struct inventory *inv);

/* A pool as a node sees it. */
struct inventory_node_pool {
	struct inventory_pool *pool;
	bool incomplete, invalid; /* if either is set, there are no slices */
	struct str invalid_reason; /* in upstream's words */
	/* Slices that apply to the node and have devices, sorted by name. */
	struct inventory_slice **slices;
	size_t n;
	bool binding; /* some device has binding conditions */
};

/*
 * Returns the pools with a slice that applies to the node, in upstream's order: pools without
 * binding conditions (and incomplete or invalid ones) first, then by driver and name. A slice with
 * perDeviceNodeSelection applies if one of its devices does; the caller filters its devices with
 * inventory_device_reachable(). Settles. The cost is linear in the slices that name the node, plus
 * all slices that are not tied to one node.
 *
 * Only a pool's newest generation counts, whether or not it has a slice for the node, as the API
 * specifies. Upstream's allocator misses a newer generation without a slice for the node while the
 * older one still has all of its slices there, and so allocates devices that are gone.
 */
size_t inventory_node_pools(struct inventory *inv, const struct inventory_node *node,
			    struct arena *a, struct inventory_node_pool **ret_pools);

/*
 * Whether some existing node in `nodes` (of a slice or device of the pool) can use the pool. In a
 * cluster without nodes, a node that no slice names or selects counts as existing. See
 * device_state.h for pools with a fault. The pool must be settled. A sound pool costs nothing. Else
 * the first call visits the pool's slices and the nodes that they name or select, after a change of
 * the pool, or of the nodes that its selectors match. The first call after a change of nodes checks
 * each node that the pool names or selects. Other calls cost nothing.
 */
bool inventory_pool_usable(const struct inventory *inv, struct inventory_pool *pool,
			   const struct inventory_nodes *nodes);

/*
 * Returns the slice that the node reaches, if there is exactly one and its pool is sound. NULL does
 * not mean that there is no slice. Settles.
 */
const struct inventory_slice *inventory_only_slice(struct inventory *inv, struct str node);

/* Whether the node can reach the device. The slice must apply to the node. */
static inline bool inventory_device_reachable(const struct inventory_device *d,
					      const struct inventory_node *node)
{
	return !d->nodes || inventory_nodes_match(d->nodes, node);
}

/*
 * Iterates over the taints of a device, its own first, then those of rules. Start with *at = 0 and
 * call until it returns NULL.
 */
const struct inventory_taint *inventory_next_taint(const struct inventory_device *d, size_t *at);

/* Returns NULL if there is no such rule. */
const struct inventory_rule *inventory_rule(const struct inventory *inv, struct str name);

/*
 * inventory_use() returns the holders of a device, even if the device does not exist, or NULL.
 * inventory_next_use() iterates over all of them, unordered: start with *at = 0 and call until it
 * returns NULL. The pool must be settled, or come from a use.
 */
const struct inventory_use *inventory_use(const struct inventory_pool *pool, struct str device);
const struct inventory_use *inventory_next_use(const struct inventory_pool *pool, size_t *at);

/*
 * Returns the slices whose devices may become reachable, or unreachable, when the node is put or
 * removed or its labels change: those that name it (or have a device that does), those for which it
 * is the only node that they select, and those of pools with a fault that are not tied to one node.
 * Call it before and after the change. Unordered, in the arena. Settles. Visits the slices that
 * name the node, and all slices that are not tied to one node.
 */
size_t inventory_node_slices(struct inventory *inv, struct str node, struct arena *a,
			     struct inventory_slice ***ret_slices);

/*
 * Returns the nodes that slices or devices name but that do not exist, sorted. Returns 0 before
 * inventory_know_nodes(). The array is in the arena; the inventory owns the text. Settles. Visits
 * all nodes that slices name, and all slices with perDeviceNodeSelection.
 */
size_t inventory_gone_nodes(struct inventory *inv, struct arena *a, struct str **ret_names);

/* The lookups return NULL if nothing is found. These two, and inventory_device(), settle. */
struct inventory_pool *inventory_pool(struct inventory *inv, struct str driver, struct str name);
struct inventory_slice *inventory_slice(struct inventory *inv, struct str name);
/* Returns the first device of that name in the newest generation. Does not settle. */
struct inventory_device *inventory_pool_device(const struct inventory_pool *pool, struct str name);
struct inventory_device *inventory_device(struct inventory *inv, struct str driver, struct str pool,
					  struct str device);

/*
 * Returns the slices with devices that consume a counter of the pool, as ascending indexes into
 * pool->slices. The first call after a slice changed visits the whole pool.
 */
size_t inventory_consumers(struct inventory_pool *pool, uint32_t counter,
			   const uint32_t **ret_slices);

const struct inventory_class *inventory_class(const struct inventory *inv, struct str name);
/*
 * Returns the class that offers an extended resource, or NULL. It is found by extendedResourceName
 * (if several match: the newest, then the first by name, as upstream), or by the resource name
 * "deviceclass.resource.kubernetes.io/<class>".
 */
const struct inventory_class *inventory_class_of_resource(const struct inventory *inv,
							  struct str resource);

/*
 * Returns the compiled program of a claim's selector, compiled once per text. Returns -ERR_INVALID
 * with the printed issues if it does not compile. The program lives until the next
 * inventory_node_pools(), which drops programs that were not used lately, so look it up again for
 * each allocation. Compiling subtracts its steps from *steps (see struct cel_budget), and returns
 * -ERR_TOO_LARGE if they do not suffice. `steps` NULL: no limit.
 */
struct inventory_compiled {
	const struct cel_program *program;
	uint64_t id; /* unique to this program */
};
int inventory_selector(struct inventory *inv, struct str text, uint64_t *steps,
		       struct inventory_compiled *ret_compiled, struct error *err);

/*
 * Returns the cached result of a claim's selector for a device, by the ID of its program or class:
 * 1, 0, or -1 if it is not cached (or no longer). Results stay correct as long as slice and program
 * exist. The cache is large enough for a claim of 1,024 selectors on a few slices.
 */
int inventory_answer(const struct inventory *inv, uint64_t selector,
		     const struct inventory_device *d);
void inventory_remember(struct inventory *inv, uint64_t selector, const struct inventory_device *d,
			bool yes);

/* Counts one evaluation with that cost, for inventory_counts(). */
void inventory_count_evaluation(struct inventory *inv, uint64_t cost);

/* Returns the claim, or NULL if it is unknown or holds nothing. Does not settle. */
const struct inventory_claim *inventory_claim(const struct inventory *inv, struct str namespace,
					      struct str name);

/*
 * Iterates over the claims that hold something, unordered. Start with *at = 0 and call until false.
 */
bool inventory_next_claim(const struct inventory *inv, size_t *at,
			  const struct inventory_claim **ret_claim);

/* Returns the first pool whose key ("driver/pool") sorts after `after`, or NULL. Settles. */
struct inventory_pool *inventory_pool_after(struct inventory *inv, struct str after);

const struct inventory_features *inventory_features(const struct inventory *inv);
bool inventory_has_rules(const struct inventory *inv); /* whether a DeviceTaintRule exists */

#endif
