/*
 * cpu_pick - chooses exclusive CPUs for a container, packed by NUMA node, socket, core, thread.
 * Pure.
 *
 * Upstream's rules: whole NUMA nodes and whole sockets first (the larger of the two on this machine
 * first), then whole cores, then threads. CPUs come from where the fewest are free, so that free
 * CPUs stay together; lower ids come before higher ones.
 */
#ifndef NODE_NUMA_CPU_PICK_H
#define NODE_NUMA_CPU_PICK_H

#include "base/core/arena.h"
#include "base/text/cpu_set.h"
#include "node/host/machine.h"

/* Returns -ERR_INVALID with upstream's message if there are too few. `a` is for scratch data. */
int cpu_pick(const struct machine *m, const struct cpu_set *available, int64_t n, struct arena *a,
	     struct cpu_set *ret_cpus, struct error *err);

#endif
