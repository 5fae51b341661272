/*
 * PodTopologySpread: spreads pods that belong together over the domains (hosts, zones ..) of a
 * topology, as constraints require or prefer. This file has the function table, and the common code
 * of filter, score and hints.
 */
#include "base/core/mem.h"
#include "scheduler/topology/spread.h"

enum { ARGS_MEMORY_MAX = 1 << 20 };

static void spread_release(struct plugin *p)
{
	struct spread_args *s = p->state;

	if (!s)
		return;
	node_views_free(s->views);
	arena_release(&s->arena);
	free(s);
	p->state = NULL;
}

static int spread_init(struct plugin *p, const struct json *args, struct error *err)
{
	struct spread_args *s = XNEW(struct spread_args);
	int r;

	arena_init(&s->arena, ARGS_MEMORY_MAX);
	s->views = node_views_new();
	p->state = s;
	r = spread_args_read(s, args, err);
	if (r < 0)
		spread_release(p);
	return r;
}

static struct spread_constraints spread_pick(const struct spread_constraint *from, size_t n,
					     bool anyway, struct arena *a)
{
	struct spread_constraint *v;
	size_t found = 0;

	for (size_t i = 0; i < n; i++)
		found += from[i].schedule_anyway == anyway;
	if (found == n || found == 0)
		return (struct spread_constraints){ from, found };
	v = ARENA_ARRAY(a, struct spread_constraint, found);
	found = 0;
	for (size_t i = 0; i < n; i++)
		if (from[i].schedule_anyway == anyway)
			v[found++] = from[i];
	return (struct spread_constraints){ v, found };
}

/* The default constraints are about whatever the pod's services and owner select. */
static struct spread_constraints default_constraints(const struct plugin *p,
						     const struct podinfo *pod, bool anyway,
						     struct arena *a)
{
	const struct spread_args *s = p->state;
	struct spread_constraints c = spread_pick(s->defaults, s->ndefaults, anyway, a);
	struct spread_constraint *v;
	struct selector selector;

	if (c.n == 0)
		return c;
	selector = spread_default_selector(p->services, pod, a);
	if (selector.n == 0)
		return (struct spread_constraints){ 0 };
	v = ARENA_ARRAY(a, struct spread_constraint, c.n);
	for (size_t i = 0; i < c.n; i++) {
		v[i] = c.v[i];
		v[i].pods = selector;
		v[i].nothing = false;
	}
	return (struct spread_constraints){ v, c.n };
}

struct spread_constraints spread_constraints(const struct plugin *p, const struct podinfo *pod,
					     bool anyway, struct arena *a)
{
	if (pod->nspread > 0)
		return spread_pick(pod->spread, pod->nspread, anyway, a);
	return default_constraints(p, pod, anyway, a);
}

bool spread_has_keys(struct spread_constraints c, const struct nodeobject *n)
{
	for (size_t i = 0; i < c.n; i++)
		if (!json_get(n->labels, c.v[i].topology_key))
			return false;
	return true;
}

bool spread_counts_node(const struct spread_constraint *c, const struct podinfo *pod,
			const struct nodeobject *n)
{
	if (c->honor_affinity && !pod_wants_node(pod, n))
		return false;
	return !c->honor_taints || pod_tolerates_node(pod, n);
}

static uint32_t count_pods(const void *question, const struct nodeinfo *n, struct str *ret_domain)
{
	const struct spread_view *v = question;
	const struct spread_constraint *k = v->constraint;
	uint32_t count = 0;

	*ret_domain = labels_get(n->node->labels, k->topology_key);
	/* An empty selector, which should match all pods, counts none, as upstream. */
	if (k->nothing || k->pods.n == 0)
		return 0;
	for (size_t i = 0; i < n->pods.n; i++) {
		const struct podinfo *other = n->pods.v[i];

		if (!other->deleting && str_eq(other->ns, v->ns) &&
		    labels_match(&k->pods, other->labels))
			count++;
	}
	return count;
}

struct spread_view spread_view(const struct plugin *p, const struct spread_constraint *k,
			       struct cycle *c)
{
	const struct spread_args *s = p->state;
	struct buf *question = node_views_question(s->views);

	node_views_add(question, c->pod->ns);
	node_views_add(question, k->topology_key);
	(void)buf_addc(question, k->nothing ? '-' : '+');
	node_views_add_selector(question, &k->pods);
	return (struct spread_view){ .view = node_views_get(s->views, c->snapshot->n),
				     .constraint = k,
				     .ns = c->pod->ns };
}

struct node_seen spread_look(const struct spread_view *v, const struct nodeinfo *n)
{
	return node_view_node(v->view, n, count_pods, v);
}

const struct plugin_kind plugin_pod_topology_spread = {
	.name = "PodTopologySpread",
	.init = spread_init,
	.release = spread_release,
	.events = spread_events,
	.pre_filter = spread_pre_filter,
	.clone_state = spread_clone_state,
	.add_pod = spread_add_pod,
	.remove_pod = spread_remove_pod,
	.filter = spread_filter,
	.pre_score = spread_pre_score,
	.score = spread_score,
	.normalize = spread_normalize,
};
