/*
 * A thing's name is "dRESOURCE\0ID" for a device and "cNUMBER" for a CPU. No text of a message
 * contains a NUL, so names of different things differ.
 */
#include "node/attach/things.h"

#include <inttypes.h>

#include "node/book/methods.h"

enum { MEMORY_ANY_NODE = -1 };

void attach_things_init(struct attach_things *t)
{
	map_init(&t->owners);
	arena_init(&t->arena, SIZE_MAX);
	buf_init(&t->key, PODRES_LIST_MAX);
}

void attach_things_release(struct attach_things *t)
{
	map_release(&t->owners);
	arena_release(&t->arena);
	buf_release(&t->key);
}

static struct str device_name(struct attach_things *t, const char *resource, const char *id)
{
	buf_clear(&t->key);
	(void)buf_addc(&t->key, 'd');
	(void)buf_add(&t->key, resource, strlen(resource) + 1);
	(void)buf_add(&t->key, id, strlen(id));
	return buf_str(&t->key);
}

static struct str cpu_name(struct attach_things *t, int64_t cpu)
{
	buf_clear(&t->key);
	(void)buf_printf(&t->key, "c%" PRId64, cpu);
	return buf_str(&t->key);
}

static const char *words(struct attach_things *t, struct str name)
{
	struct str rest = str_skip(name, 1);
	size_t end;

	if (name.p[0] == 'c')
		return arena_printf(&t->arena, "CPU %.*s", STR_ARG(rest));
	end = strlen(rest.p) + 1;
	return arena_printf(&t->arena, "device %.*s of %s", STR_ARG(str_skip(rest, end)), rest.p);
}

/* --- recording ------------------------------------------------------------------------ */

static bool things_add(struct attach_things *t, struct str name, const void *owner,
		       struct attach_clash *ret_clash)
{
	const void *there = map_get(&t->owners, name);

	if (!there) {
		(void)map_put(&t->owners, arena_str(&t->arena, name), (void *)(uintptr_t)owner);
		return true;
	}
	if (there == owner)
		return true;
	*ret_clash = (struct attach_clash){ .thing = words(t, name), .owner = there };
	return false;
}

static bool add_devices(struct attach_things *t, const Podresources__ContainerDevices *d,
			const void *owner, struct attach_clash *ret_clash)
{
	bool ok = true;

	for (size_t i = 0; i < d->n_device_ids; i++) {
		struct str name = device_name(t, d->resource_name, d->device_ids[i]);

		ok = things_add(t, name, owner, ret_clash) && ok;
	}
	return ok;
}

static bool add_cpus(struct attach_things *t, const int64_t *v, size_t n, const void *owner,
		     struct attach_clash *ret_clash)
{
	bool ok = true;

	for (size_t i = 0; i < n; i++)
		ok = things_add(t, cpu_name(t, v[i]), owner, ret_clash) && ok;
	return ok;
}

bool attach_things_add(struct attach_things *t, const Podresources__PodResources *pod,
		       const void *owner, struct attach_clash *ret_clash)
{
	bool ok = add_cpus(t, pod->cpu_ids, pod->n_cpu_ids, owner, ret_clash);

	for (size_t i = 0; i < pod->n_containers; i++) {
		const Podresources__ContainerResources *c = pod->containers[i];

		ok = add_cpus(t, c->cpu_ids, c->n_cpu_ids, owner, ret_clash) && ok;
		for (size_t j = 0; j < c->n_devices; j++)
			ok = add_devices(t, c->devices[j], owner, ret_clash) && ok;
	}
	return ok;
}

void attach_things_add_room(struct attach_things *t, const Podresources__AllocatableResponse *room,
			    const void *owner)
{
	struct attach_clash clash;

	(void)add_cpus(t, room->cpu_ids, room->n_cpu_ids, owner, &clash);
	for (size_t i = 0; i < room->n_devices; i++)
		(void)add_devices(t, room->devices[i], owner, &clash);
}

/* --- lookup --------------------------------------------------------------------------- */

static bool cover_cpus(struct attach_things *t, const int64_t *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!map_get(&t->owners, cpu_name(t, v[i])))
			return false;
	}
	return true;
}

static bool cover_devices(struct attach_things *t, const Podresources__ContainerDevices *d)
{
	for (size_t i = 0; i < d->n_device_ids; i++) {
		if (!map_get(&t->owners, device_name(t, d->resource_name, d->device_ids[i])))
			return false;
	}
	return true;
}

bool attach_things_cover(struct attach_things *t, const Podresources__PodResources *pod)
{
	bool all = cover_cpus(t, pod->cpu_ids, pod->n_cpu_ids);

	for (size_t i = 0; i < pod->n_containers && all; i++) {
		const Podresources__ContainerResources *c = pod->containers[i];

		all = cover_cpus(t, c->cpu_ids, c->n_cpu_ids);
		for (size_t j = 0; j < c->n_devices && all; j++)
			all = cover_devices(t, c->devices[j]);
	}
	return all;
}

/* --- removing things ------------------------------------------------------------------ */

static bool is_others(const struct attach_things *t, struct str name, const void *owner)
{
	const void *there = map_get(&t->owners, name);

	return there && there != owner;
}

static bool strip_cpus(struct attach_things *t, int64_t *v, size_t *n, const void *owner)
{
	size_t kept = 0, before = *n;

	for (size_t i = 0; i < before; i++) {
		if (!is_others(t, cpu_name(t, v[i]), owner))
			v[kept++] = v[i];
	}
	*n = kept;
	return kept < before;
}

static bool strip_devices(struct attach_things *t, Podresources__ContainerDevices *d,
			  const void *owner)
{
	size_t kept = 0, before = d->n_device_ids;

	for (size_t i = 0; i < before; i++) {
		struct str name = device_name(t, d->resource_name, d->device_ids[i]);

		if (!is_others(t, name, owner))
			d->device_ids[kept++] = d->device_ids[i];
	}
	d->n_device_ids = kept;
	return kept < before;
}

static bool strip_container(struct attach_things *t, Podresources__ContainerResources *c,
			    const void *owner)
{
	bool any = strip_cpus(t, c->cpu_ids, &c->n_cpu_ids, owner);
	size_t kept = 0;

	for (size_t i = 0; i < c->n_devices; i++) {
		bool less = strip_devices(t, c->devices[i], owner);

		any = any || less;
		if (!less || c->devices[i]->n_device_ids > 0)
			c->devices[kept++] = c->devices[i];
	}
	c->n_devices = kept;
	return any;
}

bool attach_things_strip(struct attach_things *t, Podresources__PodResources *pod,
			 const void *owner)
{
	bool any = strip_cpus(t, pod->cpu_ids, &pod->n_cpu_ids, owner);

	for (size_t i = 0; i < pod->n_containers; i++)
		any = strip_container(t, pod->containers[i], owner) || any;
	return any;
}

/* --- memory --------------------------------------------------------------------------- */

/* The one NUMA node of a block; MEMORY_ANY_NODE if it has none or several. */
static int64_t things_node_of(const Podresources__ContainerMemory *m)
{
	return m->topology && m->topology->n_nodes == 1 ? m->topology->nodes[0]->id
							: MEMORY_ANY_NODE;
}

static uint64_t memory_sum(Podresources__ContainerMemory *const *v, size_t n, const char *type,
			   int64_t node)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		if (strcmp(v[i]->memory_type, type) == 0 &&
		    (node == MEMORY_ANY_NODE || things_node_of(v[i]) == node))
			sum += v[i]->size;
	}
	return sum;
}

/* The pod's own memory and that of its containers is the same memory, listed twice. */
static uint64_t memory_of(const Podresources__PodResources *p, const char *type, int64_t node)
{
	uint64_t whole = memory_sum(p->memory, p->n_memory, type, node), parts = 0;

	for (size_t i = 0; i < p->n_containers; i++) {
		const Podresources__ContainerResources *c = p->containers[i];

		parts += memory_sum(c->memory, c->n_memory, type, node);
	}
	return MAX(whole, parts);
}

static bool things_fits(const Podresources__AllocatableResponse *room,
			const Podresources__PodResources *const *pods, size_t n, const char *type,
			int64_t node)
{
	uint64_t there = memory_sum(room->memory, room->n_memory, type, node), used = 0;

	for (size_t i = 0; i < n; i++)
		used += memory_of(pods[i], type, node);
	return used <= there;
}

bool attach_things_memory_fits(const Podresources__AllocatableResponse *room,
			       const Podresources__PodResources *const *pods, size_t n)
{
	for (size_t i = 0; i < room->n_memory; i++) {
		const Podresources__ContainerMemory *m = room->memory[i];

		if (!things_fits(room, pods, n, m->memory_type, MEMORY_ANY_NODE) ||
		    !things_fits(room, pods, n, m->memory_type, things_node_of(m)))
			return false;
	}
	return true;
}
