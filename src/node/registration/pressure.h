/*
 * node_pressure - whether memory or disk run out, by kubelet's default thresholds.
 *
 * Memory: less than 100 MiB available (/proc/meminfo). Disk: less than a tenth of the bytes or
 * a twentieth of the inodes of the file system free to us. Pressure that has ended is reported
 * for five minutes more, as kubelet does, so that the node does not flap.
 */
#ifndef NODE_REGISTRATION_PRESSURE_H
#define NODE_REGISTRATION_PRESSURE_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroes are a good start. */
struct node_pressure {
	bool memory, disk;
	int64_t storage_bytes; /* of the file system; 0: not known */
	int64_t memory_at, disk_at; /* when it was last seen, monotonic ms */
};

/*
 * Looks. `procfs` is "/proc" or what stands for it; `dir` is a folder of the file system. What
 * cannot be read, or is NULL, counts as enough.
 */
void node_pressure_look(struct node_pressure *p, const char *procfs, const char *dir,
			int64_t now_ms);

#endif
