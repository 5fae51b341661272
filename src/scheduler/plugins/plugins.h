/*
 * plugins - the table of built-in plugins, and the plugins that have no folder of their own.
 */
#ifndef SCHEDULER_PLUGINS_PLUGINS_H
#define SCHEDULER_PLUGINS_PLUGINS_H

#include "scheduler/framework/plugin.h"

extern const struct plugin_kind plugin_scheduling_gates;
extern const struct plugin_kind plugin_priority_sort;
extern const struct plugin_kind plugin_node_name;
extern const struct plugin_kind plugin_node_unschedulable;
extern const struct plugin_kind plugin_taint_toleration;
extern const struct plugin_kind plugin_node_affinity;
extern const struct plugin_kind plugin_node_ports;
extern const struct plugin_kind plugin_node_resources_fit;
extern const struct plugin_kind plugin_node_resources_balanced_allocation;
extern const struct plugin_kind plugin_image_locality;
extern const struct plugin_kind plugin_default_binder;
extern const struct plugin_kind plugin_node_declared_features;

/* All built-in kinds, ended by NULL; and lookup by name. */
extern const struct plugin_kind *const plugins_built_in[];
const struct plugin_kind *plugins_find(struct str name);

#endif
