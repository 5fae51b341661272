/*
 * Converts claims to flat tables: groups (entries of a claim's list of requests), requests (each
 * alternative is one), and constraints as bits of the requests that they apply to. Errors that do
 * not depend on the choice of devices are found here, in upstream's order and words: the requests
 * one by one, then the number of devices of the claim, then its constraints.
 *
 * Invalid or incomplete pools have no slices here. plan->faulty_pool records that there are some:
 * they make requests for all devices fail, and explain why nothing was found.
 */
#include "dra/allocate/allocate_impl.h"

#include <inttypes.h>
#include <limits.h>

#include "cel/cel_limits.h"
#include "dra/dra_limits.h"

/* --- devices ------------------------------------------------------------------------ */

void allocate_plan_pools(struct allocate_plan *plan)
{
	struct inventory_node_pool *pools;
	uint32_t nslices = 0;

	plan->npools = (uint32_t)inventory_node_pools(plan->inv, &plan->node, plan->work, &pools);
	plan->pools = ARENA_ARRAY(plan->work, struct allocate_pool, plan->npools);
	for (uint32_t i = 0; i < plan->npools; i++)
		nslices += (uint32_t)pools[i].n;
	plan->slices = ARENA_ARRAY(plan->work, struct allocate_slice, nslices);
	for (uint32_t i = 0; i < plan->npools; i++) {
		plan->pools[i].on_node = &pools[i];
		plan->faulty_pool |= pools[i].incomplete || pools[i].invalid;
		if (pools[i].incomplete || pools[i].invalid)
			continue;
		for (size_t j = 0; j < pools[i].n; j++) {
			plan->slices[plan->nslices++] = (struct allocate_slice){
				.slice = pools[i].slices[j], .pool = i, .first = plan->ndevices
			};
			plan->ndevices += pools[i].slices[j]->ndevices;
		}
	}
	plan->taken = ARENA_ARRAY(plan->work, uint16_t, plan->ndevices);
}

struct allocate_walk allocate_walk_from(const struct allocate_plan *plan, uint32_t ordinal)
{
	uint32_t low = 0, high = plan->nslices;

	/*
	 * Find the last slice that begins at or before the ordinal. Empty slices begin where the
	 * next one does.
	 */
	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (plan->slices[mid].first <= ordinal)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == 0)
		return (struct allocate_walk){ 0, 0 };
	return (struct allocate_walk){ low - 1, ordinal - plan->slices[low - 1].first };
}

bool allocate_walk_next(const struct allocate_plan *plan, struct allocate_walk *w,
			struct allocate_at *ret_at)
{
	for (; w->slice < plan->nslices; w->slice++, w->index = 0) {
		const struct allocate_slice *s = &plan->slices[w->slice];

		if (w->index >= s->slice->ndevices)
			continue;
		*ret_at = (struct allocate_at){ .device = &s->slice->devices[w->index],
						.pool = s->pool,
						.ordinal = s->first + w->index };
		w->index++;
		return true;
	}
	return false;
}

struct allocate_at allocate_at(const struct allocate_plan *plan, uint32_t ordinal)
{
	struct allocate_walk w = allocate_walk_from(plan, ordinal);
	struct allocate_at at = { 0 };

	(void)allocate_walk_next(plan, &w, &at);
	return at;
}

/* --- requests ----------------------------------------------------------------------- */

/*
 * Compiles a selector. If it does not compile, sets its `fault`. Returns -ERR_TOO_LARGE if the
 * effort does not suffice.
 */
static int plan_read_selector(struct allocate_plan *plan, struct str text,
			      struct allocate_selector *ret_selector)
{
	struct allocate_effort *effort = plan->options.effort;
	struct inventory_compiled compiled = { 0 };
	struct error err = { 0 };
	int r;

	r = inventory_selector(plan->inv, text, effort ? &effort->compile : NULL, &compiled, &err);
	*ret_selector = (struct allocate_selector){ .text = text,
						    .program = compiled.program,
						    .id = compiled.id };
	if (r < 0)
		ret_selector->fault = arena_str(plan->work, str_from(err.msg));
	return r == -ERR_TOO_LARGE ? r : 0;
}

static int read_selectors(struct allocate_plan *plan, struct allocate_request *r, struct error *err)
{
	const struct json *list = json_getz(r->spec, "selectors");
	struct allocate_selector *v;

	v = ARENA_ARRAY(plan->work, struct allocate_selector, json_count(list));
	r->selectors = v;
	JSON_FOREACH (it, list) {
		const struct json *cel = json_getz(it, "cel");

		if (!cel)
			return error_set(
				err, ERR_INVALID,
				"claim %.*s, request %.*s, selector #%zu: CEL expression empty "
				"(unsupported selector type?)",
				STR_ARG(plan->claims[r->claim].text), STR_ARG(r->name),
				r->nselectors);
		if (plan_read_selector(plan, json_text_at(cel, "expression"), &v[r->nselectors]) <
		    0)
			return error_set(err, ERR_TOO_LARGE,
					 "claim %.*s, request %.*s, selector #%zu: compiling the "
					 "pod's selectors takes too much work in one attempt",
					 STR_ARG(plan->claims[r->claim].text), STR_ARG(r->name),
					 r->nselectors);
		r->nselectors++;
	}
	return 0;
}

static int read_capacities(struct allocate_plan *plan, struct allocate_request *r,
			   struct error *err)
{
	const struct json *asked = json_getz(json_getz(r->spec, "capacity"), "requests");
	struct allocate_capacity *v;

	v = ARENA_ARRAY(plan->work, struct allocate_capacity, json_count(asked));
	r->capacities = v;
	JSON_FOREACH (it, asked) {
		struct allocate_capacity *c = &v[r->ncapacities++];

		c->name = json_key(it);
		if (!quantity_read(it, &c->value))
			return error_set(
				err, ERR_INVALID,
				"claim %.*s, request %.*s: capacity %.*s is not a quantity",
				STR_ARG(plan->claims[r->claim].text), STR_ARG(r->name),
				STR_ARG(c->name));
	}
	return 0;
}

static int all_of_pool(struct allocate_plan *plan, struct allocate_request *r, uint32_t pool,
		       struct error *err)
{
	const struct inventory_node_pool *p = plan->pools[pool].on_node;
	const char *fault = p->incomplete ? "being updated" : p->invalid ? "invalid" : NULL;

	if (!fault)
		return 0;
	return error_set(err, ERR_INVALID,
			 "claim %.*s, request %.*s: asks for all devices, but resource pool %.*s "
			 "is currently %s",
			 STR_ARG(plan->claims[r->claim].text), STR_ARG(r->name),
			 STR_ARG(p->pool->key), fault);
}

/* Finds the devices of a request of mode All: those selected and large enough, free or not. */
static int find_all(struct allocate_plan *plan, struct allocate_request *r, struct error *err)
{
	struct allocate_walk w = { 0, 0 };
	struct allocate_at at = { 0 };
	uint32_t pool = 0;

	r->devices = ARENA_ARRAY(plan->work, uint32_t, plan->ndevices);
	r->count = 0;
	while (allocate_walk_next(plan, &w, &at)) {
		int m;

		/* Check pools in order, so that the first error is the same as upstream's. */
		for (; pool <= at.pool; pool++) {
			int fault = all_of_pool(plan, r, pool, err);

			if (fault < 0)
				return fault;
		}
		m = allocate_match(plan, r, &at, err);
		if (m < 0)
			return m;
		if (m != ALLOCATE_NO)
			r->devices[r->count++] = at.ordinal;
	}
	for (; pool < plan->npools; pool++) {
		int fault = all_of_pool(plan, r, pool, err);

		if (fault < 0)
			return fault;
	}
	return 0;
}

static int read_mode(struct allocate_plan *plan, struct allocate_request *r, struct error *err)
{
	struct str mode = json_text_at(r->spec, "allocationMode");

	if (str_eqz(mode, "ExactCount")) {
		r->count = json_i64_at(r->spec, "count", 0);
		return 0;
	}
	if (str_eqz(mode, "All")) {
		r->all = true;
		return find_all(plan, r, err);
	}
	return error_set(err, ERR_INVALID, "claim %.*s, request %.*s: unsupported count mode %.*s",
			 STR_ARG(plan->claims[r->claim].text), STR_ARG(r->name), STR_ARG(mode));
}

static int read_class(struct allocate_plan *plan, struct allocate_request *r, struct error *err)
{
	struct str claim = plan->claims[r->claim].text;

	if (r->class_name.n == 0)
		return error_set(err, ERR_INVALID,
				 "claim %.*s, request %.*s: missing device class name "
				 "(unsupported request type?)",
				 STR_ARG(claim), STR_ARG(r->name));
	r->class = inventory_class(plan->inv, r->class_name);
	if (!r->class)
		return error_set(err, ERR_NOT_FOUND,
				 "claim %.*s, request %.*s: could not retrieve device class %.*s: "
				 "deviceclass.resource.k8s.io \"%.*s\" not found",
				 STR_ARG(claim), STR_ARG(r->name), STR_ARG(r->class_name),
				 STR_ARG(r->class_name));
	return 0;
}

/* Reads one request or alternative, whose name and spec are set. */
static int read_request(struct allocate_plan *plan, struct allocate_request *r, struct error *err)
{
	struct str claim = plan->claims[r->claim].text;
	int e;

	r->class_name = json_text_at(r->spec, "deviceClassName");
	r->tolerations = json_getz(r->spec, "tolerations");
	if (json_count(json_getz(r->spec, "derivedAttributes")))
		return error_set(err, ERR_INVALID,
				 "claim %.*s, request %.*s: cannot handle request with derived "
				 "attributes, the feature is disabled",
				 STR_ARG(claim), STR_ARG(r->name));
	e = read_selectors(plan, r, err);
	if (e < 0)
		return e;
	if (!plan->groups[r->group].alternatives) {
		r->admin = json_true_at(r->spec, "adminAccess");
		if (!plan->features.admin_access && json_getz(r->spec, "adminAccess"))
			return error_set(err, ERR_INVALID,
					 "claim %.*s, request %.*s: admin access is requested, but "
					 "the feature is disabled",
					 STR_ARG(claim), STR_ARG(r->name));
	}
	e = read_class(plan, r, err);
	if (e == 0)
		e = read_capacities(plan, r, err);
	return e < 0 ? e : read_mode(plan, r, err);
}

static int check_features(const struct allocate_plan *plan, struct str claim,
			  const struct json *request, struct error *err)
{
	const struct json *list = json_getz(request, "firstAvailable");
	struct str name = json_text_at(request, "name");

	if (!plan->features.prioritized_list && json_count(list))
		return error_set(err, ERR_INVALID,
				 "claim %.*s, request %.*s: has subrequests, but the "
				 "DRAPrioritizedList feature is disabled",
				 STR_ARG(claim), STR_ARG(name));
	if (plan->features.consumable_capacity)
		return 0;
	if (json_getz(json_getz(request, "exactly"), "capacity"))
		return error_set(err, ERR_INVALID,
				 "claim %.*s, request %.*s: has capacity requests, but the "
				 "DRAConsumableCapacity feature is disabled",
				 STR_ARG(claim), STR_ARG(name));
	JSON_FOREACH (it, list)
		if (json_getz(it, "capacity"))
			return error_set(err, ERR_INVALID,
					 "claim %.*s, subrequest %.*s: has capacity requests, but "
					 "the DRAConsumableCapacity feature is disabled",
					 STR_ARG(claim), STR_ARG(json_text_at(it, "name")));
	return 0;
}

/* Reads an entry of the list of requests. *ret_min is the least number of devices that it takes. */
static int read_group(struct allocate_plan *plan, uint32_t claim, const struct json *request,
		      int64_t *ret_min, struct error *err)
{
	const struct json *list = json_getz(request, "firstAvailable");
	struct allocate_group *g = &plan->groups[plan->ngroups];
	struct str name = json_text_at(request, "name");
	int e = check_features(plan, plan->claims[claim].text, request, err);

	if (e < 0)
		return e;
	*g = (struct allocate_group){ .first = plan->nrequests,
				      .n = json_count(list) ? (uint32_t)json_count(list) : 1,
				      .claim = claim,
				      .alternatives = json_count(list) > 0 };
	plan->chosen[plan->ngroups] = g->first;
	*ret_min = INT64_MAX;
	for (uint32_t i = 0; i < g->n; i++) {
		struct allocate_request *r = &plan->requests[plan->nrequests++];

		r->claim = claim;
		r->group = plan->ngroups;
		r->spec = g->alternatives ? json_at(list, i) : json_getz(request, "exactly");
		r->name = g->alternatives ? json_text_at(r->spec, "name") : name;
		r->full = !g->alternatives
				  ? name
				  : str_from(arena_printf(plan->work, "%.*s/%.*s", STR_ARG(name),
							  STR_ARG(r->name)));
		e = read_request(plan, r, err);
		if (e < 0)
			return e;
		*ret_min = MIN(*ret_min, r->count);
	}
	plan->ngroups++;
	return 0;
}

/* --- constraints -------------------------------------------------------------------- */

/* Whether a constraint with that list of request names applies to the request. */
static bool allocate_plan_concerns(const struct json *names, const struct allocate_plan *plan,
				   const struct allocate_request *r)
{
	size_t main = r->full.n - r->name.n;

	if (json_count(names) == 0 || json_has_text(names, r->full))
		return true;
	return plan->groups[r->group].alternatives &&
	       json_has_text(names, str_of(r->full.p, main ? main - 1 : 0));
}

static int read_constraint(struct allocate_plan *plan, struct allocate_claim *c, uint32_t i,
			   const struct json *v, struct allocate_constraint *out, struct error *err)
{
	struct str name = json_text_at(v, "matchAttribute");
	ptrdiff_t slash;

	if (!name.p) {
		name = json_text_at(v, "distinctAttribute");
		out->distinct = true;
	}
	if (!name.p)
		return error_set(err, ERR_INVALID,
				 "claim %.*s, constraint #%u: empty constraint (unsupported "
				 "constraint type?)",
				 STR_ARG(c->text), i);
	slash = str_chr(name, '/');
	out->domain = slash < 0 ? STR_NULL : str_of(name.p, (size_t)slash);
	out->id = slash < 0 ? name : str_skip(name, (size_t)slash + 1);
	for (uint32_t g = c->first; g < plan->ngroups; g++)
		for (uint32_t k = 0; k < plan->groups[g].n; k++) {
			struct allocate_request *r = &plan->requests[plan->groups[g].first + k];

			if (allocate_plan_concerns(json_getz(v, "requests"), plan, r))
				r->constraints |= UINT64_C(1) << i;
		}
	return 0;
}

static int read_constraints(struct allocate_plan *plan, struct allocate_claim *c,
			    const struct json *list, struct error *err)
{
	struct allocate_constraint *v;

	if (json_count(list) > 64)
		return error_set(err, ERR_INVALID, "claim %.*s: too many constraints",
				 STR_ARG(c->text));
	v = ARENA_ARRAY(plan->work, struct allocate_constraint, json_count(list));
	c->constraints = v;
	JSON_FOREACH (it, list) {
		int e = read_constraint(plan, c, c->nconstraints, it, &v[c->nconstraints], err);

		if (e < 0)
			return e;
		c->nconstraints++;
	}
	plan->nconstraints_max = MAX(plan->nconstraints_max, c->nconstraints);
	return 0;
}

/* --- claims ------------------------------------------------------------------------- */

static int plan_read_claim(struct allocate_plan *plan, uint32_t index, const struct json *object,
			   struct error *err)
{
	const struct json *meta = json_getz(object, "metadata");
	const struct json *devices = json_getz(json_getz(object, "spec"), "devices");
	struct str ns = json_text_at(meta, "namespace"), name = json_text_at(meta, "name");
	struct allocate_claim *c = &plan->claims[index];
	int64_t total = 0;

	c->object = object;
	c->first = plan->ngroups;
	c->text = ns.n == 0 ? name
			    : str_from(arena_printf(plan->work, "%.*s/%.*s", STR_ARG(ns),
						    STR_ARG(name)));
	JSON_FOREACH (it, json_getz(devices, "requests")) {
		int64_t min;
		int e = read_group(plan, index, it, &min, err);

		if (e < 0)
			return e;
		if (min > 0)
			total = min > INT64_MAX - total ? INT64_MAX : total + min;
	}
	c->n = plan->ngroups - c->first;
	if (total > ALLOCATE_RESULTS_MAX)
		return error_set(err, ERR_INVALID,
				 "claim %.*s: number of requested devices %" PRId64
				 " exceeds the claim limit of %d",
				 STR_ARG(c->text), total, ALLOCATE_RESULTS_MAX);
	return read_constraints(plan, c, json_getz(devices, "constraints"), err);
}

static void plan_make_room(struct allocate_plan *plan, const struct json *const *claims, size_t n)
{
	size_t groups = 0, requests = 0;

	for (size_t i = 0; i < n; i++) {
		const struct json *devices = json_getz(json_getz(claims[i], "spec"), "devices");

		JSON_FOREACH (it, json_getz(devices, "requests")) {
			groups++;
			requests += MAX(json_count(json_getz(it, "firstAvailable")), 1);
		}
	}
	plan->claims = ARENA_ARRAY(plan->work, struct allocate_claim, n);
	plan->groups = ARENA_ARRAY(plan->work, struct allocate_group, groups);
	plan->chosen = ARENA_ARRAY(plan->work, uint32_t, groups);
	plan->requests = ARENA_ARRAY(plan->work, struct allocate_request, requests);
}

void allocate_plan_places(struct allocate_plan *plan, size_t nclaims)
{
	plan->places = ARENA_ARRAY(plan->work, struct allocate_place,
				   nclaims * ALLOCATE_RESULTS_MAX);
}

void allocate_plan_steps(struct allocate_plan *plan)
{
	const struct allocate_options *o = &plan->options;

	plan->steps = plan->spent = 0;
	plan->steps_max = o->steps_max ? o->steps_max : ALLOCATE_STEPS_MAX;
	if (o->budget && !plan->arena)
		plan->steps_max = MIN(plan->steps_max, *o->budget);
}

void allocate_plan_begin(struct allocate_plan *plan)
{
	plan->features = *inventory_features(plan->inv);
	plan->rules = inventory_has_rules(plan->inv);
	allocate_plan_steps(plan);
	arena_init_in(&plan->scratch, CEL_SCRATCH_MAX, plan->scratch_block,
		      sizeof(plan->scratch_block));
	plan->eval.scratch = &plan->scratch;
	plan->eval.cost_limit = CEL_DEVICE_COST_MAX;
}

int allocate_plan_claims(struct allocate_plan *plan, const struct json *const *claims, size_t n,
			 struct error *err)
{
	plan_make_room(plan, claims, n);
	for (; plan->nclaims < n; plan->nclaims++) {
		int r = plan_read_claim(plan, plan->nclaims, claims[plan->nclaims], err);

		if (r < 0)
			return r;
	}
	return 0;
}

int allocate_plan_read(struct allocate_plan *plan, const struct json *const *claims, size_t n,
		       struct error *err)
{
	allocate_plan_begin(plan);
	allocate_plan_pools(plan);
	allocate_plan_places(plan, n);
	return allocate_plan_claims(plan, claims, n, err);
}

void allocate_plan_release(struct allocate_plan *plan)
{
	arena_release(&plan->scratch);
}
