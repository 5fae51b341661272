/*
 * Required terms: three counts per domain, computed once per pod. They count the existing pods
 * whose anti-affinity rejects this pod, the pods that match all of its affinity terms, and the pods
 * that match any of its anti-affinity terms. A pod without terms costs nothing if no pod has
 * required anti-affinity.
 */
#include "scheduler/framework/plugin.h"
#include "scheduler/topology/pod_affinity.h"

static const struct str existing_anti[] = { REASON(
	"node(s) didn't satisfy existing pods anti-affinity rules") };
static const struct str no_affinity[] = { REASON("node(s) didn't match pod affinity rules") };
static const struct str no_anti[] = { REASON("node(s) didn't match pod anti-affinity rules") };

struct pod_affinity_filter {
	struct topology_counts existing, affinity, anti;
	struct affinity_terms terms, anti_terms; /* resolved */
	const struct json *namespace_labels;
	bool self; /* the pod matches its own affinity terms */
};

static void count_existing(struct pod_affinity_filter *s, struct cycle *c,
			   const struct podinfo *other, const struct nodeinfo *n, int64_t by)
{
	for (size_t i = 0; i < other->anti_affinity.n; i++) {
		const struct affinity_term *t = &other->anti_affinity.v[i];

		if (affinity_term_matches(t, c->pod, s->namespace_labels))
			topology_counts_add(&s->existing, &c->arena, t->topology_key,
					    n->node->labels, by);
	}
}

static void count_own(struct pod_affinity_filter *s, struct cycle *c, const struct podinfo *other,
		      const struct nodeinfo *n, int64_t by)
{
	if (pod_affinity_all(s->terms, other))
		for (size_t i = 0; i < s->terms.n; i++)
			topology_counts_add(&s->affinity, &c->arena, s->terms.v[i].topology_key,
					    n->node->labels, by);
	for (size_t i = 0; i < s->anti_terms.n; i++) {
		const struct affinity_term *t = &s->anti_terms.v[i];

		if (affinity_term_matches(t, other, NULL))
			topology_counts_add(&s->anti, &c->arena, t->topology_key, n->node->labels,
					    by);
	}
}

static void count_existing_everywhere(struct pod_affinity_filter *s, struct cycle *c)
{
	const struct snapshot *all = c->snapshot;

	for (size_t i = 0; i < all->nwith_required_anti_affinity; i++) {
		const struct nodeinfo *n = all->with_required_anti_affinity[i];

		for (size_t k = 0; k < n->with_required_anti_affinity.n; k++)
			count_existing(s, c, n->with_required_anti_affinity.v[k], n, 1);
	}
}

struct verdict pod_affinity_pre_filter(struct plugin *p, struct cycle *c)
{
	bool has_terms = c->pod->affinity.n + c->pod->anti_affinity.n > 0;
	struct pod_affinity_filter *s;

	if (!has_terms && c->snapshot->nwith_required_anti_affinity == 0)
		return (struct verdict){ .code = VERDICT_SKIP };
	s = ARENA_NEW(&c->arena, struct pod_affinity_filter);
	s->terms = pod_affinity_resolve(p, c, c->pod->affinity);
	s->anti_terms = pod_affinity_resolve(p, c, c->pod->anti_affinity);
	s->namespace_labels = pod_affinity_namespace(p, c);
	s->self = pod_affinity_all(s->terms, c->pod);
	count_existing_everywhere(s, c);
	pod_affinity_count(p, c, s->terms, &s->affinity, 1);
	for (size_t i = 0; i < s->anti_terms.n; i++)
		pod_affinity_count(p, c, (struct affinity_terms){ &s->anti_terms.v[i], 1 },
				   &s->anti, 1);
	if (!has_terms && s->existing.entries == 0)
		return (struct verdict){ .code = VERDICT_SKIP };
	pod_affinity_state(p, c)->filter = s;
	return VERDICT_OK;
}

void *pod_affinity_clone_state(const struct plugin *p, struct cycle *c, void *state)
{
	const struct pod_affinity_state *from = state;
	struct pod_affinity_state *to;

	if (!from || !from->filter)
		return state;
	to = ARENA_NEW(&c->arena, struct pod_affinity_state);
	*to = *from;
	to->filter = ARENA_NEW(&c->arena, struct pod_affinity_filter);
	*to->filter = *from->filter;
	topology_counts_clone(&to->filter->existing, &from->filter->existing, &c->arena);
	topology_counts_clone(&to->filter->affinity, &from->filter->affinity, &c->arena);
	topology_counts_clone(&to->filter->anti, &from->filter->anti, &c->arena);
	return to;
}

static void change_pod(struct plugin *p, struct cycle *c, const struct podinfo *other,
		       const struct nodeinfo *n, int64_t by)
{
	const struct pod_affinity_state *state = *cycle_state(c, p);

	if (!state || !state->filter || !n->node)
		return;
	count_existing(state->filter, c, other, n, by);
	count_own(state->filter, c, other, n, by);
}

void pod_affinity_add_pod(struct plugin *p, struct cycle *c, const struct podinfo *other,
			  const struct nodeinfo *n)
{
	change_pod(p, c, other, n, 1);
}

void pod_affinity_remove_pod(struct plugin *p, struct cycle *c, const struct podinfo *other,
			     const struct nodeinfo *n)
{
	change_pod(p, c, other, n, -1);
}

/*
 * The first pod of a group with mutual affinity has no pod to join. It may go to any node with the
 * topology keys, if it matches its own terms.
 */
static bool satisfies_affinity(const struct pod_affinity_filter *s, const struct json *labels)
{
	bool found = true;

	for (size_t i = 0; i < s->terms.n; i++) {
		struct str key = s->terms.v[i].topology_key, value = labels_get(labels, key);

		if (!value.p)
			return false;
		if (topology_counts_get(&s->affinity, key, value) <= 0)
			found = false;
	}
	return found || (s->affinity.entries == 0 && s->self);
}

static bool satisfies_anti_affinity(const struct pod_affinity_filter *s, const struct json *labels)
{
	if (s->anti.entries == 0)
		return true;
	for (size_t i = 0; i < s->anti_terms.n; i++) {
		struct str key = s->anti_terms.v[i].topology_key, value = labels_get(labels, key);

		if (value.p && topology_counts_get(&s->anti, key, value) > 0)
			return false;
	}
	return true;
}

struct verdict pod_affinity_filter(struct plugin *p, struct cycle *c, const struct nodeinfo *n)
{
	const struct pod_affinity_state *state = *cycle_state(c, p);
	const struct pod_affinity_filter *s = state ? state->filter : NULL;

	if (!s)
		return VERDICT_OK;
	if (!satisfies_affinity(s, n->node->labels))
		return VERDICT_STATIC(VERDICT_UNRESOLVABLE, no_affinity);
	if (!satisfies_anti_affinity(s, n->node->labels))
		return VERDICT_STATIC(VERDICT_UNSCHEDULABLE, no_anti);
	if (s->existing.entries > 0 && topology_counts_any(&s->existing, n->node->labels))
		return VERDICT_STATIC(VERDICT_UNSCHEDULABLE, existing_anti);
	return VERDICT_OK;
}
