/*
 * The provider's side is played by texts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "base/text/base64.h"
#include "cli/ui/oidc.h"

#define NOW 1000

static const char *const scopes[] = { "email", "groups" };
static const struct oidc_provider provider = {
	.issuer = "https://login.example",
	.client_id = "page",
	.client_secret = { "s&t", 3 },
	.redirect_url = "https://ui.example/ui/oidc/callback",
	.scopes = scopes,
	.nscopes = 2,
};

static int metadata(struct arena *a, const char *text, struct oidc_metadata *m, struct error *err)
{
	return oidc_read_metadata(a, str_from(text), &provider, m, err);
}

static void metadata_names_the_endpoints(void **state UNUSED)
{
	CLEANUP(arena_release) struct arena a;
	struct oidc_metadata m;

	arena_init(&a, MIB);
	assert_int_equal(metadata(&a,
				  "{\"issuer\":\"https://login.example\","
				  "\"authorization_endpoint\":\"https://login.example/auth?x=1\","
				  "\"token_endpoint\":\"https://login.example/token\"}",
				  &m, NULL),
			 0);
	assert_true(str_eqz(m.token_endpoint, "https://login.example/token"));
	assert_false(m.post);
	assert_int_equal(metadata(&a,
				  "{\"issuer\":\"https://login.example\","
				  "\"authorization_endpoint\":\"https://login.example/auth\","
				  "\"token_endpoint\":\"https://login.example/token\","
				  "\"token_endpoint_auth_methods_supported\":"
				  "[\"client_secret_post\"]}",
				  &m, NULL),
			 0);
	assert_true(m.post);
}

static void wrong_metadata_is_rejected(void **state UNUSED)
{
	static const char *const texts[] = {
		"",
		"[]",
		"{\"issuer\":\"https://evil.example\",\"authorization_endpoint\":\"https://a/\","
		"\"token_endpoint\":\"https://b/\"}",
		"{\"issuer\":\"https://login.example\",\"authorization_endpoint\":\"http://a/\","
		"\"token_endpoint\":\"https://b/\"}",
		"{\"issuer\":\"https://login.example\",\"authorization_endpoint\":\"https://a/\"}",
	};
	CLEANUP(arena_release) struct arena a;
	struct oidc_metadata m;
	struct error err;

	arena_init(&a, MIB);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_true(metadata(&a, texts[i], &m, &err) < 0 && err.msg[0]);
}

/* The verifier and challenge are those of RFC 7636, appendix B. */
static void the_browser_is_sent_with_state_nonce_and_challenge(void **state UNUSED)
{
	CLEANUP(arena_release) struct arena a;
	struct oidc_metadata m = { .authorization_endpoint = STR("https://login.example/auth?x=1"),
				   .post = true };
	struct oidc_flow f = { .state = "S", .nonce = "N" };

	arena_init(&a, MIB);
	memcpy(f.verifier, "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", OIDC_SECRET_SIZE);
	assert_string_equal(
		oidc_authorize_url(&a, &provider, &m, &f).p,
		"https://login.example/auth?x=1&response_type=code&client_id=page&redirect_uri="
		"https%3A%2F%2Fui.example%2Fui%2Foidc%2Fcallback&scope=openid%20email%20groups&"
		"state=S&nonce=N&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&"
		"code_challenge_method=S256");
	assert_string_equal(oidc_token_form(&a, &provider, &m, &f, STR("c/d")).p,
			    "grant_type=authorization_code&code=c%2Fd&redirect_uri="
			    "https%3A%2F%2Fui.example%2Fui%2Foidc%2Fcallback&client_id=page&"
			    "code_verifier=dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk&"
			    "client_secret=s%26t");
	m.post = false;
	assert_null(strstr(oidc_token_form(&a, &provider, &m, &f, STR("c")).p, "secret"));
}

static void secrets_differ(void **state UNUSED)
{
	struct oidc_flow one, two;

	oidc_flow_init(&one);
	oidc_flow_init(&two);
	assert_int_equal(strlen(one.state), OIDC_SECRET_SIZE - 1);
	assert_string_not_equal(one.state, two.state);
	assert_string_not_equal(one.nonce, one.state);
	assert_string_not_equal(one.verifier, one.nonce);
}

static int read_token(struct arena *a, const char *payload, struct str *ret_token,
		      struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(MIB);
	struct oidc_flow f = { .nonce = "N" };

	(void)buf_addz(&text, "{\"id_token\":\"e30.");
	(void)base64_encode(&text, str_from(payload), BASE64_URL_RAW);
	(void)buf_addz(&text, ".sig\"}");
	return oidc_read_token(a, buf_str(&text), &provider, &f, NOW, ret_token, err);
}

static void a_token_of_this_login_is_taken(void **state UNUSED)
{
	static const char *const payloads[] = {
		"{\"iss\":\"https://login.example\",\"aud\":\"page\",\"nonce\":\"N\",\"exp\":1001}",
		"{\"iss\":\"https://login.example\",\"aud\":[\"page\"],\"nonce\":\"N\","
		"\"exp\":1001}",
		"{\"iss\":\"https://login.example\",\"aud\":[\"page\",\"x\"],\"azp\":\"page\","
		"\"nonce\":\"N\",\"exp\":1001}",
	};
	CLEANUP(arena_release) struct arena a;
	struct str token;

	arena_init(&a, MIB);
	for (size_t i = 0; i < ARRAY_SIZE(payloads); i++) {
		assert_int_equal(read_token(&a, payloads[i], &token, NULL), 0);
		assert_true(str_starts(token, STR("e30.")));
	}
}

static void any_other_token_is_rejected(void **state UNUSED)
{
	static const struct {
		const char *payload, *why;
	} cases[] = {
		{ "{\"iss\":\"https://evil\",\"aud\":\"page\",\"nonce\":\"N\",\"exp\":1001}",
		  "another issuer" },
		{ "{\"iss\":\"https://login.example\",\"aud\":\"x\",\"nonce\":\"N\",\"exp\":1001}",
		  "another client" },
		{ "{\"iss\":\"https://login.example\",\"aud\":[\"page\",\"x\"],\"nonce\":\"N\","
		  "\"exp\":1001}",
		  "another client" },
		{ "{\"iss\":\"https://login.example\",\"aud\":\"page\",\"azp\":\"x\","
		  "\"nonce\":\"N\",\"exp\":1001}",
		  "another client" },
		{ "{\"iss\":\"https://login.example\",\"aud\":\"page\",\"nonce\":\"M\","
		  "\"exp\":1001}",
		  "another login" },
		{ "{\"iss\":\"https://login.example\",\"aud\":\"page\",\"exp\":1001}",
		  "another login" },
		{ "{\"iss\":\"https://login.example\",\"aud\":\"page\",\"nonce\":\"N\","
		  "\"exp\":1000}",
		  "expired" },
		{ "{\"iss\":\"https://login.example\",\"aud\":\"page\",\"nonce\":\"N\"}",
		  "expired" },
		{ "x", "no ID token" },
	};
	CLEANUP(arena_release) struct arena a;
	struct error err;
	struct str token;

	arena_init(&a, MIB);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(read_token(&a, cases[i].payload, &token, &err), -ERR_UNAUTHORIZED);
		assert_non_null(strstr(err.msg, cases[i].why));
	}
	assert_true(oidc_read_token(&a, STR("{}"), &provider, &(struct oidc_flow){ .nonce = "N" },
				    NOW, &token, &err) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(metadata_names_the_endpoints),
		cmocka_unit_test(wrong_metadata_is_rejected),
		cmocka_unit_test(the_browser_is_sent_with_state_nonce_and_challenge),
		cmocka_unit_test(secrets_differ),
		cmocka_unit_test(a_token_of_this_login_is_taken),
		cmocka_unit_test(any_other_token_is_rejected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
