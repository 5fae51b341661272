/*
 * node_health - what the agent says about devices that are not healthy, on its Node. Pure.
 *
 * The text of the annotation DEVICE_HEALTH_ANNOTATION (dra/device_health.h has its form): every
 * device that a driver reports as not Healthy, held or not. So the controller knows of devices that
 * no pod holds, and keeps knowing when a pod ends. Unhealthy ones come
 * first, then Unknown ones, each by driver, pool and device. Messages are cut at
 * NODE_HEALTH_MESSAGE_MAX bytes, and devices beyond DEVICE_HEALTH_REPORTS_MAX or
 * DEVICE_HEALTH_ANNOTATION_MAX bytes are left out.
 */
#ifndef NODE_NODE_HEALTH_H
#define NODE_NODE_HEALTH_H

#include "base/arena.h"
#include "base/str.h"

struct health;

enum { NODE_HEALTH_MESSAGE_MAX = 200 };

/*
 * Empty: all are healthy, or `h` is NULL. `before` is the text that the Node has: a device that has
 * the same health there keeps its beginning, others begin at wall_ns. In `a`.
 */
struct str node_health_annotation(struct arena *a, const struct health *h, struct str before,
				  int64_t wall_ns);

#endif
