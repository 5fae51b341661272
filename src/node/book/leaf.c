/*
 * One walk serves both purposes: it visits the things of a message in their order, and removes
 * those that the visitor does not want. One visitor names them, the other drops by age, so the two
 * cannot disagree about the order.
 *
 * Comparing sorts both sides by name. Things of one name are a stack: if there are fewer than
 * before, the newest have gone. So the number of things held since R is the minimum number since R,
 * which a catch-up may send.
 */
#include "node/book/leaf.h"

#include <stdlib.h>

#include "base/core/vec.h"

enum { THING_PARTS_MAX = 6 };

enum thing_kind { THING_DEVICE, THING_CPU, THING_MEMORY, THING_CLAIM };

struct thing {
	enum thing_kind kind;
	const char *part[THING_PARTS_MAX]; /* NULL: none */
	uint64_t number; /* a CPU's number, or memory's size */
	const Podresources__TopologyInfo *nodes; /* of memory, or NULL */
};

struct walk {
	bool (*keep)(struct walk *w, const struct thing *t);
};

/* --- the walk ------------------------------------------------------------------------ */

static bool walk_device(struct walk *w, Podresources__ContainerDevices *d)
{
	size_t had = d->n_device_ids, kept = 0;

	for (size_t i = 0; i < had; i++) {
		struct thing t = { THING_DEVICE, .part = { d->resource_name, d->device_ids[i] } };

		if (w->keep(w, &t))
			d->device_ids[kept++] = d->device_ids[i];
	}
	d->n_device_ids = kept;
	return kept > 0 || had == 0;
}

static size_t walk_devices(struct walk *w, Podresources__ContainerDevices **v, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (walk_device(w, v[i]))
			v[kept++] = v[i];
	return kept;
}

static size_t walk_cpus(struct walk *w, int64_t *v, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		struct thing t = { THING_CPU, .number = (uint64_t)v[i] };

		if (w->keep(w, &t))
			v[kept++] = v[i];
	}
	return kept;
}

static size_t walk_memory(struct walk *w, Podresources__ContainerMemory **v, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		struct thing t = { THING_MEMORY, .part = { v[i]->memory_type },
				   .number = v[i]->size, .nodes = v[i]->topology };

		if (w->keep(w, &t))
			v[kept++] = v[i];
	}
	return kept;
}

static bool walk_claim(struct walk *w, Podresources__DynamicResource *d)
{
	size_t had = d->n_claim_resources, kept = 0;

	for (size_t i = 0; i < had; i++) {
		const Podresources__ClaimResource *r = d->claim_resources[i];
		bool shared = r->share_case == PODRESOURCES__CLAIM_RESOURCE__SHARE_SHARE_ID;
		struct thing t = { THING_CLAIM,
				   .part = { d->claim_namespace, d->claim_name, r->driver_name,
					     r->pool_name, r->device_name,
					     shared ? r->share_id : NULL } };

		if (w->keep(w, &t))
			d->claim_resources[kept++] = d->claim_resources[i];
	}
	d->n_claim_resources = kept;
	return kept > 0 || had == 0;
}

static size_t walk_claims(struct walk *w, Podresources__DynamicResource **v, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (walk_claim(w, v[i]))
			v[kept++] = v[i];
	return kept;
}

/* Allocatable devices of DRA drivers, which have no claim. */
static size_t walk_offers(struct walk *w, Podresources__ClaimResource **v, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		struct thing t = { THING_CLAIM, .part = { v[i]->driver_name, v[i]->pool_name,
							  v[i]->device_name } };

		if (w->keep(w, &t))
			v[kept++] = v[i];
	}
	return kept;
}

static void walk_container(struct walk *w, Podresources__ContainerResources *c)
{
	c->n_devices = walk_devices(w, c->devices, c->n_devices);
	c->n_cpu_ids = walk_cpus(w, c->cpu_ids, c->n_cpu_ids);
	c->n_memory = walk_memory(w, c->memory, c->n_memory);
	c->n_dynamic_resources = walk_claims(w, c->dynamic_resources, c->n_dynamic_resources);
}

static void walk_pod(struct walk *w, Podresources__PodResources *p)
{
	for (size_t i = 0; i < p->n_containers; i++)
		walk_container(w, p->containers[i]);
	p->n_cpu_ids = walk_cpus(w, p->cpu_ids, p->n_cpu_ids);
	p->n_memory = walk_memory(w, p->memory, p->n_memory);
	p->n_dynamic_resources = walk_claims(w, p->dynamic_resources, p->n_dynamic_resources);
}

static void walk_allocatable(struct walk *w, Podresources__AllocatableResponse *r)
{
	r->n_devices = walk_devices(w, r->devices, r->n_devices);
	r->n_cpu_ids = walk_cpus(w, r->cpu_ids, r->n_cpu_ids);
	r->n_memory = walk_memory(w, r->memory, r->n_memory);
	r->n_claim_resources = walk_offers(w, r->claim_resources, r->n_claim_resources);
}

/* --- names --------------------------------------------------------------------------- */

struct leaf {
	struct str name;
	size_t at; /* its number in the message */
	int64_t since;
};

struct naming {
	struct walk walk;
	struct arena *arena;
	const int64_t *since; /* or NULL */
	VEC(struct leaf) leaves;
};

static char *put_number(char *p, uint64_t v)
{
	for (int shift = 56; shift >= 0; shift -= 8)
		*p++ = (char)(v >> shift);
	return p;
}

static size_t name_room(const struct thing *t)
{
	size_t n = 1 + sizeof(uint64_t) * (1 + (t->nodes ? t->nodes->n_nodes : 0));

	for (int i = 0; i < THING_PARTS_MAX && t->part[i]; i++)
		n += strlen(t->part[i]) + 1;
	return n;
}

/* Parts with their NULs, numbers with the highest byte first: unambiguous, and sortable. */
static struct str thing_name(const struct thing *t, struct arena *a)
{
	char *name = arena_alloc(a, name_room(t)), *p = name;

	*p++ = (char)t->kind;
	for (int i = 0; i < THING_PARTS_MAX && t->part[i]; i++) {
		size_t n = strlen(t->part[i]) + 1;

		memcpy(p, t->part[i], n);
		p += n;
	}
	p = put_number(p, t->number);
	for (size_t i = 0; t->nodes && i < t->nodes->n_nodes; i++)
		p = put_number(p, (uint64_t)t->nodes->nodes[i]->id);
	return str_of(name, (size_t)(p - name));
}

static bool note_leaf(struct walk *w, const struct thing *t)
{
	struct naming *n = CONTAINER_OF(w, struct naming, walk);
	size_t at = n->leaves.n;

	(void)vec_push(&n->leaves, (struct leaf){ .name = thing_name(t, n->arena),
						  .at = at,
						  .since = n->since ? n->since[at] : 0 });
	return true;
}

static struct naming naming_of(struct arena *a, const int64_t *since)
{
	struct naming n = { .walk.keep = note_leaf, .arena = a, .since = since };

	vec_init(&n.leaves, SIZE_MAX / sizeof(struct leaf));
	return n;
}

static int cmp_leaves(const void *x, const void *y)
{
	const struct leaf *a = x, *b = y;
	int r = str_cmp(a->name, b->name);

	if (r)
		return r;
	if (a->since != b->since)
		return a->since < b->since ? -1 : 1;
	return a->at < b->at ? -1 : 1;
}

/* The assignment log's things are nearly always sorted already. */
static void sort_leaves(struct naming *n)
{
	for (size_t i = 1; i < n->leaves.n; i++) {
		if (cmp_leaves(&n->leaves.v[i - 1], &n->leaves.v[i]) < 0)
			continue;
		qsort(n->leaves.v, n->leaves.n, sizeof(struct leaf), cmp_leaves);
		return;
	}
}

static struct podres_diff diff_leaves(struct naming *old, struct naming *now, struct arena *a)
{
	struct podres_diff d = { .n = now->leaves.n };
	size_t i = 0, j = 0;

	sort_leaves(old);
	sort_leaves(now);
	d.since = ARENA_ARRAY(a, int64_t, d.n + 1);
	while (i < old->leaves.n || j < now->leaves.n) {
		const struct leaf *o = i < old->leaves.n ? &old->leaves.v[i] : NULL;
		const struct leaf *l = j < now->leaves.n ? &now->leaves.v[j] : NULL;
		int r = !o ? 1 : !l ? -1 : str_cmp(o->name, l->name);

		d.lost += r < 0;
		d.gained += r > 0;
		if (r >= 0)
			d.since[l->at] = r > 0 ? PODRES_NEW : o->since;
		i += r <= 0;
		j += r >= 0;
	}
	vec_release(&old->leaves);
	vec_release(&now->leaves);
	return d;
}

struct podres_diff podres_diff_pods(Podresources__PodResources *old, const int64_t *since,
				    Podresources__PodResources *now, struct arena *a)
{
	struct naming before = naming_of(a, since), after = naming_of(a, NULL);

	if (old)
		walk_pod(&before.walk, old);
	walk_pod(&after.walk, now);
	return diff_leaves(&before, &after, a);
}

struct podres_diff podres_diff_allocatable(Podresources__AllocatableResponse *old,
					   Podresources__AllocatableResponse *now, struct arena *a)
{
	struct naming before = naming_of(a, NULL), after = naming_of(a, NULL);

	walk_allocatable(&before.walk, old);
	walk_allocatable(&after.walk, now);
	return diff_leaves(&before, &after, a);
}

/* --- dropping ------------------------------------------------------------------------ */

struct ageing {
	struct walk walk;
	const int64_t *since;
	size_t at;
	int64_t limit;
};

static bool is_older(struct walk *w, const struct thing *t UNUSED)
{
	struct ageing *g = CONTAINER_OF(w, struct ageing, walk);

	return g->since[g->at++] <= g->limit;
}

void podres_keep_older(Podresources__PodResources *pod, const int64_t *since, int64_t limit)
{
	struct ageing g = { .walk.keep = is_older, .since = since, .limit = limit };

	walk_pod(&g.walk, pod);
}
