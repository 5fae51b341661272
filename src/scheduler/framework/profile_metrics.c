/*
 * Durations and counts of a profile's plugins. Handles are in arrays with three indexes. A series
 * is created with its first value, so that only series that occur are exposed.
 */
#include "base/core/clock.h"
#include "base/core/mem.h"
#include "scheduler/framework/cycle_state.h"
#include "scheduler/framework/profile_metrics.h"

static const char *const labels[] = {
	[MEASURE_PRE_ENQUEUE] = "PreEnqueue",
	[MEASURE_PRE_FILTER] = "PreFilter",
	[MEASURE_ADD_POD] = "PreFilterExtensionAddPod",
	[MEASURE_REMOVE_POD] = "PreFilterExtensionRemovePod",
	[MEASURE_FILTER] = "Filter",
	[MEASURE_POST_FILTER] = "PostFilter",
	[MEASURE_PRE_SCORE] = "PreScore",
	[MEASURE_SCORE] = "Score",
	[MEASURE_NORMALIZE] = "ScoreExtensionNormalize",
	[MEASURE_RESERVE] = "Reserve",
	[MEASURE_UNRESERVE] = "Unreserve",
	[MEASURE_PERMIT] = "Permit",
	[MEASURE_PRE_BIND] = "PreBind",
	[MEASURE_BIND] = "Bind",
	[MEASURE_POST_BIND] = "PostBind",
};

/* Doubling from 0.1 ms; and by half from 10 us. */
static const double point_bounds[] = { 0.0001, 0.0002, 0.0004, 0.0008, 0.0016, 0.0032,
				       0.0064, 0.0128, 0.0256, 0.0512, 0.1024, 0.2048 };
enum { EXECUTION_BOUNDS = 20 };

static const char *const point_labels[] = { "extension_point", "status", "profile" };
static const char *const execution_labels[] = { "plugin", "extension_point", "status" };
static const char *const evaluation_labels[] = { "plugin", "extension_point", "profile" };

static struct metrics_family *profile_metrics_family(struct metrics *registry,
						     const struct metrics_spec *spec)
{
	struct metrics_family *f = NULL;

	(void)metrics_register(registry, spec, &f, NULL);
	return f;
}

static void count_evaluations(struct profile *p, struct metrics *registry)
{
	static const enum profile_measure counted[] = { MEASURE_PRE_FILTER, MEASURE_FILTER,
							MEASURE_PRE_SCORE, MEASURE_SCORE };
	struct metrics_family *f = profile_metrics_family(
		registry, &(struct metrics_spec){ .name = "scheduler_plugin_evaluation_total",
						  .help = "Calls of plugins",
						  .type = METRICS_COUNTER,
						  .labels = evaluation_labels,
						  .labels_n = ARRAY_SIZE(evaluation_labels) });
	const struct profile_point *points[] = { &p->pre_filter, &p->filter, &p->pre_score,
						 &p->score };

	for (size_t i = 0; f && i < ARRAY_SIZE(counted); i++) {
		for (size_t k = 0; k < points[i]->n; k++) {
			unsigned at = points[i]->at[k];

			p->metrics->evaluated[at][counted[i]] = metrics_counter(
				f, str_from(p->plugins[at].name), str_from(labels[counted[i]]),
				p->name);
		}
	}
}

void profile_metrics_init(struct profile *p)
{
	struct metrics *registry = p->services->metrics;
	double bounds[EXECUTION_BOUNDS];
	struct profile_metrics *m;

	if (!registry)
		return;
	p->metrics = m = XNEW(struct profile_metrics);
	m->execution = xcalloc(p->n + 1, sizeof(*m->execution));
	m->evaluated = xcalloc(p->n + 1, sizeof(*m->evaluated));
	bounds[0] = 0.00001;
	for (size_t i = 1; i < EXECUTION_BOUNDS; i++)
		bounds[i] = bounds[i - 1] * 1.5;
	m->points = profile_metrics_family(
		registry, &(struct metrics_spec){
				  .name = "scheduler_framework_extension_point_duration_seconds",
				  .help = "Duration of all plugins of an extension point",
				  .type = METRICS_HISTOGRAM,
				  .labels = point_labels,
				  .labels_n = ARRAY_SIZE(point_labels),
				  .bounds = point_bounds,
				  .bounds_n = ARRAY_SIZE(point_bounds) });
	m->executions = profile_metrics_family(
		registry,
		&(struct metrics_spec){ .name = "scheduler_plugin_execution_duration_seconds",
					.help = "Duration of one plugin at an extension point",
					.type = METRICS_HISTOGRAM,
					.labels = execution_labels,
					.labels_n = ARRAY_SIZE(execution_labels),
					.bounds = bounds,
					.bounds_n = EXECUTION_BOUNDS });
	count_evaluations(p, registry);
}

void profile_metrics_free(struct profile *p)
{
	if (!p->metrics)
		return;
	free(p->metrics->execution);
	free(p->metrics->evaluated);
	free(p->metrics);
}

void profile_evaluated(struct profile *p, unsigned plugin, enum profile_measure m, uint64_t n)
{
	struct metrics_counter *c = p->metrics ? p->metrics->evaluated[plugin][m] : NULL;

	if (c)
		metrics_counter_add(c, n);
}

void profile_flush(struct profile *p)
{
	for (size_t i = 0; p->metrics && i < p->filter.n; i++) {
		unsigned at = p->filter.at[i];

		profile_evaluated(p, at, MEASURE_FILTER, p->metrics->filtered[at]);
		p->metrics->filtered[at] = 0;
	}
}

int64_t profile_now(const struct profile *p)
{
	return p->metrics && p->services->clock ? clock_monotonic(p->services->clock) : 0;
}

static double seconds(int64_t ns)
{
	return (double)ns / CLOCK_SEC;
}

int64_t profile_executed(struct profile *p, unsigned plugin, enum profile_measure m,
			 enum verdict_code code, int64_t since)
{
	int64_t now = profile_now(p);
	struct metrics_histogram **h;

	if (!since || !p->metrics->executions)
		return now;
	h = &p->metrics->execution[plugin][m][code];
	if (!*h)
		*h = metrics_histogram(p->metrics->executions, str_from(p->plugins[plugin].name),
				       str_from(labels[m]), str_from(verdict_name(code)));
	metrics_histogram_observe(*h, seconds(now - since));
	return now;
}

void profile_took(struct profile *p, const struct cycle *c, const struct plugin *plugin,
		  enum profile_measure m, enum verdict_code code, int64_t since)
{
	struct metrics_histogram **h;

	if (!since || !p->metrics)
		return;
	if (plugin) {
		if (c->sampled)
			(void)profile_executed(p, plugin->at, m, code, since);
		return;
	}
	if (!p->metrics->points)
		return;
	h = &p->metrics->point[m][code];
	if (!*h)
		*h = metrics_histogram(p->metrics->points, str_from(labels[m]),
				       str_from(verdict_name(code)), p->name);
	metrics_histogram_observe(*h, seconds(profile_now(p) - since));
}
