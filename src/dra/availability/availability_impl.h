/*
 * availability_impl - helpers for both the slice status and the pool status.
 */
#ifndef DRA_AVAILABILITY_AVAILABILITY_IMPL_H
#define DRA_AVAILABILITY_AVAILABILITY_IMPL_H

#include "dra/availability/availability.h"
#include "dra/availability/device_state.h"
#include "dra/inventory/content.h"

/* The quantity as the API writes it. */
struct json *availability_quantity(struct arena *a, struct quantity q);

/* Returns q, or zero if it is negative. */
struct quantity availability_positive(struct quantity q);

/* Returns poolStatus, with the faults of the pool. `old` is the previous poolStatus, or NULL. */
struct json *availability_pool_status(const struct inventory_pool *pool, const struct json *old,
				      int64_t now_ns, struct arena *a);

/* Sums of capacities by name; linear search, since there are few names. */
struct availability_sums {
	struct arena *arena;
	struct inventory_amount *v;
	size_t n, cap;
};
void availability_sum(struct availability_sums *sums, struct str name, struct quantity q);
/* Sorts by name in byte order. */
void availability_sums_sort(struct availability_sums *sums);

/*
 * Returns, for each capacity, the largest amount that one new claim without tolerations can get.
 * For a shared device, that is a part of its capacity. For a device that consumes counters, that is
 * its whole capacity, or, if counters are exhausted, the capacity of an available partition.
 * Amounts of different capacities may come from different partitions. NULL: no claim gets anything,
 * or the device is given out as a whole only. `is` is device_standing() of the device.
 */
struct json *availability_largest_share(const struct inventory *inv,
					const struct inventory_device *d,
					const struct device_standing *is, struct arena *a);

#endif
