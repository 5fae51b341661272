/*
 * metrics - counters, gauges and histograms in Prometheus' text format.
 *
 * A family has a name, a type and label names; each set of label values is a series. Look up a
 * series once, keep the handle, and count on it:
 *
 *	struct metrics_counter *c = metrics_counter(requests, STR("GET"), STR("200"));
 *	metrics_counter_add(c, 1);
 *
 * Counting is lock-free and relaxed: any thread, no ordering. A lookup takes a lock and a hash
 * lookup. Families live as long as the registry, and so do series and handles, unless the series is
 * removed. A family has at most METRICS_SERIES_MAX series; further label values share one series in
 * which each label is "other".
 */
#ifndef BASE_REPORT_METRICS_H
#define BASE_REPORT_METRICS_H

#include <stdatomic.h>

#include "base/core/buf.h"

struct metrics;
struct metrics_family;

enum metrics_type {
	METRICS_COUNTER,
	METRICS_GAUGE,
	METRICS_HISTOGRAM,
};

/* Describes a family; copied when it is registered. */
struct metrics_spec {
	const char *name; /* [a-zA-Z_:][a-zA-Z0-9_:]* */
	const char *help;
	enum metrics_type type;
	const char *const *labels; /* [a-zA-Z_][a-zA-Z0-9_]*, not beginning with __ */
	size_t labels_n;
	const double *bounds; /* of a histogram's buckets, ascending, without +Inf */
	size_t bounds_n;
};

/* Handles. Their fields are internal. */
struct metrics_counter {
	_Atomic uint64_t whole; /* the value is the sum of both */
	_Atomic double part;
};

struct metrics_gauge {
	_Atomic double value;
};

struct metrics_histogram {
	const double *bounds;
	size_t bounds_n;
	_Atomic double sum;
	_Atomic uint64_t *buckets; /* not cumulative; the last one is for values above all bounds */
};

struct metrics *metrics_new(void);
void metrics_free(struct metrics *m);

/*
 * Creates a family, or returns an existing one of that name with the same type, labels and bounds.
 * If they differ, returns -ERR_CONFLICT. Returns -ERR_INVALID for a malformed spec.
 */
int metrics_register(struct metrics *m, const struct metrics_spec *spec,
		     struct metrics_family **ret_family, struct error *err);

/*
 * The series of these label values, created if new; one `struct str` per label name, in that order.
 * The family's type must match (asserted). Values may be any bytes: they are cut at
 * METRICS_LABEL_VALUE_MAX and made UTF-8.
 */
struct metrics_counter *metrics_counter_of(struct metrics_family *f, const struct str *values,
					   size_t n);
struct metrics_gauge *metrics_gauge_of(struct metrics_family *f, const struct str *values,
				       size_t n);
struct metrics_histogram *metrics_histogram_of(struct metrics_family *f, const struct str *values,
					       size_t n);

/*
 * The only series of a counter without labels, which is registered if it is new. NULL if `m` is
 * NULL, or if a family of that name differs.
 */
struct metrics_counter *metrics_counter_alone(struct metrics *m, const char *name,
					      const char *help);

/*
 * A series of a counter or gauge whose value is read by a callback when it is printed, on the
 * printing thread and without holding a lock. `ctx` must outlive the registry. An existing series
 * keeps its value or callback.
 */
void metrics_callback_of(struct metrics_family *f, double (*fn)(void *ctx), void *ctx,
			 const struct str *values, size_t n);

/*
 * Removes the series of these label values, if there is one. Handles of the series become invalid.
 * The same values give a new series, which starts with 0.
 */
void metrics_remove_of(struct metrics_family *f, const struct str *values, size_t n);

#define METRICS_VALUES(...)                  \
	(const struct str[]){ __VA_ARGS__ }, \
		sizeof((struct str[]){ __VA_ARGS__ }) / sizeof(struct str)
#define metrics_counter(f, ...)   metrics_counter_of(f, METRICS_VALUES(__VA_ARGS__))
#define metrics_gauge(f, ...)     metrics_gauge_of(f, METRICS_VALUES(__VA_ARGS__))
#define metrics_histogram(f, ...) metrics_histogram_of(f, METRICS_VALUES(__VA_ARGS__))
#define metrics_remove(f, ...)    metrics_remove_of(f, METRICS_VALUES(__VA_ARGS__))
#define metrics_callback(f, fn, ctx, ...) \
	metrics_callback_of(f, fn, ctx, METRICS_VALUES(__VA_ARGS__))

static inline void metrics_f64_add(_Atomic double *to, double v)
{
	double before = atomic_load_explicit(to, memory_order_relaxed);

	while (!atomic_compare_exchange_weak_explicit(to, &before, before + v, memory_order_relaxed,
						      memory_order_relaxed))
		;
}

static inline void metrics_counter_add(struct metrics_counter *c, uint64_t n)
{
	atomic_fetch_add_explicit(&c->whole, n, memory_order_relaxed);
}

/* v must not be negative. */
static inline void metrics_counter_add_f64(struct metrics_counter *c, double v)
{
	metrics_f64_add(&c->part, v);
}

static inline void metrics_gauge_set(struct metrics_gauge *g, double v)
{
	atomic_store_explicit(&g->value, v, memory_order_relaxed);
}

static inline void metrics_gauge_add(struct metrics_gauge *g, double v)
{
	metrics_f64_add(&g->value, v);
}

/* Counts v in the first bucket whose bound is not below v. */
void metrics_histogram_observe(struct metrics_histogram *h, double v);

/*
 * Appends everything in text format 0.0.4: families by name, series by label values. Returns
 * -ERR_TOO_LARGE at the buffer's limit. Any thread.
 */
int metrics_print(struct metrics *m, struct buf *out);

DEFINE_CLEANUP(metrics_free, struct metrics *);

#endif
