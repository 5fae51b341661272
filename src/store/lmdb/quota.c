/*
 * LMDB keeps the number of a table's pages with its root, so reading sizes is cheap.
 */
#include "store/lmdb/quota.h"

#include <sys/statvfs.h>

enum {
	SMALL_GROWTH = 1024, /* an object may grow by so many bytes within the reserve */
	RESERVE_PART = 16, /* the reserve is this fraction of the quota */
};

static int add_pages(MDB_txn *txn, MDB_dbi table, size_t *bytes)
{
	MDB_stat st;
	int rc = mdb_stat(txn, table, &st);

	if (rc == 0)
		*bytes += (st.ms_branch_pages + st.ms_leaf_pages + st.ms_overflow_pages) *
			  st.ms_psize;
	return rc;
}

int lmdb_sizes_read(const struct lmdb_env *e, MDB_txn *txn, struct lmdb_sizes *ret_sizes)
{
	int rc;

	*ret_sizes = (struct lmdb_sizes){ 0 };
	rc = add_pages(txn, e->current, &ret_sizes->objects);
	if (rc == 0)
		rc = add_pages(txn, e->meta, &ret_sizes->objects);
	if (rc == 0)
		rc = add_pages(txn, e->superseded, &ret_sizes->history);
	if (rc == 0)
		rc = add_pages(txn, e->log, &ret_sizes->history);
	return rc;
}

/* Keeps a part of the map free: LMDB reuses a page only when no snapshot refers to it. */
static size_t map_bound(const struct lmdb_env *e)
{
	MDB_envinfo info;

	return mdb_env_info(e->mdb, &info) == 0 ? info.me_mapsize / 8 * 7 : SIZE_MAX;
}

size_t lmdb_quota_of_disk(const struct lmdb_env *e, MDB_txn *txn)
{
	struct lmdb_sizes used;
	struct statvfs fs;

	if (lmdb_sizes_read(e, txn, &used) != 0 || statvfs(e->dir, &fs) < 0)
		return 0;
	return MIN(used.objects + used.history + (size_t)fs.f_bavail * fs.f_frsize / 2,
		   map_bound(e));
}

bool lmdb_quota_allows(const struct lmdb_quota *q, size_t objects, size_t before, size_t after)
{
	size_t most = q->bytes;

	if (!q->bytes)
		return true;
	if (before && after <= before + SMALL_GROWTH)
		most += q->bytes / RESERVE_PART;
	return objects + (after > before ? after - before : 0) <= most;
}

size_t lmdb_quota_history(const struct lmdb_quota *q, size_t objects)
{
	size_t most = q->history ? q->history : SIZE_MAX;

	if (q->bytes)
		most = MIN(most, q->bytes > objects ? q->bytes - objects : 0);
	return most;
}
