/*
 * node_pressure - detects memory and disk pressure, by kubelet's default thresholds.
 *
 * Memory: less than 100 MiB available (/proc/meminfo). Disk: less than a tenth of the file system's
 * bytes or a twentieth of its inodes free to us. As in kubelet, pressure is reported for five
 * minutes after its end, so that the node does not flap.
 */
#ifndef NODE_REGISTRATION_PRESSURE_H
#define NODE_REGISTRATION_PRESSURE_H

#include <stdbool.h>
#include <stdint.h>

/* Initialize with zeroes. */
struct node_pressure {
	bool memory, disk;
	int64_t storage_bytes; /* size of the file system; 0: unknown */
	int64_t memory_at, disk_at; /* when it was last detected, monotonic ms */
};

/*
 * Checks both. `procfs` is "/proc" or its replacement; `dir` is a folder of the file system. A
 * value that cannot be read, or a NULL folder, counts as no pressure.
 */
void node_pressure_look(struct node_pressure *p, const char *procfs, const char *dir,
			int64_t now_ms);

#endif
