/*
 * A plugin whose struct ends after pre_enqueue: what lies beyond is not its own and is not called.
 */
#include <devplane/scheduler.h>

#include <stdlib.h>

static uint32_t pre_enqueue(void *state, const struct dp_object *pod, struct dp_reason *why)
{
	(void)state;
	(void)pod;
	why->text[0] = '\0';
	return DP_UNSCHEDULABLE;
}

static uint32_t beyond(void *state, struct dp_cycle *c, const struct dp_object *pod,
		       const struct dp_node_info *node, struct dp_reason *why)
{
	(void)state;
	(void)c;
	(void)pod;
	(void)node;
	(void)why;
	abort();
}

static const struct dp_scheduler_plugin plugin = {
	.size = offsetof(struct dp_scheduler_plugin, less),
	.abi_major = DP_SCHEDULER_ABI_MAJOR,
	.name = "Small",
	.pre_enqueue = pre_enqueue,
	.filter = beyond,
};

const struct dp_scheduler_plugin *dp_scheduler_plugin_entry(void)
{
	return &plugin;
}
