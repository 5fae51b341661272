#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "web/explain/query.h"

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

static void a_printed_query_is_read_as_the_same(void **state UNUSED)
{
	static const char *const queries[] = { "namespace=a&pod=p", "namespace=a&claim=c",
					       "namespace=a.b&pod=p&node=n-1" };
	CLEANUP(arena_release) struct arena a;
	struct explain_query q;

	arena_init(&a, MIB);
	for (size_t i = 0; i < ARRAY_SIZE(queries); i++) {
		assert_int_equal(explain_query_read(str_from(queries[i]), &q, NULL), 0);
		assert_true(str_eqz(explain_query_print(&q, &a), queries[i]));
	}
	assert_int_equal(explain_query_read(STR("cluster=1&pod=p&namespace=a"), &q, NULL), 0);
	assert_true(str_eqz(explain_query_print(&q, &a), "namespace=a&pod=p"));
}

static void the_kubeconfig_has_the_server_and_the_token(void **state UNUSED)
{
	static const char wanted[] =
		"{\"apiVersion\":\"v1\",\"kind\":\"Config\",\"current-context\":\"page\","
		"\"clusters\":[{\"name\":\"page\",\"cluster\":{\"server\":\"https://h:6443/x\","
		"\"tls-server-name\":\"name\",\"certificate-authority-data\":\"c29tZSBDQQ==\"}}],"
		"\"users\":[{\"name\":\"page\",\"user\":{\"token\":\"secret\"}}],"
		"\"contexts\":[{\"name\":\"page\",\"context\":{\"cluster\":\"page\",\"user\":"
		"\"page\"}}]}";
	CLEANUP(arena_release) struct arena a;
	struct explain_server to = { .url = STR("https://h:6443/x"),
				     .tls_server_name = STR("name"),
				     .ca = STR("some CA"),
				     .token = STR("secret") };

	arena_init(&a, MIB);
	assert_string_equal(explain_query_kubeconfig(&to, &a).p, wanted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pod_or_a_claim_is_named),
		cmocka_unit_test(anything_else_is_an_error),
		cmocka_unit_test(the_command_names_subject_and_access),
		cmocka_unit_test(a_printed_query_is_read_as_the_same),
		cmocka_unit_test(the_kubeconfig_has_the_server_and_the_token),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
