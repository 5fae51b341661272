/*
 * mps_commands - the texts that MPS's control program takes, and those that containers need.
 */
#ifndef DRIVERS_GPU_SHARE_MPS_COMMANDS_H
#define DRIVERS_GPU_SHARE_MPS_COMMANDS_H

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/error.h"

/* The folder with the daemon's sockets, as containers see it: the default of CUDA. */
#define MPS_CONTAINER_PIPE "/tmp/nvidia-mps"

enum { MPS_THREADS_UNSET = -1 };

struct mps_device {
	const char *uuid;
	int64_t memory_mib; /* limit of each program; 0: none */
};

/*
 * Appends the commands, one in a line, that a new daemon gets before its first client. A server
 * that runs does not take them any more.
 */
void mps_print_setup(const struct mps_device *devices, size_t n, int32_t threads, bool start_server,
		     struct buf *out);

/* Checks the output of these commands: the program's status is zero even if it rejects one. */
int mps_check_setup(struct str output, int32_t threads, struct error *err);

/*
 * The memory of a device in whole MiB, from the consumed capacity "memory" of an allocation
 * (KEP-5075). -ERR_INVALID if it is not a quantity, or less than 1Mi.
 */
int mps_memory_of(struct str quantity, int64_t *ret_mib, struct error *err);

/*
 * The environment of a container that uses the daemon: NULL-terminated, in `a`. Devices are in the
 * order in which CUDA counts them in the container. Limits that are smaller than the daemon's
 * count; a program cannot raise them above the daemon's.
 */
const char *const *mps_container_env(struct arena *a, const struct mps_device *devices, size_t n,
				     int32_t threads);

#endif
