/*
 * authn_cache - recently verified tokens, by their hash.
 *
 * Fixed size: a new token replaces the least recently used one of its set. An entry that a
 * request holds outlives its slot.
 *
 * Threads: one lane's loop.
 */
#ifndef SERVER_AUTHN_CACHE_H
#define SERVER_AUTHN_CACHE_H

#include "base/core/arena.h"
#include "net/tls/pki_sign.h"
#include "server/core/user.h"

struct authn_entry {
	uint8_t hash[PKI_SHA256_SIZE];
	int64_t until_ns; /* monotonic; after that it is verified again */
	int64_t expires_s; /* since 1970; after that the token is invalid */
	uint64_t used; /* time of the last use, by the cache's count of uses */
	unsigned refs;
	struct arena arena; /* for the user's text */
	struct user user;
};

struct authn_cache {
	struct authn_entry **slots; /* NULL until the first token */
	uint64_t uses;
};

void authn_cache_release(struct authn_cache *c);

/* Borrowed until the next call; NULL if not found or expired. */
struct authn_entry *authn_cache_find(struct authn_cache *c, const uint8_t *hash, int64_t mono_ns,
				     int64_t wall_s);

/* Takes over the caller's reference. */
void authn_cache_add(struct authn_cache *c, struct authn_entry *e);

/* One reference. The arena is initialized; the caller sets the rest. */
struct authn_entry *authn_entry_new(const uint8_t *hash);
struct authn_entry *authn_entry_ref(struct authn_entry *e);
void authn_entry_unref(struct authn_entry *e); /* NULL allowed */

DEFINE_CLEANUP(authn_entry_unref, struct authn_entry *);

#endif
