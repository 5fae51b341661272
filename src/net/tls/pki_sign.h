/*
 * pki_sign - signatures of tokens: keys, ES256 and RS256, key ids, JWKs.
 *
 * A key is an EC key on P-256 or an RSA key of at least 2048 bits; public, or
 * private with its public half. Its kind alone decides the algorithm, so that
 * no token can talk a verifier into another one.
 * Threads: a key does not change; any thread may sign and verify.
 */
#ifndef NET_TLS_PKI_SIGN_H
#define NET_TLS_PKI_SIGN_H

#include "base/core/buf.h"
#include "base/core/error.h"
#include "base/core/str.h"

struct json_writer;
struct pki_key;

enum pki_alg { PKI_ES256, PKI_RS256 };

enum {
	PKI_SHA1_SIZE = 20,
	PKI_SHA256_SIZE = 32,
	PKI_KEY_ID_SIZE = 43, /* characters */
	PKI_SIGNATURE_MAX = 1024, /* bytes: RSA keys of up to 8192 bits */
};

/* "ES256" and "RS256", as tokens and JWKs name them. False for any other. */
struct str pki_alg_name(enum pki_alg alg);
bool pki_alg_find(struct str name, enum pki_alg *ret_alg);

/*
 * All keys of PEM text, in their order: private and public keys, certificates (their
 * public key). At least one and at most `max`, else -ERR_INVALID; so are
 * keys of other kinds and encrypted ones.
 */
int pki_keys_load(struct str pem, struct pki_key **keys, size_t max, size_t *ret_n,
		  struct error *err);

/* The first key of PEM text, which must be private. */
int pki_key_load_private(struct str pem, struct pki_key **ret_key, struct error *err);

void pki_key_free(struct pki_key *k);

enum pki_alg pki_key_alg(const struct pki_key *k);

/* base64url of SHA-256 of the public key's DER form, as upstream names keys. Lives with the key. */
struct str pki_key_id(const struct pki_key *k);

/* Writes the public half as one JWK object: use, kty, kid, crv, alg, x, y or n, e. */
void pki_key_print_jwk(const struct pki_key *k, struct json_writer *w);

/* Appends the signature as JWS has it: 64 bytes r||s, or RSA's PKCS #1 v1.5. */
int pki_sign(const struct pki_key *k, struct str message, struct buf *signature, struct error *err);

/* Whether it is this key's signature of the message, in the form above and no other. */
bool pki_verify(const struct pki_key *k, struct str message, struct str signature);

void pki_sha256(struct str bytes, uint8_t ret_hash[static PKI_SHA256_SIZE]);
/* For protocols that want it where nothing depends on its strength, as RFC 6455 does. */
void pki_sha1(struct str bytes, uint8_t ret_hash[static PKI_SHA1_SIZE]);

/* Equality whose time depends on n alone. */
bool pki_equal(const void *a, const void *b, size_t n);

DEFINE_CLEANUP(pki_key_free, struct pki_key *);

#endif
