/*
 * Messages that are built by the thousand (devices) are in one block of the arena, with everything
 * they point to.
 */
#include "node/podresources/make.h"

#include "base/core/limits.h"
#include "base/json/quantity.h"
#include "base/text/cpu_set.h"
#include "node/assign/assign.h"
#include "node/numa/memory_table.h"

/* A device near one NUMA node, with everything that its message points to. */
struct device_message {
	Podresources__ContainerDevices m;
	Podresources__TopologyInfo topology;
	Podresources__NumaNode node, *nodes[1];
	char *ids[1];
};

static Podresources__ContainerDevices *make_device(struct arena *a, char *resource, char *id,
						   const int64_t *node)
{
	struct device_message *d = ARENA_NEW(a, struct device_message);

	podresources__container_devices__init(&d->m);
	d->m.resource_name = resource;
	d->m.n_device_ids = 1;
	d->m.device_ids = d->ids;
	d->ids[0] = id;
	if (!node)
		return &d->m;
	podresources__topology_info__init(&d->topology);
	podresources__numa_node__init(&d->node);
	d->node.id = *node;
	d->nodes[0] = &d->node;
	d->topology.n_nodes = 1;
	d->topology.nodes = d->nodes;
	d->m.topology = &d->topology;
	return &d->m;
}

static bool is_new(const int64_t *nodes, size_t at)
{
	for (size_t i = 0; i < at; i++) {
		if (nodes[i] == nodes[at])
			return false;
	}
	return true;
}

/* One entry per node. Upstream leaves out a device that has a topology without nodes; we do not. */
void podres_add_device(struct podres_devices *d, struct str resource, struct str id,
		       const int64_t *nodes, size_t n)
{
	char *text = arena_strdup(d->a, id);

	if (!d->resource || !str_eq(d->last, resource)) {
		d->last = resource;
		d->resource = arena_strdup(d->a, resource);
	}
	if (n == 0)
		(void)vec_push(&d->v, make_device(d->a, d->resource, text, NULL));
	for (size_t i = 0; i < n; i++) {
		if (is_new(nodes, i))
			(void)vec_push(&d->v, make_device(d->a, d->resource, text, &nodes[i]));
	}
}

Podresources__ContainerDevices **podres_take_devices(struct podres_devices *d, size_t *ret_n)
{
	size_t n = d->v.n;
	Podresources__ContainerDevices **v = ARENA_ARRAY(d->a, Podresources__ContainerDevices *, n);

	if (n > 0)
		memcpy(v, d->v.v, n * sizeof(Podresources__ContainerDevices *));
	vec_release(&d->v);
	*ret_n = n;
	return v;
}

int64_t *podres_make_cpus(const struct cpu_set *cpus, struct arena *a, size_t *ret_n)
{
	int64_t *v = ARENA_ARRAY(a, int64_t, (size_t)cpu_set_count(cpus));
	size_t n = 0;

	for (int id = -1; (id = cpu_set_next(cpus, id)) >= 0;)
		v[n++] = id;
	*ret_n = n;
	return v;
}

static Podresources__TopologyInfo *make_topology(uint64_t nodes, struct arena *a)
{
	size_t n = (size_t)__builtin_popcountll(nodes);
	Podresources__TopologyInfo *t = ARENA_NEW(a, Podresources__TopologyInfo);
	Podresources__NumaNode *v = ARENA_ARRAY(a, Podresources__NumaNode, n);

	podresources__topology_info__init(t);
	t->nodes = ARENA_ARRAY(a, Podresources__NumaNode *, n);
	for (; nodes != 0; nodes &= nodes - 1) {
		Podresources__NumaNode *node = &v[t->n_nodes];

		podresources__numa_node__init(node);
		node->id = __builtin_ctzll(nodes);
		t->nodes[t->n_nodes++] = node;
	}
	return t;
}

/* "memory", "hugepages-2Mi" */
static char *memory_type(int64_t page, struct arena *a)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(KIB);

	if (page == 0)
		return arena_strdup(a, STR("memory"));
	(void)quantity_print(quantity_of(page, QUANTITY_BINARY_SI), &b);
	return arena_printf(a, "hugepages-%.*s", STR_ARG(buf_str(&b)));
}

/* Other containers have taken over blocks of 0 bytes. */
Podresources__ContainerMemory **podres_make_memory(const struct memory_block *blocks, size_t n,
						   struct arena *a, size_t *ret_n)
{
	Podresources__ContainerMemory **v = ARENA_ARRAY(a, Podresources__ContainerMemory *, n);
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		Podresources__ContainerMemory *m;

		if (blocks[i].bytes <= 0)
			continue;
		v[kept++] = m = ARENA_NEW(a, Podresources__ContainerMemory);
		podresources__container_memory__init(m);
		m->memory_type = memory_type(blocks[i].page, a);
		m->size = (uint64_t)blocks[i].bytes;
		m->topology = make_topology(blocks[i].nodes, a);
	}
	*ret_n = kept;
	return v;
}

static Podresources__CdiDevice **make_cdi(const struct assign_claim_device *d, struct arena *a)
{
	Podresources__CdiDevice **v = ARENA_ARRAY(a, Podresources__CdiDevice *, d->ncdi);

	for (size_t i = 0; i < d->ncdi; i++) {
		v[i] = ARENA_NEW(a, Podresources__CdiDevice);
		podresources__cdi_device__init(v[i]);
		v[i]->name = arena_strdup(a, d->cdi[i]);
	}
	return v;
}

/* Has only its own CDI ids; upstream adds those of the driver's preceding devices. */
Podresources__ClaimResource *podres_make_claim_resource(const struct assign_claim_device *d,
							struct arena *a)
{
	Podresources__ClaimResource *m = ARENA_NEW(a, Podresources__ClaimResource);

	podresources__claim_resource__init(m);
	m->n_cdi_devices = d->ncdi;
	m->cdi_devices = make_cdi(d, a);
	m->driver_name = arena_strdup(a, d->driver);
	m->pool_name = arena_strdup(a, d->pool);
	m->device_name = arena_strdup(a, d->device);
	if (d->share_id.n > 0) {
		m->share_case = PODRESOURCES__CLAIM_RESOURCE__SHARE_SHARE_ID;
		m->share_id = arena_strdup(a, d->share_id);
	}
	return m;
}
