/*
 * device_events - which changes of health become events.
 *
 * One per pod, device and direction (the health that it changes to) a minute at most, and the
 * last state always told: what was held back is told when its minute is over, if it is still news
 * then: a device that flapped and is what it was told to be is not. The health before, in what is
 * told, is the one that was told last. A device that several of the pod's claims or containers
 * have is one.
 * Pure; one at a time.
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
 * `tell` is called, now or by device_events_due(), for what is to be written. Texts are
 * borrowed; it may not change `e`.
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
