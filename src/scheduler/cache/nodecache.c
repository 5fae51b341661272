/*
 * Every change calls touch(): the cache gets its own copy of the entry (if the snapshot shares it),
 * which gets the next generation and moves to the front of the list. So the list is always sorted
 * by descending generation.
 */
#include "scheduler/cache/nodecache.h"

#include "base/core/mem.h"
#include "scheduler/cache/nodecache_impl.h"

struct nodecache *nodecache_new(void)
{
	struct nodecache *c = XNEW(struct nodecache);

	map_init(&c->items);
	map_init(&c->pods);
	map_init(&c->assumed);
	list_init(&c->changed);
	vec_init(&c->zones, UINT32_MAX);
	vec_init(&c->gone, UINT32_MAX);
	snapshot_init(&c->snapshot);
	return c;
}

static void item_free(struct nodecache_item *i)
{
	nodeinfo_unref(i->shown);
	nodeinfo_unref(i->info);
	free(i);
}

static void zone_free(struct zone *z)
{
	vec_release(&z->items);
	free(z);
}

void nodecache_free(struct nodecache *c)
{
	struct str key;
	void *value;
	size_t at = 0;

	if (!c)
		return;
	snapshot_release(c);
	while (map_next(&c->items, &at, &key, &value))
		item_free(value);
	for (at = 0; map_next(&c->pods, &at, &key, &value);)
		podinfo_unref(value);
	for (size_t i = 0; i < c->zones.n; i++)
		zone_free(c->zones.v[i]);
	vec_release(&c->zones);
	map_release(&c->items);
	map_release(&c->pods);
	map_release(&c->assumed);
	free(c);
}

/* --- entries --------------------------------------------------------------------- */

static struct nodecache_item *need_item(struct nodecache *c, struct str name)
{
	struct nodecache_item *i = map_get(&c->items, name);

	if (i)
		return i;
	i = XNEW(struct nodecache_item);
	i->info = nodeinfo_new(name);
	i->at_affinity = i->at_anti = SIZE_MAX;
	list_init(&i->link);
	map_put(&c->items, i->info->name, i);
	return i;
}

/* To be changed now. */
static struct nodeinfo *touch(struct nodecache *c, struct nodecache_item *i)
{
	struct nodeinfo *before = i->info;

	if (nodeinfo_own(&i->info) != before)
		map_put(&c->items, i->info->name, i); /* the key is the new one's text */
	list_remove(&i->link);
	list_push_front(&c->changed, &i->link);
	return i->info;
}

static void stamp(struct nodecache *c, struct nodecache_item *i)
{
	i->info->generation = ++c->generation;
}

/* Schedules the removal of the node from the snapshot. */
static void hide(struct nodecache *c, struct nodecache_item *i)
{
	if (i->shown)
		(void)vec_push(&c->gone, TAKE(i->shown));
	i->at_affinity = i->at_anti = SIZE_MAX;
	c->relist = true;
}

static void drop_if_empty(struct nodecache *c, struct nodecache_item *i)
{
	/* Extended resources wait for a node that comes back; their plugins take them away. */
	if (i->info->node || i->info->pods.n > 0 || i->info->extended.n > 0)
		return;
	map_remove(&c->items, i->info->name);
	list_remove(&i->link);
	if (i->shown)
		hide(c, i);
	item_free(i);
}

/* --- zones ----------------------------------------------------------------------- */

static struct zone *need_zone(struct nodecache *c, struct str name)
{
	struct zone *z;

	for (size_t i = 0; i < c->zones.n; i++)
		if (str_eq(c->zones.v[i]->name, name))
			return c->zones.v[i];
	z = xcalloc(1, sizeof(*z) + name.n + 1);
	str_put(z + 1, name);
	z->name = str_of(z + 1, name.n);
	vec_init(&z->items, UINT32_MAX);
	(void)vec_push(&c->zones, z);
	return z;
}

static void leave_zone(struct nodecache *c, struct nodecache_item *item)
{
	struct zone *z = TAKE(item->zone);

	if (!z)
		return;
	c->nodes--;
	for (size_t i = 0; i < z->items.n; i++) {
		if (z->items.v[i] != item)
			continue;
		vec_remove(&z->items, i);
		break;
	}
	for (size_t i = 0; z->items.n == 0 && i < c->zones.n; i++) {
		if (c->zones.v[i] != z)
			continue;
		vec_remove(&c->zones, i);
		zone_free(z);
		return;
	}
}

static void enter_zone(struct nodecache *c, struct nodecache_item *item, struct str name)
{
	if (item->zone && str_eq(item->zone->name, name))
		return;
	leave_zone(c, item);
	item->zone = need_zone(c, name);
	(void)vec_push(&item->zone->items, item);
	c->nodes++;
	c->relist = true;
}

/* --- pods ------------------------------------------------------------------------ */

static void nodecache_count(struct nodecache *c, struct podinfo *p)
{
	struct nodecache_item *i = need_item(c, p->node);
	struct podinfo *old;

	nodeinfo_add_pod(touch(c, i), p);
	stamp(c, i);
	old = map_put(&c->pods, p->uid, podinfo_ref(p));
	podinfo_unref(old);
}

/* Takes it from where it is counted. Its reference is kept for the caller. */
static struct podinfo *uncount(struct nodecache *c, struct str uid)
{
	struct podinfo *p = map_remove(&c->pods, uid);
	struct nodecache_item *i = p ? map_get(&c->items, p->node) : NULL;

	if (!p)
		return NULL;
	map_remove(&c->assumed, uid);
	if (i) {
		(void)nodeinfo_remove_pod(touch(c, i), p);
		stamp(c, i);
		drop_if_empty(c, i);
	}
	return p;
}

static void uncount_and_drop(struct nodecache *c, struct str uid)
{
	podinfo_unref(uncount(c, uid));
}

/* In its place, without the node being dropped in between. */
static void recount(struct nodecache *c, struct podinfo *old, struct podinfo *p)
{
	struct nodecache_item *i = map_get(&c->items, p->node);

	if (!i || !str_eq(old->node, p->node)) {
		uncount_and_drop(c, old->uid);
		nodecache_count(c, p);
		return;
	}
	map_remove(&c->assumed, old->uid);
	touch(c, i);
	podinfo_ref(old);
	nodeinfo_remove_pod(i->info, old);
	nodeinfo_add_pod(i->info, p);
	stamp(c, i);
	podinfo_unref(map_put(&c->pods, p->uid, podinfo_ref(p)));
	podinfo_unref(old);
}

int nodecache_assume(struct nodecache *c, struct podinfo *p, struct error *err)
{
	if (map_get(&c->pods, p->uid))
		return error_set(err, ERR_CONFLICT,
				 "pod %.*s(%.*s) is in the cache, so can't be assumed",
				 STR_ARG(p->uid), STR_ARG(p->key));
	nodecache_count(c, p);
	map_put(&c->assumed, p->uid, p);
	return 0;
}

int nodecache_forget(struct nodecache *c, struct podinfo *p, struct error *err)
{
	struct podinfo *known = map_get(&c->pods, p->uid);

	if (!known)
		return 0;
	if (p->node.n > 0 && !str_eq(known->node, p->node))
		return error_set(err, ERR_CONFLICT,
				 "pod %.*s(%.*s) was assumed on %.*s but assigned to %.*s",
				 STR_ARG(p->uid), STR_ARG(p->key), STR_ARG(p->node),
				 STR_ARG(known->node));
	if (!map_get(&c->assumed, p->uid))
		return error_set(
			err, ERR_CONFLICT,
			"pod %.*s(%.*s) is not assumed, so it cannot be removed or forgotten",
			STR_ARG(p->uid), STR_ARG(p->key));
	uncount_and_drop(c, p->uid);
	return 0;
}

int nodecache_add_pod(struct nodecache *c, struct podinfo *p, struct error *err)
{
	struct podinfo *known = map_get(&c->pods, p->uid);
	bool assumed = known && map_get(&c->assumed, p->uid);

	if (!known) {
		nodecache_count(c, p);
		return 0;
	}
	recount(c, known, p);
	if (!assumed)
		return error_set(err, ERR_CONFLICT, "pod %.*s(%.*s) was already in added state",
				 STR_ARG(p->uid), STR_ARG(p->key));
	return 0;
}

int nodecache_update_pod(struct nodecache *c, struct podinfo *p, struct error *err)
{
	struct podinfo *known = map_get(&c->pods, p->uid);
	bool assumed, moved;

	if (!known) {
		nodecache_count(c, p);
		return error_set(err, ERR_NOT_FOUND,
				 "pod %.*s(%.*s) was not in the scheduler's cache when updated",
				 STR_ARG(p->uid), STR_ARG(p->key));
	}
	assumed = map_get(&c->assumed, p->uid) != NULL;
	moved = !str_eq(known->node, p->node);
	recount(c, known, p);
	if (assumed)
		return error_set(err, ERR_CONFLICT, "assumed pod %.*s(%.*s) should not be updated",
				 STR_ARG(p->uid), STR_ARG(p->key));
	if (moved)
		return error_set(
			err, ERR_CONFLICT,
			"pod %.*s(%.*s) updated on a different node than previously added to",
			STR_ARG(p->uid), STR_ARG(p->key));
	return 0;
}

int nodecache_remove_pod(struct nodecache *c, struct podinfo *p, struct error *err)
{
	struct podinfo *known = map_get(&c->pods, p->uid);
	bool elsewhere;

	if (!known)
		return error_set(err, ERR_NOT_FOUND,
				 "pod %.*s(%.*s) is not found in scheduler cache, so cannot be "
				 "removed from it",
				 STR_ARG(p->uid), STR_ARG(p->key));
	/* Without a node: its end was noticed by a list, and this is the last that was seen. */
	elsewhere = p->node.n > 0 && !str_eq(known->node, p->node);
	uncount_and_drop(c, p->uid);
	if (elsewhere)
		return error_set(err, ERR_CONFLICT,
				 "pod %.*s(%.*s) was removed from a different node than it was on",
				 STR_ARG(p->uid), STR_ARG(p->key));
	return 0;
}

bool nodecache_is_assumed(const struct nodecache *c, struct str uid)
{
	return map_get(&c->assumed, uid) != NULL;
}

struct podinfo *nodecache_pod(const struct nodecache *c, struct str uid)
{
	return map_get(&c->pods, uid);
}

/* --- nodes ----------------------------------------------------------------------- */

void nodecache_put_node(struct nodecache *c, struct nodeobject *n)
{
	struct nodecache_item *i = need_item(c, n->name);

	nodeinfo_set_node(touch(c, i), n);
	stamp(c, i);
	enter_zone(c, i, n->zone);
}

bool nodecache_remove_node(struct nodecache *c, struct str name)
{
	struct nodecache_item *i = map_get(&c->items, name);

	if (!i || !i->info->node)
		return false;
	leave_zone(c, i);
	hide(c, i);
	nodeinfo_set_node(touch(c, i), NULL);
	stamp(c, i);
	drop_if_empty(c, i);
	return true;
}

const struct nodeinfo *nodecache_node(const struct nodecache *c, struct str name)
{
	struct nodecache_item *i = map_get(&c->items, name);

	return i ? i->info : NULL;
}

size_t nodecache_nodes(const struct nodecache *c)
{
	return c->nodes;
}

size_t nodecache_pods(const struct nodecache *c)
{
	return c->pods.n;
}

size_t nodecache_assumed(const struct nodecache *c)
{
	return c->assumed.n;
}

void nodecache_set_extended(struct nodecache *c, struct str node, const struct extended_type *type,
			    void *value, bool fresh)
{
	struct nodecache_item *i;

	if (!value && !map_get(&c->items, node))
		return;
	i = need_item(c, node);
	nodeinfo_set_extended(touch(c, i), type, value, fresh);
	stamp(c, i);
	drop_if_empty(c, i);
}
