/*
 * seal - authenticated encryption of values for storage.
 *
 * Two forms. Both bind the sealed value to a context (such as the name of the place where it is
 * stored), so that it cannot be opened anywhere else:
 *
 *   gcm   salt (32) | nonce (12) | text | tag (16). AES-256-GCM with a key that HKDF-SHA256 derives
 *         from the secret and the random salt. So each value has its own key, and the number of
 *         values that one secret may seal has no practical limit.
 *   box   nonce (24) | tag (16) | text: NaCl's secretbox (XSalsa20-Poly1305). The text begins with
 *         the SHA-256 of the context, because secretbox has no associated data.
 *
 * All random bytes come from the kernel at each call, so nothing repeats after a restart or in
 * another server. Secrets are in pages of their own, which are left out of core dumps and not
 * inherited by forked processes, and are overwritten before they are freed.
 * Threads: a key is constant; any thread may use it.
 */
#ifndef NET_TLS_SEAL_H
#define NET_TLS_SEAL_H

#include "base/core/str.h"

enum {
	SEAL_SECRET_MAX = 32,
	SEAL_ID_SIZE = 8,
	SEAL_GCM_MORE = 32 + 12 + 16, /* bytes that a sealed value is longer */
	SEAL_BOX_MORE = 24 + 16 + 32,
};

struct seal_key;

/* `secret` has 1 to SEAL_SECRET_MAX bytes; a box needs 32. */
struct seal_key *seal_key_new(struct str secret);
/* A key with 32 random bytes as its secret. */
struct seal_key *seal_key_random(void);
void seal_key_free(struct seal_key *k); /* NULL allowed */

/* SEAL_ID_SIZE bytes that differ for different secrets and do not reveal the secret. */
struct str seal_key_id(const struct seal_key *k);
/* The secret itself, for handing it to the service that encrypts it. */
struct str seal_key_secret(const struct seal_key *k);

/* `out` has room for SEAL_GCM_MORE more bytes than `clear`, or SEAL_BOX_MORE. */
void seal_gcm(const struct seal_key *k, struct str context, struct str clear, char *out);
void seal_box(const struct seal_key *k, struct str context, struct str clear, char *out);

/*
 * `out` has room for so many bytes less. Returns false, and clears `out`, if the value was not
 * sealed with this key for this context, or was changed.
 */
bool seal_gcm_open(const struct seal_key *k, struct str context, struct str sealed, char *out);
bool seal_box_open(const struct seal_key *k, struct str context, struct str sealed, char *out);

/* Overwrites memory that held a secret; the compiler does not leave it out. */
void seal_wipe(void *p, size_t n);

DEFINE_CLEANUP(seal_key_free, struct seal_key *);

#endif
