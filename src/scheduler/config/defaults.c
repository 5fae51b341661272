/*
 * Upstream's default plugins, and how a profile changes them: disabled plugins are removed ("*":
 * all), plugins that the profile enables again are replaced in place, and new ones are appended.
 */
#include "scheduler/config/config_impl.h"

#define DEFAULT(name, weight)                      \
	{                                          \
		{ name, sizeof(name) - 1 }, weight \
	}

const struct config_plugin config_default_plugins[] = {
	DEFAULT("SchedulingGates", 0),
	DEFAULT("PrioritySort", 0),
	DEFAULT("NodeName", 0),
	DEFAULT("NodeUnschedulable", 0),
	DEFAULT("TaintToleration", 3),
	DEFAULT("NodeAffinity", 2),
	DEFAULT("NodePorts", 0),
	DEFAULT("NodeResourcesFit", 1),
	DEFAULT("VolumeRestrictions", 0),
	DEFAULT("NodeVolumeLimits", 0),
	DEFAULT("VolumeBinding", 0),
	DEFAULT("VolumeZone", 0),
	DEFAULT("PodTopologySpread", 2),
	DEFAULT("InterPodAffinity", 2),
	/* Before preemption: deallocate an idle claim rather than evict a pod. */
	DEFAULT("DynamicResources", 2),
	DEFAULT("DefaultPreemption", 0),
	DEFAULT("NodeResourcesBalancedAllocation", 1),
	DEFAULT("ImageLocality", 1),
	DEFAULT("DefaultBinder", 0),
	DEFAULT("NodeDeclaredFeatures", 0),
	{ { NULL, 0 }, 0 },
};

enum { DEFAULTS = ARRAY_SIZE(config_default_plugins) - 1 };

static const struct config_plugin *defaults_find(const struct config_plugin *v, size_t n,
						 struct str name)
{
	for (size_t i = 0; i < n; i++) {
		if (str_eq(v[i].name, name))
			return &v[i];
	}
	return NULL;
}

/* Returns the last entry of that name, since later entries win in upstream's map. */
static const struct config_plugin *find_last(const struct config_plugin *v, size_t n,
					     struct str name)
{
	for (size_t i = n; i-- > 0;) {
		if (str_eq(v[i].name, name))
			return &v[i];
	}
	return NULL;
}

static void defaults_merge(struct arena *a, struct config_set *s)
{
	bool all_off = defaults_find(s->disabled, s->ndisabled, STR("*"));
	struct config_plugin *merged;
	bool *replaced;
	size_t n = 0;

	merged = ARENA_ARRAY(a, struct config_plugin, DEFAULTS + s->nenabled);
	replaced = ARENA_ARRAY(a, bool, s->nenabled + 1);
	for (size_t i = 0; !all_off && i < DEFAULTS; i++) {
		const struct config_plugin *d = &config_default_plugins[i], *own;

		if (defaults_find(s->disabled, s->ndisabled, d->name))
			continue;
		own = find_last(s->enabled, s->nenabled, d->name);
		if (own)
			replaced[own - s->enabled] = true;
		merged[n++] = own ? *own : *d;
	}
	for (size_t i = 0; i < s->nenabled; i++) {
		if (!replaced[i])
			merged[n++] = s->enabled[i];
	}
	s->enabled = merged;
	s->nenabled = n;
}

/* All of upstream's defaults are in multiPoint; the other extension points have no defaults. */
void config_merge_defaults(struct arena *a, struct config_profile *p)
{
	defaults_merge(a, &p->points[POINT_MULTI]);
}

void config_default_profile(struct arena *a, struct config_profile *p)
{
	*p = (struct config_profile){ .name = STR("default-scheduler"), .percentage_of_nodes = -1 };
	config_merge_defaults(a, p);
}
