/*
 * NodeDeclaredFeatures: filters nodes by the features that a pod needs, which nodes declare in
 * status.declaredFeatures.
 *
 * Few fields of a pod need a feature, so nearly every pod is skipped after a check of its
 * containers.
 */
#include "base/json/json.h"
#include "scheduler/cycle/cycle.h"
#include "scheduler/framework/common.h"
#include "scheduler/plugins/plugins.h"

static const struct str missing[] = { REASON("node(s) didn't match Pod's required features") };

enum { NEEDS_RESTART_ALL = 1 << 0, NEEDS_HOST_USERS = 1 << 1, NEEDS_MOUNT_OPTIONS = 1 << 2 };

static const struct {
	unsigned need;
	const char *name;
} features[] = {
	{ NEEDS_RESTART_ALL, "RestartAllContainersOnContainerExits" },
	{ NEEDS_HOST_USERS, "UserNamespacesHostNetworkSupport" },
	{ NEEDS_MOUNT_OPTIONS, "VolumeBindMountOptions" },
};

static unsigned needs_of_containers(const struct json *list, bool regular)
{
	unsigned needs = 0;

	JSON_FOREACH (c, list) {
		if (regular && json_find(json_getz(c, "restartPolicyRules"), "action",
					 STR("RestartAllContainers")))
			needs |= NEEDS_RESTART_ALL;
		JSON_FOREACH (mount, json_getz(c, "volumeMounts"))
			if (json_count(json_getz(mount, "bindMountOptions")) > 0)
				needs |= NEEDS_MOUNT_OPTIONS;
	}
	return needs;
}

static unsigned needs_of(const struct podinfo *pod)
{
	const struct json *spec = json_getz(pod->tree, "spec");
	unsigned needs = needs_of_containers(json_getz(spec, "containers"), true) |
			 needs_of_containers(json_getz(spec, "initContainers"), true) |
			 needs_of_containers(json_getz(spec, "ephemeralContainers"), false);
	bool users = true;

	if (json_bool(json_getz(spec, "hostUsers"), &users) && !users &&
	    json_true_at(spec, "hostNetwork"))
		needs |= NEEDS_HOST_USERS;
	return needs;
}

static struct verdict node_declared_features_pre_filter(struct plugin *p, struct cycle *c)
{
	unsigned needs = needs_of(c->pod);

	if (!needs)
		return (struct verdict){ .code = VERDICT_SKIP };
	*cycle_state(c, p) = ARENA_NEW(&c->arena, unsigned);
	*(unsigned *)*cycle_state(c, p) = needs;
	return VERDICT_OK;
}

static bool declares(const struct nodeobject *n, const char *name)
{
	for (size_t i = 0; i < n->nfeatures; i++)
		if (str_eqz(n->features[i], name))
			return true;
	return false;
}

static struct verdict node_declared_features_filter(struct plugin *p, struct cycle *c,
						    const struct nodeinfo *n)
{
	const unsigned *needs = *cycle_state(c, p);

	for (size_t i = 0; needs && i < ARRAY_SIZE(features); i++)
		if ((*needs & features[i].need) && !declares(n->node, features[i].name))
			return VERDICT_STATIC(VERDICT_UNRESOLVABLE, missing);
	return VERDICT_OK;
}

static bool same_features(const struct nodeobject *a, const struct nodeobject *b)
{
	if (a->nfeatures != b->nfeatures)
		return false;
	for (size_t i = 0; i < a->nfeatures; i++)
		if (!str_eq(a->features[i], b->features[i]))
			return false;
	return true;
}

static enum event_hint node_declared_features_after_node(const struct plugin *p,
							 const struct podinfo *waiting,
							 const struct cluster_event *e)
{
	return e->old_node && same_features(e->old_node, e->node) ? HINT_SKIP : HINT_QUEUE;
}

static enum event_hint after_update(const struct plugin *p, const struct podinfo *waiting,
				    const struct cluster_event *e)
{
	return needs_of(e->old_pod) == needs_of(e->pod) ? HINT_SKIP : HINT_QUEUE;
}

static const struct plugin_event events[] = {
	{ .kind = EVENT_NODE,
	  .actions = EVENT_ADD | EVENT_UPDATE_NODE_FEATURES,
	  .hint = node_declared_features_after_node },
	{ .kind = EVENT_UNSCHEDULED_POD, .actions = EVENT_UPDATE, .hint = after_update },
	{ 0 },
};

const struct plugin_kind plugin_node_declared_features = {
	.name = "NodeDeclaredFeatures",
	.events = events,
	.pre_filter = node_declared_features_pre_filter,
	.filter = node_declared_features_filter,
};
