/*
 * availability - what is free, by slice and by pool: KEP-5677's status and upstream's
 * ResourcePoolStatusRequest from one calculation.
 *
 * Devices that an admin access looks at are
 * not allocated by it. Only slices of a pool's newest generation have a status.
 */
#ifndef DRA_AVAILABILITY_H
#define DRA_AVAILABILITY_H

#include "dra/inventory.h"

/*
 * The status of a slice: devices, summary, observedGeneration, and, on the lexicographically
 * first slice of its pool, poolStatus. `old` is the status it has (or NULL): conditions that did
 * not change keep their lastTransitionTime, others get now_ns. NULL when the slice is unknown
 * or of an older generation: it gets no status.
 */
struct json *availability_slice_status(const struct inventory *inv, struct str slice,
				       const struct json *old, int64_t now_ns, struct arena *a);

/*
 * The pools of status.pools of a ResourcePoolStatusRequest with that spec, in order and cut at
 * its limit; *ret_total counts all. Both as facts 9.2 have it.
 */
struct json *availability_pools(const struct inventory *inv, const struct json *request_spec,
				struct arena *a, int64_t *ret_total);

/* Names of the slices whose status may depend on a driver's pool: those a change concerns. */
size_t availability_pool_slices(const struct inventory *inv, struct str driver, struct str pool,
				struct arena *a, struct str **ret_names);

#endif
