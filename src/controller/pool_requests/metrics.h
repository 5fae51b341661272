/*
 * pool_requests_metrics - how many ResourcePoolStatusRequests were answered, and how fast, by
 * driver.
 *
 * Names, labels, help texts and buckets are upstream's.
 */
#ifndef CONTROLLER_POOL_REQUESTS_METRICS_H
#define CONTROLLER_POOL_REQUESTS_METRICS_H

#include "base/core/str.h"

struct metrics;
struct metrics_family;

struct pool_requests_metrics {
	struct metrics_family *processed, *errors, *duration; /* NULL: no metrics */
};

void pool_requests_metrics_init(struct pool_requests_metrics *m,
				struct metrics *metrics); /* or NULL */

/* An answer was written, or writing it failed. */
void pool_requests_metrics_count(struct pool_requests_metrics *m, struct str driver, bool success,
				 double seconds);

#endif
