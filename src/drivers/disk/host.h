/*
 * disk_host - this machine's block devices and control groups, as a meter sees them.
 *
 * Control groups: the unified hierarchy (v2) when it has the io controller, else v1's blkio; v1's
 * file that counts a whole subtree where the kernel has it, else the sum over the subtree. Below
 * them pods are found by kubelets' names of folders (disk/stat.h).
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
	char groups_dir[PATH_MAX]; /* the hierarchy's top */
	const char *groups_file; /* in each folder */
	bool groups_sum; /* the file does not count subfolders */
	struct error groups_why; /* with DISK_GROUPS_NONE: what is missing */
};

/* Zero means the machine's own. */
struct disk_host_opts {
	const char *proc_root; /* /proc */
	const char *sys_root; /* /sys */
	const char *cgroup_root; /* SYS/fs/cgroup */
};

/* -ERR_IO when there is no diskstats. No control groups is no failure: see groups_why. */
int disk_host_open(struct disk_host *h, const struct disk_host_opts *opts, struct error *err);

/* One round of the meter. After a failure the round has not begun. */
int disk_host_sample(const struct disk_host *h, const struct disk_spec *spec, struct disk_meter *m,
		     int64_t now, struct error *err);

typedef void disk_host_pod_fn(void *arg, const char *uid, const char *path);
/* Calls `fn` with the control group of each pod, and the same for each subfolder of one. */
void disk_host_each_pod(const struct disk_host *h, disk_host_pod_fn *fn, void *arg);
typedef void disk_host_folder_fn(void *arg, const char *path, const char *name, int depth);
void disk_host_each_folder(const char *dir, disk_host_folder_fn *fn, void *arg, int depth);

/* What /sys/block says of a device of that name. */
struct disk_hardware disk_host_hardware(const struct disk_host *h, const char *name);

/* The whole disk that a device number is, or is a partition of. False: it is none. */
bool disk_host_name_of(const struct disk_host *h, uint32_t major, uint32_t minor,
		       char ret_name[static DISK_NAME_SIZE]);

#endif
