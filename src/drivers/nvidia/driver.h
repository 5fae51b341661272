/*
 * nvidia_driver - `devplane driver nvidia`: NVIDIA's GPUs and their MIG partitions as devices.
 *
 * It is built on the SDK (devplane/driver.h). Full GPUs and MIG devices, with their attributes and
 * parameters, are those of NVIDIA's own driver, so manifests for them work with both. Devices for
 * pass-through (VFIO) and attributes of Fabric Manager's partitions are missing, and
 * VfioDeviceConfig has no effect or is an error; docs/driver-nvidia.md lists the differences. The
 * parts:
 *
 *	nvml           calls NVIDIA's library on its own thread, with deadlines
 *	gpu_inventory  the devices
 *	gpu_prepare    MIG instances for claims, and the book of them
 *	gpu_cdi        nodes and libraries for containers
 *	gpu_config     parameters of claims and classes
 *	gpu_health     health from events and polls
 *
 * While NVML does not answer, the driver still answers the kubelet: devices are Unknown, and claims
 * fail with a message.
 * Threads: the loop's.
 */
#ifndef DRIVERS_NVIDIA_DRIVER_H
#define DRIVERS_NVIDIA_DRIVER_H

#include "base/core/error.h"
#include "drivers/nvidia/snapshot.h"

struct log;
struct loop;
struct metrics;
struct nvidia_driver;

/* Text is borrowed for the driver's life. NULL and 0 mean the default. */
struct nvidia_driver_opts {
	struct loop *loop;
	const struct log *log;
	struct metrics *metrics; /* or NULL */
	const char *name; /* NULL: GPU_DRIVER_NAME */
	const char *node_name, *kubeconfig, *root_dir, *cdi_dir;
	const char *library; /* NVML; NULL: the loader's */
	struct nvidia_read read;
	const char *xid_rules; /* a file; or NULL */
	bool evict; /* pods of a lost GPU end */
	bool no_taint, no_health;
	uint32_t timeout_s, heartbeat_ms; /* of health reports */
	uint32_t poll_ms; /* of the GPUs' health; 5,000 */
	uint32_t deadline_ms; /* of NVML's answers; 10,000 */
};

int nvidia_driver_new(const struct nvidia_driver_opts *opts, struct nvidia_driver **ret_driver,
		      struct error *err);
void nvidia_driver_free(struct nvidia_driver *d); /* after nvidia_driver_stop's `done`; or NULL */

/* Opens the sockets. Call nvidia_driver_stop() even if it fails. */
int nvidia_driver_start(struct nvidia_driver *d, struct error *err);
/* Containers keep their devices. */
void nvidia_driver_stop(struct nvidia_driver *d, void (*done)(void *arg), void *arg);

/*
 * 0 while the GPUs are known and the slices are published. Once the driver is registered as well,
 * it first gives back the memory that only the start needed.
 */
int nvidia_driver_check(struct nvidia_driver *d, struct error *err);
int nvidia_driver_check_registered(const struct nvidia_driver *d, struct error *err);

/* The path of a file of the driver, such as "instances.json". */
#define NVIDIA_BOOK_FILE   "instances.json"
#define NVIDIA_HEALTH_FILE "health.json"
#define NVIDIA_KNOWN_FILE  "gpus.json"
const char *nvidia_driver_path(struct arena *a, const char *root_dir, const char *name,
			       const char *file);

#endif
