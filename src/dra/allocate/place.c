/*
 * The taken devices form a stack in the order of the search. Constraints and shares are evaluated
 * by reading the stack, so giving a device back just pops it. Only counters are summed up, by pool,
 * from the pool's first use on.
 *
 * Counters of a shared device are charged with the first share. If some counter of a pool is
 * overdrawn, no device that consumes counters of the pool can be taken, as upstream.
 */
#include "dra/allocate/allocate_impl.h"

uint32_t allocate_claim_places(const struct allocate_plan *plan, uint32_t claim)
{
	uint32_t i = plan->nplaces;

	while (i > 0 && plan->requests[plan->places[i - 1].request].claim == claim)
		i--;
	return i;
}

static bool taken_by_claim(const struct allocate_plan *plan, uint32_t ordinal, uint32_t claim)
{
	for (uint32_t i = allocate_claim_places(plan, claim); i < plan->nplaces; i++)
		if (plan->places[i].at.ordinal == ordinal)
			return true;
	return false;
}

/*
 * Whether the device is in use by a claim or in this attempt. For admin access, only devices of the
 * same claim count.
 */
static bool in_use(const struct allocate_plan *plan, const struct allocate_request *r,
		   const struct allocate_at *at)
{
	if (allocate_held(r, at->device))
		return true;
	if (plan->taken[at->ordinal] == 0 || allocate_shareable(plan, at->device))
		return false;
	return !r->admin || taken_by_claim(plan, at->ordinal, r->claim);
}

/* --- counters ----------------------------------------------------------------------- */

static bool counters_suffice(const struct allocate_plan *plan, const struct allocate_at *at)
{
	const struct allocate_pool *pool = &plan->pools[at->pool];
	const struct inventory_pool *p = pool->on_node->pool;

	if (p->overdrawn)
		return false;
	for (size_t i = 0; i < at->device->ncounters; i++) {
		const struct inventory_consumption *c = &at->device->counters[i];
		__int128 left = inventory_counter_remaining(&p->counters[c->index]).nano;

		if (pool->taken)
			left -= pool->taken[c->index].nano;
		/*
		 * Subtract earlier entries for the same counter. Validation forbids duplicates, but
		 * this is safe anyway.
		 */
		for (size_t k = 0; k < i; k++)
			if (at->device->counters[k].index == c->index)
				left -= at->device->counters[k].amount.nano;
		if (left < c->amount.nano)
			return false;
	}
	return true;
}

static void charge(struct allocate_plan *plan, const struct allocate_at *at, bool back)
{
	struct allocate_pool *pool = &plan->pools[at->pool];

	if (!pool->taken)
		pool->taken = ARENA_ARRAY(plan->work, struct quantity,
					  pool->on_node->pool->ncounters);
	for (size_t i = 0; i < at->device->ncounters; i++) {
		const struct inventory_consumption *c = &at->device->counters[i];

		pool->taken[c->index].nano += back ? -c->amount.nano : c->amount.nano;
	}
}

/* --- constraints -------------------------------------------------------------------- */

static bool constraint_holds(struct allocate_plan *plan, const struct allocate_constraint *c,
			     uint32_t claim, uint32_t index, const struct cel_value *value)
{
	const struct cel_value *values[ALLOCATE_RESULTS_MAX + 1] = { value };
	uint32_t n = 1;

	for (uint32_t i = allocate_claim_places(plan, claim); i < plan->nplaces; i++) {
		const struct cel_value *other = plan->places[i].values[index];

		if (!other)
			continue;
		if (c->distinct && allocate_values_meet(&plan->eval, value, other))
			return false;
		values[n++] = other;
	}
	if (c->distinct || n == 1)
		return value->kind != CEL_LIST || cel_list_size(value) > 0;
	return allocate_values_share(&plan->eval, values, n);
}

/* Records the device's values for the constraints; false if a constraint does not hold. */
static bool meet_constraints(struct allocate_plan *plan, const struct allocate_request *r,
			     const struct allocate_at *at)
{
	const struct allocate_claim *claim = &plan->claims[r->claim];
	struct allocate_place *place = &plan->places[plan->nplaces];
	const struct cel_value **values;

	if (!place->values)
		place->values = ARENA_ARRAY(plan->work, const struct cel_value *,
					    plan->nconstraints_max);
	values = place->values;
	for (uint32_t i = 0; i < claim->nconstraints; i++) {
		const struct allocate_constraint *c = &claim->constraints[i];

		values[i] = NULL;
		if (!(r->constraints >> i & 1))
			continue;
		values[i] = allocate_attribute(at->device, c);
		if (!values[i] || !constraint_holds(plan, c, r->claim, i, values[i]))
			return false;
	}
	return true;
}

/* --- taking ------------------------------------------------------------------------- */

static int constraint_fault(const struct allocate_plan *plan, const struct allocate_request *r,
			    const struct inventory_device *d, struct error *err)
{
	/* A request for all devices cannot succeed if one of them violates a constraint. */
	return error_set(err, ERR_INVALID,
			 "claim %.*s, request %.*s: cannot add device %.*s/%.*s because a claim "
			 "constraint would not be satisfied",
			 STR_ARG(plan->claims[r->claim].text), STR_ARG(r->name),
			 STR_ARG(d->slice->pool->key), STR_ARG(d->name));
}

int allocate_take(struct allocate_plan *plan, uint32_t request, const struct allocate_at *at,
		  struct error *err)
{
	const struct allocate_request *r = &plan->requests[request];
	struct allocate_place *place = &plan->places[plan->nplaces];
	const struct inventory_device *d = at->device;
	bool shareable = allocate_shareable(plan, d), counted;

	if (in_use(plan, r, at) || r->match[at->ordinal] != ALLOCATE_YES)
		return 0;
	/* A further share does not charge the counters again. */
	counted = d->ncounters &&
		  !(shareable && (inventory_device_shared(d) || plan->taken[at->ordinal]));
	if (counted && !plan->ignore_counters && !counters_suffice(plan, at))
		return 0;
	if (!meet_constraints(plan, r, at))
		return r->all ? constraint_fault(plan, r, d, err) : 0;
	if (!allocate_capacity_suffices(plan, r, at))
		return 0;
	place->at = *at;
	place->request = request;
	place->shared = shareable;
	place->counted = counted;
	if (counted)
		charge(plan, at, false);
	plan->taken[at->ordinal]++;
	plan->nplaces++;
	return 1;
}

void allocate_untake(struct allocate_plan *plan)
{
	struct allocate_place *place = &plan->places[--plan->nplaces];

	plan->taken[place->at.ordinal]--;
	if (place->counted)
		charge(plan, &place->at, true);
}
