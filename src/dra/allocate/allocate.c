/*
 * The allocator: reads requests and devices, searches, and builds the results.
 *
 * Bound on the time of a search. Let S be the number of devices that all claims take (at most 32
 * each), N the number of devices that the node reaches, and K the number of device classes. Devices
 * of one class are interchangeable for these claims (allocate/classes.c); N identical devices make
 * K = 1. One step tries one device.
 *
 *  - Claims that fit at the first attempt take S steps, plus one step for each device that
 *    counters, constraints or shares rule out: at most S N. Selectors are evaluated only for
 *    devices that are tried, once each.
 *  - Otherwise each choice tries at most K devices, and only while the outlook (allocate/outlook.c)
 *    is open. In the following cases the outlook is exact, no choice is in vain, and S K steps are
 *    added. Devices of requests may overlap in any way, alternatives must need equally many
 *    devices, and there may be one matchAttribute or one distinctAttribute. Counters must be
 *    consumed in equal amounts.
 *  - The outlook can be too optimistic: several crossing constraints, counters of which devices
 *    take different amounts, shares of capacity. Then the choice of a request's first device is
 *    tried once for each combination of devices taken before it, counted by class. For R requests
 *    these are at most R times the product of all (n_k + 1), where class k has n_k devices, times
 *    K^c for a request of c devices. This is exponential in K alone.
 *  - If an error may end the search (a selector that fails for some device, or a constraint on a
 *    request of mode All), SEARCH_CAREFUL_MAX steps are added.
 *  - A search that exceeds ALLOCATE_STEPS_MAX returns -ERR_TIMEOUT, never "does not fit". The
 *    problem is as hard as bin packing, so some inputs must end this way.
 */
#include "dra/allocate/allocate_impl.h"
#include "dra/dra_limits.h"

/* With at most this many selectors, the programs stay cached while other nodes are tried. */
enum { PREPARED_SELECTORS_MAX = INVENTORY_PROGRAMS_MAX / 2 };

/* --- reading once ------------------------------------------------------------------------- */

/*
 * Adds the number of selectors of a request or alternative. Returns whether it reads the same on
 * every node, which is not so for mode All.
 */
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

/* The claim has one request for a number of devices of a class, and nothing else. */
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
 * Answers a plain request from cached selector results, without a search: 1 if it fits, 0 if not,
 * or OPEN. The search tries devices in order and may meet a failing selector. So the answer is 1
 * only if all devices up to the last one needed are decided, and 0 only if all devices are.
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
	/* Mask of the devices before the last one that is needed. */
	all = (sure & -sure) - 1;
	return sure && (decided & all) == all ? 1 : OPEN;
}

/* Resets the plan for the next node. */
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

/* Searches and builds the results. Call it after begin_node() or allocate_plan_read(). */
static int allocate_decide(struct allocate_plan *plan, struct json **ret_results, struct error *err)
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

static void dra_allocate_report(const struct allocate_plan *plan, int r)
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
		r = allocate_decide(&plan, ret_results, err);
	dra_allocate_report(&plan, r);
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
		dra_allocate_report(plan, r);
		return r;
	}
	arena_init_in(&work, SIZE_MAX, block, sizeof(block));
	plan->work = &work;
	plan->arena = a;
	plan->node = (struct inventory_node){ node->name, node->labels };
	r = begin_node(plan, err);
	if (r == 0)
		r = allocate_decide(plan, ret_results, err);
	dra_allocate_report(plan, r);
	arena_clear(&plan->scratch);
	arena_release(&work);
	return r;
}
