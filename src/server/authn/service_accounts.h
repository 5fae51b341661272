/*
 * service_accounts - issues and verifies the tokens of service accounts: keys, issuers,
 * audiences.
 *
 * The signing key is DATA_DIR/pki/sa.key, P-256, made at the first start (mode 0600, written
 * atomically), or a configured file. Tokens signed by any of the keys are accepted, so a key can
 * be replaced while tokens of the old one are in use.
 *
 * Threads: immutable after loading; any thread may use it.
 */
#ifndef SERVER_AUTHN_SERVICE_ACCOUNTS_H
#define SERVER_AUTHN_SERVICE_ACCOUNTS_H

#include "base/core/buf.h"
#include "base/core/error.h"
#include "base/core/str.h"

struct arena;
struct token_claims;
struct json_writer;
struct server_opts;
struct service_accounts;

/* The data folder must have its pki folder (bootstrap_ca). -ERR_INVALID names the wrong flag. */
int service_accounts_load(const struct server_opts *o, struct service_accounts **ret_accounts,
			  struct error *err);
void service_accounts_free(struct service_accounts *s);

/* The issuer of new tokens, and the default audiences. Borrowed, for as long as `s` lives. */
struct str service_accounts_issuer(const struct service_accounts *s);
const struct str *service_accounts_audiences(const struct service_accounts *s, size_t *ret_n);
bool service_accounts_is_audience(const struct service_accounts *s, struct str audience);

/* Appends a token with the claims `c`; sets their issuer. */
int service_accounts_issue(const struct service_accounts *s, struct token_claims *c,
			   struct buf *out, struct error *err);

/*
 * Verifies signature, issuer and times of the token. The caller must check audiences and
 * bindings. -ERR_UNAUTHORIZED in upstream's wording. Borrows from the token and the arena.
 */
int service_accounts_verify(const struct service_accounts *s, struct str token, int64_t now_s,
			    struct arena *a, struct token_claims *ret_claims, struct error *err);

/* For relying parties: the JWK set, and the algorithms in it as a JSON array. */
void service_accounts_print_keys(const struct service_accounts *s, struct json_writer *w);
void service_accounts_print_algorithms(const struct service_accounts *s, struct json_writer *w);

DEFINE_CLEANUP(service_accounts_free, struct service_accounts *);

#endif
