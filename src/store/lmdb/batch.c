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

/* --- changing the tables ---------------------------------------------------------- */

/* One write being applied. */
struct change {
	const struct lmdb_env *e;
	MDB_txn *txn;
	struct store_write *w;
	struct lmdb_key key;
	int64_t prev; /* the key's revision; 0: it does not exist */
	struct buf *old; /* its value as in `current` */
};

static MDB_val batch_key_of(const struct change *c)
{
	return lmdb_val(lmdb_key_str(&c->key));
}

/* Copies the old value: LMDB's pointer is valid only until the next change. */
static int read_old(struct change *c)
{
	MDB_val k = batch_key_of(c), v;
	struct str bytes;
	int rc = mdb_get(c->txn, c->e->current, &k, &v);

	c->prev = 0;
	buf_clear(c->old);
	if (rc == MDB_NOTFOUND)
		return 0;
	if (rc)
		return rc;
	if (!lmdb_value_split(lmdb_str(&v), &c->prev, &bytes))
		return MDB_CORRUPTED;
	return buf_add(c->old, v.mv_data, v.mv_size) < 0 ? ENOMEM : 0;
}

bool lmdb_batch_expects(const struct store_write *w, int64_t *ret_revision)
{
	if (!w->after) {
		*ret_revision = w->expected;
		return true;
	}
	*ret_revision = w->after->value ? w->after->revision : 0;
	return w->after->result == 0;
}

static int move_old(struct change *c)
{
	struct lmdb_key key = c->key;
	MDB_val k, v = lmdb_val(buf_str(c->old));

	lmdb_key_add_revision(&key, c->prev);
	k = lmdb_val(lmdb_key_str(&key));
	lmdb_number_put(c->old->p, c->w->revision);
	return mdb_put(c->txn, c->e->superseded, &k, &v, 0);
}

static int put_current(struct change *c)
{
	const struct bytes *value = c->w->value;
	MDB_val k = batch_key_of(c), v = { .mv_size = 0 };
	int rc;

	if (!value)
		return mdb_del(c->txn, c->e->current, &k, NULL);
	v.mv_size = LMDB_NUMBER + value->n;
	rc = mdb_put(c->txn, c->e->current, &k, &v, MDB_RESERVE);
	if (rc)
		return rc;
	lmdb_number_put(v.mv_data, c->w->revision);
	memcpy((char *)v.mv_data + LMDB_NUMBER, value->data, value->n);
	return 0;
}

static int put_log(struct change *c, int64_t now_ms)
{
	struct lmdb_change entry = { .revision = c->w->revision,
				     .time_ms = now_ms,
				     .prev = c->prev,
				     .deleted = !c->w->value,
				     .key = lmdb_key_str(&c->key) };
	struct lmdb_key key = { .n = 0 };
	MDB_val k, v = { .mv_size = lmdb_change_size(&entry) };
	int rc;

	lmdb_key_add_revision(&key, c->w->revision);
	k = lmdb_val(lmdb_key_str(&key));
	rc = mdb_put(c->txn, c->e->log, &k, &v, MDB_RESERVE | MDB_APPEND);
	if (rc == 0)
		lmdb_change_put(v.mv_data, &entry);
	return rc;
}

/* Whether the quota has space for it. */
static bool batch_fits(struct lmdb_batch *b, const struct change *c)
{
	size_t before = c->old->n, after = c->w->value ? LMDB_NUMBER + c->w->value->n : 0;

	if (after && !lmdb_quota_allows(&b->prune.quota, b->objects, before, after))
		return false;
	b->objects += after;
	b->objects -= MIN(before, b->objects);
	return true;
}

/* Returns 0 with w->result set, or LMDB's error code if the whole transaction is lost. */
static int batch_apply(struct lmdb_batch *b, const struct lmdb_env *e, MDB_txn *txn,
		       struct store_write *w, struct buf *scratch)
{
	const struct lmdb_resource *resource = w->state;
	struct change c = { .e = e, .txn = txn, .w = w, .old = scratch };
	int64_t expected;
	int rc;

	if (w->result < 0)
		return 0;
	w->result = -ERR_CONFLICT;
	if (!lmdb_key_make(&c.key, resource->id, w->key.ns, w->key.name)) {
		w->result = -ERR_INVALID;
		return 0;
	}
	if (!lmdb_batch_expects(w, &expected))
		return 0;
	rc = read_old(&c);
	if (rc || c.prev != expected || (!c.prev && !w->value))
		return rc;
	if (!batch_fits(b, &c)) {
		w->result = -ERR_UNAVAILABLE;
		b->refused++;
		return 0;
	}
	if (!resource->stored)
		rc = lmdb_resource_put(resource, e, txn);
	if (rc == 0 && c.prev)
		rc = move_old(&c);
	if (rc == 0)
		rc = put_current(&c);
	if (rc == 0)
		rc = put_log(&c, b->now_ms);
	if (rc)
		return rc;
	w->result = 0;
	b->revision = w->revision;
	b->changes++;
	return 0;
}

static int apply_writes(struct lmdb_batch *b, const struct lmdb_env *e, MDB_txn *txn,
			struct buf *scratch)
{
	struct lmdb_sizes sizes;
	int rc = lmdb_sizes_read(e, txn, &sizes);

	if (rc)
		return rc;
	b->objects = sizes.objects;
	LIST_FOREACH (it, &b->writes) {
		rc = batch_apply(b, e, txn, LIST_ENTRY(it, struct store_write, link), scratch);
		if (rc)
			return rc;
	}
	return 0;
}

static int apply_all(struct lmdb_batch *b, const struct lmdb_env *e, MDB_txn *txn,
		     struct buf *scratch)
{
	int rc = b->nrecords ? lmdb_apply_records(b, e, txn, scratch)
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

static void mark_resources(struct lmdb_batch *b)
{
	LIST_FOREACH (it, &b->writes) {
		struct store_write *w = LIST_ENTRY(it, struct store_write, link);

		if (w->result == 0)
			((struct lmdb_resource *)w->state)->stored = true;
	}
}

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
	mark_resources(b);
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
