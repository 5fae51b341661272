/*
 * device_state - whether a device can be had, and why not: the one definition, from which every
 * view is made.
 *
 * Available means that the allocator gives the device to a claim without tolerations, on some node.
 * A device that somebody holds is PartiallyAllocated while the allocator gives out more of it, and
 * Allocated otherwise; access for administrators holds nothing. All others are Unavailable.
 * Every device is in exactly one state, so counts of the states add up to the devices.
 *
 * As upstream, a node judges a pool by the slices that it sees, so a pool with a fault may be
 * usable from one node and not from another; a device of it counts as available if some node that
 * reaches the device, and exists, can use the pool. Labels of nodes are not known here, so in a
 * pool with a fault no node is taken to see slices and devices that a node selector places.
 *
 * Health is another fact: see device_health.h.
 */
#ifndef DRA_AVAILABILITY_DEVICE_STATE_H
#define DRA_AVAILABILITY_DEVICE_STATE_H

#include "dra/inventory/inventory_impl.h"

enum device_state {
	DEVICE_AVAILABLE,
	DEVICE_PARTIALLY_ALLOCATED,
	DEVICE_ALLOCATED,
	DEVICE_UNAVAILABLE,
	DEVICE_STATES
};

enum device_reason {
	DEVICE_NO_REASON,
	DEVICE_POOL_INCOMPLETE,
	DEVICE_POOL_INVALID,
	DEVICE_NODE_NONE, /* no node can reach it */
	DEVICE_NODE_GONE, /* the only node that can reach it does not exist */
	DEVICE_UNSUPPORTED, /* it needs a feature that is off */
	DEVICE_TAINTED,
	DEVICE_CAPACITY_EXHAUSTED, /* of a shared device; too little is left for anybody */
	DEVICE_COUNTERS_EXHAUSTED, /* the counters of its pool are, by other devices */
	DEVICE_REASONS
};

struct device_standing {
	enum device_state state;
	enum device_reason reason; /* none if it is Available, or held as a whole */
	const struct inventory_taint *taint; /* of DEVICE_TAINTED: the first */
};

/* "Available", as the API has it. */
const char *device_state_name(enum device_state s);

/* "PoolIncomplete", "Tainted"; NULL: no reason. */
const char *device_reason_name(enum device_reason r);

/* What stateReason says: the reason's name, of a taint "Tainted: KEY". Empty: no reason. */
struct str device_standing_text(const struct device_standing *s, struct arena *a);

/* The device, or its slice, names one node, which does not exist as far as is known. */
bool device_is_gone(const struct inventory *inv, const struct inventory_device *d);

/*
 * Why no node is given any device of the slice: its node does not exist, its pool is incomplete or
 * invalid, or the slice is ignored. It is the same for all devices of a slice; if each has its own
 * nodes, device_standing() looks further. The slice must be of its pool's newest generation.
 */
enum device_reason device_slice_reason(const struct inventory *inv,
				       const struct inventory_slice *s);

/* `of_slice` is device_slice_reason() of its slice. */
struct device_standing device_standing(const struct inventory *inv,
				       const struct inventory_device *d,
				       enum device_reason of_slice);

/*
 * The least and the most that one claim can take of a capacity of a shared device, if that much is
 * left: false if it is not. A claim without wishes may take more than the least.
 */
bool device_share(const struct inventory_device *d, const struct inventory_capacity *c,
		  struct quantity *ret_least, struct quantity *ret_most);

/* The most that the capacity's policy lets one claim take of what is left. */
struct quantity device_share_most(const struct inventory_capacity *c, struct quantity left);

#endif
