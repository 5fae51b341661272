/*
 * oidc - the texts of an OpenID Connect login: authorization code flow with PKCE.
 *
 * The ID token comes from the provider's token endpoint over TLS, so its signature need not be
 * verified here (OpenID Connect Core, 3.1.3.7); the API server verifies it, too. No I/O.
 */
#ifndef CLI_UI_OIDC_H
#define CLI_UI_OIDC_H

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/error.h"

/* The settings of a provider. */
struct oidc_provider {
	const char *issuer; /* https URL */
	const char *client_id;
	struct str client_secret; /* empty: a public client */
	const char *redirect_url;
	const char *const *scopes; /* besides "openid" */
	size_t nscopes;
};

/* From the provider's metadata. */
struct oidc_metadata {
	struct str authorization_endpoint, token_endpoint; /* https URLs */
	bool post; /* the secret goes into the form, not into an Authorization header */
};

enum { OIDC_SECRET_SIZE = 44 }; /* base64url of 256 random bits, and a NUL */

/* A login under way: its secrets. */
struct oidc_flow {
	char state[OIDC_SECRET_SIZE], nonce[OIDC_SECRET_SIZE], verifier[OIDC_SECRET_SIZE];
};

void oidc_flow_init(struct oidc_flow *f);

/* -ERR_INVALID unless the URL begins with https:// and has a host. */
int oidc_check_url(struct str url, struct error *err);

/* Reads /.well-known/openid-configuration. The texts live in the arena. */
int oidc_read_metadata(struct arena *a, struct str text, const struct oidc_provider *p,
		       struct oidc_metadata *ret_metadata, struct error *err);

/* Where to send the browser. */
struct str oidc_authorize_url(struct arena *a, const struct oidc_provider *p,
			      const struct oidc_metadata *m, const struct oidc_flow *f);

/* The body of the request to the token endpoint. */
struct str oidc_token_form(struct arena *a, const struct oidc_provider *p,
			   const struct oidc_metadata *m, const struct oidc_flow *f,
			   struct str code);

/*
 * The ID token of the token endpoint's reply, in the arena, if it is for this client and this flow,
 * and has not expired.
 */
int oidc_read_token(struct arena *a, struct str text, const struct oidc_provider *p,
		    const struct oidc_flow *f, int64_t now_s, struct str *ret_token,
		    struct error *err);

#endif
