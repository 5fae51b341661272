/*
 * The table of built-in kinds, in the order of upstream's defaults. Which of them serve a profile
 * is configuration (config/defaults.c).
 */
#include "scheduler/plugins/plugins.h"

#include "scheduler/dra/plugin.h"
#include "scheduler/preemption/run.h"
#include "scheduler/topology/pod_affinity.h"
#include "scheduler/topology/spread.h"
#include "scheduler/volumes/volumes.h"

const struct plugin_kind *const plugins_built_in[] = {
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

const struct plugin_kind *plugins_find(struct str name)
{
	for (size_t i = 0; plugins_built_in[i]; i++) {
		if (str_eqz(name, plugins_built_in[i]->name))
			return plugins_built_in[i];
	}
	return NULL;
}
