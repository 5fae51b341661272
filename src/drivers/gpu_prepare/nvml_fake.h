/*
 * nvml_fake - stands in for nvml.c in tests of gpu_prepare: H200s in memory that processes share.
 *
 * The state is in shared memory, so a child process can crash in the middle of a call, and the
 * parent looks at what it left. Return codes are those that NVML gives on an H200.
 */
#ifndef DRIVERS_GPU_PREPARE_NVML_FAKE_H
#define DRIVERS_GPU_PREPARE_NVML_FAKE_H

#include "drivers/nvml/nvml.h"

enum { FAKE_GPUS = 2, FAKE_INSTANCES = 16 };

struct fake_instance {
	bool there, foreign;
	uint32_t profile;
	struct nvml_placement place;
	uint32_t ncompute; /* ids 0 .. */
	uint32_t pid; /* of a process that uses it; 0: none */
};

struct fake_gpu {
	bool on, lost;
	enum nvml_compute_mode compute;
	uint32_t pid; /* of a process that uses the whole GPU; 0: none */
	struct fake_instance v[FAKE_INSTANCES]; /* the index is the id */
};

struct fake_nvml {
	struct fake_gpu gpus[FAKE_GPUS];
	uint32_t calls; /* that change something */
	/* The call of this number (from 1) fails; 0: none. */
	uint32_t fail_at;
	bool fail_late; /* it fails after its effect */
};

/* In shared memory; passed as struct nvml. */
struct fake_nvml *fake_nvml_new(void);
void fake_nvml_free(struct fake_nvml *f);
struct nvml *fake_nvml_session(struct fake_nvml *f);

/* The two GPUs: "GPU-a" and "GPU-b". */
const struct nvml_gpu *fake_nvml_gpus(void);

/* Somebody else's instance; returns its id, or -1 if there is no room. Switches MIG on. */
int fake_nvml_add(struct fake_nvml *f, size_t gpu, uint32_t profile, struct nvml_placement place,
		  bool compute);

#endif
