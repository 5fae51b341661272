/*
 * gpu_config - the opaque parameters of gpu.nvidia.com: resource.nvidia.com/v1beta1.
 *
 * The kinds, fields and defaults are those of NVIDIA's driver, so its manifests work unchanged.
 * Decoding is strict: an unknown or repeated field is an error that names it. A field that is null
 * counts as missing.
 *
 *	GpuConfig        sharing.strategy                        TimeSlicing or MPS.
 *	                 sharing.timeSlicingConfig.interval      Default, Short, Medium or Long.
 *	                 sharing.mpsConfig                       See below; only with MPS.
 *	MigDeviceConfig  sharing.strategy, sharing.mpsConfig     The same.
 *	mpsConfig        defaultActiveThreadPercentage           0 to 100.
 *	                 defaultPinnedDeviceMemoryLimit          A quantity.
 *	                 defaultPerDevicePinnedMemoryLimit       UUID or index: quantity.
 *	                 multiUser                               A boolean.
 *
 * VfioDeviceConfig is decoded too, but never fits: we do not pass GPUs through to machines.
 */
#ifndef DRIVERS_GPU_CONFIG_CONFIG_H
#define DRIVERS_GPU_CONFIG_CONFIG_H

#include "base/core/arena.h"
#include "base/core/error.h"
#include "base/core/str.h"

enum gpu_config_kind { GPU_CONFIG_GPU, GPU_CONFIG_MIG, GPU_CONFIG_VFIO };

enum gpu_sharing {
	GPU_SHARING_NONE, /* the parameters do not choose a strategy: the driver changes nothing */
	GPU_SHARING_TIME, /* no effect on a MIG device */
	GPU_SHARING_MPS,
};

enum { GPU_THREADS_UNSET = -1, GPU_INTERVAL_LAST = 3 };

/* One entry of defaultPerDevicePinnedMemoryLimit. */
struct gpu_memory_limit {
	struct str device; /* a UUID, or an index into the claim's devices */
	int64_t mib; /* at least 1 */
};

/* Text lives in the arena that it was read with. */
struct gpu_config {
	enum gpu_config_kind kind;
	enum gpu_sharing sharing;
	uint32_t interval; /* 0 to GPU_INTERVAL_LAST: Default, Short, Medium, Long */
	int32_t threads; /* percent, or GPU_THREADS_UNSET */
	int64_t memory_mib; /* for each device; 0: no limit */
	struct gpu_memory_limit *limits; /* override memory_mib */
	size_t nlimits;
	bool multi_user; /* programs of several users share an MPS server */
};

/* Parses and validates one config. -ERR_INVALID: the error has the path of the field. */
int gpu_config_read(struct arena *a, struct str parameters, struct gpu_config *ret_config,
		    struct error *err);

/* A config of a claim, in ascending precedence. */
struct gpu_config_source {
	struct str parameters; /* JSON */
	bool named; /* it names this request, or is from the request's DeviceClass */
	bool from_class;
};

/*
 * The config of a device of that kind: the last source that fits. A source of another kind is
 * skipped, unless it names the request: that is an error. Without a source that fits, the defaults.
 */
int gpu_config_choose(struct arena *a, const struct gpu_config_source *v, size_t n,
		      enum gpu_config_kind kind, struct gpu_config *ret_config, struct error *err);

/*
 * The memory limit in MiB of each device of the claim, in the order of its results; 0: none. An
 * entry that names a device by an unknown UUID or index is an error, like two for one device.
 */
int gpu_config_limits(const struct gpu_config *c, const char *const *uuids, size_t n,
		      int64_t *ret_mib, struct error *err);

#endif
