/*
 * cpus - how many CPUs this process may use.
 *
 * The smaller of the scheduler's affinity mask and the CPU quota of its cgroup (version 2), which
 * containers and systemd's CPUQuota= set.
 */
#ifndef BASE_SYSTEM_CPUS_H
#define BASE_SYSTEM_CPUS_H

#include <stddef.h>

#include "base/core/str.h"

/* At least 1. */
size_t cpus_usable(void);

/* The content of a cpu.max, "QUOTA PERIOD", in CPUs rounded up. 0: "max", or not valid. */
size_t cpus_quota(struct str text);

/* The cgroup, such as "/system.slice", in the content of /proc/PID/cgroup; empty without v2. */
struct str cpus_cgroup(struct str text);

/* The smallest quota of the cgroup and its ancestors, in the file system at `root`; 0: none. */
size_t cpus_limit(const char *root, struct str cgroup);

#endif
