/*
 * device_event_text - the text of an event about a change of device health (KEP-4680). Pure.
 */
#ifndef NODE_STATUS_DEVICE_EVENT_TEXT_H
#define NODE_STATUS_DEVICE_EVENT_TEXT_H

#include "base/core/buf.h"
#include "node/status/device_events.h"

struct health;

const char *device_event_reason(const struct device_status_change *c); /* "DeviceUnhealthy" */

/*
 * Appends "Device ID of RESOURCE: Healthy -> Unhealthy: MESSAGE". If the driver's time of the
 * change differs from wall_ns by a minute or more, that time is added.
 */
void device_event_print(struct buf *out, const struct device_status_change *c,
			const struct health *health, int64_t wall_ns);

#endif
