/*
 * nvidia_show - reads GPUs and the driver's files for `devplane driver nvidia list` and the like.
 *
 * It opens its own session with NVML, and changes nothing. It works while the driver runs, and
 * without it. It blocks until NVML has answered, or until the deadline.
 */
#ifndef DRIVERS_NVIDIA_SHOW_H
#define DRIVERS_NVIDIA_SHOW_H

#include "base/core/buf.h"
#include "drivers/nvidia/snapshot.h"

struct nvidia_show_opts {
	const char *library; /* NVML; NULL: the loader's */
	const char *root_dir, *name; /* of the driver */
	struct nvidia_read read;
	uint32_t deadline_ms; /* of NVML's answers; 0: 10,000 */
};

enum nvidia_shown {
	/*
	 * A list of {device, kind, profile, gpu, state, claim, uuid, message}. States: free, held,
	 * unfinished (a prepare was interrupted), blocked (somebody else's instance is in the way),
	 * foreign (it is such an instance), unavailable (devices that are held exclude it).
	 */
	NVIDIA_SHOW_DEVICES,
	/* A list of {gpu, profile, id, slices, multiprocessors, memory, instances, placements}. */
	NVIDIA_SHOW_PROFILES,
	/*
	 * The devices of a claim: {claim, uid, devices: [{device, gpu, gpuUUID, uuid, gi, ci,
	 * state, health, message, processes: [{pid, name}]}]}.
	 */
	NVIDIA_SHOW_CLAIM,
};

/*
 * Appends JSON to `out`. `claim` is a UID, "NAMESPACE/NAME", or a name. -ERR_NOT_FOUND: the driver
 * has no such claim. -ERR_TIMEOUT: NVML does not answer; end the process soon, because a thread is
 * left behind.
 */
int nvidia_show(const struct nvidia_show_opts *o, enum nvidia_shown what, struct str claim,
		struct buf *out, struct error *err);

#endif
