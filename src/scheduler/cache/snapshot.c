/*
 * There is one snapshot, and each entry of the cache knows the nodeinfo that the snapshot has of
 * it. An update walks the list of changes up to the last update, and replaces each nodeinfo by the
 * cache's: a pointer and a reference. Lists are rebuilt only if nodes were added or removed, or if
 * a node got its first or lost its last pod with affinity.
 */
#include "base/core/mem.h"
#include "scheduler/cache/nodecache_impl.h"

struct snapshot_count {
	uint32_t n;
	int64_t size; /* of an image */
	struct str key; /* behind the struct */
};

void snapshot_init(struct snapshot_owner *o)
{
	map_init(&o->by_name);
	map_init(&o->images);
	map_init(&o->pvcs);
}

static void free_counts(struct map *m)
{
	struct str key;
	void *value;
	size_t at = 0;

	while (map_next(m, &at, &key, &value))
		free(value);
	map_release(m);
}

void snapshot_release(struct nodecache *c)
{
	struct snapshot_owner *o = &c->snapshot;

	for (size_t i = 0; i < c->gone.n; i++)
		nodeinfo_unref(c->gone.v[i]);
	vec_release(&c->gone);
	free(o->s.nodes);
	free(o->s.with_affinity);
	free(o->s.with_required_anti_affinity);
	map_release(&o->by_name);
	free_counts(&o->images);
	free_counts(&o->pvcs);
}

/* --- counts over all nodes ------------------------------------------------------- */

static void count_up(struct map *m, struct str key, uint32_t by, int64_t size)
{
	struct snapshot_count *e = map_get(m, key);

	if (!e) {
		e = xcalloc(1, sizeof(*e) + key.n + 1);
		str_put(e + 1, key);
		e->key = str_of(e + 1, key.n);
		map_put(m, e->key, e);
	}
	e->n += by;
	e->size = size;
}

static void count_down(struct map *m, struct str key, uint32_t by)
{
	struct snapshot_count *e = map_get(m, key);

	if (!e)
		return;
	e->n -= MIN(by, e->n);
	if (e->n > 0)
		return;
	map_remove(m, e->key);
	free(e);
}

static bool same_images(const struct nodeobject *a, const struct nodeobject *b)
{
	if (a == b)
		return true;
	if (!a || !b || a->nimages != b->nimages)
		return false;
	for (size_t i = 0; i < a->nimages; i++)
		if (a->images[i].size != b->images[i].size ||
		    !str_eq(a->images[i].name, b->images[i].name))
			return false;
	return true;
}

/* Either may be NULL. */
static void count_images(struct snapshot_owner *o, const struct nodeinfo *old,
			 const struct nodeinfo *n)
{
	const struct nodeobject *was = old ? old->node : NULL, *is = n ? n->node : NULL;

	if (same_images(was, is))
		return;
	for (size_t i = 0; is && i < is->nimages; i++)
		count_up(&o->images, is->images[i].name, 1, is->images[i].size);
	for (size_t i = 0; was && i < was->nimages; i++)
		count_down(&o->images, was->images[i].name, 1);
}

static void count_pvcs(struct snapshot_owner *o, const struct nodeinfo *old,
		       const struct nodeinfo *n)
{
	for (size_t i = 0; n && i < n->pvcs.n; i++)
		count_up(&o->pvcs, n->pvcs.v[i].key, n->pvcs.v[i].pods, 0);
	for (size_t i = 0; old && i < old->pvcs.n; i++)
		count_down(&o->pvcs, old->pvcs.v[i].key, old->pvcs.v[i].pods);
}

static void recount(struct snapshot_owner *o, const struct nodeinfo *old, const struct nodeinfo *n)
{
	count_images(o, old, n);
	count_pvcs(o, old, n);
}

/* --- bringing it up to date ------------------------------------------------------ */

static void forget_gone(struct nodecache *c)
{
	struct snapshot_owner *o = &c->snapshot;

	for (size_t i = 0; i < c->gone.n; i++) {
		struct nodeinfo *n = c->gone.v[i];

		recount(o, n, NULL);
		if (map_get(&o->by_name, n->name) == n)
			map_remove(&o->by_name, n->name);
		nodeinfo_unref(n);
	}
	c->gone.n = 0;
}

/*
 * Replaces a node in a list at its index. Returns true if it must be added to or removed from the
 * list.
 */
static bool relist_one(struct nodeinfo **list, size_t at, bool belongs, struct nodeinfo *n)
{
	if (belongs != (at != SIZE_MAX))
		return true;
	if (belongs)
		list[at] = n;
	return false;
}

/*
 * Copies the item's current state to the snapshot. Returns true if a list of nodes with affinity
 * must be rebuilt.
 */
static bool snapshot_show(struct nodecache *c, struct nodecache_item *i)
{
	struct snapshot_owner *o = &c->snapshot;
	struct nodeinfo *n = i->info;
	bool flips = false;

	recount(o, i->shown, n);
	map_put(&o->by_name, n->name, n);
	if (!c->relist) {
		o->s.nodes[i->at] = n;
		flips = relist_one(o->s.with_affinity, i->at_affinity, n->with_affinity.n > 0, n);
		flips |= relist_one(o->s.with_required_anti_affinity, i->at_anti,
				    n->with_required_anti_affinity.n > 0, n);
	}
	nodeinfo_ref(n);
	nodeinfo_unref(i->shown);
	i->shown = n;
	return flips;
}

static void list_nodes(struct nodecache *c)
{
	struct snapshot *s = &c->snapshot.s;
	size_t n = 0;

	s->nodes = xrealloc(s->nodes, MAX(c->nodes, (size_t)1) * sizeof(*s->nodes));
	for (size_t round = 0; n < c->nodes; round++) {
		for (size_t z = 0; z < c->zones.n; z++) {
			if (round >= c->zones.v[z]->items.n)
				continue;
			c->zones.v[z]->items.v[round]->at = n;
			s->nodes[n++] = c->zones.v[z]->items.v[round]->shown;
		}
	}
	s->n = n;
}

static void list_affinity(struct nodecache *c)
{
	struct snapshot *s = &c->snapshot.s;
	size_t size = MAX(c->nodes, (size_t)1) * sizeof(*s->nodes);

	s->with_affinity = xrealloc(s->with_affinity, size);
	s->with_required_anti_affinity = xrealloc(s->with_required_anti_affinity, size);
	s->nwith_affinity = s->nwith_required_anti_affinity = 0;
	for (size_t at = 0; at < s->n; at++) {
		struct nodeinfo *n = s->nodes[at];
		struct nodecache_item *i = map_get(&c->items, n->name);

		i->at_affinity = i->at_anti = SIZE_MAX;
		if (n->with_affinity.n > 0) {
			i->at_affinity = s->nwith_affinity;
			s->with_affinity[s->nwith_affinity++] = n;
		}
		if (n->with_required_anti_affinity.n > 0) {
			i->at_anti = s->nwith_required_anti_affinity;
			s->with_required_anti_affinity[s->nwith_required_anti_affinity++] = n;
		}
	}
}

struct snapshot *nodecache_snapshot(struct nodecache *c)
{
	struct snapshot *s = &c->snapshot.s;
	bool flips = false;

	s->changed = 0;
	s->rebuilt = 0;
	forget_gone(c);
	LIST_FOREACH (link, &c->changed) {
		struct nodecache_item *i = LIST_ENTRY(link, struct nodecache_item, link);

		if (i->info->generation <= s->generation)
			break;
		if (!i->info->node || i->shown == i->info)
			continue;
		flips |= snapshot_show(c, i);
		s->changed++;
	}
	s->generation = c->generation;
	if (c->relist) {
		list_nodes(c);
		s->rebuilt++;
	}
	if (c->relist || flips)
		list_affinity(c);
	c->relist = false;
	return s;
}

static const struct snapshot_owner *owner(const struct snapshot *s)
{
	return CONTAINER_OF((uintptr_t)s, struct snapshot_owner, s);
}

struct nodeinfo *snapshot_find(const struct snapshot *s, struct str node)
{
	return map_get(&owner(s)->by_name, node);
}

size_t snapshot_place(const struct snapshot *s, struct str node)
{
	const struct nodecache *c = CONTAINER_OF((uintptr_t)owner(s), struct nodecache, snapshot);
	const struct nodecache_item *i = map_get(&c->items, node);

	/* The entry may be newer than the list. */
	return i && i->at < s->n && str_eq(s->nodes[i->at]->name, node) ? i->at : s->n;
}

uint32_t snapshot_image(const struct snapshot *s, struct str image, int64_t *ret_size)
{
	const struct snapshot_count *e = map_get(&owner(s)->images, image);

	if (!e)
		return 0;
	*ret_size = e->size;
	return e->n;
}

uint32_t snapshot_pvc_users(const struct snapshot *s, struct str key)
{
	const struct snapshot_count *e = map_get(&owner(s)->pvcs, key);

	return e ? e->n : 0;
}
