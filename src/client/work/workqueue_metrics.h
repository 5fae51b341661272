/*
 * workqueue_metrics - client-go's metrics of work queues, under the same names.
 */
#ifndef CLIENT_WORK_WORKQUEUE_METRICS_H
#define CLIENT_WORK_WORKQUEUE_METRICS_H

#include "base/report/metrics.h"

/* The metrics of one queue; all NULL without a registry. */
struct workqueue_metrics {
	struct metrics_gauge *depth;
	struct metrics_counter *adds, *retries;
	struct metrics_histogram *queued, *worked;
	struct metrics_gauge *unfinished, *longest;
};

/* `m` may be NULL: nothing is counted. */
void workqueue_metrics_init(struct workqueue_metrics *w, struct metrics *m, const char *name);

void workqueue_metrics_add(struct workqueue_metrics *w);
void workqueue_metrics_retry(struct workqueue_metrics *w);
void workqueue_metrics_start(struct workqueue_metrics *w, int64_t waited_ns);
void workqueue_metrics_done(struct workqueue_metrics *w, int64_t worked_ns);
void workqueue_metrics_unfinished(struct workqueue_metrics *w, int64_t total_ns,
				  int64_t longest_ns);

#endif
