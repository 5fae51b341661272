/*
 * vendor_partition - simulated GPUs that can be divided (KEP-4815) or shared (KEP-5075).
 *
 * A GPU of 80 GiB has 8 memory slices and can be divided as NVIDIA's MIG does it: each profile at
 * each of its placements is a device of its own, and consumes counters of the GPU's counter set. So
 * does the whole GPU, which consumes all of them.
 */
#ifndef DRIVERS_SIM_PARTITION_H
#define DRIVERS_SIM_PARTITION_H

#include "drivers/sim/kind.h"

enum {
	VENDOR_SLICES = 8, /* memory slices of a GPU */
	VENDOR_COUNTERS = 2 + VENDOR_SLICES,
	VENDOR_PARTS = 12, /* parts of a GPU: all profiles at all placements */
};

/* The description of a device needs these besides its attributes and capacity. */
struct vendor_counters {
	struct dp_counter counters[VENDOR_COUNTERS];
	struct dp_counter_use use;
};

/* Fills in part `i` of a GPU, below VENDOR_PARTS. Its index is that in the list of all devices. */
void vendor_partition_fill(const struct vendor_device *gpu, unsigned i, unsigned index,
			   struct vendor_device *ret_device);

/* The counter set of a GPU. The arrays are the caller's. */
void vendor_partition_set(const struct vendor_device *gpu, struct dp_counter *counters,
			  struct dp_counter_set *ret_set);

/*
 * Changes the description of a GPU, or of a part of one, so that it consumes counters. A part also
 * gets the attributes profile and parentUUID, the type "partition", and its own capacity.
 */
void vendor_partition_describe(const struct vendor_device *v, struct vendor_counters *c,
			       struct dp_attribute *attributes, struct dp_capacity *capacity,
			       struct dp_device *d);

/* Lets several claims share the device: request policies for its capacities. */
void vendor_share_describe(struct dp_capacity *capacity, struct dp_device *d);

#endif
