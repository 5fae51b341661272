/*
 * disk_probe - measures the throughput of a block device.
 *
 * Reads blocks of 1 MiB without the page cache (O_DIRECT) from a device or file, in rounds with 1,
 * 2, 4 and 8 requests in parallel. The best round counts, so it suits disks with and without
 * queues. Devices are opened read-only. Writes go to a new file that the user names. It must not
 * exist before, and is always removed.
 *
 * Throughput that others use meanwhile is missing in the result, so probe a quiet node. It blocks
 * for the given time: don't call it on a loop's thread.
 */
#ifndef DRIVERS_DISK_PROBE_H
#define DRIVERS_DISK_PROBE_H

#include <stdatomic.h>

#include "base/core/error.h"
#include "drivers/disk/host.h"
#include "drivers/disk/spec.h"

struct disk_probe_opts {
	const struct disk_host *host;
	const char *target; /* "sda", "/dev/sda", or a file; NULL: no reads */
	const char *write; /* a file to create, or NULL */
	int64_t duration_ns; /* of the reads, and again of the writes */
	const _Atomic bool *cancel; /* checked after each block; or NULL */
};

/*
 * Sets the device's name and the measured rates (others are 0). Returns -ERR_INVALID if the target
 * cannot be probed, -ERR_ALREADY_EXISTS if the file to write exists, -ERR_CANCELED.
 */
int disk_probe_run(const struct disk_probe_opts *opts, struct disk_capacity *ret_found,
		   struct error *err);

/*
 * Notes the result in the file of probes (disk/book.h), where a running driver finds it. `time` is
 * the wall clock's, in ns.
 */
int disk_probe_keep(const char *root_dir, const struct disk_capacity *found, int64_t time,
		    struct error *err);

#endif
