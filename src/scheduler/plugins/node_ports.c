/*
 * NodePorts: the host's ports that a pod wants must be free on the node.
 */
#include "scheduler/cycle/cycle.h"
#include "scheduler/framework/common.h"
#include "scheduler/plugins/plugins.h"

static const struct str taken[] = { REASON(
	"node(s) didn't have free ports for the requested pod ports") };

static struct verdict node_ports_pre_filter(struct plugin *p, struct cycle *c)
{
	return (struct verdict){ .code = c->pod->nports ? VERDICT_SUCCESS : VERDICT_SKIP };
}

static struct verdict node_ports_filter(struct plugin *p, struct cycle *c, const struct nodeinfo *n)
{
	if (n->ports.n == 0)
		return VERDICT_OK;
	for (size_t i = 0; i < c->pod->nports; i++)
		if (nodeinfo_port_taken(n, &c->pod->ports[i]))
			return VERDICT_STATIC(VERDICT_UNSCHEDULABLE, taken);
	return VERDICT_OK;
}

/* As nodeinfo_port_taken() between two pods: 0.0.0.0 is every address. */
static bool collide(const struct pod_port *a, const struct pod_port *b)
{
	if (a->port != b->port || !str_eq(a->protocol, b->protocol))
		return false;
	return str_eq(a->ip, b->ip) || str_eqz(a->ip, "0.0.0.0") || str_eqz(b->ip, "0.0.0.0");
}

static enum event_hint after_delete(const struct plugin *p, const struct podinfo *waiting,
				    const struct cluster_event *e)
{
	const struct podinfo *gone = e->old_pod;

	if (pod_is_nowhere(gone))
		return HINT_SKIP;
	for (size_t i = 0; i < gone->nports; i++)
		for (size_t k = 0; k < waiting->nports; k++)
			if (collide(&gone->ports[i], &waiting->ports[k]))
				return HINT_QUEUE;
	return HINT_SKIP;
}

static const struct plugin_event events[] = {
	{ .kind = EVENT_ASSIGNED_POD, .actions = EVENT_DELETE, .hint = after_delete },
	{ .kind = EVENT_NODE, .actions = EVENT_ADD },
	{ 0 },
};

const struct plugin_kind plugin_node_ports = {
	.name = "NodePorts",
	.events = events,
	.pre_filter = node_ports_pre_filter,
	.filter = node_ports_filter,
};
