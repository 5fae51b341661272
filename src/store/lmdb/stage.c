/*
 * A batch changes the map while it is decided, because its writes see each other. If the batch then
 * cannot be journaled, its changes are taken back in the opposite order.
 */
#include "store/lmdb/stage.h"

#include "base/core/clock.h"
#include "store/lmdb/apply.h"
#include "store/lmdb/keys.h"
#include "store/lmdb/resources.h"

#define VALUE_MAX (1UL << 30) /* below LMDB's own limit */

/* --- life ---------------------------------------------------------------------------- */

static int stage_read(struct lmdb_stage *st, const struct lmdb_env *e, int64_t *ret_sequence,
		      struct error *err)
{
	struct lmdb_sizes sizes;
	int rc = mdb_txn_begin(e->mdb, NULL, MDB_RDONLY, &st->txn);

	if (rc == 0)
		rc = lmdb_apply_sequence(e, st->txn, ret_sequence);
	if (rc == 0)
		rc = lmdb_sizes_read(e, st->txn, &sizes);
	if (rc)
		return lmdb_error(err, ERR_IO, rc, e->dir);
	st->objects = sizes.objects;
	mdb_txn_reset(st->txn);
	return 0;
}

int lmdb_stage_open(struct lmdb_stage *st, const struct lmdb_env *e, size_t segment_bytes,
		    struct error *err)
{
	int64_t sequence = 0;
	int r;

	*st = (struct lmdb_stage){ .journal = { .fd = -1, .dir_fd = -1 } };
	list_init(&st->done.records);
	map_init(&st->newest);
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
	if (st->txn)
		mdb_txn_abort(st->txn);
	journal_close(&st->journal);
	map_release(&st->newest);
	free_records(&st->done.records);
}

/* --- what is in data.mdb meanwhile ------------------------------------------------------ */

static void stage_forget(struct lmdb_stage *st, const struct journal_record *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (map_get(&st->newest, r->entries[i].key) == &r->entries[i])
			(void)map_remove(&st->newest, r->entries[i].key);
	st->growth -= r->growth;
}

static void take_done(struct lmdb_stage *st)
{
	if (list_empty(&st->done.records))
		return;
	LIST_FOREACH (it, &st->done.records)
		stage_forget(st, LIST_ENTRY(it, struct journal_record, link));
	free_records(&st->done.records);
	st->objects = st->done.objects;
	journal_release(&st->journal, st->done.sequence);
}

/* --- deciding --------------------------------------------------------------------------- */

/* The state of a key: its revision, 0 if it does not exist, and the size of its value. */
static int stage_find(const struct lmdb_stage *st, const struct lmdb_env *e, struct str key,
		      int64_t *ret_revision, size_t *ret_size)
{
	const struct journal_entry *newest = map_get(&st->newest, key);
	MDB_val k = lmdb_val(key), v;
	struct str bytes;
	int rc;

	*ret_revision = 0;
	*ret_size = 0;
	if (newest) {
		*ret_revision = newest->deleted ? 0 : newest->revision;
		*ret_size = newest->deleted ? 0 : LMDB_NUMBER + newest->value.n;
		return 0;
	}
	rc = mdb_get(st->txn, e->current, &k, &v);
	if (rc == MDB_NOTFOUND)
		return 0;
	if (rc)
		return rc;
	*ret_size = v.mv_size;
	return lmdb_value_split(lmdb_str(&v), ret_revision, &bytes) ? 0 : MDB_CORRUPTED;
}

static bool stage_fits(const struct lmdb_stage *st, struct lmdb_batch *b, size_t before,
		       size_t after)
{
	int64_t objects = (int64_t)st->objects + st->growth + b->record->growth;

	if (after &&
	    !lmdb_quota_allows(&b->prune.quota, (size_t)MAX(objects, (int64_t)0), before, after))
		return false;
	b->record->growth += (int64_t)after - (int64_t)before;
	return true;
}

static void stage_add(struct lmdb_stage *st, struct lmdb_batch *b, struct store_write *w,
		      struct str key, int64_t prev)
{
	const struct lmdb_resource *resource = w->state;
	struct journal_entry *entry = journal_record_add(b->record, key);

	entry->resource = resource->name;
	entry->revision = w->revision;
	entry->prev = prev;
	entry->deleted = !w->value;
	if (w->value) {
		entry->owner = bytes_ref(w->value);
		entry->value = bytes_str(w->value);
	}
	b->record->bytes += key.n + entry->value.n;
	entry->older = map_put(&st->newest, entry->key, entry);
	w->result = 0;
	b->revision = w->revision;
	b->changes++;
}

/* Whether data.mdb is able to store it, so that applying the record cannot fail. */
static bool can_be_stored(const struct store_write *w, struct lmdb_key *key)
{
	const struct lmdb_resource *resource = w->state;

	return lmdb_resource_fits(resource) && (!w->value || w->value->n <= VALUE_MAX) &&
	       lmdb_key_make(key, resource->id, w->key.ns, w->key.name);
}

/* Returns 0 with w->result set, or LMDB's error code. */
static int stage_decide(struct lmdb_stage *st, struct lmdb_batch *b, const struct lmdb_env *e,
			struct store_write *w)
{
	int64_t expected, prev;
	struct lmdb_key key;
	size_t before;
	int rc;

	if (w->result < 0)
		return 0;
	w->result = -ERR_CONFLICT;
	if (!can_be_stored(w, &key)) {
		w->result = -ERR_INVALID;
		return 0;
	}
	if (!lmdb_batch_expects(w, &expected))
		return 0;
	rc = stage_find(st, e, lmdb_key_str(&key), &prev, &before);
	if (rc || prev != expected || (!prev && !w->value))
		return rc;
	if (!stage_fits(st, b, before, w->value ? LMDB_NUMBER + w->value->n : 0)) {
		w->result = -ERR_UNAVAILABLE;
		b->refused++;
		return 0;
	}
	stage_add(st, b, w, lmdb_key_str(&key), prev);
	return 0;
}

static int decide_all(struct lmdb_stage *st, struct lmdb_batch *b, const struct lmdb_env *e)
{
	int rc = mdb_txn_renew(st->txn);

	if (rc)
		return rc;
	LIST_FOREACH (it, &b->writes) {
		rc = stage_decide(st, b, e, LIST_ENTRY(it, struct store_write, link));
		if (rc)
			break;
	}
	mdb_txn_reset(st->txn);
	return rc;
}

/* --- journaling ---------------------------------------------------------------------------- */

static void take_back(struct lmdb_stage *st, struct lmdb_batch *b)
{
	for (size_t i = b->record->n; i > 0; i--) {
		struct journal_entry *entry = &b->record->entries[i - 1];

		if (entry->older)
			(void)map_put(&st->newest, entry->older->key, entry->older);
		else
			(void)map_remove(&st->newest, entry->key);
	}
	journal_record_free(TAKE(b->record));
}

static int stage_journal(struct lmdb_stage *st, struct lmdb_batch *b, const struct lmdb_env *e)
{
	int r = journal_append(&st->journal, b->record, &b->err);

	b->sync_ns = st->journal.sync_ns;
	if (r != -ERR_IO)
		return r;
	return error_wrap(&b->err, r, "no more writes to %s until the server restarts", e->dir);
}

static struct journal_record *record_for(const struct lmdb_batch *b)
{
	size_t text = 0;

	LIST_FOREACH (it, &b->writes) {
		const struct store_write *w = LIST_ENTRY(it, struct store_write, link);

		text += LMDB_KEY_ID + w->key.ns.n + 1 + w->key.name.n;
	}
	return journal_record_new(b->n, text);
}

void lmdb_stage_run(struct lmdb_stage *st, struct lmdb_batch *b, const struct lmdb_env *e)
{
	int64_t began = clock_monotonic(clock_system());
	int rc, r;

	take_done(st);
	b->record = record_for(b);
	b->record->time_ms = b->now_ms;
	rc = decide_all(st, b, e);
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
		st->growth += b->record->growth;
	else
		take_back(st, b);
	b->commit_ns = clock_monotonic(clock_system()) - began;
}
