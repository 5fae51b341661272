/*
 * disk_probe - measures what a block device can do, by asking for more and more at a time.
 *
 * Reads whole megabytes past the cache (O_DIRECT) from a device or a file, in rounds of 1, 2, 4 and
 * 8 at a time, and takes the best: a disk that needs a queue shows what it can do, one that does
 * not is not punished for it. A device is opened to be read only. Writes go into a new file that
 * the user names, which must not be there before and is gone afterwards, whatever happens.
 *
 * Others' use of the device in the meantime is missing from the result: probe a quiet node.
 * Blocks for as long as it is told: not for a loop's thread.
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
	const char *write; /* a file to make, or NULL */
	int64_t duration_ns; /* of the reads, and of the writes */
	const _Atomic bool *cancel; /* looked at after each block: give up; or NULL */
};

/*
 * Fills in the device's name and what was measured (the rest is 0). -ERR_INVALID for what
 * cannot be probed, -ERR_ALREADY_EXISTS for a file to write that is there, -ERR_CANCELED.
 */
int disk_probe_run(const struct disk_probe_opts *opts, struct disk_capacity *ret_found,
		   struct error *err);

#endif
