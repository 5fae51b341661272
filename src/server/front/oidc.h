/*
 * oidc - what others need to verify service accounts' tokens by themselves.
 *
 * /.well-known/openid-configuration   issuer, where the keys are, algorithms
 * /openid/v1/jwks                     the public keys
 */
#ifndef SERVER_FRONT_OIDC_H
#define SERVER_FRONT_OIDC_H

struct exchange;

/* Each answers the exchange. */
void oidc_configuration(struct exchange *x);
void oidc_keys(struct exchange *x);

#endif
