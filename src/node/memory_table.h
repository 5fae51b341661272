/*
 * memory_table - which NUMA node has how much memory left, by kind: plain and huge pages.
 */
#ifndef NODE_MEMORY_TABLE_H
#define NODE_MEMORY_TABLE_H

#include <stdbool.h>
#include <stdint.h>

/* What a container has of one kind: from these nodes together. */
struct memory_block {
	uint64_t nodes; /* bits */
	int64_t page; /* bytes of a huge page; 0: plain memory */
	int64_t bytes;
};

#endif
