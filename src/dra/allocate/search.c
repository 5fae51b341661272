/*
 * The search keeps a stack of choices. A choice is for one device of a request, or for one
 * alternative of a list. The search pushes the next choice, or advances the last one, until all
 * choices are made or the first has no option left. Devices of one request are taken in ascending
 * order, so that it tries sets, not permutations.
 *
 * It begins like upstream: it tries devices one by one, and evaluates selectors when a device is
 * tried. This suffices for most allocations. Only if it has to give back a device does the search
 * start again with an outlook (allocate/outlook.h):
 *
 *  - for each choice, only the first free device of each class is tried;
 *  - if the outlook says that the rest cannot be satisfied, the choice is skipped;
 *  - if the choice of a request's first device failed, the search remembers the set of devices
 *    taken before it, by class, since the rest depends on nothing else.
 *
 * All three only skip branches without a result, so the first result is the same as upstream's. But
 * they may skip an error that would end upstream's search: a failing selector, or a constraint that
 * some device of a request of mode All does not meet. If there is such a selector or constraint, a
 * second part without the outlook (and, in the latter case, without classes) looks for the error
 * for SEARCH_CAREFUL_MAX steps. If it is not found by then, it is ignored.
 *
 * If a claim exceeds its maximum of devices, the search goes back to the nearest choice of
 * alternatives, since choosing other devices would not make it fewer.
 */
#include "api/api_limits.h"
#include "dra/allocate/outlook.h"

#include <inttypes.h>

enum {
	/* This many visits of the outlook count as one step of the search. */
	WORK_PER_STEP = 256,
	/* Limits of remembered failed states. States beyond them are searched again. */
	SEARCH_STATES_MAX = 200000,
	SEARCH_STATES_BYTES = 32 * 1024 * 1024,
};

/* Result of pushing the next choice. */
enum outcome {
	FAILED,
	EXCEEDED, /* the claim would have too many devices */
	PUSHED, /* a new choice is on the stack */
	DONE, /* nothing is left to choose */
};

enum { UNDECIDED = 2 };

/* Step limit of the part that looks for upstream's errors: some milliseconds. */
enum { SEARCH_CAREFUL_MAX = 20000 };

struct choice {
	uint32_t group;
	uint32_t request; /* ALLOCATE_NONE: among alternatives */
	uint32_t slot; /* index of the device in its request, or the next alternative */
	uint32_t next; /* ordinal, or index of the candidate, that is tried next */
	uint32_t place; /* plan->nplaces below it */
	bool taken; /* it holds a device */
	bool other; /* alternatives: one failed for another reason than the limit */
	/* Bitmap of classes tried at this depth; cleared when the choice is pushed. */
	uint64_t *tried;
	struct str key; /* key of the state to remember if the choice fails; or empty */
};

struct search {
	struct allocate_plan *plan;
	struct allocate_outlook *outlook; /* NULL in the first part */
	bool ask; /* check the outlook before each choice */
	bool alike; /* devices of one class are interchangeable */
	uint64_t until; /* step limit of this part; 0: only the limit of the whole search */
	struct choice *stack;
	uint32_t n;
	uint32_t exceeded; /* the last claim that had too many devices */
	bool admin; /* some request has admin access */
	struct map failed; /* states */
	struct arena states;
	struct buf key;
};

/* --- states that failed ------------------------------------------------------------- */

static int compare_entries(const void *a, const void *b)
{
	return memcmp(a, b, 3 * sizeof(uint64_t));
}

/*
 * Returns a key of everything taken so far that matters for the rest: the class for whole devices,
 * device and request for shares, and for devices of this claim the constraints that apply.
 */
static struct str state_key(struct search *s, uint32_t group)
{
	struct allocate_plan *plan = s->plan;
	uint32_t own = allocate_claim_places(plan, plan->groups[group].claim);
	uint32_t place[2] = { group, plan->nplaces - own };
	struct {
		uint64_t what, how, which;
	} entry;

	buf_clear(&s->key);
	for (uint32_t i = 0; i < plan->nplaces; i++) {
		const struct allocate_place *p = &plan->places[i];

		entry.what = p->shared ? (UINT64_C(1) << 32) + p->at.ordinal
				       : s->outlook->class_of[p->at.ordinal];
		/* Admin access must know which devices belong to this claim. */
		entry.how = i >= own   ? plan->requests[p->request].constraints
			    : s->admin ? UINT64_MAX
				       : 0;
		entry.which = p->shared ? p->request : UINT64_MAX;
		(void)buf_add(&s->key, &entry, sizeof(entry));
	}
	if (plan->nplaces)
		qsort(s->key.p, plan->nplaces, sizeof(entry), compare_entries);
	(void)buf_add(&s->key, place, sizeof(place));
	return buf_str(&s->key);
}

static void search_remember(struct search *s, const struct choice *c)
{
	if (c->key.p)
		(void)map_put(&s->failed, c->key, s);
}

/* --- making choices ----------------------------------------------------------------- */

static struct choice *search_push(struct search *s, uint32_t group, uint32_t request, uint32_t slot)
{
	struct choice *c = &s->stack[s->n++];
	uint64_t *tried = c->tried;
	size_t words = s->outlook ? (s->outlook->n + 63) / 64 : 0;

	if (!tried && words)
		tried = arena_alloc(s->plan->work, sizeof(*tried) * words);
	if (words)
		memset(tried, 0, sizeof(*tried) * words);
	*c = (struct choice){ .group = group,
			      .request = request,
			      .slot = slot,
			      .place = s->plan->nplaces,
			      .tried = tried };
	return c;
}

/*
 * Whether the state at the beginning of a group is known to fail. If not, stores its key in the
 * choice.
 */
static bool known_to_fail(struct search *s, struct choice *c)
{
	struct str key = state_key(s, c->group);

	if (map_get(&s->failed, key))
		return true;
	if (s->failed.n < SEARCH_STATES_MAX && s->states.used < SEARCH_STATES_BYTES)
		c->key = arena_str(&s->states, key);
	return false;
}

/* Pushes the choice of a request's device. */
static enum outcome choose_device(struct search *s, uint32_t group, uint32_t request, uint32_t slot,
				  uint32_t next)
{
	struct allocate_plan *plan = s->plan;
	const struct allocate_request *r = &plan->requests[request];
	uint32_t own = plan->nplaces - allocate_claim_places(plan, r->claim);
	struct choice *c;

	if (r->count - (int64_t)slot > ALLOCATE_RESULTS_MAX - (int64_t)own) {
		s->exceeded = r->claim;
		return EXCEEDED;
	}
	if (s->ask && !allocate_outlook_open(s->outlook, request, (uint32_t)(r->count - slot),
					     r->all ? 0 : next, group + 1))
		return FAILED;
	c = search_push(s, group, request, slot);
	c->next = r->all ? 0 : next;
	if (s->alike && slot == 0 && !plan->groups[group].alternatives && known_to_fail(s, c)) {
		s->n--;
		return FAILED;
	}
	return PUSHED;
}

/* Pushes the choice among alternatives. */
static enum outcome choose_alternative(struct search *s, uint32_t group)
{
	struct choice *c;

	if (s->ask && !allocate_outlook_open(s->outlook, ALLOCATE_NONE, 0, 0, group))
		return FAILED;
	c = search_push(s, group, ALLOCATE_NONE, 0);
	if (s->alike && known_to_fail(s, c)) {
		s->n--;
		return FAILED;
	}
	return PUSHED;
}

static enum outcome begin_request(struct search *s, uint32_t group, uint32_t request);

/* Continues with the group, or with the next group that needs a device. */
static enum outcome begin_group(struct search *s, uint32_t group)
{
	struct allocate_plan *plan = s->plan;

	while (group < plan->ngroups) {
		const struct allocate_group *g = &plan->groups[group];
		const struct allocate_request *r = &plan->requests[g->first];

		if (g->alternatives)
			return choose_alternative(s, group);
		if (r->count > 0 || r->all)
			return begin_request(s, group, g->first);
		group++;
	}
	return DONE;
}

static enum outcome begin_request(struct search *s, uint32_t group, uint32_t request)
{
	const struct allocate_request *r = &s->plan->requests[request];

	if (r->all && r->count == 0)
		return FAILED;
	if (r->count <= 0)
		return begin_group(s, group + 1);
	return choose_device(s, group, request, 0, 0);
}

/* --- trying devices ----------------------------------------------------------------- */

static int count_step(struct search *s, struct error *err)
{
	struct allocate_plan *plan = s->plan;
	uint64_t work = s->outlook ? s->outlook->work / WORK_PER_STEP : 0;

	work += ++plan->steps;
	plan->spent = MAX(plan->spent, work);
	if (work <= plan->steps_max)
		return 0;
	return error_set(err, ERR_TIMEOUT, "gave up after %" PRIu64 " steps", plan->steps);
}

static int search_take(struct search *s, struct choice *c, const struct allocate_at *at,
		       struct error *err)
{
	int r = count_step(s, err);

	if (r == 0)
		r = allocate_take(s->plan, c->request, at, err);
	if (r <= 0)
		return r;
	c->taken = true;
	if (s->outlook)
		allocate_outlook_taken(s->outlook, at->ordinal);
	return 1;
}

static int try_all(struct search *s, struct choice *c, struct error *err)
{
	const struct allocate_request *r = &s->plan->requests[c->request];
	struct allocate_at at;

	/* Mode All has exactly one device for each slot. */
	if (c->next == ALLOCATE_NONE)
		return 0;
	c->next = ALLOCATE_NONE;
	at = allocate_at(s->plan, r->devices[c->slot]);
	return search_take(s, c, &at, err);
}

/* allocate_held() for the device that allocate_walk_next() has returned. */
static bool passed_over(const struct allocate_plan *plan, const struct allocate_request *r,
			const struct allocate_walk *w)
{
	return !r->admin && inventory_slice_uses(plan->slices[w->slice].slice, w->index - 1);
}

/* First part: tries devices in order. */
static int try_next(struct search *s, struct choice *c, struct error *err)
{
	struct allocate_plan *plan = s->plan;
	struct allocate_request *r = &plan->requests[c->request];
	struct allocate_walk w = allocate_walk_from(plan, c->next);
	struct allocate_at at;

	while (allocate_walk_next(plan, &w, &at)) {
		int m;

		if (passed_over(plan, r, &w) ||
		    (plan->taken[at.ordinal] && !r->admin && !allocate_shareable(plan, at.device)))
			continue;
		m = allocate_match(plan, r, &at, err);
		if (m == ALLOCATE_YES)
			m = search_take(s, c, &at, err);
		else if (m > 0)
			continue;
		c->next = at.ordinal + 1;
		if (m != 0)
			return m;
	}
	return 0;
}

/* Second part: tries candidates, one of each class. */
static int try_candidates(struct search *s, struct choice *c, struct error *err)
{
	struct allocate_plan *plan = s->plan;
	struct allocate_outlook *o = s->outlook;
	const uint32_t *v = o->candidates[c->request];
	uint32_t n = o->ncandidates[c->request], low = 0, high = n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (v[mid] < c->next)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < n; low++) {
		struct allocate_at at;
		uint32_t class = o->class_of[v[low]];
		uint64_t bit = UINT64_C(1) << (class % 64);
		int m;

		if (!plan->taken[v[low]]) {
			if (s->alike && (c->tried[class / 64] & bit))
				continue;
			c->tried[class / 64] |= bit;
		} else if (!plan->requests[c->request].admin && !o->classes[class].shareable) {
			continue;
		}
		at = allocate_at(plan, v[low]);
		m = allocate_match(plan, &plan->requests[c->request], &at, err);
		if (m > 0)
			m = search_take(s, c, &at, err);
		c->next = v[low] + 1;
		if (m != 0)
			return m;
	}
	return 0;
}

/* Gives back what the choice has taken. */
static void undo(struct search *s, struct choice *c)
{
	uint32_t ordinal;

	if (!c->taken)
		return;
	ordinal = s->plan->places[s->plan->nplaces - 1].at.ordinal;
	allocate_untake(s->plan);
	c->taken = false;
	if (s->outlook)
		allocate_outlook_untaken(s->outlook, ordinal);
}

/* --- the search --------------------------------------------------------------------- */

/* Takes the next option of the choice on top. Returns 1, or 0 if no option is left, or an error. */
static int next_option(struct search *s, struct choice *c, struct error *err)
{
	const struct allocate_group *g = &s->plan->groups[c->group];

	if (c->request == ALLOCATE_NONE) {
		if (c->slot == g->n)
			return 0;
		s->plan->chosen[c->group] = g->first + c->slot++;
		return 1;
	}
	undo(s, c);
	if (s->plan->requests[c->request].all)
		return try_all(s, c, err);
	return s->outlook ? try_candidates(s, c, err) : try_next(s, c, err);
}

/* Pushes the choice that follows the option just taken. */
static enum outcome search_follow(struct search *s, const struct choice *c)
{
	const struct allocate_request *r;

	if (c->request == ALLOCATE_NONE)
		return begin_request(s, c->group, s->plan->chosen[c->group]);
	r = &s->plan->requests[c->request];
	if (c->slot + 1 < r->count)
		return choose_device(s, c->group, c->request, c->slot + 1, c->next);
	return begin_group(s, c->group + 1);
}

/*
 * Drops the choice on top, which has no option left. Returns FAILED or EXCEEDED for the choice
 * below.
 */
static enum outcome search_drop(struct search *s)
{
	struct choice *c = &s->stack[s->n - 1];
	bool limit = c->request == ALLOCATE_NONE && !c->other;

	undo(s, c);
	s->n--;
	if (limit) {
		s->exceeded = s->plan->groups[c->group].claim;
		return EXCEEDED;
	}
	search_remember(s, c);
	return FAILED;
}

/*
 * Called when the rest has failed after the choices on the stack. Drops choices whose other options
 * could not help. Returns true if the choice on top may try another option.
 */
static bool retreat(struct search *s, enum outcome why)
{
	for (; s->n > 0; s->n--) {
		struct choice *c = &s->stack[s->n - 1];

		/*
		 * Each claim has its own limit, so for another claim this is an ordinary failure.
		 */
		if (s->plan->groups[c->group].claim != s->exceeded)
			why = FAILED;
		if (c->request == ALLOCATE_NONE)
			c->other |= why == FAILED;
		if (c->request == ALLOCATE_NONE || why == FAILED)
			return true;
		undo(s, c);
	}
	return false;
}

/* Whether the last choice has taken a device that would have to be given back. */
static bool in_the_way(const struct search *s)
{
	const struct choice *c = &s->stack[s->n - 1];

	return c->taken && !s->plan->requests[c->request].all;
}

/* Returns 1 if found, 0 if there is no result, an error, or UNDECIDED if another part is needed. */
static int search_run(struct search *s, struct error *err)
{
	enum outcome e = begin_group(s, 0);

	while (e != DONE) {
		int r;

		if (e != PUSHED && !retreat(s, e))
			return 0;
		if (!s->outlook ? in_the_way(s) : s->until && s->plan->steps > s->until)
			return UNDECIDED;
		r = next_option(s, &s->stack[s->n - 1], err);
		if (r < 0)
			return r;
		e = r ? search_follow(s, &s->stack[s->n - 1]) : search_drop(s);
	}
	return 1;
}

/* Undoes all choices. */
static void search_give_up(struct search *s)
{
	for (; s->n > 0; s->n--)
		undo(s, &s->stack[s->n - 1]);
}

static int run_with_outlook(struct search *s, struct error *err)
{
	struct allocate_outlook outlook;
	int r = UNDECIDED;

	search_give_up(s);
	allocate_outlook_init(&outlook, s->plan);
	for (uint32_t i = 0; i < s->plan->nrequests; i++)
		s->admin |= s->plan->requests[i].admin;
	s->outlook = &outlook;
	s->alike = outlook.alike;
	if (!outlook.sure) {
		s->until = s->plan->steps + SEARCH_CAREFUL_MAX;
		r = search_run(s, err);
		s->until = 0;
	}
	if (r == UNDECIDED) {
		search_give_up(s);
		s->ask = s->alike = true;
		r = search_run(s, err);
	}
	s->outlook = NULL;
	return r;
}

int allocate_search(struct allocate_plan *plan, struct error *err)
{
	struct search s = { .plan = plan, .key = BUF_INIT(REQUEST_WORK_MAX) };
	int r;

	s.stack = ARENA_ARRAY(plan->work, struct choice,
			      plan->nclaims * ALLOCATE_RESULTS_MAX + plan->ngroups + 1);
	map_init_seeded(&s.failed, 1);
	arena_init(&s.states, SEARCH_STATES_BYTES);
	r = search_run(&s, err);
	if (r == UNDECIDED)
		r = run_with_outlook(&s, err);
	map_release(&s.failed);
	arena_release(&s.states);
	buf_release(&s.key);
	return r;
}
