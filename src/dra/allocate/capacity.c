/*
 * How much a request takes of a device's capacity: the requested amount, rounded up as the policy
 * says. Without a requested amount it takes the policy's default, or else all of it.
 *
 * Ranges with steps are counted in whole units, or in thousandths if the feature is on and min, max
 * and step are all multiples of a thousandth. An amount that fits neither unit is an error of the
 * request, not of the device. It ends the allocation, as does a negative amount.
 */
#include "dra/allocate/allocate_impl.h"

enum { NANO_PER_MILLI = 1000000 };

/* --- rounding ----------------------------------------------------------------------- */

static bool whole_millis(struct quantity q)
{
	__int128 milli = q.nano / NANO_PER_MILLI;

	return q.nano % NANO_PER_MILLI == 0 && milli <= INT64_MAX && milli >= INT64_MIN;
}

static bool counts_millis(const struct allocate_plan *plan, const struct inventory_policy *p)
{
	if (!plan->features.fractional_range)
		return false;
	if ((p->has_min && !whole_millis(p->min)) || (p->has_max && !whole_millis(p->max)))
		return false;
	return !p->has_step || (whole_millis(p->step) && quantity_milli(p->step) >= 1);
}

static int not_representable(struct quantity asked, const char *before, const char *after,
			     struct error *err)
{
	struct buf text = BUF_INIT(64);
	int r;

	(void)quantity_print(asked, &text);
	r = error_set(err, ERR_INVALID,
		      "capacity request cannot be represented in the device's range arithmetic: "
		      "%s %.*s %s",
		      before, STR_ARG(buf_str(&text)), after);
	buf_release(&text);
	return r;
}

/* Rounds up to the first min + k * step that is not below the requested amount. */
static int round_up_steps(const struct inventory_policy *p, struct quantity asked, bool milli,
			  struct quantity *ret_amount, struct error *err)
{
	__int128 step = milli ? quantity_milli(p->step) : quantity_value(p->step);
	__int128 min = milli ? quantity_milli(p->min) : quantity_value(p->min);
	__int128 amount = milli ? quantity_milli(asked) : quantity_value(asked);
	__int128 over = step ? (amount - min) % step : 0;

	if (milli && !whole_millis(asked))
		return not_representable(asked, "request", "is not a representable milli value",
					 err);
	if (!milli && quantity_cmp(asked, quantity_of(INT64_MAX, QUANTITY_DECIMAL_SI)) > 0)
		return not_representable(asked, "request", "exceeds MaxInt64", err);
	amount += over ? step - over : 0;
	if (amount > INT64_MAX)
		return not_representable(asked, "rounding request",
					 milli ? "up to the next step passes the milli-value range"
					       : "up to the next step passes MaxInt64",
					 err);
	*ret_amount = milli ? quantity_of_milli((int64_t)amount)
			    : quantity_of((int64_t)amount, p->step.format);
	ret_amount->format = p->step.format;
	return 0;
}

static struct quantity round_up_values(const struct inventory_policy *p, struct quantity asked)
{
	for (size_t i = 0; i < p->nvalues; i++)
		if (quantity_cmp(asked, p->values[i]) <= 0)
			return p->values[i];
	return asked;
}

static int round_up(const struct allocate_plan *plan, const struct inventory_policy *p,
		    struct quantity asked, struct quantity *ret_amount, struct error *err)
{
	*ret_amount = asked;
	if (p->has_range && p->has_min) {
		if (quantity_cmp(asked, p->min) < 0) {
			*ret_amount = p->min;
			return 0;
		}
		if (p->has_step)
			return round_up_steps(p, asked, counts_millis(plan, p), ret_amount, err);
		return 0;
	}
	if (p->nvalues)
		*ret_amount = round_up_values(p, asked);
	return 0;
}

/* --- requests ----------------------------------------------------------------------- */

static const struct quantity *asked_of(const struct allocate_request *r, struct str name)
{
	for (size_t i = 0; i < r->ncapacities; i++)
		if (str_eq(r->capacities[i].name, name))
			return &r->capacities[i].value;
	return NULL;
}

int allocate_consumption(const struct allocate_plan *plan, const struct allocate_request *r,
			 const struct inventory_device *d, size_t i, struct quantity *ret_amount,
			 struct error *err)
{
	const struct inventory_capacity *c = &d->capacities[i];
	const struct quantity *asked = asked_of(r, c->name);
	int e = 0;

	if (!asked)
		*ret_amount = c->policy && c->policy->has_standard ? c->policy->standard
								   : *c->value;
	else if (!c->policy)
		*ret_amount = *asked;
	else
		e = round_up(plan, c->policy, *asked, ret_amount, err);
	if (e == 0 && ret_amount->nano < 0)
		e = error_set(err, ERR_INVALID, "capacity value is negative");
	return e < 0 ? error_wrap(err, e, "capacity \"%.*s\"", STR_ARG(c->name)) : 0;
}

static bool off_step(const struct allocate_plan *plan, const struct inventory_policy *p,
		     struct quantity amount)
{
	bool milli = counts_millis(plan, p);
	__int128 step = milli ? quantity_milli(p->step) : quantity_value(p->step);
	__int128 min = milli ? quantity_milli(p->min) : quantity_value(p->min);
	__int128 value = milli ? quantity_milli(amount) : quantity_value(amount);

	if (milli && !whole_millis(amount))
		return true;
	return step && (value - min) % step != 0;
}

static bool violates(const struct allocate_plan *plan, const struct inventory_policy *p,
		     struct quantity amount)
{
	if (!p || (p->has_standard && p->standard.nano == amount.nano &&
		   p->standard.format == amount.format))
		return false;
	if (p->has_range) {
		if (p->has_max && quantity_cmp(amount, p->max) > 0)
			return true;
		return p->has_step && off_step(plan, p, amount);
	}
	for (size_t i = 0; i < p->nvalues; i++)
		if (quantity_cmp(amount, p->values[i]) == 0)
			return false;
	return p->nvalues > 0;
}

static bool has_capacity(const struct inventory_device *d, struct str name)
{
	for (size_t i = 0; i < d->view.ncapacity; i++)
		if (str_eq(d->capacities[i].name, name))
			return true;
	return false;
}

int allocate_capacity_fits(const struct allocate_plan *plan, const struct allocate_request *r,
			   const struct inventory_device *d, struct error *err)
{
	bool fits = true;

	if (!plan->features.consumable_capacity)
		return 1;
	for (size_t i = 0; i < r->ncapacities; i++)
		if (!has_capacity(d, r->capacities[i].name))
			return 0;
	for (size_t i = 0; i < d->view.ncapacity; i++) {
		const struct inventory_capacity *c = &d->capacities[i];
		struct quantity amount;
		int e = allocate_consumption(plan, r, d, i, &amount, err);

		/* An error in any capacity wins over another capacity that is too small. */
		if (e < 0)
			return e;
		if (violates(plan, c->policy, amount) || quantity_cmp(amount, *c->value) > 0)
			fits = false;
	}
	return fits;
}

struct quantity allocate_capacity_left(const struct allocate_plan *plan,
				       const struct allocate_at *at, size_t i)
{
	struct quantity left = inventory_remaining(at->device, &at->device->capacities[i]);

	for (uint32_t k = 0; k < plan->nplaces && plan->taken[at->ordinal]; k++) {
		const struct allocate_place *p = &plan->places[k];
		struct quantity amount;

		if (p->at.ordinal == at->ordinal && p->shared &&
		    allocate_consumption(plan, &plan->requests[p->request], at->device, i, &amount,
					 NULL) == 0)
			left = quantity_sub(left, amount);
	}
	return left;
}

bool allocate_capacity_suffices(const struct allocate_plan *plan, const struct allocate_request *r,
				const struct allocate_at *at)
{
	if (!plan->features.consumable_capacity)
		return true;
	/* allocate_match() has checked that the unused device is large enough. */
	if (!inventory_device_shared(at->device) && !plan->taken[at->ordinal])
		return true;
	for (size_t i = 0; i < at->device->view.ncapacity; i++) {
		struct quantity amount;

		if (allocate_consumption(plan, r, at->device, i, &amount, NULL) < 0 ||
		    quantity_cmp(amount, allocate_capacity_left(plan, at, i)) > 0)
			return false;
	}
	return true;
}
