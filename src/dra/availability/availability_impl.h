/*
 * availability_impl - what both forms of availability need.
 */
#ifndef DRA_AVAILABILITY_AVAILABILITY_IMPL_H
#define DRA_AVAILABILITY_AVAILABILITY_IMPL_H

#include "dra/availability/availability.h"
#include "dra/inventory/inventory_impl.h"

/* The quantity as the API writes it. */
struct json *availability_quantity(struct arena *a, struct quantity q);

/* q, or zero when it is negative. */
struct quantity availability_positive(struct quantity q);

/* poolStatus, with what is wrong with the pool. `old` is the one before, or NULL. */
struct json *availability_pool_status(const struct inventory_pool *pool, const struct json *old,
				      int64_t now_ns, struct arena *a);

/* Sums of capacities by name, few. */
struct availability_sums {
	struct arena *arena;
	struct inventory_amount *v;
	size_t n, cap;
};
void availability_sum(struct availability_sums *sums, struct str name, struct quantity q);
/* By name in byte order. */
void availability_sums_sort(struct availability_sums *sums);

#endif
