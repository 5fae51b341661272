/*
 * Sets of four: a lookup compares four hashes, so no map is needed and the cache cannot be filled
 * up. The hash is SHA-256, any bits of which can choose a set.
 */
#include "server/authn/cache.h"

#include "base/core/mem.h"
#include "server/server_limits.h"

enum { WAYS = 4, SETS = AUTHN_TOKENS_MAX / WAYS };

_Static_assert((SETS & (SETS - 1)) == 0, "a set is chosen by masking");

static struct authn_entry **set_of(struct authn_cache *c, const uint8_t *hash)
{
	size_t set = ((size_t)hash[0] | (size_t)hash[1] << 8) & (SETS - 1);

	return c->slots + set * WAYS;
}

struct authn_entry *authn_entry_new(const uint8_t *hash)
{
	struct authn_entry *e = XNEW(struct authn_entry);

	memcpy(e->hash, hash, sizeof(e->hash));
	e->refs = 1;
	arena_init(&e->arena, SIZE_MAX);
	return e;
}

struct authn_entry *authn_entry_ref(struct authn_entry *e)
{
	e->refs++;
	return e;
}

void authn_entry_unref(struct authn_entry *e)
{
	if (!e || --e->refs > 0)
		return;
	arena_release(&e->arena);
	free(e);
}

void authn_cache_release(struct authn_cache *c)
{
	for (size_t i = 0; c->slots && i < AUTHN_TOKENS_MAX; i++)
		authn_entry_unref(c->slots[i]);
	free(c->slots);
	*c = (struct authn_cache){ 0 };
}

struct authn_entry *authn_cache_find(struct authn_cache *c, const uint8_t *hash, int64_t mono_ns,
				     int64_t wall_s)
{
	struct authn_entry **set;

	if (!c->slots)
		return NULL;
	set = set_of(c, hash);
	for (size_t i = 0; i < WAYS; i++) {
		struct authn_entry *e = set[i];

		if (!e || !pki_equal(e->hash, hash, sizeof(e->hash)))
			continue;
		if (mono_ns < e->until_ns && wall_s <= e->expires_s) {
			e->used = ++c->uses;
			return e;
		}
		authn_entry_unref(e);
		set[i] = NULL;
		return NULL;
	}
	return NULL;
}

void authn_cache_add(struct authn_cache *c, struct authn_entry *e)
{
	struct authn_entry **set;
	size_t place = 0;

	if (!c->slots)
		c->slots = xcalloc(AUTHN_TOKENS_MAX, sizeof(struct authn_entry *));
	set = set_of(c, e->hash);
	for (size_t i = 1; i < WAYS && set[place]; i++)
		if (!set[i] || set[i]->used < set[place]->used)
			place = i;
	authn_entry_unref(set[place]);
	e->used = ++c->uses;
	set[place] = e;
}
