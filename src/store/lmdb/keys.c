/*
 * Encoding and decoding. Decoders check everything, because `devplane store check` runs them on
 * files that may be damaged.
 */
#include "store/lmdb/keys.h"

#include <endian.h>

enum { KIND_PUT = 1, KIND_DELETE = 2, CHANGE_HEAD = 2 * LMDB_NUMBER + 1 };

void lmdb_number_put(char *p, int64_t v)
{
	uint64_t be = htobe64((uint64_t)v);

	memcpy(p, &be, sizeof(be));
}

int64_t lmdb_number_get(const char *p)
{
	uint64_t be;

	memcpy(&be, p, sizeof(be));
	return (int64_t)be64toh(be);
}

static void put_id(struct lmdb_key *k, uint32_t id)
{
	uint32_t be = htobe32(id);

	memcpy(k->p, &be, sizeof(be));
	k->n = sizeof(be);
}

/* Returns false if the piece contains NUL, or does not fit with `more` bytes after it. */
static bool add_piece(struct lmdb_key *k, struct str piece, size_t more)
{
	if (piece.n > LMDB_KEY_MAX || k->n + piece.n + more > LMDB_KEY_MAX)
		return false;
	if (piece.n == 0)
		return true;
	if (memchr(piece.p, 0, piece.n))
		return false;
	str_put(k->p + k->n, piece);
	k->n += piece.n;
	return true;
}

bool lmdb_key_make(struct lmdb_key *k, uint32_t id, struct str ns, struct str name)
{
	put_id(k, id);
	if (name.n == 0 || !add_piece(k, ns, 1 + LMDB_NUMBER))
		return false;
	k->p[k->n++] = '\0';
	return add_piece(k, name, LMDB_NUMBER);
}

bool lmdb_key_prefix(struct lmdb_key *k, uint32_t id, struct str ns)
{
	put_id(k, id);
	if (!add_piece(k, ns, 1 + LMDB_NUMBER))
		return false;
	if (ns.n)
		k->p[k->n++] = '\0';
	return true;
}

void lmdb_key_add_revision(struct lmdb_key *k, int64_t revision)
{
	lmdb_number_put(k->p + k->n, revision);
	k->n += LMDB_NUMBER;
}

bool lmdb_key_parse(struct str key, uint32_t *ret_id, struct str *ret_ns, struct str *ret_name)
{
	struct str rest = str_skip(key, LMDB_KEY_ID);
	ptrdiff_t end = str_chr(rest, '\0');
	struct str name;
	uint32_t be;

	if (key.n < LMDB_KEY_ID || end < 0)
		return false;
	name = str_skip(rest, (size_t)end + 1);
	if (name.n == 0 || str_chr(name, '\0') >= 0)
		return false;
	memcpy(&be, key.p, sizeof(be));
	*ret_id = be32toh(be);
	*ret_ns = str_of(rest.p, (size_t)end);
	*ret_name = name;
	return true;
}

bool lmdb_key_split(struct str key, struct str *ret_key, int64_t *ret_revision)
{
	if (key.n <= LMDB_NUMBER)
		return false;
	*ret_key = str_of(key.p, key.n - LMDB_NUMBER);
	*ret_revision = lmdb_number_get(key.p + key.n - LMDB_NUMBER);
	return *ret_revision > 0 && *ret_revision <= LMDB_REVISION_MAX;
}

bool lmdb_value_split(struct str value, int64_t *ret_number, struct str *ret_bytes)
{
	if (value.n < LMDB_NUMBER)
		return false;
	*ret_number = lmdb_number_get(value.p);
	*ret_bytes = str_of(value.p + LMDB_NUMBER, value.n - LMDB_NUMBER);
	return *ret_number > 0 && *ret_number <= LMDB_REVISION_MAX;
}

size_t lmdb_change_size(const struct lmdb_change *c)
{
	return CHANGE_HEAD + c->key.n;
}

void lmdb_change_put(char *p, const struct lmdb_change *c)
{
	lmdb_number_put(p, c->time_ms);
	lmdb_number_put(p + LMDB_NUMBER, c->prev);
	p[CHANGE_HEAD - 1] = c->deleted ? KIND_DELETE : KIND_PUT;
	str_put(p + CHANGE_HEAD, c->key);
}

bool lmdb_change_parse(struct str key, struct str value, struct lmdb_change *ret_change)
{
	char kind;

	if (key.n != LMDB_NUMBER || value.n <= CHANGE_HEAD)
		return false;
	kind = value.p[CHANGE_HEAD - 1];
	*ret_change = (struct lmdb_change){ .revision = lmdb_number_get(key.p),
					    .time_ms = lmdb_number_get(value.p),
					    .prev = lmdb_number_get(value.p + LMDB_NUMBER),
					    .deleted = kind == KIND_DELETE,
					    .key = str_skip(value, CHANGE_HEAD) };
	if (kind != KIND_PUT && kind != KIND_DELETE)
		return false;
	return ret_change->revision > 0 && ret_change->revision <= LMDB_REVISION_MAX &&
	       ret_change->prev >= 0 && ret_change->prev < ret_change->revision;
}
