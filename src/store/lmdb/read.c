/*
 * A range of now is one walk over `current`. A range of the past merges two walks, over `current`
 * and over `superseded`, key by key. The value of a key at revision R is in `current` if that is
 * not newer than R. Otherwise it is the newest superseded version that is not newer than R, unless
 * that one had ended by R. The walk skips keys of `superseded` by seeking, so a key with a thousand
 * versions costs two lookups.
 */
#include "store/lmdb/read.h"

#include <inttypes.h>

#include "base/core/arena.h"
#include "base/core/vec.h"

/* A walk over one table within the range's prefix. */
struct walk {
	MDB_cursor *cursor;
	bool valid; /* it is at an entry of the range */
	struct str key; /* of `current`, without a revision */
	struct str value;
};

struct scan {
	struct lmdb_key prefix;
	struct walk current, superseded;
	int64_t revision; /* revision of the wanted state */
	bool past; /* `superseded` must be read, too */
	size_t limit;
	struct arena *arena;
	struct str resource;
	VEC(struct store_item) items;
	bool more;
};

static int land(struct scan *s, struct walk *w, int rc, const MDB_val *k, const MDB_val *v)
{
	int64_t revision;

	w->valid = false;
	if (rc == MDB_NOTFOUND)
		return 0;
	if (rc)
		return rc;
	w->key = lmdb_str(k);
	w->value = lmdb_str(v);
	if (w == &s->superseded && !lmdb_key_split(w->key, &w->key, &revision))
		return MDB_CORRUPTED;
	w->valid = str_starts(w->key, lmdb_key_str(&s->prefix));
	return 0;
}

static int seek(struct scan *s, struct walk *w, const struct lmdb_key *to)
{
	MDB_val k = lmdb_val(lmdb_key_str(to)), v;

	return land(s, w, mdb_cursor_get(w->cursor, &k, &v, MDB_SET_RANGE), &k, &v);
}

static int next(struct scan *s, struct walk *w)
{
	MDB_val k, v;

	return land(s, w, mdb_cursor_get(w->cursor, &k, &v, MDB_NEXT), &k, &v);
}

/* Moves to the first version of the key after `key`. */
static int next_key(struct scan *s, struct walk *w, struct str key)
{
	struct lmdb_key to;

	str_put(to.p, key);
	to.n = key.n;
	lmdb_key_add_revision(&to, LMDB_REVISION_MAX);
	return seek(s, w, &to);
}

/* --- taking items -------------------------------------------------------------------- */

static int read_take(struct scan *s, struct str key, int64_t revision, struct str bytes)
{
	struct store_item item = { .key.resource = s->resource, .revision = revision };
	struct str ns, name;
	uint32_t id;
	char *p;

	if (!lmdb_key_parse(key, &id, &ns, &name))
		return MDB_CORRUPTED;
	if (s->limit && s->items.n == s->limit) {
		s->more = true;
		return 0;
	}
	p = arena_alloc(s->arena, ns.n + name.n + bytes.n + 1);
	str_put(p, bytes);
	str_put(p + bytes.n, ns);
	str_put(p + bytes.n + ns.n, name);
	item.value = (struct slice){ .p = p, .n = bytes.n };
	item.key.ns = str_of(p + bytes.n, ns.n);
	item.key.name = str_of(p + bytes.n + ns.n, name.n);
	(void)vec_push(&s->items, item);
	return 0;
}

/* Adds the version, as of the scan's revision, of the key that the superseded walk is at. */
static int take_superseded(struct scan *s, struct str key)
{
	struct walk *w = &s->superseded;
	struct lmdb_key to;
	struct str found, bytes;
	int64_t revision, until;
	MDB_val k, v;
	int rc;

	str_put(to.p, key);
	to.n = key.n;
	lmdb_key_add_revision(&to, s->revision + 1);
	k = lmdb_val(lmdb_key_str(&to));
	rc = mdb_cursor_get(w->cursor, &k, &v, MDB_SET_RANGE);
	rc = mdb_cursor_get(w->cursor, &k, &v, rc == MDB_NOTFOUND ? MDB_LAST : MDB_PREV);
	if (rc)
		return rc == MDB_NOTFOUND ? 0 : rc;
	if (!lmdb_key_split(lmdb_str(&k), &found, &revision) ||
	    !lmdb_value_split(lmdb_str(&v), &until, &bytes))
		return MDB_CORRUPTED;
	if (!str_eq(found, key) || revision > s->revision || until <= s->revision)
		return 0;
	return read_take(s, found, revision, bytes);
}

/* Reads one key and moves past it. */
static int read_step(struct scan *s)
{
	struct walk *cur = &s->current, *sup = &s->superseded;
	int order = !sup->valid ? -1 : !cur->valid ? 1 : str_cmp(cur->key, sup->key);
	struct str key = order <= 0 ? cur->key : sup->key;
	int64_t revision = INT64_MAX;
	struct str bytes;
	int rc = 0;

	if (order <= 0 && !lmdb_value_split(cur->value, &revision, &bytes))
		return MDB_CORRUPTED;
	if (revision <= s->revision)
		rc = read_take(s, key, revision, bytes);
	else if (order >= 0)
		rc = take_superseded(s, key);
	if (rc == 0 && order >= 0)
		rc = next_key(s, sup, key);
	if (rc == 0 && order <= 0)
		rc = next(s, cur);
	return rc;
}

/* --- a range ---------------------------------------------------------------------------- */

static int scan_begin(struct scan *s, const struct lmdb_env *e, MDB_txn *txn,
		      const struct store_range *range, uint32_t id)
{
	bool after = range->after_ns.n || range->after_name.n;
	struct lmdb_key from;
	int rc;

	if (!lmdb_key_prefix(&s->prefix, id, range->ns))
		return MDB_NOTFOUND;
	from = s->prefix;
	if (after && !lmdb_key_make(&from, id, range->after_ns, range->after_name))
		return MDB_NOTFOUND;
	rc = mdb_cursor_open(txn, e->current, &s->current.cursor);
	if (rc == 0)
		rc = seek(s, &s->current, &from);
	if (rc == 0 && after && s->current.valid && str_eq(s->current.key, lmdb_key_str(&from)))
		rc = next(s, &s->current);
	if (rc || !s->past)
		return rc;
	rc = mdb_cursor_open(txn, e->superseded, &s->superseded.cursor);
	if (rc == 0)
		rc = after ? next_key(s, &s->superseded, lmdb_key_str(&from))
			   : seek(s, &s->superseded, &from);
	return rc;
}

static int scan_run(struct scan *s, const struct lmdb_env *e, MDB_txn *txn,
		    const struct store_range *range, uint32_t id)
{
	int rc = scan_begin(s, e, txn, range, id);

	while (rc == 0 && !s->more && (s->current.valid || s->superseded.valid))
		rc = read_step(s);
	mdb_cursor_close(s->current.cursor);
	mdb_cursor_close(s->superseded.cursor);
	return rc == MDB_NOTFOUND ? 0 : rc;
}

static int check_revision(const struct lmdb_snapshot *at, int64_t revision, struct error *err)
{
	if (revision > at->revision)
		return error_set(err, ERR_TIMEOUT,
				 "revision %" PRId64 " is not reached yet: it is %" PRId64,
				 revision, at->revision);
	if (revision && revision < at->compacted)
		return error_set(err, ERR_EXPIRED, "revision %" PRId64 " is compacted", revision);
	return 0;
}

int lmdb_read_range(const struct lmdb_env *e, const struct lmdb_snapshot *at,
		    const struct lmdb_resources *resources, const struct store_range *range,
		    struct arena *arena, struct store_range_result *ret_result, struct error *err)
{
	const struct lmdb_resource *resource = lmdb_resources_find(resources, range->resource);
	struct scan s = { .limit = range->limit,
			  .arena = arena,
			  .revision = range->revision ? range->revision : at->revision };
	int rc = 0, r = check_revision(at, range->revision, err);

	if (r < 0)
		return r;
	vec_init(&s.items, SIZE_MAX / sizeof(struct store_item));
	s.past = s.revision < at->revision;
	s.resource = arena_str(arena, range->resource);
	if (resource)
		rc = scan_run(&s, e, at->txn, range, resource->id);
	*ret_result = (struct store_range_result){ .n = s.items.n,
						   .more = s.more,
						   .revision = s.revision };
	ret_result->items = ARENA_ARRAY(arena, struct store_item, s.items.n);
	if (s.items.n)
		memcpy(ret_result->items, s.items.v, s.items.n * sizeof(*s.items.v));
	vec_release(&s.items);
	return rc ? lmdb_error(err, ERR_IO, rc, e->dir) : 0;
}

bool lmdb_read_version(const struct lmdb_env *e, MDB_txn *txn, struct str key, int64_t revision,
		       struct str *ret_bytes)
{
	struct lmdb_key old;
	MDB_val k = lmdb_val(key), v;
	int64_t number;

	if (mdb_get(txn, e->current, &k, &v) == 0 &&
	    lmdb_value_split(lmdb_str(&v), &number, ret_bytes) && number == revision)
		return true;
	if (key.n > LMDB_KEY_MAX - LMDB_NUMBER)
		return false;
	str_put(old.p, key);
	old.n = key.n;
	lmdb_key_add_revision(&old, revision);
	k = lmdb_val(lmdb_key_str(&old));
	return mdb_get(txn, e->superseded, &k, &v) == 0 &&
	       lmdb_value_split(lmdb_str(&v), &number, ret_bytes);
}
