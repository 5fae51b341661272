/*
 * The index has two numbers per change, sorted, so a resource's changes are contiguous. Bytes are
 * fetched by key and revision on request.
 */
#include "store/lmdb/history.h"

#include "base/core/arena.h"
#include "base/core/mem.h"
#include "base/core/vec.h"

struct lmdb_history_entry {
	uint32_t id;
	int64_t revision;
};

void lmdb_history_release(struct lmdb_history *h)
{
	free(h->entries);
	*h = (struct lmdb_history){ 0 };
}

static int by_resource(const void *a, const void *b)
{
	const struct lmdb_history_entry *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return (x->revision > y->revision) - (x->revision < y->revision);
}

static int read_change(MDB_val *k, MDB_val *v, struct lmdb_change *ret_change)
{
	return lmdb_change_parse(lmdb_str(k), lmdb_str(v), ret_change) ? 0 : MDB_CORRUPTED;
}

static int history_make(struct lmdb_history *h, const struct lmdb_env *e,
			const struct lmdb_snapshot *at)
{
	VEC(struct lmdb_history_entry) v;
	struct lmdb_change c;
	struct str ns, name;
	MDB_cursor *log;
	MDB_val k, val;
	uint32_t id;
	int rc = mdb_cursor_open(at->txn, e->log, &log);

	if (rc)
		return rc;
	vec_init(&v, SIZE_MAX / sizeof(struct lmdb_history_entry));
	while ((rc = mdb_cursor_get(log, &k, &val, MDB_NEXT)) == 0) {
		rc = read_change(&k, &val, &c);
		if (rc == 0 && !lmdb_key_parse(c.key, &id, &ns, &name))
			rc = MDB_CORRUPTED;
		if (rc)
			break;
		if (c.revision > at->compacted)
			(void)vec_push(&v, (struct lmdb_history_entry){ id, c.revision });
	}
	mdb_cursor_close(log);
	if (v.n)
		qsort(v.v, v.n, sizeof(*v.v), by_resource);
	lmdb_history_release(h);
	*h = (struct lmdb_history){
		.entries = v.v, .n = v.n, .revision = at->revision, .made = true
	};
	return rc == MDB_NOTFOUND ? 0 : rc;
}

/* Returns the index of the resource's first entry after the revision. */
static size_t history_find(const struct lmdb_history *h, uint32_t id, int64_t revision)
{
	const struct lmdb_history_entry wanted = { id, revision };
	size_t low = 0, high = h->n, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (by_resource(&h->entries[mid], &wanted) <= 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static struct slice history_copy(struct arena *arena, struct str bytes)
{
	return slice_static(str_of(arena_strdup(arena, bytes), bytes.n));
}

/* Loads one change with its bytes, into the arena. */
static int load_change(const struct lmdb_env *e, MDB_txn *txn, int64_t revision,
		       struct arena *arena, struct store_change *ret)
{
	struct lmdb_key key = { .n = 0 };
	struct lmdb_change c;
	struct str ns, name, bytes;
	uint32_t id;
	MDB_val k, v;
	int rc;

	lmdb_key_add_revision(&key, revision);
	k = lmdb_val(lmdb_key_str(&key));
	rc = mdb_get(txn, e->log, &k, &v);
	if (rc == 0)
		rc = read_change(&k, &v, &c);
	if (rc == 0 && !lmdb_key_parse(c.key, &id, &ns, &name))
		rc = MDB_CORRUPTED;
	if (rc)
		return rc;
	*ret = (struct store_change){ .revision = revision, .prev_revision = c.prev };
	ret->key.ns = arena_str(arena, ns);
	ret->key.name = arena_str(arena, name);
	if (!c.deleted) {
		if (!lmdb_read_version(e, txn, c.key, revision, &bytes))
			return MDB_CORRUPTED;
		ret->value = history_copy(arena, bytes);
	}
	if (c.prev) {
		if (!lmdb_read_version(e, txn, c.key, c.prev, &bytes))
			return MDB_CORRUPTED;
		ret->prev = history_copy(arena, bytes);
	}
	return 0;
}

/* Reverses the changes, which are newest first. */
static void put_in_order(const struct store_change *newest_first, size_t n, struct arena *arena,
			 struct store_past *past)
{
	past->changes = ARENA_ARRAY(arena, struct store_change, n);
	past->n = n;
	for (size_t i = 0; i < n; i++)
		past->changes[i] = newest_first[n - 1 - i];
}

int lmdb_history_read(struct lmdb_history *h, const struct lmdb_env *e,
		      const struct lmdb_snapshot *at, const struct lmdb_resource *resource,
		      size_t max_bytes, struct arena *arena, struct store_past *past,
		      struct error *err)
{
	VEC(struct store_change) v;
	struct store_change c = { .revision = 0 };
	struct str name = arena_str(arena, resource->name);
	size_t first, i, bytes = 0;
	int rc = 0;

	if (!h->made || h->revision != at->revision)
		rc = history_make(h, e, at);
	vec_init(&v, SIZE_MAX / sizeof(c));
	first = history_find(h, resource->id, past->from);
	for (i = history_find(h, resource->id, INT64_MAX);
	     i > first && rc == 0 && bytes < max_bytes; i--) {
		rc = load_change(e, at->txn, h->entries[i - 1].revision, arena, &c);
		c.key.resource = name;
		bytes += c.value.n + c.prev.n;
		(void)vec_push(&v, c);
	}
	if (i > first && rc == 0)
		past->from = h->entries[i - 1].revision;
	put_in_order(v.v, v.n, arena, past);
	vec_release(&v);
	return rc ? lmdb_error(err, ERR_IO, rc, e->dir) : 0;
}

int lmdb_history_walk(const struct lmdb_env *e, const struct lmdb_snapshot *at, int64_t revision,
		      bool (*each)(void *arg, const struct lmdb_change *c, struct str value),
		      void *arg, struct error *err)
{
	struct lmdb_key from = { .n = 0 };
	struct lmdb_change c;
	struct str bytes = STR_NULL;
	MDB_cursor *log;
	MDB_val k, v;
	int rc = mdb_cursor_open(at->txn, e->log, &log);

	if (rc)
		return lmdb_error(err, ERR_IO, rc, e->dir);
	lmdb_key_add_revision(&from, revision + 1);
	k = lmdb_val(lmdb_key_str(&from));
	rc = mdb_cursor_get(log, &k, &v, MDB_SET_RANGE);
	while (rc == 0) {
		rc = read_change(&k, &v, &c);
		if (rc == 0 && !c.deleted &&
		    !lmdb_read_version(e, at->txn, c.key, c.revision, &bytes))
			rc = MDB_CORRUPTED;
		if (rc || !each(arg, &c, bytes))
			break;
		rc = mdb_cursor_get(log, &k, &v, MDB_NEXT);
	}
	mdb_cursor_close(log);
	return rc == 0 || rc == MDB_NOTFOUND ? 0 : lmdb_error(err, ERR_IO, rc, e->dir);
}
