/*
 * availability_impl - helpers for both the slice status and the pool status.
 */
#ifndef DRA_AVAILABILITY_AVAILABILITY_IMPL_H
#define DRA_AVAILABILITY_AVAILABILITY_IMPL_H

#include "dra/availability/availability.h"
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

#endif
