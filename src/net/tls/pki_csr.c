/* Uses OpenSSL. The last common name counts, as in Go's x509 package. */
#include <limits.h>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "net/tls/pki_csr.h"

static X509_REQ *read_request(struct str pem)
{
	BIO *bio = pem.n && pem.n <= INT_MAX ? BIO_new_mem_buf(pem.p, (int)pem.n) : NULL;
	X509_REQ *req = bio ? PEM_read_bio_X509_REQ(bio, NULL, NULL, NULL) : NULL;

	BIO_free(bio);
	ERR_clear_error();
	return req;
}

/* The next entry of that kind after *at; false at the end. Unreadable ones are empty. */
static bool next_entry(const X509_NAME *name, int nid, struct arena *a, int *at,
		       struct str *ret_text)
{
	unsigned char *utf8 = NULL;
	int n;

	*at = X509_NAME_get_index_by_NID((X509_NAME *)(uintptr_t)name, nid, *at);
	if (*at < 0)
		return false;
	n = ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, *at)));
	*ret_text = n > 0 ? arena_str(a, str_of(utf8, (size_t)n)) : STR_NULL;
	OPENSSL_free(utf8);
	return true;
}

static int pki_csr_refuse(struct error *err)
{
	return error_set(err, ERR_BAD_REQUEST, "PEM block type must be CERTIFICATE REQUEST");
}

int pki_csr_common_name(struct str pem, struct arena *a, struct str *ret_name, struct error *err)
{
	X509_REQ *req = read_request(pem);
	struct str text;
	int at = -1;

	if (!req)
		return pki_csr_refuse(err);
	*ret_name = STR_NULL;
	while (next_entry(X509_REQ_get_subject_name(req), NID_commonName, a, &at, &text))
		*ret_name = text;
	X509_REQ_free(req);
	return 0;
}

int pki_csr_has_organization(struct str pem, struct str organization, struct arena *a,
			     bool *ret_has, struct error *err)
{
	X509_REQ *req = read_request(pem);
	struct str text;
	int at = -1;

	if (!req)
		return pki_csr_refuse(err);
	*ret_has = false;
	while (next_entry(X509_REQ_get_subject_name(req), NID_organizationName, a, &at, &text))
		*ret_has = *ret_has || str_eq(text, organization);
	X509_REQ_free(req);
	return 0;
}
