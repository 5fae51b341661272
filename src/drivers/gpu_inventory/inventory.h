/*
 * gpu_inventory - the devices that the NVIDIA driver publishes, made from the data of its GPUs.
 *
 * Names, attributes and capacities of full GPUs and MIG devices are those of NVIDIA's own driver,
 * so that claims written for it work. Its devices for pass-through, and its attributes of Fabric
 * Manager's partitions, are missing. With dynamic MIG every placement of every profile is a device.
 * Devices of one GPU consume from its counter set, which has a counter for each kind of engine,
 * for each memory slice and for compute slices. So the scheduler allocates only sets of devices
 * that can exist together.
 *
 * The order of the list is the placement policy, because a scheduler takes the first device that
 * fits. A small profile comes before a large one. Among the placements of one profile, the one that
 * excludes the fewest larger instances comes first. So the room for large instances lasts longest.
 *
 * Nothing here calls NVML. Only gpu_sysfs_read() reads files. Everything is allocated in the arena
 * that is passed; text of the sources is borrowed.
 */
#ifndef DRIVERS_GPU_INVENTORY_INVENTORY_H
#define DRIVERS_GPU_INVENTORY_INVENTORY_H

#include "devplane/driver.h"
#include "drivers/nvml/nvml.h"

#define GPU_DRIVER_NAME "gpu.nvidia.com"
/* Taint of devices that cannot be made, because somebody else's instance is in the way. */
#define GPU_TAINT_FOREIGN GPU_DRIVER_NAME "/foreign-instance"

/* A GPU instance that this driver did not make. */
struct gpu_foreign {
	struct nvml_instance instance;
	struct str uuid; /* "MIG-.." of its compute instance; empty unless it has exactly one */
};

/* The data of one GPU. */
struct gpu_source {
	struct nvml_gpu gpu;
	const struct nvml_profile *profiles;
	size_t nprofiles;
	const struct gpu_foreign *foreign;
	size_t nforeign;
	bool foreign_mig; /* MIG is on, and this driver did not switch it on */
	int numa; /* -1: unknown */
	const char *pcie_root; /* "pci0000:00"; NULL: unknown */
};

/* Reads `numa` and `pcie_root` of the GPU at a PCI address. `sysfs` is usually "/sys". */
void gpu_sysfs_read(const char *sysfs, struct arena *a, struct gpu_source *s);

enum gpu_shares {
	GPU_EXCLUSIVE, /* one claim per GPU */
	GPU_SHARES_MEMORY, /* claims divide the memory */
	GPU_SHARES_COUNT, /* a number of claims */
	GPU_SHARES_UNLIMITED,
};

struct gpu_inventory_options {
	struct str driver_version; /* "580.159.04" */
	int cuda_version; /* 13000 */
	bool mig; /* dynamic MIG */
	bool static_mig; /* publish instances that others made */
	enum gpu_shares shares; /* of full GPUs */
	uint32_t share_count; /* for GPU_SHARES_COUNT */
};

/* Reads "memory", "unlimited" or a number from 1 to GPU_SHARES_MAX. */
int gpu_shares_parse(struct str text, struct gpu_inventory_options *o, struct error *err);

enum gpu_kind {
	GPU_FULL,
	GPU_MIG, /* made for the claim that gets it */
	GPU_MIG_STATIC, /* made by somebody else */
};

struct gpu_device {
	const char *name;
	enum gpu_kind kind;
	const struct gpu_source *source;
	const struct nvml_profile *profile; /* NULL: the full GPU */
	struct nvml_placement place;
	const struct gpu_foreign *instance; /* GPU_MIG_STATIC only */
	const char *blocked; /* why it cannot be made now; NULL: it can */
	/* Order of placements: how much of larger profiles this one excludes. */
	uint32_t excludes;
};

struct gpu_inventory {
	const struct gpu_device *devices;
	size_t n;
	struct dp_inventory sdk; /* for the SDK; devices in the same order */
};

/* The sources must outlive the inventory. */
void gpu_inventory_make(struct arena *a, const struct gpu_source *sources, size_t n,
			const struct gpu_inventory_options *o, struct gpu_inventory *ret);

/* NULL if there is no such device. */
const struct gpu_device *gpu_inventory_find(const struct gpu_inventory *inv, struct str name);

/* Whether two placements on one GPU share a memory slice. */
bool gpu_places_overlap(struct nvml_placement a, struct nvml_placement b);

/* The version as SemVer: three numbers without leading zeros. "580.159.04" becomes "580.159.4". */
const char *gpu_semver(struct arena *a, struct str version);

#endif
