/*
 * The sums of the inventory include what the claim holds already. That part is subtracted, and the
 * claim's new results are added instead, so that a claim never competes with itself.
 */
#include "dra/inventory/excess.h"

#include "base/core/arena.h"
#include "dra/inventory/store.h"

/* One result of the wish. */
struct excess_item {
	const struct inventory_device *device; /* NULL: unknown, or admin access */
	const struct json *consumed; /* consumedCapacity of a share */
	bool share, added;
};

struct excess {
	const struct inventory_claim *claim; /* as the inventory knows it; or NULL */
	struct excess_item *items;
	size_t n;
};

/* --- reading the wish --------------------------------------------------------------- */

static const struct inventory_device *excess_device(struct inventory *inv, const struct json *v)
{
	struct inventory_pool *pool = inventory_pool(inv, json_text_at(v, "driver"),
						     json_text_at(v, "pool"));

	return pool && !pool->duplicates ? inventory_pool_device(pool, json_text_at(v, "device"))
					 : NULL;
}

static void excess_read(struct excess *x, struct inventory *inv, const struct inventory_wish *wish,
			struct arena *a)
{
	x->items = ARENA_ARRAY(a, struct excess_item, json_count(wish->results) + 1);
	x->claim = inventory_claim(inv, wish->namespace, wish->name);
	JSON_FOREACH (v, wish->results) {
		struct excess_item *item = &x->items[x->n];

		*item = (struct excess_item){ .added = wish->added[x->n++] };
		if (json_true_at(v, "adminAccess"))
			continue;
		item->device = excess_device(inv, v);
		item->share = json_text_at(v, "shareID").n > 0;
		item->consumed = json_getz(v, "consumedCapacity");
	}
}

/* Whether an earlier result has the same device, and is new if `added`. */
static bool excess_repeats(const struct excess *x, size_t place, bool added)
{
	for (size_t i = 0; i < place; i++)
		if (x->items[i].device == x->items[place].device && (x->items[i].added || !added))
			return true;
	return false;
}

/* --- capacity ----------------------------------------------------------------------- */

/* Returns the sum for shares of the device in the wish: for all, or only for the new ones. */
static struct quantity excess_wanted(const struct excess *x, const struct inventory_device *d,
				     const struct inventory_capacity *c, bool added)
{
	struct quantity sum = quantity_of(0, c->value->format), amount;

	for (size_t i = 0; i < x->n; i++)
		if (x->items[i].device == d && x->items[i].share && (x->items[i].added || !added) &&
		    quantity_read(json_get(x->items[i].consumed, c->name), &amount))
			sum = quantity_add(sum, amount);
	return sum;
}

/* Returns the sum for the shares of the device that the claim has in the inventory. */
static struct quantity excess_had(const struct excess *x, const struct inventory_device *d,
				  const struct inventory_capacity *c)
{
	struct quantity sum = quantity_of(0, c->value->format);

	for (size_t i = 0; x->claim && d->use && i < x->claim->n; i++) {
		const struct inventory_holder *h = &x->claim->holders[i];

		if (h->use != d->use || h->admin || h->share_id.n == 0)
			continue;
		for (size_t k = 0; k < h->nconsumed; k++)
			if (str_eq(h->consumed[k].name, c->name))
				sum = quantity_add(sum, h->consumed[k].value);
	}
	return sum;
}

static bool excess_found(struct inventory_excess *e)
{
	if (quantity_sign(e->left) < 0)
		e->left = quantity_of(0, e->offered.format);
	return quantity_cmp(e->wanted, e->left) > 0;
}

static bool excess_of_capacity(const struct excess *x, size_t place, struct inventory_excess *ret)
{
	const struct inventory_device *d = x->items[place].device;

	if (!d->view.allow_multiple || !x->items[place].share || excess_repeats(x, place, true))
		return false;
	for (size_t i = 0; i < d->view.ncapacity; i++) {
		const struct inventory_capacity *c = &d->capacities[i];

		if (quantity_sign(excess_wanted(x, d, c, true)) <= 0)
			continue;
		*ret = (struct inventory_excess){
			.place = place,
			.name = c->name,
			.offered = *c->value,
			.left = quantity_add(inventory_remaining(d, c), excess_had(x, d, c)),
			.wanted = excess_wanted(x, d, c, false),
		};
		if (excess_found(ret))
			return true;
	}
	return false;
}

/* --- counters ----------------------------------------------------------------------- */

static struct quantity excess_draw(const struct inventory_device *d, uint32_t counter)
{
	struct quantity sum = quantity_of(0, QUANTITY_DECIMAL_SI);

	for (size_t i = 0; i < d->ncounters; i++)
		if (d->counters[i].index == counter)
			sum = quantity_add(sum, d->counters[i].amount);
	return sum;
}

/* Whether a claim other than that of the wish holds the device, so that its counters are paid. */
static bool excess_paid(const struct excess *x, const struct inventory_device *d)
{
	uint32_t holders = d->use ? d->use->whole + d->use->shares : 0;

	for (size_t i = 0; holders && x->claim && i < x->claim->n; i++)
		holders -= x->claim->holders[i].use == d->use && !x->claim->holders[i].admin;
	return holders > 0;
}

/* Returns the sum for devices of the wish that no other claim holds. */
static struct quantity excess_wanted_counter(const struct excess *x,
					     const struct inventory_pool *pool, uint32_t counter)
{
	struct quantity sum = quantity_of(0, pool->counters[counter].value.format);

	for (size_t i = 0; i < x->n; i++) {
		const struct inventory_device *d = x->items[i].device;

		if (d && d->slice->pool == pool && !excess_repeats(x, i, false) &&
		    !excess_paid(x, d))
			sum = quantity_add(sum, excess_draw(d, counter));
	}
	return sum;
}

static bool excess_had_before(const struct inventory_claim *c, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (c->holders[i].use == c->holders[at].use && !c->holders[i].admin)
			return true;
	return false;
}

/* Returns the sum for devices that the claim, and no other, has in the inventory. */
static struct quantity excess_had_counter(const struct excess *x, const struct inventory_pool *pool,
					  uint32_t counter)
{
	struct quantity sum = quantity_of(0, QUANTITY_DECIMAL_SI);

	for (size_t i = 0; x->claim && i < x->claim->n; i++) {
		const struct inventory_holder *h = &x->claim->holders[i];
		const struct inventory_device *d;

		if (h->admin || h->use->pool != pool || excess_had_before(x->claim, i))
			continue;
		d = inventory_pool_device(pool, h->use->name);
		if (d && !excess_paid(x, d))
			sum = quantity_add(sum, excess_draw(d, counter));
	}
	return sum;
}

/* Whether the pool has exactly one counter of that name. Counters are sorted by set and name. */
static bool excess_counter_known(const struct inventory_pool *pool, uint32_t counter)
{
	const struct inventory_counter *c = counter == UINT32_MAX ? NULL : &pool->counters[counter];

	return c && (counter + 1 == pool->ncounters || !str_eq(c[0].set, c[1].set) ||
		     !str_eq(c[0].name, c[1].name));
}

static bool excess_of_counters(const struct excess *x, size_t place, struct inventory_excess *ret)
{
	const struct inventory_device *d = x->items[place].device;
	const struct inventory_pool *pool = d->slice->pool;

	if (!d->ncounters || excess_paid(x, d))
		return false;
	for (size_t i = 0; i < d->ncounters; i++) {
		uint32_t counter = d->counters[i].index;
		const struct inventory_counter *c;

		if (!excess_counter_known(pool, counter) ||
		    quantity_sign(d->counters[i].amount) <= 0)
			continue;
		c = &pool->counters[counter];
		*ret = (struct inventory_excess){
			.place = place,
			.set = c->set,
			.name = c->name,
			.offered = c->value,
			.left = quantity_add(inventory_counter_remaining(c),
					     excess_had_counter(x, pool, counter)),
			.wanted = excess_wanted_counter(x, pool, counter),
		};
		if (excess_found(ret))
			return true;
	}
	return false;
}

bool inventory_exceeds(struct inventory *inv, const struct inventory_wish *wish, struct arena *a,
		       struct inventory_excess *ret_excess)
{
	struct excess x = { 0 };

	excess_read(&x, inv, wish, a);
	for (size_t i = 0; i < x.n; i++)
		if (x.items[i].added && x.items[i].device &&
		    (excess_of_capacity(&x, i, ret_excess) ||
		     excess_of_counters(&x, i, ret_excess)))
			return true;
	return false;
}
