/*
 * Three walks. Each entry is looked up in the other tables:
 *
 *  current     (key, r)         the log has r for this key, unless r is compacted
 *  superseded  (key, r, until)  the same, and the log has `until`, which replaced r
 *  log         (r, key, prev)   the bytes of r, unless it deleted; those of prev
 *
 * So nothing is missing on either side. Also, the number of superseded versions must equal the
 * number of changes that replaced something.
 */
#include "store/lmdb/check.h"

#include <inttypes.h>

#include "store/lmdb/apply.h"
#include "store/lmdb/keys.h"
#include "store/lmdb/read.h"
#include "store/lmdb/resources.h"

enum { TEXT_MAX = 16 * 1024 };

struct check {
	const struct lmdb_env *e;
	MDB_txn *txn;
	struct lmdb_resources resources;
	struct store_lmdb_report *report;
	int64_t last_revision, last_time; /* in the walk over the log */
	size_t replacing; /* changes with a prev */
};

/* Adds one line. Keys are shown as far as they can be read. */
static void check_fault(struct check *c, const char *table, struct str key, const char *what)
{
	const struct lmdb_resource *r;
	struct str ns, name;
	uint32_t id;

	c->report->faults++;
	(void)buf_printf(&c->report->text, "%s: ", table);
	if (lmdb_key_parse(key, &id, &ns, &name)) {
		r = lmdb_resources_at(&c->resources, id);
		(void)buf_printf(&c->report->text,
				 "%.*s %.*s/%.*s: ", STR_ARG(r ? r->name : STR("(no resource)")),
				 STR_ARG(ns), STR_ARG(name));
	}
	(void)buf_printf(&c->report->text, "%s\n", what);
}

static bool find_change(struct check *c, int64_t revision, struct lmdb_change *ret_change)
{
	struct lmdb_key key = { .n = 0 };
	MDB_val k, v;

	lmdb_key_add_revision(&key, revision);
	k = lmdb_val(lmdb_key_str(&key));
	return mdb_get(c->txn, c->e->log, &k, &v) == 0 &&
	       lmdb_change_parse(lmdb_str(&k), lmdb_str(&v), ret_change);
}

/* Checks only the key itself. */
static bool lmdb_check_key(struct check *c, const char *table, struct str key)
{
	struct str ns, name;
	uint32_t id;

	if (!lmdb_key_parse(key, &id, &ns, &name)) {
		check_fault(c, table, STR_NULL, "a key that cannot be read");
		return false;
	}
	if (!lmdb_resources_at(&c->resources, id))
		check_fault(c, table, key, "its resource has no name");
	return true;
}

/*
 * Whether the log has the change that gave the key its bytes of this revision, or it is compacted.
 */
static bool has_change(struct check *c, struct str key, int64_t revision)
{
	struct lmdb_change change;

	return revision <= c->report->compacted ||
	       (find_change(c, revision, &change) && !change.deleted && str_eq(change.key, key));
}

static void check_current(struct check *c, struct str key, struct str value)
{
	struct str bytes;
	int64_t revision;

	c->report->objects++;
	c->report->object_bytes += value.n;
	if (!lmdb_check_key(c, "current", key))
		return;
	if (!lmdb_value_split(value, &revision, &bytes) || revision > c->report->revision)
		check_fault(c, "current", key, "its revision is not possible");
	else if (!has_change(c, key, revision))
		check_fault(c, "current", key, "the log does not know of its last change");
}

static void check_superseded(struct check *c, struct str versioned, struct str value)
{
	struct lmdb_change change;
	struct str key, bytes;
	int64_t revision, until;

	c->report->superseded++;
	c->report->superseded_bytes += value.n;
	if (!lmdb_key_split(versioned, &key, &revision)) {
		check_fault(c, "superseded", STR_NULL, "a key that cannot be read");
		return;
	}
	if (!lmdb_check_key(c, "superseded", key))
		return;
	if (!lmdb_value_split(value, &until, &bytes) || until <= revision ||
	    until > c->report->revision)
		check_fault(c, "superseded", key, "its revisions are not possible");
	else if (!find_change(c, until, &change) || change.prev != revision ||
		 !str_eq(change.key, key))
		check_fault(c, "superseded", key, "the log has no entry that superseded it");
	else if (!has_change(c, key, revision))
		check_fault(c, "superseded", key, "the log does not know of its change");
}

static void check_versions(struct check *c, const struct lmdb_change *change)
{
	struct str bytes;

	if (!change->deleted &&
	    !lmdb_read_version(c->e, c->txn, change->key, change->revision, &bytes))
		check_fault(c, "log", change->key, "the bytes of a change are missing");
	if (change->prev && !lmdb_read_version(c->e, c->txn, change->key, change->prev, &bytes))
		check_fault(c, "log", change->key, "the version that a change replaced is missing");
}

static void check_change(struct check *c, struct str key, struct str value)
{
	struct lmdb_change change;

	c->report->changes++;
	if (!lmdb_change_parse(key, value, &change)) {
		check_fault(c, "log", STR_NULL, "an entry that cannot be read");
		return;
	}
	c->replacing += change.prev != 0;
	if (change.revision <= c->last_revision || change.time_ms < c->last_time)
		check_fault(c, "log", change.key, "its revision or time goes back");
	c->last_revision = change.revision;
	c->last_time = change.time_ms;
	if (lmdb_check_key(c, "log", change.key) && change.revision > c->report->compacted)
		check_versions(c, &change);
}

static int check_walk(struct check *c, MDB_dbi table,
		      void (*each)(struct check *, struct str, struct str))
{
	MDB_cursor *cursor;
	MDB_val k, v;
	int rc = mdb_cursor_open(c->txn, table, &cursor);

	if (rc)
		return rc;
	while ((rc = mdb_cursor_get(cursor, &k, &v, MDB_NEXT)) == 0)
		each(c, lmdb_str(&k), lmdb_str(&v));
	mdb_cursor_close(cursor);
	return rc == MDB_NOTFOUND ? 0 : rc;
}

static int count_space(struct check *c)
{
	MDB_stat st;
	int rc = mdb_env_stat(c->e->mdb, &st);

	if (rc)
		return rc;
	c->report->file_bytes = lmdb_env_used_bytes(c->e);
	c->report->free_bytes = lmdb_env_free_pages(c->txn, 0) * st.ms_psize;
	return 0;
}

static int check_tables(struct check *c)
{
	int rc = check_walk(c, c->e->log, check_change);

	if (rc == 0)
		rc = check_walk(c, c->e->current, check_current);
	if (rc == 0)
		rc = check_walk(c, c->e->superseded, check_superseded);
	if (rc == 0)
		rc = count_space(c);
	if (rc == 0 && c->replacing != c->report->superseded)
		check_fault(c, "superseded", STR_NULL,
			    "more or fewer versions than changes that made them");
	for (size_t i = 0; i < c->resources.by_id.n; i++)
		c->report->resources += c->resources.by_id.v[i] != NULL;
	return rc;
}

int lmdb_check_env(const struct lmdb_env *e, struct store_lmdb_report *ret_report,
		   struct error *err)
{
	struct check c = { .e = e, .report = ret_report };
	int rc, r;

	*ret_report = (struct store_lmdb_report){ .text = BUF_INIT(TEXT_MAX) };
	memcpy(ret_report->cluster_id, e->cluster_id, sizeof(e->cluster_id));
	rc = mdb_txn_begin(e->mdb, NULL, MDB_RDONLY, &c.txn);
	if (rc)
		return lmdb_error(err, ERR_IO, rc, e->dir);
	lmdb_resources_init(&c.resources);
	r = lmdb_resources_load(&c.resources, e, c.txn, err);
	if (r == 0)
		r = lmdb_env_revisions(e, c.txn, &ret_report->revision, &ret_report->compacted,
				       err);
	rc = r == 0 ? check_tables(&c) : 0;
	lmdb_resources_release(&c.resources);
	mdb_txn_abort(c.txn);
	return rc ? lmdb_error(err, ERR_IO, rc, e->dir) : r;
}

void store_lmdb_report_release(struct store_lmdb_report *r)
{
	buf_release(&r->text);
}

int store_lmdb_check(const char *dir, struct store_lmdb_report *ret_report, struct error *err)
{
	const struct lmdb_env_opts opts = { .dir = dir, .read_only = true };
	struct lmdb_env e;
	int r;

	*ret_report = (struct store_lmdb_report){ .text = BUF_INIT(TEXT_MAX) };
	r = lmdb_apply_check(dir, err);
	if (r == 0)
		r = lmdb_env_open(&e, &opts, err);
	if (r < 0)
		return r;
	r = lmdb_check_env(&e, ret_report, err);
	lmdb_env_close(&e);
	return r;
}
