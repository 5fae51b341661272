/*
 * pki_impl - converts PEM text to OpenSSL's objects, and its errors to ours. For tls*.c and pki*.c,
 * the only files that see OpenSSL.
 *
 * Include it first: OpenSSL's headers name a parameter `rand`, which ours ban.
 */
#ifndef NET_TLS_PKI_IMPL_H
#define NET_TLS_PKI_IMPL_H

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/core/error.h"
#include "base/core/str.h"

static inline void x509_stack_free(STACK_OF(X509) *certs)
{
	sk_X509_pop_free(certs, X509_free);
}

DEFINE_CLEANUP(BIO_free, BIO *);
DEFINE_CLEANUP(EVP_PKEY_free, EVP_PKEY *);
DEFINE_CLEANUP(X509_free, X509 *);
DEFINE_CLEANUP(x509_stack_free, STACK_OF(X509) *);

/* "what: reason", the reason from OpenSSL's error queue, which is emptied. */
int pki_fail(struct error *err, enum error_code code, const char *what);

/* An unencrypted private key of any kind. */
int pki_parse_key(struct str pem, EVP_PKEY **ret_key, struct error *err);

/* All certificates in their order, at least one. Other PEM blocks are skipped. */
int pki_parse_certs(struct str pem, STACK_OF(X509) **ret_certs, struct error *err);

#endif
