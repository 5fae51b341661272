#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/map.h"
#include "server/authz/policy_table.h"
#include "server/authz/rbac.h"

static struct json *table(struct arena *a)
{
	struct json *objects;
	struct error err;

	if (policy_table_parse(a, str_from(policy_text), &objects, &err) < 0)
		fail_msg("%s", err.msg);
	return objects;
}

static struct str meta(const struct json *object, const char *name)
{
	return json_text_at(json_getz(object, "metadata"), name);
}

static void the_table_reads_and_names_nothing_twice(void **state)
{
	struct map seen;
	struct arena a;
	size_t n = 0;

	(void)state;
	arena_init(&a, SIZE_MAX);
	map_init(&seen);
	JSON_FOREACH (it, table(&a)) {
		struct str ns = meta(it, "namespace"), name = meta(it, "name");
		const char *key = arena_printf(&a, "%.*s %.*s/%.*s",
					       STR_ARG(json_text_at(it, "kind")), STR_ARG(ns),
					       STR_ARG(name));

		if (map_put(&seen, str_from(key), it))
			fail_msg("%s is there twice", key);
		n++;
	}
	assert_in_range(n, 140, 200);
	map_release(&seen);
	arena_release(&a);
}

static void every_binding_names_a_role_of_the_table(void **state)
{
	struct rbac *r = rbac_new();
	struct arena a;

	(void)state;
	arena_init(&a, SIZE_MAX);
	JSON_FOREACH (it, table(&a))
		if (!json_getz(it, "roleRef"))
			rbac_set_role(r, meta(it, "namespace"), meta(it, "name"), it);
	JSON_FOREACH (it, table(&a)) {
		const struct json *ref = json_getz(it, "roleRef");
		bool local = str_eqz(json_text_at(ref, "kind"), "Role");

		if (ref && !rbac_role(r, local ? meta(it, "namespace") : STR(""),
				      json_text_at(ref, "name")))
			fail_msg("%.*s names no role", STR_ARG(meta(it, "name")));
	}
	arena_release(&a);
	rbac_free(r);
}

static void lines_become_the_fields_they_stand_for(void **state)
{
	static const char text[] = "clusterrole a x/y=z\n"
				   "\taggregate k=v\n"
				   "\tget,list core,apps pods,pods/log n1,n2\n"
				   "\tget url /a,/b/*\n"
				   "rolebinding ns/b role:a user:u group:g account:s/t\n";
	static const char *const wanted[] = {
		"{\"apiVersion\":\"rbac.authorization.k8s.io/v1\",\"kind\":\"ClusterRole\","
		"\"metadata\":{\"name\":\"a\",\"labels\":{\"kubernetes.io/bootstrapping\":"
		"\"rbac-defaults\",\"x/y\":\"z\"},\"annotations\":{"
		"\"rbac.authorization.kubernetes.io/"
		"autoupdate\":\"true\"}},\"rules\":[{\"apiGroups\":"
		"[\"\",\"apps\"],\"resourceNames\":[\"n1\",\"n2\"],\"resources\":[\"pods\","
		"\"pods/log\"],\"verbs\":[\"get\",\"list\"]},{\"nonResourceURLs\":[\"/a\",\"/b/"
		"*\"],"
		"\"verbs\":[\"get\"]}],\"aggregationRule\":{\"clusterRoleSelectors\":[{"
		"\"matchLabels\":"
		"{\"k\":\"v\"}}]}}",
		"{\"apiVersion\":\"rbac.authorization.k8s.io/v1\",\"kind\":\"RoleBinding\","
		"\"metadata\":{\"namespace\":\"ns\",\"name\":\"b\",\"labels\":{"
		"\"kubernetes.io/bootstrapping\":\"rbac-defaults\"},\"annotations\":{"
		"\"rbac.authorization.kubernetes.io/"
		"autoupdate\":\"true\"}},\"roleRef\":{\"apiGroup\":"
		"\"rbac.authorization.k8s.io\",\"kind\":\"Role\",\"name\":\"a\"},\"subjects\":[{"
		"\"kind\":\"User\",\"apiGroup\":\"rbac.authorization.k8s.io\",\"name\":\"u\"},{"
		"\"kind\":"
		"\"Group\",\"apiGroup\":\"rbac.authorization.k8s.io\",\"name\":\"g\"},{\"kind\":"
		"\"ServiceAccount\",\"namespace\":\"s\",\"name\":\"t\"}]}",
	};
	struct json *objects, *want;
	struct error err;
	struct arena a;

	(void)state;
	arena_init(&a, SIZE_MAX);
	assert_int_equal(policy_table_parse(&a, str_from(text), &objects, &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		assert_int_equal(json_parse(&a, str_from(wanted[i]), NULL, &want, &err), 0);
		assert_true(json_equal(json_at(objects, i), want));
	}
	arena_release(&a);
}

static void a_line_that_says_nothing_is_told(void **state)
{
	static const char *const bad[] = {
		"clusterrole",
		"role x",
		"\tget core pods",
		"clusterrole a\n\tget core",
		"clusterrolebinding a b",
		"clusterrolebinding a clusterrole:b c",
		"clusterrolebinding a clusterrole:b account:c",
		"nonsense a b",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct json *objects;
		struct error err = { 0 };
		struct arena a;

		arena_init(&a, SIZE_MAX);
		if (policy_table_parse(&a, str_from(bad[i]), &objects, &err) != -ERR_INVALID)
			fail_msg("\"%s\" was taken", bad[i]);
		arena_release(&a);
	}
}

/* Rights that everybody must never get, whatever is added to the table. */
static void nobody_gets_much_without_a_binding(void **state)
{
	const struct str groups[] = { USER_UNAUTHENTICATED }, known[] = { USER_AUTHENTICATED };
	struct user anonymous = { .name = USER_ANONYMOUS, .groups = groups, .ngroups = 1 };
	struct user somebody = { .name = STR("x"), .groups = known, .ngroups = 1 };
	struct rbac *r = rbac_new();
	struct rbac_rules rules;
	struct arena a;

	(void)state;
	arena_init(&a, SIZE_MAX);
	JSON_FOREACH (it, table(&a)) {
		if (json_getz(it, "roleRef"))
			rbac_set_binding(r, meta(it, "namespace"), meta(it, "name"), it);
		else
			rbac_set_role(r, meta(it, "namespace"), meta(it, "name"), it);
	}
	rules = rbac_rules_of(r, &anonymous, STR("kube-system"), &a, NULL);
	for (size_t i = 0; i < rules.n; i++)
		assert_int_equal(rules.v[i].resources.n, 0);
	rules = rbac_rules_of(r, &somebody, STR("kube-system"), &a, NULL);
	for (size_t i = 0; i < rules.n; i++)
		for (size_t k = 0; k < rules.v[i].resources.n; k++)
			assert_true(str_starts(rules.v[i].resources.v[k], STR("selfsubject")));
	arena_release(&a);
	rbac_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_reads_and_names_nothing_twice),
		cmocka_unit_test(every_binding_names_a_role_of_the_table),
		cmocka_unit_test(lines_become_the_fields_they_stand_for),
		cmocka_unit_test(a_line_that_says_nothing_is_told),
		cmocka_unit_test(nobody_gets_much_without_a_binding),
	};

	return cmocka_run_group_tests_name("server/policy", tests, NULL, NULL);
}
