/*
 * plugin_explain - why a node is not for a pod, as the built-in plugins for single nodes see it.
 *
 * For commands that explain and do not schedule: they have objects as JSON and need no cache, cycle
 * or profile. Considered are the node that the pod is bound to, unschedulable nodes, nodeSelector
 * and required node affinity, and taints.
 */
#ifndef SCHEDULER_PLUGINS_EXPLAIN_H
#define SCHEDULER_PLUGINS_EXPLAIN_H

#include "base/json/json.h"

struct plugin_explain;

struct plugin_obstacles {
	struct str bound_to; /* the pod is bound to this other node; else empty */
	bool unschedulable; /* the node is, and the pod does not tolerate that */
	bool not_selected; /* by nodeSelector or affinity of the pod */
	/* The first taint that the pod does not tolerate; without an effect: none. */
	struct str taint_key, taint_value, taint_effect;
};

/* Reads the pod as the scheduler does. NULL if it is not a valid pod. */
struct plugin_explain *plugin_explain_new(const struct json *pod);
void plugin_explain_free(struct plugin_explain *x); /* NULL allowed */

/* Text lives in the arena. A node that cannot be read has no obstacles. */
struct plugin_obstacles plugin_explain_node(struct plugin_explain *x, struct arena *a,
					    const struct json *node);

#endif
