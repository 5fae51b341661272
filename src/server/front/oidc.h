/*
 * oidc - the documents with which others verify service accounts' tokens.
 *
 *	/.well-known/openid-configuration   issuer, URL of the keys, algorithms
 *	/openid/v1/jwks                     the public keys
 */
#ifndef SERVER_FRONT_OIDC_H
#define SERVER_FRONT_OIDC_H

struct exchange;

/* Each replies to the exchange. */
void oidc_configuration(struct exchange *x);
void oidc_keys(struct exchange *x);

#endif
