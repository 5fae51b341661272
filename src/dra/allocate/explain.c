/*
 * Checks every device for every request with the allocator's steps, and reports the first one that
 * rules the device out. If each request fits alone but not all together, it searches again without
 * each constraint in turn, then without counters. It reports the first one whose absence makes the
 * claims fit.
 */
#include "dra/allocate/explain.h"

#include <inttypes.h>

#include "dra/allocate/allocate_impl.h"
#include "dra/availability/device_state.h"

static struct str explain_say(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);

static struct str explain_say(struct arena *a, const char *fmt, ...)
{
	struct buf b = BUF_INIT(64UL * 1024);
	struct str s;
	va_list ap;

	va_start(ap, fmt);
	(void)buf_vprintf(&b, fmt, ap);
	va_end(ap);
	s = arena_str(a, buf_str(&b));
	buf_release(&b);
	return s;
}

static struct str explain_amount(struct arena *a, struct quantity q)
{
	struct buf b = BUF_INIT(128);
	struct str s;

	(void)quantity_print(q, &b);
	s = arena_str(a, buf_str(&b));
	buf_release(&b);
	return s;
}

/* --- why not ------------------------------------------------------------------------ */

static struct str holders(struct arena *a, const struct inventory_device *d,
			  const struct explain_sight *sight)
{
	struct buf b = BUF_INIT(4096);
	size_t n = 0, hidden = 0;
	struct str s;

	LIST_FOREACH (it, &d->use->holders) {
		const struct inventory_holder *h = LIST_ENTRY(it, struct inventory_holder, link);

		if (h->admin || h->share_id.n)
			continue;
		if (sight && !sight->may(sight->arg, h->claim->namespace)) {
			hidden++;
			continue;
		}
		(void)buf_printf(&b, "%s%.*s/%.*s", n++ ? ", " : "claim ",
				 STR_ARG(h->claim->namespace), STR_ARG(h->claim->name));
	}
	if (hidden)
		(void)buf_printf(&b, "%s%zu %sclaim%s", n ? ", " : "", hidden, n ? "more " : "",
				 hidden == 1 ? "" : "s");
	s = arena_str(a, buf_str(&b));
	buf_release(&b);
	return s;
}

/* Finds the first capacity that is too small. */
static bool short_capacity(struct allocate_plan *plan, const struct allocate_request *r,
			   const struct allocate_at *at, struct str *ret_detail)
{
	struct error err;
	int fits = allocate_capacity_fits(plan, r, at->device, &err);

	if (fits < 0) {
		*ret_detail = explain_say(plan->arena, "%s", err.msg);
		return true;
	}
	for (size_t i = 0; i < r->ncapacities; i++) {
		struct str name = r->capacities[i].name;
		size_t k = 0;

		while (k < at->device->view.ncapacity &&
		       !str_eq(at->device->capacities[k].name, name))
			k++;
		if (k == at->device->view.ncapacity) {
			*ret_detail = explain_say(plan->arena, "has no %.*s", STR_ARG(name));
			return true;
		}
	}
	for (size_t i = 0; plan->features.consumable_capacity && i < at->device->view.ncapacity;
	     i++) {
		struct quantity left = allocate_capacity_left(plan, at, i), wanted;

		if (allocate_consumption(plan, r, at->device, i, &wanted, NULL) < 0 ||
		    quantity_cmp(wanted, left) <= 0)
			continue;
		*ret_detail = explain_say(plan->arena, "%.*s: %.*s wanted, %.*s left",
					  STR_ARG(at->device->capacities[i].name),
					  STR_ARG(explain_amount(plan->arena, wanted)),
					  STR_ARG(explain_amount(plan->arena, left)));
		return true;
	}
	if (!fits)
		*ret_detail = explain_say(plan->arena,
					  "the amount is not one that the device offers");
	return !fits;
}

static bool short_counter(struct allocate_plan *plan, const struct allocate_at *at,
			  struct str *ret_detail)
{
	const struct inventory_pool *p = plan->pools[at->pool].on_node->pool;

	if (allocate_shareable(plan, at->device) && inventory_device_shared(at->device))
		return false;
	if (!plan->features.partitionable && at->device->ncounters) {
		*ret_detail = explain_say(plan->arena, "partitionable devices are disabled");
		return true;
	}
	for (size_t i = 0; i < at->device->ncounters; i++) {
		const struct inventory_consumption *c = &at->device->counters[i];
		struct quantity left = inventory_counter_remaining(&p->counters[c->index]);

		if (quantity_cmp(c->amount, left) <= 0)
			continue;
		*ret_detail = explain_say(plan->arena, "%.*s of %.*s: %.*s wanted, %.*s left",
					  STR_ARG(c->counter), STR_ARG(c->set),
					  STR_ARG(explain_amount(plan->arena, c->amount)),
					  STR_ARG(explain_amount(plan->arena, left)));
		return true;
	}
	if (at->device->ncounters && p->overdrawn)
		*ret_detail = explain_say(plan->arena, "a counter of the pool is overdrawn");
	return at->device->ncounters && p->overdrawn;
}

static bool lacks_attribute(const struct allocate_plan *plan, const struct allocate_request *r,
			    const struct inventory_device *d, struct str *ret_detail)
{
	const struct allocate_claim *c = &plan->claims[r->claim];

	for (uint32_t i = 0; i < c->nconstraints; i++) {
		if (!(r->constraints >> i & 1) || allocate_attribute(d, &c->constraints[i]))
			continue;
		*ret_detail = explain_say(plan->arena, "no attribute %.*s/%.*s",
					  STR_ARG(c->constraints[i].domain),
					  STR_ARG(c->constraints[i].id));
		return true;
	}
	return false;
}

static enum explain_reason selector_reason(struct allocate_plan *plan,
					   const struct allocate_request *r,
					   const struct inventory_device *d,
					   struct explain_device *e)
{
	struct error err;
	struct str text;
	int m = allocate_selects(plan, r, d, &text, &err);

	if (m > 0)
		return EXPLAIN_FITS;
	e->detail = arena_str(plan->arena, text);
	if (m < 0) {
		e->error = explain_say(plan->arena, "%s", err.msg);
		return EXPLAIN_SELECTOR_ERROR;
	}
	for (size_t i = 0; i < r->class->nselectors; i++)
		if (r->class->selectors[i].text.p == text.p)
			return EXPLAIN_CLASS_SELECTOR;
	return EXPLAIN_REQUEST_SELECTOR;
}

static enum explain_reason explain_reason_of(struct allocate_plan *plan,
					     const struct allocate_request *r,
					     const struct allocate_at *at,
					     const struct explain_sight *sight,
					     struct explain_device *e)
{
	const struct inventory_device *d = at->device;
	const struct inventory_taint *t;
	enum explain_reason why;

	why = selector_reason(plan, r, d, e);
	/* Name the holders only if the request would want the device. */
	if (allocate_held(r, d) && (why == EXPLAIN_FITS || why == EXPLAIN_SELECTOR_ERROR)) {
		e->detail = holders(plan->arena, d, sight);
		e->error = STR_NULL;
		return EXPLAIN_IN_USE;
	}
	if (why != EXPLAIN_FITS)
		return why;
	if (device_is_gone(plan->inv, d))
		return EXPLAIN_NODE_GONE;
	if (device_is_lost(plan->inv, d))
		return EXPLAIN_NODE_UNREACHABLE;
	if (!inventory_device_reachable(d, &plan->node))
		return EXPLAIN_OTHER_NODE;
	if (short_capacity(plan, r, at, &e->detail))
		return EXPLAIN_CAPACITY;
	if (short_counter(plan, at, &e->detail))
		return EXPLAIN_COUNTERS;
	t = allocate_taint(plan, r, d);
	if (t) {
		e->detail = explain_say(plan->arena, "%.*s%s%.*s:%.*s", STR_ARG(t->key),
					t->value.n ? "=" : "", STR_ARG(t->value),
					STR_ARG(t->effect_text));
		return EXPLAIN_TAINT;
	}
	return lacks_attribute(plan, r, d, &e->detail) ? EXPLAIN_CONSTRAINT : EXPLAIN_FITS;
}

/* --- devices ------------------------------------------------------------------------ */

/* State of one explanation. */
struct explaining {
	struct allocate_plan *plan;
	const struct explain_sight *sight;
	struct allocate_at *devices; /* devices that are checked for each request */
	size_t n;
	bool missing; /* the node does not exist or is lost */
};

/* The node is missing: only lists devices that name it, since others may be reached elsewhere. */
static void find_missing(struct explaining *x)
{
	struct allocate_plan *plan = x->plan;
	struct inventory_slice **slices;
	size_t n = inventory_node_slices(plan->inv, plan->node.name, plan->work, &slices), all = 0;

	for (size_t i = 0; i < n; i++)
		all += slices[i]->ndevices;
	x->devices = ARENA_ARRAY(plan->work, struct allocate_at, all);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < slices[i]->ndevices; k++)
			if (inventory_device_on_node(&slices[i]->devices[k], plan->node.name))
				x->devices[x->n++].device = &slices[i]->devices[k];
}

static void find_devices(struct explaining *x)
{
	struct allocate_plan *plan = x->plan;
	struct allocate_walk w = { 0, 0 };
	struct inventory_nodes node = { .kind = INVENTORY_NODES_NAME, .name = plan->node.name };

	x->missing = inventory_nodes_gone(plan->inv, &node) ||
		     inventory_nodes_lost(plan->inv, &node, NULL);
	if (x->missing) {
		find_missing(x);
		return;
	}
	x->devices = ARENA_ARRAY(plan->work, struct allocate_at, plan->ndevices);
	while (x->n < plan->ndevices && allocate_walk_next(plan, &w, &x->devices[x->n]))
		x->n++;
}

/* --- requests ----------------------------------------------------------------------- */

static void add_pool_faults(struct allocate_plan *plan, struct explain_request *e)
{
	for (uint32_t i = 0; i < plan->npools; i++) {
		const struct inventory_node_pool *p = plan->pools[i].on_node;

		if (!p->incomplete && !p->invalid)
			continue;
		e->devices[e->n++] = (struct explain_device){
			.driver = arena_str(plan->arena, p->pool->driver),
			.pool = arena_str(plan->arena, p->pool->name),
			.reason = p->incomplete ? EXPLAIN_POOL_INCOMPLETE : EXPLAIN_POOL_INVALID,
			.detail = arena_str(plan->arena, p->invalid_reason),
		};
	}
}

/* Reads the count from the spec, because an invalid request is not read completely. */
static int64_t wanted(const struct allocate_request *r)
{
	if (r->all || str_eqz(json_text_at(r->spec, "allocationMode"), "All"))
		return -1;
	return json_i64_at(r->spec, "count", 1);
}

static void explain_request(const struct explaining *x, const struct allocate_request *r,
			    struct explain_request *e)
{
	struct allocate_plan *plan = x->plan;

	*e = (struct explain_request){ .claim = arena_str(plan->arena, plan->claims[r->claim].text),
				       .request = arena_str(plan->arena, r->full),
				       .class_name = arena_str(plan->arena, r->class_name),
				       .wanted = wanted(r) };
	if (!r->class)
		return;
	e->devices = ARENA_ARRAY(plan->arena, struct explain_device, x->n + plan->npools);
	for (size_t i = 0; i < x->n; i++) {
		const struct inventory_device *of = x->devices[i].device;
		struct explain_device *d = &e->devices[e->n++];

		d->driver = arena_str(plan->arena, of->slice->pool->driver);
		d->pool = arena_str(plan->arena, of->slice->pool->name);
		d->device = arena_str(plan->arena, of->name);
		d->reason = explain_reason_of(plan, r, &x->devices[i], x->sight, d);
		e->fitting += d->reason == EXPLAIN_FITS;
	}
	if (!x->missing)
		add_pool_faults(plan, e);
}

/* Mode All: counts selected devices that are not available. Each one makes the request fail. */
static int64_t all_missing(const struct explain_request *e)
{
	int64_t n = 0;

	for (size_t i = 0; i < e->n; i++)
		n += e->devices[i].reason != EXPLAIN_FITS &&
		     e->devices[i].reason != EXPLAIN_CLASS_SELECTOR &&
		     e->devices[i].reason != EXPLAIN_REQUEST_SELECTOR &&
		     e->devices[i].reason != EXPLAIN_OTHER_NODE &&
		     e->devices[i].reason != EXPLAIN_NODE_GONE &&
		     e->devices[i].reason != EXPLAIN_NODE_UNREACHABLE;
	return n;
}

static bool served(const struct explain_request *e)
{
	if (e->fault.n)
		return false;
	return e->wanted < 0 ? e->fitting > 0 && all_missing(e) == 0 : e->fitting >= e->wanted;
}

/* --- between requests --------------------------------------------------------------- */

static bool fits_now(struct allocate_plan *plan)
{
	while (plan->nplaces)
		allocate_untake(plan);
	plan->steps = 0;
	return allocate_search(plan, NULL) == 1;
}

static bool fits_without(struct allocate_plan *plan, uint32_t claim, uint32_t constraint)
{
	uint64_t *saved = ARENA_ARRAY(plan->work, uint64_t, plan->nrequests);
	bool fits;

	for (uint32_t i = 0; i < plan->nrequests; i++) {
		saved[i] = plan->requests[i].constraints;
		if (plan->requests[i].claim == claim)
			plan->requests[i].constraints &= ~(UINT64_C(1) << constraint);
	}
	fits = fits_now(plan);
	for (uint32_t i = 0; i < plan->nrequests; i++)
		plan->requests[i].constraints = saved[i];
	return fits;
}

static struct str blame_constraint(struct allocate_plan *plan)
{
	for (uint32_t i = 0; i < plan->nclaims; i++) {
		const struct allocate_claim *c = &plan->claims[i];

		for (uint32_t k = 0; k < c->nconstraints; k++)
			if (fits_without(plan, i, k))
				return explain_say(
					plan->arena,
					"claim %.*s: no devices %s %.*s/%.*s; without that "
					"constraint they would fit",
					STR_ARG(c->text),
					c->constraints[k].distinct ? "that all differ in"
								   : "that agree in",
					STR_ARG(c->constraints[k].domain),
					STR_ARG(c->constraints[k].id));
	}
	return STR_NULL;
}

static struct str between(struct allocate_plan *plan)
{
	struct str text = blame_constraint(plan);

	if (text.n)
		return text;
	plan->ignore_counters = true;
	if (fits_now(plan))
		text = explain_say(plan->arena,
				   "counters that the devices share do not suffice for all of "
				   "them at once");
	plan->ignore_counters = false;
	if (text.n)
		return text;
	return explain_say(plan->arena,
			   "each request could be served, but they want the same devices");
}

/* --- all of it ---------------------------------------------------------------------- */

static bool all_served(const struct allocate_plan *plan, const struct explain *e)
{
	for (uint32_t i = 0; i < plan->ngroups; i++) {
		bool any = false;

		for (uint32_t k = 0; k < plan->groups[i].n; k++)
			any |= served(&e->requests[plan->groups[i].first + k]);
		if (!any)
			return false;
	}
	return true;
}

/* If so, the failing selector has been reported already. */
static bool has_failed_selector(const struct explain *e)
{
	for (size_t i = 0; i < e->n; i++) {
		for (size_t k = 0; k < e->requests[i].n; k++)
			if (e->requests[i].devices[k].reason == EXPLAIN_SELECTOR_ERROR)
				return true;
	}
	return false;
}

static void conclude(struct allocate_plan *plan, struct explain *e)
{
	struct error err = { 0 };
	int r = allocate_search(plan, &err);

	e->fits = r == 1;
	if (r < 0 && !has_failed_selector(e))
		e->between = explain_say(plan->arena, "%s", err.msg);
	else if (r == 0 && all_served(plan, e))
		e->between = between(plan);
}

void explain_fit(struct inventory *inv, const struct allocate_node *node,
		 const struct json *const *claims, size_t n, const struct explain_sight *sight,
		 struct arena *a, struct explain *ret_explain)
{
	struct arena work;
	struct allocate_plan plan = {
		.inv = inv, .node = { node->name, node->labels }, .arena = a, .work = &work
	};
	struct explaining x = { .plan = &plan, .sight = sight };
	struct error err = { 0 };
	int r;

	*ret_explain = (struct explain){ 0 };
	arena_init(&work, SIZE_MAX);
	r = allocate_plan_read(&plan, claims, n, &err);
	find_devices(&x);
	ret_explain->requests = ARENA_ARRAY(a, struct explain_request, plan.nrequests);
	for (; ret_explain->n < plan.nrequests; ret_explain->n++)
		explain_request(&x, &plan.requests[ret_explain->n],
				&ret_explain->requests[ret_explain->n]);
	if (r < 0 && plan.nrequests && plan.requests[plan.nrequests - 1].group == plan.ngroups)
		ret_explain->requests[plan.nrequests - 1].fault = explain_say(a, "%s", err.msg);
	else if (r < 0)
		ret_explain->between = explain_say(a, "%s", err.msg);
	else if (!x.missing)
		conclude(&plan, ret_explain);
	allocate_plan_release(&plan);
	arena_release(&work);
}
