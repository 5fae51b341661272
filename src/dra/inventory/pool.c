/*
 * A changed pool is recomputed from its slices at the next access: its newest generation, devices,
 * counters, holders and faults. So loading a pool of a thousand slices costs one pass, not a
 * thousand.
 *
 * Between two passes, claims update the pool device by device (inventory_pool_use()).
 */
#include <assert.h>

#include "base/core/mem.h"
#include "dra/inventory/store.h"

/* --- life --------------------------------------------------------------------------- */

static void put_key(char *to, struct str driver, struct str name)
{
	str_put(to, driver);
	to[driver.n] = '/';
	str_put(to + driver.n + 1, name);
}

static struct inventory_pool *pool_new(struct str driver, struct str name)
{
	struct inventory_pool *pool = xcalloc(1, sizeof(*pool) + driver.n + 1 + name.n);

	put_key(pool->text, driver, name);
	pool->key = str_of(pool->text, driver.n + 1 + name.n);
	pool->driver = str_of(pool->text, driver.n);
	pool->name = str_of(pool->text + driver.n + 1, name.n);
	list_init(&pool->all);
	list_init(&pool->dirty_link);
	map_init(&pool->devices);
	map_init(&pool->uses);
	list_init(&pool->lost);
	return pool;
}

struct inventory_pool *inventory_pool_find(const struct inventory *inv, struct str driver,
					   struct str name)
{
	char block[512] UNZEROED;
	struct inventory_pool *pool;
	struct arena a;
	char *key;

	arena_init_in(&a, SIZE_MAX, block, sizeof(block));
	key = arena_alloc(&a, driver.n + 1 + name.n);
	put_key(key, driver, name);
	pool = map_get(&inv->pool_keys, str_of(key, driver.n + 1 + name.n));
	arena_release(&a);
	return pool;
}

struct inventory_pool *inventory_pool_need(struct inventory *inv, struct str driver,
					   struct str name)
{
	struct inventory_pool *pool = inventory_pool_find(inv, driver, name);

	if (pool)
		return pool;
	pool = pool_new(driver, name);
	omap_put(&inv->pools, pool->key, pool);
	map_put(&inv->pool_keys, pool->key, pool);
	inventory_pool_rules(inv, pool);
	return pool;
}

static void forget_consumers(struct inventory_pool *pool)
{
	free(pool->consumers);
	free(pool->consumers_end);
	pool->consumers = pool->consumers_end = NULL;
}

void inventory_pool_free(struct inventory_pool *pool)
{
	list_remove(&pool->dirty_link);
	map_release(&pool->devices);
	map_release(&pool->uses);
	free(pool->slices);
	free(pool->counters);
	forget_consumers(pool);
	free(pool->rules);
	inventory_verdicts_free(pool->verdicts);
	free(pool->name_fault);
	free(pool->counter_fault);
	free(pool);
}

void inventory_pool_drop(struct inventory *inv, struct inventory_pool *pool)
{
	if (!list_empty(&pool->all) || pool->uses.n > 0)
		return;
	inv->ndevices -= pool->ndevices;
	omap_remove(&inv->pools, pool->key);
	map_remove(&inv->pool_keys, pool->key);
	inventory_pool_free(pool);
}

void inventory_pool_dirty(struct inventory *inv, struct inventory_pool *pool)
{
	if (pool->dirty)
		return;
	pool->dirty = true;
	list_push_back(&inv->dirty, &pool->dirty_link);
}

/* --- working it out ----------------------------------------------------------------- */

static int pool_by_name(const void *a, const void *b)
{
	const struct inventory_slice *const *x = a, *const *y = b;

	return str_cmp((*x)->name, (*y)->name);
}

/* Sets the newest generation and its sorted slices, and updates the index. */
static void settle_slices(struct inventory *inv, struct inventory_pool *pool)
{
	size_t n = 0;

	pool->generation = INT64_MIN;
	LIST_FOREACH (it, &pool->all) {
		pool->generation = MAX(pool->generation,
				       LIST_ENTRY(it, struct inventory_slice, link)->generation);
		n++;
	}
	free(pool->slices);
	pool->slices = n ? xcalloc(n, sizeof(*pool->slices)) : NULL;
	pool->nslices = pool->nolder = pool->observed = 0;
	pool->ndevices = 0;
	LIST_FOREACH (it, &pool->all) {
		struct inventory_slice *s = LIST_ENTRY(it, struct inventory_slice, link);

		s->current = s->generation == pool->generation;
		if (s->current && !s->ignored)
			inventory_index_add(inv, s);
		else
			inventory_index_remove(inv, s);
		if (!s->current) {
			pool->nolder++;
			continue;
		}
		pool->slices[pool->nslices++] = s;
		pool->observed += !s->uncounted;
		pool->ndevices += s->ndevices;
	}
	if (pool->nslices > 0)
		qsort(pool->slices, pool->nslices, sizeof(*pool->slices), pool_by_name);
	pool->expected = pool->nslices ? pool->slices[0]->expected : 0;
	pool->incomplete = (int64_t)pool->observed != pool->expected;
}

static void settle_counters(struct inventory_pool *pool)
{
	free(pool->counters);
	forget_consumers(pool);
	pool->counters = inventory_counters(pool->slices, pool->nslices, &pool->ncounters);
	pool->overdrawn = 0;
}

/* Returns false if a counter is saturated, so that nothing can be subtracted. */
static bool charge(struct inventory_pool *pool, const struct inventory_device *d, int sign)
{
	bool exact = true;

	for (size_t i = 0; i < d->ncounters; i++) {
		struct inventory_counter *c;

		if (d->counters[i].index == UINT32_MAX)
			continue;
		c = &pool->counters[d->counters[i].index];
		exact &= sign > 0 || !inventory_full(c->held);
		pool->overdrawn -= quantity_cmp(c->held, c->value) > 0;
		c->held = sign > 0 ? quantity_add(c->held, d->counters[i].amount)
				   : quantity_sub(c->held, d->counters[i].amount);
		pool->overdrawn += quantity_cmp(c->held, c->value) > 0;
	}
	return exact;
}

struct inventory_device *inventory_pool_device(const struct inventory_pool *pool, struct str name)
{
	return map_get(&pool->devices, name);
}

static void settle_names(struct inventory_pool *pool)
{
	map_release(&pool->devices);
	map_init(&pool->devices);
	pool->duplicates = false;
	map_reserve(&pool->devices, pool->ndevices);
	for (size_t i = pool->nslices; i > 0; i--) {
		struct inventory_slice *s = pool->slices[i - 1];

		for (size_t k = s->ndevices; k > 0; k--)
			pool->duplicates |= map_put(&pool->devices, s->devices[k - 1].name,
						    &s->devices[k - 1]) != NULL;
	}
}

/* Sets the holders of a device, and its bit in the slice. */
static void note_use(struct inventory_device *d, struct inventory_use *use)
{
	size_t index = (size_t)(d - d->slice->devices);
	uint64_t bit = index < 64 ? UINT64_C(1) << index : 0;

	d->use = use;
	/*
	 * A claim may hold a share from when the device was still shareable. Upstream overlooks
	 * this.
	 */
	d->in_use = use && (use->whole || (use->shares && !d->view.allow_multiple));
	if (d->in_use)
		d->slice->used |= bit;
	else
		d->slice->used &= ~bit;
}

static void note_plain(struct inventory_device *d)
{
	size_t index = (size_t)(d - d->slice->devices);

	if (index < 64 && !d->ntaints && !d->ncounters && !d->nbinding && !d->nodes &&
	    !d->view.allow_multiple)
		d->slice->plain |= UINT64_C(1) << index;
}

/* Returns true if it is the first device of that name with a use. */
static bool settle_device(struct inventory_pool *pool, struct inventory_device *d)
{
	struct inventory_use *use = pool->uses.n ? map_get(&pool->uses, d->name) : NULL;
	bool first = use && use->met != pool->settled;

	for (size_t i = 0; i < d->ncounters; i++) {
		struct inventory_consumption *c = &d->counters[i];

		c->index = inventory_counter_find(pool->counters, pool->ncounters, c);
	}
	note_use(d, use);
	note_plain(d);
	if (inventory_device_held(d))
		(void)charge(pool, d, 1);
	if (first)
		use->met = pool->settled;
	return first;
}

static void settle_devices(struct inventory_pool *pool)
{
	size_t met = 0, at = 0;
	struct str name;
	void *value;

	pool->settled++;
	for (size_t i = 0; i < pool->nslices; i++)
		for (size_t k = 0; k < pool->slices[i]->ndevices; k++)
			met += settle_device(pool, &pool->slices[i]->devices[k]);
	while (list_pop_front(&pool->lost))
		;
	if (met == pool->uses.n)
		return;
	while (map_next(&pool->uses, &at, &name, &value)) {
		struct inventory_use *use = value;

		if (use->met != pool->settled)
			list_push_back(&pool->lost, &use->lost_link);
	}
}

/* Returns the slices that count for completeness. */
static struct inventory_slice **counted(const struct inventory_pool *pool, struct arena *a)
{
	struct inventory_slice **slices;
	size_t n = 0;

	if (pool->observed == pool->nslices)
		return pool->slices;
	slices = ARENA_ARRAY(a, struct inventory_slice *, pool->observed);
	for (size_t i = 0; i < pool->nslices; i++)
		if (!pool->slices[i]->uncounted)
			slices[n++] = pool->slices[i];
	return slices;
}

static void settle_faults(const struct inventory *inv, struct inventory_pool *pool)
{
	struct str names = STR(""), counters = STR("");
	struct inventory_slice **slices;
	struct arena a;

	free(pool->name_fault);
	free(pool->counter_fault);
	pool->name_fault = pool->counter_fault = NULL;
	arena_init(&a, SIZE_MAX);
	slices = counted(pool, &a);
	if (pool->duplicates)
		names = inventory_name_fault(slices, pool->observed, &a);
	if (inv->features.partitionable)
		counters = inventory_counter_fault(slices, pool->observed, pool->counters,
						   pool->ncounters, &a);
	if (names.n > 0)
		pool->name_fault = str_dup(names);
	if (counters.n > 0)
		pool->counter_fault = str_dup(counters);
	pool->invalid = names.n + counters.n > 0;
	pool->invalid_reason = str_from(pool->name_fault ? pool->name_fault : pool->counter_fault);
	arena_release(&a);
}

void inventory_pool_settle(struct inventory *inv, struct inventory_pool *pool)
{
	size_t before = pool->ndevices;

	inventory_verdicts_free(pool->verdicts);
	pool->verdicts = NULL;
	settle_slices(inv, pool);
	settle_counters(pool);
	settle_names(pool);
	settle_devices(pool);
	settle_faults(inv, pool);
	pool->sound = true;
	for (size_t i = 0; i < pool->nslices; i++) {
		/*
		 * Slices may disagree on the expected count. A node uses the first slice that it
		 * sees.
		 */
		pool->slices[i]->sound = !pool->invalid &&
					 (int64_t)pool->observed == pool->slices[i]->expected;
		pool->sound &= pool->slices[i]->sound;
	}
	inv->ndevices = inv->ndevices - before + pool->ndevices;
	pool->dirty = false;
	list_remove(&pool->dirty_link);
}

/* --- who consumes a counter ----------------------------------------------------------- */

struct consumers {
	const struct inventory_pool *pool;
	uint32_t *last; /* by counter: index + 1 of the slice that was added last */
	/* By counter: next position in `list`, or the number of slices while counting. */
	uint32_t *next;
	uint32_t *list; /* NULL: counting */
};

static void note_consumer(struct consumers *c, const struct inventory_device *d, uint32_t slice)
{
	for (size_t i = 0; i < d->ncounters; i++) {
		uint32_t index = d->counters[i].index;

		if (index == UINT32_MAX || c->last[index] == slice + 1)
			continue;
		c->last[index] = slice + 1;
		if (c->list)
			c->list[c->next[index]] = slice;
		c->next[index]++;
	}
}

static void note_consumers(struct consumers *c)
{
	const struct inventory_pool *pool = c->pool;

	c->last = xcalloc(pool->ncounters, sizeof(*c->last));
	for (uint32_t i = 0; i < pool->nslices; i++)
		for (size_t k = 0; k < pool->slices[i]->ndevices; k++)
			note_consumer(c, &pool->slices[i]->devices[k], i);
	free(c->last);
}

/* Stores all lists in one array: the first pass counts, the second fills them. */
static void find_consumers(struct inventory_pool *pool)
{
	struct consumers c = { .pool = pool };
	uint32_t all = 0;

	c.next = xcalloc(pool->ncounters, sizeof(*c.next));
	note_consumers(&c);
	for (size_t i = 0; i < pool->ncounters; i++) {
		uint32_t n = c.next[i];

		c.next[i] = all;
		all += n;
	}
	c.list = xcalloc(MAX(all, (uint32_t)1), sizeof(*c.list));
	note_consumers(&c);
	pool->consumers = c.list;
	pool->consumers_end = c.next;
}

size_t inventory_consumers(struct inventory_pool *pool, uint32_t counter,
			   const uint32_t **ret_slices)
{
	uint32_t from;

	assert(!pool->dirty && counter < pool->ncounters);
	if (!pool->consumers)
		find_consumers(pool);
	from = counter > 0 ? pool->consumers_end[counter - 1] : 0;
	*ret_slices = pool->consumers + from;
	return pool->consumers_end[counter] - from;
}

/* --- claims --------------------------------------------------------------------------- */

static bool device_use(struct inventory_pool *pool, struct inventory_device *d,
		       struct inventory_use *use, bool linked, int sign)
{
	note_use(d, linked ? use : NULL);
	return !sign || charge(pool, d, sign);
}

bool inventory_pool_use(struct inventory_pool *pool, struct inventory_use *use, bool linked,
			int sign)
{
	struct inventory_device *d = inventory_pool_device(pool, use->name);
	bool exact = true;

	assert(!pool->dirty);
	if (!d) {
		list_remove(&use->lost_link);
		if (linked)
			list_push_back(&pool->lost, &use->lost_link);
		return true;
	}
	if (!pool->duplicates)
		return device_use(pool, d, use, linked, sign);
	for (size_t i = 0; i < pool->nslices; i++)
		for (size_t k = 0; k < pool->slices[i]->ndevices; k++)
			if (str_eq(pool->slices[i]->devices[k].name, use->name))
				exact &= device_use(pool, &pool->slices[i]->devices[k], use, linked,
						    sign);
	return exact;
}
