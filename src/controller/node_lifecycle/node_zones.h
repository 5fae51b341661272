/*
 * node_zones - how fast nodes may be tainted with effect NoExecute, by zone.
 *
 * The rules are upstream's. A zone without a ready node is fully disrupted; one with more than two
 * nodes that are not ready, and at least the share `unhealthy` of its nodes, partially. Nodes of a
 * zone wait in a queue and are let out at `rate`; in a partially disrupted zone at
 * `secondary_rate`, or not at all if it has at most `large` nodes. If every zone is fully
 * disrupted, the fault is probably ours, and nothing is let out until a node is ready again.
 *
 * Each function costs O(1), except node_zones_settle() and node_zones_next(), which visit all
 * zones. Pure: the caller passes the time.
 */
#ifndef CONTROLLER_NODE_LIFECYCLE_NODE_ZONES_H
#define CONTROLLER_NODE_LIFECYCLE_NODE_ZONES_H

#include "base/core/list.h"
#include "base/core/map.h"

struct zone;

struct zone_limits {
	double rate, secondary_rate; /* nodes per second */
	size_t large;
	double unhealthy; /* from 0 to 1 */
};

/* Embed it in a node; zero it and init it once. */
struct zone_node {
	struct list waiting; /* of its zone */
	struct zone *zone; /* NULL: not put yet */
	bool counted, ready;
};

void zone_node_init(struct zone_node *n);

struct node_zones {
	struct zone_limits limits;
	struct map by_name; /* struct zone */
	bool stopped; /* every zone is fully disrupted */
};

void node_zones_init(struct node_zones *z, const struct zone_limits *limits);

/* All nodes must have been removed. */
void node_zones_release(struct node_zones *z);

/*
 * Adds the node, moves it to another zone, or changes its state. `counted`: it matters for the
 * state of its zone.
 */
void node_zones_put(struct node_zones *z, struct zone_node *n, struct str zone, bool counted,
		    bool ready);
void node_zones_remove(struct node_zones *z, struct zone_node *n);

/* The name of the node's zone, which it has. */
struct str node_zones_name(const struct zone_node *n);

/* Queues the node; or takes it out of the queue. */
void node_zones_wait(struct zone_node *n);
void node_zones_spare(struct zone_node *n);
static inline bool node_zones_waits(const struct zone_node *n)
{
	return !list_empty(&n->waiting);
}

enum node_zones_change { ZONES_AS_BEFORE, ZONES_STOPPED, ZONES_RESUMED };

/* Applies the rules to the nodes as they are now. */
enum node_zones_change node_zones_settle(struct node_zones *z, int64_t now_ns);

/*
 * Takes the next node out of a queue that may go now. Otherwise returns NULL, and *ret_wait_ns is
 * how long to wait; INT64_MAX: until something changes.
 */
struct zone_node *node_zones_next(struct node_zones *z, int64_t now_ns, int64_t *ret_wait_ns);

#endif
