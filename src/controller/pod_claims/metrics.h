/*
 * pod_claims_metrics - how many claims there are, of which sort, and how many were made.
 *
 * Names, labels and helps are upstream's. Counts follow the informer: a claim is counted where
 * it comes and taken off where it goes, so nothing is walked when they are read.
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
	struct metrics_family *there, *created; /* NULL: nobody wants them */
	struct metrics_gauge *gauges[POD_CLAIMS_SORTS]; /* NULL until there is one of the sort */
};

void pod_claims_metrics_init(struct pod_claims_metrics *m, struct metrics *metrics); /* or NULL */

/* Nothing is known of any more. */
void pod_claims_metrics_release(struct pod_claims_metrics *m);

/* One came (1) or went (-1). The arena is for work, and is cleared. */
void pod_claims_metrics_count(struct pod_claims_metrics *m, const struct cached *claim, int delta,
			      struct arena *scratch);

/* One was made for a pod, or could not be. */
void pod_claims_metrics_created(struct pod_claims_metrics *m, const struct json *claim,
				bool success);

#endif
