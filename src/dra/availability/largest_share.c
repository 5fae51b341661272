/*
 * The largest share of a device. A partition of a device is any device of the pool that consumes
 * only counters that the device consumes, and at most as much of each. So partitions are found by
 * the consumers of the device's counters, and not by names or attributes.
 */
#include "dra/availability/availability_impl.h"

#include "dra/dra_limits.h"

/* The slices that may have partitions of a device. */
struct share_slices {
	const struct inventory_slice *v[AVAILABILITY_SLICES_MAX];
	size_t n;
	bool too_many;
};

static void share_raise(struct availability_sums *most, struct str name, struct quantity q)
{
	for (size_t i = 0; i < most->n; i++) {
		if (!str_eq(most->v[i].name, name))
			continue;
		if (quantity_cmp(most->v[i].value, q) < 0)
			most->v[i].value = q;
		return;
	}
	availability_sum(most, name, q);
}

static void share_of_device(struct availability_sums *most, const struct inventory_device *d)
{
	struct quantity least, largest;

	for (size_t i = 0; i < d->view.ncapacity; i++)
		if (device_share(d, &d->capacities[i], &least, &largest))
			share_raise(most, d->capacities[i].name, largest);
}

/* --- partitions ------------------------------------------------------------------------------ */

static void share_add_slice(struct share_slices *s, const struct inventory_slice *slice)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i] == slice)
			return;
	if (s->n == ARRAY_SIZE(s->v))
		s->too_many = true;
	else
		s->v[s->n++] = slice;
}

static void share_find_slices(const struct inventory_device *d, struct share_slices *ret_slices)
{
	struct inventory_pool *pool = d->slice->pool;
	struct share_slices s = { .n = 0 };
	const uint32_t *at;

	for (size_t i = 0; i < d->ncounters && !s.too_many; i++) {
		uint32_t counter = d->counters[i].index;
		size_t n = counter == UINT32_MAX ? 0 : inventory_consumers(pool, counter, &at);

		for (size_t k = 0; k < n && !s.too_many; k++)
			share_add_slice(&s, pool->slices[at[k]]);
	}
	*ret_slices = s;
}

/* Returns the amount that the device consumes of a counter. */
static struct quantity share_consumed(const struct inventory_device *d, uint32_t counter)
{
	struct quantity sum = { .nano = 0 };

	for (size_t i = 0; i < d->ncounters; i++)
		if (d->counters[i].index == counter)
			sum = quantity_add(sum, d->counters[i].amount);
	return sum;
}

static bool share_is_partition(const struct inventory_device *part,
			       const struct inventory_device *whole)
{
	for (size_t i = 0; i < part->ncounters; i++) {
		uint32_t counter = part->counters[i].index;

		if (quantity_cmp(share_consumed(part, counter), share_consumed(whole, counter)) > 0)
			return false;
	}
	return part->ncounters > 0;
}

static void share_of_partitions(struct availability_sums *most, const struct inventory *inv,
				const struct inventory_device *d)
{
	struct share_slices slices;

	share_find_slices(d, &slices);
	for (size_t i = 0; i < slices.n && !slices.too_many; i++) {
		const struct inventory_slice *s = slices.v[i];
		enum device_reason reason = device_slice_reason(inv, s);

		for (size_t k = 0; k < s->ndevices && !reason; k++) {
			const struct inventory_device *part = &s->devices[k];

			if (share_is_partition(part, d) &&
			    !device_standing(inv, part, reason).reason &&
			    !inventory_device_in_use(part))
				share_of_device(most, part);
		}
	}
}

/* --------------------------------------------------------------------------------------------- */

struct json *availability_largest_share(const struct inventory *inv,
					const struct inventory_device *d,
					const struct device_standing *is, struct arena *a)
{
	struct availability_sums most = { .arena = a };
	struct json *share;

	if (!d->view.allow_multiple && d->ncounters == 0)
		return NULL;
	if (is->state == DEVICE_AVAILABLE || is->state == DEVICE_PARTIALLY_ALLOCATED)
		share_of_device(&most, d);
	else if (is->reason == DEVICE_COUNTERS_EXHAUSTED)
		share_of_partitions(&most, inv, d);
	if (most.n == 0)
		return NULL;
	availability_sums_sort(&most);
	share = json_make_object(a);
	for (size_t i = 0; i < most.n; i++)
		json_add(share, most.v[i].name, availability_quantity(a, most.v[i].value));
	return share;
}
