/*
 * device_state - decides whether a device is available, and if not, why: state and stateReason of
 * KEP-5677's slice status. All views use this definition.
 *
 * Available means that the allocator gives the device to a claim without tolerations, on some node.
 * A device that a claim holds is PartiallyAllocated while the allocator can give out more of it,
 * and Allocated otherwise; admin access holds nothing. All others are Unavailable. Every device is
 * in exactly one state, so counts of the states add up to the devices.
 *
 * As upstream, a node judges a pool by the slices that it sees, so a pool with a fault may be
 * usable from one node and not from another. A device of such a pool counts as available if some
 * existing node that reaches the device can use the pool; a lost one does not count. While nodes
 * are not known (see inventory_know_nodes()), a node selector counts as matching some node in a
 * sound pool, and in a pool with a fault as matching only the nodes that were put.
 *
 * Health is separate: see device_health.h.
 */
#ifndef DRA_AVAILABILITY_DEVICE_STATE_H
#define DRA_AVAILABILITY_DEVICE_STATE_H

#include "dra/inventory/content.h"

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
	DEVICE_NODE_NONE, /* no existing node can reach it */
	DEVICE_NODE_GONE, /* the only node that can reach it does not exist */
	DEVICE_NODE_UNREACHABLE, /* the only node that can reach it is dead */
	DEVICE_UNSUPPORTED, /* it needs a disabled feature */
	DEVICE_TAINTED,
	DEVICE_CAPACITY_EXHAUSTED, /* shared device: too little is left for any claim */
	DEVICE_COUNTERS_EXHAUSTED, /* other devices use up the counters of its pool */
	DEVICE_REASONS
};

struct device_standing {
	enum device_state state;
	enum device_reason reason; /* DEVICE_NO_REASON if it is Available, or held as a whole */
	const struct inventory_taint *taint; /* for DEVICE_TAINTED: the first taint */
};

/* Returns the state's name in the API: "Available". */
const char *device_state_name(enum device_state s);

/* Returns "PoolIncomplete", "Tainted" and so on; NULL for DEVICE_NO_REASON. */
const char *device_reason_name(enum device_reason r);

/*
 * Returns the text of stateReason: the reason's name, or "Tainted: KEY" for a taint, or an empty
 * text.
 */
struct str device_standing_text(const struct device_standing *s, struct arena *a);

/* Whether the device (or its slice) names a single node that is known not to exist. */
bool device_is_gone(const struct inventory *inv, const struct inventory_device *d);

/* Whether the device (or its slice) names a single node that is lost (inventory.h). */
bool device_is_lost(const struct inventory *inv, const struct inventory_device *d);

/*
 * Returns why no node can get any device of the slice: its node does not exist, its pool is
 * incomplete or invalid, or the slice is ignored. The reason is the same for all devices of the
 * slice. If each device has its own nodes, device_standing() checks them. The slice must be of its
 * pool's newest generation.
 */
enum device_reason device_slice_reason(const struct inventory *inv,
				       const struct inventory_slice *s);

/* `of_slice` is device_slice_reason() of its slice. */
struct device_standing device_standing(const struct inventory *inv,
				       const struct inventory_device *d,
				       enum device_reason of_slice);

/*
 * Computes the least and the most that one claim can take of a capacity of a shared device. Returns
 * false if not even the least is left. A claim that requests no amount may take more than the
 * least.
 */
bool device_share(const struct inventory_device *d, const struct inventory_capacity *c,
		  struct quantity *ret_least, struct quantity *ret_most);

#endif
