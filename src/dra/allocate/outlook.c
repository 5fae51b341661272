/*
 * Can the remaining requests be satisfied? Before each choice, the outlook checks relaxed problems,
 * which every solution of the real problem solves, too. If one of them has no solution, neither has
 * the real problem.
 *
 *  - Devices. Requests take devices from classes, each of which has a number of free devices.
 *    Counters limit a class, and all classes that draw on one counter together. This is a flow.
 *    Classes are ruled out if their value differs from the one that a matchAttribute is bound to,
 *    or if a distinctAttribute has used it.
 *  - matchAttribute that is not bound yet: the flow must be possible with one of the values.
 *  - distinctAttribute: requests take values, each of which can be used once. This is a flow, too.
 *  - Counters: the sum left under a name in all counter sets must cover the least that the requests
 *    take.
 *
 * A list of alternatives that is not decided yet counts with the smallest number of devices that
 * one of them needs, and may use the devices of all of them. The outlook ignores lists as values
 * and several constraints at once, and has only a rough bound for shares of capacity. The search
 * checks these exactly.
 */
#include "dra/allocate/outlook.h"

/* After this many visits (some milliseconds) the answer is "perhaps". */
enum { QUESTION_WORK_MAX = 1000000 };

/* The devices that a request or group still needs. */
struct allocate_demand {
	uint32_t first, n; /* requests; any one of them satisfies the demand */
	uint32_t need;
	bool admin; /* does not compete with others */
};

/* State of one allocate_outlook_open(). */
struct question {
	struct allocate_outlook *o;
	struct arena arena;
	char block[8192];
	uint32_t request, ordinal; /* the current request, and the next ordinal to try for it */
	uint32_t claim; /* whose constraints are partly bound */
	uint64_t work_max; /* limit of o->work at which the answer becomes "perhaps" */
	uint32_t *ahead_taken; /* by class: members from `ordinal` on that are taken */
	const struct allocate_demand *demands;
	uint32_t ndemands;
	uint32_t *bound; /* by constraint of the claim: value of a match; 0: none */
	uint32_t *room; /* by class */
	uint32_t *crowd; /* by class */
	uint32_t *crowd_room;
	uint32_t *limit; /* demand x class */
	uint32_t *need;
};

/* --- what classes can still give ---------------------------------------------------- */

static void find_rooms(struct question *q)
{
	struct allocate_outlook *o = q->o;

	q->room = ARENA_ARRAY(&q->arena, uint32_t, o->n);
	q->crowd = ARENA_ARRAY(&q->arena, uint32_t, o->n);
	q->crowd_room = ARENA_ARRAY(&q->arena, uint32_t, o->ncrowds + 1);
	for (uint32_t i = 0; i < o->n; i++) {
		q->room[i] = allocate_supply_class(o, &o->classes[i]);
		q->crowd[i] = o->classes[i].crowd;
	}
	for (uint32_t i = 0; i < o->ncrowds; i++)
		q->crowd_room[i] = allocate_supply_crowd(o, &o->crowds[i]);
	o->work += o->n;
}

/* Returns how many members of a class the current request can still try. */
static uint32_t members_ahead(const struct question *q, const struct allocate_class *c)
{
	uint32_t low = 0, high = c->n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (c->members[mid] < q->ordinal)
			low = mid + 1;
		else
			high = mid;
	}
	return c->n - low;
}

static void find_taken(struct question *q)
{
	const struct allocate_plan *plan = q->o->plan;

	q->ahead_taken = ARENA_ARRAY(&q->arena, uint32_t, q->o->n);
	for (uint32_t i = 0; i < plan->nplaces; i++) {
		uint32_t ordinal = plan->places[i].at.ordinal, k = 0;

		/* Count each device once: admin access may hold it as well. */
		while (plan->places[k].at.ordinal != ordinal)
			k++;
		if (k == i && ordinal >= q->ordinal && !plan->places[i].shared)
			q->ahead_taken[q->o->class_of[ordinal]]++;
	}
}

/* Whether the constraints of the current claim allow the class for the request. */
static bool constraints_leave(const struct question *q, const struct allocate_request *r,
			      uint32_t class)
{
	const struct allocate_plan *plan = q->o->plan;

	if (r->claim != q->claim || plan->features.list_attributes)
		return true;
	for (uint32_t i = 0; i < plan->claims[r->claim].nconstraints; i++) {
		uint32_t value = allocate_outlook_value(q->o, r->claim, i, class);

		if ((r->constraints >> i & 1) && q->bound[i] && value != q->bound[i])
			return false;
	}
	return true;
}

/*
 * Counts the devices of a class, from ordinal `from` on, that have too little left for the request.
 */
static uint32_t used_shares(const struct question *q, const struct allocate_request *r,
			    uint32_t class, uint32_t from)
{
	const struct allocate_plan *plan = q->o->plan;
	uint32_t n = 0;

	for (uint32_t i = 0; i < plan->nplaces; i++) {
		const struct allocate_at *at = &plan->places[i].at;
		uint32_t k = 0;

		if (q->o->class_of[at->ordinal] != class || at->ordinal < from)
			continue;
		while (plan->places[k].at.ordinal != at->ordinal)
			k++;
		n += k == i && !allocate_capacity_suffices(plan, r, at);
	}
	return n;
}

/* Returns the most devices that one request could take from a class. */
static uint32_t request_limit(const struct question *q, uint32_t request, uint32_t class)
{
	const struct allocate_request *r = &q->o->plan->requests[request];
	const struct allocate_class *c = &q->o->classes[class];
	bool behind = request == q->request && !r->all;
	uint32_t ahead;

	if (!allocate_outlook_fits(q->o, request, class) || !constraints_leave(q, r, class))
		return 0;
	ahead = behind ? members_ahead(q, c) : c->n;
	if (c->shareable)
		ahead -= used_shares(q, r, class, behind ? q->ordinal : 0);
	if (r->admin)
		return ahead;
	if (behind)
		ahead -= q->ahead_taken[class];
	return MIN(ahead, q->room[class]);
}

/* Whether a distinct constraint has already used the class's value. */
static bool used_up(const struct question *q, const struct allocate_request *r, uint32_t class)
{
	const struct allocate_plan *plan = q->o->plan;

	if (r->claim != q->claim || plan->features.list_attributes)
		return false;
	for (uint32_t p = allocate_claim_places(plan, r->claim); p < plan->nplaces; p++) {
		const struct allocate_place *place = &plan->places[p];
		uint64_t both = plan->requests[place->request].constraints & r->constraints;

		for (uint32_t i = 0; both >> i; i++)
			if ((both >> i & 1) && plan->claims[r->claim].constraints[i].distinct &&
			    allocate_outlook_value(q->o, r->claim, i, class) ==
				    allocate_outlook_value(q->o, r->claim, i,
							   q->o->class_of[place->at.ordinal]))
				return true;
	}
	return false;
}

/*
 * Fills the limits of a demand, and lowers its need to that of the possible request that needs the
 * fewest devices.
 */
static bool fill_demand(struct question *q, uint32_t index, struct allocate_demand *d)
{
	struct allocate_outlook *o = q->o;
	uint32_t *limit = &q->limit[(size_t)index * o->n];
	uint32_t *own = ARENA_ARRAY(&q->arena, uint32_t, o->n);
	uint32_t need = UINT32_MAX;

	for (uint32_t i = 0; i < d->n; i++) {
		const struct allocate_request *r = &o->plan->requests[d->first + i];
		uint32_t count = d->need != UINT32_MAX
					 ? d->need
					 : (uint32_t)MIN(r->count, ALLOCATE_RESULTS_MAX + 1);
		uint64_t sum = 0;

		for (uint32_t k = 0; k < o->n; k++) {
			own[k] = request_limit(q, d->first + i, k);
			if (own[k] && used_up(q, r, k))
				own[k] = 0;
			sum += own[k];
		}
		o->work += o->n;
		if (sum < count || (r->all && r->count == 0))
			continue;
		need = MIN(need, count);
		for (uint32_t k = 0; k < o->n; k++)
			limit[k] = MAX(limit[k], own[k]);
	}
	d->need = need;
	return need != UINT32_MAX;
}

static void find_bound(struct question *q)
{
	const struct allocate_plan *plan = q->o->plan;
	const struct allocate_claim *claim = &plan->claims[q->claim];

	q->bound = ARENA_ARRAY(&q->arena, uint32_t, claim->nconstraints + 1);
	for (uint32_t p = allocate_claim_places(plan, q->claim); p < plan->nplaces; p++) {
		const struct allocate_place *place = &plan->places[p];

		for (uint32_t i = 0; i < claim->nconstraints; i++)
			if (!claim->constraints[i].distinct && place->values[i])
				q->bound[i] = allocate_outlook_value(
					q->o, q->claim, i, q->o->class_of[place->at.ordinal]);
	}
}

static bool find_limits(struct question *q)
{
	struct allocate_outlook *o = q->o;

	q->limit = ARENA_ARRAY(&q->arena, uint32_t, (size_t)q->ndemands * o->n);
	q->need = ARENA_ARRAY(&q->arena, uint32_t, q->ndemands);
	for (uint32_t i = 0; i < q->ndemands; i++) {
		if (!fill_demand(q, i, &o->demands[i]))
			return false;
		/* Admin access does not compete for devices. */
		q->need[i] = q->demands[i].admin ? 0 : q->demands[i].need;
	}
	return true;
}

/* --- the questions ------------------------------------------------------------------ */

static bool devices_suffice(struct question *q, const uint32_t *limit)
{
	struct allocate_flow f = { .nsources = q->ndemands,
				   .nsinks = q->o->n,
				   .ncrowds = q->o->ncrowds,
				   .need = q->need,
				   .limit = limit,
				   .room = q->room,
				   .crowd = q->crowd,
				   .crowd_room = q->crowd_room };

	return allocate_flow_fits(&f, &q->arena, &q->o->work);
}

/* Whether the constraint applies to the demand, whichever request is chosen. */
static bool demand_under(const struct question *q, uint32_t demand, uint32_t claim,
			 uint32_t constraint)
{
	const struct allocate_demand *d = &q->demands[demand];

	for (uint32_t i = 0; i < d->n; i++) {
		const struct allocate_request *r = &q->o->plan->requests[d->first + i];

		if (r->claim != claim || !(r->constraints >> constraint & 1))
			return false;
	}
	return d->need > 0;
}

/* Whether the flow is possible if the demands under the constraint use only that value. */
static bool value_suffices(struct question *q, uint32_t claim, uint32_t constraint, uint32_t value,
			   uint32_t *limit)
{
	struct allocate_outlook *o = q->o;

	memcpy(limit, q->limit, sizeof(*limit) * q->ndemands * o->n);
	for (uint32_t i = 0; i < q->ndemands; i++) {
		if (!demand_under(q, i, claim, constraint))
			continue;
		for (uint32_t k = 0; k < o->n; k++)
			if (allocate_outlook_value(o, claim, constraint, k) != value)
				limit[(size_t)i * o->n + k] = 0;
	}
	o->work += (uint64_t)q->ndemands * o->n;
	return devices_suffice(q, limit);
}

/*
 * Counts, by value, the demands under the constraint that could each be satisfied with that value
 * alone.
 */
static uint32_t *count_served(struct question *q, uint32_t claim, uint32_t constraint,
			      uint32_t *ret_demands)
{
	struct allocate_outlook *o = q->o;
	uint32_t *served = ARENA_ARRAY(&q->arena, uint32_t, o->nvalues + 1);
	uint64_t *sum = ARENA_ARRAY(&q->arena, uint64_t, o->nvalues + 1);

	*ret_demands = 0;
	for (uint32_t i = 0; i < q->ndemands; i++) {
		if (!demand_under(q, i, claim, constraint))
			continue;
		++*ret_demands;
		memset(sum, 0, sizeof(*sum) * (o->nvalues + 1));
		for (uint32_t k = 0; k < o->n; k++) {
			uint32_t value = allocate_outlook_value(o, claim, constraint, k);
			uint32_t need = q->demands[i].need, limit = q->limit[(size_t)i * o->n + k];

			if (sum[value] < need && sum[value] + limit >= need)
				served[value]++;
			sum[value] += limit;
		}
		o->work += o->n + o->nvalues / 8;
	}
	return served;
}

static bool match_possible(struct question *q, uint32_t claim, uint32_t constraint)
{
	struct allocate_outlook *o = q->o;
	uint32_t *limit, *served, demands;

	if (claim == q->claim && q->bound[constraint])
		return true;
	served = count_served(q, claim, constraint, &demands);
	if (demands == 0)
		return true;
	limit = arena_alloc(&q->arena, sizeof(*limit) * q->ndemands * o->n);
	for (uint32_t k = 0; k < o->n; k++) {
		uint32_t value = allocate_outlook_value(o, claim, constraint, k);

		if (value == 0 || served[value] < demands)
			continue;
		/* Try each value once. */
		served[value] = 0;
		if (o->work > q->work_max || value_suffices(q, claim, constraint, value, limit))
			return true;
	}
	return false;
}

/* Numbers the distinct values of the classes in order of appearance. Returns how many there are. */
static uint32_t number_values(struct question *q, uint32_t claim, uint32_t constraint,
			      uint32_t *index)
{
	struct allocate_outlook *o = q->o;
	uint32_t *seen = ARENA_ARRAY(&q->arena, uint32_t, o->nvalues + 1);
	uint32_t n = 0;

	for (uint32_t k = 0; k < o->n; k++) {
		uint32_t *number = &seen[allocate_outlook_value(o, claim, constraint, k)];

		if (*number == 0)
			*number = ++n;
		index[k] = *number - 1;
	}
	return n;
}

static bool distinct_possible(struct question *q, uint32_t claim, uint32_t constraint)
{
	struct allocate_outlook *o = q->o;
	uint32_t *index = ARENA_ARRAY(&q->arena, uint32_t, o->n);
	uint32_t n = number_values(q, claim, constraint, index);
	uint32_t *limit = ARENA_ARRAY(&q->arena, uint32_t, (size_t)q->ndemands * n);
	uint32_t *need = ARENA_ARRAY(&q->arena, uint32_t, q->ndemands);
	uint32_t *room = ARENA_ARRAY(&q->arena, uint32_t, n);
	uint32_t *crowd = arena_alloc(&q->arena, sizeof(*crowd) * n);
	struct allocate_flow f = { .nsources = q->ndemands,
				   .nsinks = n,
				   .need = need,
				   .limit = limit,
				   .room = room,
				   .crowd = crowd };

	memset(crowd, 0xff, sizeof(*crowd) * n);
	for (uint32_t i = 0; i < n; i++)
		room[i] = 1;
	for (uint32_t i = 0; i < q->ndemands; i++) {
		if (!demand_under(q, i, claim, constraint))
			continue;
		need[i] = q->demands[i].need;
		for (uint32_t k = 0; k < o->n; k++)
			if (q->limit[(size_t)i * o->n + k])
				limit[(size_t)i * n + index[k]] = 1;
	}
	return allocate_flow_fits(&f, &q->arena, &o->work);
}

static bool constraints_possible(struct question *q)
{
	const struct allocate_plan *plan = q->o->plan;

	if (plan->features.list_attributes)
		return true;
	for (uint32_t c = q->claim; c < plan->nclaims; c++)
		for (uint32_t i = 0; i < plan->claims[c].nconstraints; i++)
			if (plan->claims[c].constraints[i].distinct ? !distinct_possible(q, c, i)
								    : !match_possible(q, c, i))
				return false;
	return true;
}

static bool counters_possible(const struct question *q)
{
	const struct allocate_outlook *o = q->o;

	for (uint32_t i = 0; i < o->nfamilies; i++) {
		__int128 wanted = 0;

		for (uint32_t k = 0; k < q->ndemands; k++) {
			const struct allocate_demand *d = &q->demands[k];
			__int128 least = -1;

			for (uint32_t r = d->first; r < d->first + d->n; r++)
				least = least < 0 ? o->families[i].least[r]
						  : MIN(least, o->families[i].least[r]);
			/* This cannot overflow: amounts are capped at ALLOCATE_AMOUNT_MAX. */
			wanted += (__int128)((unsigned __int128)MIN(least, ALLOCATE_AMOUNT_MAX) *
					     d->need);
		}
		if (wanted > 0 && wanted < ALLOCATE_AMOUNT_MAX &&
		    wanted > allocate_supply_family(o->plan, o->families[i].name))
			return false;
	}
	return true;
}

void allocate_outlook_init(struct allocate_outlook *o, struct allocate_plan *plan)
{
	*o = (struct allocate_outlook){ .plan = plan };
	allocate_classes_init(o);
	allocate_supply_init(o);
	o->demands = ARENA_ARRAY(plan->work, struct allocate_demand, plan->ngroups + 1);
}

/* --- asking ------------------------------------------------------------------------- */

static void add_demand(struct question *q, uint32_t first, uint32_t n, uint32_t need)
{
	struct allocate_demand *d = &q->o->demands[q->ndemands++];

	*d = (struct allocate_demand){ .first = first, .n = n, .need = need };
	/* Alternatives never have admin access. */
	d->admin = q->o->plan->requests[first].admin;
}

bool allocate_outlook_open(struct allocate_outlook *o, uint32_t request, uint32_t missing,
			   uint32_t ordinal, uint32_t group)
{
	const struct allocate_plan *plan = o->plan;
	struct question q = { .o = o, .request = request, .ordinal = ordinal };
	bool open;

	q.demands = o->demands;
	if (request != ALLOCATE_NONE) {
		q.claim = plan->requests[request].claim;
		add_demand(&q, request, 1, missing);
	} else if (group < plan->ngroups) {
		q.claim = plan->groups[group].claim;
	} else {
		return true;
	}
	for (; group < plan->ngroups; group++)
		add_demand(&q, plan->groups[group].first, plan->groups[group].n, UINT32_MAX);
	arena_init_in(&q.arena, SIZE_MAX, q.block, sizeof(q.block));
	q.work_max = o->work + QUESTION_WORK_MAX;
	find_rooms(&q);
	find_taken(&q);
	find_bound(&q);
	open = find_limits(&q) && counters_possible(&q) && devices_suffice(&q, q.limit) &&
	       constraints_possible(&q);
	arena_release(&q.arena);
	return open;
}
