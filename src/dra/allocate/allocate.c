/*
 * Which devices claims get: read what is wanted and what there is, search, write it down.
 *
 * How long a search may take. Let S be the devices that claims take together (at most 32 each),
 * N the devices that the node reaches, and K the number of classes of them: devices that differ in
 * something that these claims mind (allocate/classes.c); N of one kind make K = 1. A step is
 * one device tried.
 *
 *  - What fits at the first attempt takes S steps, and one more for each device that is refused on
 *    the way for counters, constraints or shares: at most S N. Selectors are evaluated only for
 *    devices that come up, once each.
 *  - Otherwise each choice tries at most K devices, and is only made while the outlook
 *    (allocate/outlook.c) is open. Where that tells the truth, no choice is in vain, and S K
 *    steps are added: requests whose devices overlap in any way, alternatives that need
 *    equally many, one matchAttribute or one distinctAttribute over any of them; counters
 *    of which all takers take the same.
 *  - Where it is too hopeful (several constraints that cross, counters that devices take
 *    different amounts of, shares of capacity), the choice of a request's first device is gone
 *    through once for each set of what may be taken by then, counted by class: for R requests at
 *    most R times the product of all (n_k + 1), n_k being the devices of class k, times K^c for a
 *    request of c devices. This is exponential in K alone.
 *  - Where a fault may end the search (a selector that fails for some device, a constraint on all
 *    devices), SEARCH_CAREFUL_MAX steps are added.
 *  - What is beyond ALLOCATE_STEPS_MAX ends with -ERR_TIMEOUT. It is never taken for "does not
 *    fit": the problem as such is as hard as packing, so some inputs must end so.
 */
#include "dra/allocate/allocate_impl.h"

#include "base/core/limits.h"

/* Selectors of claims whose programs surely stay while other nodes are tried. */
enum { PREPARED_SELECTORS_MAX = INVENTORY_PROGRAMS_MAX / 2 };

/* --- reading once ------------------------------------------------------------------------- */

/* Of one request or alternative: its selectors; and whether all of it is the same everywhere. */
static bool same_everywhere(const struct json *request, size_t *selectors)
{
	*selectors += json_count(json_getz(request, "selectors"));
	return !str_eqz(json_text_at(request, "allocationMode"), "All");
}

static bool can_prepare(const struct json *const *claims, size_t n)
{
	size_t selectors = 0;
	bool can = true;

	for (size_t i = 0; i < n; i++) {
		const struct json *devices = json_getz(json_getz(claims[i], "spec"), "devices");

		JSON_FOREACH (it, json_getz(devices, "requests")) {
			can &= same_everywhere(json_getz(it, "exactly"), &selectors);
			JSON_FOREACH (sub, json_getz(it, "firstAvailable"))
				can &= same_everywhere(sub, &selectors);
		}
	}
	return can && selectors <= PREPARED_SELECTORS_MAX;
}

/* One request for so many devices of a class, and not a word more. */
static bool wants_plain(const struct allocate_plan *plan)
{
	const struct allocate_request *r = plan->requests;

	return plan->fault == 0 && plan->nclaims == 1 && plan->nrequests == 1 &&
	       !plan->groups[0].alternatives && plan->claims[0].nconstraints == 0 && !plan->rules &&
	       !r->admin && r->nselectors == 0 && r->ncapacities == 0 && r->count > 0 &&
	       r->count <= ALLOCATE_RESULTS_MAX;
}

struct allocate_plan *allocate_prepare(struct inventory *inv, const struct json *const *claims,
				       size_t n, const struct allocate_options *options,
				       struct arena *a)
{
	struct allocate_plan *plan = ARENA_NEW(a, struct allocate_plan);
	const struct json **objects = ARENA_ARRAY(a, const struct json *, n);

	plan->inv = inv;
	if (options)
		plan->options = *options;
	if (n > 0)
		memcpy(objects, claims, n * sizeof(*claims));
	plan->objects = objects;
	plan->nobjects = n;
	plan->prepared = can_prepare(claims, n);
	if (!plan->prepared)
		return plan;
	plan->work = a;
	allocate_plan_begin(plan);
	inventory_settle(inv);
	plan->fault = allocate_plan_claims(plan, claims, n, &plan->why);
	plan->plain = wants_plain(plan);
	return plan;
}

/* --- on a node ------------------------------------------------------------------------------ */

enum { OPEN = -1 };

/*
 * Whether the node has what a plain request wants, as far as earlier attempts tell: 1, 0, or OPEN.
 * The search looks at devices in order, and may come upon a fault: it finds what is needed when
 * nothing is open about the devices before, and nothing when that holds for all of them.
 */
static int plain_answer(const struct allocate_plan *plan, const struct allocate_node *node)
{
	const struct inventory_slice *s = inventory_only_slice(plan->inv, node->name);
	const struct allocate_request *r = plan->requests;
	uint64_t known = 0, yes = 0, all, decided, candidates, sure;

	for (size_t i = 0; s && i < INVENTORY_MEMOS; i++) {
		if (s->memo[i].class != r->class->id)
			continue;
		known = s->memo[i].known;
		yes = s->memo[i].yes;
	}
	if (!s || s->ndevices == 0)
		return OPEN;
	if (r->class->nselectors == 0)
		known = yes = UINT64_MAX;
	all = s->ndevices > 64 ? 0 : UINT64_MAX >> (64 - s->ndevices);
	decided = s->used | (known & (~yes | s->roomy));
	candidates = known & yes & ~s->used & all;
	if (all && (decided & all) == all && __builtin_popcountll(candidates) < r->count)
		return 0;
	sure = known & yes & s->roomy & s->plain & ~s->used;
	for (int64_t i = 1; i < r->count; i++)
		sure &= sure - 1;
	/* The devices before the last one that is needed. */
	all = (sure & -sure) - 1;
	return sure && (decided & all) == all ? 1 : OPEN;
}

/* Forgets the node before. */
static int begin_node(struct allocate_plan *plan, struct error *err)
{
	if (plan->fault < 0) {
		if (err)
			*err = plan->why;
		return plan->fault;
	}
	plan->npools = plan->nslices = plan->ndevices = plan->nplaces = 0;
	plan->faulty_pool = plan->costly = false;
	allocate_plan_steps(plan);
	for (uint32_t i = 0; i < plan->nrequests; i++)
		plan->requests[i].match = NULL;
	for (uint32_t i = 0; i < plan->ngroups; i++)
		plan->chosen[i] = plan->groups[i].first;
	allocate_plan_pools(plan);
	allocate_plan_places(plan, plan->nclaims);
	return 0;
}

/* Upstream's score of a result: earlier alternatives are worth more. */
static int64_t preference(const struct allocate_plan *plan)
{
	enum { ALTERNATIVES_MAX = 8 };
	uint32_t last = ALLOCATE_NONE;
	int64_t sum = 0;

	for (uint32_t i = 0; i < plan->nplaces; i++) {
		uint32_t request = plan->places[i].request;
		const struct allocate_group *g = &plan->groups[plan->requests[request].group];

		if (request != last && g->alternatives)
			sum += ALTERNATIVES_MAX - (int64_t)(request - g->first);
		last = request;
	}
	return sum;
}

/* After begin_node() or allocate_plan_read(). */
static int decide(struct allocate_plan *plan, struct json **ret_results, struct error *err)
{
	int r = allocate_search(plan, err);

	if (r != 1 && plan->costly) {
		r = -plan->too_costly.code;
		if (err)
			*err = plan->too_costly;
	}
	if (plan->options.budget && !plan->arena)
		*plan->options.budget -= MIN(plan->spent, *plan->options.budget);
	for (uint32_t i = 0; r == 1 && plan->arena && i < plan->nclaims; i++) {
		int e = allocate_result(plan, i, &ret_results[i], err);

		r = e < 0 ? e : r;
	}
	return r;
}

static void report(const struct allocate_plan *plan, int r)
{
	if (plan->options.report)
		*plan->options.report = (struct allocate_report){
			.steps = plan->steps,
			.invalid_pool = r == 0 && plan->faulty_pool,
			.preference = r == 1 ? preference(plan) : 0,
		};
}

int allocate(struct inventory *inv, const struct allocate_node *node,
	     const struct json *const *claims, size_t n, const struct allocate_options *options,
	     struct arena *a, struct json **ret_results, struct error *err)
{
	char block[16384] UNZEROED;
	struct arena work;
	struct allocate_plan plan = { .inv = inv,
				      .node = { node->name, node->labels },
				      .options = options ? *options
							 : (struct allocate_options){ 0 },
				      .arena = a,
				      .work = &work };
	int r;

	arena_init_in(&work, SIZE_MAX, block, sizeof(block));
	r = allocate_plan_read(&plan, claims, n, err);
	if (r == 0)
		r = decide(&plan, ret_results, err);
	report(&plan, r);
	allocate_plan_release(&plan);
	arena_release(&work);
	return r;
}

int allocate_on(struct allocate_plan *plan, const struct allocate_node *node, struct arena *a,
		struct json **ret_results, struct error *err)
{
	char block[16384] UNZEROED;
	struct arena work;
	int r;

	if (!plan->prepared)
		return allocate(plan->inv, node, plan->objects, plan->nobjects, &plan->options, a,
				ret_results, err);
	r = !a && plan->plain ? plain_answer(plan, node) : OPEN;
	if (r != OPEN) {
		plan->steps = plan->nplaces = 0;
		plan->faulty_pool = false;
		report(plan, r);
		return r;
	}
	arena_init_in(&work, SIZE_MAX, block, sizeof(block));
	plan->work = &work;
	plan->arena = a;
	plan->node = (struct inventory_node){ node->name, node->labels };
	r = begin_node(plan, err);
	if (r == 0)
		r = decide(plan, ret_results, err);
	report(plan, r);
	arena_clear(&plan->scratch);
	arena_release(&work);
	return r;
}
