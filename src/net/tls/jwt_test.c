#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/text/base64.h"
#include "net/net_limits.h"
#include "net/tls/jwt.h"
#include "net/tls/jwt_fixture.h"

static struct pki_key *load_one(struct str pem)
{
	struct pki_key *k = NULL;
	size_t n;

	assert_int_equal(pki_keys_load(pem, &k, 1, &n, NULL), 0);
	return k;
}

static bool is_good(struct str token, const struct pki_key *k)
{
	CLEANUP(arena_release) struct arena a;
	struct jwt t;

	arena_init(&a, MIB);
	return jwt_parse(token, &a, &t, NULL) == 0 && jwt_verify(&t, k);
}

static void the_tokens_of_rfc_7515_are_good(void **state UNUSED)
{
	CLEANUP(pki_key_free) struct pki_key *ec = load_one(STR(RFC7515_EC_PUBLIC));
	CLEANUP(pki_key_free) struct pki_key *rsa = load_one(STR(RFC7515_RSA_PUBLIC));

	assert_true(is_good(STR(RFC7515_EC_TOKEN), ec));
	assert_true(is_good(STR(RFC7515_RSA_TOKEN), rsa));
	assert_false(is_good(STR(RFC7515_EC_TOKEN), rsa));
	assert_false(is_good(STR(RFC7515_RSA_TOKEN), ec));
}

static void claims_can_be_read(void **state UNUSED)
{
	CLEANUP(arena_release) struct arena a;
	int64_t exp = 0;
	struct jwt t;

	arena_init(&a, MIB);
	assert_int_equal(jwt_parse(STR(RFC7515_EC_TOKEN), &a, &t, NULL), 0);
	assert_true(str_eqz(json_text_at(t.payload, "iss"), "joe"));
	assert_true(jwt_time(&t, "exp", &exp));
	assert_int_equal(exp, 1300819380);
	assert_false(jwt_time(&t, "nbf", &exp));
	assert_false(jwt_time(&t, "iss", &exp));
}

static void no_byte_of_a_token_can_be_changed(void **state UNUSED)
{
	static const char letters[] = "AQgw-_05az.=";
	CLEANUP(pki_key_free) struct pki_key *k = load_one(STR(RFC7515_EC_PUBLIC));
	char token[] = RFC7515_EC_TOKEN;
	size_t n = sizeof(token) - 1;

	for (size_t i = 0; i < n; i++) {
		char was = token[i];

		for (size_t j = 0; j < sizeof(letters) - 1; j++) {
			token[i] = letters[j];
			assert_true(token[i] == was || !is_good(str_of(token, n), k));
		}
		token[i] = was;
		assert_false(is_good(str_of(token, i), k));
	}
	assert_true(is_good(str_of(token, n), k));
}

static void a_printed_token_is_read_back(void **state UNUSED)
{
	CLEANUP(pki_key_free) struct pki_key *k = load_one(STR(RFC7515_EC_PRIVATE));
	CLEANUP(buf_release) struct buf out = BUF_INIT(JWT_MAX);
	CLEANUP(arena_release) struct arena a;
	struct jwt t;

	arena_init(&a, MIB);
	assert_int_equal(jwt_print(k, STR("{\"sub\":\"x\",\"exp\":1.5e3}"), &out, NULL), 0);
	assert_int_equal(jwt_parse(buf_str(&out), &a, &t, NULL), 0);
	assert_true(jwt_verify(&t, k));
	assert_true(str_eq(t.kid, pki_key_id(k)));
	assert_true(str_eqz(json_text_at(t.payload, "sub"), "x"));
	assert_true(jwt_time(&t, "exp", &(int64_t){ 0 }));
}

static void a_token_that_grew_too_large_is_not_made(void **state UNUSED)
{
	CLEANUP(pki_key_free) struct pki_key *k = load_one(STR(RFC7515_EC_PRIVATE));
	CLEANUP(buf_release) struct buf out = BUF_INIT(100);

	assert_int_equal(jwt_print(k, STR("{\"sub\":\"a subject of some length\"}"), &out, NULL),
			 -ERR_TOO_LARGE);
}

static void add_part(struct buf *out, struct str json)
{
	(void)base64_encode(out, json, BASE64_URL_RAW);
}

static void other_algorithms_and_forms_are_refused(void **state UNUSED)
{
	static const struct {
		const char *header, *payload, *signature, *why;
	} rows[] = {
		{ "{\"alg\":\"none\"}", "{}", "AAAA", "the algorithm is not supported" },
		{ "{\"alg\":\"none\"}", "{}", "", "the algorithm is not supported" },
		{ "{\"alg\":\"HS256\"}", "{}", "AAAA", "the algorithm is not supported" },
		{ "{\"alg\":\"es256\"}", "{}", "AAAA", "the algorithm is not supported" },
		{ "{\"alg\":[\"ES256\"]}", "{}", "AAAA", "the algorithm is not supported" },
		{ "{}", "{}", "AAAA", "the algorithm is not supported" },
		{ "{\"alg\":\"ES256\",\"crit\":[\"exp\"]}", "{}", "AAAA",
		  "it has critical extensions" },
		{ "{\"alg\":\"ES256\",\"kid\":7}", "{}", "AAAA", "the key id is not text" },
		{ "{\"alg\":\"none\",\"alg\":\"ES256\"}", "{}", "AAAA", "a member is repeated" },
		{ "{\"alg\":\"ES256\"}", "{\"a\":{\"b\":1,\"b\":2}}", "AAAA",
		  "a member is repeated" },
		{ "{\"alg\":\"ES256\"}", "[]", "AAAA", "a part is not a JSON object" },
		{ "{\"alg\":\"ES256\"}", "{", "AAAA", "a part is not a JSON object" },
		{ "{\"alg\":\"ES256\"}", "", "AAAA", "a part is not base64url" },
		{ "{\"alg\":\"ES256\"}", "{}", "", "a part is not base64url" },
		{ "{\"alg\":\"ES256\"}", "{}", "AA==", "a part is not base64url" },
		{ "{\"alg\":\"ES256\"}", "{}", "A+/A", "a part is not base64url" },
		{ "{\"alg\":\"ES256\"}", "{}", "AAAA.AAAA", "want three parts" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(buf_release) struct buf token = BUF_INIT(4 * KIB);
		CLEANUP(arena_release) struct arena a;
		struct error err = { 0 };
		struct jwt t;

		arena_init(&a, MIB);
		add_part(&token, str_from(rows[i].header));
		(void)buf_addc(&token, '.');
		add_part(&token, str_from(rows[i].payload));
		(void)buf_printf(&token, ".%s", rows[i].signature);
		assert_int_equal(jwt_parse(buf_str(&token), &a, &t, &err), -ERR_UNAUTHORIZED);
		assert_string_equal(err.msg + strlen("malformed token: "), rows[i].why);
	}
}

static void size_and_depth_are_bounded(void **state UNUSED)
{
	CLEANUP(buf_release) struct buf token = BUF_INIT(2 * JWT_MAX);
	CLEANUP(arena_release) struct arena a;
	struct jwt t;

	arena_init(&a, 16 * MIB);
	while (token.n <= JWT_MAX)
		(void)buf_addz(&token, "AAAAAAAAAAAAAAAA");
	assert_int_equal(jwt_parse(buf_str(&token), &a, &t, NULL), -ERR_UNAUTHORIZED);
	buf_clear(&token);
	add_part(&token, STR("{\"alg\":\"ES256\"}"));
	(void)buf_addc(&token, '.');
	add_part(&token, STR("{\"a\":[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]}"));
	(void)buf_addz(&token, ".AAAA");
	assert_int_equal(jwt_parse(buf_str(&token), &a, &t, NULL), -ERR_UNAUTHORIZED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_tokens_of_rfc_7515_are_good),
		cmocka_unit_test(claims_can_be_read),
		cmocka_unit_test(no_byte_of_a_token_can_be_changed),
		cmocka_unit_test(a_printed_token_is_read_back),
		cmocka_unit_test(a_token_that_grew_too_large_is_not_made),
		cmocka_unit_test(other_algorithms_and_forms_are_refused),
		cmocka_unit_test(size_and_depth_are_bounded),
	};

	return cmocka_run_group_tests_name("net/jwt", tests, NULL, NULL);
}
