/*
 * Policies: one in the manner of upstream's for Google Compute Engine, rules one by one, and
 * faults.
 */
#include "server/audit/policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "server/core/user.h"

#define HEAD "apiVersion: audit.k8s.io/v1\nkind: Policy\n"

/* A policy in the manner of the one that upstream's scripts give a cluster. */
static const char gce[] = HEAD
	"rules:\n"
	"- level: None\n"
	"  users: ['system:kube-proxy']\n"
	"  verbs: ['watch']\n"
	"  resources: [{group: '', resources: ['endpoints', 'services', 'services/status']}]\n"
	"- level: None\n"
	"  users: ['system:unsecured']\n"
	"  namespaces: ['kube-system']\n"
	"  verbs: ['get']\n"
	"  resources: [{group: '', resources: ['configmaps']}]\n"
	"- level: None\n"
	"  userGroups: ['system:nodes']\n"
	"  verbs: ['get']\n"
	"  resources: [{group: '', resources: ['nodes', 'nodes/status']}]\n"
	"- level: None\n"
	"  users: ['system:kube-controller-manager', 'system:kube-scheduler']\n"
	"  verbs: ['get', 'update']\n"
	"  namespaces: ['kube-system']\n"
	"  resources: [{group: '', resources: ['endpoints']}]\n"
	"- level: None\n"
	"  users: ['system:apiserver']\n"
	"  verbs: ['get']\n"
	"  resources: [{group: '', resources: ['namespaces', 'namespaces/status']}]\n"
	"- level: None\n"
	"  nonResourceURLs: ['/healthz*', '/version', '/swagger*']\n"
	"- level: None\n"
	"  resources: [{group: '', resources: ['events']}]\n"
	"- level: Request\n"
	"  users: ['kubelet', 'system:node-problem-detector']\n"
	"  verbs: ['update', 'patch']\n"
	"  resources: [{group: '', resources: ['nodes/status', 'pods/status']}]\n"
	"  omitStages: ['RequestReceived']\n"
	"- level: Request\n"
	"  userGroups: ['system:nodes']\n"
	"  verbs: ['update', 'patch']\n"
	"  resources: [{group: '', resources: ['nodes/status', 'pods/status']}]\n"
	"  omitStages: ['RequestReceived']\n"
	"- level: Request\n"
	"  users: ['system:serviceaccount:kube-system:namespace-controller']\n"
	"  verbs: ['deletecollection']\n"
	"  omitStages: ['RequestReceived']\n"
	"- level: Metadata\n"
	"  resources:\n"
	"  - {group: '', resources: ['secrets', 'configmaps', 'serviceaccounts/token']}\n"
	"  - {group: authentication.k8s.io, resources: ['tokenreviews']}\n"
	"  omitStages: ['RequestReceived']\n"
	"- level: Request\n"
	"  verbs: ['get', 'list', 'watch']\n"
	"  resources: [{group: ''}, {group: apps}, {group: metrics.k8s.io}]\n"
	"  omitStages: ['RequestReceived']\n"
	"- level: RequestResponse\n"
	"  resources: [{group: ''}, {group: apps}]\n"
	"  omitStages: ['RequestReceived']\n"
	"- level: Metadata\n"
	"  omitStages: ['RequestReceived']\n";

static const char singles[] = HEAD
	"omitStages: [ResponseStarted]\n"
	"omitManagedFields: true\n"
	"rules:\n"
	"- {level: None, users: [a], userGroups: [g]}\n"
	"- {level: Request, resources: [{resources: [pods], resourceNames: [one, two]}]}\n"
	"- {level: Metadata, resources: [{resources: ['pods/*']}], omitManagedFields: false}\n"
	"- {level: RequestResponse, resources: [{resources: ['*/scale']}], omitStages: [Panic]}\n"
	"- {level: None, resources: [{group: batch, resources: ['*']}]}\n"
	"- {level: Request, namespaces: ['']}\n"
	"- {level: Metadata, namespaces: [x]}\n"
	"- {level: Request, nonResourceURLs: ['/a', '/b*']}\n"
	"- {level: None, nonResourceURLs: ['*'], verbs: [post]}\n";

/* A request. No user: unknown; a path: it is not about a resource. */
struct row {
	const char *user, *group, *verb, *api, *resource, *sub, *ns, *name, *path;
	enum audit_level level;
};

static struct audit_policy *policy_of(const char *text)
{
	struct audit_policy *p = NULL;
	struct error err = { 0 };

	if (audit_policy_read(str_from(text), &p, &err) < 0)
		fail_msg("%s", err.msg);
	return p;
}

static struct str text_of(const char *text)
{
	return text ? str_from(text) : STR("");
}

static struct audit_decision decide(const struct audit_policy *p, const struct row *r)
{
	struct str group = text_of(r->group);
	struct user user = { .name = text_of(r->user), .groups = &group, .ngroups = 1 };
	struct audit_question q = { .user = r->user ? &user : NULL,
				    .verb = text_of(r->verb),
				    .is_path = r->path != NULL,
				    .path = text_of(r->path),
				    .group = text_of(r->api),
				    .resource = text_of(r->resource),
				    .subresource = text_of(r->sub),
				    .ns = text_of(r->ns),
				    .name = text_of(r->name) };

	return audit_policy_decide(p, &q);
}

static void check_rows(const char *text, const struct row *rows, size_t n)
{
	struct audit_policy *p = policy_of(text);

	for (size_t i = 0; i < n; i++)
		if (decide(p, &rows[i]).level != rows[i].level)
			fail_msg("row %zu: %s instead of %s", i,
				 audit_level_name(decide(p, &rows[i]).level),
				 audit_level_name(rows[i].level));
	audit_policy_free(p);
}

static const struct row gce_rows[] = {
	{ .user = "system:kube-proxy",
	  .verb = "watch",
	  .resource = "services",
	  .level = AUDIT_NONE },
	{ .user = "system:kube-proxy",
	  .verb = "list",
	  .resource = "services",
	  .level = AUDIT_REQUEST },
	{ .user = "system:kube-proxy",
	  .verb = "watch",
	  .resource = "services",
	  .sub = "proxy",
	  .level = AUDIT_REQUEST },
	{ .user = "n",
	  .group = "system:nodes",
	  .verb = "get",
	  .resource = "nodes",
	  .name = "n",
	  .level = AUDIT_NONE },
	{ .user = "n",
	  .group = "system:nodes",
	  .verb = "patch",
	  .resource = "nodes",
	  .sub = "status",
	  .name = "n",
	  .level = AUDIT_REQUEST },
	{ .user = "n",
	  .group = "system:nodes",
	  .verb = "patch",
	  .resource = "nodes",
	  .name = "n",
	  .level = AUDIT_REQUEST_RESPONSE },
	{ .user = "u", .verb = "get", .path = "/healthz", .level = AUDIT_NONE },
	{ .user = "u", .verb = "get", .path = "/healthz/ping", .level = AUDIT_NONE },
	{ .user = "u", .verb = "get", .path = "/version", .level = AUDIT_NONE },
	{ .user = "u", .verb = "get", .path = "/versions", .level = AUDIT_METADATA },
	{ .user = "u", .verb = "create", .resource = "events", .ns = "x", .level = AUDIT_NONE },
	{ .user = "u",
	  .verb = "create",
	  .api = "events.k8s.io",
	  .resource = "events",
	  .ns = "x",
	  .level = AUDIT_METADATA },
	{ .user = "u", .verb = "get", .resource = "secrets", .ns = "x", .level = AUDIT_METADATA },
	{ .user = "u",
	  .verb = "create",
	  .resource = "serviceaccounts",
	  .sub = "token",
	  .ns = "x",
	  .level = AUDIT_METADATA },
	{ .user = "u",
	  .verb = "create",
	  .resource = "serviceaccounts",
	  .ns = "x",
	  .level = AUDIT_REQUEST_RESPONSE },
	{ .user = "u",
	  .verb = "create",
	  .api = "authentication.k8s.io",
	  .resource = "tokenreviews",
	  .level = AUDIT_METADATA },
	{ .user = "u",
	  .verb = "update",
	  .api = "apps",
	  .resource = "deployments",
	  .ns = "x",
	  .level = AUDIT_REQUEST_RESPONSE },
	{ .user = "u",
	  .verb = "update",
	  .api = "apps",
	  .resource = "deployments",
	  .sub = "scale",
	  .ns = "x",
	  .level = AUDIT_REQUEST_RESPONSE },
	{ .user = "u",
	  .verb = "update",
	  .api = "resource.k8s.io",
	  .resource = "resourceclaims",
	  .ns = "x",
	  .level = AUDIT_METADATA },
	{ .user = "system:serviceaccount:kube-system:namespace-controller",
	  .verb = "deletecollection",
	  .api = "x.example.com",
	  .resource = "things",
	  .ns = "x",
	  .level = AUDIT_REQUEST },
};

static void the_documented_policy_decides_as_upstream(void **state UNUSED)
{
	check_rows(gce, gce_rows, ARRAY_SIZE(gce_rows));
}

static const struct row single_rows[] = {
	{ .user = "a",
	  .group = "g",
	  .verb = "get",
	  .resource = "pods",
	  .name = "one",
	  .level = AUDIT_NONE },
	{ .user = "a",
	  .group = "h",
	  .verb = "get",
	  .resource = "pods",
	  .name = "one",
	  .level = AUDIT_REQUEST },
	{ .verb = "get", .resource = "pods", .name = "two", .ns = "y", .level = AUDIT_REQUEST },
	/* A rule with a star after the slash is for the pods themselves, too. */
	{ .user = "b",
	  .verb = "get",
	  .resource = "pods",
	  .name = "three",
	  .ns = "y",
	  .level = AUDIT_METADATA },
	{ .user = "b",
	  .verb = "get",
	  .resource = "pods",
	  .sub = "log",
	  .name = "one",
	  .ns = "y",
	  .level = AUDIT_METADATA },
	{ .user = "b",
	  .verb = "get",
	  .resource = "replicationcontrollers",
	  .sub = "scale",
	  .ns = "y",
	  .level = AUDIT_REQUEST_RESPONSE },
	{ .user = "b",
	  .verb = "get",
	  .api = "batch",
	  .resource = "jobs",
	  .sub = "status",
	  .ns = "x",
	  .level = AUDIT_NONE },
	{ .user = "b", .verb = "get", .resource = "nodes", .level = AUDIT_REQUEST },
	{ .user = "b", .verb = "get", .resource = "services", .ns = "x", .level = AUDIT_METADATA },
	/* No rule matches. */
	{ .user = "b", .verb = "get", .resource = "services", .ns = "y", .level = AUDIT_NONE },
	{ .user = "b", .verb = "get", .path = "/a", .level = AUDIT_REQUEST },
	{ .user = "b", .verb = "get", .path = "/a/b", .level = AUDIT_NONE },
	{ .user = "b", .verb = "get", .path = "/bcd", .level = AUDIT_REQUEST },
};

static void each_part_of_a_rule_counts(void **state UNUSED)
{
	check_rows(singles, single_rows, ARRAY_SIZE(single_rows));
}

static void stages_and_managed_fields_are_those_of_policy_and_rule(void **state UNUSED)
{
	struct audit_policy *p = policy_of(singles);
	struct audit_decision d;

	assert_int_equal(audit_policy_rules(p), 9);
	d = decide(p, &(struct row){ .verb = "get", .resource = "x", .sub = "scale", .ns = "y" });
	assert_int_equal(d.level, AUDIT_REQUEST_RESPONSE);
	assert_int_equal(d.omit, 1 << AUDIT_STARTED | 1 << AUDIT_PANIC);
	assert_true(d.omit_managed);
	assert_true(audit_omits(&d, AUDIT_STARTED));
	assert_false(audit_omits(&d, AUDIT_RECEIVED));
	d = decide(p, &(struct row){ .verb = "get", .resource = "pods", .sub = "log", .ns = "y" });
	assert_int_equal(d.omit, 1 << AUDIT_STARTED);
	assert_false(d.omit_managed);
	d = decide(p, &(struct row){ .verb = "post", .path = "/z" });
	assert_true(audit_omits(&d, AUDIT_COMPLETE));
	audit_policy_free(p);
}

static const struct {
	const char *text, *fault;
} cases[] = {
	{ "", "expected a Policy of audit.k8s.io/v1" },
	{ "apiVersion: audit.k8s.io/v1beta1\nkind: Policy\nrules: [{level: None}]\n",
	  "expected a Policy of audit.k8s.io/v1" },
	{ HEAD, "rules: Required value" },
	{ HEAD "rules: {}\n", "rules: Invalid value: must be a list" },
	{ HEAD "rules: [{level: Metadata, verb: [get]}]\n",
	  "rules[0].verb: Forbidden: unknown field" },
	{ HEAD "rules: [{level: None}, {}]\n", "rules[1].level: Required value" },
	{ HEAD "rules: [{level: metadata}]\n", "rules[0].level: Unsupported value: \"metadata\"" },
	{ HEAD "omitStages: [Received]\nrules: [{level: None}]\n",
	  "omitStages[0]: Unsupported value: \"Received\"" },
	{ HEAD "rules: [{level: None, omitStages: [1]}]\n",
	  "rules[0].omitStages[0]: Invalid value: must be a string" },
	{ HEAD "rules: [{level: None, omitManagedFields: 1}]\n",
	  "rules[0].omitManagedFields: Invalid value: must be a boolean" },
	{ HEAD "rules: [{level: None, nonResourceURLs: ['healthz']}]\n",
	  "rules[0].nonResourceURLs[0]: Invalid value: \"healthz\"" },
	{ HEAD "rules: [{level: None, nonResourceURLs: ['/a*/b']}]\n",
	  "must be the final character of the rule" },
	{ HEAD "rules: [{level: None, nonResourceURLs: ['/a'], namespaces: [x]}]\n",
	  "rules cannot apply to both regular resources and non-resource URLs" },
	{ HEAD "rules: [{level: None, resources: [{group: Apps}]}]\n",
	  "rules[0].resources[0].group: Invalid value: \"Apps\"" },
	{ HEAD "rules: [{level: None, resources: [{resourceNames: [x]}]}]\n",
	  "using resourceNames requires at least one resource" },
	{ HEAD "rules: [{level: None, resources: [pods]}]\n",
	  "rules[0].resources[0]: Invalid value: must be an object" },
	{ HEAD "rules: [", "" },
};

static void faults_are_named(void **state UNUSED)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct audit_policy *p = NULL;
		struct error err = { 0 };

		assert_int_equal(audit_policy_read(str_from(cases[i].text), &p, &err),
				 -ERR_INVALID);
		if (!strstr(err.msg, cases[i].fault))
			fail_msg("case %zu: %s", i, err.msg);
		assert_null(p);
	}
}

static void null_is_the_same_as_absent(void **state UNUSED)
{
	struct audit_policy *p = policy_of(HEAD "omitStages:\nmetadata: {name: x}\n"
						"rules: [{level: Metadata, users: null}]\n");

	assert_int_equal(decide(p, &(struct row){ .verb = "get", .path = "/" }).level,
			 AUDIT_METADATA);
	audit_policy_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_documented_policy_decides_as_upstream),
		cmocka_unit_test(each_part_of_a_rule_counts),
		cmocka_unit_test(stages_and_managed_fields_are_those_of_policy_and_rule),
		cmocka_unit_test(faults_are_named),
		cmocka_unit_test(null_is_the_same_as_absent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
