/*
 * device_events - decides which changes of device health become events.
 *
 * For each pod, device and direction (the health that it changes to) there is at most one event a
 * minute. The last state is always reported: a change that is held back is reported when its minute
 * is over, unless the device has returned to the state that was reported last. The `before` of a
 * reported change is the health that was reported last. If several claims or containers of the pod
 * have the device, it counts once.
 * Pure. Threads: one at a time.
 */
#ifndef NODE_STATUS_DEVICE_EVENTS_H
#define NODE_STATUS_DEVICE_EVENTS_H

#include "base/core/str.h"
#include "node/assign/assign.h"

enum { DEVICE_EVENTS_PERIOD_MS = 60 * 1000 };

/* One device whose health or message differs. */
struct device_status_change {
	struct str resource, id, message; /* resource: the entry's name */
	enum assign_health before, now;
};

struct device_events;

struct device_events *device_events_new(void);
void device_events_free(struct device_events *e); /* NULL allowed */

/*
 * `tell` is called for each change to report as an event, at once or from device_events_due().
 * Texts are borrowed. It must not change `e`.
 */
typedef void device_events_tell(void *arg, struct str pod_uid,
				const struct device_status_change *c);
void device_events_change(struct device_events *e, struct str pod_uid,
			  const struct device_status_change *c, int64_t now_ms,
			  device_events_tell *tell, void *arg);
int64_t device_events_next(const struct device_events *e); /* INT64_MAX: nothing waits */
void device_events_due(struct device_events *e, int64_t now_ms, device_events_tell *tell,
		       void *arg);
void device_events_forget(struct device_events *e, struct str pod_uid);

DEFINE_CLEANUP(device_events_free, struct device_events *);

#endif
