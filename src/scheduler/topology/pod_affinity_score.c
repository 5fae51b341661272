/*
 * Preferred terms: every match adds its weight to the domain, or subtracts it for anti-affinity.
 * Terms of the new pod and of existing pods count, and required affinity of existing pods counts
 * with a small weight. Terms of others are only evaluated for pods with affinity. Counts for the
 * new pod's terms are cached by node.
 */
#include "scheduler/framework/plugin.h"
#include "scheduler/topology/pod_affinity.h"

struct scoring {
	struct cycle *cycle;
	struct topology_counts *scores;
	struct affinity_terms preferred, preferred_anti; /* the new pod's, resolved */
	const struct json *namespace_labels; /* of the new pod's */
	int32_t hard_weight;
};

static void add_own(struct scoring *s, const struct plugin *p, struct affinity_terms terms,
		    int64_t sign)
{
	for (size_t i = 0; i < terms.n; i++)
		pod_affinity_count(p, s->cycle, (struct affinity_terms){ &terms.v[i], 1 },
				   s->scores, sign * terms.v[i].weight);
}

static void add_theirs(struct scoring *s, struct affinity_terms terms, const struct json *labels,
		       int64_t sign)
{
	for (size_t i = 0; i < terms.n; i++)
		if (affinity_term_matches(&terms.v[i], s->cycle->pod, s->namespace_labels))
			topology_counts_add(s->scores, &s->cycle->arena, terms.v[i].topology_key,
					    labels, sign * terms.v[i].weight);
}

static void add_hard(struct scoring *s, struct affinity_terms terms, const struct json *labels)
{
	for (size_t i = 0; s->hard_weight > 0 && i < terms.n; i++)
		if (affinity_term_matches(&terms.v[i], s->cycle->pod, s->namespace_labels))
			topology_counts_add(s->scores, &s->cycle->arena, terms.v[i].topology_key,
					    labels, s->hard_weight);
}

static void pod_affinity_score_add_all(struct scoring *s, const struct plugin *p)
{
	const struct snapshot *all = s->cycle->snapshot;

	add_own(s, p, s->preferred, 1);
	add_own(s, p, s->preferred_anti, -1);
	for (size_t i = 0; i < all->nwith_affinity; i++) {
		const struct nodeinfo *n = all->with_affinity[i];

		for (size_t k = 0; k < n->with_affinity.n; k++) {
			const struct podinfo *other = n->with_affinity.v[k];

			add_hard(s, other->affinity, n->node->labels);
			add_theirs(s, other->preferred_affinity, n->node->labels, 1);
			add_theirs(s, other->preferred_anti_affinity, n->node->labels, -1);
		}
	}
}

struct verdict pod_affinity_pre_score(struct plugin *p, struct cycle *c)
{
	const struct pod_affinity_args *args = p->state;
	bool prefers = c->pod->preferred_affinity.n + c->pod->preferred_anti_affinity.n > 0;
	struct scoring s = { .cycle = c, .hard_weight = args->hard_weight };

	if (!prefers && (args->ignore_existing || c->snapshot->nwith_affinity == 0))
		return (struct verdict){ .code = VERDICT_SKIP };
	s.scores = ARENA_NEW(&c->arena, struct topology_counts);
	s.preferred = pod_affinity_resolve(p, c, c->pod->preferred_affinity);
	s.preferred_anti = pod_affinity_resolve(p, c, c->pod->preferred_anti_affinity);
	s.namespace_labels = pod_affinity_namespace(p, c);
	pod_affinity_score_add_all(&s, p);
	if (s.scores->nkeys == 0)
		return (struct verdict){ .code = VERDICT_SKIP };
	pod_affinity_state(p, c)->score = s.scores;
	return VERDICT_OK;
}

struct verdict pod_affinity_score(struct plugin *p, struct cycle *c, size_t at, int64_t *ret_score)
{
	const struct pod_affinity_state *state = *cycle_state(c, p);

	*ret_score = state && state->score
			     ? topology_counts_sum(state->score, c->feasible[at]->node->labels)
			     : 0;
	return VERDICT_OK;
}

void pod_affinity_normalize(struct plugin *p, struct cycle *c, int64_t *scores, size_t n)
{
	const struct pod_affinity_state *state = *cycle_state(c, p);
	int64_t least = INT64_MAX, most = INT64_MIN;

	if (!state || !state->score)
		return;
	for (size_t i = 0; i < n; i++) {
		least = MIN(least, scores[i]);
		most = MAX(most, scores[i]);
	}
	for (size_t i = 0; i < n; i++) {
		double part = most > least ? (double)(scores[i] - least) / (double)(most - least)
					   : 0;

		scores[i] = (int64_t)((double)SCORE_MAX * part);
	}
}
