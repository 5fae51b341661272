/*
 * node_taint_set - the NoExecute taints of a node, and when a pod has to leave because of them.
 *
 * A taint counts from its timeAdded, or, without one, from when it was first seen; a time in the
 * future counts as now. A taint that stays, or that not-ready and unreachable hand to each other,
 * keeps its start. So a restarted controller evicts at the same time, and a node whose state
 * flickers keeps no pod alive.
 *
 * A pod leaves at the earliest end of its tolerations, or at once if it does not tolerate a taint.
 * As in upstream, of several tolerations that match one taint the first counts. Everything comes
 * from users: nonsense is read as absent. No I/O, no clock.
 */
#ifndef CONTROLLER_NODE_TAINTS_DECIDE_H
#define CONTROLLER_NODE_TAINTS_DECIDE_H

#include "base/json/json.h"

#define NODE_TAINTS_NEVER INT64_MAX

struct node_taint {
	struct str key, value;
	int64_t since; /* wall clock, ns */
};

struct node_taint_set {
	struct str node;
	size_t n;
	struct node_taint *v;
	/* Texts and taints follow in the same block. */
};

/* Returns NULL if the node has no such taint. `old` is the set before, or NULL. Use free(). */
struct node_taint_set *node_taint_set_new(struct str node, const struct json *taints,
					  const struct node_taint_set *old, int64_t now_ns);

/* When the pod has to leave: at the latest now, a later time, or NODE_TAINTS_NEVER. */
int64_t node_taint_set_due(const struct node_taint_set *s, const struct json *pod, int64_t now_ns);

#endif
