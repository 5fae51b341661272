/*
 * Works like upstream's preemption evaluator, one node after the other. Nodes without a pod of
 * lower priority are skipped before anything is copied. If all pods have equal priority, this skips
 * every node.
 */
#include "scheduler/preemption/preemption.h"

#include <stdlib.h>

#include "base/json/json.h"
#include "client/informer/cached.h"
#include "scheduler/cache/podinfo.h"
#include "scheduler/framework/profile.h"
#include "scheduler/scheduler_limits.h"

static const struct str no_victims = { "No preemption victims found for incoming pod", 44 };
static const struct str no_help = { "Preemption is not helpful for scheduling", 40 };

/* A pod that has not started yet counts as started now: later than any other. */
static int64_t start_of(const struct podinfo *p)
{
	return p->started_s ? p->started_s : INT64_MAX;
}

/* Whether a is more important than b: by priority, then by earlier start. */
static bool preemption_more_important(const struct podinfo *a, const struct podinfo *b)
{
	if (a->priority != b->priority)
		return a->priority > b->priority;
	return start_of(a) < start_of(b);
}

/* --- one node -------------------------------------------------------------------------------- */

struct victim {
	struct podinfo *pod;
	size_t at; /* on the node: equals keep that order */
	bool violates, stays;
};

static int by_importance(const void *a, const void *b)
{
	const struct victim *x = a, *y = b;

	if (preemption_more_important(x->pod, y->pod))
		return -1;
	if (preemption_more_important(y->pod, x->pod))
		return 1;
	return x->at < y->at ? -1 : 1;
}

static size_t lower_pods(const struct cycle *c, const struct nodeinfo *n, struct victim *out)
{
	size_t found = 0;

	for (size_t i = 0; i < n->pods.n; i++) {
		if (n->pods.v[i]->priority >= c->pod->priority)
			continue;
		if (out)
			out[found] = (struct victim){ .pod = n->pods.v[i], .at = i };
		found++;
	}
	return found;
}

/* The node and the cycle as if some pods were gone. */
struct what_if {
	struct cycle *cycle;
	struct nodeinfo *node;
};

static void take_away(struct what_if *w, const struct podinfo *p)
{
	(void)nodeinfo_remove_pod(w->node, p);
	profile_remove_pod(w->cycle->profile, w->cycle, p, w->node);
}

static void let_in(struct what_if *w, struct podinfo *p)
{
	nodeinfo_add_pod(w->node, p);
	profile_add_pod(w->cycle->profile, w->cycle, p, w->node);
}

static void reprieve(struct what_if *w, struct victim *v)
{
	let_in(w, v->pod);
	v->stays = cycle_filter_with_nominated(w->cycle, w->node).code == VERDICT_SUCCESS;
	if (!v->stays)
		take_away(w, v->pod);
}

static void reprieve_all(struct what_if *w, struct victim *v, size_t n, bool violating)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].violates == violating)
			reprieve(w, &v[i]);
}

static struct verdict try_without(struct what_if *w, struct victim *v, size_t n,
				  struct preemption_budgets *budgets)
{
	struct verdict fits;

	for (size_t i = 0; i < n; i++)
		take_away(w, v[i].pod);
	fits = cycle_filter_with_nominated(w->cycle, w->node);
	if (fits.code != VERDICT_SUCCESS)
		return fits;
	qsort(v, n, sizeof(*v), by_importance);
	preemption_budgets_reset(budgets);
	for (size_t i = 0; i < n; i++)
		v[i].violates = preemption_violates(budgets, v[i].pod);
	reprieve_all(w, v, n, true);
	reprieve_all(w, v, n, false);
	return VERDICT_OK;
}

static void keep_victims(struct arena *a, const struct nodeinfo *node, const struct victim *v,
			 size_t n, struct preemption_choice *ret_choice)
{
	struct preemption_choice choice = { .node = node };

	choice.victims = arena_alloc(a, (n + 1) * sizeof(struct podinfo *));
	for (size_t i = 0; i < n; i++) {
		if (v[i].stays)
			continue;
		choice.victims[choice.n++] = v[i].pod;
		choice.violations += v[i].violates;
	}
	*ret_choice = choice;
}

static struct verdict preemption_on_node(struct cycle *c, const struct nodeinfo *n,
					 struct preemption_budgets *budgets,
					 struct preemption_choice *ret_choice)
{
	CLEANUP(cycle_free) struct cycle *copy = NULL;
	CLEANUP(nodeinfo_unref) struct nodeinfo *node = NULL;
	size_t lower = lower_pods(c, n, NULL);
	struct victim *v;
	struct verdict fits;

	if (!lower)
		return verdict_of(&c->arena, VERDICT_UNRESOLVABLE, no_victims);
	copy = cycle_what_if(c);
	node = nodeinfo_clone(n);
	v = ARENA_ARRAY(&copy->arena, struct victim, lower);
	(void)lower_pods(c, n, v);
	fits = try_without(&(struct what_if){ copy, node }, v, lower, budgets);
	if (fits.code != VERDICT_SUCCESS)
		return verdict_copy(&c->arena, &fits);
	keep_victims(&c->arena, n, v, lower, ret_choice);
	if (!ret_choice->n)
		return verdict_print(&c->arena, VERDICT_ERROR,
				     "expected at least one victim pod on node \"%.*s\"",
				     STR_ARG(n->name));
	return VERDICT_OK;
}

/* --- the choice ------------------------------------------------------------------------------ */

static int64_t sum_of_priorities(const struct preemption_choice *c)
{
	int64_t sum = 0;

	/*
	 * Add an offset to make priorities positive: several pods of negative priority must not
	 * count less than one.
	 */
	for (size_t i = 0; i < c->n; i++)
		sum += (int64_t)c->victims[i]->priority + INT32_MAX + 1;
	return sum;
}

static int64_t earliest_start(const struct preemption_choice *c)
{
	int64_t earliest = INT64_MAX;

	for (size_t i = 0; i < c->n && c->victims[i]->priority == c->victims[0]->priority; i++)
		earliest = MIN(earliest, start_of(c->victims[i]));
	return earliest;
}

static bool better(const struct preemption_choice *a, const struct preemption_choice *b)
{
	int64_t x, y;

	if (a->violations != b->violations)
		return a->violations < b->violations;
	if (a->victims[0]->priority != b->victims[0]->priority)
		return a->victims[0]->priority < b->victims[0]->priority;
	x = sum_of_priorities(a);
	y = sum_of_priorities(b);
	if (x != y)
		return x < y;
	if (a->n != b->n)
		return a->n < b->n;
	return earliest_start(a) > earliest_start(b);
}

static const struct preemption_choice *preemption_pick(const struct preemption_choice *v, size_t n)
{
	const struct preemption_choice *best = n ? v : NULL;

	for (size_t i = 1; i < n; i++)
		if (better(&v[i], best))
			best = &v[i];
	return best;
}

/* --- all nodes ------------------------------------------------------------------------------- */

static bool terminating_by_preemption(const struct podinfo *p)
{
	const struct json *condition;
	struct json *tree;
	struct arena a;
	bool answer = false;

	if (!p->deleting || !p->object)
		return false;
	arena_init(&a, SIZE_MAX);
	if (cached_tree(p->object, &a, &tree, NULL) == 0) {
		condition = json_find(json_getz(json_getz(tree, "status"), "conditions"), "type",
				      STR("DisruptionTarget"));
		answer = str_eqz(json_text_at(condition, "status"), "True") &&
			 str_eqz(json_text_at(condition, "reason"), "PreemptionByScheduler");
	}
	arena_release(&a);
	return answer;
}

static const struct verdict *verdict_at(const struct cycle *c, size_t at)
{
	if (c->diagnosis.pre_filter.code != VERDICT_SUCCESS)
		return &c->diagnosis.pre_filter;
	return c->diagnosis.nodes ? &c->diagnosis.nodes[at] : NULL;
}

/* Whether the pod may preempt others at all, now; else why not. */
static bool eligible(const struct preemption *p, struct str *ret_why)
{
	const struct snapshot *s = p->cycle->snapshot;
	const struct verdict *v;
	size_t at;

	if (p->cycle->pod->never_preempts) {
		*ret_why = STR("not eligible due to preemptionPolicy=Never.");
		return false;
	}
	at = p->nominated.n ? snapshot_place(s, p->nominated) : s->n;
	v = at < s->n ? verdict_at(p->cycle, at) : NULL;
	if (at == s->n || (v && v->code == VERDICT_UNRESOLVABLE))
		return true;
	for (size_t i = 0; i < s->nodes[at]->pods.n; i++) {
		const struct podinfo *other = s->nodes[at]->pods.v[i];

		if (other->priority < p->cycle->pod->priority && terminating_by_preemption(other)) {
			*ret_why = STR(
				"not eligible due to a terminating pod on the nominated node.");
			return false;
		}
	}
	return true;
}

struct search {
	size_t *places; /* of potential nodes in the snapshot */
	size_t n, wanted;
	struct verdict *verdicts; /* by index; nodes without an entry would not have helped */
	struct preemption_choice *found, *violating;
	size_t nfound, nviolating;
	size_t filters; /* that have been run */
	struct verdict error; /* the first */
};

static void find_potential(const struct preemption *p, struct search *s)
{
	struct cycle *c = p->cycle;

	s->places = arena_alloc(&c->arena, (c->snapshot->n + 1) * sizeof(size_t));
	s->verdicts = ARENA_ARRAY(&c->arena, struct verdict, c->snapshot->n + 1);
	for (size_t i = 0; i < c->snapshot->n; i++) {
		const struct verdict *v = verdict_at(c, i);

		if (v && (v->code == VERDICT_UNSCHEDULABLE || v->code == VERDICT_PENDING))
			s->places[s->n++] = i;
	}
	s->wanted = s->n * (size_t)p->percentage / 100;
	s->wanted = MIN(MAX(s->wanted, (size_t)p->absolute), s->n);
	s->found = ARENA_ARRAY(&c->arena, struct preemption_choice, s->wanted + 1);
	s->violating = ARENA_ARRAY(&c->arena, struct preemption_choice, s->wanted + 1);
}

/* Enough of them, of which at least one violates no budget; or any, after enough work. */
static bool enough(const struct preemption *p, const struct search *s)
{
	size_t most = p->filters_max ? p->filters_max : PREEMPTION_FILTERS_MAX;

	if (s->filters >= most)
		return s->nfound + s->nviolating > 0;
	return s->nfound && s->nfound + s->nviolating >= s->wanted;
}

static void try_node(struct cycle *c, struct search *s, size_t at,
		     struct preemption_budgets *budgets)
{
	struct preemption_choice choice;
	struct verdict v = preemption_on_node(c, c->snapshot->nodes[at], budgets, &choice);

	s->verdicts[at] = v;
	s->filters++;
	if (v.code == VERDICT_SUCCESS)
		s->filters += lower_pods(c, c->snapshot->nodes[at], NULL);
	if (v.code == VERDICT_ERROR && !s->error.n)
		s->error = v;
	if (v.code != VERDICT_SUCCESS)
		return;
	if (!choice.violations)
		s->found[s->nfound++] = choice;
	else if (s->nviolating < s->wanted)
		s->violating[s->nviolating++] = choice;
}

/* Upstream's FitError of the attempt. */
static struct verdict no_candidates(struct cycle *c, struct search *s)
{
	struct verdict v = verdict_of(&c->arena, VERDICT_UNRESOLVABLE, no_help);
	CLEANUP(cycle_free) struct cycle *copy = cycle_what_if(c);

	for (size_t i = 0; i < c->snapshot->n; i++)
		if (!s->verdicts[i].n)
			s->verdicts[i] = v;
	copy->diagnosis = (struct diagnosis){ .nodes = s->verdicts };
	return verdict_of(&c->arena, VERDICT_UNSCHEDULABLE,
			  arena_str(&c->arena, cycle_message(copy)));
}

static struct verdict preemption_search(const struct preemption *p, struct search *s)
{
	struct preemption_budgets budgets;

	find_potential(p, s);
	preemption_budgets_init(&budgets, p->pdbs, &p->cycle->arena);
	for (size_t i = 0; i < s->n && !enough(p, s); i++)
		try_node(p->cycle, s, s->places[(p->offset + i) % s->n], &budgets);
	preemption_budgets_release(&budgets);
	return s->nfound + s->nviolating ? VERDICT_OK : s->error;
}

struct verdict preemption_decide(const struct preemption *p, struct preemption_choice *ret_choice,
				 bool *ret_hopeless)
{
	struct cycle *c = p->cycle;
	struct search s = { .n = 0 };
	struct verdict v;
	struct str why;

	*ret_hopeless = false;
	if (!eligible(p, &why))
		return verdict_of(&c->arena, VERDICT_UNSCHEDULABLE, why);
	v = preemption_search(p, &s);
	if (v.code != VERDICT_SUCCESS)
		return v;
	if (!s.nfound && !s.nviolating) {
		*ret_hopeless = true;
		return no_candidates(c, &s);
	}
	/* Any that violates no budget is better than all that do. */
	*ret_choice = s.nfound ? *preemption_pick(s.found, s.nfound)
			       : *preemption_pick(s.violating, s.nviolating);
	return VERDICT_OK;
}
