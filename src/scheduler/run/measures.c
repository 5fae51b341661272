/*
 * Families are created once. Series by result and profile are looked up by their labels, once per
 * attempt.
 */
#include "scheduler/run/measures.h"

#include "base/core/clock.h"
#include "scheduler/cache/nodecache.h"
#include "scheduler/run/scheduler_impl.h"

static const char *const results[] = {
	[MEASURES_SCHEDULED] = "scheduled",
	[MEASURES_UNSCHEDULABLE] = "unschedulable",
	[MEASURES_ERROR] = "error",
};

/* Doubling from 1 ms, 10 ms and 1. */
static const double milli[] = { 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128,
				0.256, 0.512, 1.024, 2.048, 4.096, 8.192, 16.384 };
static const double sli[] = { 0.01,   0.02,   0.04,   0.08,    0.16,    0.32,   0.64,
			      1.28,   2.56,   5.12,   10.24,   20.48,   40.96,  81.92,
			      163.84, 327.68, 655.36, 1310.72, 2621.44, 5242.88 };
static const double micro[] = { 1e-6, 2e-6, 4e-6, 8e-6, 16e-6, 32e-6, 64e-6, 128e-6, 1e-3, 1e-2 };
static const double counts[] = { 1, 2, 4, 8, 16 };

static const char *const result_profile[] = { "result", "profile" };
static const char *const only_result[] = { "result" };
static const char *const only_attempts[] = { "attempts" };
static const char *const only_type[] = { "type" };

static struct metrics_family *measures_family(struct metrics *registry,
					      const struct metrics_spec *spec)
{
	struct metrics_family *f = NULL;

	(void)metrics_register(registry, spec, &f, NULL);
	return f;
}

static void init_attempts(struct measures *m, struct metrics *r)
{
	struct metrics_family *f;

	m->attempts = measures_family(
		r, &(struct metrics_spec){ .name = "scheduler_schedule_attempts_total",
					   .help = "Attempts to schedule pods, by result",
					   .type = METRICS_COUNTER,
					   .labels = result_profile,
					   .labels_n = 2 });
	m->attempt_seconds = measures_family(
		r, &(struct metrics_spec){ .name = "scheduler_scheduling_attempt_duration_seconds",
					   .help = "Duration of a scheduling attempt, including "
						   "binding",
					   .type = METRICS_HISTOGRAM,
					   .labels = result_profile,
					   .labels_n = 2,
					   .bounds = milli,
					   .bounds_n = ARRAY_SIZE(milli) });
	f = measures_family(r, &(struct metrics_spec){
				       .name = "scheduler_scheduling_algorithm_duration_seconds",
				       .help = "Time to choose a node",
				       .type = METRICS_HISTOGRAM,
				       .bounds = milli,
				       .bounds_n = ARRAY_SIZE(milli) });
	m->algorithm_seconds = metrics_histogram_of(f, NULL, 0);
	f = measures_family(r,
			    &(struct metrics_spec){ .name = "scheduler_snapshot_duration_seconds",
						    .help = "Time to update the snapshot",
						    .type = METRICS_HISTOGRAM,
						    .bounds = micro,
						    .bounds_n = ARRAY_SIZE(micro) });
	m->snapshot_seconds = metrics_histogram_of(f, NULL, 0);
	f = measures_family(r, &(struct metrics_spec){ .name = "scheduler_pod_scheduling_attempts",
						       .help = "Attempts until a pod was bound",
						       .type = METRICS_HISTOGRAM,
						       .bounds = counts,
						       .bounds_n = ARRAY_SIZE(counts) });
	m->pod_attempts = metrics_histogram_of(f, NULL, 0);
	m->sli_seconds = measures_family(
		r, &(struct metrics_spec){ .name = "scheduler_pod_scheduling_sli_duration_seconds",
					   .help = "Time from a pod's first attempt to its binding",
					   .type = METRICS_HISTOGRAM,
					   .labels = only_attempts,
					   .labels_n = 1,
					   .bounds = sli,
					   .bounds_n = ARRAY_SIZE(sli) });
}

static void init_selectors(struct measures *m, struct metrics *r)
{
	struct metrics_family *f;

	f = measures_family(r, &(struct metrics_spec){
				       .name = "devplane_scheduler_selector_evaluations_total",
				       .help = "Evaluations of a device selector for one device",
				       .type = METRICS_COUNTER });
	m->evaluations = metrics_counter_of(f, NULL, 0);
	f = measures_family(
		r, &(struct metrics_spec){ .name = "devplane_scheduler_selector_cost_total",
					   .help = "Cost of these evaluations, in CEL's units",
					   .type = METRICS_COUNTER });
	m->evaluation_cost = metrics_counter_of(f, NULL, 0);
}

void measures_init(struct measures *m, struct metrics *registry)
{
	struct metrics_family *f;

	*m = (struct measures){ 0 };
	if (!registry)
		return;
	init_attempts(m, registry);
	init_selectors(m, registry);
	f = measures_family(registry, &(struct metrics_spec){
					      .name = "scheduler_permit_wait_duration_seconds",
					      .help = "Time that pods wait at the Permit extension "
						      "point",
					      .type = METRICS_HISTOGRAM,
					      .labels = only_result,
					      .labels_n = 1,
					      .bounds = milli,
					      .bounds_n = ARRAY_SIZE(milli) });
	for (size_t i = 0; i < ARRAY_SIZE(results); i++)
		m->permit_seconds[i] = metrics_histogram_of(
			f, &(struct str){ results[i], strlen(results[i]) }, 1);
	f = measures_family(registry,
			    &(struct metrics_spec){ .name = "scheduler_cache_size",
						    .help = "Nodes, pods and assumed pods in the "
							    "scheduler's cache",
						    .type = METRICS_GAUGE,
						    .labels = only_type,
						    .labels_n = 1 });
	m->nodes = metrics_gauge_of(f, &STR("nodes"), 1);
	m->pods = metrics_gauge_of(f, &STR("pods"), 1);
	m->assumed = metrics_gauge_of(f, &STR("assumed_pods"), 1);
	f = measures_family(registry,
			    &(struct metrics_spec){ .name = "scheduler_bindings_in_flight",
						    .help = "Pods that are being bound",
						    .type = METRICS_GAUGE });
	m->writing = metrics_gauge_of(f, NULL, 0);
}

static double seconds(int64_t ns)
{
	return (double)ns / CLOCK_SEC;
}

void measures_attempt(struct measures *m, const struct profile *p, enum measures_result result,
		      int64_t took_ns)
{
	struct str labels[] = { str_from(results[result]), p->name };

	if (!m->attempts)
		return;
	metrics_counter_add(metrics_counter_of(m->attempts, labels, 2), 1);
	metrics_histogram_observe(metrics_histogram_of(m->attempt_seconds, labels, 2),
				  seconds(took_ns));
}

void measures_algorithm(struct measures *m, int64_t took_ns)
{
	if (m->algorithm_seconds)
		metrics_histogram_observe(m->algorithm_seconds, seconds(took_ns));
}

void measures_snapshot(struct measures *m, int64_t took_ns)
{
	if (m->snapshot_seconds)
		metrics_histogram_observe(m->snapshot_seconds, seconds(took_ns));
}

void measures_bound(struct measures *m, unsigned attempts, int64_t took_ns)
{
	char text[16];

	if (!m->pod_attempts)
		return;
	(void)snprintf(text, sizeof(text), "%u", attempts);
	metrics_histogram_observe(m->pod_attempts, attempts);
	metrics_histogram_observe(
		metrics_histogram_of(
			m->sli_seconds,
			&(struct str[]){ attempts < 15 ? str_from(text) : STR("15+") }[0], 1),
		seconds(took_ns));
}

void measures_permit(struct measures *m, enum measures_result result, int64_t took_ns)
{
	if (m->permit_seconds[result])
		metrics_histogram_observe(m->permit_seconds[result], seconds(took_ns));
}

void measures_selectors(struct measures *m, struct inventory_counts now)
{
	if (!m->evaluations)
		return;
	metrics_counter_add(m->evaluations, now.evaluations - m->counted.evaluations);
	metrics_counter_add(m->evaluation_cost, now.cost - m->counted.cost);
	m->counted = now;
}

void measures_cache(struct measures *m, const struct scheduler *s)
{
	if (!m->nodes)
		return;
	metrics_gauge_set(m->nodes, (double)nodecache_nodes(s->nodes));
	metrics_gauge_set(m->pods, (double)nodecache_pods(s->nodes));
	metrics_gauge_set(m->assumed, (double)nodecache_assumed(s->nodes));
	metrics_gauge_set(m->writing, (double)s->writing);
}
