/*
 * plugins - the built-in kinds of plugins; plugins.c is the table.
 */
#ifndef SCHEDULER_PLUGINS_H
#define SCHEDULER_PLUGINS_H

#include "scheduler/plugin.h"

extern const struct plugin_kind plugin_scheduling_gates;
extern const struct plugin_kind plugin_priority_sort;
extern const struct plugin_kind plugin_node_name;
extern const struct plugin_kind plugin_node_unschedulable;
extern const struct plugin_kind plugin_taint_toleration;
extern const struct plugin_kind plugin_node_affinity;
extern const struct plugin_kind plugin_node_ports;
extern const struct plugin_kind plugin_node_resources_fit;
extern const struct plugin_kind plugin_volume_restrictions;
extern const struct plugin_kind plugin_node_volume_limits;
extern const struct plugin_kind plugin_volume_binding;
extern const struct plugin_kind plugin_volume_zone;
extern const struct plugin_kind plugin_pod_topology_spread;
extern const struct plugin_kind plugin_inter_pod_affinity;
extern const struct plugin_kind plugin_dynamic_resources;
extern const struct plugin_kind plugin_default_preemption;
extern const struct plugin_kind plugin_node_resources_balanced_allocation;
extern const struct plugin_kind plugin_image_locality;
extern const struct plugin_kind plugin_default_binder;
extern const struct plugin_kind plugin_node_declared_features;

#endif
