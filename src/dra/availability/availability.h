/*
 * availability - what is free, by slice and by pool: KEP-5677's status and upstream's
 * ResourcePoolStatusRequest from one calculation.
 *
 * Devices that an admin access looks at are not allocated by it. Only slices of a pool's newest
 * generation have a status.
 *
 * What is told is bounded, so that slice and status always make an object that an API server
 * takes: AVAILABILITY_BYTES_MAX, or less beside a slice that is large itself. Of the
 * allocations of a device the first AVAILABILITY_ALLOCATIONS_MAX by "namespace/name" of their
 * claims are told, or fewer where room is short: then about as many of each device, and
 * omittedAllocations counts the others. Counts and capacities are of all.
 */
#ifndef DRA_AVAILABILITY_AVAILABILITY_H
#define DRA_AVAILABILITY_AVAILABILITY_H

#include "dra/inventory/inventory.h"

struct device_health_book;
struct inventory_slice;

/*
 * The status of a slice: devices, summary, observedGeneration, and, on the lexicographically first
 * slice of its pool, poolStatus. Health is of the book, and is left out if `health` is NULL. Only
 * devices that are not Healthy have healthSince, healthSource and healthMessage, so the status of
 * a healthy device does not change with its pods. `old` is the status it has (or NULL): conditions
 * that did not change keep their lastTransitionTime, others get now_ns. NULL when the slice is
 * unknown or of an older generation: it gets no status. Text of the trees is the inventory's and
 * the book's: write them out before those change.
 */
struct json *availability_slice_status(struct inventory *inv,
				       const struct device_health_book *health, struct str slice,
				       const struct json *old, int64_t now_ns, struct arena *a);

/*
 * The pools of status.pools of a ResourcePoolStatusRequest with that spec, in order and cut at
 * its limit; *ret_total counts all. Counted as upstream does: see availability_pools.c.
 */
struct json *availability_pools(struct inventory *inv, const struct json *request_spec,
				struct arena *a, int64_t *ret_total);

/*
 * Names of the slices whose status may depend on a driver's pool, those that a change of a claim
 * or slice concerns: of the newest generation by name, then older ones, which have none
 * (any more).
 */
size_t availability_pool_slices(struct inventory *inv, struct str driver, struct str pool,
				struct arena *a, struct str **ret_names);

/*
 * Names of the slices whose status depends on what the claim holds now, each once: ask before and
 * after claims are put or removed. Costs what the claim holds and who shares its counters; where
 * names of devices come twice or a counter is overdrawn, and after slices changed, what the
 * pool has.
 */
size_t availability_claim_slices(struct inventory *inv, struct str namespace, struct str name,
				 struct arena *a, struct str **ret_names);

/* Puts the beginnings of devices' health that an earlier status of the slice has into the book. */
void availability_recall_health(struct inventory *inv, struct device_health_book *health,
				struct str slice, const struct json *status);

/* The slice that has the device and is of its pool's newest generation; empty: none. */
struct str availability_device_slice(struct inventory *inv, struct str driver, struct str pool,
				     struct str device);

/*
 * Names of the slices whose status depends on a taint rule: ask before and after rules are put or
 * removed. Costs the devices of the pools that the rule is for; and, unless it names driver and
 * pool, all pools that there are.
 */
size_t availability_rule_slices(struct inventory *inv, struct str rule, struct arena *a,
				struct str **ret_names);

/*
 * Names of the slices whose status depends on whether the node exists. Costs what
 * inventory_node_slices() does, and the slices of pools that are incomplete or invalid.
 */
size_t availability_node_slices(struct inventory *inv, struct str node, struct arena *a,
				struct str **ret_names);

/*
 * Whether the slice is of an older generation while slices of the newest are missing: its driver is
 * just at work on the pool, and may be about to update this one, too.
 */
bool availability_is_being_replaced(struct inventory *inv, struct str slice);

/*
 * Whether the devices of other slices depend on what this one has: it shares counters, or has
 * devices that consume some.
 */
bool availability_counts(const struct inventory_slice *slice);

#endif
