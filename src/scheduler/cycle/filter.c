/*
 * Which nodes fit. Begins where the last cycle ended, so that all nodes get their turn in clusters
 * so large that not all are tried.
 */
#include "base/core/mem.h"
#include "scheduler/cache/podinfo.h"
#include "scheduler/cycle/cycle_impl.h"
#include "scheduler/queue/podqueue.h"

enum {
	ENOUGH_MIN = 100, /* nodes */
	ENOUGH_MIN_PERCENT = 5,
};

size_t cycle_enough(size_t nodes, int32_t percentage)
{
	size_t enough;

	if (nodes < ENOUGH_MIN)
		return nodes;
	if (percentage == 0)
		percentage = MAX(50 - (int32_t)(nodes / 125), ENOUGH_MIN_PERCENT);
	enough = nodes * (size_t)percentage / 100;
	return MAX(enough, (size_t)ENOUGH_MIN);
}

/* --- nominated pods ------------------------------------------------------------------------ */

static bool yields_to(const struct cycle *c, const struct podinfo *nominated)
{
	return nominated->priority >= c->pod->priority && !str_eq(nominated->uid, c->pod->uid);
}

/* With the pods that are nominated for this node and go before ours, as if they were there. */
static struct verdict filter_with(struct cycle *c, const struct nodeinfo *n,
				  struct podinfo *const *nominated, size_t count)
{
	CLEANUP(cycle_free) struct cycle *copy = cycle_what_if(c);
	CLEANUP(nodeinfo_unref) struct nodeinfo *with = nodeinfo_clone(n);
	struct verdict v;

	for (size_t i = 0; i < count; i++) {
		if (!yields_to(c, nominated[i]))
			continue;
		nodeinfo_add_pod(with, nominated[i]);
		profile_add_pod(c->profile, copy, nominated[i], with);
	}
	v = profile_filter(c->profile, copy, with);
	return verdict_copy(&c->arena, &v);
}

/*
 * Two passes: the pod must fit with the nominated pods, since they go first. It must also fit
 * without them, since they may be scheduled elsewhere, and affinity to them would then no longer
 * hold.
 */
struct verdict cycle_filter_with_nominated(struct cycle *c, const struct nodeinfo *n)
{
	struct podqueue *q = c->services->queue;
	struct podinfo *const *nominated;
	size_t count = 0, at = 0;
	struct verdict v;

	nominated = q ? podqueue_nominated_on(q, n->name, &count) : NULL;
	while (at < count && !yields_to(c, nominated[at]))
		at++;
	if (at < count) {
		v = filter_with(c, n, nominated, count);
		if (v.code != VERDICT_SUCCESS)
			return v;
	}
	return profile_filter(c->profile, c, n);
}

/* --- verdicts ------------------------------------------------------------------------------ */

static struct verdict *scratch_verdicts(struct profile *p, size_t n)
{
	struct profile_scratch *s = p->scratch;

	if (s->nverdicts < n) {
		free(s->verdicts);
		s->verdicts = xcalloc(n, sizeof(*s->verdicts));
		s->nverdicts = n;
	}
	return s->verdicts;
}

void cycle_keep_verdicts(struct cycle *c)
{
	struct profile_scratch *s = c->profile->scratch;

	if (!c->diagnosis.nodes)
		return;
	s->verdicts = NULL;
	s->nverdicts = 0;
}

static void reject(struct cycle *c, size_t at, const struct verdict *v)
{
	if (!c->diagnosis.nodes)
		c->diagnosis.nodes = scratch_verdicts(c->profile, c->snapshot->n);
	c->diagnosis.nodes[at] = *v;
	if (v->plugin)
		c->diagnosis.rejectors |= UINT64_C(1) << v->plugin->at;
	if (v->code == VERDICT_PENDING)
		c->diagnosis.pending = true;
}

/* --- the search ---------------------------------------------------------------------------- */

/* Places in the snapshot's list that may be tried; NULL: all. */
struct search {
	const size_t *places;
	size_t n, enough;
};

static struct verdict try_nodes(struct cycle *c, const struct search *s, size_t start)
{
	struct nodeinfo *const *nodes = c->snapshot->nodes;
	bool filters = c->profile->filter.n > 0;

	c->feasible = arena_alloc(&c->arena, (s->enough + 1) * sizeof(struct nodeinfo *));
	c->nfeasible = 0;
	for (size_t i = 0; i < s->n && c->nfeasible < s->enough; i++) {
		size_t k = (start + i) % s->n;
		size_t at = s->places ? s->places[k] : k;
		struct verdict v = VERDICT_OK;

		if (filters)
			v = cycle_filter_with_nominated(c, nodes[at]);
		c->diagnosis.evaluated++;
		if (v.code == VERDICT_SUCCESS)
			c->feasible[c->nfeasible++] = nodes[at];
		else if (verdict_rejects(&v))
			reject(c, at, &v);
		else
			return v;
	}
	return VERDICT_OK;
}

/* Clears the verdicts of the tried nodes: a node was found, so they are not needed. */
static void wipe(struct cycle *c, const struct search *s, size_t start)
{
	struct verdict *nodes = c->diagnosis.nodes;

	for (size_t i = 0; nodes && i < c->diagnosis.evaluated; i++) {
		size_t k = (start + i) % s->n;

		nodes[s->places ? s->places[k] : k] = VERDICT_OK;
	}
	c->diagnosis.nodes = NULL;
}

/*
 * The node that preemption made room on is most likely the only one that fits. If it does not fit,
 * it is filtered again with all nodes, so an error is ignored here.
 */
static bool try_nominated(struct cycle *c)
{
	struct nodeinfo *n = snapshot_find(c->snapshot, c->pod->nominated);
	struct verdict v;

	if (!n)
		return false;
	v = cycle_filter_with_nominated(c, n);
	c->diagnosis.evaluated++;
	if (v.code != VERDICT_SUCCESS)
		return false;
	c->feasible = arena_alloc(&c->arena, sizeof(struct nodeinfo *));
	c->feasible[0] = n;
	c->nfeasible = 1;
	return true;
}

/* Finds the indexes of the nodes that pre_filter allows. Names that do not exist are skipped. */
static void restrict_search(struct cycle *c, struct search *s)
{
	size_t *places = arena_alloc(&c->arena, (c->nonly + 1) * sizeof(*places));

	s->n = 0;
	for (size_t i = 0; i < c->nonly; i++) {
		size_t at = snapshot_place(c->snapshot, c->only[i]);

		if (at < c->snapshot->n)
			places[s->n++] = at;
	}
	s->places = places;
}

/* All others did not get that far. */
static void reject_others(struct cycle *c, const struct search *s, uint64_t restricted_by)
{
	struct str names = profile_names(c->profile, restricted_by, false, &c->arena);
	struct verdict v = verdict_print(&c->arena, VERDICT_UNRESOLVABLE,
					 "node(s) didn't satisfy plugin(s) %.*s", STR_ARG(names));

	if (s->n == c->snapshot->n)
		return;
	for (size_t i = 0; i < c->snapshot->n; i++) {
		if (!c->diagnosis.nodes || c->diagnosis.nodes[i].code == VERDICT_SUCCESS)
			reject(c, i, &v);
	}
}

static struct verdict filter_find(struct cycle *c, size_t *start)
{
	struct search s = { .n = c->snapshot->n };
	uint64_t restricted_by = c->diagnosis.rejectors;
	size_t from = *start;
	struct verdict v;

	if (c->pod->nominated.n && try_nominated(c))
		return VERDICT_OK;
	if (c->restricted)
		restrict_search(c, &s);
	s.enough = c->profile->score.n ? cycle_enough(s.n, c->profile->percentage_of_nodes)
				       : MIN(s.n, (size_t)1);
	c->diagnosis.evaluated = 0;
	v = try_nodes(c, &s, from);
	*start = (from + c->diagnosis.evaluated) % c->snapshot->n;
	if (v.code != VERDICT_SUCCESS || c->nfeasible)
		wipe(c, &s, from);
	else if (c->restricted)
		reject_others(c, &s, restricted_by);
	return v;
}

struct verdict cycle_find(struct cycle *c, size_t *start)
{
	int64_t since = profile_now(c->profile);
	struct verdict v = filter_find(c, start);

	profile_took(c->profile, c, NULL, MEASURE_FILTER, v.code, since);
	return v;
}
