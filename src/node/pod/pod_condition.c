/*
 * One row per condition that upstream's kubelet or this agent writes, whether or not it applies to
 * a pod now: an earlier agent with other feature gates may have written it.
 */
#include "node/pod/pod_condition.h"

#include "base/core/mem.h"

static const struct own {
	const char *type;
	bool shared; /* others write it, too */
} own[] = {
	{ .type = "PodReadyToStartContainers" },
	{ .type = "Initialized" },
	{ .type = "Ready" },
	{ .type = "ContainersReady" },
	{ .type = "PodScheduled", .shared = true },
	{ .type = "PodResizePending" },
	{ .type = "PodResizeInProgress" },
	{ .type = "AllContainersRestarting" },
	{ .type = DEVICES_HEALTHY_CONDITION },
};

static const struct own *pod_condition_find(struct str type)
{
	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		if (str_eqz(type, own[i].type))
			return &own[i];
	}
	return NULL;
}

bool pod_condition_is_own(struct str type)
{
	return pod_condition_find(type) != NULL;
}

bool pod_condition_is_exclusive(struct str type)
{
	const struct own *o = pod_condition_find(type);

	return o && !o->shared;
}

bool pod_condition_is_eviction(const struct json *condition)
{
	return str_eqz(json_text_at(condition, "type"), POD_DISRUPTION_CONDITION) &&
	       str_eqz(json_text_at(condition, "reason"), POD_DISRUPTION_REASON);
}
