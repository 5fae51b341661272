/*
 * A plugin as somebody built it with the first released header, of which scheduler_1_0.h is a copy
 * that never changes. Nodes are rejected by the pod's annotation "avoid".
 */
#include "scheduler_1_0.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct state {
	const struct dp_scheduler_host *host;
};

static int init(const struct dp_scheduler_host *host, const char *args, void **ret_state,
		struct dp_reason *why)
{
	struct state *s = calloc(1, sizeof(*s));

	(void)args;
	if (host->abi_major != DP_SCHEDULER_ABI_MAJOR || !DP_HAS(host, write)) {
		snprintf(why->text, sizeof(why->text), "another host");
		free(s);
		return -1;
	}
	s->host = host;
	*ret_state = s;
	return 0;
}

static uint32_t filter(void *state, struct dp_cycle *c, const struct dp_object *pod,
		       const struct dp_node_info *node, struct dp_reason *why)
{
	struct state *s = state;
	struct dp_text avoid = s->host->annotation(s->host->host, pod, "avoid");
	struct dp_text name = s->host->node_name(s->host->host, node);

	(void)c;
	if (!avoid.p || avoid.n != name.n || memcmp(avoid.p, name.p, name.n) != 0)
		return DP_SUCCESS;
	snprintf(why->text, sizeof(why->text), "avoided");
	return DP_UNSCHEDULABLE;
}

static const struct dp_scheduler_plugin plugin = {
	.size = sizeof(plugin),
	.abi_major = DP_SCHEDULER_ABI_MAJOR,
	.name = "Oldest",
	.init = init,
	.close = free,
	.filter = filter,
};

const struct dp_scheduler_plugin *dp_scheduler_plugin_entry(void)
{
	return &plugin;
}
