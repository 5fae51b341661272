/*
 * cluster_event - a change in the cluster, for the queue and its hints.
 *
 * An event is a kind of object and an action on it. Plugins register the events for which they want
 * to be asked whether a pod that they rejected may fit now.
 */
#ifndef SCHEDULER_CACHE_CLUSTER_EVENT_H
#define SCHEDULER_CACHE_CLUSTER_EVENT_H

#include <stdbool.h>

#include "base/core/str.h"

struct cached;
struct nodeobject;
struct podinfo;

enum event_kind {
	EVENT_ASSIGNED_POD, /* upstream's AssignedPod: a pod with a node */
	EVENT_UNSCHEDULED_POD, /* a waiting pod changed */
	EVENT_NODE,
	EVENT_PVC,
	EVENT_PV,
	EVENT_STORAGE_CLASS,
	EVENT_CSI_NODE,
	EVENT_CSI_DRIVER,
	EVENT_CSI_CAPACITY,
	EVENT_VOLUME_ATTACHMENT,
	EVENT_CLAIM,
	EVENT_CLAIM_TEMPLATE,
	EVENT_SLICE,
	EVENT_DEVICE_CLASS,
	EVENT_TAINT_RULE,
	EVENT_NAMESPACE,
	EVENT_EXTENSION, /* a plugin's extended resource; `extension` is its type */
	EVENT_WILDCARD, /* all of the above */
	EVENT_KINDS
};

enum event_action {
	EVENT_ADD = 1 << 0,
	EVENT_DELETE = 1 << 1,
	EVENT_UPDATE_OTHER = 1 << 2,
	EVENT_UPDATE_NODE_ALLOCATABLE = 1 << 3,
	EVENT_UPDATE_NODE_LABEL = 1 << 4,
	EVENT_UPDATE_NODE_TAINT = 1 << 5, /* includes changes of spec.unschedulable */
	EVENT_UPDATE_NODE_CONDITION = 1 << 6,
	EVENT_UPDATE_NODE_ANNOTATION = 1 << 7,
	EVENT_UPDATE_NODE_FEATURES = 1 << 8,
	EVENT_UPDATE_POD_LABEL = 1 << 9,
	EVENT_UPDATE_POD_SCALE_DOWN = 1 << 10,
	EVENT_UPDATE_POD_GATES = 1 << 11,
	EVENT_UPDATE_POD_TOLERATION = 1 << 12,
	EVENT_UPDATE_POD_GENERATED_CLAIM = 1 << 13,
	EVENT_UPDATE = ((1 << 14) - 1) & ~(EVENT_ADD | EVENT_DELETE),
	EVENT_ALL = (1 << 14) - 1,
};

/*
 * One event. `label` is upstream's name for metrics ("AssignedPodDelete", "NodeAdd" ..). Old and
 * new state depend on the kind: parsed pods and nodes, or cached objects; NULL if absent. They are
 * borrowed for the call.
 */
struct cluster_event {
	enum event_kind kind;
	unsigned actions; /* enum event_action */
	const char *label;
	uint32_t extension; /* number of the extended resource's type */
	const struct podinfo *old_pod, *pod;
	const struct nodeobject *old_node, *node;
	struct cached *old_object, *object;
};

enum event_hint { HINT_SKIP, HINT_QUEUE };

/* Returns the event's name in upstream's metrics. */
const char *cluster_event_label(const struct cluster_event *e);

#endif
