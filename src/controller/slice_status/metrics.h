/*
 * slice_status_metrics - the metrics of slices' status that KEP-5677 lists.
 *
 * Staleness, by driver, is the age of the slice that has been out of date longest; while there is
 * one, it is updated every second. A pool has a series from its first fault on, which is 0 when it
 * has none or is deleted. Beyond METRICS_SERIES_MAX pools, the rest share one series.
 */
#ifndef CONTROLLER_SLICE_STATUS_METRICS_H
#define CONTROLLER_SLICE_STATUS_METRICS_H

#include "base/core/map.h"
#include "client/informer/cached.h"
#include "controller/slice_status/slice_status_impl.h"
#include "net/loop/loop.h"

struct metrics;
struct metrics_counter;
struct metrics_family;
struct metrics_gauge;
struct metrics_histogram;

/* The faults of one pool; starts zeroed. */
struct slice_status_faults {
	size_t n;
	struct metrics_gauge *gauge; /* NULL: it had none so far */
};

struct slice_status_metrics {
	struct loop *loop;
	/* NULL: no metrics. */
	struct metrics_family *stale, *faults;
	struct metrics_counter *looks, *conflicts, *errors;
	struct metrics_histogram *durations;
	struct metrics_gauge *claims;
	struct map drivers; /* name -> struct slice_status_driver */
	struct loop_timer tick;
};

void slice_status_metrics_init(struct slice_status_metrics *m, struct metrics *metrics,
			       struct loop *loop);

/* Resets everything. All states must have been forgotten before. */
void slice_status_metrics_release(struct slice_status_metrics *m);

/* Add a new state; forget one that is freed. */
void slice_status_metrics_add(struct slice_status_metrics *m, struct slice_state *st,
			      const struct cached *slice);
void slice_status_metrics_forget(struct slice_status_metrics *m, struct slice_state *st);

/* Call when st->since was set, or became -1. */
void slice_status_metrics_since(struct slice_status_metrics *m, struct slice_state *st);

/* A slice was checked. */
void slice_status_metrics_look(struct slice_status_metrics *m);

/* Sets the number of claims that hold devices. */
void slice_status_metrics_claims(struct slice_status_metrics *m, size_t claims);

/* The pool, "driver/pool", has `n` faults now. */
void slice_status_metrics_faults(struct slice_status_metrics *m, struct slice_status_faults *f,
				 struct str pool, size_t n);

/* A write ended. `err` is NULL if it succeeded, `ms` after the slice became out of date. */
void slice_status_metrics_write(struct slice_status_metrics *m, int64_t ms,
				const struct error *err);

#endif
