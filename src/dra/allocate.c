/*
 * Which devices claims get: read what is wanted and what there is, search, write it down.
 *
 * How long a search may take. Let S be the devices that claims take together (at most 32 each),
 * N the devices that the node reaches, and K the number of classes of them: devices that differ in
 * something that these claims mind (allocate_classes.c); N of one kind make K = 1. A step is
 * one device tried.
 *
 *  - What fits at the first attempt takes S steps, and one more for each device that is refused on
 *    the way for counters, constraints or shares: at most S N. Selectors are evaluated only for
 *    devices that come up, once each.
 *  - Otherwise each choice tries at most K devices, and is only made while the outlook
 *    (allocate_outlook.c) is open. Where that tells the truth, no choice is in vain, and S K
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
#include "dra/allocate_impl.h"

int allocate(struct inventory *inv, const struct allocate_node *node,
	     const struct json *const *claims, size_t n, const struct allocate_options *options,
	     struct arena *a, struct json **ret_results, struct error *err)
{
	char block[16384];
	struct arena work;
	struct allocate_plan plan = { .inv = inv,
				      .node = { node->name, node->labels },
				      .options = options,
				      .arena = a,
				      .work = &work };
	int r;

	arena_init_in(&work, SIZE_MAX, block, sizeof(block));
	r = allocate_plan_read(&plan, claims, n, err);
	if (r == 0)
		r = allocate_search(&plan, err);
	for (uint32_t i = 0; r == 1 && i < n; i++) {
		int e = allocate_result(&plan, i, &ret_results[i], err);

		r = e < 0 ? e : r;
	}
	if (options && options->report)
		*options->report = (struct allocate_report){
			.steps = plan.steps, .invalid_pool = r == 0 && plan.faulty_pool
		};
	allocate_plan_release(&plan);
	arena_release(&work);
	return r;
}
