/*
 * machine - what hardware there is: CPUs, cores, sockets, NUMA nodes, memory, huge pages.
 *
 * Read from sysfs and procfs below roots that are parameters, so that machines are made up in
 * tests. A machine without NUMA information is one node 0 with everything.
 */
#ifndef NODE_MACHINE_H
#define NODE_MACHINE_H

#include "base/arena.h"
#include "base/error.h"

struct machine_cpu {
	int id, core, socket, numa;
};

struct machine_numa {
	int id;
	int64_t memory_bytes;
	/* Sizes of huge pages, and bytes of them. */
	int64_t huge_size[4], huge_bytes[4];
	size_t nhuge;
};

struct machine {
	struct arena arena;
	const struct machine_cpu *cpus; /* online ones, by id */
	size_t ncpus;
	const struct machine_numa *numa; /* by id */
	size_t nnuma;
	int64_t memory_bytes, swap_bytes;
	struct str machine_id, boot_id, system_uuid, kernel, os_image, arch; /* "arm64", "amd64" */
};

/* `sysfs` and `procfs`: "/sys", "/proc"; `etc`: "/etc". What is missing is left empty. */
int machine_read(struct machine *m, const char *sysfs, const char *procfs, const char *etc,
		 struct error *err);
/* One for hollow nodes: so many CPUs and bytes on so many NUMA nodes. */
void machine_make(struct machine *m, int cpus, int64_t memory_bytes, int numa);
void machine_release(struct machine *m);

/* Whether CPUs, NUMA nodes or memory differ. */
bool machine_equal(const struct machine *a, const struct machine *b);

#endif
