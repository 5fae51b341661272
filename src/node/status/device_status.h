/*
 * device_status - device health in Pod status (KEP-4680): fields, condition, differences. Pure.
 *
 * Input: the devices that the pod holds or held (assign.h), and their health (assign.h for plugins,
 * health.h for DRA drivers). Output:
 *
 * - allocatedResourcesStatus of each container, including init containers, but not ephemeral ones
 * - the pod's own allocatedResourcesStatus, for devices of claims that no container names
 * - the condition devplane.dev/DevicesHealthy, which a Job's podFailurePolicy can name
 *
 * Names are upstream's: the extended resource's name, or "claim:NAME", or "claim:NAME/REQUEST" if
 * the container names a request. For the claim behind a container's extended resources, NAME is the
 * claim's own name, and the request is always present. Ids are the plugin's id or
 * DRIVER/POOL/DEVICE. Entries are sorted by name and id, so that a status changes only if its
 * content does.
 *
 * Evidence stays: once a container has failed, or all containers of the pod have ended, the health
 * that its devices had at that moment is kept. Afterwards an entry changes only from another health
 * to Unhealthy, because a driver may notice the fault after the container has died. Recovery of a
 * device, or a driver that stops reporting, changes nothing there. A container that starts again
 * shows the present health.
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
	/*
	 * The pod's devices, if another agent has assigned them. NULL: those in the log
	 * (assign_uses()).
	 */
	const struct assign_use *uses;
	size_t nuses;
};

/*
 * Adds device health to `status`, which must have containerStatuses and initContainerStatuses
 * already; no entries are created for containers that have none. Adds the condition: True (all
 * Healthy), False with reason DeviceUnhealthy and a message that names devices, or Unknown with
 * reason DeviceHealthUnknown. Pods without devices get no condition. `before` is the status passed
 * last, else the pod's; it provides the transition time and the evidence. It may be NULL.
 */
void device_status_fill(struct arena *a, const struct pod *pod, const struct device_status_opts *o,
			struct json *status, const struct json *before);

/*
 * Returns the devices whose health or message in status `now` differs from status `before` (may be
 * NULL). Each device occurs once, however many containers have it. A device that is not in `before`
 * counts only if it is Unhealthy, because every device starts as Unknown. In `a`; texts are
 * borrowed from the statuses.
 */
size_t device_status_diff(struct arena *a, const struct json *before, const struct json *now,
			  const struct device_status_change **ret_changes);

#endif
