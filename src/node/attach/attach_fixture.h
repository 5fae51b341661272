/*
 * attach_fixture - for tests: a kubelet's replies from a line of text, and a reader of the book.
 *
 * After every message the reader checks that nothing is with two pods.
 *
 *	"a=gpu0,gpu1,#3 b= c=m5"	pods of namespace "default", with devices of
 *					example.com/gpu, CPUs (#) and memory on NUMA node 0 (m)
 *	"a=x:gpu0"			with a device of the claim x
 *
 * The reader's messages are recorded as lines: "+u1 a=gpu0", "~u1 a=gpu0,#3", "-u1 a".
 */
#ifndef NODE_ATTACH_ATTACH_FIXTURE_H
#define NODE_ATTACH_ATTACH_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "grpc/message.h"
#include "node/attach/merge.h"

enum { FIXTURE_PODS = 64, FIXTURE_MEMORY = 100, FIXTURE_THINGS = 1024 };

/* --- replies --------------------------------------------------------------------------- */

static inline char *fixture_z(const char *z)
{
	return (char *)(uintptr_t)z;
}

static inline Podresources__ContainerDevices *fixture_device(struct arena *a, struct str id)
{
	Podresources__ContainerDevices *d = ARENA_NEW(a, Podresources__ContainerDevices);

	podresources__container_devices__init(d);
	d->resource_name = fixture_z("example.com/gpu");
	d->device_ids = ARENA_ARRAY(a, char *, 1);
	d->device_ids[0] = arena_strdup(a, id);
	d->n_device_ids = 1;
	return d;
}

static inline Podresources__ContainerMemory *fixture_memory(struct arena *a, uint64_t size)
{
	Podresources__ContainerMemory *m = ARENA_NEW(a, Podresources__ContainerMemory);
	Podresources__TopologyInfo *t = ARENA_NEW(a, Podresources__TopologyInfo);
	Podresources__NumaNode *n = ARENA_NEW(a, Podresources__NumaNode);

	podresources__container_memory__init(m);
	podresources__topology_info__init(t);
	podresources__numa_node__init(n);
	t->nodes = ARENA_ARRAY(a, Podresources__NumaNode *, 1);
	t->nodes[0] = n;
	t->n_nodes = 1;
	m->memory_type = fixture_z("memory");
	m->size = size;
	m->topology = t;
	return m;
}

/* "x:gpu0". */
static inline Podresources__DynamicResource *fixture_claim(struct arena *a, struct str thing)
{
	Podresources__DynamicResource *d = ARENA_NEW(a, Podresources__DynamicResource);
	Podresources__ClaimResource *r = ARENA_NEW(a, Podresources__ClaimResource);
	struct str claim = STR_NULL;

	podresources__dynamic_resource__init(d);
	podresources__claim_resource__init(r);
	(void)str_split(&thing, ':', &claim);
	r->driver_name = fixture_z("gpu.example.com");
	r->pool_name = fixture_z("node-1");
	r->device_name = arena_strdup(a, thing);
	d->claim_name = arena_strdup(a, claim);
	d->claim_namespace = fixture_z("default");
	d->claim_resources = ARENA_ARRAY(a, Podresources__ClaimResource *, 1);
	d->claim_resources[0] = r;
	d->n_claim_resources = 1;
	return d;
}

static inline Podresources__ContainerResources *fixture_container(struct arena *a,
								  struct str things)
{
	Podresources__ContainerResources *c = ARENA_NEW(a, Podresources__ContainerResources);
	struct str thing;
	int64_t n;

	podresources__container_resources__init(c);
	c->name = fixture_z("main");
	c->devices = ARENA_ARRAY(a, Podresources__ContainerDevices *, things.n + 1);
	c->cpu_ids = ARENA_ARRAY(a, int64_t, things.n + 1);
	c->memory = ARENA_ARRAY(a, Podresources__ContainerMemory *, things.n + 1);
	c->dynamic_resources = ARENA_ARRAY(a, Podresources__DynamicResource *, things.n + 1);
	while (things.n > 0 && str_split(&things, ',', &thing)) {
		bool number = str_to_i64(str_skip(thing, 1), &n);

		if (number && thing.p[0] == '#')
			c->cpu_ids[c->n_cpu_ids++] = n;
		else if (number && thing.p[0] == 'm')
			c->memory[c->n_memory++] = fixture_memory(a, (uint64_t)n);
		else if (str_find(thing, STR(":")) >= 0)
			c->dynamic_resources[c->n_dynamic_resources++] = fixture_claim(a, thing);
		else
			c->devices[c->n_devices++] = fixture_device(a, thing);
	}
	return c;
}

/* "a=gpu0,#3". */
static inline Podresources__PodResources *fixture_pod(struct arena *a, struct str text)
{
	Podresources__PodResources *p = ARENA_NEW(a, Podresources__PodResources);
	struct str name = STR_NULL;

	podresources__pod_resources__init(p);
	assert_true(str_split(&text, '=', &name));
	p->name = arena_strdup(a, name);
	p->namespace_ = fixture_z("default");
	p->containers = ARENA_ARRAY(a, Podresources__ContainerResources *, 2);
	p->containers[0] = fixture_container(a, text);
	p->n_containers = 1;
	return p;
}

static inline Podresources__ListResponse *fixture_list(struct arena *a, const char *text)
{
	Podresources__ListResponse *l = ARENA_NEW(a, Podresources__ListResponse);
	struct str rest = str_from(text), one;

	podresources__list_response__init(l);
	l->pod_resources = ARENA_ARRAY(a, Podresources__PodResources *, rest.n + 1);
	while (rest.n > 0 && str_split(&rest, ' ', &one))
		l->pod_resources[l->n_pod_resources++] = fixture_pod(a, one);
	return l;
}

static inline Podresources__AllocatableResponse *fixture_allocatable(struct arena *a,
								     uint64_t memory)
{
	Podresources__AllocatableResponse *r = ARENA_NEW(a, Podresources__AllocatableResponse);

	podresources__allocatable_response__init(r);
	r->memory = ARENA_ARRAY(a, Podresources__ContainerMemory *, 1);
	r->memory[0] = fixture_memory(a, memory);
	r->n_memory = 1;
	return r;
}

/* The same with n GPUs and CPUs. */
static inline Podresources__AllocatableResponse *fixture_room(struct arena *a, uint64_t memory,
							      unsigned n)
{
	Podresources__AllocatableResponse *r = fixture_allocatable(a, memory);

	r->devices = ARENA_ARRAY(a, Podresources__ContainerDevices *, n);
	r->cpu_ids = ARENA_ARRAY(a, int64_t, n);
	for (unsigned i = 0; i < n; i++) {
		r->devices[i] = fixture_device(a, str_from(arena_printf(a, "gpu%u", i)));
		r->cpu_ids[i] = i;
	}
	r->n_devices = r->n_cpu_ids = n;
	return r;
}

/* --- states as text -------------------------------------------------------------------- */

static inline void fixture_print(struct buf *out, const Podresources__PodResources *p)
{
	const char *comma = "";

	(void)buf_printf(out, "%s=", p->name);
	for (size_t i = 0; i < p->n_containers; i++) {
		const Podresources__ContainerResources *c = p->containers[i];

		for (size_t j = 0; j < c->n_devices; j++) {
			for (size_t k = 0; k < c->devices[j]->n_device_ids; k++, comma = ",")
				(void)buf_printf(out, "%s%s", comma, c->devices[j]->device_ids[k]);
		}
		for (size_t j = 0; j < c->n_cpu_ids; j++, comma = ",")
			(void)buf_printf(out, "%s#%d", comma, (int)c->cpu_ids[j]);
		for (size_t j = 0; j < c->n_memory; j++, comma = ",")
			(void)buf_printf(out, "%sm%d", comma, (int)c->memory[j]->size);
		for (size_t j = 0; j < c->n_dynamic_resources; j++, comma = ",")
			(void)buf_printf(out, "%s%s:%s", comma, c->dynamic_resources[j]->claim_name,
					 c->dynamic_resources[j]->claim_resources[0]->device_name);
	}
}

/* --- the reader ------------------------------------------------------------------------ */

struct fixture_belief {
	char uid[32];
	char text[512];
};

struct fixture_reader {
	struct podres *book;
	struct podres_cursor cursor;
	struct fixture_belief v[FIXTURE_PODS];
	size_t n;
	uint64_t room; /* memory of the node; 0: not checked */
	bool admin; /* claims may have devices of other claims */
	struct buf lines;
};

static inline void fixture_reader_init(struct fixture_reader *r, struct podres *book)
{
	*r = (struct fixture_reader){ .book = book };
	buf_init(&r->lines, MIB);
	podres_begin(book, &r->cursor, PODRES_PODS, true, 0);
}

static inline void fixture_reader_release(struct fixture_reader *r)
{
	buf_release(&r->lines);
}

static inline struct fixture_belief *fixture_find(struct fixture_reader *r, const char *uid)
{
	for (size_t i = 0; i < r->n; i++) {
		if (strcmp(r->v[i].uid, uid) == 0)
			return &r->v[i];
	}
	return NULL;
}

/* The things of all pods that a reader knows. */
struct fixture_sum {
	struct str things[FIXTURE_THINGS];
	size_t n;
	uint64_t memory;
};

/* Several pods may have the device of one claim. */
static inline void fixture_add_claim(struct fixture_sum *sum, struct str thing)
{
	struct str device = str_skip(thing, (size_t)str_find(thing, STR(":")));

	for (size_t i = 0; i < sum->n; i++) {
		if (str_ends(sum->things[i], device) && !str_eq(sum->things[i], thing))
			fail_msg("%.*s and %.*s are held", STR_ARG(thing), STR_ARG(sum->things[i]));
	}
	sum->things[sum->n++] = thing;
}

static inline void fixture_add(struct fixture_sum *sum, struct str thing)
{
	int64_t size;

	if (thing.p[0] == 'm' && str_to_i64(str_skip(thing, 1), &size)) {
		sum->memory += (uint64_t)size;
		return;
	}
	for (size_t i = 0; i < sum->n; i++) {
		if (str_eq(sum->things[i], thing))
			fail_msg("%.*s is with two pods", STR_ARG(thing));
	}
	assert_true(sum->n < FIXTURE_THINGS);
	sum->things[sum->n++] = thing;
}

/* Checks that no thing is with two pods, and that held memory does not exceed the node's. */
static inline void fixture_check(const struct fixture_reader *r)
{
	struct fixture_sum sum;
	struct str rest, thing;

	sum.n = 0;
	sum.memory = 0;
	for (size_t i = 0; i < r->n; i++) {
		rest = str_from(strchr(r->v[i].text, '=') + 1);
		while (rest.n > 0 && str_split(&rest, ',', &thing)) {
			if (str_find(thing, STR(":")) < 0)
				fixture_add(&sum, thing);
			else if (!r->admin)
				fixture_add_claim(&sum, thing);
		}
	}
	if (r->room > 0 && sum.memory > r->room)
		fail_msg("%d units of memory are held", (int)sum.memory);
}

static inline void fixture_believe(struct fixture_reader *r, const Podresources__PodEvent *e)
{
	struct fixture_belief *b = fixture_find(r, e->uid);
	struct buf text = BUF_INIT(sizeof(b->text) - 1);

	if (e->initial_end)
		return;
	if (e->action == PODRESOURCES__ACTION__DELETED) {
		if (e->uid[0] == '\0')
			r->n = 0;
		else if (b)
			*b = r->v[--r->n];
		(void)buf_printf(&r->lines, "-%s %s\n", e->uid,
				 e->n_pod_resources ? e->pod_resources[0]->name : "");
		return;
	}
	fixture_print(&text, e->pod_resources[0]);
	(void)buf_printf(&r->lines, "%c%s %s\n",
			 e->action == PODRESOURCES__ACTION__ADDED ? '+' : '~', e->uid,
			 text.p ? text.p : "");
	assert_true(b || r->n < FIXTURE_PODS);
	if (!b)
		b = &r->v[r->n++];
	(void)snprintf(b->uid, sizeof(b->uid), "%s", e->uid);
	(void)snprintf(b->text, sizeof(b->text), "%s", text.p ? text.p : "");
	buf_release(&text);
}

/* Reads one message; returns false at the end. */
static inline bool fixture_read_one(struct fixture_reader *r)
{
	CLEANUP(arena_release) struct arena a;
	struct bytes *packed = podres_read(r->book, &r->cursor);
	void *event;
	struct error err;

	arena_init(&a, SIZE_MAX);
	if (!packed)
		return false;
	if (grpc_message_unpack(&podresources__pod_event__descriptor,
				str_skip(bytes_str(packed), GRPC_PREFIX), &a, &event, &err) < 0)
		fail_msg("%s", err.msg);
	fixture_believe(r, event);
	fixture_check(r);
	bytes_unref(packed);
	return true;
}

static inline void fixture_read(struct fixture_reader *r)
{
	while (fixture_read_one(r))
		;
}

/* Compares the lines recorded since the last call. */
static inline void fixture_expect(struct fixture_reader *r, const char *lines)
{
	fixture_read(r);
	assert_string_equal(r->lines.n > 0 ? r->lines.p : "", lines);
	buf_clear(&r->lines);
}

#endif
