/*
 * profile_metrics - metrics, private to the files of profile.
 *
 * A duration costs two clock readings, so single plugins are measured in one cycle of ten, as
 * upstream does. Extension points are always measured. Metric handles are resolved on first use.
 */
#ifndef SCHEDULER_FRAMEWORK_PROFILE_METRICS_H
#define SCHEDULER_FRAMEWORK_PROFILE_METRICS_H

#include "base/report/metrics.h"
#include "scheduler/framework/profile.h"
#include "scheduler/framework/verdict.h"

enum { VERDICT_CODES = VERDICT_PENDING + 1 };

struct profile_metrics {
	struct metrics_family *points, *executions;
	/* Resolved on first use: [point][code], and the same by plugin. */
	struct metrics_histogram *point[PROFILE_MEASURES][VERDICT_CODES];
	struct metrics_histogram *(*execution)[PROFILE_MEASURES][VERDICT_CODES];
	/* plugin_evaluation_total of pre_filter, filter, pre_score and score. */
	struct metrics_counter *(*evaluated)[PROFILE_MEASURES];
	uint32_t filtered[PLUGINS_MAX]; /* calls that are not yet added to the counter */
};

/* Scratch memory that the profile's cycles reuse. */
struct profile_scratch {
	struct verdict *verdicts; /* all zero between cycles */
	size_t nverdicts;
	int64_t *scores;
	size_t nscores;
};

void profile_metrics_init(struct profile *p);
void profile_metrics_free(struct profile *p);

/* Counts n calls of the plugin in upstream's plugin_evaluation_total. */
void profile_evaluated(struct profile *p, unsigned plugin, enum profile_measure m, uint64_t n);
/* Adds the filter calls to their counters. */
void profile_flush(struct profile *p);

/*
 * Records the duration of one plugin's call in a sampled cycle, which began at `since`. Returns
 * now.
 */
int64_t profile_executed(struct profile *p, unsigned plugin, enum profile_measure m,
			 enum verdict_code code, int64_t since);

/* Prints names in order like a Go list: "[A B]". With `bare`, a single name has no brackets. */
struct str profile_names(const struct profile *p, uint64_t plugins, bool bare, struct arena *a);

/* Returns the failure of an extension point in upstream's words: `before "name"after: why`. */
struct verdict profile_failure(struct arena *a, const char *before, const struct plugin *p,
			       const char *after, const struct verdict *v);

#endif
