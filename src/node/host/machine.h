/*
 * machine - the hardware of a node: CPUs, cores, sockets, NUMA nodes, memory, huge pages.
 *
 * Read from sysfs and procfs below root folders that are parameters, so that tests can make up
 * machines. A machine without NUMA information has one node 0 with everything.
 */
#ifndef NODE_HOST_MACHINE_H
#define NODE_HOST_MACHINE_H

#include "base/core/arena.h"
#include "base/core/error.h"

/* NUMA nodes from this number on, and further huge page sizes, are ignored. */
enum { MACHINE_NUMA_MAX = 64, MACHINE_HUGE_MAX = 4 };

struct machine_cpu {
	int id;
	int core; /* unique in the machine: the core's lowest online CPU */
	int socket, numa;
};

struct machine_numa {
	int id;
	int64_t memory_bytes; /* huge pages included */
	/* Sizes of huge pages, ascending, and the bytes of each size. */
	int64_t huge_size[MACHINE_HUGE_MAX], huge_bytes[MACHINE_HUGE_MAX];
	size_t nhuge;
};

struct machine {
	struct arena arena;
	const struct machine_cpu *cpus; /* online ones, by id */
	size_t ncpus;
	const struct machine_numa *numa; /* by id; some have no memory, some no CPU */
	size_t nnuma;
	int64_t memory_bytes, swap_bytes;
	struct str machine_id, boot_id, system_uuid, kernel, os_image, arch; /* "arm64", "amd64" */
};

/*
 * `sysfs`, `procfs` and `etc`: "/sys", "/proc", "/etc". Missing texts are left empty. Returns
 * -ERR_IO if the online CPUs or the memory cannot be read.
 */
int machine_read(struct machine *m, const char *sysfs, const char *procfs, const char *etc,
		 struct error *err);

/*
 * Makes up a machine for hollow nodes: CPUs (each its own core) and bytes, spread over NUMA nodes
 * (at least 1).
 */
void machine_make(struct machine *m, int cpus, int64_t memory_bytes, int numa);
void machine_release(struct machine *m);

/* Whether CPUs, NUMA nodes and memory are the same. */
bool machine_equal(const struct machine *a, const struct machine *b);

/* A bit for each NUMA node. */
uint64_t machine_nodes(const struct machine *m);

static inline void machine_release_cleanup(struct machine *m)
{
	machine_release(m);
}

#endif
