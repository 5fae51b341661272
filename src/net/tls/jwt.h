/*
 * jwt - JSON Web Tokens in compact form, signed with ES256 or RS256.
 *
 * Reading is strict: three parts of canonical base64url, header and payload one
 * JSON object each without repeated members, a signature. `none`, HMACs and
 * every other algorithm are refused, and so is a `crit` header. What a token
 * says may be believed only after jwt_verify().
 * No I/O, no clock: times and claims are the caller's to judge.
 */
#ifndef NET_TLS_JWT_H
#define NET_TLS_JWT_H

#include "base/json/json.h"
#include "net/tls/pki_sign.h"

struct jwt {
	enum pki_alg alg;
	struct str kid; /* of the header; empty: it has none */
	struct str message; /* what is signed: a part of the token's text */
	struct str signature; /* bytes */
	const struct json *header, *payload; /* objects */
};

/*
 * *ret_jwt borrows from the token and the arena. -ERR_UNAUTHORIZED says what is wrong;
 * texts never show the token.
 */
int jwt_parse(struct str token, struct arena *a, struct jwt *ret_jwt, struct error *err);

/* Whether the key signed it, and the token names that key's algorithm. */
bool jwt_verify(const struct jwt *t, const struct pki_key *key);

/* Appends a token of `payload`, JSON text, signed by a private key and naming it. */
int jwt_print(const struct pki_key *key, struct str payload, struct buf *out, struct error *err);

/* A time of the payload, in seconds since 1970; a fraction is cut off. False: none there. */
bool jwt_time(const struct jwt *t, const char *claim, int64_t *ret_seconds);

#endif
