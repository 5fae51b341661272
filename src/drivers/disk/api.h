/*
 * disk_api - the node's NodeDiskIOStatus on the API server.
 *
 * Sees to it that the resource is defined (disk_crd_yaml, unless that is not wanted), that the
 * object is there and that its status says what was published last. Only the newest status
 * matters: one request is under way at a time, and failures are tried again with a growing delay.
 * The object belongs to the Node, so it goes with it.
 *
 * Follows the object for requests of a probe (DISK_PROBE_ANNOTATION), and takes the annotation
 * away when it is answered. Without the right to watch, publishing still works.
 * Threads: the client's loop.
 */
#ifndef DRIVERS_DISK_API_H
#define DRIVERS_DISK_API_H

#include "base/core/error.h"
#include "base/core/str.h"

struct client;
struct disk_api;
struct json;
struct log;
struct metrics;

struct disk_api_opts {
	struct client *client;
	const struct log *log;
	struct metrics *metrics; /* or NULL */
	const char *node; /* borrowed */
	bool install_crd;
	/* The object asks for a probe of what its annotation names; told until it is answered. */
	void (*on_probe)(void *arg, struct str device);
	void *arg;
};

struct disk_api *disk_api_new(const struct disk_api_opts *opts);
void disk_api_free(struct disk_api *a); /* NULL allowed */

/* Copied. Members of it that are null are taken away from what is there. */
void disk_api_publish(struct disk_api *a, const struct json *status);

/* The last request has been answered by what was published. */
void disk_api_answered(struct disk_api *a, struct str device);

/* What was published last is there. */
int disk_api_check(const struct disk_api *a, struct error *err);

#endif
