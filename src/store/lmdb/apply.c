/*
 * The log gets its entries in the order of revisions. Then one pass over the changes, sorted by key
 * and revision, maintains `superseded` and `current` together: the first change of a key moves the
 * bytes that `current` has, the following ones those of the change before, and the last one is what
 * `current` gets.
 */
#include "store/lmdb/apply.h"

#include <errno.h>

#include "base/core/mem.h"
#include "base/core/vec.h"
#include "store/lmdb/keys.h"
#include "store/lmdb/resources.h"

#define SEQUENCE "journal"

/* The changes of one transaction. */
struct pass {
	const struct lmdb_env *e;
	MDB_txn *txn;
	MDB_cursor *current, *superseded;
	const struct journal_entry **entries; /* sorted */
	size_t n;
	struct buf *old; /* the value in `current` of the key at hand */
};

static int by_key(const void *a, const void *b)
{
	const struct journal_entry *x = *(const struct journal_entry *const *)a;
	const struct journal_entry *y = *(const struct journal_entry *const *)b;
	int order = str_cmp(x->key, y->key);

	return order ? order : (x->revision > y->revision) - (x->revision < y->revision);
}

/* --- resources ----------------------------------------------------------------------- */

static int put_resource(const struct pass *p, const struct journal_entry *entry)
{
	struct lmdb_resource r = { .name = entry->resource };
	struct str ns, name;
	int64_t stored;
	int rc;

	if (!lmdb_key_parse(entry->key, &r.id, &ns, &name))
		return MDB_CORRUPTED;
	rc = lmdb_resource_get(&r, p->e, p->txn, &stored);
	if (rc == 0 && stored == 0)
		return lmdb_resource_put(&r, p->e, p->txn);
	return rc == 0 && stored != r.id ? MDB_CORRUPTED : rc;
}

static bool has_other_resource(const struct journal_entry *a, const struct journal_entry *b)
{
	return memcmp(a->key.p, b->key.p, LMDB_KEY_ID) != 0;
}

static int put_resources(const struct pass *p)
{
	int rc = 0;

	for (size_t i = 0; i < p->n && rc == 0; i++)
		if (i == 0 || has_other_resource(p->entries[i - 1], p->entries[i]))
			rc = put_resource(p, p->entries[i]);
	return rc;
}

/* --- one key ---------------------------------------------------------------------------- */

/* Copies the value of `current`; *ret_revision 0: the key does not exist. */
static int load_old(struct pass *p, const struct journal_entry *e, int64_t *ret_revision)
{
	MDB_val k = lmdb_val(e->key), v;
	struct str bytes;
	int rc = mdb_cursor_get(p->current, &k, &v, MDB_SET);

	*ret_revision = 0;
	buf_clear(p->old);
	if (rc == MDB_NOTFOUND)
		return 0;
	if (rc)
		return rc;
	if (!lmdb_value_split(lmdb_str(&v), ret_revision, &bytes))
		return MDB_CORRUPTED;
	return buf_add_str(p->old, bytes) < 0 ? ENOMEM : 0;
}

/* Keeps the bytes of revision e->prev, which the change e ends. */
static int supersede(struct pass *p, const struct journal_entry *e, struct str bytes)
{
	MDB_val k, v = { .mv_size = LMDB_NUMBER + bytes.n };
	struct lmdb_key key;
	int rc;

	str_put(key.p, e->key);
	key.n = e->key.n;
	lmdb_key_add_revision(&key, e->prev);
	k = lmdb_val(lmdb_key_str(&key));
	rc = mdb_cursor_put(p->superseded, &k, &v, MDB_RESERVE);
	if (rc)
		return rc;
	lmdb_number_put(v.mv_data, e->revision);
	(void)str_put((char *)v.mv_data + LMDB_NUMBER, bytes);
	return 0;
}

static int put_last(struct pass *p, const struct journal_entry *e, bool exists)
{
	MDB_val k = lmdb_val(e->key), v = { .mv_size = LMDB_NUMBER + e->value.n };
	int rc;

	if (e->deleted)
		return exists ? mdb_del(p->txn, p->e->current, &k, NULL) : 0;
	rc = mdb_cursor_put(p->current, &k, &v, MDB_RESERVE | (exists ? 0 : MDB_NOOVERWRITE));
	if (rc)
		return rc == MDB_KEYEXIST ? MDB_CORRUPTED : rc;
	lmdb_number_put(v.mv_data, e->revision);
	(void)str_put((char *)v.mv_data + LMDB_NUMBER, e->value);
	return 0;
}

/* Applies the n changes of one key. */
static int apply_key(struct pass *p, const struct journal_entry *const *of, size_t n)
{
	struct str bytes;
	int64_t prev = 0;
	bool exists;
	int rc = 0;

	/* Otherwise put_last() finds out whether the key exists. */
	if (of[0]->prev || of[n - 1]->deleted)
		rc = load_old(p, of[0], &prev);
	exists = prev != 0;
	bytes = buf_str(p->old);
	for (size_t i = 0; i < n && rc == 0; i++) {
		if (of[i]->prev != prev)
			return MDB_CORRUPTED;
		if (prev)
			rc = supersede(p, of[i], bytes);
		prev = of[i]->deleted ? 0 : of[i]->revision;
		bytes = of[i]->value;
	}
	return rc ? rc : put_last(p, of[n - 1], exists);
}

static int apply_keys(struct pass *p)
{
	size_t n;
	int rc = 0;

	for (size_t i = 0; i < p->n && rc == 0; i += n) {
		n = 1;
		while (i + n < p->n && str_eq(p->entries[i]->key, p->entries[i + n]->key))
			n++;
		rc = apply_key(p, p->entries + i, n);
	}
	return rc;
}

/* --- the log ------------------------------------------------------------------------------ */

static int apply_put_log(MDB_cursor *log, const struct journal_entry *entry, int64_t time_ms)
{
	struct lmdb_change change = { .revision = entry->revision,
				      .time_ms = time_ms,
				      .prev = entry->prev,
				      .deleted = entry->deleted,
				      .key = entry->key };
	struct lmdb_key key = { .n = 0 };
	MDB_val k, v = { .mv_size = lmdb_change_size(&change) };
	int rc;

	lmdb_key_add_revision(&key, entry->revision);
	k = lmdb_val(lmdb_key_str(&key));
	rc = mdb_cursor_put(log, &k, &v, MDB_RESERVE | MDB_APPEND);
	if (rc == 0)
		lmdb_change_put(v.mv_data, &change);
	return rc;
}

static int apply_log(const struct pass *p, struct journal_record *const *records, size_t n)
{
	MDB_cursor *log;
	int rc = mdb_cursor_open(p->txn, p->e->log, &log);

	if (rc)
		return rc;
	for (size_t i = 0; i < n && rc == 0; i++) {
		const struct journal_record *r = records[i];

		for (size_t k = 0; k < r->n && rc == 0; k++)
			rc = apply_put_log(log, &r->entries[k], r->time_ms);
	}
	mdb_cursor_close(log);
	return rc;
}

/* --- all -------------------------------------------------------------------------------------- */

static void pass_sort(struct pass *p, struct journal_record *const *records, size_t n)
{
	size_t changes = 0;

	for (size_t i = 0; i < n; i++)
		changes += records[i]->n;
	p->entries = xcalloc(changes, sizeof(const struct journal_entry *));
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < records[i]->n; k++)
			p->entries[p->n++] = &records[i]->entries[k];
	qsort(p->entries, p->n, sizeof(*p->entries), by_key);
}

static int apply_tables(struct pass *p)
{
	int rc = mdb_cursor_open(p->txn, p->e->current, &p->current);

	if (rc)
		return rc;
	rc = mdb_cursor_open(p->txn, p->e->superseded, &p->superseded);
	if (rc == 0) {
		rc = apply_keys(p);
		mdb_cursor_close(p->superseded);
	}
	mdb_cursor_close(p->current);
	return rc;
}

int lmdb_apply_records(struct lmdb_batch *b, struct journal_record *const *records, size_t n,
		       const struct lmdb_env *e, MDB_txn *txn, struct buf *scratch)
{
	struct pass p = { .e = e, .txn = txn, .old = scratch };
	const struct journal_record *last = records[n - 1];
	int rc;

	pass_sort(&p, records, n);
	rc = put_resources(&p);
	if (rc == 0)
		rc = apply_log(&p, records, n);
	if (rc == 0)
		rc = apply_tables(&p);
	if (rc == 0 && last->sequence)
		rc = lmdb_meta_put(e, txn, SEQUENCE, last->sequence);
	free(p.entries);
	if (rc)
		return rc;
	b->changes = p.n;
	b->revision = journal_record_revision(last);
	return 0;
}

int lmdb_apply_sequence(const struct lmdb_env *e, MDB_txn *txn, int64_t *ret_sequence)
{
	return lmdb_meta_get(e, txn, SEQUENCE, ret_sequence);
}
