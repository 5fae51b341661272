#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/core/mem.h"
#include "base/core/random.h"
#include "server/authz/policy_table.h"
#include "server/authz/rbac.h"

static struct json *parse(struct arena *a, const char *text)
{
	struct json *v;
	struct error err;

	if (json_parse(a, str_from(text), NULL, &v, &err) < 0)
		fail_msg("%s: %s", text, err.msg);
	return v;
}

/* --- one rule ----------------------------------------------------------------------- */

/* "get core pods x" is verb, group, resource and name; "get /path" a path. */
static struct authz_query query_of(const struct user *u, const char *text)
{
	struct str rest = str_from(text), w[4] = { 0 };
	struct authz_query q = { .user = u };
	ptrdiff_t slash;

	for (size_t i = 0; i < 4 && str_split(&rest, ' ', &w[i]);)
		i++;
	q.verb = w[0];
	if (w[1].n && w[1].p[0] == '/') {
		q.is_path = true;
		q.path = w[1];
		return q;
	}
	q.group = str_eqz(w[1], "core") ? STR("") : w[1];
	q.resource = w[2];
	q.name = w[3];
	slash = str_chr(w[2], '/');
	if (slash >= 0) {
		q.resource = str_of(w[2].p, (size_t)slash);
		q.subresource = str_skip(w[2], (size_t)slash + 1);
	}
	return q;
}

/* Rules as lines of policy.rules; as JSON if lines cannot express them. */
#define PODS         "get,list core pods"
#define LOGS         "get core pods/log"
#define ALL          "* * *"
#define SCALE        "update,patch apps,core */scale"
#define NAMED        "get,update,create,list apps deployments a,b"
#define STAR_NAME    "get core secrets *"
#define GROUPS       "watch * jobs,cronjobs"
#define ODD_VERB     "impersonate,update-device-status resource.k8s.io drivers gpu.example.com"
#define URLS         "get url /healthz,/api/*,/version/"
#define ANY_URL      "get,head url *"
#define STARS        "get url /logs/**"
#define INNER        "get url /a/*/b"
#define DRIVER       "* resource.k8s.io *"
#define STATUSES     "update * */status"
#define EVERY_UPDATE "update * *"
#define CONTROLLER   "update,patch resource.k8s.io resourceslices/status"
#define DRIVER_SUB   "associated-node:update resource.k8s.io resourceclaims/driver gpu.example.com"
#define NO_GROUP     "{\"verbs\":[\"get\"],\"resources\":[\"pods\"]}"
#define NO_RESOURCE  "{\"verbs\":[\"get\"],\"apiGroups\":[\"\"]}"
#define NO_VERB      "{\"apiGroups\":[\"\"],\"resources\":[\"pods\"]}"
#define EMPTY_NAME                                                                \
	"{\"verbs\":[\"list\"],\"apiGroups\":[\"\"],\"resources\":[\"secrets\"]," \
	"\"resourceNames\":[\"\"]}"

/* The rules of lines, separated by newlines. */
static struct json *rules_of(struct arena *a, const char *lines)
{
	struct buf text = BUF_INIT(65536);
	struct str rest = str_from(lines), line;
	struct json *objects, *list;
	struct error err;

	if (lines[0] == '{') {
		list = json_make_array(a);
		json_append(list, parse(a, lines));
		return list;
	}
	(void)buf_addz(&text, "clusterrole x");
	while (str_split(&rest, '\n', &line))
		if (line.n)
			(void)buf_printf(&text, "\n\t%.*s", STR_ARG(line));
	if (policy_table_parse(a, arena_str(a, buf_str(&text)), &objects, &err) < 0)
		fail_msg("%s", err.msg);
	buf_release(&text);
	return json_getz(json_first(objects), "rules");
}

static const struct {
	const char *rule, *query;
	bool allowed;
} cases[] = {
	{ PODS, "get core pods", true },
	{ PODS, "list core pods", true },
	{ PODS, "get core pods x", true },
	{ PODS, "watch core pods", false },
	{ PODS, "get apps pods", false },
	{ PODS, "get core pod", false },
	{ PODS, "get core podss", false },
	{ PODS, "get core pods/log x", false },
	{ PODS, "get core pods/status", false },
	{ PODS, "Get core pods", false },
	{ PODS, "get /pods", false },
	{ PODS, "* core pods", false },
	{ LOGS, "get core pods/log", true },
	{ LOGS, "get core pods/log x", true },
	{ LOGS, "get core pods", false },
	{ LOGS, "get core pods/logs", false },
	{ LOGS, "get core nodes/log", false },
	{ LOGS, "get core pods/exec", false },
	{ ALL, "get core pods x", true },
	{ ALL, "approve certificates.k8s.io signers x", true },
	{ ALL, "update apps deployments/scale x", true },
	{ ALL, "* * *", true },
	{ ALL, "get /healthz", false },
	{ SCALE, "update apps deployments/scale", true },
	{ SCALE, "patch apps statefulsets/scale x", true },
	{ SCALE, "update core replicationcontrollers/scale", true },
	{ SCALE, "get apps deployments/scale", false },
	{ SCALE, "update apps deployments", false },
	{ SCALE, "update apps scale", false },
	{ SCALE, "update apps deployments/autoscale", false },
	{ SCALE, "update batch jobs/scale", false },
	{ SCALE, "update apps deployments/rescale", false },
	{ NAMED, "get apps deployments a", true },
	{ NAMED, "update apps deployments b", true },
	{ NAMED, "get apps deployments c", false },
	{ NAMED, "get apps deployments", false },
	{ NAMED, "list apps deployments", false },
	{ NAMED, "create apps deployments", false },
	{ NAMED, "list apps deployments a", true },
	{ NAMED, "delete apps deployments a", false },
	{ NAMED, "get apps deployments/status a", false },
	{ STAR_NAME, "get core secrets x", false },
	{ STAR_NAME, "get core secrets *", true },
	{ STAR_NAME, "get core secrets", false },
	{ EMPTY_NAME, "list core secrets", true },
	{ EMPTY_NAME, "list core secrets x", false },
	{ GROUPS, "watch batch jobs", true },
	{ GROUPS, "watch core jobs", true },
	{ GROUPS, "watch example.com cronjobs", true },
	{ GROUPS, "watch batch cronjobs/status", false },
	{ GROUPS, "list batch jobs", false },
	{ NO_GROUP, "get core pods", false },
	{ NO_RESOURCE, "get core pods", false },
	{ NO_RESOURCE, "get core ", false },
	{ NO_VERB, "get core pods", false },
	{ NO_VERB, " core pods", false },
	{ ODD_VERB, "update-device-status resource.k8s.io drivers gpu.example.com", true },
	{ ODD_VERB, "update-device-status resource.k8s.io drivers nic.example.com", false },
	{ ODD_VERB, "update-device-status resource.k8s.io drivers", false },
	{ ODD_VERB, "impersonate resource.k8s.io drivers gpu.example.com", true },
	{ ODD_VERB, "bind resource.k8s.io drivers gpu.example.com", false },
	{ ODD_VERB, "approve resource.k8s.io drivers gpu.example.com", false },
	{ URLS, "get /healthz", true },
	{ URLS, "get /healthz/", false },
	{ URLS, "get /healthz/etcd", false },
	{ URLS, "get /api/", true },
	{ URLS, "get /api/v1", true },
	{ URLS, "get /api", false },
	{ URLS, "get /apis/x", false },
	{ URLS, "get /version", false },
	{ URLS, "get /version/", true },
	{ URLS, "post /healthz", false },
	{ URLS, "get core pods", false },
	{ ANY_URL, "get /", true },
	{ ANY_URL, "head /metrics", true },
	{ ANY_URL, "put /metrics", false },
	{ ANY_URL, "get core pods", false },
	{ STARS, "get /logs/x", true },
	{ STARS, "get /log/x", false },
	{ INNER, "get /a/x/b", false },
	{ INNER, "get /a/*/b", true },
	{ DRIVER, "update resource.k8s.io resourceslices x", true },
	{ DRIVER, "get resource.k8s.io resourceslices/status x", true },
	{ DRIVER, "update resource.k8s.io resourceslices/status x", false },
	{ DRIVER, "patch resource.k8s.io resourceslices/status x", false },
	{ DRIVER, "update resource.k8s.io resourceclaims/status x", true },
	{ STATUSES, "update resource.k8s.io resourceclaims/status x", true },
	{ STATUSES, "update resource.k8s.io resourceslices/status x", false },
	{ EVERY_UPDATE, "update resource.k8s.io resourceslices x", true },
	{ EVERY_UPDATE, "update resource.k8s.io resourceslices/status x", false },
	{ ALL, "update resource.k8s.io resourceslices/status x", true },
	{ CONTROLLER, "update resource.k8s.io resourceslices/status x", true },
	{ CONTROLLER, "patch resource.k8s.io resourceslices/status", true },
	{ CONTROLLER, "get resource.k8s.io resourceslices/status x", false },
	{ CONTROLLER, "update resource.k8s.io resourceslices x", false },
	{ DRIVER_SUB,
	  "associated-node:update resource.k8s.io resourceclaims/driver gpu.example.com", true },
	{ DRIVER_SUB, "associated-node:patch resource.k8s.io resourceclaims/driver gpu.example.com",
	  false },
	{ DRIVER_SUB, "associated-node:update resource.k8s.io resourceclaims/driver other", false },
};

static void a_rule_allows_what_upstream_says(void **state)
{
	struct arena a;

	(void)state;
	arena_init(&a, SIZE_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct user u = { .name = STR("u") };
		struct authz_query q = query_of(&u, cases[i].query);
		struct rbac_rules rules = rbac_rules_parse(&a, rules_of(&a, cases[i].rule));

		if (rbac_rules_allow(rules, &q) != cases[i].allowed)
			fail_msg("%s of %s: expected %d", cases[i].query, cases[i].rule,
				 cases[i].allowed);
	}
	arena_release(&a);
}

static void rules_survive_the_way_to_a_tree_and_back(void **state)
{
	struct json *list, *back;
	struct arena a;

	(void)state;
	arena_init(&a, SIZE_MAX);
	list = rules_of(&a, PODS "\n" NAMED "\n" URLS);
	back = rbac_rules_tree(&a, rbac_rules_parse(&a, list));
	assert_true(json_equal(list, back));
	arena_release(&a);
}

/* --- covering ----------------------------------------------------------------------- */

static const struct {
	const char *held, *wanted, *missing; /* missing: printed rules, joined by newlines */
} covers[] = {
	{ PODS, PODS, "" },
	{ ALL, PODS "\n" NAMED "\n" SCALE, "" },
	{ ALL, URLS,
	  "{NonResourceURLs:[\"/healthz\"], Verbs:[\"get\"]}\n"
	  "{NonResourceURLs:[\"/api/*\"], Verbs:[\"get\"]}\n"
	  "{NonResourceURLs:[\"/version/\"], Verbs:[\"get\"]}" },
	{ ANY_URL, URLS, "" },
	{ "", PODS, "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"get\" \"list\"]}" },
	{ PODS, "get,watch core pods",
	  "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"watch\"]}" },
	{ PODS, LOGS, "{APIGroups:[\"\"], Resources:[\"pods/log\"], Verbs:[\"get\"]}" },
	{ NAMED, "get apps deployments a,c",
	  "{APIGroups:[\"apps\"], Resources:[\"deployments\"], ResourceNames:[\"c\"], "
	  "Verbs:[\"get\"]}" },
	{ NAMED, "get apps deployments",
	  "{APIGroups:[\"apps\"], Resources:[\"deployments\"], Verbs:[\"get\"]}" },
	{ SCALE, "update apps deployments/scale", "" },
	{ PODS, "* core pods", "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"*\"]}" },
	/* Covered by two rules together. */
	{ PODS "\n" LOGS, "get core pods,pods/log", "" },
	{ STARS, "get url /logs/*,/logs/a", "" },
	/* All of a group does not include the status of slices, so it cannot be granted. */
	{ "* resource.k8s.io *\n* * */status", "get,update resource.k8s.io resourceslices/status",
	  "{APIGroups:[\"resource.k8s.io\"], Resources:[\"resourceslices/status\"], "
	  "Verbs:[\"update\"]}" },
	{ ALL, "* resource.k8s.io resourceslices/status", "" },
	{ "update,get resource.k8s.io resourceslices/status",
	  "update resource.k8s.io resourceslices/status", "" },
};

static void missing_rules_are_told_piece_by_piece(void **state)
{
	struct arena a;

	(void)state;
	arena_init(&a, SIZE_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(covers); i++) {
		struct buf text = BUF_INIT(65536);
		struct rbac_rules missing;

		missing = rbac_missing(&a, rbac_rules_parse(&a, rules_of(&a, covers[i].held)),
				       rbac_rules_parse(&a, rules_of(&a, covers[i].wanted)));
		for (size_t k = 0; k < missing.n; k++) {
			(void)buf_addz(&text, k ? "\n" : "");
			rbac_rule_print(&text, &missing.v[k]);
		}
		assert_string_equal(text.p ? text.p : "", covers[i].missing);
		buf_release(&text);
	}
	arena_release(&a);
}

static void a_rule_of_a_billion_pieces_is_refused_at_once(void **state)
{
	struct rbac_rule rule = { 0 }, held = { 0 };
	struct rbac_rules missing;
	struct str *many;
	struct arena a;

	(void)state;
	arena_init(&a, SIZE_MAX);
	many = ARENA_ARRAY(&a, struct str, 1000);
	for (size_t i = 0; i < 1000; i++)
		many[i] = str_from(arena_printf(&a, "x%zu", i));
	rule.verbs = rule.groups = rule.resources = (struct rbac_texts){ many, 1000 };
	held.verbs = held.groups = held.resources = (struct rbac_texts){ many, 999 };
	missing = rbac_missing(&a, (struct rbac_rules){ &held, 1 },
			       (struct rbac_rules){ &rule, 1 });
	assert_int_equal(missing.n, 1);
	held.verbs = held.groups = held.resources = (struct rbac_texts){ many, 1000 };
	missing = rbac_missing(&a, (struct rbac_rules){ &held, 1 },
			       (struct rbac_rules){ &rule, 1 });
	assert_int_equal(missing.n, 0);
	arena_release(&a);
}

/* Each is found only at the end of a list of the same length, which would take forever. */
static void rules_that_take_too_long_to_compare_are_not_covered(void **state)
{
	struct rbac_rule held = { 0 }, wanted = { 0 };
	struct rbac_rules missing;
	size_t n = 200000;
	struct str *have, *want;
	struct arena a;

	(void)state;
	arena_init(&a, SIZE_MAX);
	have = ARENA_ARRAY(&a, struct str, n);
	want = ARENA_ARRAY(&a, struct str, n);
	for (size_t i = 0; i < n; i++) {
		have[i] = i + 1 < n ? STR("get") : STR("list");
		want[i] = STR("list");
	}
	held.verbs = (struct rbac_texts){ have, n };
	wanted.verbs = (struct rbac_texts){ want, n };
	held.groups = wanted.groups = held.resources = wanted.resources = (struct rbac_texts){ want,
											       1 };
	missing = rbac_missing(&a, (struct rbac_rules){ &held, 1 },
			       (struct rbac_rules){ &wanted, 1 });
	assert_int_equal(missing.n, 1);
	wanted.verbs.n = 50;
	missing = rbac_missing(&a, (struct rbac_rules){ &held, 1 },
			       (struct rbac_rules){ &wanted, 1 });
	assert_int_equal(missing.n, 0);
	arena_release(&a);
}

/* --- bindings ----------------------------------------------------------------------- */

static void set_role(struct rbac *r, const char *ns, const char *name, const char *lines)
{
	struct json *role = NULL, *rules;
	struct arena a;

	arena_init(&a, SIZE_MAX);
	if (lines) {
		role = json_make_object(&a);
		assert_int_equal(json_copy(&a, rules_of(&a, lines), &rules, NULL), 0);
		json_setz(role, "rules", rules);
	}
	rbac_set_role(r, str_from(ns), str_from(name), role);
	arena_release(&a);
}

static void set_binding(struct rbac *r, const char *ns, const char *name, const char *kind,
			const char *role, const char *subjects)
{
	struct arena a;

	arena_init(&a, SIZE_MAX);
	rbac_set_binding(r, str_from(ns), str_from(name),
			 subjects ? parse(&a, arena_printf(&a,
							   "{\"roleRef\":{\"kind\":\"%s\",\"name\":"
							   "\"%s\"},\"subjects\":%s}",
							   kind, role, subjects))
				  : NULL);
	arena_release(&a);
}

#define USER(name)  "{\"kind\":\"User\",\"name\":\"" name "\"}"
#define GROUP(name) "{\"kind\":\"Group\",\"name\":\"" name "\"}"
#define ACCOUNT(ns, name) \
	"{\"kind\":\"ServiceAccount\",\"name\":\"" name "\",\"namespace\":\"" ns "\"}"

static const char *why(struct rbac *r, const struct user *u, const char *ns, const char *query,
		       char *out, size_t size)
{
	struct authz_query q = query_of(u, query);
	struct buf text = BUF_INIT(4096);
	struct rbac_grant grant;

	q.ns = str_from(ns);
	if (rbac_allows(r, &q, &grant))
		rbac_grant_print(&text, &grant);
	(void)snprintf(out, size, "%s", text.p ? text.p : "");
	buf_release(&text);
	return out;
}

static void bindings_reach_users_groups_and_service_accounts(void **state)
{
	const struct str groups[] = { STR("dev"), STR("system:authenticated") };
	struct user bob = { .name = STR("bob"), .groups = groups, .ngroups = 2 };
	struct user sa = { .name = STR("system:serviceaccount:a:robot") };
	struct rbac *r = rbac_new();
	char text[512];

	(void)state;
	set_role(r, "", "reader", PODS);
	set_role(r, "a", "scaler", SCALE);
	assert_string_equal(why(r, &bob, "a", "get core pods", text, sizeof(text)), "");

	set_binding(r, "", "all", "ClusterRole", "reader", "[" USER("x") "," GROUP("dev") "]");
	assert_string_equal(
		why(r, &bob, "a", "get core pods", text, sizeof(text)),
		"ClusterRoleBinding \"all\" of ClusterRole \"reader\" to Group \"dev\"");
	assert_string_equal(
		why(r, &bob, "", "get core pods", text, sizeof(text)),
		"ClusterRoleBinding \"all\" of ClusterRole \"reader\" to Group \"dev\"");
	assert_string_equal(why(r, &sa, "", "get core pods", text, sizeof(text)), "");

	/* A service account without a namespace is in the binding's namespace. */
	set_binding(r, "a", "scale", "Role", "scaler",
		    "[{\"kind\":\"ServiceAccount\",\"name\":\"robot\"}]");
	assert_string_equal(why(r, &sa, "a", "update apps deployments/scale", text, sizeof(text)),
			    "RoleBinding \"scale/a\" of Role \"scaler\" to ServiceAccount "
			    "\"robot/a\"");
	assert_string_equal(why(r, &sa, "b", "update apps deployments/scale", text, sizeof(text)),
			    "");
	assert_string_equal(why(r, &sa, "", "update apps deployments/scale", text, sizeof(text)),
			    "");

	/* A cluster role that is bound in a namespace counts only there. */
	set_binding(r, "b", "read", "ClusterRole", "reader", "[" ACCOUNT("a", "robot") "]");
	assert_string_equal(why(r, &sa, "b", "get core pods", text, sizeof(text)),
			    "RoleBinding \"read/b\" of ClusterRole \"reader\" to ServiceAccount "
			    "\"robot/a\"");
	assert_string_equal(why(r, &sa, "a", "get core pods", text, sizeof(text)), "");

	set_role(r, "", "reader", NULL);
	assert_string_equal(why(r, &bob, "a", "get core pods", text, sizeof(text)), "");
	set_role(r, "", "reader", PODS);
	assert_string_not_equal(why(r, &bob, "a", "get core pods", text, sizeof(text)), "");
	set_binding(r, "", "all", NULL, NULL, NULL);
	assert_string_equal(why(r, &bob, "a", "get core pods", text, sizeof(text)), "");
	rbac_free(r);
}

static void a_binding_to_a_missing_role_is_reported_once(void **state)
{
	const struct str groups[] = { STR("dev") };
	struct user bob = { .name = STR("bob"), .groups = groups, .ngroups = 1 };
	struct rbac *r = rbac_new();
	struct buf text = BUF_INIT(4096);
	struct rbac_rules rules;
	struct arena a;

	(void)state;
	arena_init(&a, SIZE_MAX);
	set_role(r, "", "reader", PODS);
	set_binding(r, "", "b1", "ClusterRole", "nosuch", "[" USER("bob") "," GROUP("dev") "]");
	set_binding(r, "", "b2", "ClusterRole", "nosuch", "[" USER("bob") "]");
	set_binding(r, "n", "b3", "Role", "gone", "[" USER("bob") "]");
	set_binding(r, "n", "b4", "ClusterRole", "reader", "[" USER("bob") "," GROUP("dev") "]");
	rules = rbac_rules_of(r, &bob, STR("n"), &a, &text);
	assert_int_equal(rules.n, 1);
	assert_string_equal(text.p, "[clusterrole.rbac.authorization.k8s.io \"nosuch\" not found, "
				    "role.rbac.authorization.k8s.io \"gone\" not found]");
	buf_clear(&text);
	rules = rbac_rules_of(r, &bob, STR(""), &a, &text);
	assert_int_equal(rules.n, 0);
	assert_string_equal(text.p, "clusterrole.rbac.authorization.k8s.io \"nosuch\" not found");
	buf_release(&text);
	arena_release(&a);
	rbac_free(r);
}

static void a_subject_that_is_named_often_has_one_grant(void **state)
{
	struct user bob = { .name = STR("bob") };
	struct rbac *r = rbac_new();
	char text[512];

	(void)state;
	set_role(r, "", "reader", PODS);
	set_binding(r, "", "b1", "ClusterRole", "reader",
		    "[" USER("bob") "," USER("eve") "," USER("bob") "," USER("bob") "]");
	set_binding(r, "", "b2", "ClusterRole", "reader", "[" USER("bob") "," USER("bob") "]");
	set_binding(r, "", "b1", "ClusterRole", "reader", "[" USER("eve") "," USER("eve") "]");
	assert_string_equal(why(r, &bob, "", "get core pods", text, sizeof(text)),
			    "ClusterRoleBinding \"b2\" of ClusterRole \"reader\" to User \"bob\"");
	set_binding(r, "", "b2", NULL, NULL, NULL);
	assert_string_equal(why(r, &bob, "", "get core pods", text, sizeof(text)), "");
	rbac_free(r);
}

static void a_reset_forgets_one_sort_and_keeps_the_rest(void **state)
{
	struct user bob = { .name = STR("bob") };
	struct rbac *r = rbac_new();
	char text[512];

	(void)state;
	set_role(r, "", "reader", PODS);
	set_binding(r, "", "b", "ClusterRole", "reader", "[" USER("bob") "]");
	set_binding(r, "n", "b", "ClusterRole", "reader", "[" USER("bob") "]");
	rbac_reset_roles(r, true);
	assert_string_equal(why(r, &bob, "", "get core pods", text, sizeof(text)), "");
	set_role(r, "", "reader", PODS);
	assert_string_not_equal(why(r, &bob, "", "get core pods", text, sizeof(text)), "");
	rbac_reset_bindings(r, true);
	assert_string_equal(why(r, &bob, "", "get core pods", text, sizeof(text)), "");
	assert_string_not_equal(why(r, &bob, "n", "get core pods", text, sizeof(text)), "");
	rbac_reset_bindings(r, false);
	assert_string_equal(why(r, &bob, "n", "get core pods", text, sizeof(text)), "");
	rbac_free(r);
}

/* --- the index against a plain walk over all bindings ------------------------------- */

enum { NAMES = 5, ROLES = 12, BINDINGS = 30, SUBJECTS = 3, STEPS = 4000 };

struct plain_role {
	bool there;
	int ns; /* -1: cluster-wide */
	char rules[128];
};

struct plain_binding {
	bool there;
	int ns, role;
	bool cluster_role;
	char kind[SUBJECTS];
	int name[SUBJECTS], sa_ns[SUBJECTS];
};

struct plain {
	struct prng prng;
	struct rbac *rbac;
	struct plain_role roles[ROLES];
	struct plain_binding bindings[BINDINGS];
};

static const char *const verbs[] = { "get", "list", "update", "approve", "*" };
static const char *const groups_of[] = { "core", "apps", "*" };
static const char *const resources[] = { "pods", "pods/log", "*/log", "nodes", "*" };

static int below(struct plain *p, int n)
{
	return (int)prng_below(&p->prng, (uint64_t)n);
}

static const char *ns_name(int ns)
{
	static const char *const names[] = { "", "n0", "n1", "n2" };

	return names[ns + 1];
}

static void change_role(struct plain *p, int i)
{
	struct plain_role *role = &p->roles[i];
	char name[16];

	role->ns = i % 2 ? -1 : i % 3;
	role->there = below(p, 4) > 0;
	(void)snprintf(role->rules, sizeof(role->rules), "%s,%s %s %s%s", verbs[below(p, 5)],
		       verbs[below(p, 4)], groups_of[below(p, 3)], resources[below(p, 5)],
		       below(p, 3) ? "" : " x");
	(void)snprintf(name, sizeof(name), "r%d", i);
	set_role(p->rbac, ns_name(role->ns), name, role->there ? role->rules : NULL);
}

static const char *kind_name(char kind)
{
	return kind == 'U' ? "User" : kind == 'G' ? "Group" : "ServiceAccount";
}

static void choose_subjects(struct plain *p, struct plain_binding *b, struct buf *out)
{
	(void)buf_addc(out, '[');
	for (int s = 0; s < SUBJECTS; s++) {
		b->kind[s] = "UGS"[below(p, 3)];
		b->name[s] = below(p, NAMES);
		b->sa_ns[s] = below(p, 4) - 1;
		(void)buf_printf(out, "%s{\"kind\":\"%s\",\"name\":\"s%d\",\"namespace\":\"%s\"}",
				 s ? "," : "", kind_name(b->kind[s]), b->name[s],
				 b->kind[s] == 'S' ? ns_name(b->sa_ns[s]) : "");
	}
	(void)buf_addc(out, ']');
}

static void change_binding(struct plain *p, int i)
{
	CLEANUP(buf_release) struct buf subjects = BUF_INIT(4096);
	struct plain_binding *b = &p->bindings[i];
	char name[16], role[16];

	(void)snprintf(name, sizeof(name), "b%d", i);
	if (b->there) /* the next one may be in another namespace */
		set_binding(p->rbac, ns_name(b->ns), name, NULL, NULL, NULL);
	b->ns = i % 2 ? -1 : below(p, 3);
	b->there = below(p, 4) > 0;
	b->role = below(p, ROLES);
	b->cluster_role = b->ns < 0 || p->roles[b->role].ns < 0;
	choose_subjects(p, b, &subjects);
	(void)snprintf(role, sizeof(role), "r%d", b->role);
	set_binding(p->rbac, ns_name(b->ns), name, b->cluster_role ? "ClusterRole" : "Role", role,
		    b->there ? subjects.p : NULL);
}

static bool applies(const struct plain_binding *b, const struct user *u)
{
	for (int s = 0; s < SUBJECTS; s++) {
		char name[96];
		int ns = b->sa_ns[s] < 0 ? b->ns : b->sa_ns[s];

		(void)snprintf(name, sizeof(name), "s%d", b->name[s]);
		if (b->kind[s] == 'U' && str_eqz(u->name, name))
			return true;
		if (b->kind[s] == 'G' && user_in_group(u, str_from(name)))
			return true;
		(void)snprintf(name, sizeof(name), "system:serviceaccount:%s:s%d", ns_name(ns),
			       b->name[s]);
		if (b->kind[s] == 'S' && ns >= 0 && str_eqz(u->name, name))
			return true;
	}
	return false;
}

/* Upstream's algorithm: every binding, every subject, every rule. */
static bool plain_allows(struct plain *p, const struct authz_query *q)
{
	bool allowed = false;
	struct arena a;

	arena_init(&a, SIZE_MAX);
	for (int i = 0; i < BINDINGS && !allowed; i++) {
		const struct plain_binding *b = &p->bindings[i];
		const struct plain_role *role = &p->roles[b->role];

		if (!b->there || (b->ns >= 0 && !str_eqz(q->ns, ns_name(b->ns))) ||
		    !applies(b, q->user))
			continue;
		/* A Role is in the binding's namespace, a ClusterRole in the cluster. */
		if (!role->there || role->ns != (b->cluster_role ? -1 : b->ns))
			continue;
		allowed = rbac_rules_allow(rbac_rules_parse(&a, rules_of(&a, role->rules)), q);
	}
	arena_release(&a);
	return allowed;
}

static void the_index_decides_as_a_walk_over_all_bindings(void **state)
{
	static const char *const asked[] = { "get core pods x",     "list core pods",
					     "get core pods/log x", "update apps nodes x",
					     "approve core nodes",  "get apps pods" };
	struct plain p = { 0 };
	size_t allowed = 0, refused = 0;

	(void)state;
	prng_init(&p.prng, 20260115);
	p.rbac = rbac_new();
	for (int step = 0; step < STEPS; step++) {
		const struct str groups[] = {
			str_from((const char *const[]){ "s0", "s1", "s2" }[below(&p, 3)]),
			str_from((const char *const[]){ "s3", "s4", "" }[below(&p, 3)])
		};
		struct user u = { .groups = groups, .ngroups = 2 };
		struct authz_query q = query_of(&u, asked[below(&p, (int)ARRAY_SIZE(asked))]);
		char name[64];

		if (below(&p, 3) == 0)
			change_role(&p, below(&p, ROLES));
		else
			change_binding(&p, below(&p, BINDINGS));
		if (below(&p, 2))
			(void)snprintf(name, sizeof(name), "s%d", below(&p, NAMES));
		else
			(void)snprintf(name, sizeof(name), "system:serviceaccount:n%d:s%d",
				       below(&p, 3), below(&p, NAMES));
		u.name = str_from(name);
		q.ns = str_from(ns_name(below(&p, 4) - 1));
		if (rbac_allows(p.rbac, &q, NULL) != plain_allows(&p, &q))
			fail_msg("step %d: %.*s in %.*s", step, STR_ARG(u.name), STR_ARG(q.ns));
		if (plain_allows(&p, &q))
			allowed++;
		else
			refused++;
	}
	/* Both answers must occur often enough to mean something. */
	assert_true(allowed > STEPS / 20 && refused > STEPS / 20);
	rbac_free(p.rbac);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rule_allows_what_upstream_says),
		cmocka_unit_test(rules_survive_the_way_to_a_tree_and_back),
		cmocka_unit_test(missing_rules_are_told_piece_by_piece),
		cmocka_unit_test(a_rule_of_a_billion_pieces_is_refused_at_once),
		cmocka_unit_test(rules_that_take_too_long_to_compare_are_not_covered),
		cmocka_unit_test(bindings_reach_users_groups_and_service_accounts),
		cmocka_unit_test(a_binding_to_a_missing_role_is_reported_once),
		cmocka_unit_test(a_subject_that_is_named_often_has_one_grant),
		cmocka_unit_test(a_reset_forgets_one_sort_and_keeps_the_rest),
		cmocka_unit_test(the_index_decides_as_a_walk_over_all_bindings),
	};

	return cmocka_run_group_tests_name("server/rbac", tests, NULL, NULL);
}
