/*
 * OpenSSL has AES-GCM, HMAC and Poly1305. XSalsa20 is written here after Bernstein's "Extending the
 * Salsa20 nonce": it has no branches or lookups that depend on the key. HKDF (RFC 5869) with an
 * output of one block is two HMACs; the first, over the secret, is made once.
 */
/* Before our headers: OpenSSL's use a name that base/core/banned.h forbids. */
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "net/tls/seal.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/core/random.h"
#include "net/tls/pki_sign.h"

enum {
	SALT = 32,
	GCM_NONCE = 12,
	TAG = 16,
	HASH = 32,
	BOX_NONCE = 24,
	SALSA_BLOCK = 64,
	SALSA_KEY = 32,
	PAGE = 4096,
};

struct seal_key {
	uint8_t secret[SEAL_SECRET_MAX];
	uint8_t root[HASH]; /* HKDF's pseudorandom key */
	size_t n; /* bytes of the secret */
	char id[SEAL_ID_SIZE];
};

DEFINE_CLEANUP(EVP_CIPHER_CTX_free, EVP_CIPHER_CTX *);
DEFINE_CLEANUP(EVP_MAC_CTX_free, EVP_MAC_CTX *);
DEFINE_CLEANUP(EVP_MAC_free, EVP_MAC *);

void seal_wipe(void *p, size_t n)
{
	OPENSSL_cleanse(p, n);
}

/* Fails only without memory or without the algorithm; nobody could continue then. */
static void seal_must(bool done)
{
	if (!done)
		abort();
}

/* --- keys --------------------------------------------------------------------------- */

static void seal_hmac(const uint8_t *key, size_t n, struct str text, uint8_t out[static HASH])
{
	seal_must(HMAC(EVP_sha256(), key, (int)n, (const uint8_t *)text.p, text.n, out, NULL) !=
		  NULL);
}

/* HKDF-Expand for one block of output. */
static void seal_expand(const uint8_t root[static HASH], struct str info, uint8_t out[static HASH])
{
	uint8_t text[64];

	assert(info.n < sizeof(text));
	memcpy(text, info.p, info.n);
	text[info.n] = 1;
	seal_hmac(root, HASH, str_of(text, info.n + 1), out);
}

static struct seal_key *seal_key_alloc(void)
{
	void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	seal_must(page != MAP_FAILED);
	BEST_EFFORT(madvise(page, PAGE, MADV_DONTDUMP));
	BEST_EFFORT(madvise(page, PAGE, MADV_WIPEONFORK));
	return page;
}

static void seal_key_finish(struct seal_key *k)
{
	static const uint8_t salt[HASH];
	uint8_t id[HASH];

	seal_hmac(salt, sizeof(salt), str_of(k->secret, k->n), k->root);
	seal_expand(k->root, STR("devplane key id"), id);
	memcpy(k->id, id, sizeof(k->id));
}

struct seal_key *seal_key_new(struct str secret)
{
	struct seal_key *k = seal_key_alloc();

	assert(secret.n > 0 && secret.n <= SEAL_SECRET_MAX);
	k->n = secret.n;
	memcpy(k->secret, secret.p, secret.n);
	seal_key_finish(k);
	return k;
}

struct seal_key *seal_key_random(void)
{
	struct seal_key *k = seal_key_alloc();

	k->n = SEAL_SECRET_MAX;
	random_bytes(k->secret, k->n);
	seal_key_finish(k);
	return k;
}

void seal_key_free(struct seal_key *k)
{
	if (!k)
		return;
	seal_wipe(k, sizeof(*k));
	BEST_EFFORT(munmap(k, PAGE));
}

struct str seal_key_id(const struct seal_key *k)
{
	return str_of(k->id, sizeof(k->id));
}

struct str seal_key_secret(const struct seal_key *k)
{
	return str_of(k->secret, k->n);
}

/* --- AES-256-GCM -------------------------------------------------------------------- */

static void gcm_seal(const uint8_t key[static HASH], const uint8_t *nonce, struct str context,
		     struct str clear, uint8_t *out)
{
	CLEANUP(EVP_CIPHER_CTX_free) EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
	int n;

	seal_must(c && EVP_EncryptInit_ex(c, EVP_aes_256_gcm(), NULL, key, nonce) == 1);
	seal_must(EVP_EncryptUpdate(c, NULL, &n, (const uint8_t *)context.p, (int)context.n) == 1);
	if (clear.n)
		seal_must(EVP_EncryptUpdate(c, out, &n, (const uint8_t *)clear.p, (int)clear.n) ==
			  1);
	seal_must(EVP_EncryptFinal_ex(c, out + clear.n, &n) == 1);
	seal_must(EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_GET_TAG, TAG, out + clear.n) == 1);
}

static bool gcm_open(const uint8_t key[static HASH], const uint8_t *nonce, struct str context,
		     struct str text, const uint8_t *tag, uint8_t *out)
{
	CLEANUP(EVP_CIPHER_CTX_free) EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
	uint8_t expected[TAG], none[TAG];
	int n;

	memcpy(expected, tag, sizeof(expected));
	seal_must(c && EVP_DecryptInit_ex(c, EVP_aes_256_gcm(), NULL, key, nonce) == 1);
	seal_must(EVP_DecryptUpdate(c, NULL, &n, (const uint8_t *)context.p, (int)context.n) == 1);
	if (text.n)
		seal_must(EVP_DecryptUpdate(c, out, &n, (const uint8_t *)text.p, (int)text.n) == 1);
	seal_must(EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_SET_TAG, TAG, expected) == 1);
	return EVP_DecryptFinal_ex(c, none, &n) == 1;
}

void seal_gcm(const struct seal_key *k, struct str context, struct str clear, char *out)
{
	uint8_t *to = (uint8_t *)out, key[HASH];

	random_bytes(to, SALT + GCM_NONCE);
	seal_expand(k->root, str_of(to, SALT), key);
	gcm_seal(key, to + SALT, context, clear, to + SALT + GCM_NONCE);
	seal_wipe(key, sizeof(key));
}

bool seal_gcm_open(const struct seal_key *k, struct str context, struct str sealed, char *out)
{
	const uint8_t *from = (const uint8_t *)sealed.p;
	uint8_t key[HASH];
	struct str text;
	bool opened;

	if (sealed.n < SEAL_GCM_MORE)
		return false;
	text = str_of(from + SALT + GCM_NONCE, sealed.n - SEAL_GCM_MORE);
	seal_expand(k->root, str_of(from, SALT), key);
	opened = gcm_open(key, from + SALT, context, text, from + sealed.n - TAG, (uint8_t *)out);
	seal_wipe(key, sizeof(key));
	if (!opened && text.n)
		seal_wipe(out, text.n);
	return opened;
}

/* --- XSalsa20 ----------------------------------------------------------------------- */

static uint32_t salsa_load(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void salsa_store(uint8_t *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> (8 * i));
}

static void salsa_step(uint32_t x[static 16], int to, int a, int b, int by)
{
	uint32_t sum = x[a] + x[b];

	x[to] ^= sum << by | sum >> (32 - by);
}

static void salsa_quarter(uint32_t x[static 16], int a, int b, int c, int d)
{
	salsa_step(x, b, a, d, 7);
	salsa_step(x, c, b, a, 9);
	salsa_step(x, d, c, b, 13);
	salsa_step(x, a, d, c, 18);
}

/* Twenty rounds: ten of columns, ten of rows. */
static void salsa_rounds(uint32_t x[static 16])
{
	for (int i = 0; i < 10; i++) {
		salsa_quarter(x, 0, 4, 8, 12);
		salsa_quarter(x, 5, 9, 13, 1);
		salsa_quarter(x, 10, 14, 2, 6);
		salsa_quarter(x, 15, 3, 7, 11);
		salsa_quarter(x, 0, 1, 2, 3);
		salsa_quarter(x, 5, 6, 7, 4);
		salsa_quarter(x, 10, 11, 8, 9);
		salsa_quarter(x, 15, 12, 13, 14);
	}
}

/* The matrix: constants on the diagonal, the key around it, 16 bytes of input in the middle. */
static void salsa_fill(uint32_t x[static 16], const uint8_t *key, const uint8_t *input)
{
	static const uint8_t constants[] = "expand 32-byte k";

	for (int i = 0; i < 4; i++) {
		x[5 * i] = salsa_load(constants + 4 * (size_t)i);
		x[1 + i] = salsa_load(key + 4 * (size_t)i);
		x[6 + i] = salsa_load(input + 4 * (size_t)i);
		x[11 + i] = salsa_load(key + 16 + 4 * (size_t)i);
	}
}

static void salsa_block(const uint8_t *key, const uint8_t *input, uint8_t out[static SALSA_BLOCK])
{
	uint32_t x[16], start[16];

	salsa_fill(start, key, input);
	memcpy(x, start, sizeof(x));
	salsa_rounds(x);
	for (size_t i = 0; i < 16; i++)
		salsa_store(out + 4 * i, x[i] + start[i]);
	seal_wipe(x, sizeof(x));
	seal_wipe(start, sizeof(start));
}

/* HSalsa20: the key for the rest of a nonce of 24 bytes. */
static void salsa_subkey(const uint8_t *key, const uint8_t *input, uint8_t out[static SALSA_KEY])
{
	uint32_t x[16];

	salsa_fill(x, key, input);
	salsa_rounds(x);
	for (size_t i = 0; i < 4; i++) {
		salsa_store(out + 4 * i, x[5 * i]);
		salsa_store(out + 16 + 4 * i, x[6 + i]);
	}
	seal_wipe(x, sizeof(x));
}

struct salsa {
	uint8_t key[SALSA_KEY];
	uint8_t input[16]; /* the last 8 bytes of the nonce, then the number of the block */
	uint8_t block[SALSA_BLOCK];
};

static void salsa_next(struct salsa *s)
{
	salsa_block(s->key, s->input, s->block);
	for (size_t i = 8; i < 16 && ++s->input[i] == 0; i++)
		;
}

/* Begins the stream; its first 32 bytes, in `block`, are the key of the tag. */
static void salsa_begin(struct salsa *s, const uint8_t *key, const uint8_t *nonce)
{
	memset(s, 0, sizeof(*s));
	salsa_subkey(key, nonce, s->key);
	memcpy(s->input, nonce + 16, 8);
	salsa_next(s);
}

/* Encrypts or decrypts in place, from the 33rd byte of the stream on. */
static void salsa_xor(struct salsa *s, uint8_t *text, size_t n)
{
	size_t at = HASH;

	for (size_t i = 0; i < n; i++, at++) {
		if (at == SALSA_BLOCK) {
			salsa_next(s);
			at = 0;
		}
		text[i] ^= s->block[at];
	}
}

/* --- secretbox ---------------------------------------------------------------------- */

static void poly_tag(const uint8_t key[static HASH], struct str text, uint8_t out[static TAG])
{
	CLEANUP(EVP_MAC_free) EVP_MAC *mac = EVP_MAC_fetch(NULL, "POLY1305", NULL);
	CLEANUP(EVP_MAC_CTX_free) EVP_MAC_CTX *c = mac ? EVP_MAC_CTX_new(mac) : NULL;
	size_t n;

	seal_must(c && EVP_MAC_init(c, key, HASH, NULL) == 1);
	seal_must(EVP_MAC_update(c, (const uint8_t *)text.p, text.n) == 1);
	seal_must(EVP_MAC_final(c, out, &n, TAG) == 1);
}

/* Encrypts `text` in place and makes its tag. */
static void box_seal(const uint8_t *key, const uint8_t *nonce, uint8_t *tag, uint8_t *text,
		     size_t n)
{
	uint8_t first[HASH];
	struct salsa s;

	salsa_begin(&s, key, nonce);
	memcpy(first, s.block, sizeof(first));
	salsa_xor(&s, text, n);
	poly_tag(first, str_of(text, n), tag);
	seal_wipe(first, sizeof(first));
	seal_wipe(&s, sizeof(s));
}

/* Checks the tag, then decrypts into `out`. */
static bool box_open(const uint8_t *key, const uint8_t *nonce, const uint8_t *tag, struct str text,
		     uint8_t *out)
{
	uint8_t expected[TAG];
	struct salsa s;
	bool good;

	salsa_begin(&s, key, nonce);
	poly_tag(s.block, text, expected);
	good = CRYPTO_memcmp(expected, tag, TAG) == 0;
	if (good) {
		memcpy(out, text.p, text.n);
		salsa_xor(&s, out, text.n);
	}
	seal_wipe(&s, sizeof(s));
	return good;
}

void seal_box(const struct seal_key *k, struct str context, struct str clear, char *out)
{
	uint8_t *to = (uint8_t *)out, *text = to + BOX_NONCE + TAG;

	assert(k->n == SALSA_KEY);
	random_bytes(to, BOX_NONCE);
	pki_sha256(context, text);
	(void)str_put(text + HASH, clear);
	box_seal(k->secret, to, to + BOX_NONCE, text, HASH + clear.n);
}

bool seal_box_open(const struct seal_key *k, struct str context, struct str sealed, char *out)
{
	const uint8_t *from = (const uint8_t *)sealed.p;
	uint8_t hash[HASH], *text;
	struct str body;
	bool good;

	if (sealed.n < SEAL_BOX_MORE || k->n != SALSA_KEY)
		return false;
	body = str_of(from + BOX_NONCE + TAG, sealed.n - BOX_NONCE - TAG);
	text = OPENSSL_malloc(body.n);
	seal_must(text != NULL);
	pki_sha256(context, hash);
	good = box_open(k->secret, from, from + BOX_NONCE, body, text) &&
	       CRYPTO_memcmp(hash, text, HASH) == 0;
	if (good)
		(void)str_put(out, str_of(text + HASH, body.n - HASH));
	OPENSSL_clear_free(text, body.n);
	return good;
}
