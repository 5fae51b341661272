/*
 * jwt - JSON Web Tokens in compact form, signed with ES256 or RS256.
 *
 * Parsing is strict: three parts of canonical base64url; header and payload are one JSON object
 * each, without repeated members; a signature. `none`, HMACs and all other algorithms are rejected,
 * and so is a `crit` header. Trust a token only after jwt_verify(). No I/O, no clock: the caller
 * checks times and claims.
 */
#ifndef NET_TLS_JWT_H
#define NET_TLS_JWT_H

#include "base/json/json.h"
#include "net/tls/pki_sign.h"

struct jwt {
	enum pki_alg alg;
	struct str kid; /* from the header; empty: missing */
	struct str message; /* the signed part of the token's text */
	struct str signature; /* bytes */
	const struct json *header, *payload; /* objects */
};

/*
 * *ret_jwt borrows from the token and the arena. Returns -ERR_UNAUTHORIZED with the reason;
 * messages never show the token.
 */
int jwt_parse(struct str token, struct arena *a, struct jwt *ret_jwt, struct error *err);

/* Whether the key signed it, and the token has the algorithm of the key. */
bool jwt_verify(const struct jwt *t, const struct pki_key *key);

/* Appends a token with `payload` (JSON text), signed by a private key, with its key ID. */
int jwt_print(const struct pki_key *key, struct str payload, struct buf *out, struct error *err);

/* A time claim in seconds since 1970, without fraction. Returns false if missing. */
bool jwt_time(const struct jwt *t, const char *claim, int64_t *ret_seconds);

#endif
