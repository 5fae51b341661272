/*
 * inventory_impl - what an inventory consists of, for those who decide with it.
 *
 * The allocator, the explainer and availability read these structs in place. Everything is
 * const to them and stays where it is until the inventory is next changed (put, remove, assume,
 * forget) or settled; inventory_node_pools() and the lookups settle, which after a first time
 * without a change does nothing.
 *
 * Slices are one block of memory each. Pools are the sum of their slices: they are worked out
 * anew, lazily, when a slice of theirs changed; a claim only touches the devices that it holds.
 */
#ifndef DRA_INVENTORY_INVENTORY_IMPL_H
#define DRA_INVENTORY_INVENTORY_IMPL_H

#include "api/selector/node_selector.h"
#include "base/core/list.h"
#include "base/core/map.h"
#include "base/core/omap.h"
#include "cel/kubernetes/device.h"
#include "dra/inventory/inventory.h"

/* --- nodes -------------------------------------------------------------------------- */

enum inventory_nodes_kind {
	INVENTORY_NODES_NONE, /* nothing that we know is said: no node */
	INVENTORY_NODES_NAME,
	INVENTORY_NODES_SELECTOR,
	INVENTORY_NODES_ALL,
	INVENTORY_NODES_PER_DEVICE, /* only of slices: each device has its own */
};

/* From which nodes a slice or a device can be reached. */
struct inventory_nodes {
	enum inventory_nodes_kind kind;
	struct str name;
	const struct node_selector *selector; /* one term; see api/selector/node_selector.h */
};

/* A node as the scheduler knows it. */
struct inventory_node {
	struct str name;
	const struct json *labels; /* an object of strings; or NULL */
};

bool inventory_nodes_match(const struct inventory_nodes *nodes, const struct inventory_node *node);

/* They are one node by name, which does not exist, as far as is known. */
bool inventory_nodes_gone(const struct inventory *inv, const struct inventory_nodes *nodes);

/* --- devices ------------------------------------------------------------------------ */

enum inventory_effect {
	INVENTORY_EFFECT_OTHER, /* None, or one that we do not know: ignored */
	INVENTORY_EFFECT_NO_SCHEDULE,
	INVENTORY_EFFECT_NO_EXECUTE,
};

struct inventory_taint {
	struct str key, value;
	struct str effect_text; /* as written */
	int64_t added; /* timeAdded, ns since 1970; INT64_MAX: it does not say */
	enum inventory_effect effect;
};

/* Whether a toleration of a claim is for this taint. */
bool inventory_tolerates(const struct json *toleration, const struct inventory_taint *t);

/* A DeviceTaintRule. */
struct inventory_rule {
	struct str name;
	bool any; /* it has a selector; without one it matches nothing */
	struct str driver, pool, device; /* p NULL: any */
	struct inventory_taint taint;
	size_t block;
};

/* How requests for a capacity are rounded; what is not given has its flag false. */
struct inventory_policy {
	struct quantity standard; /* `default` */
	struct quantity min, max, step; /* of validRange */
	const struct quantity *values; /* validValues, ascending */
	uint8_t nvalues;
	bool has_standard, has_range, has_min, has_max, has_step;
};

/* Of device->view.capacity[i]: what selectors do not see. */
struct inventory_capacity {
	struct str name; /* verbatim: "memory", "gpu.example.com/memory" */
	const struct quantity *value;
	const struct inventory_policy *policy; /* NULL: none */
};

/* A counter of its pool that a device uses up. */
struct inventory_consumption {
	struct str set, counter;
	struct quantity amount;
	/* Of pool->counters; UINT32_MAX: unknown, and the pool is invalid. */
	uint32_t index;
};

struct inventory_device {
	struct str name;
	struct inventory_slice *slice; /* driver: slice->pool->driver */
	struct cel_device view; /* what selectors see; attributes for constraints, too */
	const struct inventory_capacity *capacities; /* view.ncapacity; the same order */
	const struct inventory_taint *taints; /* the device's own; see inventory_next_taint() */
	struct inventory_consumption *counters;
	const struct inventory_nodes *nodes; /* its own node selection; NULL: the slice's */
	const struct str *binding; /* bindingConditions */
	const struct str *binding_failure; /* bindingFailureConditions */
	const struct inventory_use *use; /* who holds it; NULL: nobody */
	uint8_t ntaints, ncounters, nbinding, nbinding_failure;
	bool in_use; /* use->whole is not 0; or shares of it are held and it is not to be shared */
	bool binds_to_node;
	bool has_groups; /* compatibilityGroups: not supported, the slice does not count */
};

/* --- slices and pools --------------------------------------------------------------- */

enum { INVENTORY_MEMOS = 2 };

/* What selectors of a class say of a slice's first 64 devices: filled by the allocator. */
struct inventory_memo {
	uint64_t class; /* its id; 0: none */
	uint64_t known, yes; /* bits by device */
};

struct inventory_slice {
	/* What is asked for each node comes first, so that it is near each other. */
	struct inventory_pool *pool;
	struct inventory_device *devices; /* as listed */
	int64_t expected; /* spec.pool.resourceSliceCount */
	uint32_t ndevices;
	uint32_t ncounters;
	bool sound; /* the pool is neither invalid nor, by this slice's count, incomplete */
	bool current; /* of the pool's newest generation */
	bool binding; /* some device has binding conditions */
	bool ignored; /* it uses a feature that is off: no node sees its devices */
	bool uncounted; /* .. and its pool takes it for missing */
	bool skip_node_operations;
	uint64_t id; /* of this version of the slice, for ever */
	struct inventory_memo memo[INVENTORY_MEMOS]; /* the one used last first */
	/* Bits by device, of the first 64. */
	uint64_t roomy; /* large enough for who asks for no amounts: filled by the allocator */
	uint64_t used; /* in_use */
	uint64_t plain; /* no taints, counters, shares, nodes or conditions of its own */

	struct str name, uid; /* of the object */
	int64_t generation; /* spec.pool.generation */
	int64_t meta_generation; /* metadata.generation */
	struct inventory_nodes nodes;
	const struct inventory_shared *counters; /* sharedCounters, flat: by set as listed */
	struct str partition_attribute; /* partitionTypeAttribute; or empty */
	/*
	 * Of the object as JSON, but for its status and who wrote what; OBJECT_MAX: or more. With
	 * all that its metadata may become, which changes without a new generation.
	 */
	size_t bytes;
	size_t block; /* bytes of all of this */
	size_t at; /* place in the index that it is in; SIZE_MAX: none */
	struct list link; /* of pool->all */
};

/* A counter as a slice shares it. */
struct inventory_shared {
	struct str set, name;
	struct quantity value;
};

/* A counter of a pool. */
struct inventory_counter {
	struct str set, name;
	struct quantity value;
	/* What devices take that somebody holds, on any node, each once. May pass the value. */
	struct quantity held;
};

struct inventory_verdicts;

struct inventory_pool {
	struct str key; /* "driver/pool" */
	struct str driver, name;
	int64_t generation; /* the newest */
	/* Of the newest generation, by name; also those that are ignored. */
	struct inventory_slice **slices;
	uint32_t nslices;
	uint32_t nolder; /* slices of older generations that are still there */
	size_t ndevices;
	uint32_t observed; /* slices of the newest generation that count for completeness */
	int64_t expected; /* as the first slice says */
	bool incomplete; /* observed != expected */
	bool invalid;
	bool sound; /* all of its slices are: it is complete and valid for every node */
	/* The first of upstream's faults: "duplicate device name gpu-0", or empty. */
	struct str invalid_reason;
	struct inventory_counter *counters; /* by set in byte order, then by name */
	uint32_t ncounters;
	uint32_t overdrawn; /* counters with held > value: upstream then gives no consumer out */
	uint32_t nuses;

	/* --- private to the inventory --- */
	struct list all; /* every slice, of any generation */
	struct map devices; /* name -> the first of that name; empty where there are few */
	struct map uses; /* name -> struct inventory_use, also of devices that do not exist */
	struct list lost; /* of those: uses of devices that no slice of `slices` has */
	uint32_t settled; /* how often it was worked out */
	uint32_t *consumers, *consumers_end; /* see inventory_consumers(); NULL: not asked for */
	struct list dirty_link; /* of inventory->dirty */
	const struct inventory_rule **rules; /* that name the driver or pool, by rule name */
	uint32_t nrules;
	bool dirty;
	bool duplicates;
	struct inventory_verdicts *verdicts; /* NULL: not asked for */
	char *name_fault, *counter_fault; /* or NULL */
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
	bool assumed; /* decided, and not yet stored */
	struct inventory_holder *holders; /* one for each of allocation.devices.results */
	uint32_t n;
	const struct str *users; /* uids that status.reservedFor has; only for observers */
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
	struct str share_id; /* of a share, else empty */
	const struct inventory_amount *consumed; /* consumedCapacity */
	uint32_t nconsumed;
	bool admin; /* adminAccess: looks on, holds nothing */
};

/* Everything that is held of one device; there is one while some claim names the device. */
struct inventory_use {
	struct str name; /* of the device */
	struct inventory_pool *pool;
	struct list lost_link; /* of pool->lost */
	struct list holders; /* struct inventory_holder, by key of their claim, place in it */
	struct omap *order; /* of many: key of a claim -> its last holder; else NULL */
	uint32_t whole; /* holders of the whole device */
	uint32_t shares; /* holders of a share */
	uint32_t admins;
	uint32_t met; /* pool->settled when a slice last had the device */
	struct inventory_amount *consumed; /* sums over the shares, by name */
	uint32_t nconsumed;
};

/* Nobody else gets anything of it: it is held as a whole, not by an admin's access. */
static inline bool inventory_device_in_use(const struct inventory_device *d)
{
	return d->in_use;
}

/* Some share of it is held. */
static inline bool inventory_device_shared(const struct inventory_device *d)
{
	return d->use && d->use->shares;
}

/* Held in either way: its counters are charged. */
static inline bool inventory_device_held(const struct inventory_device *d)
{
	return d->use && (d->use->whole || d->use->shares);
}

/* What shares took of a capacity; zero when nothing is. In the format of the capacity. */
struct quantity inventory_consumed(const struct inventory_device *d,
				   const struct inventory_capacity *c);

/* What is left of it; may be negative. */
struct quantity inventory_remaining(const struct inventory_device *d,
				    const struct inventory_capacity *c);

/* What is left of a counter of a pool; may be negative. */
static inline struct quantity inventory_counter_remaining(const struct inventory_counter *c)
{
	return quantity_sub(c->value, c->held);
}

/* --- classes and selectors ---------------------------------------------------------- */

struct inventory_selector {
	struct str text;
	const struct cel_program *program; /* NULL: it does not compile */
	struct str fault; /* why: all issues as printed */
};

struct inventory_class {
	struct str name;
	uint64_t id; /* of the class as it is now; from 1, never again */
	const struct inventory_selector *selectors;
	size_t nselectors;
	const struct json *config; /* spec.config, an array; or NULL */
	struct str extended_resource; /* extendedResourceName; or empty */
	struct str uid;
	int64_t created; /* creationTimestamp, seconds; 0 when unknown */
};

/* --- asking ------------------------------------------------------------------------- */

/* Works out what changed. Pointers from before are void if anything did. */
void inventory_settle(struct inventory *inv);

/* A pool as a node sees it. */
struct inventory_node_pool {
	struct inventory_pool *pool;
	bool incomplete, invalid; /* then slices are none */
	struct str invalid_reason; /* in upstream's words */
	struct inventory_slice **slices; /* that apply to the node and have devices, by name */
	size_t n;
	bool binding; /* some device of them has binding conditions */
};

/*
 * The pools of which some slice applies to the node, in upstream's order: those without binding
 * conditions first (incomplete and invalid ones among them), then by driver and name. Slices
 * of perDeviceNodeSelection apply when one of their devices does; the others of their
 * devices are for the caller to sort out (inventory_device_reachable). Settles. Costs what
 * slices the node has by name, plus all slices that are not tied to one node.
 *
 * Only a pool's newest generation is looked at, whether or not that has a slice for the node, as
 * the API has it. Upstream's allocator misses a newer generation that has no slice for the node
 * as long as the older one has all of its slices there, and gives devices out that are gone.
 */
size_t inventory_node_pools(struct inventory *inv, const struct inventory_node *node,
			    struct arena *a, struct inventory_node_pool **ret_pools);

/*
 * Whether some of these nodes, of a slice or a device of the pool, is given devices of the pool:
 * one that exists, or one that nobody names. See device_state.h for pools with a fault. The first
 * call after a change of the pool costs its slices, those with perDeviceNodeSelection once for each
 * node that they name; others cost nothing but, after a change of nodes, one look at each node that
 * the pool names. The pool must be settled.
 */
bool inventory_pool_usable(const struct inventory *inv, struct inventory_pool *pool,
			   const struct inventory_nodes *nodes);

/*
 * The one slice that the node reaches, when it is just one and its pool is sound; else NULL, which
 * says nothing. Settles.
 */
const struct inventory_slice *inventory_only_slice(struct inventory *inv, struct str node);

/* Whether a device of a slice that applies to the node can itself be reached from it. */
static inline bool inventory_device_reachable(const struct inventory_device *d,
					      const struct inventory_node *node)
{
	return !d->nodes || inventory_nodes_match(d->nodes, node);
}

/* Each taint of a device, its own and then those of rules: set *at to 0, call until NULL. */
const struct inventory_taint *inventory_next_taint(const struct inventory_device *d, size_t *at);

/* NULL: there is none. */
const struct inventory_rule *inventory_rule(const struct inventory *inv, struct str name);

/*
 * Of a pool that has been settled, or of a use's pool: who holds a device, also one that does not
 * exist; NULL: nobody. And all of them, in no order: set *at to 0, call until NULL.
 */
const struct inventory_use *inventory_use(const struct inventory_pool *pool, struct str device);
const struct inventory_use *inventory_next_use(const struct inventory_pool *pool, size_t *at);

/*
 * The slices that name the node, or have a device that does, unordered, in the arena. Settles.
 * Costs these slices and all slices with perDeviceNodeSelection.
 */
size_t inventory_node_slices(struct inventory *inv, struct str node, struct arena *a,
			     struct inventory_slice ***ret_slices);

/*
 * The nodes that slices or devices name and that do not exist, sorted; none as long as it is not
 * known which nodes exist. The array is in the arena, the text is the inventory's. Settles. Costs
 * all nodes that slices name, and all slices with perDeviceNodeSelection.
 */
size_t inventory_gone_nodes(struct inventory *inv, struct arena *a, struct str **ret_names);

/* NULL: there is none. All settle. */
struct inventory_pool *inventory_pool(struct inventory *inv, struct str driver, struct str name);
struct inventory_slice *inventory_slice(struct inventory *inv, struct str name);
/* Of the newest generation; the first of that name. */
struct inventory_device *inventory_pool_device(const struct inventory_pool *pool, struct str name);
struct inventory_device *inventory_device(struct inventory *inv, struct str driver, struct str pool,
					  struct str device);

/*
 * The slices with devices that consume a counter of the pool: places in pool->slices, ascending.
 * Costs all of the pool when it is first asked since a slice changed.
 */
size_t inventory_consumers(struct inventory_pool *pool, uint32_t counter,
			   const uint32_t **ret_slices);

const struct inventory_class *inventory_class(const struct inventory *inv, struct str name);
/*
 * The class that offers an extended resource, by extendedResourceName: the newest, then the
 * first by name, as upstream's; or "deviceclass.resource.kubernetes.io/<name>". NULL: none.
 */
const struct inventory_class *inventory_class_of_resource(const struct inventory *inv,
							  struct str resource);

/*
 * The program of a selector in a claim, compiled once per text. -ERR_INVALID with the
 * issues as printed. It lives until the next inventory_node_pools(), which forgets what was
 * not asked for lately: ask again for each allocation. Takes the steps of compiling off *steps
 * (see struct cel_budget), and is -ERR_TOO_LARGE when they do not suffice; NULL: no such bound.
 */
struct inventory_compiled {
	const struct cel_program *program;
	uint64_t id; /* of this program for ever */
};
int inventory_selector(struct inventory *inv, struct str text, uint64_t *steps,
		       struct inventory_compiled *ret_compiled, struct error *err);

/*
 * What a selector of a claim said of a device, by the id of its program or class: 1, 0, or -1 when
 * that is not known (any more). It says the same as long as slice and program are there. So many
 * are remembered that a claim of 1,024 selectors has those of a few slices.
 */
int inventory_answer(const struct inventory *inv, uint64_t selector,
		     const struct inventory_device *d);
void inventory_remember(struct inventory *inv, uint64_t selector, const struct inventory_device *d,
			bool yes);

/* One more evaluation, at that cost. */
void inventory_count_evaluation(struct inventory *inv, uint64_t cost);

/* A claim that holds something; NULL: it does not, or is not there. Does not settle. */
const struct inventory_claim *inventory_claim(const struct inventory *inv, struct str namespace,
					      struct str name);

/* Claims that hold something, in no order: set *at to 0, call until false. */
bool inventory_next_claim(const struct inventory *inv, size_t *at,
			  const struct inventory_claim **ret_claim);

/* Pools by driver, then name: the first whose key ("driver/pool") is above `after`. Settles. */
struct inventory_pool *inventory_pool_after(struct inventory *inv, struct str after);

const struct inventory_features *inventory_features(const struct inventory *inv);
bool inventory_has_rules(const struct inventory *inv); /* some DeviceTaintRule is there */

#endif
