/*
 * plugin_explain - explains why a pod cannot run on a node, with the built-in plugins for single
 * nodes.
 *
 * For commands that explain without scheduling: they have JSON objects, and need no cache, cycle or
 * profile. It checks the node that the pod is bound to, unschedulable nodes, nodeSelector, required
 * node affinity, and taints.
 */
#ifndef SCHEDULER_PLUGINS_EXPLAIN_H
#define SCHEDULER_PLUGINS_EXPLAIN_H

#include "base/json/json.h"

struct plugin_explain;

struct plugin_obstacles {
	struct str bound_to; /* the pod is bound to this other node; else empty */
	bool unschedulable; /* the node is unschedulable, and the pod does not tolerate that */
	bool not_selected; /* by nodeSelector or affinity of the pod */
	/*
	 * The first taint that the pod does not tolerate. An empty effect means that there is no
	 * such taint.
	 */
	struct str taint_key, taint_value, taint_effect;
};

/* Reads the pod as the scheduler does. Returns NULL if it is not a valid pod. */
struct plugin_explain *plugin_explain_new(const struct json *pod);
void plugin_explain_free(struct plugin_explain *x); /* NULL allowed */

/* Text lives in the arena. A node that cannot be read has no obstacles. */
struct plugin_obstacles plugin_explain_node(struct plugin_explain *x, struct arena *a,
					    const struct json *node);

#endif
