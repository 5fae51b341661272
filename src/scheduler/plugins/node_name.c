/*
 * NodeName: a pod that names its node goes there and nowhere else.
 *
 * Pods in the queue have no node, so this mostly stays out of the way.
 */
#include "scheduler/cycle/cycle.h"
#include "scheduler/framework/common.h"
#include "scheduler/plugins/plugins.h"

static const struct str no_match[] = { REASON("node(s) didn't match the requested node name") };

static struct verdict node_name_pre_filter(struct plugin *p, struct cycle *c)
{
	if (c->pod->node.n == 0)
		return (struct verdict){ .code = VERDICT_SKIP };
	cycle_only(c, &c->pod->node, 1);
	return VERDICT_OK;
}

static struct verdict node_name_filter(struct plugin *p, struct cycle *c, const struct nodeinfo *n)
{
	if (c->pod->node.n == 0 || str_eq(c->pod->node, n->name))
		return VERDICT_OK;
	return VERDICT_STATIC(VERDICT_UNRESOLVABLE, no_match);
}

static const struct plugin_event events[] = {
	{ .kind = EVENT_NODE, .actions = EVENT_ADD },
	{ 0 },
};

const struct plugin_kind plugin_node_name = {
	.name = "NodeName",
	.events = events,
	.pre_filter = node_name_pre_filter,
	.filter = node_name_filter,
};
