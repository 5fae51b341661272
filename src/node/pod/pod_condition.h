/*
 * pod_condition - the list of conditions that the agent owns in a Pod's status. Pure.
 *
 * The agent rebuilds its own conditions each time and removes those that no longer apply.
 * Conditions of others (readiness gates, controllers) are never changed.
 */
#ifndef NODE_POD_POD_CONDITION_H
#define NODE_POD_POD_CONDITION_H

#include "base/json/json.h"

/* Whether the pod's devices are healthy; device_status.h builds it. */
#define DEVICES_HEALTHY_CONDITION "devplane.dev/DevicesHealthy"

/* The agent writes this condition with this reason when it evicts a pod; else it is of others. */
#define POD_DISRUPTION_CONDITION "DisruptionTarget"
#define POD_DISRUPTION_REASON    "TerminationByKubelet"

/* Whether the condition says that the agent evicts the pod. */
bool pod_condition_is_eviction(const struct json *condition);

/* Whether the agent writes this condition. */
bool pod_condition_is_own(struct str type);

/*
 * Whether only the agent writes this condition, so that it deletes the condition when it is not
 * wanted. False for PodScheduled: schedulers write it, too.
 */
bool pod_condition_is_exclusive(struct str type);

#endif
