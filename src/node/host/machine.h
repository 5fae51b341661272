/*
 * machine - what hardware there is: CPUs, cores, sockets, NUMA nodes, memory, huge pages.
 *
 * Read from sysfs and procfs below roots that are parameters, so that machines are made up in
 * tests. A machine without NUMA information is one node 0 with everything.
 */
#ifndef NODE_HOST_MACHINE_H
#define NODE_HOST_MACHINE_H

#include "base/core/arena.h"
#include "base/core/error.h"

/* Nodes from this on, and sizes of huge pages beyond so many, do not exist for us. */
enum { MACHINE_NUMA_MAX = 64, MACHINE_HUGE_MAX = 4 };

struct machine_cpu {
	int id;
	int core; /* its name in the whole machine: the core's lowest online CPU */
	int socket, numa;
};

struct machine_numa {
	int id;
	int64_t memory_bytes; /* huge pages included */
	/* Sizes of huge pages, ascending, and bytes of them. */
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
 * `sysfs`, `procfs` and `etc`: "/sys", "/proc", "/etc". Texts that are missing are left empty.
 * -ERR_IO when not even the online CPUs or the memory can be read.
 */
int machine_read(struct machine *m, const char *sysfs, const char *procfs, const char *etc,
		 struct error *err);

/*
 * One for hollow nodes: so many CPUs, each a core, and bytes, on so many NUMA nodes (1 at
 * least).
 */
void machine_make(struct machine *m, int cpus, int64_t memory_bytes, int numa);
void machine_release(struct machine *m);

/* Whether CPUs, NUMA nodes and memory are the same. */
bool machine_equal(const struct machine *a, const struct machine *b);

/* The bits of all NUMA nodes. */
uint64_t machine_nodes(const struct machine *m);

static inline void machine_release_cleanup(struct machine *m)
{
	machine_release(m);
}

#endif
