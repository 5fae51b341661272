/*
 * topology - which NUMA nodes a container's resources should come from: hints and their merging. Pure.
 *
 * Whoever hands out a resource (devices, CPUs, memory) says by hints which sets of nodes could give
 * it, and which of them are as narrow as the request allows ("preferred"). Merging takes one hint of
 * each resource, intersects their nodes, and finds the best result by upstream's rules: preferred
 * before not, then narrow before wide, then low numbers. The policy says whether the best is
 * good enough.
 *
 * Upstream tries all combinations, which explodes with resources and nodes. What a combination comes to
 * is only its intersection and whether it is preferred: so the distinct results are kept after each
 * resource, of which there are at most two for each set of nodes.
 */
#ifndef NODE_TOPOLOGY_H
#define NODE_TOPOLOGY_H

#include "base/arena.h"

/* As upstream: hints are made for every set of nodes, so that more would take too long. */
enum { TOPOLOGY_NODES_MAX = 8 };

struct topology_hint {
	uint64_t nodes; /* bits; with `any`: of no meaning */
	bool any; /* no matter which */
	bool preferred;
};

/* All hints for one resource; none: it cannot be had from any nodes. */
struct topology_hints {
	struct topology_hint *v;
	size_t n;
};

#endif
