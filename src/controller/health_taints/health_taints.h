/*
 * health_taints - keeps pods off broken devices.
 *
 * If a device stays Unhealthy, by the reports in pods' status (KEP-4680) and of node agents
 * (dra/availability/device_health.h), it gets a DeviceTaintRule. The rule is deleted after the
 * device has recovered. The condition Ready in a claim's status neither creates nor keeps a rule.
 *
 * A rule selects one device and has the effect NoSchedule: pods that hold the device keep it. Its
 * name is derived from the device's id, the label HEALTH_TAINTS_LABEL marks it as ours, and an
 * annotation has the driver's message. health_taints/book.h decides when, and how many in a pool.
 * If somebody deletes a rule while the device is unhealthy, it is created again.
 *
 * Metrics: devplane_device_health_taints (rules that exist or are about to),
 * devplane_device_health_taints_withheld (unhealthy devices not tainted because of their pool's
 * limit), and those of the work queue "device_health_taints". Threads: the client's loop.
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

/* `devices` must outlive it, track health, and follow rules. */
struct health_taints *health_taints_new(const struct context *ctx, struct devices *devices,
					const struct health_taints_limits *limits);
void health_taints_free(struct health_taints *t); /* NULL allowed */

#endif
