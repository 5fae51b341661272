/*
 * The steps of a commit, and the meaning of a failure in each:
 *
 *  1. Conditions are checked and tables changed, in memory. A failure (the map is full) leaves
 *     the file unchanged.
 *  2. mdb_txn_commit() writes the changed pages to places that no reader and no meta page
 *     refers to. A full disk is noticed here, and again nothing happened.
 *  3. It syncs them. A failure here is final, see below.
 *  4. It writes the meta page, which makes the new pages the state. This is a write of 120
 *     bytes into an existing block: it needs no space.
 *  5. mdb_env_sync() syncs the meta page: now the batch is durable.
 *  6. The snapshot is renewed, so that what the loop reads is durable as well.
 *
 * After a failed sync the kernel marks pages as clean that are not on the disk, so a later
 * successful sync means nothing: the environment is never written again. Steps 2 and 3 fail in the
 * same call and partly with the same code; lmdb_env_trusts_disk() distinguishes them. If the meta
 * page cannot be written, LMDB rejects further transactions, which is how we notice.
 */
#include "store/lmdb/batch.h"

#include <errno.h>

#include "base/core/clock.h"
#include "store/lmdb/apply.h"
#include "store/lmdb/keys.h"
#include "store/lmdb/resources.h"

#define VALUE_MAX (1UL << 30) /* below LMDB's own limit */

/* --- deciding --------------------------------------------------------------------- */

/* The state of a key: its revision, 0 if it does not exist, and the size of its value. */
static int tip_find(const struct lmdb_tip *t, const struct lmdb_env *e, struct str key,
		    int64_t *ret_revision, size_t *ret_size)
{
	const struct journal_entry *newest = map_get(&t->newest, key);
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
	rc = mdb_get(t->txn, e->current, &k, &v);
	if (rc == MDB_NOTFOUND)
		return 0;
	if (rc)
		return rc;
	*ret_size = v.mv_size;
	return lmdb_value_split(lmdb_str(&v), ret_revision, &bytes) ? 0 : MDB_CORRUPTED;
}

static bool tip_fits(const struct lmdb_tip *t, struct lmdb_batch *b, size_t before, size_t after)
{
	int64_t objects = (int64_t)t->objects + t->growth + b->record->growth;

	if (after &&
	    !lmdb_quota_allows(&b->prune.quota, (size_t)MAX(objects, (int64_t)0), before, after))
		return false;
	b->record->growth += (int64_t)after - (int64_t)before;
	return true;
}

static void tip_add(struct lmdb_tip *t, struct lmdb_batch *b, struct store_write *w, struct str key,
		    int64_t prev)
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
	entry->older = map_put(&t->newest, entry->key, entry);
	w->result = 0;
	b->revision = w->revision;
	b->changes++;
}

/* Returns the revision that the write expects; false if the write that it follows has failed. */
static bool decide_expects(const struct store_write *w, int64_t *ret_revision)
{
	if (!w->after) {
		*ret_revision = w->expected;
		return true;
	}
	*ret_revision = w->after->value ? w->after->revision : 0;
	return w->after->result == 0;
}

/* Whether data.mdb is able to store it. A record that cannot be applied would stop the store. */
static bool can_be_stored(const struct store_write *w, struct lmdb_key *key)
{
	const struct lmdb_resource *resource = w->state;

	return lmdb_resource_fits(resource) && (!w->value || w->value->n <= VALUE_MAX) &&
	       lmdb_key_make(key, resource->id, w->key.ns, w->key.name);
}

/* Returns 0 with w->result set, or LMDB's error code. */
static int decide_one(struct lmdb_tip *t, struct lmdb_batch *b, const struct lmdb_env *e,
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
	if (!decide_expects(w, &expected))
		return 0;
	rc = tip_find(t, e, lmdb_key_str(&key), &prev, &before);
	if (rc || prev != expected || (!prev && !w->value))
		return rc;
	if (!tip_fits(t, b, before, w->value ? LMDB_NUMBER + w->value->n : 0)) {
		w->result = -ERR_UNAVAILABLE;
		b->refused++;
		return 0;
	}
	tip_add(t, b, w, lmdb_key_str(&key), prev);
	return 0;
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

int lmdb_batch_decide(struct lmdb_batch *b, struct lmdb_tip *t, const struct lmdb_env *e)
{
	int rc = 0;

	b->record = record_for(b);
	b->record->time_ms = b->now_ms;
	LIST_FOREACH (it, &b->writes) {
		rc = decide_one(t, b, e, LIST_ENTRY(it, struct store_write, link));
		if (rc)
			break;
	}
	return rc;
}

void lmdb_batch_undo(struct lmdb_batch *b, struct lmdb_tip *t)
{
	for (size_t i = b->record->n; i > 0; i--) {
		struct journal_entry *entry = &b->record->entries[i - 1];

		if (entry->older)
			(void)map_put(&t->newest, entry->older->key, entry->older);
		else
			(void)map_remove(&t->newest, entry->key);
	}
	journal_record_free(TAKE(b->record));
}

/* --- changing the tables ---------------------------------------------------------- */

static int apply_writes(struct lmdb_batch *b, const struct lmdb_env *e, MDB_txn *txn,
			struct buf *scratch)
{
	struct lmdb_tip tip = { .txn = txn };
	struct lmdb_sizes sizes;
	int rc = lmdb_sizes_read(e, txn, &sizes);

	if (rc)
		return rc;
	tip.objects = sizes.objects;
	map_init(&tip.newest);
	map_reserve(&tip.newest, b->n);
	rc = lmdb_batch_decide(b, &tip, e);
	if (rc == 0 && b->record->n)
		rc = lmdb_apply_records(b, &b->record, 1, e, txn, scratch);
	map_release(&tip.newest);
	journal_record_free(TAKE(b->record));
	return rc;
}

static int apply_all(struct lmdb_batch *b, const struct lmdb_env *e, MDB_txn *txn,
		     struct buf *scratch)
{
	int rc = b->nrecords ? lmdb_apply_records(b, b->records, b->nrecords, e, txn, scratch)
			     : apply_writes(b, e, txn, scratch);

	return rc ? rc : lmdb_prune_run(&b->prune, e, txn);
}

/* --- failing ------------------------------------------------------------------------ */

void lmdb_batch_fail(struct lmdb_batch *b, int r)
{
	b->result = r;
	b->changes = 0;
	b->refused = 0;
	b->revision = 0;
	b->committed = false;
	LIST_FOREACH (it, &b->writes)
		LIST_ENTRY(it, struct store_write, link)->result = r;
}

void lmdb_batch_break(struct lmdb_batch *b, const struct lmdb_env *e, int rc, const char *what)
{
	(void)lmdb_error(&b->err, ERR_IO, rc, what);
	lmdb_batch_fail(b, error_wrap(&b->err, -ERR_IO,
				      "no more writes to %s until the server restarts", e->dir));
}

static void fail_for_now(struct lmdb_batch *b, const struct lmdb_env *e, int rc)
{
	if (rc == MDB_MAP_FULL || rc == MDB_TXN_FULL)
		lmdb_batch_fail(b, error_set(&b->err, ERR_UNAVAILABLE,
					     "%s has grown to the most that it may; reads go on",
					     e->dir));
	else if (rc == ENOSPC || rc == EDQUOT || rc == EFBIG || rc == EIO)
		lmdb_batch_fail(
			b, error_set_errno(&b->err, ERR_UNAVAILABLE, rc == EIO ? ENOSPC : rc,
					   "cannot write %s: free some space there; reads go on",
					   e->dir));
	else
		lmdb_batch_fail(b, lmdb_error(&b->err, ERR_UNAVAILABLE, rc, e->dir));
}

/*
 * Whether the error means lack of space: in the map, on the disk or in memory. LMDB returns EIO for
 * a short write, which is also what a full disk causes.
 */
static bool is_for_now(int rc)
{
	static const int codes[] = {
		MDB_MAP_FULL, MDB_TXN_FULL, ENOSPC, EDQUOT, EFBIG, EIO, ENOMEM
	};

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		if (rc == codes[i])
			return true;
	return false;
}

static bool is_broken(const struct lmdb_env *e)
{
	MDB_txn *txn;

	if (mdb_txn_begin(e->mdb, NULL, 0, &txn) != 0)
		return true;
	mdb_txn_abort(txn);
	return false;
}

static void commit_failed(struct lmdb_batch *b, const struct lmdb_env *e, int rc)
{
	if (!lmdb_env_trusts_disk(e))
		lmdb_batch_break(b, e, rc, "cannot sync");
	else if (!is_for_now(rc) || is_broken(e))
		lmdb_batch_break(b, e, rc, "cannot commit");
	else
		fail_for_now(b, e, rc);
}

/* --- committing ----------------------------------------------------------------------- */

static void commit(struct lmdb_batch *b, const struct lmdb_env *e, MDB_txn *txn)
{
	const struct clock *clock = clock_system();
	int rc = mdb_txn_commit(txn);
	int64_t began;

	if (rc) {
		commit_failed(b, e, rc);
		return;
	}
	began = clock_monotonic(clock);
	rc = mdb_env_sync(e->mdb, 1);
	b->sync_ns = clock_monotonic(clock) - began;
	if (rc) {
		lmdb_batch_break(b, e, rc, "cannot sync");
		return;
	}
	rc = mdb_txn_renew(b->snapshot);
	if (rc) {
		lmdb_batch_break(b, e, rc, "cannot read what was written");
		return;
	}
	b->committed = true;
	b->used_bytes = lmdb_env_used_bytes(e);
	if (b->lengthen)
		lmdb_env_lengthen(e, b->used_bytes);
	if (b->count_free)
		b->free_pages = lmdb_env_free_pages(b->snapshot, 0);
}

void lmdb_batch_run(struct lmdb_batch *b, const struct lmdb_env *e, struct buf *scratch)
{
	int64_t began = clock_monotonic(clock_system());
	MDB_txn *txn;
	int rc = mdb_txn_begin(e->mdb, NULL, 0, &txn);

	if (rc) {
		lmdb_batch_break(b, e, rc, "cannot begin a transaction");
		return;
	}
	rc = apply_all(b, e, txn, scratch);
	if (rc == 0 && (b->changes || b->prune.pruned || b->prune.compact)) {
		commit(b, e, txn);
	} else {
		mdb_txn_abort(txn);
		if (rc && is_for_now(rc))
			fail_for_now(b, e, rc);
		else if (rc)
			lmdb_batch_break(b, e, rc, "cannot change the tables");
	}
	b->commit_ns = clock_monotonic(clock_system()) - began;
}
