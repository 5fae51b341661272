/*
 * service_accounts - who issues the tokens of service accounts, and what is
 * believed of them: keys, issuers, audiences.
 *
 * The signing key is DATA_DIR/pki/sa.key, P-256, made at the first start (0600,
 * written atomically), or a given file. Tokens of any of the keys are believed,
 * so that a key can be replaced while tokens of the old one are about.
 * Threads: does not change after it was loaded; any thread may ask.
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

/* The data folder has its pki folder (bootstrap_ca). -ERR_INVALID names the flag at fault. */
int service_accounts_load(const struct server_opts *o, struct service_accounts **ret_accounts,
			  struct error *err);
void service_accounts_free(struct service_accounts *s);

/* What tokens are issued as; and for whom when nobody says. Borrowed, for as long as it lives. */
struct str service_accounts_issuer(const struct service_accounts *s);
const struct str *service_accounts_audiences(const struct service_accounts *s, size_t *ret_n);
bool service_accounts_is_audience(const struct service_accounts *s, struct str audience);

/* Appends a token that says `c`; its issuer is set here. */
int service_accounts_issue(const struct service_accounts *s, struct token_claims *c,
			   struct buf *out, struct error *err);

/*
 * Signature, issuer, and the times of the token; audiences and bindings are the caller's to
 * check. -ERR_UNAUTHORIZED in upstream's words. Borrows from the token and the arena.
 */
int service_accounts_verify(const struct service_accounts *s, struct str token, int64_t now_s,
			    struct arena *a, struct token_claims *ret_claims, struct error *err);

/* For relying parties: the JWK set, and the algorithms in it as a JSON array. */
void service_accounts_print_keys(const struct service_accounts *s, struct json_writer *w);
void service_accounts_print_algorithms(const struct service_accounts *s, struct json_writer *w);

DEFINE_CLEANUP(service_accounts_free, struct service_accounts *);

#endif
