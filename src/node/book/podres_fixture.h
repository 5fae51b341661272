/*
 * podres_fixture - for tests: pods and events of PodResources as text.
 *
 * A pod is written as its containers' things, separated by " | ":
 *
 *	"gpu:a gpu:b cpu:3 | mem:64@0 claim:c/d"
 *
 * is a container with two devices of resource "gpu" and a CPU, and one with 64 bytes of NUMA node 0
 * and device d of claim c. "gpu:a@1" is near node 1. An event is printed as one of
 *
 *	"UPDATED u-web web [gpu:a | ] 12"
 *	"DELETED [] 11"
 *	"END 12"
 */
#ifndef NODE_BOOK_PODRES_FIXTURE_H
#define NODE_BOOK_PODRES_FIXTURE_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "grpc/message.h"
#include "node/book/podres.h"

enum { FIXTURE_LIST_MAX = 4096 }; /* elements of one list of a message */

/* Appends to a list of a message; `list` and `n` are its fields. */
#define FIXTURE_ADD(a, list, n, value)                                                 \
	do {                                                                           \
		if ((n) == 0)                                                          \
			(list) = arena_alloc((a), sizeof(*(list)) * FIXTURE_LIST_MAX); \
		assert_true((n) < FIXTURE_LIST_MAX);                                   \
		(list)[(n)] = (value);                                                 \
		(n)++;                                                                 \
	} while (0)

static inline Podresources__TopologyInfo *fixture_near(struct arena *a, struct str node)
{
	Podresources__TopologyInfo *t = ARENA_NEW(a, Podresources__TopologyInfo);
	Podresources__NumaNode *n = ARENA_NEW(a, Podresources__NumaNode);

	podresources__topology_info__init(t);
	podresources__numa_node__init(n);
	assert_true(str_to_i64(node, &n->id));
	FIXTURE_ADD(a, t->nodes, t->n_nodes, n);
	return t;
}

static inline void fixture_add_device(struct arena *a, Podresources__ContainerResources *c,
				      struct str resource, struct str id, struct str node)
{
	Podresources__ContainerDevices *d = c->n_devices ? c->devices[c->n_devices - 1] : NULL;

	if (!d || node.p || d->topology || !str_eqz(resource, d->resource_name)) {
		d = ARENA_NEW(a, Podresources__ContainerDevices);
		podresources__container_devices__init(d);
		d->resource_name = arena_strdup(a, resource);
		d->topology = node.p ? fixture_near(a, node) : NULL;
		FIXTURE_ADD(a, c->devices, c->n_devices, d);
	}
	FIXTURE_ADD(a, d->device_ids, d->n_device_ids, arena_strdup(a, id));
}

static inline void fixture_add_claim(struct arena *a, Podresources__ContainerResources *c,
				     struct str name)
{
	Podresources__DynamicResource *d = ARENA_NEW(a, Podresources__DynamicResource);
	Podresources__ClaimResource *r = ARENA_NEW(a, Podresources__ClaimResource);
	struct str claim;

	assert_true(str_split(&name, '/', &claim));
	podresources__dynamic_resource__init(d);
	podresources__claim_resource__init(r);
	d->claim_name = arena_strdup(a, claim);
	d->claim_namespace = arena_strdup(a, STR("ns"));
	r->driver_name = arena_strdup(a, STR("driver"));
	r->pool_name = arena_strdup(a, STR("pool"));
	r->device_name = arena_strdup(a, name);
	FIXTURE_ADD(a, d->claim_resources, d->n_claim_resources, r);
	FIXTURE_ADD(a, c->dynamic_resources, c->n_dynamic_resources, d);
}

static inline void fixture_add_thing(struct arena *a, Podresources__ContainerResources *c,
				     struct str word)
{
	Podresources__ContainerMemory *m;
	struct str kind, id;
	int64_t cpu;

	assert_true(str_split(&word, ':', &kind));
	if (str_eqz(kind, "claim")) {
		fixture_add_claim(a, c, word);
		return;
	}
	assert_true(str_split(&word, '@', &id)); /* the rest is the node; NULL without one */
	if (str_eqz(kind, "cpu")) {
		assert_true(str_to_i64(id, &cpu));
		FIXTURE_ADD(a, c->cpu_ids, c->n_cpu_ids, cpu);
	} else if (str_eqz(kind, "mem")) {
		m = ARENA_NEW(a, Podresources__ContainerMemory);
		podresources__container_memory__init(m);
		m->memory_type = arena_strdup(a, STR("memory"));
		assert_true(str_to_u64(id, &m->size));
		m->topology = fixture_near(a, word);
		FIXTURE_ADD(a, c->memory, c->n_memory, m);
	} else {
		fixture_add_device(a, c, kind, id, word);
	}
}

static inline Podresources__ContainerResources *fixture_container(struct arena *a,
								  struct str things, size_t at)
{
	Podresources__ContainerResources *c = ARENA_NEW(a, Podresources__ContainerResources);
	struct str word;

	podresources__container_resources__init(c);
	c->name = arena_printf(a, "c%zu", at);
	while (str_split(&things, ' ', &word))
		if (word.n)
			fixture_add_thing(a, c, word);
	return c;
}

static inline Podresources__PodResources *fixture_pod(struct arena *a, const char *name,
						      const char *things)
{
	Podresources__PodResources *p = ARENA_NEW(a, Podresources__PodResources);
	struct str rest = str_from(things), part;

	podresources__pod_resources__init(p);
	p->name = arena_strdup(a, str_from(name));
	p->namespace_ = arena_strdup(a, STR("ns"));
	while (str_split(&rest, '|', &part))
		FIXTURE_ADD(a, p->containers, p->n_containers,
			    fixture_container(a, part, p->n_containers));
	return p;
}

/* --- printing ------------------------------------------------------------------------ */

static inline void fixture_print_node(struct buf *out, const Podresources__TopologyInfo *t)
{
	for (size_t i = 0; t && i < t->n_nodes; i++)
		(void)buf_printf(out, "@%" PRId64, t->nodes[i]->id);
}

static inline void fixture_print_devices(struct buf *out, Podresources__ContainerDevices **v,
					 size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < v[i]->n_device_ids; j++) {
			(void)buf_printf(out, " %s:%s", v[i]->resource_name, v[i]->device_ids[j]);
			fixture_print_node(out, v[i]->topology);
		}
}

static inline void fixture_print_numbers(struct buf *out, const int64_t *cpus, size_t ncpus,
					 Podresources__ContainerMemory **memory, size_t nmemory)
{
	for (size_t i = 0; i < ncpus; i++)
		(void)buf_printf(out, " cpu:%" PRId64, cpus[i]);
	for (size_t i = 0; i < nmemory; i++) {
		(void)buf_printf(out, " mem:%" PRIu64, memory[i]->size);
		fixture_print_node(out, memory[i]->topology);
	}
}

static inline void fixture_print_container(struct buf *out,
					   const Podresources__ContainerResources *c)
{
	fixture_print_devices(out, c->devices, c->n_devices);
	fixture_print_numbers(out, c->cpu_ids, c->n_cpu_ids, c->memory, c->n_memory);
	for (size_t i = 0; i < c->n_dynamic_resources; i++) {
		const Podresources__DynamicResource *d = c->dynamic_resources[i];

		for (size_t j = 0; j < d->n_claim_resources; j++)
			(void)buf_printf(out, " claim:%s/%s", d->claim_name,
					 d->claim_resources[j]->device_name);
	}
}

/* "name [things]" */
static inline void fixture_print_pod(struct buf *out, const Podresources__PodResources *p)
{
	(void)buf_printf(out, "%s [", p->name);
	for (size_t i = 0; i < p->n_containers; i++) {
		(void)buf_addz(out, i ? " |" : "");
		fixture_print_container(out, p->containers[i]);
	}
	fixture_print_numbers(out, p->cpu_ids, p->n_cpu_ids, p->memory, p->n_memory);
	(void)buf_addz(out, " ]");
}

static inline const char *fixture_action(Podresources__Action action)
{
	static const char *const names[] = { "ADDED", "DELETED", "UPDATED" };

	return names[action];
}

/* --- messages ------------------------------------------------------------------------ */

/* Unpacks a message without its gRPC prefix, which is checked. */
static inline void *fixture_unpack(struct arena *a, const ProtobufCMessageDescriptor *type,
				   const struct bytes *packed)
{
	const unsigned char *p = (const unsigned char *)packed->data;
	size_t n = (size_t)p[1] << 24 | (size_t)p[2] << 16 | (size_t)p[3] << 8 | p[4];
	void *m = NULL;

	assert_int_equal(p[0], 0);
	assert_int_equal(n + GRPC_PREFIX, packed->n);
	assert_int_equal(grpc_message_unpack(type, str_of(p + GRPC_PREFIX, n), a, &m, NULL), 0);
	return m;
}

static inline void fixture_print_event(struct buf *out, const Podresources__PodEvent *e)
{
	if (e->initial_end) {
		assert_int_equal(e->n_pod_resources, 0);
		(void)buf_printf(out, "END %" PRId64 "\n", e->revision);
		return;
	}
	(void)buf_printf(out, "%s %s", fixture_action(e->action), e->uid);
	for (size_t i = 0; i < e->n_pod_resources; i++) {
		(void)buf_addc(out, ' ');
		fixture_print_pod(out, e->pod_resources[i]);
	}
	(void)buf_printf(out, " %" PRId64 "\n", e->revision);
}

#endif
