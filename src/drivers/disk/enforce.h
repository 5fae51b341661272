/*
 * disk_enforce - guarantees the disk bandwidth that pods requested: watches the node's pods, and
 * sets the limits and weights of disk/limits.h on their control groups. If the kernel has no
 * weights, it logs that once and sets limits only.
 *
 * Changes nothing until the API server has listed all pods. While the server is down, the pods
 * known so far count.
 * Threads: the client's loop.
 */
#ifndef DRIVERS_DISK_ENFORCE_H
#define DRIVERS_DISK_ENFORCE_H

#include "base/core/error.h"
#include "drivers/disk/status.h"

struct client;
struct disk_enforce;
struct disk_host;
struct log;
struct metrics;

struct disk_enforce_opts {
	struct client *client;
	struct metrics *metrics; /* or NULL */
	const char *node; /* borrowed */
	const struct disk_host *host; /* borrowed */
	const struct log *log;
};

struct disk_enforce *disk_enforce_new(const struct disk_enforce_opts *opts);
void disk_enforce_free(struct disk_enforce *e); /* NULL allowed */

/*
 * Call it after each round of the meter. Returns the error of the first file that cannot be
 * written.
 */
int disk_enforce_round(struct disk_enforce *e, const struct disk_status_input *in,
		       struct error *err);

/* Removes all limits. */
void disk_enforce_clear(struct disk_enforce *e, const struct disk_status_input *in);

#endif
