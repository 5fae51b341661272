/*
 * Preferred constraints: the fewer matching pods are in the node's domains, the better. Counts are
 * weighted by the logarithm of the number of domains, so that a few zones matter compared to many
 * hosts. Only domains with a feasible node are counted.
 */
#include <math.h>

#include "base/core/mem.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/topology/spread.h"

struct domain {
	int64_t pods;
	bool used; /* some node that has the label is scored by it */
};

/* One constraint while pods are counted. */
struct counting {
	struct spread_view view;
	struct domain **by_number; /* as the view numbers them; NULL: no feasible node is in it */
	size_t room;
	struct domain *blank; /* of nodes without the label, and of those whose label is empty */
	size_t domains;
};

struct spread_score {
	struct spread_constraints constraints;
	double *weights;
	/* By place among the feasible, then constraint; NULL: without that label. */
	struct domain **domains;
	bool *ignored; /* by place: it lacks a topology key */
	struct counting *counting;
};

static bool is_host(const struct spread_constraint *k)
{
	return str_eq(k->topology_key, LABEL_HOSTNAME);
}

static struct domain *new_domain(struct cycle *c, struct counting *k)
{
	k->domains++;
	return ARENA_NEW(&c->arena, struct domain);
}

static struct domain *need_blank(struct cycle *c, struct counting *k)
{
	if (!k->blank)
		k->blank = new_domain(c, k);
	return k->blank;
}

static struct domain *need_domain(struct cycle *c, struct counting *k, uint32_t number,
				  struct str value)
{
	if (number >= k->room) {
		size_t room = MAX(2 * k->room, node_view_domains(k->view.view));
		struct domain **more = ARENA_ARRAY(&c->arena, struct domain *, room);

		if (k->room > 0)
			memcpy(more, k->by_number, k->room * sizeof(*more));
		k->by_number = more;
		k->room = room;
	}
	if (!k->by_number[number])
		k->by_number[number] = value.n == 0 ? need_blank(c, k) : new_domain(c, k);
	return k->by_number[number];
}

/* Returns the domain of a feasible node, or NULL. A host is its own domain. */
static struct domain *spread_score_place(struct cycle *c, struct spread_score *s, size_t i,
					 const struct nodeinfo *n)
{
	const struct spread_constraint *k = &s->constraints.v[i];
	struct counting *counting = &s->counting[i];
	struct node_seen seen = spread_look(&counting->view, n);
	struct domain *d;

	if (seen.domain == NODE_VIEW_NOWHERE) {
		(void)need_blank(c, counting);
		return NULL;
	}
	if (is_host(k)) {
		d = ARENA_NEW(&c->arena, struct domain);
		d->pods = seen.pods;
		return d;
	}
	d = need_domain(c, counting, seen.domain, labels_get(n->node->labels, k->topology_key));
	d->used = true;
	return d;
}

static struct spread_score *new_score(struct plugin *p, struct cycle *c,
				      struct spread_constraints constraints)
{
	const struct spread_args *args = p->state;
	struct spread_score *s = ARENA_NEW(&c->arena, struct spread_score);

	s->constraints = constraints;
	s->weights = ARENA_ARRAY(&c->arena, double, constraints.n);
	s->domains = ARENA_ARRAY(&c->arena, struct domain *, c->nfeasible * constraints.n);
	s->ignored = ARENA_ARRAY(&c->arena, bool, c->nfeasible);
	s->counting = ARENA_ARRAY(&c->arena, struct counting, constraints.n);
	node_views_begin(args->views);
	for (size_t i = 0; i < constraints.n; i++)
		s->counting[i].view = spread_view(p, &constraints.v[i], c);
	return s;
}

static struct spread_score *make_score(struct plugin *p, struct cycle *c,
				       struct spread_constraints constraints, bool all_keys)
{
	struct spread_score *s = new_score(p, c, constraints);
	size_t ignored = 0;

	for (size_t at = 0; at < c->nfeasible; at++) {
		const struct nodeinfo *n = c->feasible[at];

		s->ignored[at] = all_keys && !spread_has_keys(constraints, n->node);
		ignored += s->ignored[at];
		for (size_t i = 0; !s->ignored[at] && i < constraints.n; i++)
			s->domains[at * constraints.n + i] = spread_score_place(c, s, i, n);
	}
	for (size_t i = 0; i < constraints.n; i++) {
		size_t n = is_host(&constraints.v[i]) ? c->nfeasible - ignored
						      : s->counting[i].domains;

		s->weights[i] = log((double)(n + 2));
	}
	return s;
}

static struct domain *domain_of(const struct counting *k, struct node_seen seen)
{
	if (seen.domain == NODE_VIEW_NOWHERE)
		return k->blank;
	return seen.domain < k->room ? k->by_number[seen.domain] : NULL;
}

static void count_node(struct cycle *c, struct spread_score *s, const struct nodeinfo *n)
{
	for (size_t i = 0; i < s->constraints.n; i++) {
		const struct spread_constraint *k = &s->constraints.v[i];
		struct node_seen seen;
		struct domain *d;

		if (is_host(k))
			continue;
		seen = spread_look(&s->counting[i].view, n);
		d = domain_of(&s->counting[i], seen);
		if (d && d->used && seen.pods > 0 && spread_counts_node(k, c->pod, n->node))
			d->pods += seen.pods;
	}
}

/* Counts go to nodes that have all keys, or, by the system's constraints, to each by itself. */
static bool lacks_keys(const struct spread_score *s, const struct nodeinfo *n)
{
	for (size_t i = 0; i < s->constraints.n; i++)
		if (spread_look(&s->counting[i].view, n).domain == NODE_VIEW_NOWHERE)
			return true;
	return false;
}

struct verdict spread_pre_score(struct plugin *p, struct cycle *c)
{
	const struct spread_args *args = p->state;
	struct spread_constraints constraints = spread_constraints(p, c->pod, true, &c->arena);
	/* By the system's constraints, nodes without a zone are still spread over hosts. */
	bool all_keys = c->pod->nspread > 0 || !args->system;
	struct spread_state *state = *cycle_state(c, p);
	bool only_hosts = true;

	if (constraints.n == 0)
		return (struct verdict){ .code = VERDICT_SKIP };
	if (!state)
		state = *cycle_state(c, p) = ARENA_NEW(&c->arena, struct spread_state);
	state->score = make_score(p, c, constraints, all_keys);
	for (size_t i = 0; i < constraints.n; i++)
		only_hosts = only_hosts && is_host(&constraints.v[i]);
	for (size_t i = 0; !only_hosts && i < c->snapshot->n; i++) {
		const struct nodeinfo *n = c->snapshot->nodes[i];

		if (!all_keys || !lacks_keys(state->score, n))
			count_node(c, state->score, n);
	}
	return VERDICT_OK;
}

struct verdict spread_score(struct plugin *p, struct cycle *c, size_t at, int64_t *ret_score)
{
	const struct spread_state *state = *cycle_state(c, p);
	const struct spread_score *s = state ? state->score : NULL;
	double score = 0;

	*ret_score = 0;
	if (!s || s->ignored[at])
		return VERDICT_OK;
	for (size_t i = 0; i < s->constraints.n; i++) {
		const struct spread_constraint *k = &s->constraints.v[i];
		const struct domain *d = s->domains[at * s->constraints.n + i];

		if (!d)
			continue;
		/* The skew waters differences down, that much is tolerated. */
		score += (double)d->pods * s->weights[i] + (double)(k->max_skew - 1);
	}
	*ret_score = (int64_t)round(score);
	return VERDICT_OK;
}

void spread_normalize(struct plugin *p, struct cycle *c, int64_t *scores, size_t n)
{
	const struct spread_state *state = *cycle_state(c, p);
	const struct spread_score *s = state ? state->score : NULL;
	int64_t least = INT64_MAX, most = 0;

	for (size_t i = 0; s && i < n; i++) {
		if (s->ignored[i])
			continue;
		least = MIN(least, scores[i]);
		most = MAX(most, scores[i]);
	}
	for (size_t i = 0; s && i < n; i++) {
		if (s->ignored[i])
			scores[i] = 0;
		else if (most == 0)
			scores[i] = SCORE_MAX;
		else
			scores[i] = SCORE_MAX * (most + least - scores[i]) / most;
	}
}
