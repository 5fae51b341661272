/* gpu_prepare_impl - shared by the files of gpu_prepare. */
#ifndef DRIVERS_GPU_PREPARE_PREPARE_IMPL_H
#define DRIVERS_GPU_PREPARE_PREPARE_IMPL_H

#include "drivers/gpu_prepare/book.h"
#include "drivers/gpu_prepare/prepare.h"

struct gpu_prepare {
	struct gpu_prepare_options options; /* path is not kept */
	struct gpu_book book;
	struct arena arena; /* of `gpus` */
	struct nvml_gpu *gpus;
	size_t ngpus;
	struct arena scratch; /* of one call */
	struct nvml *nvml; /* of the current call */
	bool dirty; /* the book differs from its file */
};

/* The GPU with this UUID; NULL if it is gone. */
const struct nvml_gpu *gpu_find(const struct gpu_prepare *p, struct str uuid);

/* Steps: each calls the test's hook first. */
int gpu_step_save(struct gpu_prepare *p, struct error *err);
int gpu_step_mig(struct gpu_prepare *p, const struct nvml_gpu *g, bool on, struct error *err);
int gpu_step_instance(struct gpu_prepare *p, const struct nvml_gpu *g, const struct gpu_use *u,
		      uint32_t *gi, struct error *err);
int gpu_step_compute(struct gpu_prepare *p, const struct nvml_gpu *g, const struct gpu_use *u,
		     uint32_t *ci, struct error *err);

/* Whether an instance is at the place of a use. */
bool gpu_use_is(const struct gpu_use *u, const struct nvml_instance *i);

/* Destroys the use's instance, if there is one. The message of -ERR_CONFLICT names the process. */
int gpu_use_destroy(struct gpu_prepare *p, struct gpu_use *u, struct error *err);

/* Appends ": in use by process 7 (python3)", or nothing. */
void gpu_name_processes(struct gpu_prepare *p, const struct nvml_gpu *g, uint32_t gi,
			struct error *failure);

/*
 * Sets the compute mode that the book's uses want, if this driver is in charge of it: "exclusive
 * process" while a use wants that, else "default".
 */
int gpu_set_compute(struct gpu_prepare *p, const struct nvml_gpu *g, struct error *err);

/*
 * Switches off what this driver had switched on, if nothing needs it any more: the compute mode
 * "exclusive process"; MIG, if neither a use nor an instance is left. Returns 0 also if there is a
 * reason to leave it on.
 */
int gpu_release_mode(struct gpu_prepare *p, const struct nvml_gpu *g, struct error *err);

#endif
