/*
 * authn_cache - tokens that were verified a moment ago, by their hash.
 *
 * Of fixed size: a new token takes the place of the one of its set that was not
 * used for longest. An entry that a request holds outlives its place.
 * Threads: one lane's loop.
 */
#ifndef SERVER_AUTHN_CACHE_H
#define SERVER_AUTHN_CACHE_H

#include "base/core/arena.h"
#include "net/tls/pki_sign.h"
#include "server/core/user.h"

struct authn_entry {
	uint8_t hash[PKI_SHA256_SIZE];
	int64_t until_ns; /* monotonic; then it is verified anew */
	int64_t expires_s; /* since 1970: then it is no good any more */
	uint64_t used; /* when, by the cache's count of uses */
	unsigned refs;
	struct arena arena; /* of the user's text */
	struct user user;
};

struct authn_cache {
	struct authn_entry **slots; /* NULL until the first token */
	uint64_t uses;
};

void authn_cache_release(struct authn_cache *c);

/* Borrowed until the next call; NULL when it is not there, or not any more. */
struct authn_entry *authn_cache_find(struct authn_cache *c, const uint8_t *hash, int64_t mono_ns,
				     int64_t wall_s);

/* Takes the caller's reference over. */
void authn_cache_add(struct authn_cache *c, struct authn_entry *e);

/* One reference; arena ready, the rest is the caller's to set. */
struct authn_entry *authn_entry_new(const uint8_t *hash);
struct authn_entry *authn_entry_ref(struct authn_entry *e);
void authn_entry_unref(struct authn_entry *e); /* NULL allowed */

DEFINE_CLEANUP(authn_entry_unref, struct authn_entry *);

#endif
