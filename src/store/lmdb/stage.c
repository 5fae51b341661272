/*
 * A batch changes the map while it is decided, because its writes see each other. If the batch then
 * cannot be journaled, its changes are taken back in the opposite order.
 */
#include "store/lmdb/stage.h"

#include "base/core/clock.h"
#include "store/lmdb/apply.h"

/* --- life ---------------------------------------------------------------------------- */

static int stage_read(struct lmdb_stage *st, const struct lmdb_env *e, int64_t *ret_sequence,
		      struct error *err)
{
	struct lmdb_sizes sizes;
	int rc = mdb_txn_begin(e->mdb, NULL, MDB_RDONLY, &st->tip.txn);

	if (rc == 0)
		rc = lmdb_apply_sequence(e, st->tip.txn, ret_sequence);
	if (rc == 0)
		rc = lmdb_sizes_read(e, st->tip.txn, &sizes);
	if (rc)
		return lmdb_error(err, ERR_IO, rc, e->dir);
	st->tip.objects = sizes.objects;
	mdb_txn_reset(st->tip.txn);
	return 0;
}

int lmdb_stage_open(struct lmdb_stage *st, const struct lmdb_env *e, size_t segment_bytes,
		    struct error *err)
{
	int64_t sequence = 0;
	int r;

	*st = (struct lmdb_stage){ .journal = { .fd = -1, .dir_fd = -1 } };
	list_init(&st->done.records);
	map_init(&st->tip.newest);
	r = stage_read(st, e, &sequence, err);
	if (r < 0)
		return r;
	return journal_open(&st->journal, e->dir, e->cluster_id, sequence, segment_bytes, err);
}

static void free_records(struct list *records)
{
	struct list *node;

	while ((node = list_pop_front(records)))
		journal_record_free(LIST_ENTRY(node, struct journal_record, link));
}

void lmdb_stage_close(struct lmdb_stage *st)
{
	if (st->tip.txn)
		mdb_txn_abort(st->tip.txn);
	journal_close(&st->journal);
	map_release(&st->tip.newest);
	free_records(&st->done.records);
}

/* --- what is in data.mdb meanwhile ------------------------------------------------------ */

static void stage_forget(struct lmdb_stage *st, const struct journal_record *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (map_get(&st->tip.newest, r->entries[i].key) == &r->entries[i])
			(void)map_remove(&st->tip.newest, r->entries[i].key);
	st->tip.growth -= r->growth;
}

static void take_done(struct lmdb_stage *st)
{
	if (list_empty(&st->done.records))
		return;
	LIST_FOREACH (it, &st->done.records)
		stage_forget(st, LIST_ENTRY(it, struct journal_record, link));
	free_records(&st->done.records);
	st->tip.objects = st->done.objects;
	journal_release(&st->journal, st->done.sequence);
}

/* --- deciding and journaling ------------------------------------------------------------ */

static int stage_decide(struct lmdb_stage *st, struct lmdb_batch *b, const struct lmdb_env *e)
{
	int rc = mdb_txn_renew(st->tip.txn);

	if (rc)
		return rc;
	rc = lmdb_batch_decide(b, &st->tip, e);
	mdb_txn_reset(st->tip.txn);
	return rc;
}

static int stage_journal(struct lmdb_stage *st, struct lmdb_batch *b, const struct lmdb_env *e)
{
	int r = journal_append(&st->journal, b->record, &b->err);

	b->sync_ns = st->journal.sync_ns;
	if (r != -ERR_IO)
		return r;
	return error_wrap(&b->err, r, "no more writes to %s until the server restarts", e->dir);
}

void lmdb_stage_run(struct lmdb_stage *st, struct lmdb_batch *b, const struct lmdb_env *e)
{
	int64_t began = clock_monotonic(clock_system());
	int rc, r;

	take_done(st);
	rc = stage_decide(st, b, e);
	if (rc) {
		lmdb_batch_break(b, e, rc, "cannot read");
	} else if (b->record->n) {
		r = stage_journal(st, b, e);
		if (r < 0)
			lmdb_batch_fail(b, r);
		else
			b->committed = true;
	}
	if (b->committed)
		st->tip.growth += b->record->growth;
	else if (b->record)
		lmdb_batch_undo(b, &st->tip);
	b->commit_ns = clock_monotonic(clock_system()) - began;
}
