/*
 * TaintToleration: taints keep pods away that do not tolerate them; of the others, nodes with
 * fewer untolerated PreferNoSchedule taints are better.
 */
#include "scheduler/cycle/cycle.h"
#include "scheduler/framework/common.h"
#include "scheduler/plugins/plugins.h"

static const struct str untolerated[] = { REASON("node(s) had untolerated taint(s)") };

static struct verdict taint_toleration_filter(struct plugin *p, struct cycle *c,
					      const struct nodeinfo *n)
{
	if (n->node->ntaints == 0 || pod_tolerates_node(c->pod, n->node))
		return VERDICT_OK;
	return VERDICT_STATIC(VERDICT_UNRESOLVABLE, untolerated);
}

static struct verdict taint_toleration_score(struct plugin *p, struct cycle *c, size_t at,
					     int64_t *ret_score)
{
	const struct nodeobject *n = c->feasible[at]->node;
	int64_t count = 0;

	for (size_t i = 0; i < n->ntaints; i++) {
		const struct node_taint *t = &n->taints[i];

		if (t->effect == TAINT_PREFER_NO_SCHEDULE &&
		    !pod_tolerates(c->pod, t->key, t->value, t->effect))
			count++;
	}
	*ret_score = count;
	return VERDICT_OK;
}

static void normalize(struct plugin *p, struct cycle *c, int64_t *scores, size_t n)
{
	scores_normalize(scores, n, true);
}

static enum event_hint taint_toleration_after_node(const struct plugin *p,
						   const struct podinfo *waiting,
						   const struct cluster_event *e)
{
	bool was_closed = !e->old_node || !pod_tolerates_node(waiting, e->old_node);

	return was_closed && pod_tolerates_node(waiting, e->node) ? HINT_QUEUE : HINT_SKIP;
}

static const struct plugin_event events[] = {
	{ .kind = EVENT_NODE,
	  .actions = EVENT_ADD | EVENT_UPDATE_NODE_TAINT,
	  .hint = taint_toleration_after_node },
	{ .kind = EVENT_UNSCHEDULED_POD, .actions = EVENT_UPDATE_POD_TOLERATION },
	{ 0 },
};

const struct plugin_kind plugin_taint_toleration = {
	.name = "TaintToleration",
	.events = events,
	.filter = taint_toleration_filter,
	.score = taint_toleration_score,
	.normalize = normalize,
};
