/*
 * A map and an array over one set of small records. There are only as many as the API has
 * resources.
 */
#include "store/lmdb/resources.h"

#include "base/core/mem.h"
#include "store/lmdb/keys.h"
#include "store/store_limits.h"

#define PREFIX "resource/"

void lmdb_resources_init(struct lmdb_resources *t)
{
	map_init(&t->by_name);
	vec_init(&t->by_id, STORE_RESOURCES_MAX);
}

void lmdb_resources_release(struct lmdb_resources *t)
{
	for (size_t i = 0; i < t->by_id.n; i++)
		free(t->by_id.v[i]);
	vec_release(&t->by_id);
	map_release(&t->by_name);
}

static struct lmdb_resource *resources_add(struct lmdb_resources *t, struct str name, uint32_t id)
{
	struct lmdb_resource *r = xmalloc(sizeof(*r) + name.n);
	char *text = (char *)(r + 1);

	str_put(text, name);
	*r = (struct lmdb_resource){ .name = str_of(text, name.n), .id = id };
	while (t->by_id.n < id)
		(void)vec_push(&t->by_id, NULL);
	t->by_id.v[id - 1] = r;
	(void)map_put(&t->by_name, r->name, r);
	return r;
}

/*
 * Loads one entry of `meta`; returns false if it is damaged. Skips entries that are not resources.
 */
static bool load_one(struct lmdb_resources *t, struct str key, struct str value)
{
	struct str name;
	int64_t id;

	if (!str_starts(key, STR(PREFIX)))
		return true;
	name = str_skip(key, sizeof(PREFIX) - 1);
	if (value.n != LMDB_NUMBER)
		return false;
	id = lmdb_number_get(value.p);
	if (id < 1 || id > STORE_RESOURCES_MAX || lmdb_resources_at(t, (uint32_t)id))
		return false;
	(void)resources_add(t, name, (uint32_t)id);
	return true;
}

int lmdb_resources_load(struct lmdb_resources *t, const struct lmdb_env *e, MDB_txn *txn,
			struct error *err)
{
	MDB_cursor *c;
	MDB_val k, v;
	int rc = mdb_cursor_open(txn, e->meta, &c);

	if (rc)
		return lmdb_error(err, ERR_IO, rc, e->dir);
	while ((rc = mdb_cursor_get(c, &k, &v, MDB_NEXT)) == 0)
		if (!load_one(t, lmdb_str(&k), lmdb_str(&v)))
			break;
	mdb_cursor_close(c);
	if (rc == 0)
		return error_set(err, ERR_INVALID, "%s: the table of resources is damaged", e->dir);
	return rc == MDB_NOTFOUND ? 0 : lmdb_error(err, ERR_IO, rc, e->dir);
}

struct lmdb_resource *lmdb_resources_find(const struct lmdb_resources *t, struct str name)
{
	return map_get(&t->by_name, name);
}

struct lmdb_resource *lmdb_resources_at(const struct lmdb_resources *t, uint32_t id)
{
	return id >= 1 && id <= t->by_id.n ? t->by_id.v[id - 1] : NULL;
}

struct lmdb_resource *lmdb_resources_get(struct lmdb_resources *t, struct str name)
{
	struct lmdb_resource *r = lmdb_resources_find(t, name);

	if (r || t->by_id.n >= STORE_RESOURCES_MAX)
		return r;
	return resources_add(t, name, (uint32_t)t->by_id.n + 1);
}

static bool resource_key(const struct lmdb_resource *r, char key[static LMDB_KEY_MAX + 1])
{
	int n = snprintf(key, LMDB_KEY_MAX + 1, PREFIX "%.*s", STR_ARG(r->name));

	return n >= 0 && n <= LMDB_KEY_MAX;
}

bool lmdb_resource_fits(const struct lmdb_resource *r)
{
	return sizeof(PREFIX) - 1 + r->name.n <= LMDB_KEY_MAX;
}

int lmdb_resource_get(const struct lmdb_resource *r, const struct lmdb_env *e, MDB_txn *txn,
		      int64_t *ret_id)
{
	char key[LMDB_KEY_MAX + 1];

	return resource_key(r, key) ? lmdb_meta_get(e, txn, key, ret_id) : MDB_BAD_VALSIZE;
}

int lmdb_resource_put(const struct lmdb_resource *r, const struct lmdb_env *e, MDB_txn *txn)
{
	char key[LMDB_KEY_MAX + 1];

	return resource_key(r, key) ? lmdb_meta_put(e, txn, key, r->id) : MDB_BAD_VALSIZE;
}
