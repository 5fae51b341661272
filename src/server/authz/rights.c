/*
 * Sets of four, as in authn/cache.c. The key of an entry is the request as bytes: each text with
 * its length, so that no two requests have one key. Its end, which says for which namespaces and
 * names the right is, is tried in each form that RBAC grants; the beginning is hashed once.
 */
#include "server/authz/rights.h"

#include "base/core/bytes.h"
#include "base/core/map.h"
#include "base/core/mem.h"
#include "server/server_limits.h"

enum { WAYS = 4, SETS = AUTHZ_RIGHTS_MAX / WAYS };

_Static_assert((SETS & (SETS - 1)) == 0, "a set is chosen by masking");

struct right_entry {
	uint64_t hash, epoch;
	uint64_t used; /* time of the last use, by the count of uses */
	struct bytes *reason; /* NULL: not wanted */
	size_t n;
	char key[];
};

struct rights {
	struct right_entry **slots; /* NULL until the first entry */
	uint64_t uses, seed;
};

/* The namespaces and names that a key is for. */
struct right_scope {
	bool any_ns, any_name;
};

struct right_key {
	size_t common, n; /* bytes of the part that all scopes share, and of the whole */
	uint64_t seed; /* hash of the former */
	uint64_t hash;
	bool cut; /* it is too long */
	char text[AUTHZ_RIGHT_BYTES];
};

/* --- keys ------------------------------------------------------------------------- */

static void key_put(struct right_key *k, const void *p, size_t n)
{
	k->cut = k->cut || n > sizeof(k->text) - k->n;
	if (k->cut)
		return;
	str_put(k->text + k->n, str_of(p, n));
	k->n += n;
}

static void key_put_str(struct right_key *k, struct str s)
{
	key_put(k, &s.n, sizeof(s.n));
	key_put(k, s.p, s.n);
}

static void key_begin(struct right_key *k, const struct rights *r, const struct authz_query *q)
{
	const struct user *u = q->user;

	k->n = 0;
	k->cut = false;
	key_put_str(k, u->name);
	key_put(k, &u->ngroups, sizeof(u->ngroups));
	for (size_t i = 0; i < u->ngroups; i++)
		key_put_str(k, u->groups[i]);
	key_put_str(k, q->verb);
	key_put(k, &q->is_path, sizeof(q->is_path));
	if (q->is_path) {
		key_put_str(k, q->path);
	} else {
		key_put_str(k, q->group);
		key_put_str(k, q->resource);
		key_put_str(k, q->subresource);
	}
	k->common = k->n;
	k->seed = hash_bytes(str_of(k->text, k->n), r->seed);
}

static void key_end(struct right_key *k, const struct authz_query *q, struct right_scope scope)
{
	k->n = k->common;
	key_put(k, &scope, sizeof(scope));
	if (!scope.any_ns)
		key_put_str(k, q->ns);
	if (!scope.any_name)
		key_put_str(k, q->name);
	k->hash = hash_bytes(str_of(k->text + k->common, k->n - k->common), k->seed);
}

static struct right_entry **set_of(const struct rights *r, const struct right_key *k)
{
	return r->slots + (k->hash & (SETS - 1)) * WAYS;
}

static struct right_entry *find(const struct rights *r, const struct right_key *k)
{
	struct right_entry **set = set_of(r, k);

	for (size_t i = 0; i < WAYS; i++)
		if (set[i] && set[i]->hash == k->hash && set[i]->n == k->n &&
		    memcmp(set[i]->key, k->text, k->n) == 0)
			return set[i];
	return NULL;
}

/* --- entries ---------------------------------------------------------------------- */

struct rights *rights_new(void)
{
	struct rights *r = XNEW(struct rights);

	r->seed = hash_process_seed();
	return r;
}

static void entry_free(struct right_entry *e)
{
	if (e)
		bytes_unref(e->reason);
	free(e);
}

void rights_free(struct rights *r)
{
	if (!r)
		return;
	for (size_t i = 0; r->slots && i < AUTHZ_RIGHTS_MAX; i++)
		entry_free(r->slots[i]);
	free(r->slots);
	free(r);
}

bool rights_have(struct rights *r, const struct authz_query *q, uint64_t epoch,
		 struct str *ret_reason)
{
	/* Most rights are for all names. */
	static const struct right_scope scopes[] = {
		{ true, true }, { false, true }, { false, false }, { true, false }
	};
	struct right_key k UNZEROED;

	if (!r->slots)
		return false;
	key_begin(&k, r, q);
	for (size_t i = 0; i < ARRAY_SIZE(scopes) && !k.cut; i++) {
		struct right_entry *e;

		key_end(&k, q, scopes[i]);
		e = k.cut ? NULL : find(r, &k);
		if (e && e->epoch == epoch) {
			e->used = ++r->uses;
			if (ret_reason)
				*ret_reason = e->reason ? bytes_str(e->reason) : STR("");
			return true;
		}
	}
	return false;
}

/* A place for the key in its set: the least recently used one is freed. */
static struct right_entry *replace(struct rights *r, const struct right_key *k)
{
	struct right_entry **set = set_of(r, k), *e;
	size_t place = 0;

	for (size_t i = 1; i < WAYS && set[place]; i++)
		if (!set[i] || set[i]->used < set[place]->used)
			place = i;
	entry_free(set[place]);
	e = set[place] = xmalloc(sizeof(*e) + k->n);
	e->hash = k->hash;
	e->n = k->n;
	e->reason = NULL;
	str_put(e->key, str_of(k->text, k->n));
	return e;
}

void rights_add(struct rights *r, const struct authz_query *q, const struct authz_right *right)
{
	struct right_key k UNZEROED;
	struct right_entry *e;

	if (!right->epoch)
		return;
	key_begin(&k, r, q);
	if (!k.cut)
		key_end(&k, q, (struct right_scope){ right->any_ns, right->any_name });
	if (k.cut)
		return;
	if (!r->slots)
		r->slots = xcalloc(AUTHZ_RIGHTS_MAX, sizeof(struct right_entry *));
	e = find(r, &k);
	if (!e)
		e = replace(r, &k);
	e->epoch = right->epoch;
	e->used = ++r->uses;
	bytes_unref(e->reason);
	e->reason = right->reason.n ? bytes_copy(right->reason) : NULL;
}
