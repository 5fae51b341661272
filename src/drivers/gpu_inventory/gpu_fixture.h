/*
 * gpu_fixture - for tests: an H200, with the profiles and placements that one reports.
 */
#ifndef DRIVERS_GPU_INVENTORY_GPU_FIXTURE_H
#define DRIVERS_GPU_INVENTORY_GPU_FIXTURE_H

#include "drivers/gpu_inventory/inventory.h"

#define GPU_FIXTURE_MIB(n) ((uint64_t)(n) << 20)

enum { GPU_FIXTURE_PROFILES = 7, GPU_FIXTURE_PLACEMENTS = 25 };

static const struct nvml_placement gpu_fixture_ones[] = { { 0, 1 }, { 1, 1 }, { 2, 1 }, { 3, 1 },
							  { 4, 1 }, { 5, 1 }, { 6, 1 } };
static const struct nvml_placement gpu_fixture_twos[] = { { 0, 2 }, { 2, 2 }, { 4, 2 }, { 6, 2 } };
static const struct nvml_placement gpu_fixture_fours[] = { { 0, 4 }, { 4, 4 } };
static const struct nvml_placement gpu_fixture_whole[] = { { 0, 8 } };

#define GPU_FIXTURE_PROFILE(id_, number_, name_, slices_, sm, ce, dec, ofa, mib, n, places, count) \
	{                                                                                          \
		.id = (id_), .number = (number_), .name = { name_, sizeof(name_) - 1 },            \
		.slices = (slices_), .multiprocessors = (sm), .copy_engines = (ce),                \
		.decoders = (dec), .jpeg_engines = (dec), .ofa_engines = (ofa),                    \
		.memory = GPU_FIXTURE_MIB(mib), .instances = (n), .placements = (places),          \
		.nplacements = (count),                                                            \
	}

static const struct nvml_profile gpu_fixture_profiles[GPU_FIXTURE_PROFILES] = {
	GPU_FIXTURE_PROFILE(19, 0, "1g.18gb", 1, 16, 1, 1, 0, 16384, 7, gpu_fixture_ones, 7),
	GPU_FIXTURE_PROFILE(20, 7, "1g.18gb+me", 1, 16, 1, 1, 1, 16384, 1, gpu_fixture_ones, 7),
	GPU_FIXTURE_PROFILE(15, 9, "1g.35gb", 1, 26, 1, 1, 0, 33280, 4, gpu_fixture_twos, 4),
	GPU_FIXTURE_PROFILE(14, 1, "2g.35gb", 2, 32, 2, 2, 0, 33280, 3, gpu_fixture_twos, 3),
	GPU_FIXTURE_PROFILE(9, 2, "3g.71gb", 3, 60, 3, 3, 0, 71424, 2, gpu_fixture_fours, 2),
	GPU_FIXTURE_PROFILE(5, 3, "4g.71gb", 4, 64, 4, 4, 0, 71424, 1, gpu_fixture_fours, 1),
	GPU_FIXTURE_PROFILE(0, 4, "7g.141gb", 7, 132, 8, 7, 1, 143360, 1, gpu_fixture_whole, 1),
};

static inline struct gpu_source gpu_fixture_h200(uint32_t minor, struct str uuid)
{
	return (struct gpu_source){
		.gpu = { .uuid = uuid,
			 .name = STR("NVIDIA H200"),
			 .brand = STR("Nvidia"),
			 .architecture = STR("Hopper"),
			 .pci = STR("0000:00:06.0"),
			 .addressing = STR("None"),
			 .minor = minor,
			 .cc_major = 9,
			 .memory = GPU_FIXTURE_MIB(143771),
			 .mig = NVML_MIG_OFF },
		.profiles = gpu_fixture_profiles,
		.nprofiles = GPU_FIXTURE_PROFILES,
		.numa = -1,
		.pcie_root = "pci0000:00",
	};
}

static const struct gpu_inventory_options gpu_fixture_options = {
	.driver_version = { "580.159.04", 10 },
	.cuda_version = 13000,
	.mig = true,
};

#endif
