/*
 * A plugin as somebody built it with the first released header, of which scheduler_1_0.h is a copy
 * that never changes. Nodes are rejected by the pod's annotation "avoid", and when they have a pod:
 * a resource counts them. Its struct ends where that header's ends, and what lies behind it would
 * crash a host that took it for members of today's.
 */
#include "scheduler_1_0.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TYPE "oldest.example.com"

struct state {
	const struct dp_scheduler_host *host;
};

static int add_pod(void *resource, const struct dp_object *pod)
{
	(void)pod;
	++*(int *)resource;
	return 0;
}

static int remove_pod(void *resource, const struct dp_object *pod)
{
	(void)pod;
	--*(int *)resource;
	return 0;
}

static void *clone_count(const void *resource)
{
	int *copy = malloc(sizeof(*copy));

	*copy = *(const int *)resource;
	return copy;
}

static int run(void *state, const struct dp_scheduler_host *host, struct dp_cache *cache,
	       struct dp_reason *why)
{
	(void)state;
	(void)why;
	host->cache_set(cache, "n1", calloc(1, sizeof(int)));
	host->cache_set(cache, "n2", calloc(1, sizeof(int)));
	return 0;
}

static int make_handle(void *arg, struct dp_handle *ret_handle, struct dp_reason *why)
{
	(void)arg;
	(void)why;
	*ret_handle = (struct dp_handle){ .size = sizeof(*ret_handle), .run = run };
	return 0;
}

static const struct {
	struct dp_resource_type type;
	uintptr_t behind[16];
} frozen = {
	.type = { .size = sizeof(frozen.type),
		  .name = TYPE,
		  .add_pod = add_pod,
		  .remove_pod = remove_pod,
		  .clone = clone_count,
		  .free = free },
	.behind = { 16, 16, 16, 16, 16, 16, 16, 16 },
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
	return host->register_handle(host->host, &frozen.type, make_handle, NULL, NULL, why);
}

static uint32_t filter(void *state, struct dp_cycle *c, const struct dp_object *pod,
		       const struct dp_node_info *node, struct dp_reason *why)
{
	struct state *s = state;
	struct dp_text avoid = s->host->annotation(s->host->host, pod, "avoid");
	struct dp_text name = s->host->node_name(s->host->host, node);
	const int *pods = s->host->node_resource(s->host->host, node, TYPE);

	(void)c;
	if (!pods || *pods > 0) {
		snprintf(why->text, sizeof(why->text), "taken");
		return DP_UNSCHEDULABLE;
	}
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
