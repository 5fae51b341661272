/*
 * device_status - device health in a pod's status (KEP-4680): fields, condition, differences.
 *
 * Pure: from what the pod holds or held (assign.h) and what is known of those devices (assign.h
 * for plugins, health.h for drivers) to allocatedResourcesStatus of each container, init
 * containers too, never ephemeral ones; to the pod's own field for devices of claims that no
 * container names; and to the condition devplane.dev/DevicesHealthy, which a Job's
 * podFailurePolicy can name. Names are upstream's: the extended resource's; "claim:NAME", and
 * "claim:NAME/REQUEST" when the container names a request; for the claim behind a container's
 * extended resources NAME is that claim's own and the request is always there. Ids are the
 * plugin's id or DRIVER/POOL/DEVICE. Sorted by name and id, so that nothing changes without
 * cause.
 *
 * Evidence stays: once a container has failed, or all containers of the pod have ended, the health
 * that its devices had at that moment is kept. Afterwards an entry changes only from another health
 * to Unhealthy, because a driver may notice the fault after the container has died. Recovery of a
 * device, or a driver that falls silent, changes nothing there. A container that starts again shows
 * the present health.
 */
#ifndef NODE_STATUS_DEVICE_STATUS_H
#define NODE_STATUS_DEVICE_STATUS_H

#include "node/assign/assign.h"
#include "node/health/health.h"
#include "node/pod/pod.h"
#include "node/status/device_events.h"

struct device_status_opts {
	const struct assign *assign;
	const struct health *health;
	bool messages; /* gate ResourceHealthStatusMessage */
	bool pod_level; /* the server has status.allocatedResourcesStatus */
	int64_t wall_ns;
};

/*
 * Adds to `status`, which has containerStatuses and initContainerStatuses already (entries are
 * made for containers that have none only when `status` is to be patched: never), and the
 * condition to its conditions: True (all Healthy), False with reason DeviceUnhealthy and a
 * message that names devices, Unknown with reason DeviceHealthUnknown; absent for pods without
 * devices. `before` is the status given last, else the pod's, for the transition time and for the
 * health that is kept; may be NULL.
 */
void device_status_fill(struct arena *a, const struct pod *pod, const struct device_status_opts *o,
			struct json *status, const struct json *before);

/*
 * Those in `now` that are not the same in `before` (both statuses; before may be NULL), each
 * device once, however many containers have it; new ones only when Unhealthy: Unknown is what a
 * device is of which nothing was ever said. In `a`; texts are those of the statuses.
 */
size_t device_status_diff(struct arena *a, const struct json *before, const struct json *now,
			  const struct device_status_change **ret_changes);

#endif
