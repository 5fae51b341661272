/*
 * device_status - device health in a pod's status (KEP-4680): fields, condition, differences.
 *
 * Pure: from what the pod holds or held (assign.h) and what is known of those devices (assign.h for
 * plugins, health.h for drivers) to allocatedResourcesStatus of each container, init
 * containers too, never ephemeral ones; to the pod's own field for claims that no container
 * names; and to the condition devplane.dev/DevicesHealthy. Names are upstream's:
 * the extended resource's, "claim:NAME" and "claim:NAME/REQUEST" when the container names a request; ids are the
 * plugin's id or DRIVER/POOL/DEVICE. Sorted by name and id, so that nothing changes without cause.
 */
#ifndef NODE_DEVICE_STATUS_H
#define NODE_DEVICE_STATUS_H

#include "node/assign.h"
#include "node/health.h"
#include "node/pod.h"

#define DEVICES_HEALTHY_CONDITION "devplane.dev/DevicesHealthy"

struct device_status_opts {
	const struct assign *assign;
	const struct health *health;
	bool messages; /* gate ResourceHealthStatusMessage */
	bool pod_level; /* the server has status.allocatedResourcesStatus */
	int64_t wall_ns;
};

/*
 * Adds to `status`, which has containerStatuses and initContainerStatuses already (entries are made
 * for containers that have none only when `status` is to be patched: never), and the condition to its
 * conditions: True (all Healthy), False with reason DeviceUnhealthy and a message that names devices,
 * Unknown with reason DeviceHealthUnknown; absent for pods without devices. `before` is the status that
 * the pod has, for the transition time; may be NULL.
 */
void device_status_fill(struct arena *a, const struct pod *pod, const struct device_status_opts *o,
			struct json *status, const struct json *before);

/* One device whose health or message differs. */
struct device_status_change {
	struct str resource, id, message; /* resource: the entry's name */
	enum assign_health before, now;
};

/* Those in `now` that are not the same in `before` (both statuses); new ones only when not Healthy. */
size_t device_status_diff(struct arena *a, const struct json *before, const struct json *now,
			  const struct device_status_change **ret_changes);

/* --- events --------------------------------------------------------------------------- */

/*
 * Which of these become events: one per pod, device and direction a minute at most, and the last
 * state always told: what was held back is told when its minute is over, if it is still news.
 */
struct device_events;

struct device_events *device_events_new(void);
void device_events_free(struct device_events *e);

/* `tell` is called, now or by device_events_due(), for what is to be written. Texts are borrowed. */
typedef void device_events_tell(void *arg, struct str pod_uid,
				const struct device_status_change *c);
void device_events_change(struct device_events *e, struct str pod_uid,
			  const struct device_status_change *c, int64_t now_ms,
			  device_events_tell *tell, void *arg);
int64_t device_events_next(const struct device_events *e); /* INT64_MAX: nothing waits */
void device_events_due(struct device_events *e, int64_t now_ms, device_events_tell *tell,
		       void *arg);
void device_events_forget(struct device_events *e, struct str pod_uid);

#endif
