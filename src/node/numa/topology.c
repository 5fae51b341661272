/*
 * Upstream tries all combinations of hints, one of each resource; their number explodes with
 * resources and nodes. But only two properties of a combination matter: the intersection of its
 * nodes, and whether it is preferred. So after each resource only the distinct results are kept, at
 * most two for each set of nodes, and joined with the next resource's hints.
 *
 * Upstream's comparison of results is a total order, so their order does not matter.
 */
#include "node/numa/topology.h"

static int numa_topology_count(uint64_t nodes)
{
	return __builtin_popcountll(nodes);
}

/* --- sets of nodes --------------------------------------------------------------------------- */

bool topology_next_set(uint64_t nodes, uint64_t *at)
{
	*at = (*at - nodes) & nodes;
	return *at != 0;
}

struct topology_hints topology_hints_make(uint64_t nodes, struct arena *a)
{
	return (struct topology_hints){ .v = ARENA_ARRAY(a, struct topology_hint,
							 (size_t)1 << numa_topology_count(nodes)) };
}

void topology_hints_add(struct topology_hints *h, uint64_t nodes)
{
	h->v[h->n++] = (struct topology_hint){ .nodes = nodes };
}

void topology_hints_prefer(struct topology_hints *h, int nodes)
{
	for (size_t i = 0; i < h->n; i++)
		h->v[i].preferred = numa_topology_count(h->v[i].nodes) == nodes;
}

/* --- results --------------------------------------------------------------------------------- */

/*
 * Flags of the existing results: by preferred and by set, whose bits are the machine's nodes in
 * order. The last index is for combinations in which every resource accepts any nodes.
 */
enum { NO_MATTER = TOPOLOGY_SETS_MAX };

struct results {
	bool has[2][TOPOLOGY_SETS_MAX + 1];
};

static unsigned dense(uint64_t nodes, uint64_t all)
{
	unsigned d = 0;

	for (unsigned i = 0; all; i++, all &= all - 1) {
		if (nodes & all & -all)
			d |= 1U << i;
	}
	return d;
}

static uint64_t sparse(unsigned d, uint64_t all)
{
	uint64_t nodes = 0;

	for (; all; all &= all - 1, d >>= 1) {
		if (d & 1)
			nodes |= all & -all;
	}
	return nodes;
}

/*
 * Joins the result (preferred, set) with a hint. The join is preferred if all nodes are the same.
 */
static void topology_join(struct results *out, bool preferred, unsigned set,
			  const struct topology_hint *h, uint64_t all)
{
	unsigned nodes = h->any ? 0 : dense(h->nodes, all);

	preferred &= h->preferred;
	if (h->any)
		out->has[preferred][set] = true;
	else if (set == NO_MATTER)
		out->has[preferred][nodes] = true;
	else
		out->has[preferred && set == nodes][set & nodes] = true;
}

static bool single(const struct topology_hint *h)
{
	return h->preferred && (h->any || numa_topology_count(h->nodes) == 1);
}

static void join_all(struct results *r, const struct topology_hint *v, size_t n, bool only_single,
		     uint64_t all)
{
	struct results out = { 0 };

	for (size_t i = 0; i < n; i++) {
		if (only_single && !single(&v[i]))
			continue;
		for (unsigned at = 0; at < 2 * (NO_MATTER + 1); at++) {
			bool preferred = at > NO_MATTER;
			unsigned set = at % (NO_MATTER + 1);

			if (r->has[preferred][set])
				topology_join(&out, preferred, set, &v[i], all);
		}
	}
	*r = out;
}

/* --- the best -------------------------------------------------------------------------------- */

/*
 * The number of nodes of the resource that needs most: the target for a result that is not
 * preferred.
 */
static int wanted_nodes(const struct topology_hints *v, size_t n)
{
	int most = 0;

	for (size_t i = 0; i < n; i++) {
		int fewest = 0;

		for (size_t h = 0; h < v[i].n; h++) {
			if (fewest == 0 || numa_topology_count(v[i].v[h].nodes) < fewest)
				fewest = numa_topology_count(v[i].v[h].nodes);
		}
		most = MAX(most, fewest);
	}
	return most;
}

/* Smaller is better: exactly as wanted, then fewer (the more the better), then more. */
static int distance(int nodes, int wanted)
{
	return nodes <= wanted ? wanted - nodes : nodes;
}

static bool better(const struct topology_hint *a, const struct topology_hint *b, int wanted)
{
	int na = numa_topology_count(a->nodes), nb = numa_topology_count(b->nodes);

	if (a->preferred != b->preferred)
		return a->preferred;
	if (!a->preferred && distance(na, wanted) != distance(nb, wanted)) {
		if ((na <= wanted) != (nb <= wanted))
			return na <= wanted;
		return distance(na, wanted) < distance(nb, wanted);
	}
	return na != nb ? na < nb : a->nodes < b->nodes;
}

static struct topology_hint find_best(const struct results *r, uint64_t all, int wanted)
{
	struct topology_hint best = { .nodes = all };
	bool found = false;

	/* The empty set is not a valid result. */
	for (unsigned at = 0; at < 2 * (NO_MATTER + 1); at++) {
		unsigned set = at % (NO_MATTER + 1);
		struct topology_hint h = { .preferred = at > NO_MATTER,
					   .nodes = set == NO_MATTER ? all : sparse(set, all) };

		if (!r->has[h.preferred][set] || h.nodes == 0)
			continue;
		if (!found || better(&h, &best, wanted))
			best = h;
		found = true;
	}
	return best;
}

/* The hints of a resource that accepts any nodes, and of one that no nodes can provide. */
static const struct topology_hint no_matter = { .any = true, .preferred = true };
static const struct topology_hint impossible = { .any = true, .preferred = false };

bool topology_merge(enum topology_policy policy, uint64_t all, const struct topology_hints *v,
		    size_t n, struct topology_hint *ret_best)
{
	struct results r = { .has[true][NO_MATTER] = true };
	bool only_single = policy == TOPOLOGY_SINGLE_NUMA;

	*ret_best = impossible; /* no requests, so nothing is preferred */
	if (policy == TOPOLOGY_NONE)
		return true;
	for (size_t i = 0; i < n; i++) {
		if (v[i].any)
			join_all(&r, &no_matter, 1, only_single, all);
		else if (v[i].n == 0)
			join_all(&r, &impossible, 1, only_single, all);
		else
			join_all(&r, v[i].v, v[i].n, only_single, all);
	}
	*ret_best = find_best(&r, all, wanted_nodes(v, n));
	if (only_single && ret_best->nodes == all)
		ret_best->any = true;
	return policy == TOPOLOGY_BEST_EFFORT || ret_best->preferred;
}
