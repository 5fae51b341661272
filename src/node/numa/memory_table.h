/*
 * memory_table - which NUMA nodes have how much memory left, by kind: plain and huge pages. Pure.
 *
 * As upstream's static memory manager keeps its books: a block comes from one node, or from a group
 * of nodes together; a node that is in a group serves nothing but this group until its last
 * block is given back, and a node that serves single blocks joins no group.
 */
#ifndef NODE_NUMA_MEMORY_TABLE_H
#define NODE_NUMA_MEMORY_TABLE_H

#include "node/host/machine.h"
#include "node/numa/topology.h"

enum { MEMORY_KINDS_MAX = MACHINE_HUGE_MAX + 1 };

/* What a container asks for of one kind, or what the pod may use again. */
struct memory_amount {
	int64_t page; /* bytes of a huge page; 0: plain memory */
	int64_t bytes;
};

/* What a container has of one kind: from these nodes together. */
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
	uint64_t group; /* nodes that it serves blocks with; itself alone at first */
};

struct memory_table {
	struct memory_node *v;
	size_t n;
};

/* All of the machine's but what is reserved: bytes of plain memory, indexed by node. */
void memory_table_init(struct memory_table *t, const struct machine *m, const int64_t *reserved,
		       size_t nreserved);

void memory_table_release(struct memory_table *t);

/* Takes a block; `bytes` of it, because the pod may have some of it already. */
void memory_table_take(struct memory_table *t, const struct memory_block *b, int64_t bytes);

/* Whether the nodes have enough left of all of these. */
bool memory_table_fits(const struct memory_table *t, uint64_t nodes, const struct memory_amount *v,
		       size_t n);

/* Whether taking from these nodes would mix a group with others. */
bool memory_table_mixes(const struct memory_table *t, uint64_t nodes);

/*
 * Sets of nodes that can give all of these; `again` are blocks that the pod may use again: what
 * they have of exactly these nodes counts as left. None: `n` is 0. In `a`.
 */
struct topology_hints memory_table_hints(const struct memory_table *t,
					 const struct memory_amount *v, size_t n,
					 const struct memory_block *again, size_t nagain,
					 struct arena *a);

/* What `again` has of this kind on exactly these nodes. */
int64_t memory_again(const struct memory_block *again, size_t n, uint64_t nodes, int64_t page);

#endif
