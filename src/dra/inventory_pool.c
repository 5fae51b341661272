/*
 * A pool is worked out from its slices when it is next looked at: which generation is the newest,
 * which of its devices and counters there are, who holds them and whether it all makes
 * sense. Loading a pool of a thousand slices is therefore one such pass and not a thousand.
 *
 * Between two passes claims keep it up to date device by device (inventory_pool_use).
 */
#include <assert.h>

#include "base/mem.h"
#include "dra/inventory_store.h"

/* --- life --------------------------------------------------------------------------- */

static struct inventory_pool *pool_new(struct str driver, struct str name)
{
	struct inventory_pool *pool = xcalloc(1, sizeof(*pool) + driver.n + 1 + name.n);

	memcpy(pool->text, driver.p, driver.n);
	pool->text[driver.n] = '/';
	memcpy(pool->text + driver.n + 1, name.p, name.n);
	pool->key = str_of(pool->text, driver.n + 1 + name.n);
	pool->driver = str_of(pool->text, driver.n);
	pool->name = str_of(pool->text + driver.n + 1, name.n);
	list_init(&pool->all);
	list_init(&pool->dirty_link);
	map_init(&pool->devices);
	map_init(&pool->uses);
	return pool;
}

struct inventory_pool *inventory_pool_need(struct inventory *inv, struct str driver,
					   struct str name)
{
	struct inventory_pool *made = pool_new(driver, name);
	struct inventory_pool *pool = omap_get(&inv->pools, made->key);

	if (pool) {
		inventory_pool_free(made);
		return pool;
	}
	omap_put(&inv->pools, made->key, made);
	inventory_pool_rules(inv, made);
	return made;
}

void inventory_pool_free(struct inventory_pool *pool)
{
	list_remove(&pool->dirty_link);
	map_release(&pool->devices);
	map_release(&pool->uses);
	free(pool->slices);
	free(pool->counters);
	free(pool->rules);
	free(pool->reason);
	free(pool);
}

void inventory_pool_drop(struct inventory *inv, struct inventory_pool *pool)
{
	if (!list_empty(&pool->all) || pool->uses.n > 0)
		return;
	inv->ndevices -= pool->ndevices;
	omap_remove(&inv->pools, pool->key);
	inventory_pool_free(pool);
}

void inventory_pool_dirty(struct inventory *inv, struct inventory_pool *pool)
{
	if (pool->dirty)
		return;
	pool->dirty = true;
	list_push_back(&inv->dirty, &pool->dirty_link);
}

/* --- faults ------------------------------------------------------------------------- */

static struct str name_fault(struct inventory_slice *const *slices, size_t n, struct arena *a)
{
	struct str fault = STR("");
	struct map seen;

	map_init(&seen);
	for (size_t i = 0; i < n && fault.n == 0; i++) {
		for (size_t k = 0; k < slices[i]->ndevices && fault.n == 0; k++) {
			struct inventory_device *d = &slices[i]->devices[k];

			if (map_put(&seen, d->name, d))
				fault = str_from(arena_printf(a, "duplicate device name %.*s",
							      STR_ARG(d->name)));
		}
	}
	map_release(&seen);
	return fault;
}

static bool has_set(const struct inventory_slice *s, struct str set)
{
	for (size_t i = 0; i < s->ncounters; i++)
		if (str_eq(s->counters[i].set, set))
			return true;
	return false;
}

static bool has_counter(const struct inventory_slice *s, struct str set, struct str name)
{
	for (size_t i = 0; i < s->ncounters; i++)
		if (str_eq(s->counters[i].set, set) && str_eq(s->counters[i].name, name))
			return true;
	return false;
}

static struct str set_fault(struct inventory_slice *const *slices, size_t n, struct arena *a)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < slices[i]->ncounters; k++) {
			struct str set = slices[i]->counters[k].set;

			for (size_t j = 0; j < i; j++)
				if (has_set(slices[j], set))
					return str_from(
						arena_printf(a, "duplicate counter set name %.*s",
							     STR_ARG(set)));
		}
	}
	return STR("");
}

static struct str consumption_fault(const struct inventory_consumption *c,
				    struct inventory_slice *const *slices, size_t n,
				    struct arena *a)
{
	bool set = false;

	for (size_t i = 0; i < n; i++) {
		if (has_counter(slices[i], c->set, c->counter))
			return STR("");
		set |= has_set(slices[i], c->set);
	}
	if (!set)
		return str_from(arena_printf(a, "counter set %.*s not found", STR_ARG(c->set)));
	return str_from(arena_printf(a, "counter %.*s not found in counter set %.*s",
				     STR_ARG(c->counter), STR_ARG(c->set)));
}

static struct str counter_fault(struct inventory_slice *const *slices, size_t n, struct arena *a)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < slices[i]->ndevices; k++) {
			const struct inventory_device *d = &slices[i]->devices[k];

			for (size_t c = 0; c < d->ncounters; c++) {
				struct str fault = consumption_fault(&d->counters[c], slices, n, a);

				if (fault.n > 0)
					return fault;
			}
		}
	}
	return STR("");
}

struct str inventory_pool_fault(struct inventory_slice *const *names, size_t nnames,
				struct inventory_slice *const *all, size_t n, struct arena *a)
{
	struct str fault = name_fault(names, nnames, a);

	if (fault.n == 0)
		fault = set_fault(all, n, a);
	return fault.n > 0 ? fault : counter_fault(all, n, a);
}

/* --- working it out ----------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
	const struct inventory_slice *const *x = a, *const *y = b;

	return str_cmp((*x)->name, (*y)->name);
}

/* The newest generation, its slices in order, and which slices the index has. */
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
		qsort(pool->slices, pool->nslices, sizeof(*pool->slices), by_name);
	pool->expected = pool->nslices ? pool->slices[0]->expected : 0;
	pool->incomplete = (int64_t)pool->observed != pool->expected;
}

static int by_counter(const void *a, const void *b)
{
	const struct inventory_counter *x = a, *y = b;
	int c = str_cmp(x->set, y->set);

	return c ? c : str_cmp(x->name, y->name);
}

static void settle_counters(struct inventory_pool *pool)
{
	size_t n = 0;

	for (size_t i = 0; i < pool->nslices; i++)
		n += pool->slices[i]->ncounters;
	free(pool->counters);
	pool->counters = n ? xcalloc(n, sizeof(*pool->counters)) : NULL;
	pool->ncounters = 0;
	pool->overdrawn = 0;
	for (size_t i = 0; i < pool->nslices; i++) {
		const struct inventory_slice *s = pool->slices[i];

		for (size_t k = 0; k < s->ncounters; k++)
			pool->counters[pool->ncounters++] = (struct inventory_counter){
				.set = s->counters[k].set,
				.name = s->counters[k].name,
				.value = s->counters[k].value,
				.held = quantity_of(0, s->counters[k].value.format),
			};
	}
	if (n > 0)
		qsort(pool->counters, n, sizeof(*pool->counters), by_counter);
}

/* Two slices share a set of the same name. Within a slice, text that is equal lies at one place. */
static bool has_duplicate_sets(const struct inventory_pool *pool)
{
	for (size_t i = 1; i < pool->ncounters; i++) {
		const struct inventory_counter *a = &pool->counters[i - 1], *b = a + 1;

		if (a->set.p != b->set.p && str_eq(a->set, b->set))
			return true;
	}
	return false;
}

static uint32_t find_counter(const struct inventory_pool *pool, struct str set, struct str name)
{
	struct inventory_counter key = { .set = set, .name = name };
	const struct inventory_counter *c = pool->ncounters
						    ? bsearch(&key, pool->counters, pool->ncounters,
							      sizeof(*pool->counters), by_counter)
						    : NULL;

	return c ? (uint32_t)(c - pool->counters) : UINT32_MAX;
}

static void charge(struct inventory_pool *pool, const struct inventory_device *d, int sign)
{
	for (size_t i = 0; i < d->ncounters; i++) {
		struct inventory_counter *c;

		if (d->counters[i].index == UINT32_MAX)
			continue;
		c = &pool->counters[d->counters[i].index];
		pool->overdrawn -= quantity_cmp(c->held, c->value) > 0;
		c->held = sign > 0 ? quantity_add(c->held, d->counters[i].amount)
				   : quantity_sub(c->held, d->counters[i].amount);
		pool->overdrawn += quantity_cmp(c->held, c->value) > 0;
	}
}

/* Returns whether a counter is unknown. */
static bool settle_device(struct inventory_pool *pool, struct inventory_device *d)
{
	bool unknown = false;
	struct inventory_use *use = pool->uses.n ? map_get(&pool->uses, d->name) : NULL;

	if (map_get(&pool->devices, d->name))
		pool->duplicates = true;
	else
		map_put(&pool->devices, d->name, d);
	for (size_t i = 0; i < d->ncounters; i++) {
		struct inventory_consumption *c = &d->counters[i];

		c->index = find_counter(pool, c->set, c->counter);
		unknown |= c->index == UINT32_MAX;
	}
	d->use = use;
	if (inventory_device_held(d))
		charge(pool, d, 1);
	return unknown;
}

/* Which fault is the first: only asked when there is one. */
static void settle_fault(const struct inventory *inv, struct inventory_pool *pool)
{
	struct arena a;
	struct str fault;

	arena_init(&a, SIZE_MAX);
	if (inv->features.partitionable)
		fault = inventory_pool_fault(pool->slices, pool->nslices, pool->slices,
					     pool->nslices, &a);
	else
		fault = name_fault(pool->slices, pool->nslices, &a);
	pool->invalid = fault.n > 0;
	if (pool->invalid)
		pool->reason = str_dup(fault);
	if (pool->reason)
		pool->invalid_reason = str_from(pool->reason);
	arena_release(&a);
}

void inventory_pool_settle(struct inventory *inv, struct inventory_pool *pool)
{
	size_t before = pool->ndevices;
	bool unknown = false;

	settle_slices(inv, pool);
	settle_counters(pool);
	map_clear(&pool->devices);
	map_reserve(&pool->devices, pool->ndevices);
	pool->duplicates = false;
	for (size_t i = 0; i < pool->nslices; i++)
		for (size_t k = 0; k < pool->slices[i]->ndevices; k++)
			unknown |= settle_device(pool, &pool->slices[i]->devices[k]);
	free(pool->reason);
	pool->reason = NULL;
	pool->invalid = false;
	pool->invalid_reason = STR("");
	if (unknown || pool->duplicates || has_duplicate_sets(pool))
		settle_fault(inv, pool);
	inv->ndevices = inv->ndevices - before + pool->ndevices;
	pool->dirty = false;
	list_remove(&pool->dirty_link);
}

static void device_use(struct inventory_pool *pool, struct inventory_device *d,
		       struct inventory_use *use, bool linked, int sign)
{
	d->use = linked ? use : NULL;
	if (sign)
		charge(pool, d, sign);
}

void inventory_pool_use(struct inventory_pool *pool, struct inventory_use *use, bool linked,
			int sign)
{
	struct inventory_device *d = map_get(&pool->devices, use->name);

	assert(!pool->dirty);
	if (!d)
		return;
	if (!pool->duplicates) {
		device_use(pool, d, use, linked, sign);
		return;
	}
	for (size_t i = 0; i < pool->nslices; i++)
		for (size_t k = 0; k < pool->slices[i]->ndevices; k++)
			if (str_eq(pool->slices[i]->devices[k].name, use->name))
				device_use(pool, &pool->slices[i]->devices[k], use, linked, sign);
}
