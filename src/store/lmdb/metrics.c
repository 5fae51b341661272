/*
 * One table of families; the handles are set by their offsets.
 */
#include "store/lmdb/metrics.h"

#include "base/report/metrics.h"
#include "store/lmdb/batch.h"

static const double seconds[] = { 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005,
				  0.01,    0.025,  0.05,    0.1,    0.25,  1,      5 };
static const double counts[] = { 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096 };

#define AT(member) offsetof(struct lmdb_metrics, member)

static const struct row {
	size_t offset;
	enum metrics_type type;
	const char *name, *help;
	const char *result; /* value of the label, for families that have one */
	const double *bounds;
	size_t bounds_n;
} rows[] = {
	{ AT(commits), METRICS_COUNTER, "devplane_store_commits_total", "Transactions committed." },
	{ AT(written), METRICS_COUNTER, "devplane_store_writes_total",
	  "Finished writes, by result.", "ok" },
	{ AT(conflicts), METRICS_COUNTER, "devplane_store_writes_total",
	  "Finished writes, by result.", "conflict" },
	{ AT(failed), METRICS_COUNTER, "devplane_store_writes_total", "Finished writes, by result.",
	  "failed" },
	{ AT(refused), METRICS_COUNTER, "devplane_store_writes_total",
	  "Finished writes, by result.", "refused" },
	{ AT(pruned), METRICS_COUNTER, "devplane_store_pruned_total",
	  "Old revisions dropped from the history." },
	{ AT(batch_writes), METRICS_HISTOGRAM, "devplane_store_batch_writes",
	  "Writes per transaction.", NULL, counts, ARRAY_SIZE(counts) },
	{ AT(commit_seconds), METRICS_HISTOGRAM, "devplane_store_commit_duration_seconds",
	  "Time from a transaction's start until it was durable.", NULL, seconds,
	  ARRAY_SIZE(seconds) },
	{ AT(sync_seconds), METRICS_HISTOGRAM, "devplane_store_sync_duration_seconds",
	  "Duration of the sync that ends a transaction.", NULL, seconds, ARRAY_SIZE(seconds) },
	{ AT(used_bytes), METRICS_GAUGE, "devplane_store_file_bytes",
	  "Size of the data file in bytes, including free pages." },
	{ AT(free_pages), METRICS_GAUGE, "devplane_store_free_pages",
	  "Free pages of the data file." },
	{ AT(object_bytes), METRICS_GAUGE, "devplane_store_object_bytes",
	  "Size of the pages with current objects, in bytes." },
	{ AT(history_bytes), METRICS_GAUGE, "devplane_store_history_bytes",
	  "Size of the pages with old revisions and the log of changes, in bytes." },
	{ AT(quota_bytes), METRICS_GAUGE, "devplane_store_quota_bytes",
	  "Maximum size of objects and history together, in bytes; 0: no limit." },
	{ AT(revision), METRICS_GAUGE, "devplane_store_revision", "Revision of the last change." },
	{ AT(compacted), METRICS_GAUGE, "devplane_store_compacted_revision",
	  "Oldest revision that can be read." },
	{ AT(journal_bytes), METRICS_GAUGE, "devplane_store_journal_bytes",
	  "Size of the journal's files in bytes; 0 without a journal." },
	{ AT(backlog), METRICS_GAUGE, "devplane_store_journal_backlog",
	  "Changes in the journal that are not in the data file yet." },
	{ AT(waiting), METRICS_GAUGE, "devplane_store_waiting_writes",
	  "Writes waiting for the next transaction." },
};

static void set_handle(struct lmdb_metrics *m, const struct row *row, struct metrics_family *f)
{
	struct str value = str_from(row->result);
	size_t n = row->result ? 1 : 0;
	void *handle = row->type == METRICS_COUNTER ? (void *)metrics_counter_of(f, &value, n)
		       : row->type == METRICS_GAUGE ? (void *)metrics_gauge_of(f, &value, n)
						    : (void *)metrics_histogram_of(f, &value, n);

	memcpy((char *)m + row->offset, &handle, sizeof(handle));
}

int lmdb_metrics_init(struct lmdb_metrics *m, struct metrics *registry, struct error *err)
{
	static const char *const labels[] = { "result" };
	struct metrics_family *family;
	struct metrics_spec spec;
	int r;

	*m = (struct lmdb_metrics){ 0 };
	for (size_t i = 0; registry && i < ARRAY_SIZE(rows); i++) {
		spec = (struct metrics_spec){ .name = rows[i].name,
					      .help = rows[i].help,
					      .type = rows[i].type,
					      .labels = labels,
					      .labels_n = rows[i].result ? 1 : 0,
					      .bounds = rows[i].bounds,
					      .bounds_n = rows[i].bounds_n };
		r = metrics_register(registry, &spec, &family, err);
		if (r < 0)
			return r;
		set_handle(m, &rows[i], family);
	}
	return 0;
}

static void count_results(const struct lmdb_metrics *m, const struct lmdb_batch *b)
{
	size_t conflicts = 0;

	LIST_FOREACH (it, &b->writes)
		conflicts += LIST_ENTRY(it, struct store_write, link)->result == -ERR_CONFLICT;
	metrics_counter_add(m->written, b->changes);
	metrics_counter_add(m->conflicts, conflicts);
	metrics_counter_add(m->refused, b->refused);
	metrics_counter_add(m->failed, b->n - b->changes - b->refused - conflicts);
}

/* The data file, as a transaction left it. */
static void set_sizes(const struct lmdb_metrics *m, const struct lmdb_batch *b)
{
	metrics_counter_add(m->pruned, b->prune.pruned);
	metrics_gauge_set(m->used_bytes, (double)b->used_bytes);
	metrics_gauge_set(m->object_bytes, (double)b->prune.sizes.objects);
	metrics_gauge_set(m->history_bytes, (double)b->prune.sizes.history);
	if (b->count_free)
		metrics_gauge_set(m->free_pages, (double)b->free_pages);
}

void lmdb_metrics_count(const struct lmdb_metrics *m, const struct lmdb_batch *b, size_t waiting)
{
	if (!m->commits)
		return;
	count_results(m, b);
	metrics_gauge_set(m->waiting, (double)waiting);
	if (!b->committed)
		return;
	metrics_counter_add(m->commits, 1);
	metrics_histogram_observe(m->batch_writes, (double)b->n);
	metrics_histogram_observe(m->commit_seconds, (double)b->commit_ns * 1e-9);
	metrics_histogram_observe(m->sync_seconds, (double)b->sync_ns * 1e-9);
	if (!b->record)
		set_sizes(m, b);
}

void lmdb_metrics_applied(const struct lmdb_metrics *m, const struct lmdb_batch *b, size_t backlog,
			  size_t journal_bytes)
{
	if (!m->commits)
		return;
	metrics_gauge_set(m->backlog, (double)backlog);
	metrics_gauge_set(m->journal_bytes, (double)journal_bytes);
	if (b->committed)
		set_sizes(m, b);
}

void lmdb_metrics_quota(const struct lmdb_metrics *m, size_t bytes)
{
	if (m->quota_bytes)
		metrics_gauge_set(m->quota_bytes, (double)bytes);
}

void lmdb_metrics_revisions(const struct lmdb_metrics *m, int64_t revision, int64_t compacted)
{
	if (!m->commits)
		return;
	metrics_gauge_set(m->revision, (double)revision);
	metrics_gauge_set(m->compacted, (double)compacted);
}
