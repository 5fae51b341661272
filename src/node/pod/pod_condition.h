/*
 * pod_condition - the one list of the conditions that the agent owns in a pod's status. Pure.
 *
 * The agent makes its own anew each time and removes those that no longer apply. Conditions of
 * others (readiness gates, controllers) are never changed.
 */
#ifndef NODE_POD_POD_CONDITION_H
#define NODE_POD_POD_CONDITION_H

#include "base/core/str.h"

/* Whether the pod's devices are healthy; device_status.h makes it. */
#define DEVICES_HEALTHY_CONDITION "devplane.dev/DevicesHealthy"

/* Written by the agent. */
bool pod_condition_is_own(struct str type);

/*
 * Written by nobody else, so it is deleted when the agent does not want it. PodScheduled is not:
 * schedulers write it, too.
 */
bool pod_condition_is_exclusive(struct str type);

#endif
