/*
 * availability - computes which devices are free, by slice and by pool (KEP-5677). It builds the
 * status of ResourceSlices and the answers to upstream's ResourcePoolStatusRequest.
 *
 * Admin access does not count as an allocation. Only slices of a pool's newest generation have a
 * status.
 *
 * The size of a status is limited to AVAILABILITY_BYTES_MAX, or less if the slice itself is large,
 * so that the API server accepts the object. A device lists its first AVAILABILITY_ALLOCATIONS_MAX
 * allocations, sorted by "namespace/name" of their claims. If room is short, each device lists
 * about equally many. omittedAllocations counts the others. Counts and capacities always include
 * all allocations.
 */
#ifndef DRA_AVAILABILITY_AVAILABILITY_H
#define DRA_AVAILABILITY_AVAILABILITY_H

#include "dra/inventory/inventory.h"

struct device_health_book;
struct inventory_slice;

/*
 * Returns the status of a slice: devices, summary, observedGeneration, and, on the
 * lexicographically first slice of its pool, poolStatus. Returns NULL if the slice is unknown or of
 * an older generation, which gets no status. Health comes from the book, and is left out if
 * `health` is NULL. Only devices that are not Healthy have healthSince, healthSource and
 * healthMessage, so the status of a healthy device does not change with its pods. `old` is the
 * current status (or NULL): unchanged conditions keep their lastTransitionTime, others get now_ns.
 * The tree refers to text of the inventory and the book: write it out before those change.
 */
struct json *availability_slice_status(struct inventory *inv,
				       const struct device_health_book *health, struct str slice,
				       const struct json *old, int64_t now_ns, struct arena *a);

/*
 * Returns status.pools of a ResourcePoolStatusRequest with that spec, sorted and cut at its limit.
 * *ret_total counts all matching pools. Counts as upstream does: see pools.c.
 */
struct json *availability_pools(struct inventory *inv, const struct json *request_spec,
				struct arena *a, int64_t *ret_total);

/*
 * Returns the names of the slices whose status may change with a driver's pool: slices of the
 * newest generation by name, then older ones, which have no status (or no longer).
 */
size_t availability_pool_slices(struct inventory *inv, struct str driver, struct str pool,
				struct arena *a, struct str **ret_names);

/*
 * Returns the names of the slices whose status depends on the devices that the claim holds now,
 * each once. Call it before and after claims are put or removed. Visits the claim's devices and the
 * consumers of their counters. Visits the whole pool if device names are duplicated, a counter is
 * overdrawn, or slices changed.
 */
size_t availability_claim_slices(struct inventory *inv, struct str namespace, struct str name,
				 struct arena *a, struct str **ret_names);

/* Copies the healthSince times of an earlier status of the slice into the book. */
void availability_recall_health(struct inventory *inv, struct device_health_book *health,
				struct str slice, const struct json *status);

/*
 * Returns the name of the slice in its pool's newest generation that has the device, or an empty
 * text.
 */
struct str availability_device_slice(struct inventory *inv, struct str driver, struct str pool,
				     struct str device);

/*
 * Returns the names of the slices whose status depends on a taint rule. Call it before and after
 * rules are put or removed. Visits the devices of the pools that the rule selects and the consumers
 * of their counters, and all pools unless the rule names driver and pool.
 */
size_t availability_rule_slices(struct inventory *inv, struct str rule, struct arena *a,
				struct str **ret_names);

/*
 * Returns the names of the slices whose status depends on whether the node exists, and on its
 * labels. Call it before and after the node is put or removed. Costs as much as
 * inventory_node_slices(), plus the consumers of counters, and the slices of incomplete or invalid
 * pools.
 */
size_t availability_node_slices(struct inventory *inv, struct str node, struct arena *a,
				struct str **ret_names);

/*
 * Whether the slice is of an older generation while slices of the newest are missing: the driver is
 * still updating the pool, and may be about to update this slice, too.
 */
bool availability_is_being_replaced(struct inventory *inv, struct str slice);

/*
 * Whether devices of other slices depend on this slice: it has shared counters, or devices that
 * consume counters.
 */
bool availability_counts(const struct inventory_slice *slice);

#endif
