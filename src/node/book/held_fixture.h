/*
 * podres_held_fixture - for tests: the things in PodResources messages, as bits and sums.
 *
 * The node of these tests has:
 *
 * - devices a..e of two resources (a and c near NUMA node 0, b near 1, d without nodes, e near
 *   both)
 * - CPUs below 64
 * - plain memory and huge pages of 2 MiB on two NUMA nodes
 * - claims with devices a..e of driver "d"
 */
#ifndef NODE_BOOK_HELD_FIXTURE_H
#define NODE_BOOK_HELD_FIXTURE_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "grpc/message.h"
#include "podresources.pb-c.h"

enum { HELD_RESOURCES = 2, HELD_DEVICES = 5, HELD_KINDS = 2, HELD_NODES = 2 };

static const char *const held_resources[HELD_RESOURCES] = { "vendor.com/gpu", "x.com/nic" };
static const char *const held_kinds[HELD_KINDS] = { "memory", "hugepages-2Mi" };

/* The things of a container, a pod or all pods. */
struct held {
	unsigned devices[HELD_RESOURCES]; /* bits */
	uint64_t cpus; /* bits */
	uint64_t memory[HELD_KINDS][1 << HELD_NODES]; /* bytes, by the bits of nodes */
	unsigned claim; /* devices of claims, bits */
};

static inline void *held_unpack(const struct bytes *b, const ProtobufCMessageDescriptor *type,
				struct arena *a)
{
	const unsigned char *p = (const unsigned char *)b->data;
	struct error err = { 0 };
	void *m = NULL;

	assert_true(b->n >= GRPC_PREFIX);
	assert_int_equal(p[0], 0);
	assert_int_equal((uint32_t)p[1] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 8 | p[4],
			 b->n - GRPC_PREFIX);
	if (grpc_message_unpack(type, str_skip(bytes_str(b), GRPC_PREFIX), a, &m, &err) < 0)
		fail_msg("%s", err.msg);
	return m;
}

static inline int held_index(const char *name, const char *const *names, int n)
{
	for (int i = 0; i < n; i++) {
		if (strcmp(name, names[i]) == 0)
			return i;
	}
	fail_msg("%s is not ours", name);
	return -1;
}

/* The bit of "a" and so on. */
static inline unsigned held_bit(const char *id)
{
	assert_true(id[0] >= 'a' && id[0] < 'a' + HELD_DEVICES && id[1] == '\0');
	return 1U << (id[0] - 'a');
}

/* The nodes near a device, as bits. */
static inline unsigned held_nodes(int d)
{
	static const unsigned nodes[HELD_DEVICES] = { 1, 2, 1, 0, 3 };

	return nodes[d];
}

static inline unsigned held_node_bits(const Podresources__TopologyInfo *t)
{
	unsigned bits = 0;

	for (size_t i = 0; t && i < t->n_nodes; i++)
		bits |= 1U << t->nodes[i]->id;
	return bits;
}

/* Adds each device once per node that it is near. */
static inline void held_devices(struct held *h, Podresources__ContainerDevices *const *v, size_t n)
{
	unsigned near[HELD_RESOURCES][HELD_DEVICES] = { 0 }, seen[HELD_RESOURCES] = { 0 };

	for (size_t i = 0; i < n; i++) {
		int r = held_index(v[i]->resource_name, held_resources, HELD_RESOURCES);
		unsigned nodes = held_node_bits(v[i]->topology), bit;

		assert_int_equal(v[i]->n_device_ids, 1);
		bit = held_bit(v[i]->device_ids[0]);
		assert_true(nodes < 3); /* an entry has one node */
		assert_true(nodes ? !(near[r][__builtin_ctz(bit)] & nodes) : !(seen[r] & bit));
		near[r][__builtin_ctz(bit)] |= nodes;
		seen[r] |= bit;
	}
	for (int r = 0; r < HELD_RESOURCES; r++) {
		for (int d = 0; d < HELD_DEVICES; d++)
			assert_int_equal(near[r][d], seen[r] >> d & 1 ? held_nodes(d) : 0);
		h->devices[r] |= seen[r];
	}
}

static inline void held_cpus(struct held *h, const int64_t *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		assert_true(v[i] >= 0 && v[i] < 64);
		assert_int_equal(h->cpus >> v[i] & 1, 0);
		h->cpus |= UINT64_C(1) << v[i];
	}
}

static inline void held_memory(struct held *h, Podresources__ContainerMemory *const *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int k = held_index(v[i]->memory_type, held_kinds, HELD_KINDS);
		unsigned nodes = held_node_bits(v[i]->topology);

		assert_true(nodes > 0 && nodes < 1 << HELD_NODES);
		assert_true(v[i]->size > 0);
		h->memory[k][nodes] += v[i]->size;
	}
}

static inline void held_claims(struct held *h, Podresources__DynamicResource *const *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		assert_true(v[i]->n_claim_resources > 0);
		for (size_t k = 0; k < v[i]->n_claim_resources; k++) {
			const Podresources__ClaimResource *d = v[i]->claim_resources[k];

			assert_string_equal(d->driver_name, "d");
			assert_int_equal(d->n_cdi_devices, 1);
			assert_string_equal(d->cdi_devices[0]->name, d->device_name);
			assert_int_equal(h->claim & held_bit(d->device_name), 0);
			h->claim |= held_bit(d->device_name);
		}
	}
}

static inline struct held held_of_container(const Podresources__ContainerResources *c)
{
	struct held h = { 0 };

	held_devices(&h, c->devices, c->n_devices);
	held_cpus(&h, c->cpu_ids, c->n_cpu_ids);
	held_memory(&h, c->memory, c->n_memory);
	held_claims(&h, c->dynamic_resources, c->n_dynamic_resources);
	return h;
}

/* Adds `h`, asserting that no thing is in both; claims may be shared. */
static inline void held_add(struct held *to, const struct held *h)
{
	for (int r = 0; r < HELD_RESOURCES; r++) {
		assert_int_equal(to->devices[r] & h->devices[r], 0);
		to->devices[r] |= h->devices[r];
	}
	assert_int_equal(to->cpus & h->cpus, 0);
	to->cpus |= h->cpus;
	for (int k = 0; k < HELD_KINDS; k++) {
		for (int nodes = 1; nodes < 1 << HELD_NODES; nodes++)
			to->memory[k][nodes] += h->memory[k][nodes];
	}
	to->claim |= h->claim;
}

static inline struct held held_of_pod(const Podresources__PodResources *p)
{
	struct held h = { 0 };

	assert_int_equal(p->n_cpu_ids, 0);
	assert_int_equal(p->n_memory, 0);
	for (size_t i = 0; i < p->n_containers; i++) {
		struct held c = held_of_container(p->containers[i]);

		held_add(&h, &c);
	}
	return h;
}

static inline struct held held_of_node(const Podresources__AllocatableResponse *m)
{
	struct held h = { 0 };

	held_devices(&h, m->devices, m->n_devices);
	held_cpus(&h, m->cpu_ids, m->n_cpu_ids);
	held_memory(&h, m->memory, m->n_memory);
	return h;
}

/* Checks that memory of single nodes fits each node, and that the total fits all of them. */
static inline void held_check(const struct held *h, const uint64_t capacity[][HELD_NODES])
{
	for (int k = 0; k < HELD_KINDS; k++) {
		const uint64_t *m = h->memory[k];

		assert_in_range(m[1], 0, capacity[k][0]);
		assert_in_range(m[2], 0, capacity[k][1]);
		assert_in_range(m[1] + m[2] + m[3], 0, capacity[k][0] + capacity[k][1]);
	}
}

/* Compares devices and CPUs. */
static inline bool held_within(const struct held *a, const struct held *b)
{
	bool within = (a->cpus & ~b->cpus) == 0;

	for (int r = 0; r < HELD_RESOURCES; r++)
		within &= (a->devices[r] & ~b->devices[r]) == 0;
	return within;
}

#endif
