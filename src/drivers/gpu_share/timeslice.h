/*
 * gpu_timeslice - sets how long a program may use a GPU before another one gets its turn.
 *
 * NVML has no public call for it, so this runs nvidia-smi compute-policy --set-timeslice.
 * Threads: the loop's.
 */
#ifndef DRIVERS_GPU_SHARE_TIMESLICE_H
#define DRIVERS_GPU_SHARE_TIMESLICE_H

#include <stdint.h>

#include "base/core/error.h"

struct loop;
struct gpu_timeslice;

struct gpu_timeslice_opts {
	const char *program; /* NULL: nvidia-smi, looked up in PATH */
	const char *libraries; /* folder of the libraries that it needs; NULL: the loader's */
	const char *uuid; /* of a full GPU */
	uint32_t interval; /* 0 to 3: Default, Short, Medium, Long */
	int64_t timeout_ms; /* 0: 10 s; nvidia-smi hangs with a broken GPU */
	/*
	 * Called once, later, unless it is freed before. You may free it in here, else free it
	 * afterwards. `err` is NULL on success, else it has the program's output.
	 */
	void (*on_done)(void *arg, const struct error *err);
	void *arg;
};

int gpu_timeslice_new(struct loop *l, const struct gpu_timeslice_opts *opts,
		      struct gpu_timeslice **ret_timeslice, struct error *err);
/* Kills a running program. NULL allowed. */
void gpu_timeslice_free(struct gpu_timeslice *t);

#endif
