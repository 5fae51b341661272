/*
 * nvidia_show - reads GPUs and the driver's files for `devplane driver nvidia list` and the like.
 *
 * It opens its own session with NVML, and changes nothing. It works while the driver runs, and
 * without it. It blocks as long as NVML does.
 */
#ifndef DRIVERS_NVIDIA_SHOW_H
#define DRIVERS_NVIDIA_SHOW_H

#include "base/json/writer.h"
#include "drivers/nvidia/snapshot.h"

struct nvidia_show;

struct nvidia_show_opts {
	const char *library; /* NVML; NULL: the loader's */
	const char *root_dir, *name; /* of the driver */
	struct nvidia_read read;
};

int nvidia_show_open(const struct nvidia_show_opts *o, struct nvidia_show **ret, struct error *err);
void nvidia_show_close(struct nvidia_show *s); /* NULL allowed */

/*
 * A list of {device, kind, profile, gpu, state, claim, uuid, message}. States: free, held,
 * unfinished (a prepare was interrupted), blocked (somebody else's instance is in the way), foreign
 * (it is such an instance).
 */
void nvidia_show_devices(struct nvidia_show *s, struct json_writer *out);

/* A list of {gpu, profile, id, slices, multiprocessors, memory, instances, placements}. */
void nvidia_show_profiles(struct nvidia_show *s, struct json_writer *out);

/*
 * What a claim has: {claim, uid, devices: [{device, gpu, gpuUUID, uuid, gi, ci, state, health,
 * message, processes: [{pid, name}]}]}. `claim` is a UID, "NAMESPACE/NAME", or a name.
 * -ERR_NOT_FOUND if the driver has no such claim.
 */
int nvidia_show_claim(struct nvidia_show *s, struct str claim, struct json_writer *out,
		      struct error *err);

DEFINE_CLEANUP(nvidia_show_close, struct nvidia_show *);

#endif
