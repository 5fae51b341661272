/*
 * slice_status_metrics - KEP-5677's metrics of slices' status.
 *
 * Staleness, by driver, is how long the slice waits that became out of date first; it is
 * looked at every second while one does. Pools have a series from their first fault on, which
 * is 0 while they have none or are gone; beyond METRICS_SERIES_MAX of them one for all together.
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

/* Of one pool; zero at first. */
struct slice_status_faults {
	size_t n;
	struct metrics_gauge *gauge; /* NULL: it had none so far */
};

struct slice_status_metrics {
	struct loop *loop;
	/* NULL: nobody wants them. */
	struct metrics_family *stale, *faults;
	struct metrics_counter *looks, *conflicts, *errors;
	struct metrics_histogram *durations;
	struct metrics_gauge *claims;
	struct map drivers; /* name -> struct slice_status_driver */
	struct loop_timer tick;
};

void slice_status_metrics_init(struct slice_status_metrics *m, struct metrics *metrics,
			       struct loop *loop);

/* Nothing is known any more. All states must have been forgotten. */
void slice_status_metrics_release(struct slice_status_metrics *m);

/* A state that is new, and one that goes. */
void slice_status_metrics_add(struct slice_status_metrics *m, struct slice_state *st,
			      const struct cached *slice);
void slice_status_metrics_forget(struct slice_status_metrics *m, struct slice_state *st);

/* st->since was set, or became -1. */
void slice_status_metrics_since(struct slice_status_metrics *m, struct slice_state *st);

/* A slice was looked at. */
void slice_status_metrics_look(struct slice_status_metrics *m);

/* So many claims hold devices. */
void slice_status_metrics_claims(struct slice_status_metrics *m, size_t claims);

/* The pool, "driver/pool", has `n` now. */
void slice_status_metrics_faults(struct slice_status_metrics *m, struct slice_status_faults *f,
				 struct str pool, size_t n);

/* A write ended; `err` is NULL when it was done, `ms` after the slice became out of date. */
void slice_status_metrics_write(struct slice_status_metrics *m, int64_t ms,
				const struct error *err);

#endif
