/*
 * OpenSSL uses DER where JWS has r and s side by side. The two forms are converted here, and only
 * exactly 64 bytes are accepted as a signature. Algorithm and ID of a key are determined once, when
 * it is loaded.
 */
#include "net/tls/pki_impl.h"

#include <openssl/core_names.h>

#include "base/core/mem.h"
#include "base/json/writer.h"
#include "base/text/base64.h"
#include "net/tls/pki_sign.h"

enum {
	ES256_HALF = 32, /* bytes of r, s and of a coordinate */
	RSA_BITS_MIN = 2048,
	RSA_BITS_MAX = PKI_SIGNATURE_MAX * 8,
};

DEFINE_CLEANUP(BN_free, BIGNUM *);
DEFINE_CLEANUP(ECDSA_SIG_free, ECDSA_SIG *);
DEFINE_CLEANUP(EVP_MD_CTX_free, EVP_MD_CTX *);

struct pki_key {
	EVP_PKEY *pkey;
	enum pki_alg alg;
	bool private;
	char id[PKI_KEY_ID_SIZE];
};

static const struct str alg_names[] = {
	[PKI_ES256] = { "ES256", 5 }, [PKI_RS256] = { "RS256", 5 }
};

struct str pki_alg_name(enum pki_alg alg)
{
	return alg_names[alg];
}

bool pki_alg_find(struct str name, enum pki_alg *ret_alg)
{
	for (size_t i = 0; i < ARRAY_SIZE(alg_names); i++)
		if (str_eq(name, alg_names[i])) {
			*ret_alg = (enum pki_alg)i;
			return true;
		}
	return false;
}

void pki_sha256(struct str bytes, uint8_t ret_hash[static PKI_SHA256_SIZE])
{
	/* It only fails without memory or without SHA-256; nobody could continue then. */
	if (EVP_Digest(bytes.p ? bytes.p : "", bytes.n, ret_hash, NULL, EVP_sha256(), NULL) != 1)
		abort();
}

void pki_sha1(struct str bytes, uint8_t ret_hash[static PKI_SHA1_SIZE])
{
	if (EVP_Digest(bytes.p ? bytes.p : "", bytes.n, ret_hash, NULL, EVP_sha1(), NULL) != 1)
		abort();
}

bool pki_equal(const void *a, const void *b, size_t n)
{
	return CRYPTO_memcmp(a, b, n) == 0;
}

/* --- loading --------------------------------------------------------------------------- */

static int find_alg(const EVP_PKEY *pkey, enum pki_alg *ret_alg, struct error *err)
{
	char group[64] = "";

	if (EVP_PKEY_get_base_id(pkey) == EVP_PKEY_RSA) {
		int bits = EVP_PKEY_get_bits(pkey);

		if (bits < RSA_BITS_MIN || bits > RSA_BITS_MAX)
			return error_set(err, ERR_INVALID,
					 "an RSA key of %d bits: want %d to %d bits", bits,
					 RSA_BITS_MIN, RSA_BITS_MAX);
		*ret_alg = PKI_RS256;
		return 0;
	}
	(void)EVP_PKEY_get_group_name(pkey, group, sizeof(group), NULL);
	ERR_clear_error();
	if (EVP_PKEY_get_base_id(pkey) != EVP_PKEY_EC || strcmp(group, "prime256v1") != 0)
		return error_set(err, ERR_INVALID, "the key is neither EC P-256 nor RSA");
	*ret_alg = PKI_ES256;
	return 0;
}

static int make_id(struct pki_key *k, struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(2 * PKI_KEY_ID_SIZE);
	uint8_t hash[PKI_SHA256_SIZE];
	unsigned char *der = NULL;
	int n = i2d_PUBKEY(k->pkey, &der);

	if (n <= 0)
		return pki_fail(err, ERR_INVALID, "the public key cannot be encoded");
	pki_sha256(str_of(der, (size_t)n), hash);
	OPENSSL_free(der);
	(void)base64_encode(&text, str_of(hash, sizeof(hash)), BASE64_URL_RAW);
	memcpy(k->id, text.p, PKI_KEY_ID_SIZE);
	return 0;
}

/* Takes ownership of the EVP_PKEY. */
static int key_new(EVP_PKEY *pkey, bool private, struct pki_key **ret_key, struct error *err)
{
	CLEANUP(pki_key_free) struct pki_key *k = XNEW(struct pki_key);
	int r;

	k->pkey = pkey;
	k->private = private;
	r = find_alg(pkey, &k->alg, err);
	if (r == 0)
		r = make_id(k, err);
	if (r == 0)
		*ret_key = TAKE(k);
	return r;
}

/* One block of a PEM file. */
struct block {
	char *name, *header;
	unsigned char *data;
	long n;
};

static void block_release(struct block *b)
{
	OPENSSL_free(b->name);
	OPENSSL_free(b->header);
	OPENSSL_clear_free(b->data, (size_t)b->n);
	*b = (struct block){ 0 };
}

static EVP_PKEY *from_certificate(const unsigned char *p, long n)
{
	CLEANUP(X509_free) X509 *cert = d2i_X509(NULL, &p, n);

	return cert ? X509_get_pubkey(cert) : NULL;
}

static EVP_PKEY *from_public(const unsigned char *p, long n)
{
	return d2i_PUBKEY(NULL, &p, n);
}

static EVP_PKEY *from_rsa_public(const unsigned char *p, long n)
{
	return d2i_PublicKey(EVP_PKEY_RSA, NULL, &p, n);
}

static EVP_PKEY *from_private(const unsigned char *p, long n)
{
	return d2i_AutoPrivateKey(NULL, &p, n);
}

static const struct form {
	const char *name;
	EVP_PKEY *(*read)(const unsigned char *p, long n);
	bool private;
} forms[] = {
	{ "PRIVATE KEY", from_private, true },        { "EC PRIVATE KEY", from_private, true },
	{ "RSA PRIVATE KEY", from_private, true },    { "PUBLIC KEY", from_public, false },
	{ "RSA PUBLIC KEY", from_rsa_public, false }, { "CERTIFICATE", from_certificate, false },
};

/* Returns 1 with a key, 0 for a block without one, such as EC PARAMETERS. */
static int read_block(const struct block *b, struct pki_key **ret_key, struct error *err)
{
	EVP_PKEY *pkey;
	int r;

	if (strstr(b->name, "ENCRYPTED") || strstr(b->header, "ENCRYPTED"))
		return error_set(err, ERR_INVALID, "the private key is encrypted");
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		if (strcmp(b->name, forms[i].name) != 0)
			continue;
		pkey = forms[i].read(b->data, b->n);
		if (!pkey)
			return pki_fail(err, ERR_INVALID, "broken key in the PEM text");
		r = key_new(pkey, forms[i].private, ret_key, err);
		return r < 0 ? r : 1;
	}
	return 0;
}

static int read_blocks(BIO *bio, struct pki_key **keys, size_t max, size_t *n, struct error *err)
{
	struct block b = { 0 };
	struct pki_key *k;
	int r = 0;

	while (r >= 0 && PEM_read_bio(bio, &b.name, &b.header, &b.data, &b.n) == 1) {
		k = NULL;
		r = read_block(&b, &k, err);
		block_release(&b);
		if (r <= 0)
			continue;
		if (*n == max) {
			pki_key_free(k);
			return error_set(err, ERR_INVALID, "more than %zu keys", max);
		}
		keys[(*n)++] = k;
	}
	if (r < 0)
		return r;
	if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE)
		return pki_fail(err, ERR_INVALID, "broken PEM text");
	ERR_clear_error();
	return *n ? 0 : error_set(err, ERR_INVALID, "no key in the PEM text");
}

int pki_keys_load(struct str pem, struct pki_key **keys, size_t max, size_t *ret_n,
		  struct error *err)
{
	CLEANUP(BIO_free) BIO *bio = NULL;
	size_t n = 0;
	int r;

	if (pem.n == 0 || pem.n > INT_MAX)
		return error_set(err, ERR_INVALID, "the PEM text is %s",
				 pem.n ? "too long" : "empty");
	ERR_clear_error();
	bio = BIO_new_mem_buf(pem.p, (int)pem.n);
	r = bio ? read_blocks(bio, keys, max, &n, err)
		: pki_fail(err, ERR_INTERNAL, "cannot read PEM text");
	ERR_clear_error();
	if (r < 0) {
		while (n > 0)
			pki_key_free(keys[--n]);
		return r;
	}
	*ret_n = n;
	return 0;
}

int pki_key_load_private(struct str pem, struct pki_key **ret_key, struct error *err)
{
	CLEANUP(EVP_PKEY_free) EVP_PKEY *pkey = NULL;
	int r = pki_parse_key(pem, &pkey, err);

	return r < 0 ? r : key_new(TAKE(pkey), true, ret_key, err);
}

void pki_key_free(struct pki_key *k)
{
	if (!k)
		return;
	EVP_PKEY_free(k->pkey);
	free(k);
}

enum pki_alg pki_key_alg(const struct pki_key *k)
{
	return k->alg;
}

struct str pki_key_id(const struct pki_key *k)
{
	return str_of(k->id, sizeof(k->id));
}

/* --- JWK --------------------------------------------------------------------------------- */

/* Prints a number of the key, big endian, with at least `width` bytes. */
static void print_number(const struct pki_key *k, const char *param, int width, const char *name,
			 struct json_writer *w)
{
	CLEANUP(BN_free) BIGNUM *v = NULL;
	CLEANUP(buf_release) struct buf text = BUF_INIT(2 * PKI_SIGNATURE_MAX);
	unsigned char bytes[PKI_SIGNATURE_MAX];
	int n;

	if (EVP_PKEY_get_bn_param(k->pkey, param, &v) != 1)
		abort(); /* every key of this kind has it */
	n = BN_bn2binpad(v, bytes, MAX(width, BN_num_bytes(v)));
	(void)base64_encode(&text, str_of(bytes, (size_t)n), BASE64_URL_RAW);
	json_writer_keyz(w, name);
	json_writer_str(w, buf_str(&text));
}

static void print_member(struct json_writer *w, const char *name, struct str value)
{
	json_writer_keyz(w, name);
	json_writer_str(w, value);
}

void pki_key_print_jwk(const struct pki_key *k, struct json_writer *w)
{
	bool ec = k->alg == PKI_ES256;

	json_writer_begin_object(w);
	print_member(w, "use", STR("sig"));
	print_member(w, "kty", ec ? STR("EC") : STR("RSA"));
	print_member(w, "kid", pki_key_id(k));
	if (ec)
		print_member(w, "crv", STR("P-256"));
	print_member(w, "alg", pki_alg_name(k->alg));
	if (ec) {
		print_number(k, OSSL_PKEY_PARAM_EC_PUB_X, ES256_HALF, "x", w);
		print_number(k, OSSL_PKEY_PARAM_EC_PUB_Y, ES256_HALF, "y", w);
	} else {
		print_number(k, OSSL_PKEY_PARAM_RSA_N, 1, "n", w);
		print_number(k, OSSL_PKEY_PARAM_RSA_E, 1, "e", w);
	}
	json_writer_end_object(w);
}

/* --- signatures -------------------------------------------------------------------------- */

/* Converts a signature from DER to r||s. */
static bool raw_of_der(const unsigned char *der, size_t n, unsigned char raw[2 * ES256_HALF])
{
	CLEANUP(ECDSA_SIG_free) ECDSA_SIG *sig = d2i_ECDSA_SIG(NULL, &der, (long)n);

	return sig && BN_bn2binpad(ECDSA_SIG_get0_r(sig), raw, ES256_HALF) == ES256_HALF &&
	       BN_bn2binpad(ECDSA_SIG_get0_s(sig), raw + ES256_HALF, ES256_HALF) == ES256_HALF;
}

/* Converts to DER, in OpenSSL's memory. Returns the size, or -1. */
static int der_of_raw(struct str raw, unsigned char **ret_der)
{
	CLEANUP(ECDSA_SIG_free) ECDSA_SIG *sig = ECDSA_SIG_new();
	CLEANUP(BN_free) BIGNUM *r = NULL;
	CLEANUP(BN_free) BIGNUM *s = NULL;

	if (raw.n != 2 * ES256_HALF || !sig)
		return -1;
	r = BN_bin2bn((const unsigned char *)raw.p, ES256_HALF, NULL);
	s = BN_bin2bn((const unsigned char *)raw.p + ES256_HALF, ES256_HALF, NULL);
	if (!r || !s || ECDSA_SIG_set0(sig, r, s) != 1)
		return -1;
	(void)TAKE(r); /* now owned by the signature */
	(void)TAKE(s);
	return i2d_ECDSA_SIG(sig, ret_der);
}

int pki_sign(const struct pki_key *k, struct str message, struct buf *signature, struct error *err)
{
	CLEANUP(EVP_MD_CTX_free) EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	unsigned char out[PKI_SIGNATURE_MAX], raw[2 * ES256_HALF];
	size_t n = sizeof(out);
	int r;

	if (!k->private)
		return error_set(err, ERR_INVALID, "a public key cannot sign");
	ERR_clear_error();
	if (!ctx || EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, k->pkey) != 1 ||
	    EVP_DigestSign(ctx, out, &n, (const unsigned char *)message.p, message.n) != 1)
		return pki_fail(err, ERR_INTERNAL, "cannot sign");
	if (k->alg == PKI_RS256)
		r = buf_add(signature, out, n);
	else if (raw_of_der(out, n, raw))
		r = buf_add(signature, raw, sizeof(raw));
	else
		return pki_fail(err, ERR_INTERNAL, "cannot encode a signature");
	return r < 0 ? error_set(err, ERR_TOO_LARGE, "the signature does not fit its buffer") : 0;
}

static bool verify_encoded(const struct pki_key *k, struct str message, struct str signature)
{
	CLEANUP(EVP_MD_CTX_free) EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	bool good;

	good = ctx && EVP_DigestVerifyInit(ctx, NULL, EVP_sha256(), NULL, k->pkey) == 1 &&
	       EVP_DigestVerify(ctx, (const unsigned char *)signature.p, signature.n,
				(const unsigned char *)message.p, message.n) == 1;
	ERR_clear_error();
	return good;
}

bool pki_verify(const struct pki_key *k, struct str message, struct str signature)
{
	unsigned char *der = NULL;
	bool good;
	int n;

	ERR_clear_error();
	if (k->alg == PKI_RS256)
		return verify_encoded(k, message, signature);
	n = der_of_raw(signature, &der);
	good = n > 0 && verify_encoded(k, message, str_of(der, (size_t)n));
	OPENSSL_free(der);
	ERR_clear_error();
	return good;
}
