/*
 * disk_api - the node's NodeDiskIOStatus object on the API server.
 *
 * Installs the resource's definition (disk_crd_yaml, if `install_crd`), creates the object, and
 * keeps its status at the last published one. Only the newest status matters: one request is in
 * flight at a time, and failures are retried with back-off. The Node owns the object, so they are
 * deleted together.
 *
 * Also watches the object for probe requests (DISK_PROBE_ANNOTATION), and removes the annotation
 * after a probe. Without permission to watch, publishing still works.
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
	/* The annotation requests a probe of `device`. Repeated until disk_api_answered(). */
	void (*on_probe)(void *arg, struct str device);
	void *arg;
};

struct disk_api *disk_api_new(const struct disk_api_opts *opts);
void disk_api_free(struct disk_api *a); /* NULL allowed */

/* Publishes a copy of `status`. Members that are null are removed from the object. */
void disk_api_publish(struct disk_api *a, const struct json *status);

/* The published status has the result of the last probe request. */
void disk_api_answered(struct disk_api *a, struct str device);

/* Returns 0 if the last published status is on the server; else an error. */
int disk_api_check(const struct disk_api *a, struct error *err);

#endif
