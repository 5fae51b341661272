/*
 * Messages become items in three steps: all mentions are collected, sorted, and mentions of the
 * same item are merged. The NUMA texts are made last, because they need the nodes of all mentions.
 */
#include "cli/podresources/items.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/core/vec.h"
#include "base/json/quantity.h"
#include "base/text/cpu_set.h"
#include "cli/output/output.h"
#include "cli/podresources/items_impl.h"

/* One mention of an item. */
struct mention {
	struct podres_item item;
	const Podresources__TopologyInfo *topology; /* or NULL */
};

struct gather {
	struct arena *arena;
	struct str container;
	VEC(struct mention) mentions;
};

/* --- order -------------------------------------------------------------------------------- */

/* The digits at the front of *s, without leading zeros. */
static struct str take_number(struct str *s)
{
	size_t begin = 0, n;

	while (begin + 1 < s->n && s->p[begin] == '0' && str_is_digit(s->p[begin + 1]))
		begin++;
	for (n = begin; n < s->n && str_is_digit(s->p[n]);)
		n++;
	struct str number = str_of(s->p + begin, n - begin);

	*s = str_skip(*s, n);
	return number;
}

int podres_items_cmp_names(struct str a, struct str b)
{
	struct str x = a, y = b;

	while (x.n > 0 && y.n > 0) {
		if (str_is_digit(x.p[0]) && str_is_digit(y.p[0])) {
			struct str i = take_number(&x), j = take_number(&y);
			int c = i.n != j.n ? (i.n < j.n ? -1 : 1) : str_cmp(i, j);

			if (c != 0)
				return c;
			continue;
		}
		if (x.p[0] != y.p[0])
			return (unsigned char)x.p[0] < (unsigned char)y.p[0] ? -1 : 1;
		x = str_skip(x, 1);
		y = str_skip(y, 1);
	}
	if (x.n != y.n)
		return x.n < y.n ? -1 : 1;
	return str_cmp(a, b); /* "01" and "1" are different names */
}

int podres_item_cmp(const struct podres_item *a, const struct podres_item *b)
{
	int c = str_cmp(a->container, b->container);

	if (c == 0)
		c = (int)a->kind - (int)b->kind;
	if (c == 0)
		c = str_cmp(a->group, b->group);
	if (c == 0)
		c = podres_items_cmp_names(a->id, b->id);
	/* Memory blocks of one size differ by their place; a device is identified by its id. */
	if (c == 0 && a->kind == PODRES_MEMORY)
		c = str_cmp(a->numa, b->numa);
	return c;
}

static int by_item(const void *a, const void *b)
{
	return podres_item_cmp(a, b);
}

static int by_mention(const void *a, const void *b)
{
	return podres_item_cmp(&((const struct mention *)a)->item,
			       &((const struct mention *)b)->item);
}

/* --- collecting --------------------------------------------------------------------------- */

static struct str items_clean(struct gather *g, const char *text)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(PODRES_ITEMS_MAX);

	output_clean(&b, str_from(text));
	return arena_str(g->arena, buf_str(&b));
}

static void items_add(struct gather *g, struct podres_item item,
		      const Podresources__TopologyInfo *at)
{
	item.container = g->container;
	(void)vec_push(&g->mentions, (struct mention){ item, at });
}

/* An unknown value comes from a newer server. */
static enum device_health health_of(Podresources__DeviceHealth h)
{
	switch (h) {
	case PODRESOURCES__DEVICE_HEALTH__NOT_REPORTED:
		return DEVICE_NOT_REPORTED;
	case PODRESOURCES__DEVICE_HEALTH__HEALTHY:
		return DEVICE_HEALTHY;
	case PODRESOURCES__DEVICE_HEALTH__UNHEALTHY:
		return DEVICE_UNHEALTHY;
	default:
		return DEVICE_UNKNOWN;
	}
}

static void add_devices(struct gather *g, Podresources__ContainerDevices *const *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct podres_item item = { .kind = PODRES_DEVICE,
					    .group = items_clean(g, v[i]->resource_name),
					    .health = health_of(v[i]->health),
					    .message = items_clean(g, v[i]->health_message),
					    .amount = 1 };

		for (size_t j = 0; j < v[i]->n_device_ids; j++) {
			item.id = items_clean(g, v[i]->device_ids[j]);
			items_add(g, item, v[i]->topology);
		}
	}
}

static void add_cpus(struct gather *g, const int64_t *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct podres_item item = { .kind = PODRES_CPU,
					    .group = STR("cpus"),
					    .amount = (uint64_t)v[i] };

		item.id = str_from(arena_printf(g->arena, "%" PRId64, v[i]));
		items_add(g, item, NULL);
	}
}

static struct str size_text(struct gather *g, uint64_t bytes)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(KIB);

	(void)quantity_print(
		quantity_of((int64_t)MIN(bytes, (uint64_t)INT64_MAX), QUANTITY_BINARY_SI), &b);
	return arena_str(g->arena, buf_str(&b));
}

static void add_memory(struct gather *g, Podresources__ContainerMemory *const *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct podres_item item = { .kind = PODRES_MEMORY,
					    .group = items_clean(g, v[i]->memory_type),
					    .id = size_text(g, v[i]->size),
					    .amount = v[i]->size };

		items_add(g, item, v[i]->topology);
	}
}

static struct str cdi_names(struct gather *g, const Podresources__ClaimResource *r)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(PODRES_ITEMS_MAX);

	for (size_t i = 0; i < r->n_cdi_devices; i++) {
		(void)buf_addz(&b, i > 0 ? "," : "");
		output_clean(&b, str_from(r->cdi_devices[i]->name));
	}
	return arena_str(g->arena, buf_str(&b));
}

static struct str claim_device(struct gather *g, const Podresources__ClaimResource *r)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(PODRES_ITEMS_MAX);

	(void)buf_printf(&b, "%s/%s/%s", r->driver_name, r->pool_name, r->device_name);
	if (r->share_case == PODRESOURCES__CLAIM_RESOURCE__SHARE_SHARE_ID && *r->share_id)
		(void)buf_printf(&b, "(share %s)", r->share_id);
	return items_clean(g, b.p);
}

static void add_claim_device(struct gather *g, struct str group, struct str id,
			     const Podresources__ClaimResource *r)
{
	struct podres_item item = { .kind = PODRES_CLAIM,
				    .group = group,
				    .id = id,
				    .cdi = cdi_names(g, r),
				    .health = health_of(r->health),
				    .message = items_clean(g, r->health_message),
				    .amount = 1 };

	items_add(g, item, NULL);
}

static void add_claims(struct gather *g, Podresources__DynamicResource *const *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct str group = items_clean(
			g, arena_printf(g->arena, "claim/%s", v[i]->claim_name));

		for (size_t j = 0; j < v[i]->n_claim_resources; j++)
			add_claim_device(g, group, claim_device(g, v[i]->claim_resources[j]),
					 v[i]->claim_resources[j]);
	}
}

/* Devices of drivers, whether or not a claim holds them. */
static void add_drivers(struct gather *g, Podresources__ClaimResource *const *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		add_claim_device(g, items_clean(g, v[i]->driver_name),
				 items_clean(g, arena_printf(g->arena, "%s/%s", v[i]->pool_name,
							     v[i]->device_name)),
				 v[i]);
}

static void add_container(struct gather *g, const Podresources__ContainerResources *c)
{
	add_devices(g, c->devices, c->n_devices);
	add_claims(g, c->dynamic_resources, c->n_dynamic_resources);
	add_cpus(g, c->cpu_ids, c->n_cpu_ids);
	add_memory(g, c->memory, c->n_memory);
}

static void add_whole(struct gather *g, const Podresources__PodResources *pod)
{
	add_cpus(g, pod->cpu_ids, pod->n_cpu_ids);
	add_memory(g, pod->memory, pod->n_memory);
	add_claims(g, pod->dynamic_resources, pod->n_dynamic_resources);
}

/* --- making one of many ------------------------------------------------------------------- */

static struct str nodes_text(struct gather *g, const struct mention *v, size_t n)
{
	struct cpu_set set = { { 0 } };

	for (size_t i = 0; i < n; i++) {
		const Podresources__TopologyInfo *t = v[i].topology;

		for (size_t j = 0; t && j < t->n_nodes; j++)
			cpu_set_add(&set, t->nodes[j]->id >= 0 && t->nodes[j]->id < CPU_SET_MAX
						  ? (int)t->nodes[j]->id
						  : -1);
	}
	return cpu_set_empty(&set) ? STR_NULL : cpu_set_print(&set, g->arena);
}

static size_t run_of(const struct mention *v, size_t n)
{
	size_t same = 1;

	while (same < n && v[0].item.kind != PODRES_MEMORY &&
	       podres_item_cmp(&v[0].item, &v[same].item) == 0)
		same++;
	return same;
}

static struct podres_items items_finish(struct gather *g)
{
	struct mention *v = g->mentions.v;
	size_t n = g->mentions.n, same;
	struct podres_items items = { .v = ARENA_ARRAY(g->arena, struct podres_item, n) };

	if (n > 0)
		qsort(v, n, sizeof(*v), by_mention);
	for (size_t i = 0; i < n; i += same) {
		same = run_of(v + i, n - i);
		v[i].item.numa = nodes_text(g, v + i, same);
		items.v[items.n++] = v[i].item;
	}
	if (items.n > 0)
		qsort(items.v, items.n, sizeof(*items.v), by_item); /* now including their places */
	vec_release(&g->mentions);
	return items;
}

static struct gather gather_in(struct arena *a)
{
	struct gather g = { .arena = a };

	vec_init(&g.mentions, PODRES_ITEMS_MAX);
	return g;
}

struct podres_items podres_items_of_container(struct arena *a,
					      const Podresources__ContainerResources *c)
{
	struct gather g = gather_in(a);

	add_container(&g, c);
	return items_finish(&g);
}

struct podres_items podres_items_of_pod(struct arena *a, const Podresources__PodResources *pod,
					bool containers)
{
	struct gather g = gather_in(a);

	for (size_t i = 0; i < pod->n_containers; i++) {
		if (containers)
			g.container = items_clean(&g, pod->containers[i]->name);
		add_container(&g, pod->containers[i]);
	}
	if (containers)
		g.container = STR(PODRES_WHOLE_POD);
	add_whole(&g, pod);
	return items_finish(&g);
}

struct podres_items podres_items_of_whole(struct arena *a, const Podresources__PodResources *pod)
{
	struct gather g = gather_in(a);

	add_whole(&g, pod);
	return items_finish(&g);
}

struct podres_items podres_items_of_node(struct arena *a,
					 const Podresources__AllocatableResponse *r)
{
	struct gather g = gather_in(a);

	add_devices(&g, r->devices, r->n_devices);
	add_drivers(&g, r->claim_resources, r->n_claim_resources);
	add_cpus(&g, r->cpu_ids, r->n_cpu_ids);
	add_memory(&g, r->memory, r->n_memory);
	return items_finish(&g);
}

struct podres_items podres_items_of_change(struct arena *a, const Podresources__AllocatableEvent *e)
{
	struct gather g = gather_in(a);

	add_devices(&g, e->devices, e->n_devices);
	add_drivers(&g, e->claim_resources, e->n_claim_resources);
	add_cpus(&g, e->cpu_ids, e->n_cpu_ids);
	add_memory(&g, e->memory, e->n_memory);
	return items_finish(&g);
}
