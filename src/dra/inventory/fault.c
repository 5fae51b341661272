/*
 * Finds faults that make a pool invalid, in upstream's words: a duplicate device name or counter
 * set, or an unknown counter. Counters are sorted by set and name, so duplicates are neighbours and
 * lookups are binary searches.
 */
#include "base/core/mem.h"
#include "dra/inventory/store.h"

struct str inventory_name_fault(struct inventory_slice *const *slices, size_t n, struct arena *a)
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

/* --- counters ----------------------------------------------------------------------- */

static int fault_by_name(const void *a, const void *b)
{
	const struct inventory_counter *x = a, *y = b;
	int c = str_cmp(x->set, y->set);

	return c ? c : str_cmp(x->name, y->name);
}

struct inventory_counter *inventory_counters(struct inventory_slice *const *slices, size_t n,
					     uint32_t *ret_n)
{
	struct inventory_counter *list;
	uint32_t have = 0, all = 0;

	for (size_t i = 0; i < n; i++)
		all += slices[i]->ncounters;
	*ret_n = all;
	if (all == 0)
		return NULL;
	list = xcalloc(all, sizeof(*list));
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < slices[i]->ncounters; k++) {
			const struct inventory_shared *c = &slices[i]->counters[k];

			list[have++] = (struct inventory_counter){
				.set = c->set,
				.name = c->name,
				.value = c->value,
				.held = quantity_of(0, c->value.format),
			};
		}
	}
	qsort(list, all, sizeof(*list), fault_by_name);
	return list;
}

/*
 * Returns the first counter that does not sort before set and name. With an empty name: the first
 * of the set.
 */
static uint32_t lower_bound(const struct inventory_counter *list, uint32_t n, struct str set,
			    struct str name)
{
	const struct inventory_counter key = { .set = set, .name = name };
	uint32_t low = 0, high = n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (fault_by_name(&list[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint32_t inventory_counter_find(const struct inventory_counter *list, uint32_t n,
				const struct inventory_consumption *c)
{
	uint32_t at = lower_bound(list, n, c->set, c->counter);

	return at < n && str_eq(list[at].set, c->set) && str_eq(list[at].name, c->counter)
		       ? at
		       : UINT32_MAX;
}

/* Finds a set that two slices have. Within a slice equal texts have the same address. */
static struct str set_fault(const struct inventory_counter *list, uint32_t n, struct arena *a)
{
	for (uint32_t i = 1; i < n; i++)
		if (list[i - 1].set.p != list[i].set.p && str_eq(list[i - 1].set, list[i].set))
			return str_from(arena_printf(a, "duplicate counter set name %.*s",
						     STR_ARG(list[i].set)));
	return STR("");
}

static struct str device_fault(const struct inventory_device *d,
			       const struct inventory_counter *list, uint32_t n, struct arena *a)
{
	for (size_t i = 0; i < d->ncounters; i++) {
		const struct inventory_consumption *c = &d->counters[i];
		uint32_t at;

		if (inventory_counter_find(list, n, c) != UINT32_MAX)
			continue;
		at = lower_bound(list, n, c->set, STR(""));
		if (at == n || !str_eq(list[at].set, c->set))
			return str_from(
				arena_printf(a, "counter set %.*s not found", STR_ARG(c->set)));
		return str_from(arena_printf(a, "counter %.*s not found in counter set %.*s",
					     STR_ARG(c->counter), STR_ARG(c->set)));
	}
	return STR("");
}

struct str inventory_counter_fault(struct inventory_slice *const *slices, size_t n,
				   const struct inventory_counter *counters, uint32_t ncounters,
				   struct arena *a)
{
	struct str fault = set_fault(counters, ncounters, a);

	for (size_t i = 0; i < n && fault.n == 0; i++)
		for (size_t k = 0; k < slices[i]->ndevices && fault.n == 0; k++)
			fault = device_fault(&slices[i]->devices[k], counters, ncounters, a);
	return fault;
}
