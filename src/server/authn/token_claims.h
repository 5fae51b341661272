/*
 * token_claims - parses and prints the claims of a service account's token (JWT).
 *
 * The payload is upstream's: iss, sub, aud, exp, iat, nbf, jti, and the private claim
 * kubernetes.io with the account and the objects that the token is bound to.
 */
#ifndef SERVER_AUTHN_TOKEN_CLAIMS_H
#define SERVER_AUTHN_TOKEN_CLAIMS_H

#include "base/core/buf.h"
#include "base/core/error.h"
#include "server/core/user.h"

struct arena;
struct jwt;

struct token_claims {
	struct user_binding binding;
	struct str issuer, jti;
	const struct str *audiences;
	size_t naudiences;
	int64_t issued_s, not_before_s, expires_s; /* since 1970 */
	int64_t warn_after_s; /* the requested expiry, if the server extended it; 0: not extended */
};

/* Appends the payload. -ERR_TOO_LARGE. */
int token_claims_print(const struct token_claims *c, struct buf *out);

/*
 * The claims of a token whose signature was verified; borrows from it. -ERR_UNAUTHORIZED if
 * something is missing or has a wrong type.
 */
int token_claims_read(const struct jwt *t, struct arena *a, struct token_claims *ret_claims,
		      struct error *err);

/* Allows clocks to differ by a minute, as upstream. -ERR_UNAUTHORIZED in upstream's wording. */
#define TOKEN_CLAIMS_LEEWAY_S 60
int token_claims_check_time(const struct token_claims *c, int64_t now_s, struct error *err);

/* The user: name, groups, extras, binding. Text is borrowed from the claims. */
void token_claims_user(const struct token_claims *c, struct arena *a, struct user *ret_user);

#endif
