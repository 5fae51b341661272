/*
 * podres_metrics - metrics of the PodResources server.
 *
 * A kubelet prints "kubelet_pod_resources_endpoint_..."; the KEP of the watches uses the same names
 * without "kubelet_". Both are printed, so that dashboards for either work. As upstream, a call
 * that a limit rejected does not count as a request.
 *
 * The servers of a process share a registry, so their counters and gauges add up.
 */
#ifndef NODE_PODRESOURCES_METRICS_H
#define NODE_PODRESOURCES_METRICS_H

#include "base/report/metrics.h"
#include "node/podresources/clients.h"

enum podres_call {
	PODRES_CALL_LIST,
	PODRES_CALL_GET,
	PODRES_CALL_ALLOCATABLE,
	PODRES_CALL_WATCH,
	PODRES_CALL_WATCH_ALLOCATABLE,
	PODRES_CALL_LIST_ALPHA, /* counted in the total only, as upstream does */
	PODRES_CALLS,
};

enum { PODRES_NAMES = 2 }; /* names of each metric: the kubelet's and the KEP's */

/* If all are NULL, nothing is counted. */
struct podres_metrics {
	struct metrics_counter *total[PODRES_NAMES], *total_alpha[PODRES_NAMES];
	struct metrics_counter *requests[PODRES_CALL_LIST_ALPHA][PODRES_NAMES];
	struct metrics_counter *errors[PODRES_CALL_LIST_ALPHA][PODRES_NAMES];
	/* for the two watches; others NULL */
	struct metrics_gauge *streams[PODRES_CALL_LIST_ALPHA];
	struct metrics_counter *events;
	struct metrics_gauge *backlog;
	struct metrics_counter *refused[PODRES_REFUSALS];
};

/* `registry` may be NULL. */
void podres_metrics_init(struct podres_metrics *m, struct metrics *registry);

void podres_metrics_called(const struct podres_metrics *m, enum podres_call call);
void podres_metrics_failed(const struct podres_metrics *m, enum podres_call call);
void podres_metrics_refused(const struct podres_metrics *m, enum podres_refusal why);

/* A watch opened (1) or ended (-1); n messages were sent to watches; their backlog changed. */
void podres_metrics_stream(const struct podres_metrics *m, enum podres_call call, int change);
void podres_metrics_sent(const struct podres_metrics *m, uint64_t n);
void podres_metrics_backlog(const struct podres_metrics *m, double change);

#endif
