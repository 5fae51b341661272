/*
 * pod_claims_metrics - the number of claims by sort, and how many were created.
 *
 * Names, labels and help texts are upstream's. Counts follow the informer: adding or removing a
 * claim changes a counter, so reading the metrics walks nothing.
 */
#ifndef CONTROLLER_POD_CLAIMS_METRICS_H
#define CONTROLLER_POD_CLAIMS_METRICS_H

#include <stdbool.h>

struct arena;
struct cached;
struct json;
struct metrics;
struct metrics_family;
struct metrics_gauge;

enum { POD_CLAIMS_SORTS = 12 /* allocated or not, with admin access or not, three sources */ };

struct pod_claims_metrics {
	struct metrics_family *there, *created; /* NULL: no metrics */
	struct metrics_gauge *gauges[POD_CLAIMS_SORTS]; /* NULL until a claim of the sort exists */
};

void pod_claims_metrics_init(struct pod_claims_metrics *m, struct metrics *metrics); /* or NULL */

/* Sets all counts to zero. */
void pod_claims_metrics_release(struct pod_claims_metrics *m);

/* A claim was added (1) or removed (-1). The arena is scratch memory and is cleared. */
void pod_claims_metrics_count(struct pod_claims_metrics *m, const struct cached *claim, int delta,
			      struct arena *scratch);

/* A claim was created for a pod, or that failed. */
void pod_claims_metrics_created(struct pod_claims_metrics *m, const struct json *claim,
				bool success);

#endif
