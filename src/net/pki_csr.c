/*
 * OpenSSL reads it. The last common name counts, as in Go's x509 package.
 */
#include <limits.h>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "net/pki_csr.h"

static X509_REQ *read_request(struct str pem)
{
	BIO *bio = pem.n && pem.n <= INT_MAX ? BIO_new_mem_buf(pem.p, (int)pem.n) : NULL;
	X509_REQ *req = bio ? PEM_read_bio_X509_REQ(bio, NULL, NULL, NULL) : NULL;

	BIO_free(bio);
	ERR_clear_error();
	return req;
}

/* The text of the last entry of that sort; p NULL when there is none. */
static struct str last_entry(const X509_NAME *name, struct arena *a)
{
	struct str text = STR_NULL;

	for (int at = -1; (at = X509_NAME_get_index_by_NID((X509_NAME *)(uintptr_t)name,
							   NID_commonName, at)) >= 0;) {
		unsigned char *utf8 = NULL;
		int n = ASN1_STRING_to_UTF8(
			&utf8, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at)));

		if (n >= 0)
			text = arena_str(a, str_of(utf8, (size_t)n));
		OPENSSL_free(utf8);
	}
	return text;
}

int pki_csr_common_name(struct str pem, struct arena *a, struct str *ret_name, struct error *err)
{
	X509_REQ *req = read_request(pem);

	if (!req)
		return error_set(err, ERR_BAD_REQUEST,
				 "PEM block type must be CERTIFICATE REQUEST");
	*ret_name = last_entry(X509_REQ_get_subject_name(req), a);
	X509_REQ_free(req);
	return 0;
}
