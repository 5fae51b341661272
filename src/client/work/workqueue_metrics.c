/*
 * Names, help texts and buckets are upstream's (component-base/metrics/prometheus/workqueue), so
 * that its dashboards work here.
 */
#include "client/work/workqueue_metrics.h"

#include "base/core/clock.h"

static const double bounds[] = { 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10 };

static struct metrics_family *workqueue_metrics_family(struct metrics *m, const char *name,
						       const char *help, enum metrics_type type)
{
	static const char *const labels[] = { "name" };
	bool histogram = type == METRICS_HISTOGRAM;
	struct metrics_spec spec = { .name = name,
				     .help = help,
				     .type = type,
				     .labels = labels,
				     .labels_n = 1,
				     .bounds = histogram ? bounds : NULL,
				     .bounds_n = histogram ? ARRAY_SIZE(bounds) : 0 };
	struct metrics_family *f = NULL;

	(void)metrics_register(m, &spec, &f, NULL);
	return f;
}

void workqueue_metrics_init(struct workqueue_metrics *w, struct metrics *m, const char *name)
{
	struct str label = str_from(name);

	*w = (struct workqueue_metrics){ NULL };
	if (!m)
		return;
	w->depth = metrics_gauge(workqueue_metrics_family(m, "workqueue_depth",
							  "Current depth of workqueue",
							  METRICS_GAUGE),
				 label);
	w->adds = metrics_counter(
		workqueue_metrics_family(m, "workqueue_adds_total",
					 "Total number of adds handled by workqueue",
					 METRICS_COUNTER),
		label);
	w->retries = metrics_counter(
		workqueue_metrics_family(m, "workqueue_retries_total",
					 "Total number of retries handled by workqueue",
					 METRICS_COUNTER),
		label);
	w->queued = metrics_histogram(
		workqueue_metrics_family(
			m, "workqueue_queue_duration_seconds",
			"How long in seconds an item stays in workqueue before being requested.",
			METRICS_HISTOGRAM),
		label);
	w->worked = metrics_histogram(
		workqueue_metrics_family(
			m, "workqueue_work_duration_seconds",
			"How long in seconds processing an item from workqueue takes.",
			METRICS_HISTOGRAM),
		label);
	w->unfinished = metrics_gauge(
		workqueue_metrics_family(
			m, "workqueue_unfinished_work_seconds",
			"How many seconds of work is in progress and not yet observed by "
			"work_duration. Large values indicate stuck handlers.",
			METRICS_GAUGE),
		label);
	w->longest = metrics_gauge(
		workqueue_metrics_family(
			m, "workqueue_longest_running_processor_seconds",
			"How many seconds has the longest running processor for workqueue been "
			"running.",
			METRICS_GAUGE),
		label);
}

static double seconds(int64_t ns)
{
	return (double)ns / (double)CLOCK_SEC;
}

void workqueue_metrics_add(struct workqueue_metrics *w)
{
	if (!w->adds)
		return;
	metrics_counter_add(w->adds, 1);
	metrics_gauge_add(w->depth, 1);
}

void workqueue_metrics_retry(struct workqueue_metrics *w)
{
	if (w->retries)
		metrics_counter_add(w->retries, 1);
}

void workqueue_metrics_start(struct workqueue_metrics *w, int64_t waited_ns)
{
	if (!w->queued)
		return;
	metrics_gauge_add(w->depth, -1);
	metrics_histogram_observe(w->queued, seconds(waited_ns));
}

void workqueue_metrics_done(struct workqueue_metrics *w, int64_t worked_ns)
{
	if (w->worked)
		metrics_histogram_observe(w->worked, seconds(worked_ns));
}

void workqueue_metrics_unfinished(struct workqueue_metrics *w, int64_t total_ns, int64_t longest_ns)
{
	if (!w->unfinished)
		return;
	metrics_gauge_set(w->unfinished, seconds(total_ns));
	metrics_gauge_set(w->longest, seconds(longest_ns));
}
