/*
 * topology - which NUMA nodes a container's resources should come from: hints and their
 * merging. Pure.
 *
 * Whoever hands out a resource (devices, CPUs, memory) says by hints which sets of nodes could
 * give it, and which of them are as narrow as the request allows ("preferred"). Merging takes
 * one hint of each resource, intersects their nodes, and finds the best result by upstream's
 * rules: preferred before not, then narrow before wide, then low numbers. The policy says
 * whether the best is good enough.
 */
#ifndef NODE_NUMA_TOPOLOGY_H
#define NODE_NUMA_TOPOLOGY_H

#include "base/core/arena.h"

/* As upstream: hints are made for every set of nodes, so that more would take too long. */
enum { TOPOLOGY_NODES_MAX = 8, TOPOLOGY_SETS_MAX = 1 << TOPOLOGY_NODES_MAX };

/* Flag --topology-manager-policy; the rules are upstream's. */
enum topology_policy {
	TOPOLOGY_NONE,
	TOPOLOGY_BEST_EFFORT,
	TOPOLOGY_RESTRICTED,
	TOPOLOGY_SINGLE_NUMA,
};

struct topology_hint {
	uint64_t nodes; /* bits; with `any`: of no meaning */
	bool any; /* no matter which */
	bool preferred;
};

/* All hints for one resource; none and not `any`: it cannot be had from any nodes. */
struct topology_hints {
	struct topology_hint *v;
	size_t n;
	bool any; /* the resource does not mind */
};

/* Room for a hint for every set of these nodes; in `a`. */
struct topology_hints topology_hints_make(uint64_t nodes, struct arena *a);

/* Adds one that is not preferred yet. */
void topology_hints_add(struct topology_hints *h, uint64_t nodes);
/* Those of exactly so many nodes are the preferred ones. */
void topology_hints_prefer(struct topology_hints *h, int nodes);

/*
 * Walks the sets of nodes but the empty one: *at begins with 0. False at the end.
 *
 *	for (uint64_t set = 0; topology_next_set(nodes, &set);)
 */
bool topology_next_set(uint64_t nodes, uint64_t *at);

/*
 * The best common hint for these resources on a machine with the nodes `all` (at most
 * TOPOLOGY_NODES_MAX). False when the policy does not admit it. With TOPOLOGY_NONE nodes
 * never matter.
 */
bool topology_merge(enum topology_policy policy, uint64_t all, const struct topology_hints *v,
		    size_t n, struct topology_hint *ret_best);

#endif
