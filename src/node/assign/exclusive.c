/*
 * Exclusive CPUs and memory of containers of Guaranteed pods, by the static policies. As upstream,
 * later containers reuse what an init container had, but not what a sidecar has.
 */
#include "base/core/mem.h"
#include "node/assign/admit.h"
#include "node/numa/cpu_pick.h"

/* --- CPUs ------------------------------------------------------------------------------------ */

void assign_available_cpus(const struct assign *s, struct cpu_set *ret_cpus)
{
	*ret_cpus = s->free_cpus;
	cpu_set_minus(ret_cpus, &s->reserved_cpus);
}

static void keep_nodes(const struct machine *m, uint64_t nodes, struct cpu_set *cpus)
{
	for (size_t i = 0; i < m->ncpus; i++) {
		if (!(nodes >> m->cpus[i].numa & 1))
			cpu_set_remove(cpus, m->cpus[i].id);
	}
}

/* First from the nodes of the affinity, then from anywhere. */
static int pick_cpus(const struct admitting *in, int64_t n, struct cpu_set *ret_cpus,
		     struct error *err)
{
	const struct machine *m = in->s->machine;
	struct cpu_set available, aligned = { 0 }, rest;
	int r;

	assign_available_cpus(in->s, &available);
	cpu_set_or(&available, &in->again_cpus);
	if (!in->affinity.any) {
		aligned = available;
		keep_nodes(m, in->affinity.nodes, &aligned);
		r = cpu_pick(m, &aligned, MIN(n, cpu_set_count(&aligned)), in->a, &aligned, err);
		if (r < 0)
			return r;
	}
	cpu_set_minus(&available, &aligned);
	r = cpu_pick(m, &available, n - cpu_set_count(&aligned), in->a, &rest, err);
	if (r < 0)
		return r;
	*ret_cpus = rest;
	cpu_set_or(ret_cpus, &aligned);
	return 0;
}

int assign_take_cpus(struct admitting *in, const struct json *container, struct container_rec *rec,
		     struct error *err)
{
	int64_t n = assign_cpus_wanted(in, container);
	struct cpu_set cpus;
	int r;

	if (n == 0)
		return 0;
	r = pick_cpus(in, n, &cpus, err);
	if (r < 0)
		return r;
	rec->cpus = XNEW(struct cpu_set);
	*rec->cpus = cpus;
	cpu_set_minus(&in->s->free_cpus, &cpus);
	if (rec->kind == POD_INIT)
		cpu_set_or(&in->again_cpus, &cpus);
	else
		cpu_set_minus(&in->again_cpus, &cpus);
	return 0;
}

/* --- memory ---------------------------------------------------------------------------------- */

/* Preferred first, then narrow before wide, then low numbers; `n` > 0. */
static struct topology_hint best_of(const struct topology_hint *v, size_t n)
{
	struct topology_hint best = v[0];

	for (size_t i = 1; i < n; i++) {
		int have = __builtin_popcountll(best.nodes);
		int count = __builtin_popcountll(v[i].nodes);

		if (v[i].preferred != best.preferred ? v[i].preferred
		    : count != have                  ? count < have
						     : v[i].nodes < best.nodes)
			best = v[i];
	}
	return best;
}

/* Among the sets of nodes that can provide it, finds the best one that contains all of `nodes`. */
static int find_nodes(struct admitting *in, const struct memory_amount *v, size_t n, uint64_t nodes,
		      struct topology_hint *ret_hint, struct error *err)
{
	struct topology_hints h = memory_table_hints(&in->s->memory, v, n, in->again.v, in->again.n,
						     in->a);
	bool extends = nodes != 0;
	size_t kept = 0;

	for (size_t i = 0; i < h.n; i++) {
		if ((h.v[i].nodes & nodes) == nodes)
			h.v[kept++] = h.v[i];
	}
	if (kept == 0)
		return error_set(
			err, ERR_INVALID, "[memorymanager] failed to %s",
			extends ? "find NUMA nodes to extend the current topology hint"
				: "get the default NUMA affinity, no NUMA nodes with enough "
				  "memory is available");
	*ret_hint = best_of(h.v, kept);
	if (!ret_hint->preferred && in->affinity.preferred)
		return error_set(err, ERR_INVALID,
				 "[memorymanager] failed to find the %s preferred hint",
				 extends ? "extended" : "default");
	return 0;
}

static int choose_nodes(struct admitting *in, const struct memory_amount *v, size_t n,
			struct topology_hint *ret_hint, struct error *err)
{
	struct topology_hint hint = in->affinity;
	int r = 0;

	if (hint.any)
		r = find_nodes(in, v, n, 0, &hint, err);
	if (r == 0 && !memory_table_fits(&in->s->memory, hint.nodes, v, n))
		r = find_nodes(in, v, n, hint.nodes, &hint, err);
	if (r == 0 && memory_table_mixes(&in->s->memory, hint.nodes))
		r = error_set(err, ERR_INVALID,
			      "[memorymanager] preferred hint violates NUMA node allocation");
	if (r == 0)
		*ret_hint = hint;
	return r;
}

static struct memory_block *find_block(struct memory_block *v, size_t n,
				       const struct memory_block *like)
{
	for (size_t i = 0; i < n; i++) {
		if (v[i].nodes == like->nodes && v[i].page == like->page)
			return &v[i];
	}
	return NULL;
}

/* Init containers run one after the other, so later containers can reuse the largest block. */
static void keep_for_later(struct admitting *in, const struct memory_block *b, bool init)
{
	struct memory_block *again = find_block(in->again.v, in->again.n, b);

	if (again)
		again->bytes = init ? MAX(again->bytes, b->bytes)
				    : MAX(again->bytes - b->bytes, INT64_C(0));
	else if (init)
		(void)vec_push(&in->again, *b);
}

/* Makes the pod's blocks add up to what it has taken: reused memory is counted once. */
static void shrink_earlier(struct pod_rec *p, const struct container_rec *by,
			   const struct memory_block *b)
{
	int64_t left = b->bytes;

	for (size_t i = 0; i < p->containers.n && left > 0; i++) {
		struct container_rec *c = &p->containers.v[i];
		struct memory_block *own;
		int64_t part;

		if (c == by)
			return;
		if (c->kind != POD_INIT)
			continue;
		own = find_block(c->memory.v, c->memory.n, b);
		part = own ? MIN(own->bytes, left) : 0;
		left -= part;
		if (own)
			own->bytes -= part;
	}
}

int assign_take_memory(struct admitting *in, const struct json *container,
		       struct container_rec *rec, struct error *err)
{
	const struct memory_amount *v;
	size_t n = assign_memory_wanted(in, container, &v);
	struct topology_hint hint = { 0 };
	int r;

	if (n == 0)
		return 0;
	r = choose_nodes(in, v, n, &hint, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		struct memory_block b = { .nodes = hint.nodes,
					  .page = v[i].page,
					  .bytes = v[i].bytes };
		int64_t again = memory_again(in->again.v, in->again.n, b.nodes, b.page);

		memory_table_take(&in->s->memory, &b, MAX(b.bytes - again, INT64_C(0)));
		keep_for_later(in, &b, rec->kind == POD_INIT);
		shrink_earlier(in->rec, rec, &b);
		(void)vec_push(&rec->memory, b);
	}
	return 0;
}
