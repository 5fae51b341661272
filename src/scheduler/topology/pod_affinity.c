/*
 * InterPodAffinity: schedules pods near others, or away from them. Required anti-affinity of
 * existing pods rejects the new pod, like its own does.
 *
 * This file has the function table, arguments, hints, and the common code of filter and score.
 */
#include "api/api_limits.h"
#include "base/core/mem.h"
#include "client/informer/cache.h"
#include "scheduler/topology/pod_affinity.h"

/* --- arguments ------------------------------------------------------------------------------ */

static int pod_affinity_init(struct plugin *p, const struct json *args, struct error *err)
{
	static const char *const fields[] = { "hardPodAffinityWeight",
					      "ignorePreferredTermsOfExistingPods", NULL };
	int64_t weight = json_i64_at(args, "hardPodAffinityWeight", 1);
	struct pod_affinity_args *s;
	int r = plugin_args_check(args, "InterPodAffinityArgs", fields, err);

	if (r < 0)
		return r;
	if (weight < 0 || weight > 100)
		return error_set(err, ERR_INVALID,
				 "hardPodAffinityWeight: Invalid value: %lld: not in valid range "
				 "[0, 100]",
				 (long long)weight);
	s = XNEW(struct pod_affinity_args);
	s->hard_weight = (int32_t)weight;
	s->views = node_views_new();
	s->ignore_existing = json_true_at(args, "ignorePreferredTermsOfExistingPods");
	p->state = s;
	return 0;
}

static void pod_affinity_release(struct plugin *p)
{
	struct pod_affinity_args *s = p->state;

	node_views_free(s->views);
	free(s);
	p->state = NULL;
}

/* --- shared --------------------------------------------------------------------------------- */

struct pod_affinity_state *pod_affinity_state(const struct plugin *p, struct cycle *c)
{
	void **state = cycle_state(c, p);

	if (!*state)
		*state = ARENA_NEW(&c->arena, struct pod_affinity_state);
	return *state;
}

struct namespace_source {
	const struct cached *object;
	struct arena *arena;
};

static struct str get_namespace_label(const void *source, struct str key)
{
	const struct namespace_source *s = source;

	return cached_label(s->object, key, s->arena);
}

static void resolve_term(const struct plugin *p, struct cycle *c, struct affinity_term *t)
{
	const struct cache *all = p->services->namespaces;
	size_t n = t->nnamespaces;
	struct cache_walk w = { 0 };
	struct cached *o;
	struct str *names;

	names = ARENA_ARRAY(&c->arena, struct str, n + (all ? cache_count(all) : 0));
	if (n > 0)
		memcpy(names, t->namespaces, n * sizeof(*names));
	while (all && (o = cache_next(all, &w))) {
		struct namespace_source source = { o, &c->arena };

		if (selector_matches(&t->namespace_selector, get_namespace_label, &source))
			names[n++] = arena_str(&c->arena, cached_name(o));
	}
	t->namespaces = names;
	t->nnamespaces = n;
	t->has_namespace_selector = false;
}

struct affinity_terms pod_affinity_resolve(const struct plugin *p, struct cycle *c,
					   struct affinity_terms terms)
{
	struct affinity_term *v = NULL;

	for (size_t i = 0; i < terms.n; i++) {
		const struct affinity_term *t = &terms.v[i];

		/* An empty selector means all namespaces, known or not. */
		if (!t->has_namespace_selector || t->namespace_selector.n == 0)
			continue;
		if (!v) {
			v = ARENA_ARRAY(&c->arena, struct affinity_term, terms.n);
			memcpy(v, terms.v, terms.n * sizeof(*v));
		}
		resolve_term(p, c, &v[i]);
	}
	return v ? (struct affinity_terms){ v, terms.n } : terms;
}

static const struct json *namespace_labels(const struct plugin *p, struct str ns, struct arena *a)
{
	const struct cache *all = p->services->namespaces;
	struct cached *o = all ? cache_get(all, ns) : NULL;
	struct str text = o ? cached_field(o, "metadata.labels", a) : STR_NULL;
	struct json *labels = NULL;

	if (!text.p || json_parse(a, arena_str(a, text), NULL, &labels, NULL) < 0)
		return NULL;
	return labels;
}

const struct json *pod_affinity_namespace(const struct plugin *p, struct cycle *c)
{
	return namespace_labels(p, c->pod->ns, &c->arena);
}

bool pod_affinity_all(struct affinity_terms terms, const struct podinfo *pod)
{
	for (size_t i = 0; i < terms.n; i++)
		if (!affinity_term_matches(&terms.v[i], pod, NULL))
			return false;
	return terms.n > 0;
}

static uint32_t count_pods(const void *question, const struct nodeinfo *n, struct str *ret_domain)
{
	const struct affinity_terms *terms = question;
	uint32_t count = 0;

	*ret_domain = labels_get(n->node->labels, terms->v[0].topology_key);
	for (size_t i = 0; i < n->pods.n; i++)
		count += pod_affinity_all(*terms, n->pods.v[i]);
	return count;
}

static void add_term(struct buf *question, const struct affinity_term *t)
{
	(void)buf_printf(question, "%c%c%zu", t->nothing ? '-' : '+',
			 t->has_namespace_selector ? '*' : '=', t->nnamespaces);
	for (size_t i = 0; i < t->nnamespaces; i++)
		node_views_add(question, t->namespaces[i]);
	node_views_add_selector(question, &t->pods);
}

static struct node_view *view_of(const struct plugin *p, struct cycle *c,
				 struct affinity_terms terms)
{
	const struct pod_affinity_args *s = p->state;
	struct buf *question = node_views_question(s->views);

	node_views_begin(s->views);
	node_views_add(question, terms.v[0].topology_key);
	for (size_t i = 0; i < terms.n; i++)
		add_term(question, &terms.v[i]);
	return node_views_get(s->views, c->snapshot->n);
}

/* Of one key: summed up by the view's numbers, so that a label is read once per domain. */
struct domain_sum {
	int64_t pods;
	const struct nodeinfo *node; /* some node in it */
};

static struct domain_sum *need_sum(struct cycle *c, struct domain_sum *v, size_t *room, size_t at)
{
	size_t more = MAX(2 * *room, MAX(at + 1, 16));
	struct domain_sum *grown;

	if (at < *room)
		return v;
	grown = ARENA_ARRAY(&c->arena, struct domain_sum, more);
	if (*room > 0)
		memcpy(grown, v, *room * sizeof(*v));
	*room = more;
	return grown;
}

static void count_by_domain(struct cycle *c, struct node_view *view, struct affinity_terms terms,
			    struct topology_counts *to, int64_t by)
{
	struct domain_sum *sums = NULL;
	size_t room = 0;

	for (size_t i = 0; i < c->snapshot->n; i++) {
		const struct nodeinfo *n = c->snapshot->nodes[i];
		struct node_seen seen = node_view_node(view, n, count_pods, &terms);

		if (seen.pods == 0 || seen.domain == NODE_VIEW_NOWHERE)
			continue;
		sums = need_sum(c, sums, &room, seen.domain);
		sums[seen.domain].pods += seen.pods;
		sums[seen.domain].node = n;
	}
	for (size_t i = 0; i < room; i++)
		if (sums[i].node)
			topology_counts_add(to, &c->arena, terms.v[0].topology_key,
					    sums[i].node->node->labels, by * sums[i].pods);
}

static void count_by_node(struct cycle *c, struct node_view *view, struct affinity_terms terms,
			  struct topology_counts *to, int64_t by)
{
	for (size_t i = 0; i < c->snapshot->n; i++) {
		const struct nodeinfo *n = c->snapshot->nodes[i];
		int64_t pods = node_view_node(view, n, count_pods, &terms).pods;

		for (size_t k = 0; pods > 0 && k < terms.n; k++)
			topology_counts_add(to, &c->arena, terms.v[k].topology_key, n->node->labels,
					    by * pods);
	}
}

void pod_affinity_count(const struct plugin *p, struct cycle *c, struct affinity_terms terms,
			struct topology_counts *to, int64_t by)
{
	struct node_view *view;

	if (terms.n == 0)
		return;
	view = view_of(p, c, terms);
	if (terms.n == 1)
		count_by_domain(c, view, terms, to, by);
	else
		count_by_node(c, view, terms, to, by);
}

/* --- hints ---------------------------------------------------------------------------------- */

/* Matches unresolved terms. `ns` has the labels of the pod's namespace. */
static bool all_match(struct affinity_terms terms, const struct podinfo *pod, const struct json *ns)
{
	for (size_t i = 0; i < terms.n; i++)
		if (!affinity_term_matches(&terms.v[i], pod, ns))
			return false;
	return terms.n > 0;
}

static bool any_matches(struct affinity_terms terms, const struct podinfo *pod,
			const struct json *ns)
{
	for (size_t i = 0; i < terms.n; i++)
		if (affinity_term_matches(&terms.v[i], pod, ns))
			return true;
	return false;
}

/* `here`: labels of the waiting pod's namespace; `there`: of the other's. */
static bool pod_helps(const struct podinfo *waiting, const struct json *here,
		      const struct podinfo *old, const struct podinfo *pod,
		      const struct json *there)
{
	if (old && pod)
		return (!all_match(waiting->affinity, old, there) &&
			all_match(waiting->affinity, pod, there)) ||
		       (any_matches(waiting->anti_affinity, old, there) &&
			!any_matches(waiting->anti_affinity, pod, there));
	if (pod)
		return all_match(waiting->affinity, pod, there);
	return any_matches(waiting->anti_affinity, old, there) ||
	       any_matches(old->anti_affinity, waiting, here);
}

static bool selects_namespaces(struct affinity_terms terms)
{
	for (size_t i = 0; i < terms.n; i++)
		if (terms.v[i].has_namespace_selector && terms.v[i].namespace_selector.n > 0)
			return true;
	return false;
}

static bool knows_namespace(const struct plugin *p, struct str ns)
{
	return p->services->namespaces && cache_get(p->services->namespaces, ns);
}

static enum event_hint after_assigned(const struct plugin *p, const struct podinfo *waiting,
				      const struct cluster_event *e)
{
	const struct podinfo *other = e->pod ? e->pod : e->old_pod;
	const struct json *here = NULL, *there = NULL;
	struct arena arena;
	bool helps;

	if ((e->pod && pod_is_nowhere(e->pod)) || (e->old_pod && pod_is_nowhere(e->old_pod)))
		return HINT_SKIP;
	if (!selects_namespaces(waiting->affinity) && !selects_namespaces(waiting->anti_affinity) &&
	    !selects_namespaces(other->anti_affinity))
		return pod_helps(waiting, NULL, e->old_pod, e->pod, NULL) ? HINT_QUEUE : HINT_SKIP;
	if (!knows_namespace(p, waiting->ns) || !knows_namespace(p, other->ns))
		return HINT_QUEUE;
	arena_init(&arena, REQUEST_WORK_MAX);
	here = namespace_labels(p, waiting->ns, &arena);
	there = namespace_labels(p, other->ns, &arena);
	helps = pod_helps(waiting, here, e->old_pod, e->pod, there);
	arena_release(&arena);
	return helps ? HINT_QUEUE : HINT_SKIP;
}

/* The node came into a domain: it got the label, or another value. */
static bool entered(struct str old, struct str now)
{
	return now.p && (!old.p || !str_eq(old, now));
}

static enum event_hint pod_affinity_after_node(const struct plugin *p,
					       const struct podinfo *waiting,
					       const struct cluster_event *e)
{
	const struct json *old = e->old_node ? e->old_node->labels : NULL;
	const struct json *now = e->node->labels;

	for (size_t i = 0; i < waiting->affinity.n; i++) {
		struct str key = waiting->affinity.v[i].topology_key;

		if (entered(labels_get(old, key), labels_get(now, key)))
			return HINT_QUEUE;
	}
	for (size_t i = 0; i < waiting->anti_affinity.n; i++) {
		struct str key = waiting->anti_affinity.v[i].topology_key;

		/* The node left its domain, or a new node may form a new domain. */
		if (!e->old_node || entered(labels_get(now, key), labels_get(old, key)))
			return HINT_QUEUE;
	}
	return HINT_SKIP;
}

static const struct plugin_event events[] = {
	{ .kind = EVENT_ASSIGNED_POD,
	  .actions = EVENT_ADD | EVENT_UPDATE_POD_LABEL | EVENT_DELETE,
	  .hint = after_assigned },
	{ .kind = EVENT_UNSCHEDULED_POD, .actions = EVENT_UPDATE_POD_LABEL },
	{ .kind = EVENT_NODE,
	  .actions = EVENT_ADD | EVENT_UPDATE_NODE_LABEL,
	  .hint = pod_affinity_after_node },
	{ 0 },
};

const struct plugin_kind plugin_inter_pod_affinity = {
	.name = "InterPodAffinity",
	.init = pod_affinity_init,
	.release = pod_affinity_release,
	.events = events,
	.pre_filter = pod_affinity_pre_filter,
	.clone_state = pod_affinity_clone_state,
	.add_pod = pod_affinity_add_pod,
	.remove_pod = pod_affinity_remove_pod,
	.filter = pod_affinity_filter,
	.pre_score = pod_affinity_pre_score,
	.score = pod_affinity_score,
	.normalize = pod_affinity_normalize,
};
