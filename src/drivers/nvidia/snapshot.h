/*
 * nvidia_snapshot - the GPUs of the node at one time, with the devices that follow from them.
 *
 * It is filled on the thread that calls NVML, and immutable after that. Jobs and the driver share
 * it by counting references.
 * Threads: references are counted on the loop's thread.
 */
#ifndef DRIVERS_NVIDIA_SNAPSHOT_H
#define DRIVERS_NVIDIA_SNAPSHOT_H

#include "drivers/gpu_cdi/libraries.h"
#include "drivers/gpu_inventory/inventory.h"
#include "drivers/gpu_prepare/prepare.h"

/* How to read it. Text must outlive the call. */
struct nvidia_read {
	const char *root; /* has the machine's /proc and /sys; "": the machine itself */
	const char *driver_root, *library_dir; /* as in gpu_cdi/libraries.h; or NULL */
	bool mig, static_mig;
	enum gpu_shares shares;
	uint32_t share_count;
	struct str known; /* as nvidia_known_print() wrote it; may be empty */
	const char *boot_id;
};

struct nvidia_snapshot {
	unsigned refs;
	struct arena arena;
	struct gpu_source *sources; /* those that can be read, then those that are lost */
	size_t n, nlost; /* of all, and of lost ones; these have no handle */
	struct gpu_inventory inventory;
	struct gpu_libraries libraries;
	struct error no_libraries; /* code 0: they were found */
	struct str skipped; /* GPUs that could not be read */
};

struct nvidia_snapshot *nvidia_snapshot_new(void);
struct nvidia_snapshot *nvidia_snapshot_ref(struct nvidia_snapshot *s);
void nvidia_snapshot_unref(struct nvidia_snapshot *s); /* NULL allowed */

/*
 * First part: the GPUs, and the libraries for containers. If some GPUs cannot be read, those of
 * `known` that are missing are added: they are lost.
 */
int nvidia_snapshot_read(struct nvidia_snapshot *s, struct nvml *n, const struct nvidia_read *r,
			 struct error *err);

/* The GPUs that are not lost, for gpu_prepare_start(). Allocated in the snapshot. */
struct nvml_gpu *nvidia_snapshot_gpus(struct nvidia_snapshot *s, size_t *count);

/* Second part: instances of others, as `p` sees them, and the devices. */
int nvidia_snapshot_finish(struct nvidia_snapshot *s, struct nvml *n, const struct nvidia_read *r,
			   struct gpu_prepare *p, struct error *err);

/* NULL if there is no such GPU. */
const struct gpu_source *nvidia_snapshot_by_handle(const struct nvidia_snapshot *s,
						   const void *handle);

#endif
