/*
 * excess - finds what an allocation would consume beyond what the slices offer.
 *
 * Consumption is counted as the allocator counts it. The shares of a device that can be allocated
 * several times consume their consumedCapacity. A capacity that a share does not list costs
 * nothing. A device that is held, as a whole or in shares, consumes its counters once. Results with
 * admin access consume nothing.
 *
 * Only additions are checked. If a slice offers less than claims already hold, the claims keep it,
 * and an addition that consumes nothing more of it is allowed. Devices and counters that no slice
 * of the pool's newest generation has are not checked, nor are counters that two slices have, nor
 * pools with duplicate device names: upstream may see several pools where we see one.
 */
#ifndef DRA_INVENTORY_EXCESS_H
#define DRA_INVENTORY_EXCESS_H

#include "base/json/quantity.h"
#include "dra/inventory/inventory.h"

struct arena;

/* The results that a claim is about to have, instead of those that the inventory knows. */
struct inventory_wish {
	struct str namespace, name; /* of the claim */
	const struct json *results;
	const bool *added; /* for each of the results: whether it is new and must fit */
};

struct inventory_excess {
	size_t place; /* index of the first result that is new and consumes too much */
	struct str set; /* counter set; p NULL: a capacity of the device */
	struct str name; /* of the capacity or counter */
	/*
	 * The offer, the part of it that other claims leave (not negative), and the larger amount
	 * that this claim would consume.
	 */
	struct quantity offered, left, wanted;
};

/*
 * True if some addition exceeds an offer: *ret_excess is the first one found. Its texts are
 * borrowed from the inventory. Settles. The cost depends on the claim, not on other claims.
 */
bool inventory_exceeds(struct inventory *inv, const struct inventory_wish *wish, struct arena *a,
		       struct inventory_excess *ret_excess);

#endif
