/*
 * node_lifecycle - notices nodes that stop sending heartbeats, and keeps nodes' taints.
 *
 * The rules are upstream's. A heartbeat is a renewal of the node's lease in kube-node-lease, or a
 * new lastHeartbeatTime in its condition Ready; it counts when we see it, so nobody's clock
 * matters. After `grace_ms` without one the lease is read from the server, in case our watch is
 * late. If it has not changed, the node's conditions become Unknown and its pods not ready. Taints
 * of effect NoSchedule follow from conditions at once; the taint of effect NoExecute, for which
 * pods are evicted (node_taints/), is added at the rate that the zone allows (node_zones.h).
 *
 * Costs: nodes are never polled. A renewal, 500 per second for 5,000 nodes, costs the informer one
 * copy of the lease's text and us a comparison of two fields, a lookup and a timer whose time moves
 * on, all independent of the number of nodes. An update of a node that changes neither conditions
 * nor taints nor labels costs four comparisons of texts; another one is parsed. A node costs about
 * 300 bytes besides the informers' copies.
 *
 * A new controller gives all nodes a new grace period, as upstream's; taints stay as they are.
 * Threads: the context's loop.
 */
#ifndef CONTROLLER_NODE_LIFECYCLE_NODE_LIFECYCLE_H
#define CONTROLLER_NODE_LIFECYCLE_NODE_LIFECYCLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct context;
struct node_lifecycle;

/* Zero means the default, unless noted. A negative rate or share means 0. */
struct node_lifecycle_opts {
	int64_t grace_ms; /* 50 s */
	int64_t startup_grace_ms; /* for nodes without condition Ready, from their creation; 60 s */
	double rate, secondary_rate; /* 0.1 and 0.01 nodes per second */
	size_t large; /* nodes; no default: 0 means that every zone is large */
	double unhealthy; /* 0.55 */
	unsigned workers; /* nodes processed at once, and as many pods; 8 */
};

struct node_lifecycle *node_lifecycle_new(const struct context *ctx,
					  const struct node_lifecycle_opts *opts);

/* The initial state was seen. */
bool node_lifecycle_synced(const struct node_lifecycle *n);

/* NULL allowed. */
void node_lifecycle_free(struct node_lifecycle *n);

#endif
