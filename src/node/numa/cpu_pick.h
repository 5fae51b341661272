/*
 * cpu_pick - which CPUs a container gets for itself: packed by NUMA node, socket, core, thread.
 * Pure.
 *
 * Upstream's rules: whole NUMA nodes and whole sockets first (whichever of the two is larger on
 * this machine first), then whole cores, then threads, always from where the fewest are left,
 * so that what stays free stays together; lower ids before higher ones.
 */
#ifndef NODE_NUMA_CPU_PICK_H
#define NODE_NUMA_CPU_PICK_H

#include "base/core/arena.h"
#include "node/host/cpu_set.h"
#include "node/host/machine.h"

/* -ERR_INVALID with upstream's text when there are too few. `a` is for the work. */
int cpu_pick(const struct machine *m, const struct cpu_set *available, int64_t n, struct arena *a,
	     struct cpu_set *ret_cpus, struct error *err);

#endif
