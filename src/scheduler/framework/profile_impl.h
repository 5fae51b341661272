/*
 * profile_impl - between the files of profile: what is measured.
 *
 * A duration costs two readings of the clock, so single plugins are measured in one cycle of ten,
 * as upstream does it; extension points always. Handles are resolved when they are first needed.
 */
#ifndef SCHEDULER_FRAMEWORK_PROFILE_IMPL_H
#define SCHEDULER_FRAMEWORK_PROFILE_IMPL_H

#include "base/report/metrics.h"
#include "scheduler/framework/profile.h"
#include "scheduler/framework/verdict.h"

enum { VERDICT_CODES = VERDICT_PENDING + 1 };

struct profile_metrics {
	struct metrics_family *points, *executions;
	/* Resolved as they come; [point][code], and by plugin. */
	struct metrics_histogram *point[PROFILE_MEASURES][VERDICT_CODES];
	struct metrics_histogram *(*execution)[PROFILE_MEASURES][VERDICT_CODES];
	/* plugin_evaluation_total of pre_filter, filter, pre_score and score. */
	struct metrics_counter *(*evaluated)[PROFILE_MEASURES];
	uint32_t filtered[PLUGINS_MAX]; /* not yet added to its counter */
};

/* Scratch memory that cycles of a profile use one after the other. */
struct profile_scratch {
	struct verdict *verdicts; /* all zero between cycles */
	size_t nverdicts;
	int64_t *scores;
	size_t nscores;
};

void profile_metrics_init(struct profile *p);
void profile_metrics_free(struct profile *p);

/* The plugin was asked; counted with upstream's plugin_evaluation_total. */
void profile_evaluated(struct profile *p, unsigned plugin, enum profile_measure m, uint64_t n);
/* Adds what filters were asked to their counters. */
void profile_flush(struct profile *p);

/* Of one plugin in a sampled cycle: begun at `since`. Returns now. */
int64_t profile_executed(struct profile *p, unsigned plugin, enum profile_measure m,
			 enum verdict_code code, int64_t since);

/* Names in order, as Go prints a list: "[A B]"; a single one without brackets when `bare`. */
struct str profile_names(const struct profile *p, uint64_t plugins, bool bare, struct arena *a);

/* The point's failure as upstream words it: `before "name"after: why`. */
struct verdict profile_failure(struct arena *a, const char *before, const struct plugin *p,
			       const char *after, const struct verdict *v);

#endif
