/*
 * Admission and NUMA: hints of devices, CPUs and memory for a container or the pod, and the devices
 * that fit the nodes chosen by the policy.
 */
#include "node/assign/admit.h"

/* --- devices --------------------------------------------------------------------------------- */

/* NUMA nodes from 64 on are ignored. */
static uint64_t nodes_of(const struct device_rec *d)
{
	uint64_t nodes = 0;

	for (size_t i = 0; i < d->nnuma; i++) {
		if (d->numa[i] >= 0 && d->numa[i] < 64)
			nodes |= UINT64_C(1) << d->numa[i];
	}
	return nodes;
}

/* Whether any device of the resource has NUMA nodes. */
static bool has_topology(const struct resource_rec *r)
{
	struct omap_cursor c;

	for (bool ok = omap_first(&r->devices, &c); ok; ok = omap_next(&c)) {
		const struct device_rec *d = omap_value(&c);

		if (d->listed && d->nnuma > 0)
			return true;
	}
	return false;
}

void assign_split(const struct admitting *in, const struct resource_rec *r,
		  struct device_list available, struct device_split *ret_split)
{
	struct device_rec **room;

	*ret_split = (struct device_split){ .anywhere = available };
	if (in->affinity.any || !has_topology(r))
		return;
	room = ARENA_ARRAY(in->a, struct device_rec *, available.n * 3);
	ret_split->aligned.v = room;
	ret_split->unaligned.v = room + available.n;
	ret_split->anywhere = (struct device_list){ .v = room + available.n * 2 };
	for (size_t i = 0; i < available.n; i++) {
		struct device_rec *d = available.v[i];
		struct device_list *l = &ret_split->unaligned;

		if (d->nnuma == 0)
			l = &ret_split->anywhere;
		else if (nodes_of(d) & in->affinity.nodes)
			l = &ret_split->aligned;
		l->v[l->n++] = d;
	}
}

/* The NUMA nodes of devices, computed once for all sets of nodes. */
struct places {
	uint64_t *v;
	size_t n;
};

static struct places places_of(struct arena *a, struct device_list l)
{
	struct places p = { .v = ARENA_ARRAY(a, uint64_t, l.n), .n = l.n };

	for (size_t i = 0; i < l.n; i++)
		p.v[i] = nodes_of(l.v[i]);
	return p;
}

static int64_t count_in(struct places p, uint64_t set)
{
	int64_t n = 0;

	for (size_t i = 0; i < p.n; i++)
		n += (p.v[i] & set) != 0;
	return n;
}

static struct device_list listed(const struct admitting *in, const struct resource_rec *r)
{
	struct device_list l = { .v = ARENA_ARRAY(in->a, struct device_rec *, r->devices.n) };
	struct omap_cursor c;

	for (bool ok = omap_first(&r->devices, &c); ok; ok = omap_next(&c)) {
		struct device_rec *d = omap_value(&c);

		if (d->listed)
			l.v[l.n++] = d;
	}
	return l;
}

/* Devices without topology fit everywhere. */
static struct device_list placed(const struct admitting *in, struct device_list l)
{
	struct device_list out = { .v = ARENA_ARRAY(in->a, struct device_rec *, l.n) };

	for (size_t i = 0; i < l.n; i++) {
		if (l.v[i]->has_topology)
			out.v[out.n++] = l.v[i];
	}
	return out;
}

static struct topology_hints device_hints(const struct admitting *in, const struct resource_rec *r,
					  int64_t required, struct device_list again)
{
	struct device_list free = assign_available(in, r);
	struct places all = places_of(in->a, listed(in, r));
	struct places available = places_of(in->a, free);
	struct places reused = places_of(in->a, placed(in, again));
	uint64_t nodes = 0;
	struct topology_hints h;
	int fewest;

	if (!has_topology(r))
		return (struct topology_hints){ .any = true };
	if ((int64_t)(free.n + again.n) < required)
		return (struct topology_hints){ 0 };
	for (size_t i = 0; i < all.n; i++)
		nodes |= all.v[i];
	nodes &= machine_nodes(in->s->machine);
	if (nodes == 0)
		nodes = machine_nodes(in->s->machine);
	fewest = __builtin_popcountll(nodes);
	h = topology_hints_make(nodes, in->a);
	for (uint64_t set = 0; topology_next_set(nodes, &set);) {
		int64_t kept = count_in(reused, set);

		if (count_in(all, set) >= required)
			fewest = MIN(fewest, __builtin_popcountll(set));
		if (kept == (int64_t)reused.n && kept + count_in(available, set) >= required)
			topology_hints_add(&h, set);
	}
	topology_hints_prefer(&h, fewest);
	return h;
}

/* --- CPUs ------------------------------------------------------------------------------------ */

/* By node: CPUs that exist, that are free, and that the pod may reuse. */
struct cpu_counts {
	int64_t all[64], free[64], again[64];
	uint64_t nodes, again_nodes;
};

static void count_cpus(const struct admitting *in, bool again, struct cpu_counts *n)
{
	const struct machine *m = in->s->machine;
	struct cpu_set available;

	assign_available_cpus(in->s, &available);
	*n = (struct cpu_counts){ 0 };
	for (size_t i = 0; i < m->ncpus; i++) {
		int node = m->cpus[i].numa;

		n->nodes |= UINT64_C(1) << node;
		n->all[node]++;
		n->free[node] += cpu_set_has(&available, m->cpus[i].id);
		if (again && cpu_set_has(&in->again_cpus, m->cpus[i].id)) {
			n->again[node]++;
			n->again_nodes |= UINT64_C(1) << node;
		}
	}
}

static int64_t sum_in(const int64_t *v, uint64_t set)
{
	int64_t n = 0;

	for (; set; set &= set - 1)
		n += v[__builtin_ctzll(set)];
	return n;
}

static struct topology_hints cpu_hints(const struct admitting *in, int64_t required, bool again)
{
	struct cpu_counts n;
	struct topology_hints h;
	int fewest;

	if (required == 0)
		return (struct topology_hints){ .any = true };
	count_cpus(in, again, &n);
	fewest = __builtin_popcountll(n.nodes);
	h = topology_hints_make(n.nodes, in->a);
	for (uint64_t set = 0; topology_next_set(n.nodes, &set);) {
		if (sum_in(n.all, set) >= required)
			fewest = MIN(fewest, __builtin_popcountll(set));
		if ((n.again_nodes & ~set) == 0 &&
		    sum_in(n.again, set) + sum_in(n.free, set) >= required)
			topology_hints_add(&h, set);
	}
	topology_hints_prefer(&h, fewest);
	return h;
}

/* --- all resources --------------------------------------------------------------------------- */

struct all_hints {
	VEC(struct topology_hints) v;
};

/* Memory that is not available gives no hint; taking it fails later, with its own message. */
static void add_memory(struct admitting *in, const struct memory_amount *v, size_t n, bool again,
		       struct all_hints *all)
{
	struct topology_hints h;

	if (n == 0)
		return;
	h = memory_table_hints(&in->s->memory, v, n, in->again.v, again ? in->again.n : 0, in->a);
	h.any = h.n == 0;
	for (size_t i = 0; i < n; i++)
		(void)vec_push(&all->v, h);
}

static void hints_of_container(struct admitting *in, const struct json *container,
			       struct all_hints *all)
{
	const struct memory_amount *amounts;
	const struct json *at = NULL;
	struct resource_rec *r;
	int64_t required;
	size_t n;

	while (assign_request_next(in, container, &at, &r, &required))
		(void)vec_push(&all->v, device_hints(in, r, required, assign_reusable(in, r)));
	(void)vec_push(&all->v, cpu_hints(in, assign_cpus_wanted(in, container), true));
	n = assign_memory_wanted(in, container, &amounts);
	add_memory(in, amounts, n, true, all);
}

/* The whole pod's request of a resource; returns false if an earlier container named it already. */
static bool pod_devices(struct admitting *in, const struct resource_rec *wanted,
			const struct json *first, int64_t *ret_required)
{
	struct pod_containers c = pod_containers(in->pod);
	struct pod_amount sum = { 0 };
	bool seen = false;

	while (pod_containers_next(&c)) {
		const struct json *at = NULL;
		struct resource_rec *r;
		int64_t required;

		while (assign_request_next(in, c.container, &at, &r, &required)) {
			if (r != wanted)
				continue;
			if (!seen && c.container != first)
				return false;
			seen = true;
			pod_amount_add(&sum, c.kind, required);
		}
	}
	*ret_required = pod_amount_total(&sum);
	return true;
}

static void add_amounts(struct memory_amount *all, struct pod_amount *sums, size_t *n,
			enum pod_container_kind kind, const struct memory_amount *v, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t at = 0;

		while (at < *n && all[at].page != v[i].page)
			at++;
		if (at == *n && *n >= MEMORY_KINDS_MAX)
			continue;
		if (at == *n)
			all[(*n)++].page = v[i].page;
		pod_amount_add(&sums[at], kind, v[i].bytes);
	}
}

static void hints_of_amounts(struct admitting *in, struct all_hints *all)
{
	struct pod_containers c = pod_containers(in->pod);
	struct memory_amount memory[MEMORY_KINDS_MAX] = { 0 };
	struct pod_amount cpus = { 0 }, sums[MEMORY_KINDS_MAX] = { 0 };
	size_t n = 0;

	while (pod_containers_next(&c)) {
		const struct memory_amount *v;
		size_t count = assign_memory_wanted(in, c.container, &v);

		pod_amount_add(&cpus, c.kind, assign_cpus_wanted(in, c.container));
		add_amounts(memory, sums, &n, c.kind, v, count);
	}
	for (size_t i = 0; i < n; i++)
		memory[i].bytes = pod_amount_total(&sums[i]);
	(void)vec_push(&all->v, cpu_hints(in, pod_amount_total(&cpus), false));
	add_memory(in, memory, n, false, all);
}

static void hints_of_pod(struct admitting *in, struct all_hints *all)
{
	struct pod_containers c = pod_containers(in->pod);

	while (pod_containers_next(&c)) {
		const struct json *at = NULL;
		struct resource_rec *r;
		int64_t required;

		while (assign_request_next(in, c.container, &at, &r, &required)) {
			if (pod_devices(in, r, c.container, &required))
				(void)vec_push(&all->v, device_hints(in, r, required,
								     (struct device_list){ 0 }));
		}
	}
	hints_of_amounts(in, all);
}

int assign_find_affinity(struct admitting *in, const struct json *container, struct error *err)
{
	enum topology_policy policy = in->s->topology;
	struct all_hints all;
	bool admitted;

	/* A machine that was read again may have more nodes than a policy can handle. */
	if (policy == TOPOLOGY_NONE || in->s->machine->nnuma > TOPOLOGY_NODES_MAX) {
		in->affinity = (struct topology_hint){ .any = true };
		return 0;
	}
	vec_init(&all.v, SIZE_MAX);
	if (container)
		hints_of_container(in, container, &all);
	else
		hints_of_pod(in, &all);
	admitted = topology_merge(policy, machine_nodes(in->s->machine), all.v.v, all.v.n,
				  &in->affinity);
	vec_release(&all.v);
	if (admitted)
		return 0;
	in->io->reason = "TopologyAffinityError";
	return error_set(err, ERR_INVALID, "Resources cannot be allocated with Topology locality");
}
