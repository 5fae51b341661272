/*
 * pod_garbage_decision - why a pod is garbage.
 *
 * The rules are upstream's. No I/O, no clock; objects may be nonsense.
 */
#ifndef CONTROLLER_POD_GARBAGE_DECIDE_H
#define CONTROLLER_POD_GARBAGE_DECIDE_H

#include "base/json/json.h"

enum pod_garbage_reason {
	POD_GARBAGE_NOT,
	POD_GARBAGE_ORPHAN, /* its node does not exist */
	POD_GARBAGE_UNSCHEDULED, /* deleted before it came to a node */
	POD_GARBAGE_OUT_OF_SERVICE, /* deleted, and its node is out of service and not ready */
};

/* What is known of the pod's node. */
enum pod_garbage_node {
	POD_GARBAGE_NODE_THERE,
	POD_GARBAGE_NODE_GONE, /* certainly, after the quarantine */
	POD_GARBAGE_NODE_OUT_OF_SERVICE,
};

enum pod_garbage_reason pod_garbage_decide(const struct json *pod, enum pod_garbage_node node);

/* Whether the node has the taint node.kubernetes.io/out-of-service and is not ready. */
bool pod_garbage_out_of_service(const struct json *node);

#endif
