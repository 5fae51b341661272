/*
 * cluster_driver - the DRA drivers of a simulated cluster: the simulated vendor on the real SDK,
 * beside its node's agent, whose sockets it meets in a real folder.
 *
 * A broken device stays broken when the driver restarts: it is the hardware.
 */
#ifndef SIM_CLUSTER_DRIVER_H
#define SIM_CLUSTER_DRIVER_H

#include "cluster_role.h"

#define CLUSTER_DRIVER "gpu.sim.devplane.dev"

enum { CLUSTER_DEVICES = 4 };

struct cluster_hardware {
	char node[32], root[192], cdi[192];
	bool broken[CLUSTER_DEVICES];
	bool silent[CLUSTER_DEVICES]; /* nothing is heard of it, whatever it is */
};

/* role->arg is its struct cluster_hardware. */
extern const struct cluster_role_ops cluster_driver_ops;

/* Breaks or mends a device, which is heard of then; or nothing is heard of it any more. */
void cluster_driver_break(struct cluster_role *role, unsigned device, bool broken);
void cluster_driver_silence(struct cluster_role *role, unsigned device);

/* Calls `fn` for each device of each claim that is prepared. */
void cluster_driver_each(const struct cluster_role *role,
			 void (*fn)(void *arg, const char *uid, const char *device), void *arg);

#endif
