/*
 * cluster_control - schedulers and controllers of a simulated cluster: the real ones, with leader
 * election.
 */
#ifndef SIM_CLUSTER_CONTROL_H
#define SIM_CLUSTER_CONTROL_H

#include "cluster_role.h"

struct buf;

extern const struct cluster_role_ops cluster_scheduler_ops, cluster_controller_ops;

/* Prints a scheduler's queue and cache, for failure messages. */
void cluster_scheduler_dump(const struct cluster_role *role, struct buf *out);

#endif
