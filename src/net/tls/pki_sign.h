/*
 * pki_sign - keys and signatures for tokens: ES256 and RS256, key IDs, JWKs.
 *
 * A key is an EC key on P-256 or an RSA key of at least 2048 bits; public, or private with its
 * public half. Only the kind of the key decides the algorithm, so no token can make a verifier use
 * another one.
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

/* "ES256" and "RS256", as in tokens and JWKs. Returns false for any other. */
struct str pki_alg_name(enum pki_alg alg);
bool pki_alg_find(struct str name, enum pki_alg *ret_alg);

/*
 * Loads all keys of PEM text in their order: private keys, public keys, and the public keys of
 * certificates. Returns -ERR_INVALID unless there are 1 to `max` keys, and for encrypted keys and
 * other kinds.
 */
int pki_keys_load(struct str pem, struct pki_key **keys, size_t max, size_t *ret_n,
		  struct error *err);

/* Loads the first key of PEM text, which must be private. */
int pki_key_load_private(struct str pem, struct pki_key **ret_key, struct error *err);

void pki_key_free(struct pki_key *k);

enum pki_alg pki_key_alg(const struct pki_key *k);

/* base64url of SHA-256 of the public key's DER form, like upstream. Lives as long as the key. */
struct str pki_key_id(const struct pki_key *k);

/* Writes the public half as one JWK object: use, kty, kid, crv, alg, x, y or n, e. */
void pki_key_print_jwk(const struct pki_key *k, struct json_writer *w);

/* Appends the signature in JWS form: 64 bytes r||s, or RSA's PKCS #1 v1.5. */
int pki_sign(const struct pki_key *k, struct str message, struct buf *signature, struct error *err);

/* Whether it is this key's signature of the message, in exactly that form. */
bool pki_verify(const struct pki_key *k, struct str message, struct str signature);

void pki_sha256(struct str bytes, uint8_t ret_hash[static PKI_SHA256_SIZE]);
/* For protocols that require it without relying on its strength, such as RFC 6455. */
void pki_sha1(struct str bytes, uint8_t ret_hash[static PKI_SHA1_SIZE]);

/* Compares in a time that depends on n only. */
bool pki_equal(const void *a, const void *b, size_t n);

DEFINE_CLEANUP(pki_key_free, struct pki_key *);

#endif
