/*
 * Computes how many devices of each class are left: the free ones, limited by the counters that
 * they consume, or the further shares of shareable ones. All are upper bounds, as the outlook
 * needs.
 *
 * A class may consume several counters. The one that most classes consume bounds these classes
 * together: they form a crowd. The counters of one name in all counter sets form a family. The
 * family's sum must cover the least that the requests take of it.
 */
#include "dra/allocate/outlook.h"

/* --- counters ----------------------------------------------------------------------- */

static __int128 counter_left(const struct allocate_plan *plan, uint32_t pool, uint32_t counter)
{
	const struct inventory_pool *p = plan->pools[pool].on_node->pool;
	__int128 left = inventory_counter_remaining(&p->counters[counter]).nano;

	if (plan->pools[pool].taken)
		left -= plan->pools[pool].taken[counter].nano;
	if (plan->ignore_counters)
		return (__int128)INT64_MAX << 32;
	return p->overdrawn || left < 0 ? 0 : left;
}

static uint32_t quotient(__int128 left, __int128 amount)
{
	__int128 n = amount > 0 ? left / amount : UINT16_MAX;

	return n < 0 ? 0 : n > UINT16_MAX ? UINT16_MAX : (uint32_t)n;
}

static bool draws_on(const struct allocate_class *c, uint32_t pool, uint32_t counter,
		     __int128 *ret_amount)
{
	for (size_t i = 0; c->pool == pool && i < c->device->ncounters; i++)
		if (c->device->counters[i].index == counter) {
			*ret_amount = c->device->counters[i].amount.nano;
			return true;
		}
	return false;
}

/* Shareable devices are charged only with their first share, so their classes do not count here. */
static bool counts(const struct allocate_class *c)
{
	return c->device->ncounters && !c->shareable;
}

/* Adds the class to the crowd of the counter that most classes draw on. */
static void join_crowd(struct allocate_outlook *o, struct allocate_class *c)
{
	uint32_t best = 0, most = 0;
	struct allocate_crowd *crowd;
	__int128 amount;

	for (size_t i = 0; i < c->device->ncounters; i++) {
		uint32_t n = 0, counter = c->device->counters[i].index;

		for (uint32_t k = 0; k < o->n; k++)
			n += counts(&o->classes[k]) &&
			     draws_on(&o->classes[k], c->pool, counter, &amount);
		if (n > most && c->device->counters[i].amount.nano > 0) {
			most = n;
			best = counter;
		}
	}
	if (most == 0)
		return;
	(void)draws_on(c, c->pool, best, &amount);
	for (c->crowd = 0; c->crowd < o->ncrowds; c->crowd++)
		if (o->crowds[c->crowd].pool == c->pool && o->crowds[c->crowd].counter == best)
			break;
	crowd = &o->crowds[c->crowd];
	if (c->crowd == o->ncrowds) {
		o->ncrowds++;
		*crowd = (struct allocate_crowd){ c->pool, best, amount };
	}
	crowd->least = MIN(crowd->least, amount);
}

static __int128 least_of(const struct allocate_outlook *o, uint32_t request, struct str name)
{
	__int128 least = -1;

	for (uint32_t k = 0; k < o->n; k++) {
		const struct allocate_class *c = &o->classes[k];
		__int128 amount = 0;

		if (!allocate_outlook_fits(o, request, k))
			continue;
		for (size_t i = 0; counts(c) && i < c->device->ncounters; i++)
			if (str_eq(c->device->counters[i].counter, name))
				amount += c->device->counters[i].amount.nano;
		least = least < 0 ? amount : MIN(least, amount);
	}
	return MAX(least, 0);
}

static void add_family(struct allocate_outlook *o, struct str name)
{
	struct allocate_family *f;
	bool used = false;

	for (uint32_t i = 0; i < o->nfamilies; i++)
		if (str_eq(o->families[i].name, name))
			return;
	f = &o->families[o->nfamilies];
	f->name = name;
	f->least = ARENA_ARRAY(o->plan->work, __int128, o->plan->nrequests);
	for (uint32_t r = 0; r < o->plan->nrequests; r++) {
		f->least[r] = least_of(o, r, name);
		used |= f->least[r] > 0;
	}
	o->nfamilies += used;
}

static void init_counters(struct allocate_outlook *o)
{
	const struct allocate_plan *plan = o->plan;
	size_t names = 0;

	for (uint32_t i = 0; i < plan->npools; i++)
		names += plan->pools[i].on_node->pool->ncounters;
	o->families = ARENA_ARRAY(plan->work, struct allocate_family, names + 1);
	o->crowds = ARENA_ARRAY(plan->work, struct allocate_crowd, o->n + 1);
	for (uint32_t i = 0; i < o->n; i++) {
		struct allocate_class *c = &o->classes[i];

		if (!counts(c))
			continue;
		join_crowd(o, c);
		for (size_t k = 0; k < c->device->ncounters; k++)
			add_family(o, c->device->counters[k].counter);
	}
}

/* --- shares ------------------------------------------------------------------------- */

/* Returns the least that any request takes of a capacity; 0 if no request takes any. */
static __int128 least_share(const struct allocate_outlook *o, uint32_t class, size_t capacity)
{
	const struct allocate_plan *plan = o->plan;
	__int128 least = -1;

	for (uint32_t r = 0; r < plan->nrequests; r++) {
		struct quantity q;

		if (!allocate_outlook_fits(o, r, class) ||
		    allocate_consumption(plan, &plan->requests[r], o->classes[class].device,
					 capacity, &q, NULL) < 0)
			continue;
		least = least < 0 ? q.nano : MIN(least, q.nano);
	}
	return MAX(least, 0);
}

static uint32_t shares_of(const struct allocate_outlook *o, uint32_t ordinal)
{
	struct allocate_at at = allocate_at(o->plan, ordinal);
	uint32_t n = UINT16_MAX;

	for (size_t i = 0; i < at.device->view.ncapacity; i++) {
		__int128 least = least_share(o, o->class_of[ordinal], i);

		if (least > 0)
			n = MIN(n, quotient(allocate_capacity_left(o->plan, &at, i).nano, least));
	}
	return n;
}

static void init_shares(struct allocate_outlook *o)
{
	o->shares = ARENA_ARRAY(o->plan->work, uint32_t, o->plan->ndevices);
	for (uint32_t i = 0; i < o->n; i++) {
		struct allocate_class *c = &o->classes[i];

		for (uint32_t k = 0; c->shareable && k < c->n; k++) {
			o->shares[c->members[k]] = shares_of(o, c->members[k]);
			c->shares += o->shares[c->members[k]];
		}
	}
}

static void recount(struct allocate_outlook *o, uint32_t ordinal)
{
	struct allocate_class *c = &o->classes[o->class_of[ordinal]];

	c->shares -= o->shares[ordinal];
	o->shares[ordinal] = shares_of(o, ordinal);
	c->shares += o->shares[ordinal];
}

void allocate_supply_init(struct allocate_outlook *o)
{
	init_counters(o);
	init_shares(o);
}

void allocate_outlook_taken(struct allocate_outlook *o, uint32_t ordinal)
{
	struct allocate_class *c = &o->classes[o->class_of[ordinal]];

	if (o->plan->taken[ordinal] == 1)
		c->free--;
	if (c->shareable)
		recount(o, ordinal);
}

void allocate_outlook_untaken(struct allocate_outlook *o, uint32_t ordinal)
{
	struct allocate_class *c = &o->classes[o->class_of[ordinal]];

	if (o->plan->taken[ordinal] == 0)
		c->free++;
	if (c->shareable)
		recount(o, ordinal);
}

/* --- what is left ------------------------------------------------------------------- */

uint32_t allocate_supply_class(const struct allocate_outlook *o, const struct allocate_class *c)
{
	uint32_t room = c->free;

	if (c->shareable)
		return c->shares;
	for (size_t i = 0; i < c->device->ncounters && room; i++) {
		const struct inventory_consumption *n = &c->device->counters[i];

		room = MIN(room,
			   quotient(counter_left(o->plan, c->pool, n->index), n->amount.nano));
	}
	return room;
}

uint32_t allocate_supply_crowd(const struct allocate_outlook *o, const struct allocate_crowd *c)
{
	return quotient(counter_left(o->plan, c->pool, c->counter), c->least);
}

__int128 allocate_supply_family(const struct allocate_plan *plan, struct str name)
{
	__int128 sum = 0;

	for (uint32_t i = 0; i < plan->npools; i++) {
		const struct inventory_pool *p = plan->pools[i].on_node->pool;

		for (uint32_t k = 0; k < p->ncounters; k++)
			if (str_eq(p->counters[k].name, name) && sum < ALLOCATE_AMOUNT_MAX)
				sum += counter_left(plan, i, k);
	}
	return sum;
}
