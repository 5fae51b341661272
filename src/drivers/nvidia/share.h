/*
 * nvidia_share - time slices and MPS daemons of claims, for as long as these are prepared.
 *
 * An MPS daemon outlives the driver, because its clients would die with it; so does a time slice. A
 * file has what the claim shares. The next run of the driver takes it over, or undoes it.
 * Threads: the loop's.
 */
#ifndef DRIVERS_NVIDIA_SHARE_H
#define DRIVERS_NVIDIA_SHARE_H

#include "base/core/arena.h"
#include "base/core/error.h"
#include "base/core/str.h"

struct dp_edits;
struct loop;
struct log;
struct nvidia_shares;

/* How programs of the claim share one device. */
struct nvidia_share_device {
	const char *uuid; /* of the GPU or MIG device */
	uint32_t interval; /* of time slices, as in gpu_config/config.h; 0: the default */
	bool mps;
	int64_t memory_mib; /* limit of each program; 0: none */
	int32_t threads; /* percent, or GPU_THREADS_UNSET */
	bool multi_user;
	/* The GPU is in compute mode "exclusive process": the MPS server takes it at once. */
	bool exclusive;
};

/*
 * Records and daemons have their folders below `dir`. Programs of NVIDIA are those below `root` and
 * `driver_root`, as in gpu_share/tool.h. `l`, `log` and `dir` are borrowed.
 */
struct nvidia_shares *nvidia_shares_new(struct loop *l, const struct log *log, const char *dir,
					const char *root, const char *driver_root);
/* The folder of the libraries that these programs need, on the machine. */
void nvidia_shares_set_libraries(struct nvidia_shares *s, const char *root, const char *folder);
/* Forgets all of them; daemons continue. NULL allowed. */
void nvidia_shares_free(struct nvidia_shares *s);

/* Ends what claims share that `knows` returns false for, and takes over the others. */
void nvidia_shares_sweep(struct nvidia_shares *s, bool (*knows)(void *arg, const char *uid),
			 void *arg);

/*
 * Starts what the claim needs. Calls `ready` once, now or later: with NULL, or with an error, after
 * which nothing is left. Text is copied.
 */
void nvidia_share_begin(struct nvidia_shares *s, struct str uid,
			const struct nvidia_share_device *v, size_t n,
			void (*ready)(void *arg, const struct error *err), void *arg);

/* Ends it. Calls `done` once, now or later. */
void nvidia_share_end(struct nvidia_shares *s, struct str uid, void (*done)(void *arg), void *arg);

/*
 * Environment for containers of a claim with MPS, and the folder on the machine to mount at
 * MPS_CONTAINER_PIPE. Returns false if the claim has no MPS. Text is in `a`.
 */
bool nvidia_share_mps(const struct nvidia_shares *s, struct str uid, struct arena *a,
		      const char *const **ret_env, const char **ret_pipe);

#endif
