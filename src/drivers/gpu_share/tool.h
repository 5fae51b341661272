/*
 * gpu_tool - NVIDIA's programs on the machine, for a driver that may run in a container.
 *
 * The programs are those of the machine's driver, because they must match its kernel module. They
 * need the libraries beside libcuda, and find programs of their own in PATH.
 */
#ifndef DRIVERS_GPU_SHARE_TOOL_H
#define DRIVERS_GPU_SHARE_TOOL_H

#include "base/core/arena.h"

/*
 * The path of a program below `root` and `driver_root` (as in gpu_cdi/libraries.h), in `a`. If it
 * is not there, its name: it is looked up in PATH.
 */
const char *gpu_tool_find(struct arena *a, const char *root, const char *driver_root,
			  const char *name);

/*
 * Our environment without CUDA's variables, for that program. `libraries` is the folder of its
 * libraries, or NULL. `more` is appended; NULL-terminated, or NULL. The array is in `a`.
 */
const char *const *gpu_tool_env(struct arena *a, const char *program, const char *libraries,
				const char *const *more);

#endif
