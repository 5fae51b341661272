/*
 * Whether a device suits a request, as far as that depends on the two alone: selectors of the
 * class, then of the request, then the device's own nodes, its size, its taints. Each pair is
 * checked once. Selectors are the expensive part, so results of a class's selectors are cached in
 * the slice, and those of claims in the inventory, while there is room. Upstream checks taints only
 * after counters; since neither can fail with an error, the order makes no difference.
 */
#include "dra/allocate/allocate_impl.h"

#include "cel/core/semver.h"
#include "dra/dra_limits.h"

/* Upstream appends this text to the error of a missing key. */
static const char hint[] = ". consider using CEL optional chaining (.? followed by orValue()) or "
			   "guarding the check with has() for optional fields";

/* --- selectors ---------------------------------------------------------------------- */

/* "class gpu: selector #0" or "claim default/c: selector #0". */
static const char *selector_place(struct allocate_plan *plan, const struct allocate_request *r,
				  bool of_class, size_t i)
{
	struct str claim = plan->claims[r->claim].text;

	if (of_class)
		return arena_printf(plan->work, "class %.*s: selector #%zu", STR_ARG(r->class_name),
				    i);
	return arena_printf(plan->work, "claim %.*s: selector #%zu", STR_ARG(claim), i);
}

enum {
	EVALUATION_COST = 16, /* minimum cost of one evaluation */
	/* Steps per unit of cost, for work that CEL's cost does not count (regular expressions). */
	WORK_PER_COST = 2,
};

/* Sets the plan's error at the first call; later calls return the same error. */
static int too_costly(struct allocate_plan *plan, const char *place, struct error *err)
{
	if (!plan->costly)
		(void)error_set(&plan->too_costly, ERR_TOO_LARGE,
				"the selectors of the pod's claims cost more than %d units in one "
				"attempt, up to %s; the results so far are cached for the next "
				"attempt",
				ALLOCATE_ATTEMPT_COST_MAX, place);
	plan->costly = true;
	if (err)
		*err = plan->too_costly;
	return -ERR_TOO_LARGE;
}

static int evaluate(struct allocate_plan *plan, const struct allocate_selector *s,
		    const struct inventory_device *d, struct error *err)
{
	struct allocate_effort *effort = plan->options.effort;
	uint64_t cost;
	int m;

	m = cel_device_matches(s->program, &plan->eval, &d->view, err);
	cost = EVALUATION_COST + plan->eval.cost + plan->eval.work / WORK_PER_COST;
	inventory_count_evaluation(plan->inv, cost);
	if (effort)
		effort->cost -= MIN(cost, effort->cost);
	arena_clear(&plan->scratch);
	plan->eval.indexes = NULL;
	return m;
}

static int selects(struct allocate_plan *plan, const struct allocate_request *r, bool of_class,
		   size_t i, const struct inventory_device *d, struct error *err)
{
	const struct inventory_selector *c = of_class ? &r->class->selectors[i] : NULL;
	struct allocate_selector s = c ? (struct allocate_selector){ .text = c->text,
								     .program = c->program,
								     .fault = c->fault }
				       : r->selectors[i];
	struct error fault;
	int m;

	if (!s.program)
		return error_set(err, ERR_INVALID, "%s: CEL compile error: %.*s",
				 selector_place(plan, r, of_class, i), STR_ARG(s.fault));
	m = s.id ? inventory_answer(plan->inv, s.id, d) : -1;
	if (m >= 0)
		return m;
	if (plan->options.effort && plan->options.effort->cost == 0)
		return too_costly(plan, selector_place(plan, r, of_class, i), err);
	m = evaluate(plan, &s, d, &fault);
	if (m >= 0 && s.id)
		inventory_remember(plan->inv, s.id, d, m > 0);
	if (m >= 0)
		return m;
	return error_set(err, ERR_INVALID, "%s on device %.*s/%.*s: CEL runtime error: %s%s",
			 selector_place(plan, r, of_class, i), STR_ARG(d->slice->pool->key),
			 STR_ARG(d->name), fault.msg,
			 strstr(fault.msg, "no such key:") ? hint : "");
}

int allocate_selects(struct allocate_plan *plan, const struct allocate_request *r,
		     const struct inventory_device *d, struct str *ret_text, struct error *err)
{
	int m = 1;

	*ret_text = STR_NULL;
	for (size_t i = 0; m > 0 && i < r->class->nselectors; i++) {
		*ret_text = r->class->selectors[i].text;
		m = selects(plan, r, true, i, d, err);
	}
	for (size_t i = 0; m > 0 && i < r->nselectors; i++) {
		*ret_text = r->selectors[i].text;
		m = selects(plan, r, false, i, d, err);
	}
	return m;
}

/* Returns the slice's memo of a class, and moves it to the front. */
static struct inventory_memo *memo_of(struct inventory_slice *s, uint64_t class)
{
	for (size_t i = 0; i < INVENTORY_MEMOS; i++) {
		struct inventory_memo found = s->memo[i];

		if (found.class != class && i + 1 < INVENTORY_MEMOS)
			continue;
		if (found.class != class)
			found = (struct inventory_memo){ .class = class };
		if (i > 0)
			memmove(&s->memo[1], &s->memo[0], i * sizeof(found));
		s->memo[0] = found;
		break;
	}
	return &s->memo[0];
}

/*
 * Evaluates the class's selectors. The result is cached, as it only depends on the versions of
 * class and slice.
 */
static int class_selects(struct allocate_plan *plan, const struct allocate_request *r,
			 const struct inventory_device *d, struct error *err)
{
	size_t index = (size_t)(d - d->slice->devices);
	struct inventory_memo *memo = NULL;
	int m = 1;

	if (r->class->nselectors == 0)
		return 1;
	if (index < 64)
		memo = memo_of(d->slice, r->class->id);
	if (memo && memo->known >> index & 1)
		return memo->yes >> index & 1;
	m = inventory_answer(plan->inv, r->class->id, d);
	if (m >= 0)
		return m;
	m = 1;
	for (size_t i = 0; m > 0 && i < r->class->nselectors; i++)
		m = selects(plan, r, true, i, d, err);
	if (memo && m >= 0) {
		memo->known |= UINT64_C(1) << index;
		memo->yes |= (uint64_t)m << index;
	}
	if (m >= 0)
		inventory_remember(plan->inv, r->class->id, d, m > 0);
	return m;
}

/* --- taints ------------------------------------------------------------------------- */

static bool tolerated(const struct allocate_request *r, const struct inventory_taint *t)
{
	JSON_FOREACH (it, r->tolerations)
		if (inventory_tolerates(it, t))
			return true;
	return false;
}

const struct inventory_taint *allocate_taint(const struct allocate_plan *plan,
					     const struct allocate_request *r,
					     const struct inventory_device *d)
{
	const struct inventory_taint *t;
	size_t at = 0;

	if (!plan->features.taints || (d->ntaints == 0 && !plan->rules))
		return NULL;
	while ((t = inventory_next_taint(d, &at)))
		if (t->effect != INVENTORY_EFFECT_OTHER && !tolerated(r, t))
			return t;
	return NULL;
}

/* --- all of it ---------------------------------------------------------------------- */

/*
 * allocate_capacity_fits(), cached for requests without amounts, for which it is always the same.
 */
static int large_enough(const struct allocate_plan *plan, const struct allocate_request *r,
			const struct inventory_device *d, struct error *err)
{
	size_t index = (size_t)(d - d->slice->devices);
	uint64_t bit = index < 64 && r->ncapacities == 0 ? UINT64_C(1) << index : 0;
	int m;

	if (d->slice->roomy & bit)
		return 1;
	m = allocate_capacity_fits(plan, r, d, err);
	if (m == 1)
		d->slice->roomy |= bit;
	return m;
}

static int match_look(struct allocate_plan *plan, const struct allocate_request *r,
		      const struct inventory_device *d, struct error *err)
{
	int m;

	if (!plan->features.binding_conditions && d->nbinding)
		return ALLOCATE_NO;
	m = class_selects(plan, r, d, err);
	for (size_t i = 0; m > 0 && i < r->nselectors; i++)
		m = selects(plan, r, false, i, d, err);
	if (m <= 0)
		return m < 0 ? m : ALLOCATE_NO;
	if (!inventory_device_reachable(d, &plan->node))
		return ALLOCATE_NO;
	m = large_enough(plan, r, d, err);
	if (m < 0)
		return error_wrap(
			err, m, "claim %.*s, request %.*s: checking capacity for device %.*s/%.*s",
			STR_ARG(plan->claims[r->claim].text), STR_ARG(r->name),
			STR_ARG(d->slice->pool->key), STR_ARG(d->name));
	if (m == 0)
		return ALLOCATE_NO;
	if (!plan->features.partitionable && d->ncounters)
		return ALLOCATE_REFUSED;
	return allocate_taint(plan, r, d) ? ALLOCATE_REFUSED : ALLOCATE_YES;
}

int allocate_match(struct allocate_plan *plan, struct allocate_request *r,
		   const struct allocate_at *at, struct error *err)
{
	int m;

	if (!r->match)
		r->match = ARENA_ARRAY(plan->work, uint8_t, plan->ndevices);
	m = r->match[at->ordinal];
	if (m != ALLOCATE_UNKNOWN)
		return m;
	m = match_look(plan, r, at->device, err);
	if (m > 0)
		r->match[at->ordinal] = (uint8_t)m;
	return m;
}

/* --- attributes --------------------------------------------------------------------- */

const struct cel_value *allocate_attribute(const struct inventory_device *d,
					   const struct allocate_constraint *c)
{
	return cel_device_attribute(&d->view, c->domain, c->id);
}

/* Compares versions like text: build metadata counts, although it does not affect their order. */
static bool same_version(const struct cel_semver *a, const struct cel_semver *b)
{
	return a->major == b->major && a->minor == b->minor && a->patch == b->patch &&
	       str_eq(a->pre, b->pre) && str_eq(a->build, b->build);
}

static bool same_scalar(const struct cel_value *a, const struct cel_value *b)
{
	if (a->kind != b->kind)
		return false;
	switch ((enum cel_kind)a->kind) {
	case CEL_STRING:
		return str_eq(a->s, b->s);
	case CEL_INT:
		return a->i == b->i;
	case CEL_BOOL:
		return a->b == b->b;
	case CEL_SEMVER:
		return same_version(a->semver, b->semver);
	default:
		return false;
	}
}

static size_t value_size(const struct cel_value *v)
{
	return v->kind == CEL_LIST ? cel_list_size(v) : 1;
}

static struct cel_value value_at(struct cel_eval *ev, const struct cel_value *v, size_t i)
{
	return v->kind == CEL_LIST ? cel_list_at(ev, v, i) : *v;
}

static bool value_has(struct cel_eval *ev, const struct cel_value *v, const struct cel_value *e)
{
	for (size_t i = 0; i < value_size(v); i++) {
		struct cel_value other = value_at(ev, v, i);

		if (same_scalar(&other, e))
			return true;
	}
	return false;
}

bool allocate_values_share(struct cel_eval *ev, const struct cel_value *const *values, size_t n)
{
	for (size_t i = 0; i < value_size(values[0]); i++) {
		struct cel_value e = value_at(ev, values[0], i);
		size_t k = 1;

		while (k < n && value_has(ev, values[k], &e))
			k++;
		if (k == n)
			return true;
	}
	return false;
}

bool allocate_values_meet(struct cel_eval *ev, const struct cel_value *a, const struct cel_value *b)
{
	if (a->kind != CEL_LIST && b->kind != CEL_LIST)
		return same_scalar(a, b);
	return allocate_values_share(ev, (const struct cel_value *const[]){ a, b }, 2);
}
