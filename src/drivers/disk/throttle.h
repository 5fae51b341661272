/*
 * disk_throttle - sets a pod's bandwidth limits on a device, through its control group.
 *
 *	cgroup v2   io.max of the pod's folder, which includes its containers; and io.weight, if the
 *	            kernel has the cost model that shares a device by weight
 *	cgroup v1   blkio.throttle.read_bps_device and write_bps_device. A limit there only holds
 *	            for processes of the same folder. So the pod's limit is divided among its
 *	            containers that have used the device so far.
 *
 * A file is read first, and written only if its content differs.
 * Threads: one at a time.
 */
#ifndef DRIVERS_DISK_THROTTLE_H
#define DRIVERS_DISK_THROTTLE_H

#include "base/core/error.h"
#include "drivers/disk/limits.h"

struct disk_host;

struct disk_throttle {
	uint32_t major, minor;
	int64_t limit[DISK_DIRECTIONS]; /* bytes per second; 0: no limit */
	unsigned weight; /* 0: the default */
};

/* Whether weights can be set for this control group. If not, disk_throttle_set() ignores them. */
bool disk_throttle_weighs(const struct disk_host *h, const char *path);

/*
 * A folder that vanishes meanwhile is not an error, nor is a device for which the kernel does not
 * use weights.
 */
int disk_throttle_set(const struct disk_host *h, const char *path, const struct disk_throttle *t,
		      struct error *err);

#endif
