#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/json/writer.h"
#include "net/tls/jwt_fixture.h"
#include "net/tls/pki.h"
#include "net/tls/pki_sign.h"

static struct pki_key *load_one(struct str pem)
{
	struct pki_key *k = NULL;
	struct error err;
	size_t n;

	if (pki_keys_load(pem, &k, 1, &n, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(n, 1);
	return k;
}

static void a_key_is_named_by_the_hash_of_its_public_half(void **state UNUSED)
{
	static const struct str id = STR("K9G7DESol8MKeqCZHN442AYv5EHeUNoPRoJTRPYC6Cc");
	CLEANUP(pki_key_free) struct pki_key *public = load_one(STR(RFC7515_EC_PUBLIC));
	CLEANUP(pki_key_free) struct pki_key *private = load_one(STR(RFC7515_EC_PRIVATE));

	assert_true(str_eq(pki_key_id(public), id));
	assert_true(str_eq(pki_key_id(private), id));
}

static void a_jwk_has_the_public_half_alone(void **state UNUSED)
{
	CLEANUP(pki_key_free) struct pki_key *k = load_one(STR(RFC7515_EC_PRIVATE));
	CLEANUP(buf_release) struct buf out = BUF_INIT(4 * KIB);
	struct json_writer w;

	json_writer_init(&w, &out, NULL);
	pki_key_print_jwk(k, &w);
	assert_int_equal(json_writer_finish(&w), 0);
	assert_string_equal(out.p, "{\"use\":\"sig\",\"kty\":\"EC\","
				   "\"kid\":\"K9G7DESol8MKeqCZHN442AYv5EHeUNoPRoJTRPYC6Cc\","
				   "\"crv\":\"P-256\",\"alg\":\"ES256\","
				   "\"x\":\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\","
				   "\"y\":\"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0\"}");
}

static void an_rsa_jwk_has_modulus_and_exponent(void **state UNUSED)
{
	CLEANUP(pki_key_free) struct pki_key *k = load_one(STR(RFC7515_RSA_PUBLIC));
	CLEANUP(buf_release) struct buf out = BUF_INIT(4 * KIB);
	struct json_writer w;

	json_writer_init(&w, &out, NULL);
	pki_key_print_jwk(k, &w);
	assert_int_equal(json_writer_finish(&w), 0);
	assert_non_null(strstr(out.p, "\"kty\":\"RSA\""));
	assert_non_null(strstr(out.p, "\"alg\":\"RS256\",\"n\":\"ofgWCuLjybRlzo0t"));
	assert_non_null(strstr(out.p, "\"e\":\"AQAB\"}"));
}

static void only_the_signed_message_can_be_verified(void **state UNUSED)
{
	CLEANUP(buf_release) struct buf pem = BUF_INIT(4 * KIB);
	CLEANUP(buf_release) struct buf sig = BUF_INIT(KIB);
	CLEANUP(pki_key_free) struct pki_key *k = NULL;
	CLEANUP(pki_key_free) struct pki_key *other = load_one(STR(RFC7515_EC_PUBLIC));

	assert_int_equal(pki_key_new(&pem, NULL), 0);
	assert_int_equal(pki_key_load_private(buf_str(&pem), &k, NULL), 0);
	assert_int_equal(pki_sign(k, STR("message"), &sig, NULL), 0);
	assert_int_equal(sig.n, 64);
	assert_true(pki_verify(k, STR("message"), buf_str(&sig)));
	assert_false(pki_verify(k, STR("massage"), buf_str(&sig)));
	assert_false(pki_verify(other, STR("message"), buf_str(&sig)));
	assert_false(pki_verify(k, STR("message"), str_of(sig.p, 63)));
	assert_false(pki_verify(k, STR("message"), STR_NULL));
	for (size_t i = 0; i < sig.n; i++) {
		sig.p[i] = (char)(sig.p[i] ^ 1);
		assert_false(pki_verify(k, STR("message"), buf_str(&sig)));
		sig.p[i] = (char)(sig.p[i] ^ 1);
	}
}

static void a_public_key_does_not_sign(void **state UNUSED)
{
	CLEANUP(pki_key_free) struct pki_key *k = load_one(STR(RFC7515_EC_PUBLIC));
	CLEANUP(buf_release) struct buf sig = BUF_INIT(KIB);

	assert_int_equal(pki_sign(k, STR("x"), &sig, NULL), -ERR_INVALID);
}

static void a_file_may_have_keys_and_certificates(void **state UNUSED)
{
	CLEANUP(buf_release) struct buf pem = BUF_INIT(64 * KIB);
	CLEANUP(pki_ca_free) struct pki_ca *ca = NULL;
	struct clock_manual clock;
	struct pki_key *keys[3];
	size_t n = 0;

	clock_manual_init(&clock, 0, INT64_C(1893456000) * CLOCK_SEC);
	assert_int_equal(pki_ca_new(STR("ca"), 3600, &clock.clock, &ca, NULL), 0);
	(void)buf_addz(&pem, "some words\n" RFC7515_EC_PUBLIC RFC7515_RSA_PUBLIC);
	assert_int_equal(pki_ca_cert(ca, &pem, NULL), 0);
	assert_int_equal(pki_keys_load(buf_str(&pem), keys, 2, &n, NULL), -ERR_INVALID);
	assert_int_equal(pki_keys_load(buf_str(&pem), keys, 3, &n, NULL), 0);
	assert_int_equal(n, 3);
	assert_int_equal(pki_key_alg(keys[0]), PKI_ES256);
	assert_int_equal(pki_key_alg(keys[1]), PKI_RS256);
	assert_int_equal(pki_key_alg(keys[2]), PKI_ES256);
	while (n > 0)
		pki_key_free(keys[--n]);
}

static void an_invalid_key_is_rejected_with_a_reason(void **state UNUSED)
{
	static const struct {
		struct str pem;
		const char *why;
	} rows[] = {
		{ { "", 0 }, "the PEM text is empty" },
		{ STR("hello"), "no key in the PEM text" },
		{ STR("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"),
		  "broken key in the PEM text" },
		{ STR("-----BEGIN PUBLIC KEY-----\n"), "broken PEM text" },
		{ STR("-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n"
		      "-----END ENCRYPTED PRIVATE KEY-----\n"),
		  "the private key is encrypted" },
		/* P-384. */
		{ STR("-----BEGIN PUBLIC KEY-----\n"
		      "MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAE8VfodeukPhSqQjWgv96HQG6JNlEQtbpv\n"
		      "DigX1gQdJVwq193Tq18hMnQb7TveLym2wMAKeIswk+DdzVgO57qFXh7JXNVaaZ8n\n"
		      "JA2fLjlrjPaoOCWOkoYdZgPCqkZCNXW/\n-----END PUBLIC KEY-----\n"),
		  "the key is neither EC P-256 nor RSA" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pki_key *k = NULL;
		struct error err = { 0 };
		size_t n = 7;

		assert_int_equal(pki_keys_load(rows[i].pem, &k, 1, &n, &err), -ERR_INVALID);
		assert_memory_equal(err.msg, rows[i].why, strlen(rows[i].why));
		assert_int_equal(n, 7);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_key_is_named_by_the_hash_of_its_public_half),
		cmocka_unit_test(a_jwk_has_the_public_half_alone),
		cmocka_unit_test(an_rsa_jwk_has_modulus_and_exponent),
		cmocka_unit_test(only_the_signed_message_can_be_verified),
		cmocka_unit_test(a_public_key_does_not_sign),
		cmocka_unit_test(a_file_may_have_keys_and_certificates),
		cmocka_unit_test(an_invalid_key_is_rejected_with_a_reason),
	};

	return cmocka_run_group_tests_name("net/pki_sign", tests, NULL, NULL);
}
