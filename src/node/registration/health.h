/*
 * node_health - what the agent says about the health of devices, on its Node. Pure.
 *
 * The text of the annotation DEVICE_HEALTH_ANNOTATION (dra/availability/device_health.h has its
 * form): every device whose health a driver reports, held or not. So the controller knows of
 * devices that no pod holds, and keeps knowing when a pod ends. Unhealthy ones come first, then
 * Unknown ones, each by driver, pool and device; then the names of Healthy ones, by driver and
 * pool. Messages are cut at NODE_HEALTH_MESSAGE_MAX bytes, and devices beyond
 * DEVICE_HEALTH_REPORTS_MAX or DEVICE_HEALTH_ANNOTATION_MAX bytes are left out.
 *
 * A device that is Healthy again and again leaves the text as it is: it has neither time nor
 * message.
 */
#ifndef NODE_REGISTRATION_HEALTH_H
#define NODE_REGISTRATION_HEALTH_H

#include "base/core/arena.h"
#include "base/core/str.h"

struct health;

enum { NODE_HEALTH_MESSAGE_MAX = 200 };

/*
 * Empty: no driver reports health, or `h` is NULL. `before` is the text that the Node has: a device
 * that has the same health there keeps its beginning, others begin at wall_ns. In `a`.
 */
struct str node_health_annotation(struct arena *a, const struct health *h, struct str before,
				  int64_t wall_ns);

#endif
