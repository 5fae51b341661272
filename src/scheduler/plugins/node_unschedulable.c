/*
 * NodeUnschedulable: a cordoned node takes only pods that tolerate its being so.
 */
#include "scheduler/cycle/cycle.h"
#include "scheduler/framework/common.h"
#include "scheduler/plugins/plugins.h"

static const struct str unschedulable[] = { REASON("node(s) were unschedulable") };

static bool tolerates(const struct podinfo *pod)
{
	return pod_tolerates(pod, STR("node.kubernetes.io/unschedulable"), STR(""),
			     TAINT_NO_SCHEDULE);
}

static struct verdict node_unschedulable_filter(struct plugin *p, struct cycle *c,
						const struct nodeinfo *n)
{
	if (!n->node->unschedulable || tolerates(c->pod))
		return VERDICT_OK;
	return VERDICT_STATIC(VERDICT_UNRESOLVABLE, unschedulable);
}

static enum event_hint node_unschedulable_after_node(const struct plugin *p,
						     const struct podinfo *waiting,
						     const struct cluster_event *e)
{
	bool was_closed = !e->old_node || e->old_node->unschedulable;

	return was_closed && !e->node->unschedulable ? HINT_QUEUE : HINT_SKIP;
}

static enum event_hint after_toleration(const struct plugin *p, const struct podinfo *waiting,
					const struct cluster_event *e)
{
	return tolerates(e->pod) ? HINT_QUEUE : HINT_SKIP;
}

static const struct plugin_event events[] = {
	{ .kind = EVENT_NODE,
	  .actions = EVENT_ADD | EVENT_UPDATE_NODE_TAINT,
	  .hint = node_unschedulable_after_node },
	{ .kind = EVENT_UNSCHEDULED_POD,
	  .actions = EVENT_UPDATE_POD_TOLERATION,
	  .hint = after_toleration },
	{ 0 },
};

const struct plugin_kind plugin_node_unschedulable = {
	.name = "NodeUnschedulable",
	.events = events,
	.filter = node_unschedulable_filter,
};
