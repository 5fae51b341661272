/*
 * lmdb_metrics - metrics of the LMDB store.
 */
#ifndef STORE_LMDB_METRICS_H
#define STORE_LMDB_METRICS_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/error.h"

struct lmdb_batch;
struct metrics;
struct metrics_counter;
struct metrics_gauge;
struct metrics_histogram;

/* All NULL if metrics are disabled. */
struct lmdb_metrics {
	struct metrics_counter *commits, *written, *conflicts, *failed, *refused, *pruned;
	struct metrics_histogram *batch_writes, *commit_seconds, *sync_seconds;
	struct metrics_gauge *used_bytes, *free_pages, *revision, *compacted, *waiting;
	struct metrics_gauge *object_bytes, *history_bytes, *quota_bytes;
	struct metrics_gauge *journal_bytes, *backlog;
};

/* `registry` NULL: metrics are disabled. */
int lmdb_metrics_init(struct lmdb_metrics *m, struct metrics *registry, struct error *err);

/* Counts a finished batch. `waiting`: writes that are not in a batch yet. */
void lmdb_metrics_count(const struct lmdb_metrics *m, const struct lmdb_batch *b, size_t waiting);

/*
 * Counts a transaction of the applier: the changes that are left in the journal only, and the bytes
 * of its files.
 */
void lmdb_metrics_applied(const struct lmdb_metrics *m, const struct lmdb_batch *b, size_t backlog,
			  size_t journal_bytes);

/* Sets the maximum size of the store; 0: no limit. */
void lmdb_metrics_quota(const struct lmdb_metrics *m, size_t bytes);

/* Sets the revisions that reads see. */
void lmdb_metrics_revisions(const struct lmdb_metrics *m, int64_t revision, int64_t compacted);

#endif
