/*
 * One series per driver in requests; metrics.h limits the number.
 */
#include "controller/pool_requests/metrics.h"

#include "base/report/metrics.h"

#define PREFIX "resourcepoolstatusrequest_controller_"

static struct metrics_family *pool_requests_metrics_family(struct metrics *m,
							   struct metrics_spec spec)
{
	static const char *const labels[] = { "driver_name" };
	struct metrics_family *f = NULL;

	spec.labels = labels;
	spec.labels_n = ARRAY_SIZE(labels);
	(void)metrics_register(m, &spec, &f, NULL);
	return f;
}

void pool_requests_metrics_init(struct pool_requests_metrics *m, struct metrics *metrics)
{
	/* Doubled from 1 ms fourteen times. */
	static const double bounds[] = { 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128,
					 0.256, 0.512, 1.024, 2.048, 4.096, 8.192, 16.384 };

	*m = (struct pool_requests_metrics){ NULL };
	if (!metrics)
		return;
	m->processed = pool_requests_metrics_family(
		metrics, (struct metrics_spec){
				 .name = PREFIX "requests_processed_total",
				 .help = "Total number of ResourcePoolStatusRequests processed",
				 .type = METRICS_COUNTER });
	m->errors = pool_requests_metrics_family(
		metrics, (struct metrics_spec){ .name = PREFIX "request_processing_errors_total",
						.help = "Total number of errors encountered while "
							"processing ResourcePoolStatusRequests",
						.type = METRICS_COUNTER });
	m->duration = pool_requests_metrics_family(
		metrics,
		(struct metrics_spec){ .name = PREFIX "request_processing_duration_seconds",
				       .help = "Time taken to process a ResourcePoolStatusRequest",
				       .type = METRICS_HISTOGRAM,
				       .bounds = bounds,
				       .bounds_n = ARRAY_SIZE(bounds) });
}

void pool_requests_metrics_count(struct pool_requests_metrics *m, struct str driver, bool success,
				 double seconds)
{
	if (!m->processed)
		return;
	metrics_counter_add(metrics_counter(m->processed, driver), 1);
	if (!success)
		metrics_counter_add(metrics_counter(m->errors, driver), 1);
	metrics_histogram_observe(metrics_histogram(m->duration, driver), seconds);
}
