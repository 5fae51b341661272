/*
 * abi - the part of NVML's binary interface that we call, declared by ourselves.
 *
 * Layouts and symbols are those of NVML 13 on 64-bit Linux; the asserts below check the sizes.
 * NVML_CALLS lists every symbol once, so that the binding and the fake library of the tests agree.
 * A versioned struct carries NVML_ABI_VERSION(type, version) in its first member.
 */
#ifndef DRIVERS_NVML_ABI_H
#define DRIVERS_NVML_ABI_H

#include <stdint.h>

/* NVML's return codes. */
enum nvml_code {
	NVML_CODE_SUCCESS = 0,
	NVML_CODE_UNINITIALIZED = 1,
	NVML_CODE_INVALID_ARGUMENT = 2,
	NVML_CODE_NOT_SUPPORTED = 3,
	NVML_CODE_NO_PERMISSION = 4,
	NVML_CODE_NOT_FOUND = 6,
	NVML_CODE_INSUFFICIENT_SIZE = 7,
	NVML_CODE_DRIVER_NOT_LOADED = 9,
	NVML_CODE_TIMEOUT = 10,
	NVML_CODE_IRQ_ISSUE = 11,
	NVML_CODE_LIBRARY_NOT_FOUND = 12,
	NVML_CODE_FUNCTION_NOT_FOUND = 13,
	NVML_CODE_GPU_IS_LOST = 15,
	NVML_CODE_RESET_REQUIRED = 16,
	NVML_CODE_LIBRARY_MISMATCH = 18,
	NVML_CODE_IN_USE = 19,
	NVML_CODE_INSUFFICIENT_RESOURCES = 23,
	NVML_CODE_VERSION_MISMATCH = 25,
	NVML_CODE_GPU_NOT_FOUND = 28,
	NVML_CODE_UNKNOWN = 999,
};

enum {
	NVML_ABI_INIT_NO_GPUS = 1, /* a machine without GPUs is no error */
	NVML_ABI_PROFILES = 64, /* more GPU instance profiles than any library has */
	NVML_ABI_COMPUTE_PROFILES = 16, /* the same for compute instances */
	NVML_ABI_FIELD_RECOVERY = 230, /* the action that recovers the GPU */
	NVML_ABI_SENSOR_GPU = 0,
	NVML_ABI_ECC_CORRECTED = 0,
	NVML_ABI_ECC_UNCORRECTED = 1,
	NVML_ABI_ECC_VOLATILE = 0, /* since the driver was loaded */
	NVML_ABI_EVENT_POWER_STATE = 0x4,
	NVML_ABI_EVENT_CLOCK = 0x10,
	NVML_ABI_UUID_SIZE = 96,
	NVML_ABI_NAME_SIZE = 96,
	NVML_ABI_VERSION_SIZE = 80,
};

#define NVML_ABI_VERSION(type, version) ((unsigned int)sizeof(type) | (unsigned int)(version) << 24)
/* Unknown memory of a process. */
#define NVML_ABI_NO_VALUE UINT64_MAX

struct nvml_abi_pci {
	char legacy_id[16];
	unsigned int domain, bus, device;
	unsigned int device_id, subsystem_id;
	char id[32];
};

struct nvml_abi_memory {
	unsigned long long total, free, used; /* bytes */
};

struct nvml_abi_utilization {
	unsigned int gpu, memory; /* percent */
};

struct nvml_abi_process {
	unsigned int pid;
	unsigned long long memory; /* bytes, or NVML_ABI_NO_VALUE */
	unsigned int gi, ci; /* 0xffffffff: none */
};

struct nvml_abi_placement {
	unsigned int start, size; /* memory slices; for a compute instance compute slices */
};

/* Version 2. */
struct nvml_abi_profile {
	unsigned int version;
	unsigned int id;
	unsigned int p2p;
	unsigned int slices;
	unsigned int instances;
	unsigned int multiprocessors;
	unsigned int copy_engines;
	unsigned int decoders;
	unsigned int encoders;
	unsigned int jpeg_engines;
	unsigned int ofa_engines;
	unsigned long long memory_mib;
	char name[NVML_ABI_NAME_SIZE]; /* "MIG 1g.18gb" */
};

struct nvml_abi_gi {
	void *device;
	unsigned int id, profile;
	struct nvml_abi_placement place;
};

struct nvml_abi_ci_profile {
	unsigned int id;
	unsigned int slices;
	unsigned int instances;
	unsigned int multiprocessors;
	unsigned int copy_engines, decoders, encoders, jpeg_engines, ofa_engines; /* shared */
};

struct nvml_abi_ci {
	void *device; /* the parent: the physical GPU, not the MIG device */
	void *gi;
	unsigned int id, profile;
	struct nvml_abi_placement place;
};

struct nvml_abi_field {
	unsigned int id, scope;
	long long timestamp, latency; /* microseconds */
	unsigned int type; /* which member of `value` is set */
	unsigned int code; /* the value is valid if this is NVML_CODE_SUCCESS */
	union {
		double d;
		unsigned int u;
		unsigned long long ull;
	} value;
};

struct nvml_abi_event {
	void *device;
	unsigned long long type;
	unsigned long long data;
	unsigned int gi, ci;
};

/* Version 1. */
struct nvml_abi_addressing {
	unsigned int version;
	unsigned int mode; /* 0 none, 1 HMM, 2 ATS */
};

/* Version 1. */
struct nvml_abi_temperature {
	unsigned int version;
	unsigned int sensor;
	int celsius;
};

_Static_assert(sizeof(void *) == 8, "NVML's layouts below are those of 64-bit systems");
_Static_assert(sizeof(struct nvml_abi_pci) == 68, "nvmlPciInfo_t");
_Static_assert(sizeof(struct nvml_abi_memory) == 24, "nvmlMemory_t");
_Static_assert(sizeof(struct nvml_abi_utilization) == 8, "nvmlUtilization_t");
_Static_assert(sizeof(struct nvml_abi_process) == 24, "nvmlProcessInfo_t");
_Static_assert(sizeof(struct nvml_abi_placement) == 8, "nvmlGpuInstancePlacement_t");
_Static_assert(sizeof(struct nvml_abi_profile) == 152, "nvmlGpuInstanceProfileInfo_v2_t");
_Static_assert(sizeof(struct nvml_abi_gi) == 24, "nvmlGpuInstanceInfo_t");
_Static_assert(sizeof(struct nvml_abi_ci_profile) == 36, "nvmlComputeInstanceProfileInfo_t");
_Static_assert(sizeof(struct nvml_abi_ci) == 32, "nvmlComputeInstanceInfo_t");
_Static_assert(sizeof(struct nvml_abi_field) == 40, "nvmlFieldValue_t");
_Static_assert(sizeof(struct nvml_abi_event) == 32, "nvmlEventData_t");
_Static_assert(sizeof(struct nvml_abi_addressing) == 8, "nvmlDeviceAddressingMode_v1_t");
_Static_assert(sizeof(struct nvml_abi_temperature) == 12, "nvmlTemperature_v1_t");

/* X(symbol, parameters): all return enum nvml_code. Handles are opaque pointers. */
#define NVML_CALLS(X)                                                                              \
	X(nvmlInitWithFlags, (unsigned int flags))                                                 \
	X(nvmlShutdown, (void))                                                                    \
	X(nvmlSystemGetDriverVersion, (char *version, unsigned int size))                          \
	X(nvmlSystemGetCudaDriverVersion_v2, (int *version))                                       \
	X(nvmlDeviceGetCount_v2, (unsigned int *count))                                            \
	X(nvmlDeviceGetHandleByIndex_v2, (unsigned int index, void **device))                      \
	X(nvmlDeviceGetHandleByUUID, (const char *uuid, void **device))                            \
	X(nvmlDeviceGetUUID, (void *device, char *uuid, unsigned int size))                        \
	X(nvmlDeviceGetName, (void *device, char *name, unsigned int size))                        \
	X(nvmlDeviceGetMinorNumber, (void *device, unsigned int *minor))                           \
	X(nvmlDeviceGetBrand, (void *device, unsigned int *brand))                                 \
	X(nvmlDeviceGetArchitecture, (void *device, unsigned int *architecture))                   \
	X(nvmlDeviceGetCudaComputeCapability, (void *device, int *major, int *minor))              \
	X(nvmlDeviceGetPciInfo_v3, (void *device, struct nvml_abi_pci *pci))                       \
	X(nvmlDeviceGetMemoryInfo, (void *device, struct nvml_abi_memory *memory))                 \
	X(nvmlDeviceGetAddressingMode, (void *device, struct nvml_abi_addressing *mode))           \
	X(nvmlDeviceGetComputeMode, (void *device, unsigned int *mode))                            \
	X(nvmlDeviceSetComputeMode, (void *device, unsigned int mode))                             \
	X(nvmlDeviceGetMigMode, (void *device, unsigned int *mode, unsigned int *pending))         \
	X(nvmlDeviceSetMigMode, (void *device, unsigned int mode, int *activation))                \
	X(nvmlDeviceGetGpuInstanceProfileInfoV,                                                    \
	  (void *device, unsigned int number, struct nvml_abi_profile *info))                      \
	X(nvmlDeviceGetGpuInstancePossiblePlacements_v2,                                           \
	  (void *device, unsigned int profile, struct nvml_abi_placement *places,                  \
	   unsigned int *count))                                                                   \
	X(nvmlDeviceGetGpuInstances,                                                               \
	  (void *device, unsigned int profile, void **instances, unsigned int *count))             \
	X(nvmlDeviceGetGpuInstanceById, (void *device, unsigned int id, void **gi))                \
	X(nvmlDeviceCreateGpuInstanceWithPlacement,                                                \
	  (void *device, unsigned int profile, const struct nvml_abi_placement *place, void **gi)) \
	X(nvmlGpuInstanceGetInfo, (void *gi, struct nvml_abi_gi *info))                            \
	X(nvmlGpuInstanceDestroy, (void *gi))                                                      \
	X(nvmlGpuInstanceGetComputeInstanceProfileInfo,                                            \
	  (void *gi, unsigned int number, unsigned int engines, struct nvml_abi_ci_profile *info)) \
	X(nvmlGpuInstanceCreateComputeInstance, (void *gi, unsigned int profile, void **ci))       \
	X(nvmlGpuInstanceGetComputeInstances,                                                      \
	  (void *gi, unsigned int profile, void **instances, unsigned int *count))                 \
	X(nvmlGpuInstanceGetComputeInstanceById, (void *gi, unsigned int id, void **ci))           \
	X(nvmlComputeInstanceGetInfo_v2, (void *ci, struct nvml_abi_ci *info))                     \
	X(nvmlComputeInstanceDestroy, (void *ci))                                                  \
	X(nvmlDeviceGetComputeRunningProcesses_v3,                                                 \
	  (void *device, unsigned int *count, struct nvml_abi_process *processes))                 \
	X(nvmlDeviceGetFieldValues, (void *device, int count, struct nvml_abi_field *fields))      \
	X(nvmlDeviceGetRemappedRows,                                                               \
	  (void *device, unsigned int *corrected, unsigned int *uncorrected,                       \
	   unsigned int *pending, unsigned int *failed))                                           \
	X(nvmlDeviceGetCurrentClocksEventReasons, (void *device, unsigned long long *reasons))     \
	X(nvmlDeviceGetUtilizationRates, (void *device, struct nvml_abi_utilization *use))         \
	X(nvmlDeviceGetTemperatureV, (void *device, struct nvml_abi_temperature *temperature))     \
	X(nvmlDeviceGetTemperature, (void *device, unsigned int sensor, unsigned int *celsius))    \
	X(nvmlDeviceGetPowerUsage, (void *device, unsigned int *milliwatts))                       \
	X(nvmlDeviceGetTotalEccErrors,                                                             \
	  (void *device, unsigned int type, unsigned int counter, unsigned long long *errors))     \
	X(nvmlEventSetCreate, (void **set))                                                        \
	X(nvmlEventSetFree, (void *set))                                                           \
	X(nvmlEventSetWait_v2, (void *set, struct nvml_abi_event *event, unsigned int timeout_ms)) \
	X(nvmlDeviceGetSupportedEventTypes, (void *device, unsigned long long *types))             \
	X(nvmlDeviceRegisterEvents, (void *device, unsigned long long types, void *set))

#endif
