/*
 * Sorts from the inside out: the parts of a thing are sorted before it is compared with others.
 * NUMA nodes and ids are part of a thing, because a device is listed once for each node that it is
 * near.
 */
#include "node/attach/order.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/compiler.h"

static int by_number(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int by_text(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

static int by_node(const void *a, const void *b)
{
	const Podresources__NumaNode *const *x = a, *const *y = b;

	return by_number(&(*x)->id, &(*y)->id);
}

static int compare_sizes(size_t a, size_t b)
{
	return (a > b) - (a < b);
}

/* No topology first, then fewer nodes first. */
static int compare_topology(const Podresources__TopologyInfo *a,
			    const Podresources__TopologyInfo *b)
{
	int r = !!a - !!b;

	if (r || !a)
		return r;
	r = compare_sizes(a->n_nodes, b->n_nodes);
	for (size_t i = 0; r == 0 && i < a->n_nodes; i++)
		r = by_node(&a->nodes[i], &b->nodes[i]);
	return r;
}

static int compare_texts(char *const *a, size_t na, char *const *b, size_t nb)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < MIN(na, nb); i++)
		r = strcmp(a[i], b[i]);
	return r ? r : compare_sizes(na, nb);
}

static int by_device(const void *a, const void *b)
{
	const Podresources__ContainerDevices *const *x = a, *const *y = b;
	int r = strcmp((*x)->resource_name, (*y)->resource_name);

	if (r == 0)
		r = compare_texts((*x)->device_ids, (*x)->n_device_ids, (*y)->device_ids,
				  (*y)->n_device_ids);
	return r ? r : compare_topology((*x)->topology, (*y)->topology);
}

static int by_memory(const void *a, const void *b)
{
	const Podresources__ContainerMemory *const *x = a, *const *y = b;
	int r = strcmp((*x)->memory_type, (*y)->memory_type);

	if (r == 0)
		r = compare_topology((*x)->topology, (*y)->topology);
	return r ? r : ((*x)->size > (*y)->size) - ((*x)->size < (*y)->size);
}

static int by_cdi(const void *a, const void *b)
{
	const Podresources__CdiDevice *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

static const char *share_of(const Podresources__ClaimResource *r)
{
	return r->share_case == PODRESOURCES__CLAIM_RESOURCE__SHARE_SHARE_ID ? r->share_id : "";
}

static int by_claim_device(const void *a, const void *b)
{
	const Podresources__ClaimResource *const *x = a, *const *y = b;
	int r = strcmp((*x)->driver_name, (*y)->driver_name);

	if (r == 0)
		r = strcmp((*x)->pool_name, (*y)->pool_name);
	if (r == 0)
		r = strcmp((*x)->device_name, (*y)->device_name);
	return r ? r : strcmp(share_of(*x), share_of(*y));
}

static int by_claim(const void *a, const void *b)
{
	const Podresources__DynamicResource *const *x = a, *const *y = b;
	int r = strcmp((*x)->claim_namespace, (*y)->claim_namespace);

	return r ? r : strcmp((*x)->claim_name, (*y)->claim_name);
}

/* qsort() needs an array even if there is nothing to sort. */
static void sort(void *v, size_t n, size_t size, int (*compare)(const void *, const void *))
{
	if (n > 1)
		qsort(v, n, size, compare);
}

static void order_topology(const Podresources__TopologyInfo *t)
{
	if (t)
		sort(t->nodes, t->n_nodes, sizeof(*t->nodes), by_node);
}

static void order_devices(Podresources__ContainerDevices **v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		sort(v[i]->device_ids, v[i]->n_device_ids, sizeof(*v[i]->device_ids), by_text);
		order_topology(v[i]->topology);
	}
	sort(v, n, sizeof(*v), by_device);
}

static void order_memory(Podresources__ContainerMemory **v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		order_topology(v[i]->topology);
	sort(v, n, sizeof(*v), by_memory);
}

static void order_claim(const Podresources__DynamicResource *claim)
{
	for (size_t i = 0; i < claim->n_claim_resources; i++) {
		const Podresources__ClaimResource *r = claim->claim_resources[i];

		sort(r->cdi_devices, r->n_cdi_devices, sizeof(*r->cdi_devices), by_cdi);
	}
	sort(claim->claim_resources, claim->n_claim_resources, sizeof(*claim->claim_resources),
	     by_claim_device);
}

static void order_container(const Podresources__ContainerResources *c)
{
	order_devices(c->devices, c->n_devices);
	sort(c->cpu_ids, c->n_cpu_ids, sizeof(*c->cpu_ids), by_number);
	order_memory(c->memory, c->n_memory);
	for (size_t i = 0; i < c->n_dynamic_resources; i++)
		order_claim(c->dynamic_resources[i]);
	sort(c->dynamic_resources, c->n_dynamic_resources, sizeof(*c->dynamic_resources), by_claim);
}

void attach_order_pod(const Podresources__PodResources *pod)
{
	for (size_t i = 0; i < pod->n_containers; i++)
		order_container(pod->containers[i]);
	sort(pod->cpu_ids, pod->n_cpu_ids, sizeof(*pod->cpu_ids), by_number);
	order_memory(pod->memory, pod->n_memory);
}

void attach_order_list(const Podresources__ListResponse *list)
{
	for (size_t i = 0; i < list->n_pod_resources; i++)
		attach_order_pod(list->pod_resources[i]);
}

void attach_order_allocatable(const Podresources__AllocatableResponse *state)
{
	order_devices(state->devices, state->n_devices);
	sort(state->cpu_ids, state->n_cpu_ids, sizeof(*state->cpu_ids), by_number);
	order_memory(state->memory, state->n_memory);
}
