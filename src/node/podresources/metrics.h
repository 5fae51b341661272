/*
 * podres_metrics - what monitoring is told of PodResources.
 *
 * A kubelet prints "kubelet_pod_resources_endpoint_..."; the KEP of the watches names the same
 * without "kubelet_". Both are printed, so that what was made for either finds it. What a limit
 * refused is no request, as upstream's is none.
 *
 * The servers of a process share a registry: their counts, and gauges, add up.
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

enum { PODRES_NAMES = 2 }; /* of each count: a kubelet's and the KEP's */

/* All NULL: not counted. */
struct podres_metrics {
	struct metrics_counter *total[PODRES_NAMES], *total_alpha[PODRES_NAMES];
	struct metrics_counter *requests[PODRES_CALL_LIST_ALPHA][PODRES_NAMES];
	struct metrics_counter *errors[PODRES_CALL_LIST_ALPHA][PODRES_NAMES];
	struct metrics_gauge *streams[PODRES_CALL_LIST_ALPHA]; /* of the watches; others NULL */
	struct metrics_counter *events;
	struct metrics_gauge *backlog;
	struct metrics_counter *refused[PODRES_REFUSALS];
};

/* `registry` may be NULL. */
void podres_metrics_init(struct podres_metrics *m, struct metrics *registry);

void podres_metrics_called(const struct podres_metrics *m, enum podres_call call);
void podres_metrics_failed(const struct podres_metrics *m, enum podres_call call);
void podres_metrics_refused(const struct podres_metrics *m, enum podres_refusal why);

/* A watch opened (1) or ended (-1); messages went to watches; their backlog grew by so much. */
void podres_metrics_stream(const struct podres_metrics *m, enum podres_call call, int change);
void podres_metrics_sent(const struct podres_metrics *m, uint64_t n);
void podres_metrics_backlog(const struct podres_metrics *m, double change);

#endif
