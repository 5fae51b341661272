/*
 * disk_enforce - keeps what pods requested of disks: follows the node's pods, and limits their
 * control groups by what follows from their requests (disk/limits.h).
 *
 * Until the API server has told of all pods nothing is changed. While it is away, the pods that
 * are known count.
 * Threads: the client's loop.
 */
#ifndef DRIVERS_DISK_ENFORCE_H
#define DRIVERS_DISK_ENFORCE_H

#include "base/core/error.h"
#include "drivers/disk/status.h"

struct client;
struct disk_enforce;
struct disk_host;
struct metrics;

struct disk_enforce_opts {
	struct client *client;
	struct metrics *metrics; /* or NULL */
	const char *node; /* borrowed */
	const struct disk_host *host; /* the same */
};

struct disk_enforce *disk_enforce_new(const struct disk_enforce_opts *opts);
void disk_enforce_free(struct disk_enforce *e); /* NULL allowed */

/* After each round of the meter. A failure is that of the first file that cannot be written. */
int disk_enforce_round(struct disk_enforce *e, const struct disk_status_input *in,
		       struct error *err);

/* Takes all limits away. */
void disk_enforce_clear(struct disk_enforce *e, const struct disk_status_input *in);

#endif
