/*
 * mps - one control daemon of CUDA's Multi-Process Service, run by the driver.
 *
 * The daemon has its own folder. It is started in the foreground, gets its limits before it can
 * have a client, and is checked at intervals. If it ends or does not answer, it is started again.
 * If an earlier run of the driver left it running, it is taken over.
 *
 * A limit is for each program: two programs may use twice as much. A program can lower its limit by
 * its environment, but not raise it.
 *
 * MPS itself does not keep programs from using the GPU without it: a program that unsets
 * CUDA_MPS_PIPE_DIRECTORY has no limits. To enforce them, set the GPU's compute mode to "exclusive
 * process" and use `hold`: then the daemon's server has the GPU, and others get an error.
 *
 * Threads: the loop's.
 */
#ifndef DRIVERS_GPU_SHARE_MPS_H
#define DRIVERS_GPU_SHARE_MPS_H

#include "base/core/error.h"
#include "drivers/gpu_share/mps_commands.h"

struct loop;
struct mps;

struct mps_opts {
	const char *program; /* NULL: nvidia-cuda-mps-control, looked up in PATH */
	const char *libraries; /* folder of the libraries that it needs; NULL: the loader's */
	const char *dir; /* its own folder, made when missing; at most 82 bytes */
	const struct mps_device *devices; /* copied */
	size_t ndevices;
	int32_t threads; /* percent of the threads that a program may use; MPS_THREADS_UNSET */
	bool multi_user; /* programs of several users at a time; needs root */
	bool hold; /* starts the server at once, for all users: see above */
	/* Zero means the default: 10 s, 10 s, 5 s. */
	int64_t start_ms; /* until it answers; also for one command */
	int64_t check_ms; /* interval of checks */
	int64_t stop_ms; /* from mps_stop() to SIGKILL: clients delay the end */
	/*
	 * Reports each change: ready (message NULL), or broken, with the reason. A broken daemon is
	 * started again until mps_stop(). You may call mps_stop() or mps_free() in here.
	 */
	void (*on_change)(void *arg, bool ready, const char *message);
	void *arg;
};

int mps_new(struct loop *l, const struct mps_opts *opts, struct mps **ret_mps, struct error *err);

/*
 * Ends the daemon and removes its folder. Calls on_stopped once, later; `on_change` is not called
 * any more. Free it then.
 */
void mps_stop(struct mps *m, void (*on_stopped)(void *arg), void *arg);

/* Forgets the daemon, which continues if it runs. NULL allowed. */
void mps_free(struct mps *m);

/* The folder on the machine to mount at MPS_CONTAINER_PIPE in containers; read-only is enough. */
const char *mps_pipe(const struct mps *m);

/* The daemon's process; 0: it does not run. */
int mps_pid(const struct mps *m);

#endif
