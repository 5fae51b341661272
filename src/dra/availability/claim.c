/*
 * Finds the slices whose status depends on a claim, a taint rule or a node. A claim affects the
 * slices of its devices, and slices whose devices consume the same counters.
 *
 * An overdrawn counter makes every consumer of its pool unavailable, so it affects all of them. A
 * caller that asks before and after a change misses none: a counter that becomes overdrawn belongs
 * to a changed claim afterwards, and a counter that ceases to be overdrawn belonged to one before.
 */
#include "base/core/vec.h"
#include "dra/availability/availability_impl.h"
#include "dra/inventory/content.h"

struct concerned {
	struct arena *arena;
	struct map seen; /* name -> struct inventory_slice */
	VEC(struct str) names;
	struct map counters; /* set of struct inventory_counter *: their consumers were added */
	const struct inventory_pool *counted; /* the last pool of which all consumers were added */
};

static void claim_add_slice(struct concerned *c, struct inventory_slice *slice)
{
	if (!map_put(&c->seen, slice->name, slice))
		(void)vec_push(&c->names, arena_str(c->arena, slice->name));
}

/* Copies the names to the arena and frees the list. */
static size_t give_names(struct concerned *c, struct str **ret_names)
{
	size_t n = c->names.n;

	*ret_names = ARENA_ARRAY(c->arena, struct str, n);
	for (size_t i = 0; i < n; i++)
		(*ret_names)[i] = c->names.v[i];
	vec_release(&c->names);
	return n;
}

static bool has_consumers(const struct inventory_slice *slice)
{
	for (size_t i = 0; i < slice->ndevices; i++)
		if (slice->devices[i].ncounters > 0)
			return true;
	return false;
}

static void add_consumers(struct concerned *c, const struct inventory_pool *pool)
{
	if (c->counted == pool)
		return;
	c->counted = pool;
	for (size_t i = 0; i < pool->nslices; i++)
		if (has_consumers(pool->slices[i]))
			claim_add_slice(c, pool->slices[i]);
}

/*
 * Adds the slices that consume this counter, or, if it is overdrawn, all that consume any counter.
 */
static void add_counter(struct concerned *c, struct inventory_pool *pool, uint32_t index)
{
	const struct inventory_counter *counter = &pool->counters[index], **key;
	const uint32_t *places;
	size_t n;

	if (quantity_cmp(counter->held, counter->value) > 0) {
		add_consumers(c, pool);
		return;
	}
	key = ARENA_NEW(c->arena, const struct inventory_counter *);
	*key = counter;
	if (map_put(&c->counters, str_of((const char *)key, sizeof(*key)), c))
		return;
	n = inventory_consumers(pool, index, &places);
	for (size_t i = 0; i < n; i++)
		claim_add_slice(c, pool->slices[places[i]]);
}

static void claim_add_device(struct concerned *c, struct inventory_pool *pool,
			     const struct inventory_device *d)
{
	claim_add_slice(c, d->slice);
	for (size_t i = 0; i < d->ncounters; i++)
		if (d->counters[i].index != UINT32_MAX)
			add_counter(c, pool, d->counters[i].index);
}

static void add_every_device(struct concerned *c, struct inventory_pool *pool, struct str name)
{
	for (size_t i = 0; i < pool->nslices; i++)
		for (size_t k = 0; k < pool->slices[i]->ndevices; k++)
			if (str_eq(pool->slices[i]->devices[k].name, name))
				claim_add_device(c, pool, &pool->slices[i]->devices[k]);
}

/* A held device that does not exist is an error in poolStatus, which is on the first slice. */
static void add_held(struct concerned *c, const struct inventory_holder *h)
{
	struct inventory_pool *pool = h->use->pool;
	const struct inventory_device *d = inventory_pool_device(pool, h->use->name);

	if (!d && pool->nslices > 0)
		claim_add_slice(c, pool->slices[0]);
	if (!d || h->admin)
		return;
	if (pool->duplicates)
		add_every_device(c, pool, h->use->name);
	else
		claim_add_device(c, pool, d);
}

size_t availability_claim_slices(struct inventory *inv, struct str namespace, struct str name,
				 struct arena *a, struct str **ret_names)
{
	const struct inventory_claim *claim = inventory_claim(inv, namespace, name);
	struct concerned c = { .arena = a };
	size_t n;

	*ret_names = NULL;
	if (!claim)
		return 0;
	inventory_settle(inv);
	map_init(&c.seen);
	map_init(&c.counters);
	vec_init(&c.names, SIZE_MAX);
	for (size_t i = 0; i < claim->n; i++)
		add_held(&c, &claim->holders[i]);
	n = give_names(&c, ret_names);
	map_release(&c.seen);
	map_release(&c.counters);
	return n;
}

/* --- rules ---------------------------------------------------------------------------------- */

/* A taint of a partition also changes the largest share of devices with the same counters. */
static void add_selected(struct concerned *c, struct inventory_pool *pool,
			 struct inventory_slice *s, const struct inventory_rule *rule)
{
	for (size_t i = 0; i < s->ndevices; i++)
		if (!rule->device.p || str_eq(s->devices[i].name, rule->device))
			claim_add_device(c, pool, &s->devices[i]);
}

static bool has_rule(const struct inventory_pool *pool, const struct inventory_rule *rule)
{
	for (size_t i = 0; i < pool->nrules; i++)
		if (pool->rules[i] == rule)
			return true;
	return false;
}

static void add_pool(struct concerned *c, struct inventory_pool *pool,
		     const struct inventory_rule *rule)
{
	if (!pool || !has_rule(pool, rule))
		return;
	for (size_t i = 0; i < pool->nslices; i++)
		add_selected(c, pool, pool->slices[i], rule);
}

size_t availability_rule_slices(struct inventory *inv, struct str rule, struct arena *a,
				struct str **ret_names)
{
	const struct inventory_rule *found = inventory_rule(inv, rule);
	struct inventory_pool *pool = NULL;
	struct concerned c = { .arena = a };
	size_t n;

	map_init(&c.seen);
	map_init(&c.counters);
	vec_init(&c.names, SIZE_MAX);
	if (found && found->driver.p && found->pool.p)
		add_pool(&c, inventory_pool(inv, found->driver, found->pool), found);
	else
		while (found && (pool = inventory_pool_after(inv, pool ? pool->key : STR(""))))
			add_pool(&c, pool, found);
	n = give_names(&c, ret_names);
	map_release(&c.seen);
	map_release(&c.counters);
	return n;
}

/* --- nodes ---------------------------------------------------------------------------------- */

/*
 * A faulty pool may be usable from one node only, so all its slices depend on which nodes exist.
 * The largest share of a device may be that of a partition on another node.
 */
static void add_of_node(struct concerned *c, struct inventory_slice *slice)
{
	struct inventory_pool *pool = slice->pool;

	if (!pool->sound && map_get(&c->seen, slice->name))
		return; /* added with its pool */
	claim_add_slice(c, slice);
	for (size_t i = 0; slice->current && i < slice->ndevices; i++)
		claim_add_device(c, pool, &slice->devices[i]);
	for (size_t i = 0; !pool->sound && i < pool->nslices; i++)
		claim_add_slice(c, pool->slices[i]);
}

size_t availability_node_slices(struct inventory *inv, struct str node, struct arena *a,
				struct str **ret_names)
{
	struct concerned c = { .arena = a };
	struct inventory_slice **slices;
	size_t n = inventory_node_slices(inv, node, a, &slices);

	map_init(&c.seen);
	map_init(&c.counters);
	vec_init(&c.names, SIZE_MAX);
	for (size_t i = 0; i < n; i++)
		add_of_node(&c, slices[i]);
	n = give_names(&c, ret_names);
	map_release(&c.seen);
	map_release(&c.counters);
	return n;
}

bool availability_counts(const struct inventory_slice *slice)
{
	return slice->ncounters > 0 || has_consumers(slice);
}
