/*
 * waiting_metrics - pods that wait for a node and have ResourceClaims, by reason, for Prometheus.
 *
 *   devplane_waiting_pods{reason}                  gauge: pods
 *   devplane_waiting_pods_oldest_seconds{reason}   gauge: age of the oldest of them, or 0
 *
 * The reason comes from the pod's condition PodScheduled:
 *
 *   NotTried         no scheduler has tried the pod yet
 *   Gated            the pod has scheduling gates
 *   NoDevice         on some node the claims cannot be allocated
 *   Claim            a claim is missing, used by another pod, or being deleted
 *   SchedulerError   the scheduler failed
 *   Other            the devices are not what is missing: CPU, memory, taints of nodes, ..
 *
 * causeOf() in src/web/pods.js has the same rules for the page; page_views_test.mjs compares both.
 * These are all reasons, so the number of series is fixed. Ages are brought up to date every
 * WAITING_METRICS_TICK_MS. Threads: the loop's.
 */
#ifndef CONTROLLER_DEVICES_WAITING_METRICS_H
#define CONTROLLER_DEVICES_WAITING_METRICS_H

#include "base/core/str.h"

struct informers;
struct loop;
struct metrics;
struct waiting_metrics;

enum { WAITING_METRICS_TICK_MS = 5000 };

enum waiting_reason {
	WAITING_NOT_TRIED,
	WAITING_GATED,
	WAITING_NO_DEVICE,
	WAITING_CLAIM,
	WAITING_ERROR,
	WAITING_OTHER,
	WAITING_REASONS
};

const char *waiting_reason_name(enum waiting_reason r);

/* From the reason and message of the condition; both empty: no condition. */
enum waiting_reason waiting_reason_of(struct str reason, struct str message);

/* Follows pods. `informers` must outlive it. Returns NULL if `metrics` is NULL. */
struct waiting_metrics *waiting_metrics_new(struct loop *loop, struct informers *informers,
					    struct metrics *metrics);
void waiting_metrics_free(struct waiting_metrics *m); /* NULL allowed */

#endif
