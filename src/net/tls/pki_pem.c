/*
 * Parses PEM. OpenSSL would prompt on the terminal for the password of an encrypted key, and stops
 * silently at the end of a bundle; both are handled explicitly here.
 */
#include "net/tls/pki_impl.h"

#include <limits.h>

int pki_fail(struct error *err, enum error_code code, const char *what)
{
	unsigned long first = ERR_peek_error();
	const char *reason = first ? ERR_reason_error_string(first) : NULL;
	int r = error_set(err, code, "%s%s%s", what, reason ? ": " : "", reason ? reason : "");

	ERR_clear_error();
	return r;
}

static int open_pem(struct str pem, BIO **ret_bio, struct error *err)
{
	if (pem.n == 0 || pem.n > INT_MAX)
		return error_set(err, ERR_INVALID, "the PEM text is %s",
				 pem.n ? "too long" : "empty");
	ERR_clear_error();
	*ret_bio = BIO_new_mem_buf(pem.p, (int)pem.n);
	return *ret_bio ? 0 : pki_fail(err, ERR_INTERNAL, "cannot read PEM text");
}

static int no_password(char *buf UNUSED, int size UNUSED, int writing UNUSED, void *arg)
{
	*(bool *)arg = true;
	return -1;
}

int pki_parse_key(struct str pem, EVP_PKEY **ret_key, struct error *err)
{
	CLEANUP(BIO_free) BIO *bio = NULL;
	bool encrypted = false;
	EVP_PKEY *key;
	int r;

	r = open_pem(pem, &bio, err);
	if (r < 0)
		return r;
	key = PEM_read_bio_PrivateKey(bio, NULL, no_password, &encrypted);
	if (!key) {
		r = pki_fail(err, ERR_INVALID, "no private key in the PEM text");
		return encrypted ? error_set(err, ERR_INVALID, "the private key is encrypted") : r;
	}
	*ret_key = key;
	return 0;
}

static bool at_end_of_pem(void)
{
	unsigned long last = ERR_peek_last_error();

	return ERR_GET_LIB(last) == ERR_LIB_PEM && ERR_GET_REASON(last) == PEM_R_NO_START_LINE;
}

int pki_parse_certs(struct str pem, STACK_OF(X509) **ret_certs, struct error *err)
{
	CLEANUP(x509_stack_free) STACK_OF(X509) *certs = sk_X509_new_null();
	CLEANUP(BIO_free) BIO *bio = NULL;
	X509 *cert;
	int r;

	r = open_pem(pem, &bio, err);
	if (r < 0)
		return r;
	while ((cert = PEM_read_bio_X509(bio, NULL, NULL, NULL)))
		if (sk_X509_push(certs, cert) == 0) {
			X509_free(cert);
			return pki_fail(err, ERR_INTERNAL, "cannot keep a certificate");
		}
	if (!at_end_of_pem())
		return pki_fail(err, ERR_INVALID, "broken certificate in the PEM text");
	ERR_clear_error();
	if (sk_X509_num(certs) == 0)
		return error_set(err, ERR_INVALID, "no certificate in the PEM text");
	*ret_certs = TAKE(certs);
	return 0;
}
