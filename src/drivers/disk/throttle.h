/*
 * disk_throttle - limits of a pod's control group on a device, written where the kernel reads them.
 *
 *	cgroup v2   io.max of the pod's folder, which also holds for its containers
 *	cgroup v1   blkio.throttle.read_bps_device and write_bps_device. There a limit holds for
 *	            processes of its own folder only, so the pod's is divided among those of its
 *	            containers that have used the device so far.
 *
 * A file is read first and written only if it says something else. Threads: one at a time.
 */
#ifndef DRIVERS_DISK_THROTTLE_H
#define DRIVERS_DISK_THROTTLE_H

#include "base/core/error.h"
#include "drivers/disk/limits.h"

struct disk_host;

struct disk_throttle {
	uint32_t major, minor;
	int64_t limit[DISK_DIRECTIONS]; /* bytes per second; 0: none */
};

/* A folder that vanishes meanwhile is no failure. */
int disk_throttle_set(const struct disk_host *h, const char *path, const struct disk_throttle *t,
		      struct error *err);

#endif
