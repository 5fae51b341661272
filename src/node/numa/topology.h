/*
 * topology - NUMA hints and their merging: which nodes should a container's resources come from?
 * Pure.
 *
 * Each provider of a resource (devices, CPUs, memory) returns hints: the sets of nodes that could
 * provide it, and which of them are as narrow as the request allows ("preferred"). Merging takes
 * one hint of each resource, intersects their nodes, and finds the best result by upstream's rules:
 * preferred first, then narrow before wide, then low numbers. The policy decides whether the best
 * result is good enough.
 */
#ifndef NODE_NUMA_TOPOLOGY_H
#define NODE_NUMA_TOPOLOGY_H

#include "base/core/arena.h"

/* Upstream's limit: hints are made for every set of nodes, so more nodes would take too long. */
enum { TOPOLOGY_NODES_MAX = 8, TOPOLOGY_SETS_MAX = 1 << TOPOLOGY_NODES_MAX };

/* Flag --topology-manager-policy; the rules are upstream's. */
enum topology_policy {
	TOPOLOGY_NONE,
	TOPOLOGY_BEST_EFFORT,
	TOPOLOGY_RESTRICTED,
	TOPOLOGY_SINGLE_NUMA,
};

struct topology_hint {
	uint64_t nodes; /* bits; meaningless if `any` is set */
	bool any; /* any nodes will do */
	bool preferred;
};

/* All hints for one resource. With n 0 and `any` false, no nodes can provide it. */
struct topology_hints {
	struct topology_hint *v;
	size_t n;
	bool any; /* the resource has no preference */
};

/* Makes room for a hint for every set of these nodes; in `a`. */
struct topology_hints topology_hints_make(uint64_t nodes, struct arena *a);

/* Adds a hint, not preferred yet. */
void topology_hints_add(struct topology_hints *h, uint64_t nodes);
/* Marks the hints with exactly this many nodes as preferred. */
void topology_hints_prefer(struct topology_hints *h, int nodes);

/*
 * Walks the non-empty sets of nodes; start with *at = 0. Returns false at the end.
 *
 *	for (uint64_t set = 0; topology_next_set(nodes, &set);)
 */
bool topology_next_set(uint64_t nodes, uint64_t *at);

/*
 * Finds the best common hint for these resources on a machine with the nodes `all` (at most
 * TOPOLOGY_NODES_MAX). Returns false if the policy does not admit it. With TOPOLOGY_NONE nodes
 * never matter.
 */
bool topology_merge(enum topology_policy policy, uint64_t all, const struct topology_hints *v,
		    size_t n, struct topology_hint *ret_best);

#endif
