/*
 * Events that may help a pod that a required constraint rejected: matching pods that are added,
 * deleted or relabelled, and nodes that join, leave or change a domain.
 */
#include "scheduler/framework/plugin.h"
#include "scheduler/topology/spread.h"

enum { HINT_MEMORY_MAX = 1 << 20 };

static bool any_selects(struct spread_constraints c, const struct json *labels)
{
	for (size_t i = 0; i < c.n; i++)
		if (spread_selects(&c.v[i], labels))
			return true;
	return false;
}

/* Some constraint selects the one and not the other. */
static bool selection_changed(struct spread_constraints c, const struct podinfo *old,
			      const struct podinfo *pod)
{
	for (size_t i = 0; i < c.n; i++)
		if (spread_selects(&c.v[i], old->labels) != spread_selects(&c.v[i], pod->labels))
			return true;
	return false;
}

static bool same_toleration(const struct toleration *a, const struct toleration *b)
{
	return str_eq(a->key, b->key) && str_eq(a->value, b->value) && a->exists == b->exists &&
	       str_eq(a->operator, b->operator) && a->effect == b->effect;
}

static bool same_tolerations(const struct podinfo *a, const struct podinfo *b)
{
	if (a->ntolerations != b->ntolerations)
		return false;
	for (size_t i = 0; i < a->ntolerations; i++)
		if (!same_toleration(&a->tolerations[i], &b->tolerations[i]))
			return false;
	return true;
}

static bool honors_taints(struct spread_constraints c)
{
	for (size_t i = 0; i < c.n; i++)
		if (c.v[i].honor_taints)
			return true;
	return false;
}

static bool pod_matters(struct spread_constraints c, const struct cluster_event *e)
{
	if (e->old_pod && e->pod)
		return selection_changed(c, e->old_pod, e->pod);
	return any_selects(c, (e->pod ? e->pod : e->old_pod)->labels);
}

static bool concerns(const struct podinfo *other, const struct podinfo *waiting)
{
	return !other || (!pod_is_nowhere(other) && str_eq(other->ns, waiting->ns));
}

static enum event_hint after_assigned(const struct plugin *p, const struct podinfo *waiting,
				      const struct cluster_event *e)
{
	struct arena a;
	bool queue;

	if (!concerns(e->pod, waiting) || !concerns(e->old_pod, waiting))
		return HINT_SKIP;
	arena_init(&a, HINT_MEMORY_MAX);
	queue = pod_matters(spread_constraints(p, waiting, false, &a), e);
	arena_release(&a);
	return queue ? HINT_QUEUE : HINT_SKIP;
}

static enum event_hint after_target(const struct plugin *p, const struct podinfo *waiting,
				    const struct cluster_event *e)
{
	struct spread_constraints c;
	struct arena a;
	bool queue;

	arena_init(&a, HINT_MEMORY_MAX);
	c = spread_constraints(p, waiting, false, &a);
	queue = (honors_taints(c) && !same_tolerations(e->old_pod, e->pod)) ||
		selection_changed(c, e->old_pod, e->pod);
	arena_release(&a);
	return queue ? HINT_QUEUE : HINT_SKIP;
}

static bool same_taints(const struct nodeobject *a, const struct nodeobject *b)
{
	if (a->ntaints != b->ntaints)
		return false;
	for (size_t i = 0; i < a->ntaints; i++)
		if (!str_eq(a->taints[i].key, b->taints[i].key) ||
		    !str_eq(a->taints[i].value, b->taints[i].value) ||
		    a->taints[i].effect != b->taints[i].effect)
			return false;
	return true;
}

static bool same_domains(struct spread_constraints c, const struct nodeobject *a,
			 const struct nodeobject *b)
{
	for (size_t i = 0; i < c.n; i++)
		if (!str_eq(labels_get(a->labels, c.v[i].topology_key),
			    labels_get(b->labels, c.v[i].topology_key)))
			return false;
	return true;
}

static bool node_matters(struct spread_constraints c, const struct nodeobject *old,
			 const struct nodeobject *n)
{
	bool was = old && spread_has_keys(c, old), is = n && spread_has_keys(c, n);

	if (!old || !n)
		return was || is;
	if (was != is)
		return true;
	return is && (!same_domains(c, old, n) || !same_taints(old, n));
}

static enum event_hint spread_hints_after_node(const struct plugin *p,
					       const struct podinfo *waiting,
					       const struct cluster_event *e)
{
	struct arena a;
	bool queue;

	arena_init(&a, HINT_MEMORY_MAX);
	queue = node_matters(spread_constraints(p, waiting, false, &a), e->old_node, e->node);
	arena_release(&a);
	return queue ? HINT_QUEUE : HINT_SKIP;
}

const struct plugin_event spread_events[] = {
	{ .kind = EVENT_ASSIGNED_POD,
	  .actions = EVENT_ADD | EVENT_UPDATE_POD_LABEL | EVENT_DELETE,
	  .hint = after_assigned },
	{ .kind = EVENT_UNSCHEDULED_POD,
	  .actions = EVENT_UPDATE_POD_TOLERATION | EVENT_UPDATE_POD_LABEL,
	  .hint = after_target },
	{ .kind = EVENT_NODE,
	  .actions = EVENT_ADD | EVENT_DELETE | EVENT_UPDATE_NODE_LABEL | EVENT_UPDATE_NODE_TAINT,
	  .hint = spread_hints_after_node },
	{ 0 },
};
