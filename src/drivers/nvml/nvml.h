/*
 * nvml - NVIDIA GPUs through NVIDIA's management library, which is loaded at run time.
 *
 * The library is never linked: it must match the kernel module and may be absent. Symbols are
 * looked up by their versioned names. A symbol that is missing switches its feature off: the call
 * then returns -ERR_UNIMPLEMENTED.
 *
 * Every function may block, for seconds or for ever (Xid 119). So only nvml_worker and the thread
 * of events call them. Errors name the call and NVML's text. Codes:
 *
 *   -ERR_UNIMPLEMENTED  the GPU or the library does not have this
 *   -ERR_NOT_FOUND      no such GPU, profile or instance
 *   -ERR_CONFLICT       in use (NVML 19): instances exist, or a process uses the instance
 *   -ERR_TOO_LARGE      no room for the instance (NVML 23)
 *   -ERR_FORBIDDEN      the caller is not root or lacks a capability
 *   -ERR_GONE           the GPU is lost (NVML 15) or needs a reset (NVML 16)
 *   -ERR_UNAVAILABLE    the library is missing or does not match the kernel module (NVML 9, 18)
 *   -ERR_IO             anything else
 *
 * `err` may be NULL. Memory comes from the arena that is passed.
 * Threads: NVML is thread-safe; struct nvml is immutable after nvml_open(), but for nvml_time().
 */
#ifndef DRIVERS_NVML_NVML_H
#define DRIVERS_NVML_NVML_H

#include "base/core/arena.h"
#include "base/core/error.h"
#include "base/core/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nvml;

/*
 * Loads `path` (NULL: "libnvidia-ml.so.1" of the loader's folders) and opens a session. A machine
 * without any GPU is no error.
 */
int nvml_open(const char *path, struct nvml **ret, struct error *err);
/* Ends the session; NULL allowed. An open session keeps the kernel module from being unloaded. */
void nvml_close(struct nvml *n);

/* The time that calls through `n` have taken so far, in ns. Waiting for events does not count. */
int64_t nvml_time(const struct nvml *n);

/* "580.159.04", and CUDA's version as major * 1000 + minor * 10. */
int nvml_versions(struct nvml *n, struct arena *a, struct str *driver, int *cuda,
		  struct error *err);

/* --- GPUs ------------------------------------------------------------------------------------ */

enum nvml_mig { NVML_MIG_NONE /* the GPU has no MIG */, NVML_MIG_OFF, NVML_MIG_ON };

/* One physical GPU. `handle` stays valid as long as the session. */
struct nvml_gpu {
	void *handle; /* NULL: the GPU is lost; only nvml_poll() may get it, and says so */
	struct str uuid; /* "GPU-.." */
	struct str name; /* "NVIDIA H200" */
	struct str brand, architecture; /* "Nvidia", "Hopper" */
	struct str pci; /* "0000:00:06.0", lower case */
	struct str addressing; /* "None", "HMM", "ATS"; empty: unknown */
	uint32_t minor; /* of /dev/nvidiaN */
	int cc_major, cc_minor; /* CUDA compute capability */
	uint64_t memory; /* bytes */
	enum nvml_mig mig, mig_pending;
};

/* A GPU whose details cannot be read is left out and named in `*skipped` (may be NULL). */
int nvml_gpus(struct nvml *n, struct arena *a, struct nvml_gpu **ret, size_t *count,
	      struct str *skipped, struct error *err);

/* Who may use the GPU with CUDA; the values are NVML's. */
enum nvml_compute_mode {
	NVML_COMPUTE_DEFAULT, /* any number of processes */
	NVML_COMPUTE_THREAD, /* not used any more */
	NVML_COMPUTE_PROHIBITED,
	NVML_COMPUTE_EXCLUSIVE, /* one process, such as the MPS server */
};

int nvml_get_compute_mode(struct nvml *n, const struct nvml_gpu *g, enum nvml_compute_mode *ret,
			  struct error *err);
int nvml_set_compute_mode(struct nvml *n, const struct nvml_gpu *g, enum nvml_compute_mode mode,
			  struct error *err);

/* --- MIG ------------------------------------------------------------------------------------- */

struct nvml_placement {
	uint32_t start, size; /* in memory slices */
};

/* Readable with MIG off, too. */
struct nvml_profile {
	uint32_t id; /* what creating an instance takes: 19 for 1g.18gb on an H200 */
	uint32_t number; /* NVML's index of the profile: 0 for 1g */
	struct str name; /* "1g.18gb", "1g.18gb+me": without "MIG " */
	uint32_t slices; /* compute slices */
	uint32_t multiprocessors, copy_engines, decoders, encoders, jpeg_engines, ofa_engines;
	uint64_t memory; /* bytes */
	uint32_t instances; /* how many can exist at once on an empty GPU */
	const struct nvml_placement *placements;
	size_t nplacements;
};

int nvml_profiles(struct nvml *n, const struct nvml_gpu *g, struct arena *a,
		  struct nvml_profile **ret, size_t *count, struct error *err);

/* Switches MIG on or off and checks that it took effect. -ERR_CONFLICT: instances exist. */
int nvml_set_mig(struct nvml *n, const struct nvml_gpu *g, bool on, struct error *err);
int nvml_get_mig(struct nvml *n, const struct nvml_gpu *g, enum nvml_mig *ret, struct error *err);

enum { NVML_COMPUTE_MAX = 8 };

/* A GPU instance. One without compute instances is not usable, but takes its place. */
struct nvml_instance {
	uint32_t id, profile; /* GI id, profile id */
	struct nvml_placement place;
	uint32_t compute[NVML_COMPUTE_MAX]; /* CI ids */
	size_t ncompute;
};

/* All GPU instances, also those that others made; empty when MIG is off. */
int nvml_instances(struct nvml *n, const struct nvml_gpu *g, struct arena *a,
		   struct nvml_instance **ret, size_t *count, struct error *err);
/* -ERR_TOO_LARGE also when exactly this instance exists already. */
int nvml_create_instance(struct nvml *n, const struct nvml_gpu *g, uint32_t profile,
			 struct nvml_placement place, uint32_t *gi, struct error *err);
/* Creates the compute instance that takes all `slices` of the GPU instance. */
int nvml_create_compute(struct nvml *n, const struct nvml_gpu *g, uint32_t gi, uint32_t slices,
			uint32_t *ci, struct error *err);
/* -ERR_CONFLICT: a process uses it. -ERR_NOT_FOUND: it is gone already. */
int nvml_destroy_compute(struct nvml *n, const struct nvml_gpu *g, uint32_t gi, uint32_t ci,
			 struct error *err);
/* -ERR_CONFLICT: it has compute instances. */
int nvml_destroy_instance(struct nvml *n, const struct nvml_gpu *g, uint32_t gi, struct error *err);
/* "MIG-..": the same again for the same place. A new instance cannot be recognised by it. */
int nvml_mig_uuid(struct nvml *n, const struct nvml_gpu *g, uint32_t gi, uint32_t ci,
		  struct arena *a, struct str *ret, struct error *err);

/* --- state ----------------------------------------------------------------------------------- */

#define NVML_WHOLE_GPU UINT32_MAX

struct nvml_process {
	uint32_t pid;
	uint32_t gi, ci; /* NVML_WHOLE_GPU: none */
	uint64_t memory; /* bytes; 0: unknown */
};

int nvml_processes(struct nvml *n, const struct nvml_gpu *g, struct arena *a,
		   struct nvml_process **ret, size_t *count, struct error *err);

/* The findings of a poll. `known` has a flag for each value that the GPU reported. */
enum {
	NVML_KNOWS_RECOVERY = 1 << 0,
	NVML_KNOWS_REMAPPED = 1 << 1,
	NVML_KNOWS_CLOCKS = 1 << 2,
};
enum {
	NVML_SLOW_POWER_CAP = 0x4, /* usual under load */
	NVML_SLOW_HARDWARE = 0x8,
	NVML_SLOW_SOFTWARE_THERMAL = 0x20,
	NVML_SLOW_HARDWARE_THERMAL = 0x40,
	NVML_SLOW_THERMAL = NVML_SLOW_SOFTWARE_THERMAL | NVML_SLOW_HARDWARE_THERMAL,
	NVML_SLOW_POWER_BRAKE = 0x80,
};

struct nvml_condition {
	uint32_t known;
	uint32_t recovery; /* field 230: 0 none, 1 GPU reset, 2 node reboot, .. */
	bool remap_pending, remap_failed;
	uint64_t clock_reasons; /* NVML_SLOW_*, and others */
};

/* A value that the GPU does not have is left out. -ERR_GONE: lost. */
int nvml_poll(struct nvml *n, const struct nvml_gpu *g, struct nvml_condition *ret,
	      struct error *err);

/* For metrics. `known` has a flag for each value that the GPU reported. */
enum {
	NVML_SAMPLE_UTILIZATION = 1 << 0, /* also memory_utilization */
	NVML_SAMPLE_MEMORY = 1 << 1, /* used and total */
	NVML_SAMPLE_TEMPERATURE = 1 << 2,
	NVML_SAMPLE_POWER = 1 << 3,
	NVML_SAMPLE_ECC_CORRECTED = 1 << 4,
	NVML_SAMPLE_ECC_UNCORRECTED = 1 << 5,
	NVML_SAMPLE_CLOCKS = 1 << 6,
};

struct nvml_sample {
	uint32_t known; /* NVML_SAMPLE_* */
	uint32_t utilization, memory_utilization; /* percent */
	uint64_t memory_used, memory_total; /* bytes */
	uint32_t temperature; /* degrees Celsius */
	uint32_t power; /* milliwatts */
	uint64_t ecc_corrected, ecc_uncorrected; /* since the driver was loaded */
	uint64_t clock_reasons;
};

/* A value that cannot be read is left out. -ERR_GONE: lost. */
int nvml_measure(struct nvml *n, const struct nvml_gpu *g, struct nvml_sample *ret,
		 struct error *err);

/* --- events ---------------------------------------------------------------------------------- */

/* Earlier events are lost; NVML reports them for physical GPUs only. */
struct nvml_events;

enum {
	NVML_EVENT_ECC_SINGLE = 0x1,
	NVML_EVENT_ECC_DOUBLE = 0x2,
	NVML_EVENT_XID = 0x8,
	NVML_EVENT_MIG_CHANGED = 0x100,
	NVML_EVENT_UNAVAILABLE = 0x4000,
	NVML_EVENT_RECOVERY = 0x8000,
};

struct nvml_event {
	void *gpu; /* handle */
	uint64_t type; /* NVML_EVENT_*: one bit */
	uint64_t data; /* the Xid */
	uint32_t gi, ci; /* of an Xid; NVML_WHOLE_GPU: none, and for all other events */
};

/*
 * Registers for all events that a GPU supports except those of clocks and power states. Fails if no
 * GPU can be registered.
 */
int nvml_events_open(struct nvml *n, const struct nvml_gpu *gpus, size_t count,
		     struct nvml_events **ret, struct error *err);
/*
 * Waits at most `timeout_ms`. Returns 1 with an event, 0 without, or a negative error. -ERR_GONE
 * may come at once, again and again, while a GPU is lost: wait before the next call.
 */
int nvml_events_wait(struct nvml_events *e, uint32_t timeout_ms, struct nvml_event *ret,
		     struct error *err);
void nvml_events_close(struct nvml_events *e);

#endif
