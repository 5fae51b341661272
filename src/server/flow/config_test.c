#include "server/flow/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/json/json.h"
#include "server/flow/defaults.h"
#include "server/flow/seats.h"

struct world {
	struct arena arena;
	const struct json *schemas[32], *levels[32];
	size_t nschemas, nlevels;
	struct flow_config *config;
};

static void add_defaults(struct world *w)
{
	size_t n;
	const struct flow_default *v = flow_defaults(FLOW_SCHEMA, &n);

	for (size_t i = 0; i < n; i++)
		w->schemas[w->nschemas++] = flow_default_tree(&w->arena, FLOW_SCHEMA, &v[i]);
	v = flow_defaults(FLOW_LEVEL, &n);
	for (size_t i = 0; i < n; i++)
		w->levels[w->nlevels++] = flow_default_tree(&w->arena, FLOW_LEVEL, &v[i]);
}

static void build(struct world *w)
{
	flow_config_unref(w->config);
	w->config = flow_config_new(w->schemas, w->nschemas, w->levels, w->nlevels, 600);
}

static int setup(void **state)
{
	static struct world w;

	w = (struct world){ 0 };
	arena_init(&w.arena, MIB);
	*state = &w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	flow_config_unref(w->config);
	arena_release(&w->arena);
	return 0;
}

static const struct json *parse(struct world *w, const char *text)
{
	struct json *tree = NULL;

	assert_int_equal(json_parse(&w->arena, str_from(text), NULL, &tree, NULL), 0);
	return tree;
}

#define ALL STR("system:authenticated")

static const char *sorted(struct world *w, const char *user, const char *group, const char *verb,
			  const char *resource, const char *ns)
{
	const struct str groups[] = { str_from(group), ALL };
	const struct user u = { .name = str_from(user), .groups = groups, .ngroups = 2 };
	struct flow_query q = { .user = &u, .verb = str_from(verb), .ns = str_from(ns) };
	struct str name;

	if (resource[0] == '/') {
		q.path = str_from(resource);
	} else {
		q.resource = str_from(resource);
		(void)str_split(&q.resource, '.', &name);
		q.group = q.resource;
		q.resource = name;
		q.subresource = q.resource;
		(void)str_split(&q.subresource, '/', &name);
		q.resource = name;
	}
	return flow_config_match(w->config, &q)->name.p;
}

static void test_the_defaults_sort_as_upstream_does(void **state)
{
	struct world *w = *state;

	add_defaults(w);
	build(w);
	assert_string_equal(sorted(w, "root", "system:masters", "list", "pods", ""), "exempt");
	assert_string_equal(sorted(w, "me", "x", "get", "/healthz", ""), "probes");
	assert_string_equal(sorted(w, "me", "x", "get", "/healthz/ping", ""), "probes");
	assert_string_equal(sorted(w, "me", "x", "get", "/healthzy", ""), "global-default");
	assert_string_equal(sorted(w, "system:kube-scheduler", "x", "update",
				   "leases.coordination.k8s.io", "kube-system"),
			    "system-leader-election");
	assert_string_equal(sorted(w, "system:kube-scheduler", "x", "list", "pods", ""),
			    "kube-scheduler");
	assert_string_equal(sorted(w, "system:node:a", "system:nodes", "patch", "nodes/status", ""),
			    "system-node-high");
	assert_string_equal(sorted(w, "system:node:a", "system:nodes", "patch", "pods/status", "b"),
			    "system-nodes");
	assert_string_equal(sorted(w, "system:serviceaccount:kube-system:gc",
				   "system:serviceaccounts", "list", "pods", "b"),
			    "kube-system-service-accounts");
	assert_string_equal(sorted(w, "system:serviceaccount:kube-system2:gc",
				   "system:serviceaccounts", "list", "pods", "b"),
			    "service-accounts");
	assert_string_equal(sorted(w, "me", "x", "list", "pods", "b"), "global-default");
}

static void test_what_is_mandatory_is_always_there(void **state)
{
	struct world *w = *state;

	build(w);
	assert_int_equal(w->config->nschemas, 2);
	assert_int_equal(w->config->nlevels, 2);
	assert_string_equal(sorted(w, "root", "system:masters", "list", "pods", ""), "exempt");
	assert_string_equal(sorted(w, "me", "x", "list", "pods", "b"), "catch-all");
}

static void test_a_schema_without_its_level_is_left_out(void **state)
{
	struct world *w = *state;

	w->schemas[w->nschemas++] = parse(
		w, "{\"metadata\":{\"name\":\"lost\"},\"spec\":{\"matchingPrecedence\":5,"
		   "\"priorityLevelConfiguration\":{\"name\":\"nowhere\"},\"rules\":[{\"subjects\":"
		   "[{\"kind\":\"User\",\"user\":{\"name\":\"*\"}}],\"nonResourceRules\":[{"
		   "\"verbs\":[\"*\"],\"nonResourceURLs\":[\"*\"]}]}]}}");
	build(w);
	assert_string_equal(sorted(w, "me", "x", "get", "/version", ""), "catch-all");
}

static void test_what_is_mandatory_cannot_be_led_astray(void **state)
{
	static const char text[] =
		"{\"metadata\":{\"name\":\"%s\",\"uid\":\"u\"},\"spec\":{\"matchingPrecedence\":5,"
		"\"priorityLevelConfiguration\":{\"name\":\"nowhere\"},\"rules\":[]}}";
	struct world *w = *state;

	w->schemas[w->nschemas++] = parse(w, arena_printf(&w->arena, text, "exempt"));
	w->schemas[w->nschemas++] = parse(w, arena_printf(&w->arena, text, "catch-all"));
	build(w);
	assert_int_equal(w->config->nschemas, 2);
	assert_string_equal(w->config->schemas[1].uid.p, "u");
	assert_string_equal(sorted(w, "me", "x", "list", "pods", "b"), "catch-all");
}

static void test_seats_are_shared_by_shares(void **state)
{
	struct world *w = *state;

	add_defaults(w);
	build(w);
	for (size_t i = 0; i < w->config->nlevels; i++) {
		const struct flow_level *l = &w->config->levels[i];

		if (str_eqz(l->name, "workload-low"))
			assert_int_equal(l->nominal, 245); /* 100 of 245 shares of 600 */
		if (str_eqz(l->name, "catch-all"))
			assert_int_equal(l->nominal, 13);
		if (str_eqz(l->name, "exempt"))
			assert_true(l->exempt);
	}
}

static void test_a_level_always_gets_its_own_seats(void **state)
{
	struct flow_hall hall = { 0 };
	struct flow_seats a = { .hall = &hall }, b = { .hall = &hall };

	(void)state;
	atomic_store(&hall.total, 5);
	atomic_store(&a.nominal, 3);
	atomic_store(&a.borrowed, 5);
	atomic_store(&b.nominal, 2);
	for (size_t i = 0; i < 5; i++)
		assert_true(flow_seats_take(&a)); /* two of them borrowed */
	assert_false(flow_seats_take(&a));
	assert_true(flow_seats_take(&b));
	assert_true(flow_seats_take(&b));
	assert_false(flow_seats_take(&b));
	flow_seats_leave(&a);
	assert_false(flow_seats_take(&a)); /* too few free seats to borrow */
	assert_int_equal(atomic_load(&hall.taken), 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_the_defaults_sort_as_upstream_does, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_what_is_mandatory_is_always_there, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_schema_without_its_level_is_left_out, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_what_is_mandatory_cannot_be_led_astray, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_seats_are_shared_by_shares, setup, teardown),
		cmocka_unit_test(test_a_level_always_gets_its_own_seats),
	};

	return cmocka_run_group_tests_name("server/flow_config", tests, NULL, NULL);
}
