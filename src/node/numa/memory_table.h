/*
 * memory_table - free memory of each NUMA node, by kind: plain memory and huge pages. Pure.
 *
 * The rules are those of upstream's static memory manager. A block comes from one node, or from a
 * group of nodes together. A node in a group serves only this group until its last block is
 * released. A node that serves single blocks joins no group.
 */
#ifndef NODE_NUMA_MEMORY_TABLE_H
#define NODE_NUMA_MEMORY_TABLE_H

#include "node/host/machine.h"
#include "node/numa/topology.h"

enum { MEMORY_KINDS_MAX = MACHINE_HUGE_MAX + 1 };

/* A container's request of one kind, or an amount that the pod may reuse. */
struct memory_amount {
	int64_t page; /* bytes of a huge page; 0: plain memory */
	int64_t bytes;
};

/* A container's memory of one kind, from these nodes together. */
struct memory_block {
	uint64_t nodes; /* bits */
	int64_t page;
	int64_t bytes;
};

struct memory_node {
	int id;
	struct {
		int64_t page, allocatable, left;
	} kinds[MEMORY_KINDS_MAX];
	size_t nkinds;
	unsigned blocks;
	uint64_t group; /* nodes with which it serves blocks; at first itself alone */
};

struct memory_table {
	struct memory_node *v;
	size_t n;
};

/* All of the machine's memory except the reserved part: bytes of plain memory, indexed by node. */
void memory_table_init(struct memory_table *t, const struct machine *m, const int64_t *reserved,
		       size_t nreserved);

void memory_table_release(struct memory_table *t);

/* Takes a block, but counts only `bytes` of it, because the pod may already have a part. */
void memory_table_take(struct memory_table *t, const struct memory_block *b, int64_t bytes);

/* Whether the nodes have enough free for all of these. */
bool memory_table_fits(const struct memory_table *t, uint64_t nodes, const struct memory_amount *v,
		       size_t n);

/* Whether taking from these nodes would mix a group with other nodes. */
bool memory_table_mixes(const struct memory_table *t, uint64_t nodes);

/*
 * Returns the sets of nodes that can provide all of these; `n` is 0 if there is no such set. The
 * pod may reuse the blocks in `again`: their amounts on exactly these nodes count as free. In `a`.
 */
struct topology_hints memory_table_hints(const struct memory_table *t,
					 const struct memory_amount *v, size_t n,
					 const struct memory_block *again, size_t nagain,
					 struct arena *a);

/* The amount of this kind in `again` on exactly these nodes. */
int64_t memory_again(const struct memory_block *again, size_t n, uint64_t nodes, int64_t page);

#endif
