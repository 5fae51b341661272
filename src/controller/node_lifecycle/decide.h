/*
 * node_decision - the conditions and taints that a node should have.
 *
 * Names, reasons and messages are upstream's. A node is read as any user may have written it:
 * nonsense counts as absent. No I/O, no clock.
 */
#ifndef CONTROLLER_NODE_LIFECYCLE_DECIDE_H
#define CONTROLLER_NODE_LIFECYCLE_DECIDE_H

#include "base/json/json.h"

/* Condition Ready. A status other than the three of the API counts as Unknown. */
enum node_ready { NODE_READY_MISSING, NODE_READY_TRUE, NODE_READY_FALSE, NODE_READY_UNKNOWN };

enum node_ready node_decision_ready(const struct json *node);

/* Ready's lastHeartbeatTime; or empty. */
struct str node_decision_heartbeat(const struct json *node);

/* Whether the taint with effect NoExecute is there that goes with this state; or the other one. */
bool node_decision_has_taint(const struct json *node, enum node_ready ready);
bool node_decision_has_opposite(const struct json *node, enum node_ready ready);

/* Region and zone from the labels, as upstream joins them; empty: neither is known. */
struct str node_decision_zone(const struct json *node, struct arena *a);

/* Whether the label node.kubernetes.io/exclude-disruption is set. */
bool node_decision_excluded(const struct json *node);

/*
 * The patch (strategic merge, status) for a node whose heartbeats have stopped: Ready,
 * MemoryPressure, DiskPressure and PIDPressure become Unknown. NULL: Ready is Unknown already. The
 * patch carries uid and resourceVersion, so that it never hides a heartbeat that we have not seen.
 */
struct json *node_decision_lost(struct arena *a, const struct json *node, int64_t now_ns);

struct node_decision_facts {
	bool granted; /* the zone allows to add a taint of effect NoExecute now */
	bool stopped; /* no node is ready: nothing is evicted, and such taints are removed */
	int64_t now_ns; /* wall clock */
};

/*
 * The patch (JSON merge) that corrects the node's taints; NULL: they are right. Effect NoSchedule
 * follows conditions and spec.unschedulable. Effect NoExecute, not-ready or unreachable, follows
 * Ready: it goes when Ready is True, one replaces the other at once, and the first needs a grant.
 * The patch carries uid and resourceVersion. *ret_granted says whether it uses the grant.
 */
struct json *node_decision_taints(struct arena *a, const struct json *node,
				  const struct node_decision_facts *facts, bool *ret_granted);

/*
 * The patch (strategic merge, status) that marks a pod as not ready; NULL: it has no condition
 * Ready, or it is False already.
 */
struct json *node_decision_pod(struct arena *a, const struct json *pod, int64_t now_ns);

#endif
