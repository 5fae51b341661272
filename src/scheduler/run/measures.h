/*
 * measures - the scheduler's own metrics, under upstream's names.
 */
#ifndef SCHEDULER_RUN_MEASURES_H
#define SCHEDULER_RUN_MEASURES_H

#include "base/report/metrics.h"
#include "dra/inventory/inventory.h"

struct profile;
struct scheduler;

/* All NULL without a registry. */
struct measures {
	struct metrics_family *attempts; /* result, profile */
	struct metrics_family *attempt_seconds; /* result, profile */
	struct metrics_family *sli_seconds; /* attempts */
	struct metrics_histogram *algorithm_seconds, *snapshot_seconds, *pod_attempts;
	struct metrics_histogram *permit_seconds[3]; /* success, unschedulable, error */
	struct metrics_gauge *nodes, *pods, *assumed, *writing;
	struct metrics_counter *evaluations, *evaluation_cost; /* of device selectors */
	struct inventory_counts counted; /* counts that are already in the two counters */
};

enum measures_result { MEASURES_SCHEDULED, MEASURES_UNSCHEDULABLE, MEASURES_ERROR };

void measures_init(struct measures *m, struct metrics *registry);
void measures_attempt(struct measures *m, const struct profile *p, enum measures_result result,
		      int64_t took_ns);
void measures_snapshot(struct measures *m, int64_t took_ns);
void measures_algorithm(struct measures *m, int64_t took_ns);
/* Records a bound pod: the number of attempts, and the time since the first. */
void measures_bound(struct measures *m, unsigned attempts, int64_t took_ns);
void measures_permit(struct measures *m, enum measures_result result, int64_t took_ns);
/* Updates the counters of selector evaluations to these totals. */
void measures_selectors(struct measures *m, struct inventory_counts now);
void measures_cache(struct measures *m, const struct scheduler *s);

#endif
