#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/arena.h"
#include "base/core/limits.h"
#include "net/http/http.h"
#include "server/request/request.h"
#include "server/ui/pass.h"

static bool claims(const char *authorization, struct str *ret_secret)
{
	CLEANUP(arena_release) struct arena a;
	struct http_head in = { .method = STR("GET") };

	arena_init(&a, MIB);
	if (authorization)
		assert_int_equal(http_fields_add(&in.fields, &a, STR("authorization"),
						 str_from(authorization)),
				 0);
	*ret_secret = STR_NULL;
	return ui_pass_claim(&in, ret_secret);
}

static void a_token_is_claimed_with_its_secret(void **state UNUSED)
{
	CLEANUP(arena_release) struct arena a;
	struct str secret, token;

	arena_init(&a, MIB);
	token = ui_pass_token(&a, "abc");
	assert_true(claims(arena_printf(&a, "Bearer %.*s", STR_ARG(token)), &secret));
	assert_int_equal(secret.n, 3);
}

static void other_credentials_are_no_pass(void **state UNUSED)
{
	static const char *const others[] = {
		NULL,
		"",
		"Bearer abc",
		"Bearer devplane",
		"Basic devplane-pass-abc",
		"devplane-pass-abc",
		"Bearer xdevplane-pass-abc",
	};
	struct str secret;

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_false(claims(others[i], &secret));
}

static int check(const char *method, const char *path, const char *query)
{
	CLEANUP(arena_release) struct arena a;
	struct field_errors causes;
	struct request r = { .resource = STR_NULL };
	struct error err;

	arena_init(&a, MIB);
	field_errors_init(&causes, &a);
	(void)request_parse(&r, &a, str_from(method), str_from(path), str_from(query), &causes,
			    &err);
	return ui_pass_check(&r, str_from(method), NULL);
}

static void a_pass_is_good_for_reading(void **state UNUSED)
{
	static const char *const paths[] = {
		"/api",
		"/apis/resource.k8s.io/v1",
		"/api/v1/nodes",
		"/api/v1/namespaces/a/pods/p",
		"/apis/resource.k8s.io/v1/resourceslices",
	};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		assert_int_equal(check("GET", paths[i], ""), 0);
	assert_int_equal(
		check("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", ""), 0);
}

static void a_pass_is_good_for_nothing_else(void **state UNUSED)
{
	static const char *const asks[][3] = {
		{ "GET", "/api/v1/pods", "watch=true" },
		{ "GET", "/api/v1/watch/pods", "" },
		{ "GET", "/api/v1/namespaces/a/pods/p/log", "" },
		{ "GET", "/api/v1/namespaces/a/pods/p/exec", "command=sh" },
		{ "GET", "/api/v1/nodes/n/proxy/x", "" },
		{ "POST", "/api/v1/namespaces/a/pods", "" },
		{ "POST", "/api/v1/namespaces/a/pods", "dryRun=All" },
		{ "POST", "/api/v1/namespaces/a/serviceaccounts/s/token", "" },
		{ "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", "" },
		{ "POST", "/apis/authentication.k8s.io/v1/tokenreviews", "" },
		{ "PUT", "/api/v1/namespaces/a/pods/p", "" },
		{ "PATCH", "/api/v1/namespaces/a/pods/p", "" },
		{ "DELETE", "/api/v1/namespaces/a/pods/p", "" },
		{ "DELETE", "/api/v1/namespaces/a/pods", "" },
		{ "POST", "/metrics", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(asks); i++)
		assert_int_equal(check(asks[i][0], asks[i][1], asks[i][2]), -ERR_FORBIDDEN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_token_is_claimed_with_its_secret),
		cmocka_unit_test(other_credentials_are_no_pass),
		cmocka_unit_test(a_pass_is_good_for_reading),
		cmocka_unit_test(a_pass_is_good_for_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
