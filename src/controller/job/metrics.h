/*
 * job_metrics - how many checks of Jobs there were, and how Jobs and their pods ended.
 *
 * Names and labels are upstream's.
 */
#ifndef CONTROLLER_JOB_METRICS_H
#define CONTROLLER_JOB_METRICS_H

#include "base/core/str.h"

struct metrics;
struct metrics_family;

struct job_metrics {
	struct metrics_family *syncs, *finished, *pods; /* NULL: no metrics */
};

void job_metrics_init(struct job_metrics *m, struct metrics *metrics); /* or NULL */

/* `action`: "reconciling", "tracking", "pods_created", "pods_deleted". */
void job_metrics_sync(struct job_metrics *m, bool indexed, const char *action, bool success);
void job_metrics_finished(struct job_metrics *m, bool indexed, bool success, struct str reason);
void job_metrics_pods(struct job_metrics *m, bool indexed, bool success, int64_t n);

#endif
