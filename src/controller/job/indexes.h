/*
 * job_indexes - a set of completion indexes as ordered intervals: "1,3-5,7".
 *
 * This is the form of status.completedIndexes and failedIndexes. A set costs its intervals, not its
 * indexes, so a Job with a billion completions is harmless. Pure; results live in the arena.
 */
#ifndef CONTROLLER_JOB_INDEXES_H
#define CONTROLLER_JOB_INDEXES_H

#include "base/core/arena.h"

struct job_interval {
	int64_t first, last; /* both included */
};

/* Ordered, and no two of them touch. Empty: zeroed. */
struct job_indexes {
	struct job_interval *v;
	size_t n;
};

/*
 * Reads the text. Indexes from `completions` on are left out; so are malformed intervals and those
 * that are not in order, because a status may hold anything.
 */
struct job_indexes job_indexes_read(struct arena *a, struct str text, int64_t completions);

/* As upstream: two adjacent indexes are "1,2", three are "1-3". */
struct str job_indexes_print(struct arena *a, const struct job_indexes *set);

/* The set of these indexes; sorts `v`. */
struct job_indexes job_indexes_of(struct arena *a, int64_t *v, size_t n);

struct job_indexes job_indexes_merge(struct arena *a, const struct job_indexes *x,
				     const struct job_indexes *y);

int64_t job_indexes_total(const struct job_indexes *set);
bool job_indexes_has(const struct job_indexes *set, int64_t index);

/* How many indexes are in both. */
int64_t job_indexes_common(const struct job_indexes *x, const struct job_indexes *y);

/* Finds the first `max` indexes below `completions` that the set lacks; returns their number. */
size_t job_indexes_missing(const struct job_indexes *set, int64_t completions, int64_t *ret_v,
			   size_t max);

#endif
