/*
 * Series are looked up at each count: a check costs requests, which are dearer.
 */
#include "controller/job/metrics.h"

#include "base/report/metrics.h"

static struct metrics_family *job_family(struct metrics *m, const char *name, const char *help,
					 const char *const *labels, size_t n)
{
	struct metrics_family *f = NULL;

	(void)metrics_register(m,
			       &(struct metrics_spec){ .name = name,
						       .help = help,
						       .type = METRICS_COUNTER,
						       .labels = labels,
						       .labels_n = n },
			       &f, NULL);
	return f;
}

void job_metrics_init(struct job_metrics *m, struct metrics *metrics)
{
	static const char *const of_syncs[] = { "completion_mode", "result", "action" };
	static const char *const of_jobs[] = { "completion_mode", "result", "reason" };
	static const char *const of_pods[] = { "completion_mode", "result" };

	*m = (struct job_metrics){ 0 };
	if (!metrics)
		return;
	m->syncs = job_family(metrics, "job_controller_job_syncs_total", "The number of job syncs",
			      of_syncs, ARRAY_SIZE(of_syncs));
	m->finished = job_family(metrics, "job_controller_jobs_finished_total",
				 "The number of finished jobs", of_jobs, ARRAY_SIZE(of_jobs));
	m->pods = job_family(metrics, "job_controller_job_pods_finished_total",
			     "The number of finished Pods that are fully tracked", of_pods,
			     ARRAY_SIZE(of_pods));
}

static struct str mode_word(bool indexed)
{
	return indexed ? STR("Indexed") : STR("NonIndexed");
}

static void count(struct metrics_family *f, const struct str *values, size_t n, int64_t by)
{
	if (f && by > 0)
		metrics_counter_add(metrics_counter_of(f, values, n), (uint64_t)by);
}

void job_metrics_sync(struct job_metrics *m, bool indexed, const char *action, bool success)
{
	const struct str values[] = { mode_word(indexed), success ? STR("success") : STR("error"),
				      str_from(action) };

	count(m->syncs, values, ARRAY_SIZE(values), 1);
}

void job_metrics_finished(struct job_metrics *m, bool indexed, bool success, struct str reason)
{
	const struct str values[] = { mode_word(indexed),
				      success ? STR("succeeded") : STR("failed"), reason };

	count(m->finished, values, ARRAY_SIZE(values), 1);
}

void job_metrics_pods(struct job_metrics *m, bool indexed, bool success, int64_t n)
{
	const struct str values[] = { mode_word(indexed),
				      success ? STR("succeeded") : STR("failed") };

	count(m->pods, values, ARRAY_SIZE(values), n);
}
