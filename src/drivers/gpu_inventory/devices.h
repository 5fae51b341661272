/* gpu_devices - which devices there are, and in which order. For inventory.c and tests. */
#ifndef DRIVERS_GPU_INVENTORY_DEVICES_H
#define DRIVERS_GPU_INVENTORY_DEVICES_H

#include "drivers/gpu_inventory/inventory.h"

/* The most devices that a GPU can yield. */
size_t gpu_devices_room(const struct gpu_source *s);

/* Appends the devices of one GPU to `to`, which has room for them, and returns their number. */
size_t gpu_devices_list(struct arena *a, const struct gpu_source *s,
			const struct gpu_inventory_options *o, struct gpu_device *to);

/* Whether the GPU is divided by counters, so that it has a counter set. */
bool gpu_has_counters(const struct gpu_source *s, const struct gpu_inventory_options *o);

/* Amounts that profiles have and counters count. */
enum gpu_amount {
	GPU_MULTIPROCESSORS,
	GPU_COPY_ENGINES,
	GPU_DECODERS,
	GPU_ENCODERS,
	GPU_JPEG_ENGINES,
	GPU_OFA_ENGINES,
	GPU_MEMORY,
	GPU_CAPACITIES, /* those above are also capacities of a device */
	GPU_COMPUTE_SLICES = GPU_CAPACITIES,
	GPU_AMOUNTS,
};

uint64_t gpu_profile_amount(const struct nvml_profile *p, enum gpu_amount amount);
/* The largest amount of all profiles: that of the whole GPU. */
uint64_t gpu_total_amount(const struct gpu_source *s, enum gpu_amount amount);
/* The total without the instances of others. */
uint64_t gpu_free_amount(const struct gpu_source *s, enum gpu_amount amount);
/* The number of memory slices: the end of the last placement. */
uint32_t gpu_memory_slices(const struct gpu_source *s);
/* Whether an instance of somebody else has this memory slice. */
bool gpu_slice_is_foreign(const struct gpu_source *s, uint32_t slice);

#endif
