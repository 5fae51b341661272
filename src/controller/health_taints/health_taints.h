/*
 * health_taints - keeps pods off broken devices: a device that stays Unhealthy by what pods'
 * status and node agents report (dra/availability/device_health.h) gets a DeviceTaintRule, which
 * goes after the device has recovered. Condition Ready in the status of a claim causes no rule,
 * and keeps none.
 *
 * A rule is for one device, with the effect NoSchedule: pods that have the device keep it. Its name
 * is derived from the device's, its label HEALTH_TAINTS_LABEL says that it is ours, and an
 * annotation has what the driver said. health_taints/book.h says when, and how many in a pool.
 * A rule that somebody deletes while the device is unhealthy is made again.
 *
 * Metrics: devplane_device_health_taints (rules that are there or on their way),
 * devplane_device_health_taints_withheld (unhealthy devices that the limit of their pool keeps from
 * being tainted), and those of the work queue "device_health_taints".
 * Threads: the client's loop.
 */
#ifndef CONTROLLER_HEALTH_TAINTS_HEALTH_TAINTS_H
#define CONTROLLER_HEALTH_TAINTS_HEALTH_TAINTS_H

#include "controller/health_taints/book.h"

#define HEALTH_TAINTS_LABEL      "devplane.dev/managed-by"
#define HEALTH_TAINTS_MANAGER    "device-health-taints"
#define HEALTH_TAINTS_KEY        "devplane.dev/unhealthy"
#define HEALTH_TAINTS_ANNOTATION "devplane.dev/health-message"

struct context;
struct devices;
struct health_taints;

/* The devices must outlive it, keep the book of health, and follow rules. */
struct health_taints *health_taints_new(const struct context *ctx, struct devices *devices,
					const struct health_taints_limits *limits);
void health_taints_free(struct health_taints *t); /* NULL allowed */

#endif
