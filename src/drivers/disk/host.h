/*
 * disk_host - reads this machine's block devices and control groups for the meter.
 *
 * It uses the unified control group hierarchy (v2) if that has the io controller, else blkio of v1.
 * On v1 it reads the file that counts a whole subtree, or if the kernel lacks it, adds up the
 * subtree. Pods are found by the folder names that kubelets use (disk/stat.h).
 * Threads: one at a time.
 */
#ifndef DRIVERS_DISK_HOST_H
#define DRIVERS_DISK_HOST_H

#include <limits.h>

#include "base/core/error.h"
#include "drivers/disk/meter.h"
#include "drivers/disk/spec.h"

enum disk_groups { DISK_GROUPS_NONE, DISK_GROUPS_V1, DISK_GROUPS_V2 };

struct disk_host {
	const char *proc_root, *sys_root; /* borrowed */
	enum disk_groups groups;
	char groups_dir[PATH_MAX]; /* top of the hierarchy */
	const char *groups_file; /* its name in each folder */
	bool groups_sum; /* the file does not include subfolders */
	struct error groups_why; /* for DISK_GROUPS_NONE: what is missing */
};

/* Zero means the default. */
struct disk_host_opts {
	const char *proc_root; /* /proc */
	const char *sys_root; /* /sys */
	const char *cgroup_root; /* SYS/fs/cgroup */
};

/* Returns -ERR_IO without diskstats. Missing control groups are no failure: see groups_why. */
int disk_host_open(struct disk_host *h, const struct disk_host_opts *opts, struct error *err);

/* Samples one round of the meter. On failure the round is not started. */
int disk_host_sample(const struct disk_host *h, const struct disk_spec *spec, struct disk_meter *m,
		     int64_t now, struct error *err);

typedef void disk_host_pod_fn(void *arg, const char *uid, const char *path);
/* Calls `fn` for the control group of each pod; the second function, for each of its subfolders. */
void disk_host_each_pod(const struct disk_host *h, disk_host_pod_fn *fn, void *arg);
typedef void disk_host_folder_fn(void *arg, const char *path, const char *name, int depth);
void disk_host_each_folder(const char *dir, disk_host_folder_fn *fn, void *arg, int depth);

/* Finds the whole disk for a device number, also of a partition. Returns false if unknown. */
bool disk_host_name_of(const struct disk_host *h, uint32_t major, uint32_t minor,
		       char ret_name[static DISK_NAME_SIZE]);

#endif
