#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "cli/ui/explain_query.h"
#include "client/kubeconfig/kubeconfig.h"

static void a_pod_or_a_claim_is_named(void **state UNUSED)
{
	CLEANUP(arena_release) struct arena a;
	struct explain_query q;

	arena_init(&a, MIB);
	assert_int_equal(explain_query_read(STR("namespace=team-a&pod=train-0"), &q, NULL), 0);
	assert_true(str_eqz(explain_query_path(&q, &a), "/api/v1/namespaces/team-a/pods/train-0"));
	assert_int_equal(q.cluster, 0);
	assert_int_equal(
		explain_query_read(STR("claim=gpu.1&cluster=2&node=n1&namespace=x"), &q, NULL), 0);
	assert_true(str_eqz(explain_query_path(&q, &a),
			    "/apis/resource.k8s.io/v1/namespaces/x/resourceclaims/gpu.1"));
	assert_int_equal(q.cluster, 2);
	assert_true(str_eqz(q.node, "n1"));
}

static void anything_else_is_an_error(void **state UNUSED)
{
	static const char *const queries[] = {
		"",
		"namespace=a",
		"pod=p",
		"namespace=a&pod=p&claim=c",
		"namespace=a&pod=p&pod=q",
		"namespace=a&namespace=b&pod=p",
		"namespace=a&pod=",
		"namespace=a&pod",
		"namespace=a&pod=-x",
		"namespace=a&pod=p/log",
		"namespace=..&pod=p",
		"namespace=a&pod=a%2fb",
		"namespace=a&pod=p&node=--token",
		"namespace=a&pod=p&cluster=x",
		"namespace=a&pod=p&cluster=",
		"namespace=a&pod=p&server=https",
		"namespace=a&pod=p&",
	};
	struct explain_query q;
	struct error err;

	for (size_t i = 0; i < ARRAY_SIZE(queries); i++)
		assert_int_equal(explain_query_read(str_from(queries[i]), &q, &err),
				 -ERR_BAD_REQUEST);
}

static void the_command_names_subject_and_access(void **state UNUSED)
{
	static const char *const wanted[] = { "/proc/self/exe", "explain-fit",
					      "pod/p",          "--namespace=a",
					      "--output=json",  "--max-objects=20000",
					      "--node=n1",      "--kubeconfig=file",
					      "--context=lab" };
	CLEANUP(arena_release) struct arena a;
	struct explain_access to = { .kubeconfig = "file", .context = STR("lab") };
	struct explain_query q;
	const char *const *v;

	arena_init(&a, MIB);
	assert_int_equal(explain_query_read(STR("namespace=a&pod=p&node=n1"), &q, NULL), 0);
	v = explain_query_argv(&q, &to, &a);
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		assert_string_equal(v[i], wanted[i]);
	assert_null(v[ARRAY_SIZE(wanted)]);
}

static void the_kubeconfig_has_the_token_and_no_other_credentials(void **state UNUSED)
{
	CLEANUP(arena_release) struct arena a;
	CLEANUP(kubeconfig_release)
	struct kubeconfig from = { .server = STR("https://h:6443/x"),
				   .tls_server_name = STR("name"),
				   .ca = STR("some CA"),
				   .cert = STR("cert"),
				   .key = STR("key"),
				   .as = STR("admin") };
	CLEANUP(kubeconfig_release) struct kubeconfig to = { .token = STR_NULL };
	struct str text;

	arena_init(&a, MIB);
	arena_init(&from.arena, MIB);
	text = explain_query_kubeconfig(&from, STR("secret"), &a);
	assert_int_equal(kubeconfig_parse(&to, text, "test", "/", NULL, NULL), 0);
	assert_true(str_eqz(to.server, "https://h:6443/x"));
	assert_true(str_eqz(to.tls_server_name, "name"));
	assert_true(str_eqz(to.ca, "some CA"));
	assert_true(str_eqz(to.token, "secret"));
	assert_false(to.insecure);
	assert_int_equal(to.cert.n + to.key.n + to.as.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pod_or_a_claim_is_named),
		cmocka_unit_test(anything_else_is_an_error),
		cmocka_unit_test(the_command_names_subject_and_access),
		cmocka_unit_test(the_kubeconfig_has_the_token_and_no_other_credentials),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
