/*
 * The rules of which requests are forwarded, as tables.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/compiler.h"
#include "cli/ui/allowed.h"

static int check(const char *method, const char *path)
{
	struct error err = { 0 };
	int r = allowed_check(str_from(method), str_from(path), &err);

	if (r < 0)
		assert_true(err.msg[0]);
	return r;
}

static void what_the_page_reads_is_forwarded(void **state UNUSED)
{
	static const char *const paths[] = {
		"/version",
		"/api",
		"/api/v1",
		"/apis",
		"/api/v1/pods",
		"/api/v1/nodes",
		"/api/v1/nodes/n1",
		"/api/v1/events",
		"/api/v1/namespaces",
		"/api/v1/namespaces/team",
		"/api/v1/namespaces/team/pods",
		"/api/v1/namespaces/team/pods/train",
		"/apis/resource.k8s.io",
		"/apis/resource.k8s.io/v1",
		"/apis/resource.k8s.io/v1/resourceslices",
		"/apis/resource.k8s.io/v1alpha3/devicetaintrules",
		"/apis/resource.k8s.io/v1/namespaces/team/resourceclaims",
		"/apis/devplane.dev/v1alpha1/resourceslicestatuses",
	};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		assert_int_equal(check("GET", paths[i]), 0);
		assert_int_equal(check("POST", paths[i]), -ERR_METHOD_NOT_ALLOWED);
		assert_int_equal(check("DELETE", paths[i]), -ERR_METHOD_NOT_ALLOWED);
	}
}

static void questions_about_oneself_are_forwarded(void **state UNUSED)
{
	static const char *const paths[] = {
		"/apis/authentication.k8s.io/v1/selfsubjectreviews",
		"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
		"/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
	};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		assert_int_equal(check("POST", paths[i]), 0);
		assert_int_equal(check("GET", paths[i]), -ERR_METHOD_NOT_ALLOWED);
	}
	assert_int_equal(check("POST", "/apis/authentication.k8s.io/v1/tokenreviews"),
			 -ERR_NOT_FOUND);
}

static void nothing_else_is_forwarded(void **state UNUSED)
{
	static const char *const paths[] = {
		"/metrics",
		"/logs",
		"/api/v1/secrets",
		"/api/v1/configmaps",
		"/api/v2/pods",
		"/api/v1/namespaces/team/secrets",
		"/api/v1/namespaces/team/pods/train/log",
		"/api/v1/namespaces/team/pods/train/exec",
		"/api/v1/namespaces/pods/pods/x/proxy",
		"/api/v1/namespaces/pods/secrets",
		"/api/v1/nodes/n1/proxy",
		"/api/v1/nodes/n1/proxy/metrics",
		"/api/v1/watch/secrets",
		"/api/v1/proxy/nodes/n1",
		"/apis/apps/v1/deployments",
		"/openapi/v3",
		"/apis/authentication.k8s.io/v1",
	};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		assert_int_equal(check("GET", paths[i]), -ERR_NOT_FOUND);
}

static void a_path_with_two_meanings_is_rejected(void **state UNUSED)
{
	static const char *const paths[] = {
		"",
		"/",
		"*",
		"//api/v1/pods",
		"/api/v1/pods/",
		"/api//v1/pods",
		"/api/v1/pods/../secrets",
		"/api/v1/./pods",
		"/api/v1/pods/%2e%2e/secrets",
		"/api/v1/pods/a%2fb",
		"/api/v1\\pods",
		"/api/v1/pods;x",
		"/api/v1/pods#x",
		"/apis/resource.k8s.io/1/2/3/4/5/6/7",
		"http://evil.example/api/v1/pods",
	};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		assert_int_equal(check("GET", paths[i]), -ERR_BAD_REQUEST);
}

static void a_query_asks_for_a_watch(void **state UNUSED)
{
	assert_true(allowed_is_watch(STR("watch=true")));
	assert_true(allowed_is_watch(STR("limit=1&watch=1")));
	assert_false(allowed_is_watch(STR("watch=false&x=watch=true1")));
	assert_false(allowed_is_watch(STR_NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_page_reads_is_forwarded),
		cmocka_unit_test(questions_about_oneself_are_forwarded),
		cmocka_unit_test(nothing_else_is_forwarded),
		cmocka_unit_test(a_path_with_two_meanings_is_rejected),
		cmocka_unit_test(a_query_asks_for_a_watch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
