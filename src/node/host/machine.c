/*
 * Machines as values: made up, compared, freed. machine_read.c reads one.
 */
#include "node/host/machine.h"

void machine_make(struct machine *m, int cpus, int64_t memory_bytes, int numa)
{
	int nodes = MAX(1, MIN(numa, (int)MACHINE_NUMA_MAX));
	struct machine_cpu *c;
	struct machine_numa *n;

	*m = (struct machine){ .ncpus = (size_t)MAX(cpus, 0),
			       .nnuma = (size_t)nodes,
			       .memory_bytes = memory_bytes };
	arena_init(&m->arena, SIZE_MAX);
	m->cpus = c = ARENA_ARRAY(&m->arena, struct machine_cpu, m->ncpus);
	m->numa = n = ARENA_ARRAY(&m->arena, struct machine_numa, m->nnuma);
	for (int i = 0; i < cpus; i++) {
		int node = (int)((int64_t)i * nodes / cpus);

		c[i] = (struct machine_cpu){ .id = i, .core = i, .socket = node, .numa = node };
	}
	for (int i = 0; i < nodes; i++) {
		n[i].id = i;
		n[i].memory_bytes = memory_bytes / nodes;
	}
	/* The remainder goes to the first node. */
	n[0].memory_bytes += memory_bytes % nodes;
}

void machine_release(struct machine *m)
{
	arena_release(&m->arena);
	*m = (struct machine){ 0 };
}

static bool same_cpu(const struct machine_cpu *a, const struct machine_cpu *b)
{
	return a->id == b->id && a->core == b->core && a->socket == b->socket && a->numa == b->numa;
}

static bool same_numa(const struct machine_numa *a, const struct machine_numa *b)
{
	if (a->id != b->id || a->memory_bytes != b->memory_bytes || a->nhuge != b->nhuge)
		return false;
	for (size_t i = 0; i < a->nhuge; i++) {
		if (a->huge_size[i] != b->huge_size[i] || a->huge_bytes[i] != b->huge_bytes[i])
			return false;
	}
	return true;
}

bool machine_equal(const struct machine *a, const struct machine *b)
{
	if (a->ncpus != b->ncpus || a->nnuma != b->nnuma || a->memory_bytes != b->memory_bytes ||
	    a->swap_bytes != b->swap_bytes)
		return false;
	for (size_t i = 0; i < a->ncpus; i++) {
		if (!same_cpu(&a->cpus[i], &b->cpus[i]))
			return false;
	}
	for (size_t i = 0; i < a->nnuma; i++) {
		if (!same_numa(&a->numa[i], &b->numa[i]))
			return false;
	}
	return true;
}

uint64_t machine_nodes(const struct machine *m)
{
	uint64_t nodes = 0;

	for (size_t i = 0; i < m->nnuma; i++)
		nodes |= UINT64_C(1) << m->numa[i].id;
	return nodes;
}
