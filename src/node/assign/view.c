/*
 * Views of the log's pods: names, CPUs, memory, devices in use and in the past.
 */
#include "node/assign/assign_impl.h"

static const struct container_rec *view_find(const struct assign *s, struct str pod_uid,
					     struct str container)
{
	const struct pod_rec *p = assign_pod(s, pod_uid);

	return p ? assign_container(p, container) : NULL;
}

bool assign_pod_names(const struct assign *s, struct str pod_uid, struct str *ret_ns,
		      struct str *ret_name)
{
	const struct pod_rec *p = assign_pod(s, pod_uid);

	if (!p)
		return false;
	*ret_ns = str_from(p->ns);
	*ret_name = str_from(p->name);
	return true;
}

bool assign_next_container(const struct assign *s, struct str pod_uid, size_t *at,
			   struct str *ret_name, enum pod_container_kind *ret_kind)
{
	const struct pod_rec *p = assign_pod(s, pod_uid);

	if (!p || *at >= p->containers.n)
		return false;
	*ret_name = str_from(p->containers.v[*at].name);
	*ret_kind = p->containers.v[*at].kind;
	(*at)++;
	return true;
}

/* --- CPUs and memory ------------------------------------------------------------------------- */

struct str assign_cpus(const struct assign *s, struct str pod_uid, struct str container,
		       struct arena *a)
{
	const struct container_rec *c = view_find(s, pod_uid, container);

	if (!s->static_cpus)
		return STR_NULL;
	return cpu_set_print(c && c->cpus ? c->cpus : &s->free_cpus, a);
}

struct str assign_mems(const struct assign *s, struct str pod_uid, struct str container,
		       struct arena *a)
{
	const struct container_rec *c = view_find(s, pod_uid, container);
	struct cpu_set nodes = { 0 };

	for (size_t i = 0; c && i < c->memory.n; i++)
		nodes.w[0] |= c->memory.v[i].nodes;
	return cpu_set_print(&nodes, a);
}

bool assign_own_cpus(const struct assign *s, struct str pod_uid, struct str container,
		     struct cpu_set *ret_cpus)
{
	const struct container_rec *c = view_find(s, pod_uid, container);

	if (!c || !c->cpus)
		return false;
	*ret_cpus = *c->cpus;
	return true;
}

size_t assign_memory(const struct assign *s, struct str pod_uid, struct str container,
		     struct arena *a, const struct memory_block **ret_blocks)
{
	const struct container_rec *c = view_find(s, pod_uid, container);
	size_t n = c ? c->memory.n : 0;
	struct memory_block *v = ARENA_ARRAY(a, struct memory_block, n);

	for (size_t i = 0; i < n; i++)
		v[i] = c->memory.v[i];
	*ret_blocks = v;
	return n;
}

void assign_allocatable_cpus(const struct assign *s, struct cpu_set *ret_cpus)
{
	*ret_cpus = (struct cpu_set){ 0 };
	for (size_t i = 0; s->static_cpus && i < s->machine->ncpus; i++) {
		if (!cpu_set_has(&s->reserved_cpus, s->machine->cpus[i].id))
			cpu_set_add(ret_cpus, s->machine->cpus[i].id);
	}
}

size_t assign_allocatable_memory(const struct assign *s, struct arena *a,
				 const struct memory_block **ret_blocks)
{
	struct memory_block *v = ARENA_ARRAY(a, struct memory_block,
					     s->memory.n * MEMORY_KINDS_MAX);
	size_t n = 0;

	*ret_blocks = v;
	for (size_t i = 0; i < s->memory.n; i++) {
		const struct memory_node *node = &s->memory.v[i];

		for (size_t k = 0; k < node->nkinds; k++) {
			if (node->kinds[k].allocatable == 0)
				continue;
			v[n++] = (struct memory_block){ .nodes = UINT64_C(1) << node->id,
							.page = node->kinds[k].page,
							.bytes = node->kinds[k].allocatable };
		}
	}
	return n;
}

/* --- uses ------------------------------------------------------------------------------------ */

static size_t count_uses(const struct pod_rec *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->containers.n; i++) {
		for (size_t h = 0; h < p->containers.v[i].holds.n; h++)
			n += p->containers.v[i].holds.v[h].n;
	}
	for (size_t i = 0; i < p->claims.n; i++)
		n += p->claims.v[i].claim->devices.n;
	return n;
}

static struct assign_use *add_holds(const struct pod_rec *p, const struct container_rec *c,
				    struct assign_use *at)
{
	for (size_t i = 0; i < c->holds.n; i++) {
		const struct hold_rec *h = &c->holds.v[i];

		for (size_t d = 0; d < h->n; d++)
			*at++ = (struct assign_use){ .container = str_from(c->name),
						     .resource = h->resource->name,
						     .id = h->devices[d]->id,
						     .numa = h->devices[d]->numa,
						     .nnuma = h->devices[d]->nnuma,
						     .has_topology = h->devices[d]->has_topology,
						     .past = p->ended };
	}
	return at;
}

static struct assign_use *add_claim(const struct pod_rec *p, const struct claim_link *l,
				    struct assign_use *at)
{
	const struct claim_rec *c = l->claim;
	bool past = !assign_claim_user(c, str_from(p->uid))->uses;

	for (size_t d = 0; d < c->devices.n; d++)
		*at++ = (struct assign_use){ .pod_claim = str_from(l->name),
					     .claim_uid = str_from(c->uid),
					     .claim_ns = str_from(c->ns),
					     .claim_name = str_from(c->name),
					     .device = c->devices.v[d]->view,
					     .past = past };
	return at;
}

size_t assign_uses(const struct assign *s, struct str pod_uid, struct arena *a,
		   const struct assign_use **ret_uses)
{
	const struct pod_rec *p = assign_pod(s, pod_uid);
	struct assign_use *v, *at;

	*ret_uses = NULL;
	if (!p)
		return 0;
	*ret_uses = v = at = ARENA_ARRAY(a, struct assign_use, count_uses(p));
	for (size_t i = 0; i < p->containers.n; i++)
		at = add_holds(p, &p->containers.v[i], at);
	for (size_t i = 0; i < p->claims.n; i++)
		at = add_claim(p, &p->claims.v[i], at);
	return (size_t)(at - v);
}
