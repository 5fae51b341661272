/*
 * Walks the log from its front. An explicit compaction raises "compacted" at once. The changes at
 * or below it are then deleted in as many commits as needed, also after a restart.
 */
#include "store/lmdb/prune.h"

#include "store/lmdb/keys.h"

static int prune_forget(const struct lmdb_env *e, MDB_txn *txn, MDB_cursor *log,
			const struct lmdb_change *c)
{
	struct lmdb_key key;
	MDB_val k;
	int rc;

	if (c->prev) {
		if (c->key.n > LMDB_KEY_MAX - LMDB_NUMBER)
			return MDB_CORRUPTED;
		str_put(key.p, c->key);
		key.n = c->key.n;
		lmdb_key_add_revision(&key, c->prev);
		k = lmdb_val(lmdb_key_str(&key));
		rc = mdb_del(txn, e->superseded, &k, NULL);
		if (rc != 0 && rc != MDB_NOTFOUND)
			return rc;
	}
	return mdb_cursor_del(log, 0);
}

/* Whether a change is kept; *ret_rc is LMDB's error code. */
static bool is_kept(struct lmdb_prune *p, const struct lmdb_env *e, MDB_txn *txn,
		    const struct lmdb_change *c, int *ret_rc)
{
	*ret_rc = 0;
	if (c->revision <= p->compacted || c->time_ms < p->before_ms)
		return false;
	*ret_rc = lmdb_sizes_read(e, txn, &p->sizes);
	return p->sizes.history <= lmdb_quota_history(&p->quota, p->sizes.objects);
}

static int prune_walk(struct lmdb_prune *p, const struct lmdb_env *e, MDB_txn *txn, MDB_cursor *log)
{
	struct lmdb_change c;
	MDB_val k, v;
	int rc;

	p->oldest_ms = INT64_MAX;
	while ((rc = mdb_cursor_get(log, &k, &v, MDB_FIRST)) == 0) {
		if (!lmdb_change_parse(lmdb_str(&k), lmdb_str(&v), &c))
			return MDB_CORRUPTED;
		p->oldest_ms = c.time_ms;
		if (is_kept(p, e, txn, &c, &rc) || rc)
			return rc;
		p->more = p->pruned >= p->budget;
		if (p->more)
			return 0;
		rc = prune_forget(e, txn, log, &c);
		if (rc)
			return rc;
		p->compacted = MAX(p->compacted, c.revision);
		p->pruned++;
		p->oldest_ms = INT64_MAX;
	}
	return rc == MDB_NOTFOUND ? 0 : rc;
}

int lmdb_prune_run(struct lmdb_prune *p, const struct lmdb_env *e, MDB_txn *txn)
{
	int64_t before;
	MDB_cursor *log;
	int rc = lmdb_meta_get(e, txn, "compacted", &before);

	if (rc == 0)
		rc = mdb_cursor_open(txn, e->log, &log);
	if (rc)
		return rc;
	p->compacted = MAX(before, p->compact);
	rc = prune_walk(p, e, txn, log);
	mdb_cursor_close(log);
	if (rc == 0)
		rc = lmdb_sizes_read(e, txn, &p->sizes);
	if (rc == 0 && p->compacted != before)
		rc = lmdb_meta_put(e, txn, "compacted", p->compacted);
	return rc;
}
