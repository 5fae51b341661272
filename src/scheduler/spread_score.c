/*
 * Preferred constraints: the fewer of the pod's likes are in the node's domains, the better.
 *
 * Counts per domain weigh by the logarithm of how many domains there are, so that a few zones
 * matter beside many hosts. Hosts are counted when they are scored; of other topologies only
 * domains in which a feasible node lies are counted.
 */
#include <math.h>

#include "base/map.h"
#include "base/mem.h"
#include "scheduler/plugin.h"
#include "scheduler/spread.h"

struct domain {
	struct str value;
	int64_t pods;
	bool used; /* some node that has the label is scored by it */
};

struct spread_score {
	struct spread_constraints constraints;
	double *weights;
	/* By place among the feasible, then constraint; NULL: without that label, or a host. */
	struct domain **domains;
	bool *ignored; /* by place: it lacks a topology key */
	struct map **maps; /* of struct domain by value; empty for hosts */
};

static bool is_host(const struct spread_constraint *k)
{
	return str_eq(k->topology_key, LABEL_HOSTNAME);
}

static void drop_map(void *object)
{
	map_release(object);
}

static struct domain *need_domain(struct cycle *c, struct map *m, struct str value)
{
	struct domain *d = map_get(m, value);

	if (d)
		return d;
	d = arena_alloc(&c->arena, sizeof(*d));
	*d = (struct domain){ .value = value };
	map_put(m, value, d);
	return d;
}

/* Notes the domains of a feasible node. Nodes without a label are the domain "". */
static void place_node(struct cycle *c, struct spread_score *s, size_t at)
{
	const struct nodeobject *n = c->feasible[at]->node;

	for (size_t i = 0; i < s->constraints.n; i++) {
		const struct spread_constraint *k = &s->constraints.v[i];
		struct str value;
		struct domain *d;

		if (is_host(k))
			continue;
		value = labels_get(n->labels, k->topology_key);
		d = need_domain(c, s->maps[i], value.p ? value : STR(""));
		if (!value.p)
			continue;
		d->used = true;
		s->domains[at * s->constraints.n + i] = d;
	}
}

static struct spread_score *make_score(struct cycle *c, struct spread_constraints constraints,
				       bool all_keys)
{
	struct spread_score *s = ARENA_NEW(&c->arena, struct spread_score);
	size_t ignored = 0;

	s->constraints = constraints;
	s->weights = ARENA_ARRAY(&c->arena, double, constraints.n);
	s->domains = ARENA_ARRAY(&c->arena, struct domain *, c->nfeasible * constraints.n);
	s->ignored = ARENA_ARRAY(&c->arena, bool, c->nfeasible);
	s->maps = ARENA_ARRAY(&c->arena, struct map *, constraints.n);
	for (size_t i = 0; i < constraints.n; i++) {
		s->maps[i] = ARENA_NEW(&c->arena, struct map);
		map_init(s->maps[i]);
		arena_hold(&c->arena, drop_map, s->maps[i]);
	}
	for (size_t i = 0; i < c->nfeasible; i++) {
		s->ignored[i] = all_keys && !spread_has_keys(constraints, c->feasible[i]->node);
		ignored += s->ignored[i];
		if (!s->ignored[i])
			place_node(c, s, i);
	}
	for (size_t i = 0; i < constraints.n; i++) {
		size_t n = is_host(&constraints.v[i]) ? c->nfeasible - ignored : s->maps[i]->n;

		s->weights[i] = log((double)(n + 2));
	}
	return s;
}

static void count_node(struct cycle *c, struct spread_score *s, const struct nodeinfo *n)
{
	for (size_t i = 0; i < s->constraints.n; i++) {
		const struct spread_constraint *k = &s->constraints.v[i];
		struct domain *d;
		struct str value;

		if (is_host(k))
			continue;
		value = labels_get(n->node->labels, k->topology_key);
		d = map_get(s->maps[i], value.p ? value : STR(""));
		if (d && d->used && spread_counts_node(k, c->pod, n->node))
			d->pods += spread_count(k, c->pod->ns, n);
	}
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
	state->score = make_score(c, constraints, all_keys);
	for (size_t i = 0; i < constraints.n; i++)
		only_hosts = only_hosts && is_host(&constraints.v[i]);
	for (size_t i = 0; !only_hosts && i < c->snapshot->n; i++) {
		const struct nodeinfo *n = c->snapshot->nodes[i];

		if (n->pods.n > 0 && (!all_keys || spread_has_keys(constraints, n->node)))
			count_node(c, state->score, n);
	}
	return VERDICT_OK;
}

struct verdict spread_score(struct plugin *p, struct cycle *c, size_t at, int64_t *ret_score)
{
	const struct spread_state *state = *cycle_state(c, p);
	const struct spread_score *s = state ? state->score : NULL;
	const struct nodeinfo *n = c->feasible[at];
	double score = 0;

	*ret_score = 0;
	if (!s || s->ignored[at])
		return VERDICT_OK;
	for (size_t i = 0; i < s->constraints.n; i++) {
		const struct spread_constraint *k = &s->constraints.v[i];
		const struct domain *d = s->domains[at * s->constraints.n + i];
		int64_t pods;

		if (is_host(k) && json_get(n->node->labels, k->topology_key))
			pods = spread_count(k, c->pod->ns, n);
		else if (d)
			pods = d->pods;
		else
			continue;
		/* The skew waters differences down, that much is tolerated. */
		score += (double)pods * s->weights[i] + (double)(k->max_skew - 1);
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
