/*
 * The table of built-in kinds, in the order of upstream's defaults. Which of them serve a profile
 * is configuration (config_defaults.c).
 */
#include "scheduler/plugins.h"

const struct plugin_kind *const plugin_kinds[] = {
	&plugin_scheduling_gates,
	&plugin_priority_sort,
	&plugin_node_unschedulable,
	&plugin_node_name,
	&plugin_taint_toleration,
	&plugin_node_affinity,
	&plugin_node_ports,
	&plugin_node_resources_fit,
	&plugin_volume_restrictions,
	&plugin_node_volume_limits,
	&plugin_volume_binding,
	&plugin_volume_zone,
	&plugin_pod_topology_spread,
	&plugin_inter_pod_affinity,
	&plugin_dynamic_resources,
	&plugin_default_preemption,
	&plugin_node_declared_features,
	&plugin_node_resources_balanced_allocation,
	&plugin_image_locality,
	&plugin_default_binder,
	NULL,
};

const struct plugin_kind *plugin_kind_find(struct str name)
{
	for (size_t i = 0; plugin_kinds[i]; i++) {
		if (str_eqz(name, plugin_kinds[i]->name))
			return plugin_kinds[i];
	}
	return NULL;
}
