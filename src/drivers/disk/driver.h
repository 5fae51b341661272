/*
 * disk_driver - `devplane driver disk`: measures a node's block devices, and publishes their
 * capacity and use.
 *
 * A timer samples the machine (disk/host.h) with the meter (disk/meter.h). The resulting status
 * (disk/status.h) is published (disk/api.h) if it changed enough, and at every report interval.
 * Probes requested on the object run on a thread, one at a time. Their results are kept in a file
 * (disk/book.h), which is also reloaded if another process wrote it. With `enforce`, each round
 * also sets the limits of pods (disk/enforce.h).
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

/* The definition of NodeDiskIOStatus as YAML: examples/disk/crd.yaml without its comments. */
extern const char disk_crd_yaml[];

/* Text is borrowed for the driver's life. */
struct disk_driver_opts {
	struct loop *loop;
	const struct log *log;
	struct metrics *metrics; /* or NULL */
	const char *kubeconfig, *node_name, *root_dir;
	struct disk_host_opts host;
	const struct disk_spec *spec;
	int64_t interval_ns, report_interval_ns, smoothing_ns, probe_ns;
	double report_change; /* publish if something changed by this share: 0.05 */
	bool install_crd;
	bool enforce; /* limit pods so that each gets what it requested */
};

/* Returns -ERR_INVALID or -ERR_NOT_FOUND if a name or the kubeconfig cannot be used. */
int disk_driver_new(const struct disk_driver_opts *opts, struct disk_driver **ret_driver,
		    struct error *err);
/* Cancels a running probe, then calls `done` once. The object stays. */
void disk_driver_stop(struct disk_driver *d, void (*done)(void *arg), void *arg);
/* Call it after `done`. NULL allowed. */
void disk_driver_free(struct disk_driver *d);

/* Returns 0 if the last status is on the API server; else an error. */
int disk_driver_check(const struct disk_driver *d, struct error *err);

/* For output at start. */
const struct disk_meter *disk_driver_meter(const struct disk_driver *d);
const struct disk_host *disk_driver_host(const struct disk_driver *d);
struct disk_capacity disk_driver_capacity(const struct disk_driver *d, const char *device);

#endif
