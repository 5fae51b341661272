/*
 * Tables are small (nodes times kinds) and rebuilt when memory is released, so there is only a
 * function to take memory.
 */
#include "node/numa/memory_table.h"

#include "base/core/mem.h"

static bool in(uint64_t nodes, const struct memory_node *n)
{
	return nodes >> n->id & 1;
}

void memory_table_init(struct memory_table *t, const struct machine *m, const int64_t *reserved,
		       size_t nreserved)
{
	t->n = MIN(m->nnuma, (size_t)MACHINE_NUMA_MAX);
	t->v = xcalloc(t->n, sizeof(*t->v));
	for (size_t i = 0; i < t->n; i++) {
		const struct machine_numa *from = &m->numa[i];
		struct memory_node *n = &t->v[i];
		int64_t plain = from->memory_bytes;

		if ((size_t)from->id < nreserved)
			plain -= reserved[from->id];
		*n = (struct memory_node){ .id = from->id, .nkinds = from->nhuge + 1 };
		n->group = UINT64_C(1) << from->id;
		for (size_t k = 0; k < from->nhuge; k++) {
			n->kinds[k + 1].page = from->huge_size[k];
			n->kinds[k + 1].allocatable = n->kinds[k + 1].left = from->huge_bytes[k];
			plain -= from->huge_bytes[k];
		}
		n->kinds[0].allocatable = n->kinds[0].left = MAX(plain, 0);
	}
}

void memory_table_release(struct memory_table *t)
{
	free(t->v);
	*t = (struct memory_table){ 0 };
}

/* The index of a kind; -1 if the node has none of it. */
static int memory_table_kind_of(const struct memory_node *n, int64_t page)
{
	for (size_t k = 0; k < n->nkinds; k++) {
		if (n->kinds[k].page == page)
			return (int)k;
	}
	return -1;
}

void memory_table_take(struct memory_table *t, const struct memory_block *b, int64_t bytes)
{
	for (size_t i = 0; i < t->n; i++) {
		struct memory_node *n = &t->v[i];
		int k = memory_table_kind_of(n, b->page);
		int64_t part;

		if (!in(b->nodes, n))
			continue;
		n->blocks++;
		n->group = b->nodes;
		if (k < 0)
			continue;
		part = MIN(bytes, n->kinds[k].left);
		n->kinds[k].left -= part;
		bytes -= part;
	}
}

struct totals {
	int64_t left, allocatable;
};

static struct totals totals(const struct memory_table *t, uint64_t nodes, int64_t page)
{
	struct totals sum = { 0 };

	for (size_t i = 0; i < t->n; i++) {
		int k = memory_table_kind_of(&t->v[i], page);

		if (k < 0 || !in(nodes, &t->v[i]))
			continue;
		sum.left += t->v[i].kinds[k].left;
		sum.allocatable += t->v[i].kinds[k].allocatable;
	}
	return sum;
}

bool memory_table_fits(const struct memory_table *t, uint64_t nodes, const struct memory_amount *v,
		       size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (totals(t, nodes, v[i].page).left < v[i].bytes)
			return false;
	}
	return true;
}

bool memory_table_mixes(const struct memory_table *t, uint64_t nodes)
{
	if ((nodes & (nodes - 1)) == 0)
		return false;
	for (size_t i = 0; i < t->n; i++) {
		if (in(nodes, &t->v[i]) && t->v[i].blocks > 0 && t->v[i].group != nodes)
			return true;
	}
	return false;
}

int64_t memory_again(const struct memory_block *again, size_t n, uint64_t nodes, int64_t page)
{
	for (size_t i = 0; i < n; i++) {
		if (again[i].nodes == nodes && again[i].page == page)
			return again[i].bytes;
	}
	return 0;
}

/* --- hints ----------------------------------------------------------------------------------- */

static bool could_ever(const struct memory_table *t, uint64_t nodes, const struct memory_amount *v,
		       size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (totals(t, nodes, v[i].page).allocatable < v[i].bytes)
			return false;
	}
	return true;
}

/* A node in a group serves no single blocks. */
static bool grouped(const struct memory_table *t, uint64_t node)
{
	for (size_t i = 0; i < t->n; i++) {
		if (in(node, &t->v[i]))
			return t->v[i].group != node;
	}
	return false;
}

static bool can_now(const struct memory_table *t, uint64_t nodes, const struct memory_amount *v,
		    size_t n, const struct memory_block *again, size_t nagain)
{
	bool single = (nodes & (nodes - 1)) == 0;

	if (single ? grouped(t, nodes) : memory_table_mixes(t, nodes))
		return false;
	for (size_t i = 0; i < n; i++) {
		int64_t left = totals(t, nodes, v[i].page).left;

		if (left + memory_again(again, nagain, nodes, v[i].page) < v[i].bytes)
			return false;
	}
	return true;
}

struct topology_hints memory_table_hints(const struct memory_table *t,
					 const struct memory_amount *v, size_t n,
					 const struct memory_block *again, size_t nagain,
					 struct arena *a)
{
	struct topology_hints h;
	uint64_t nodes = 0;
	int fewest = (int)t->n;

	for (size_t i = 0; i < MIN(t->n, (size_t)TOPOLOGY_NODES_MAX); i++)
		nodes |= UINT64_C(1) << t->v[i].id;
	h = topology_hints_make(nodes, a);
	for (uint64_t set = 0; topology_next_set(nodes, &set);) {
		if (!could_ever(t, set, v, n))
			continue;
		fewest = MIN(fewest, __builtin_popcountll(set));
		if (can_now(t, set, v, n, again, nagain))
			topology_hints_add(&h, set);
	}
	topology_hints_prefer(&h, fewest);
	return h;
}
