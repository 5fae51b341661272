/*
 * node_health - reports the health of DRA devices in an annotation of the agent's Node. Pure.
 *
 * Builds the text of DEVICE_HEALTH_ANNOTATION (its format: dra/availability/device_health.h) for
 * device health (KEP-4680) and availability (KEP-5677). It has every device whose health a driver
 * reports, held or not, so the controller also knows devices that no pod holds, and still knows
 * them when a pod has ended. Unhealthy devices come first, then Unknown ones, each sorted by
 * driver, pool and device; then the names of Healthy ones, by driver and pool. Messages are cut at
 * NODE_HEALTH_MESSAGE_MAX bytes. Devices beyond DEVICE_HEALTH_REPORTS_MAX or
 * DEVICE_HEALTH_ANNOTATION_MAX bytes are left out.
 *
 * Repeated Healthy reports do not change the text, because Healthy devices have neither time nor
 * message in it.
 */
#ifndef NODE_REGISTRATION_HEALTH_H
#define NODE_REGISTRATION_HEALTH_H

#include "base/core/arena.h"
#include "base/core/str.h"

struct health;

enum { NODE_HEALTH_MESSAGE_MAX = 200 };

/*
 * Returns empty text if no driver reports health, or `h` is NULL. `before` is the Node's present
 * text: a device with the same health there keeps its start time; others start at wall_ns. In `a`.
 */
struct str node_health_annotation(struct arena *a, const struct health *h, struct str before,
				  int64_t wall_ns);

#endif
