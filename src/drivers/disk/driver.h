/*
 * disk_driver - `devplane driver disk`: measures a node's block devices and publishes what they can
 * do and what is used of it.
 *
 * A timer takes a round of the meter (disk/meter.h) from the machine (disk/host.h); the status that
 * follows from it (disk/status.h) is published (disk/api.h) when it is news, and every
 * report interval. Probes that the object asks for run on a thread, one at a time; what they found
 * is remembered in a file (disk/book.h), which is also read when somebody else wrote it. If wanted,
 * each round also sets the limits of the pods (disk/enforce.h).
 * Threads: the loop's.
 */
#ifndef DRIVERS_DISK_DRIVER_H
#define DRIVERS_DISK_DRIVER_H

#include "base/core/error.h"
#include "drivers/disk/host.h"
#include "drivers/disk/spec.h"

struct disk_driver;
struct disk_meter;
struct log;
struct loop;
struct metrics;

/* Text is borrowed for the driver's life. */
struct disk_driver_opts {
	struct loop *loop;
	const struct log *log;
	struct metrics *metrics; /* or NULL */
	const char *kubeconfig, *node_name, *root_dir;
	struct disk_host_opts host;
	const struct disk_spec *spec;
	int64_t interval_ns, report_interval_ns, smoothing_ns, probe_ns;
	double report_change; /* a share: 0.05 */
	bool install_crd;
	bool enforce; /* limit pods so that all get what they requested */
};

/* -ERR_INVALID, -ERR_NOT_FOUND: a name or a kubeconfig that cannot be used. */
int disk_driver_new(const struct disk_driver_opts *opts, struct disk_driver **ret_driver,
		    struct error *err);
/* Gives a probe up that runs, then calls `done` once; the object stays as it is. */
void disk_driver_stop(struct disk_driver *d, void (*done)(void *arg), void *arg);
/* After that. NULL allowed. */
void disk_driver_free(struct disk_driver *d);

/* What it publishes has been taken by the API server. */
int disk_driver_check(const struct disk_driver *d, struct error *err);

/* For what is shown when it starts. */
const struct disk_meter *disk_driver_meter(const struct disk_driver *d);
const struct disk_host *disk_driver_host(const struct disk_driver *d);
struct disk_capacity disk_driver_capacity(const struct disk_driver *d, const char *device);

#endif
