/*
 * Certificates are built with OpenSSL's functions, not from configuration text, wherever a caller's
 * string is used: a comma in a name must not become a second name. X.520's limits on the length of
 * names (64 bytes) are ignored, like in Go: "system:node:<name>" is often longer.
 */
#include "net/tls/pki_impl.h"

#include <arpa/inet.h>

#include "base/core/mem.h"
#include "base/core/random.h"
#include "net/tls/pki.h"

enum {
	PKI_NAME_MAX = 1024, /* one common name or organization */
	PKI_SERIAL_BYTES = 16,
};

DEFINE_CLEANUP(BN_free, BIGNUM *);
DEFINE_CLEANUP(ASN1_TIME_free, ASN1_TIME *);
DEFINE_CLEANUP(GENERAL_NAMES_free, GENERAL_NAMES *);

struct pki_ca {
	X509 *cert;
	EVP_PKEY *key;
};

/* An extension with a constant value. */
struct pki_extension {
	int nid;
	const char *value;
};

static const struct pki_extension ca_extensions[] = {
	{ NID_basic_constraints, "critical,CA:TRUE" },
	{ NID_key_usage, "critical,digitalSignature,keyCertSign,cRLSign" },
	{ NID_subject_key_identifier, "hash" },
};

static const struct pki_extension leaf_extensions[] = {
	{ NID_basic_constraints, "critical,CA:FALSE" },
	{ NID_key_usage, "critical,digitalSignature" },
	{ NID_authority_key_identifier, "keyid:always" },
};

/* --- PEM out ----------------------------------------------------------------- */

static int append_pem(struct buf *out, BIO *bio, struct error *err)
{
	char *p;
	long n = BIO_get_mem_data(bio, &p);
	int r = buf_add(out, p, (size_t)n);

	return r < 0 ? error_set(err, ERR_TOO_LARGE, "the PEM text does not fit its buffer") : 0;
}

static int append_cert(struct buf *out, X509 *cert, struct error *err)
{
	CLEANUP(BIO_free) BIO *bio = BIO_new(BIO_s_mem());

	if (!bio || PEM_write_bio_X509(bio, cert) != 1)
		return pki_fail(err, ERR_INTERNAL, "cannot write a certificate");
	return append_pem(out, bio, err);
}

static int append_key(struct buf *out, EVP_PKEY *key, struct error *err)
{
	CLEANUP(BIO_free) BIO *bio = BIO_new(BIO_s_mem());

	if (!bio || PEM_write_bio_PKCS8PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) != 1)
		return pki_fail(err, ERR_INTERNAL, "cannot write a private key");
	return append_pem(out, bio, err);
}

/* --- a certificate's parts --------------------------------------------------- */

static int make_key(EVP_PKEY **ret_key, struct error *err)
{
	EVP_PKEY *key;

	ERR_clear_error();
	key = EVP_EC_gen("P-256");
	if (!key)
		return pki_fail(err, ERR_INTERNAL, "cannot make a key");
	*ret_key = key;
	return 0;
}

static int set_serial(X509 *cert)
{
	CLEANUP(BN_free) BIGNUM *n = NULL;
	unsigned char bytes[PKI_SERIAL_BYTES];

	random_bytes(bytes, sizeof(bytes));
	bytes[0] |= 0x40; /* never 0, never short ... */
	bytes[0] &= 0x7f; /* ... never negative */
	n = BN_bin2bn(bytes, sizeof(bytes), NULL);
	return n && BN_to_ASN1_INTEGER(n, X509_get_serialNumber(cert)) ? 0 : -ERR_INTERNAL;
}

static int set_validity(X509 *cert, int64_t from, int64_t to)
{
	CLEANUP(ASN1_TIME_free) ASN1_TIME *start = ASN1_TIME_set(NULL, (time_t)from);
	CLEANUP(ASN1_TIME_free) ASN1_TIME *end = ASN1_TIME_set(NULL, (time_t)to);

	if (!start || !end || X509_set1_notBefore(cert, start) != 1 ||
	    X509_set1_notAfter(cert, end) != 1)
		return -ERR_INTERNAL;
	return 0;
}

static int pki_add_name(X509_NAME *name, int nid, struct str value, struct error *err)
{
	if (value.n == 0 || value.n > PKI_NAME_MAX || !str_is_utf8(value) ||
	    str_chr(value, '\0') >= 0)
		return error_set(err, ERR_INVALID, "\"%.*s\" cannot be used in a certificate",
				 STR_ARG(value));
	/* As plain UTF8String: with an MBSTRING type OpenSSL would check X.520's lengths. */
	if (X509_NAME_add_entry_by_NID(name, nid, V_ASN1_UTF8STRING, (const unsigned char *)value.p,
				       (int)value.n, -1, 0) != 1)
		return pki_fail(err, ERR_INTERNAL, "cannot add a name");
	return 0;
}

static int add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
	X509_EXTENSION *ext;
	X509V3_CTX ctx;
	int added;

	X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
	ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	added = ext ? X509_add_ext(cert, ext, -1) : 0;
	X509_EXTENSION_free(ext);
	return added ? 0 : -ERR_INTERNAL;
}

static int add_extensions(X509 *cert, X509 *issuer, const struct pki_extension *list, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = add_extension(cert, issuer, list[i].nid, list[i].value);
	return r;
}

/* The common parts of every certificate; the caller adds subject and extensions, then signs. */
static int cert_begin(X509 **ret_cert, EVP_PKEY *key, int64_t from, int64_t to, struct error *err)
{
	CLEANUP(X509_free) X509 *cert = X509_new();

	if (!cert || X509_set_version(cert, X509_VERSION_3) != 1 ||
	    X509_set_pubkey(cert, key) != 1 || set_serial(cert) < 0 ||
	    set_validity(cert, from, to) < 0)
		return pki_fail(err, ERR_INTERNAL, "cannot make a certificate");
	*ret_cert = TAKE(cert);
	return 0;
}

static int cert_sign(X509 *cert, EVP_PKEY *key, struct error *err)
{
	if (X509_sign(cert, key, EVP_sha256()) == 0)
		return pki_fail(err, ERR_INTERNAL, "cannot sign a certificate");
	return 0;
}

static int64_t cert_not_after(const X509 *cert)
{
	struct tm tm;

	if (ASN1_TIME_to_tm(X509_get0_notAfter(cert), &tm) != 1)
		return 0;
	return timegm(&tm);
}

static int check_lifetime(int64_t lifetime, struct error *err)
{
	if (lifetime <= 0 || lifetime > PKI_LIFETIME_MAX)
		return error_set(err, ERR_INVALID, "a certificate cannot live for %lld seconds",
				 (long long)lifetime);
	return 0;
}

/* --- the CA ------------------------------------------------------------------ */

static int self_sign(struct pki_ca *ca, struct str common_name, int64_t now, int64_t lifetime,
		     struct error *err)
{
	int r = cert_begin(&ca->cert, ca->key, now - PKI_BACKDATE, now + lifetime, err);

	if (r < 0)
		return r;
	r = pki_add_name(X509_get_subject_name(ca->cert), NID_commonName, common_name, err);
	if (r < 0)
		return r;
	if (X509_set_issuer_name(ca->cert, X509_get_subject_name(ca->cert)) != 1 ||
	    add_extensions(ca->cert, ca->cert, ca_extensions, ARRAY_SIZE(ca_extensions)) < 0)
		return pki_fail(err, ERR_INTERNAL, "cannot make a CA");
	return cert_sign(ca->cert, ca->key, err);
}

int pki_ca_new(struct str common_name, int64_t lifetime, const struct clock *clock,
	       struct pki_ca **ret_ca, struct error *err)
{
	CLEANUP(pki_ca_free) struct pki_ca *ca = XNEW(struct pki_ca);
	int r = check_lifetime(lifetime, err);

	if (r < 0)
		return r;
	r = make_key(&ca->key, err);
	if (r < 0)
		return r;
	r = self_sign(ca, common_name, clock_wall(clock) / CLOCK_SEC, lifetime, err);
	if (r < 0)
		return r;
	*ret_ca = TAKE(ca);
	return 0;
}

int pki_ca_load(struct str cert, struct str key, struct pki_ca **ret_ca, struct error *err)
{
	CLEANUP(x509_stack_free) STACK_OF(X509) *certs = NULL;
	CLEANUP(pki_ca_free) struct pki_ca *ca = XNEW(struct pki_ca);
	int r;

	r = pki_parse_certs(cert, &certs, err);
	if (r < 0)
		return error_wrap(err, r, "CA certificate");
	ca->cert = sk_X509_shift(certs);
	r = pki_parse_key(key, &ca->key, err);
	if (r < 0)
		return error_wrap(err, r, "CA key");
	if (X509_check_ca(ca->cert) != 1)
		return error_set(err, ERR_INVALID, "the certificate is not a CA's");
	if (X509_check_private_key(ca->cert, ca->key) != 1)
		return pki_fail(err, ERR_INVALID, "the CA's certificate and key differ");
	*ret_ca = TAKE(ca);
	return 0;
}

void pki_ca_free(struct pki_ca *ca)
{
	if (!ca)
		return;
	X509_free(ca->cert);
	EVP_PKEY_free(ca->key);
	free(ca);
}

int pki_ca_cert(const struct pki_ca *ca, struct buf *cert, struct error *err)
{
	return append_cert(cert, ca->cert, err);
}

int pki_ca_key(const struct pki_ca *ca, struct buf *key, struct error *err)
{
	return append_key(key, ca->key, err);
}

/* --- what it signs ------------------------------------------------------------ */

static bool is_dns_name(struct str s)
{
	struct str label;

	if (s.n > 253)
		return false;
	if (str_starts(s, STR("*.")))
		s = str_skip(s, 2);
	while (str_split(&s, '.', &label)) {
		if (label.n == 0 || label.n > 63)
			return false;
		for (size_t i = 0; i < label.n; i++)
			if (!str_is_alnum(label.p[i]) && label.p[i] != '-' && label.p[i] != '_')
				return false;
	}
	return true;
}

/* The address's bytes, as in a certificate. Returns their number; 0 if it is not an address. */
static int ip_bytes(struct str host, unsigned char bytes[16])
{
	char text[INET6_ADDRSTRLEN];

	if (host.n >= sizeof(text) || str_chr(host, '\0') >= 0)
		return 0;
	(void)snprintf(text, sizeof(text), "%.*s", STR_ARG(host));
	if (inet_pton(AF_INET, text, bytes) == 1)
		return 4;
	return inet_pton(AF_INET6, text, bytes) == 1 ? 16 : 0;
}

static int add_host(GENERAL_NAMES *names, struct str host, struct error *err)
{
	unsigned char bytes[16];
	int n = ip_bytes(host, bytes), ok;
	ASN1_STRING *value;
	GENERAL_NAME *name;

	if (n == 0 && !is_dns_name(host))
		return error_set(err, ERR_INVALID, "\"%.*s\" is neither a DNS name nor an IP",
				 STR_ARG(host));
	name = GENERAL_NAME_new();
	value = ASN1_STRING_type_new(n ? V_ASN1_OCTET_STRING : V_ASN1_IA5STRING);
	ok = name && value &&
	     ASN1_STRING_set(value, n ? (const char *)bytes : host.p, n ? n : (int)host.n);
	if (!ok) {
		ASN1_STRING_free(value);
		GENERAL_NAME_free(name);
		return pki_fail(err, ERR_INTERNAL, "cannot add a host");
	}
	GENERAL_NAME_set0_value(name, n ? GEN_IPADD : GEN_DNS, value);
	if (sk_GENERAL_NAME_push(names, name) == 0) {
		GENERAL_NAME_free(name);
		return pki_fail(err, ERR_INTERNAL, "cannot add a host");
	}
	return 0;
}

static int add_hosts(X509 *cert, const struct pki_leaf *leaf, struct error *err)
{
	CLEANUP(GENERAL_NAMES_free) GENERAL_NAMES *names = GENERAL_NAMES_new();
	int r;

	for (size_t i = 0; i < leaf->nhosts; i++) {
		r = add_host(names, leaf->hosts[i], err);
		if (r < 0)
			return r;
	}
	if (leaf->nhosts && X509_add1_ext_i2d(cert, NID_subject_alt_name, names, 0, 0) != 1)
		return pki_fail(err, ERR_INTERNAL, "cannot add the hosts");
	return 0;
}

static int add_subject(X509 *cert, const struct pki_leaf *leaf, struct error *err)
{
	X509_NAME *subject = X509_get_subject_name(cert);
	int r = 0;

	for (size_t i = 0; i < leaf->norganizations && r == 0; i++)
		r = pki_add_name(subject, NID_organizationName, leaf->organizations[i], err);
	return r < 0 ? r : pki_add_name(subject, NID_commonName, leaf->common_name, err);
}

static const char *usage_of(const struct pki_leaf *leaf)
{
	if (leaf->server)
		return leaf->client ? "serverAuth,clientAuth" : "serverAuth";
	return "clientAuth";
}

static int check_leaf(const struct pki_leaf *leaf, struct error *err)
{
	if (!leaf->server && !leaf->client)
		return error_set(err, ERR_INVALID, "a certificate must be for servers or clients");
	if (leaf->server && leaf->nhosts == 0)
		return error_set(err, ERR_INVALID, "a server's certificate needs a host");
	return check_lifetime(leaf->lifetime, err);
}

static int make_leaf(const struct pki_ca *ca, const struct pki_leaf *leaf, int64_t now,
		     EVP_PKEY *key, X509 **ret_cert, struct error *err)
{
	CLEANUP(X509_free) X509 *cert = NULL;
	int64_t end = MIN(now + leaf->lifetime, cert_not_after(ca->cert));
	int r;

	if (end <= now)
		return error_set(err, ERR_EXPIRED, "the CA's certificate has expired");
	r = cert_begin(&cert, key, now - PKI_BACKDATE, end, err);
	if (r < 0)
		return r;
	r = add_subject(cert, leaf, err);
	if (r < 0)
		return r;
	if (X509_set_issuer_name(cert, X509_get_subject_name(ca->cert)) != 1 ||
	    add_extensions(cert, ca->cert, leaf_extensions, ARRAY_SIZE(leaf_extensions)) < 0 ||
	    add_extension(cert, ca->cert, NID_ext_key_usage, usage_of(leaf)) < 0)
		return pki_fail(err, ERR_INTERNAL, "cannot make a certificate");
	r = add_hosts(cert, leaf, err);
	if (r < 0)
		return r;
	r = cert_sign(cert, ca->key, err);
	if (r < 0)
		return r;
	*ret_cert = TAKE(cert);
	return 0;
}

int pki_issue(const struct pki_ca *ca, const struct pki_leaf *leaf, const struct clock *clock,
	      struct buf *cert, struct buf *key, struct error *err)
{
	CLEANUP(EVP_PKEY_free) EVP_PKEY *pkey = NULL;
	CLEANUP(X509_free) X509 *x509 = NULL;
	size_t before = cert->n;
	int r;

	r = check_leaf(leaf, err);
	if (r < 0)
		return r;
	r = make_key(&pkey, err);
	if (r < 0)
		return r;
	r = make_leaf(ca, leaf, clock_wall(clock) / CLOCK_SEC, pkey, &x509, err);
	if (r < 0)
		return r;
	r = append_cert(cert, x509, err);
	if (r < 0)
		return r;
	r = append_key(key, pkey, err);
	if (r < 0) {
		cert->n = before;
		cert->p[before] = '\0';
	}
	return r;
}

int pki_issue_alone(struct str ca_name, const struct pki_leaf *leaf, const struct clock *clock,
		    struct buf *cert, struct buf *key, struct error *err)
{
	CLEANUP(pki_ca_free) struct pki_ca *ca = NULL;
	int r = pki_ca_new(ca_name, leaf->lifetime, clock, &ca, err);

	if (r == 0)
		r = pki_issue(ca, leaf, clock, cert, key, err);
	return r < 0 ? r : pki_ca_cert(ca, cert, err);
}

int pki_key_new(struct buf *key, struct error *err)
{
	CLEANUP(EVP_PKEY_free) EVP_PKEY *pkey = NULL;
	int r = make_key(&pkey, err);

	return r < 0 ? r : append_key(key, pkey, err);
}

int pki_not_after(struct str cert, int64_t *ret_seconds, struct error *err)
{
	CLEANUP(x509_stack_free) STACK_OF(X509) *certs = NULL;
	int r = pki_parse_certs(cert, &certs, err);

	if (r < 0)
		return r;
	*ret_seconds = cert_not_after(sk_X509_value(certs, 0));
	return 0;
}

/* Any name will do for "*.name". */
static bool take_dns_name(const GENERAL_NAME *name, char ret_name[static PKI_NAME_SIZE])
{
	int kind, n;
	const ASN1_STRING *value = GENERAL_NAME_get0_value(name, &kind);
	struct str host;
	bool wild;

	if (kind != GEN_DNS)
		return false;
	host = str_of((const char *)ASN1_STRING_get0_data(value),
		      (size_t)ASN1_STRING_length(value));
	if (!is_dns_name(host))
		return false;
	wild = str_starts(host, STR("*."));
	host = str_skip(host, wild ? 1 : 0);
	n = snprintf(ret_name, PKI_NAME_SIZE, "%s%.*s", wild ? "any" : "", STR_ARG(host));
	return n > 0 && n < PKI_NAME_SIZE;
}

int pki_server_name(struct str cert, const char *host, char ret_name[static PKI_NAME_SIZE],
		    struct error *err)
{
	CLEANUP(x509_stack_free) STACK_OF(X509) *certs = NULL;
	CLEANUP(GENERAL_NAMES_free) GENERAL_NAMES *names = NULL;
	int r = pki_parse_certs(cert, &certs, err);
	X509 *x509;

	ret_name[0] = '\0';
	if (r < 0)
		return r;
	x509 = sk_X509_value(certs, 0);
	if (X509_check_ip_asc(x509, host, 0) == 1 || X509_check_host(x509, host, 0, 0, NULL) == 1)
		return 0;
	names = X509_get_ext_d2i(x509, NID_subject_alt_name, NULL, NULL);
	for (int i = 0; names && i < sk_GENERAL_NAME_num(names); i++)
		if (take_dns_name(sk_GENERAL_NAME_value(names, i), ret_name))
			return 0;
	return error_set(err, ERR_NOT_FOUND, "the certificate has neither %s nor a DNS name", host);
}
