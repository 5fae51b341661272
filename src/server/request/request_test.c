/*
 * Parses paths and queries, row by row.
 */
#include "server/request/request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/buf.h"
#include "base/core/limits.h"

struct parsed {
	struct arena arena;
	struct request r;
	struct field_errors errs;
	struct error err;
	int ret;
};

static void parse(struct parsed *p, const char *method, const char *target)
{
	const char *query = strchr(target, '?');
	struct str path = query ? str_of(target, (size_t)(query - target)) : str_from(target);

	*p = (struct parsed){ .ret = 0 };
	arena_init(&p->arena, SIZE_MAX);
	field_errors_init(&p->errs, &p->arena);
	p->ret = request_parse(&p->r, &p->arena, str_from(method), path,
			       query ? str_from(query + 1) : STR_NULL, &p->errs, &p->err);
}

static void assert_str(struct str is, const char *expected)
{
	char *text = str_dup(is);

	assert_string_equal(text, expected);
	free(text);
}

static const struct {
	const char *method, *target;
	enum request_verb verb;
	const char *group, *version, *resource, *ns, *name, *sub, *rest;
} paths[] = {
	{ "GET", "/api/v1/pods", REQUEST_LIST, "", "v1", "pods", "", "", "", "" },
	{ "GET", "/api/v1/pods/", REQUEST_LIST, "", "v1", "pods", "", "", "", "" },
	{ "GET", "//api/v1/pods", REQUEST_LIST, "", "v1", "pods", "", "", "", "" },
	{ "GET", "/api/v1/namespaces/a/pods/b", REQUEST_GET, "", "v1", "pods", "a", "b", "", "" },
	{ "GET", "/api/v1/namespaces/a/pods/b?watch=true", REQUEST_GET, "", "v1", "pods", "a", "b",
	  "", "" },
	{ "PUT", "/api/v1/namespaces/a/pods/b/status", REQUEST_UPDATE, "", "v1", "pods", "a", "b",
	  "status", "" },
	{ "GET", "/api/v1/namespaces/a/pods/b/proxy/x/y", REQUEST_GET, "", "v1", "pods", "a", "b",
	  "proxy", "x/y" },
	{ "GET", "/api/v1/nodes/n/proxy/x/y/z/1/2/3/4", REQUEST_GET, "", "v1", "nodes", "", "n",
	  "proxy", "x/y/z/1/2/3/4" },
	{ "GET", "/api/v1/namespaces", REQUEST_LIST, "", "v1", "namespaces", "", "", "", "" },
	{ "GET", "/api/v1/namespaces/a", REQUEST_GET, "", "v1", "namespaces", "", "a", "", "" },
	{ "PUT", "/api/v1/namespaces/a/finalize", REQUEST_UPDATE, "", "v1", "namespaces", "", "a",
	  "finalize", "" },
	{ "PATCH", "/api/v1/namespaces/a/status", REQUEST_PATCH, "", "v1", "namespaces", "", "a",
	  "status", "" },
	{ "POST", "/apis/resource.k8s.io/v1/namespaces/a/resourceclaims", REQUEST_CREATE,
	  "resource.k8s.io", "v1", "resourceclaims", "a", "", "", "" },
	{ "DELETE", "/apis/resource.k8s.io/v1/resourceslices/s", REQUEST_DELETE, "resource.k8s.io",
	  "v1", "resourceslices", "", "s", "", "" },
	{ "DELETE", "/apis/resource.k8s.io/v1/resourceslices", REQUEST_DELETE_COLLECTION,
	  "resource.k8s.io", "v1", "resourceslices", "", "", "", "" },
	{ "GET", "/api/v1/watch/pods", REQUEST_WATCH, "", "v1", "pods", "", "", "", "" },
	{ "GET", "/api/v1/watch/namespaces/a/pods/b", REQUEST_WATCH, "", "v1", "pods", "a", "b", "",
	  "" },
	{ "GET", "/apis/apps/v1/watch/namespaces/a/deployments", REQUEST_WATCH, "apps", "v1",
	  "deployments", "a", "", "", "" },
	{ "POST", "/api/v1/watch/pods", REQUEST_NONE, "", "v1", "pods", "", "", "", "" },
	{ "GET", "/api/v1/pods?watch=1", REQUEST_WATCH, "", "v1", "pods", "", "", "", "" },
	{ "GET", "/api/v1/pods?watch", REQUEST_WATCH, "", "v1", "pods", "", "", "", "" },
	{ "GET", "/api/v1/pods?watch=False", REQUEST_LIST, "", "v1", "pods", "", "", "", "" },
	{ "HEAD", "/api/v1/pods", REQUEST_NONE, "", "v1", "pods", "", "", "", "" },
	{ "GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode", REQUEST_GET,
	  "rbac.authorization.k8s.io", "v1", "clusterroles", "", "system:node", "", "" },
	{ "GET", "/api/v1/namespaces/a/pods%2Fb", REQUEST_GET, "", "v1", "pods", "a", "b", "", "" },
	{ "GET", "/api", REQUEST_NONE, "", "", "", "", "", "", "/api" },
	{ "GET", "/api/v1", REQUEST_NONE, "", "", "", "", "", "", "/api/v1" },
	{ "GET", "/apis/apps/v1", REQUEST_NONE, "", "", "", "", "", "", "/apis/apps/v1" },
	{ "GET", "/", REQUEST_NONE, "", "", "", "", "", "", "/" },
	{ "GET", "/healthz/etcd", REQUEST_NONE, "", "", "", "", "", "", "/healthz/etcd" },
};

static void paths_name_what_is_asked_for(void **state UNUSED)
{

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		struct parsed p;

		parse(&p, paths[i].method, paths[i].target);
		if (p.ret < 0)
			print_error("%s %s: %s\n", paths[i].method, paths[i].target, p.err.msg);
		assert_int_equal(p.ret, 0);
		assert_string_equal(request_verb_name(p.r.verb), request_verb_name(paths[i].verb));
		assert_str(p.r.group, paths[i].group);
		assert_str(p.r.version, paths[i].version);
		assert_str(p.r.resource, paths[i].resource);
		assert_str(p.r.ns, paths[i].ns);
		assert_str(p.r.name, paths[i].name);
		assert_str(p.r.subresource, paths[i].sub);
		assert_str(p.r.rest, paths[i].rest);
		arena_release(&p.arena);
	}
}

static void paths_of_no_shape_are_refused(void **state UNUSED)
{
	static const struct {
		const char *target;
		int ret;
	} rows[] = {
		{ "/api/v1//pods", -ERR_NOT_FOUND },
		{ "/api/v1/namespaces/a//b", -ERR_NOT_FOUND },
		{ "/api/v1/watch", -ERR_NOT_FOUND },
		{ "/api/v1/watch/namespaces/a/pods/b/status", -ERR_NOT_FOUND },
		{ "/api/v1/pods/%zz", -ERR_BAD_REQUEST },
		{ "/api/v1/pods/%4", -ERR_BAD_REQUEST },
		{ "/api/v1/pods/a%00b", -ERR_BAD_REQUEST },
		{ "/api/v1/pods/%ff", -ERR_BAD_REQUEST },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct parsed p;

		parse(&p, "GET", rows[i].target);
		assert_int_equal(p.ret, rows[i].ret);
		arena_release(&p.arena);
	}
}

static void options_are_read_by_verb(void **state UNUSED)
{
	struct parsed p;

	parse(&p, "GET",
	      "/api/v1/pods?limit=%2b5&limit=7&timeoutSeconds=30&labelSelector=a%3Db"
	      "&fieldSelector=spec.nodeName=n&resourceVersion=12&resourceVersionMatch=Exact"
	      "&dryRun=nonsense&pretty=1&bad=%zz&a;b=1&timeout=5s");
	assert_int_equal(p.ret, 0);
	assert_int_equal(p.r.limit, 5);
	assert_int_equal(p.r.timeout_s, 30);
	assert_int_equal(p.r.labels.n, 1);
	assert_str(p.r.fields.terms[0].key, "spec.nodeName");
	assert_int_equal(p.r.revision, 12);
	assert_int_equal(p.r.match, MATCH_EXACT);
	assert_false(p.r.dry_run);
	assert_true(p.r.pretty && p.r.pretty_given);
	assert_int_equal(p.r.deadline_ms, 5000);
	arena_release(&p.arena);
}

static void a_get_ignores_what_lists_take(void **state UNUSED)
{
	struct parsed p;

	parse(&p, "GET", "/api/v1/nodes/n?limit=x&labelSelector=!!!&resourceVersion=0");
	assert_int_equal(p.ret, 0);
	assert_int_equal(p.r.revision, 0);
	arena_release(&p.arena);
}

static void writes_have_their_options(void **state UNUSED)
{
	struct parsed p;

	parse(&p, "PATCH",
	      "/api/v1/nodes/n?dryRun=All&fieldManager=me&fieldValidation=Strict&force=true");
	assert_int_equal(p.ret, 0);
	assert_true(p.r.dry_run && p.r.write.force && p.r.force_given);
	assert_str(p.r.write.field_manager, "me");
	assert_str(p.r.field_validation, "Strict");
	assert_int_equal(p.r.write.field_validation, WRITE_STRICT);
	arena_release(&p.arena);

	parse(&p, "DELETE",
	      "/api/v1/nodes/n?propagationPolicy=Orphan&gracePeriodSeconds=0"
	      "&orphanDependents=0");
	assert_int_equal(p.ret, 0);
	assert_str(p.r.propagation, "Orphan");
	assert_str(p.r.grace, "0");
	assert_true(p.r.orphan_given && !p.r.orphan);
	arena_release(&p.arena);
}

static void wrong_options_are_told_in_upstreams_words(void **state UNUSED)
{
	static const struct {
		const char *method, *target;
		int ret;
		const char *text, *kind;
	} rows[] = {
		{ "GET", "/api/v1/pods?limit=x", -ERR_BAD_REQUEST,
		  "strconv.ParseInt: parsing \"x\": invalid syntax", "" },
		{ "GET", "/api/v1/pods?limit=99999999999999999999", -ERR_BAD_REQUEST,
		  "strconv.ParseInt: parsing \"99999999999999999999\": value out of range", "" },
		{ "GET", "/api/v1/pods?resourceVersion=x", -ERR_BAD_REQUEST,
		  "invalid resource version: resourceVersion: Invalid value: \"x\": "
		  "strconv.ParseUint: parsing \"x\": invalid syntax",
		  "" },
		{ "GET", "/api/v1/pods?resourceVersionMatch=Exact", -ERR_INVALID,
		  "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless "
		  "resourceVersion is provided",
		  "ListOptions" },
		{ "GET", "/api/v1/pods?resourceVersion=0&resourceVersionMatch=Exact", -ERR_INVALID,
		  "resourceVersionMatch: Forbidden: resourceVersionMatch \"exact\" is forbidden "
		  "for resourceVersion \"0\"",
		  "ListOptions" },
		{ "GET", "/api/v1/pods?resourceVersion=1&resourceVersionMatch=Foo", -ERR_INVALID,
		  "resourceVersionMatch: Unsupported value: \"Foo\": supported values: \"Exact\", "
		  "\"NotOlderThan\", \"\"",
		  "ListOptions" },
		{ "GET", "/api/v1/pods?sendInitialEvents=true", -ERR_INVALID,
		  "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list",
		  "ListOptions" },
		{ "GET", "/api/v1/pods?watch=1&sendInitialEvents=true", -ERR_INVALID,
		  "resourceVersionMatch: Forbidden: sendInitialEvents requires setting "
		  "resourceVersionMatch to NotOlderThan",
		  "ListOptions" },
		{ "GET", "/api/v1/pods?watch=1&resourceVersionMatch=NotOlderThan", -ERR_INVALID,
		  "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch "
		  "unless sendInitialEvents is provided",
		  "ListOptions" },
		{ "POST", "/api/v1/nodes?dryRun=All&dryRun=Some", -ERR_INVALID,
		  "dryRun: Unsupported value: [\"All\",\"Some\"]: supported values: \"All\"",
		  "CreateOptions" },
		{ "PUT", "/api/v1/nodes/n?fieldValidation=Maybe", -ERR_INVALID,
		  "fieldValidation: Unsupported value: \"Maybe\": supported values: \"\", "
		  "\"Ignore\", \"Strict\", \"Warn\"",
		  "UpdateOptions" },
		{ "PATCH", "/api/v1/nodes/n?fieldManager=a%09b", -ERR_INVALID,
		  "fieldManager: Invalid value: \"a\\tb\": invalid character U+0009 (at position "
		  "1)",
		  "PatchOptions" },
		{ "GET", "/api/v1/watch/nodes/n?fieldSelector=metadata.name%3Dm", -ERR_BAD_REQUEST,
		  "fieldSelector metadata.name doesn't match requested name", "" },
		{ "GET", "/api/v1/pods?timeout=soon", -ERR_BAD_REQUEST, NULL, "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(buf_release) struct buf text = BUF_INIT(64 * KIB);
		struct parsed p;

		parse(&p, rows[i].method, rows[i].target);
		assert_int_equal(p.ret, rows[i].ret);
		if (p.ret == -ERR_INVALID) {
			(void)field_errors_aggregate(&p.errs, &text);
			assert_string_equal(text.p, rows[i].text);
			assert_string_equal(request_options_kind(&p.r), rows[i].kind);
		} else if (rows[i].text) {
			assert_string_equal(p.err.msg, rows[i].text);
		}
		arena_release(&p.arena);
	}
}

static void watching_one_name_selects_it(void **state UNUSED)
{
	struct parsed p;

	parse(&p, "GET", "/api/v1/watch/nodes/n");
	assert_int_equal(p.ret, 0);
	assert_str(selector_required_value(&p.r.fields, STR("metadata.name")), "n");
	arena_release(&p.arena);
}

static void patch_options_depend_on_the_type(void **state UNUSED)
{
	struct parsed p;

	parse(&p, "PATCH", "/api/v1/nodes/n?force=1");
	assert_int_equal(p.ret, 0);
	request_check_patch(&p.r, false, &p.errs);
	assert_int_equal(p.errs.n, 1);
	assert_str(p.errs.first->path, "force");
	request_check_patch(&p.r, true, &p.errs);
	assert_int_equal(p.errs.n, 2);
	assert_str(p.errs.last->path, "fieldManager");
	arena_release(&p.arena);
}

static void continue_tokens_come_back(void **state UNUSED)
{
	struct arena a;
	struct str token, key;
	int64_t revision;

	arena_init(&a, SIZE_MAX);
	token = request_continue_print(&a, 42, STR("default/claim-7"));
	/* Upstream's form, as its own servers would write it. */
	assert_str(token,
		   "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NDIsInN0YXJ0IjoiZGVmYXVsdC9jbGFpbS03X"
		   "HUwMDAwIn0");
	assert_int_equal(request_continue_parse(token, &a, &revision, &key, NULL), 0);
	assert_int_equal(revision, 42);
	assert_str(key, "default/claim-7");
	arena_release(&a);
}

static void damaged_continue_tokens_are_refused(void **state UNUSED)
{
	static const char *const tokens[] = {
		"!",
		"bm9wZQ", /* nope */
		"eyJ2IjoieCIsInJ2IjoxLCJzdGFydCI6ImEifQ", /* v: x */
		"eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MCwic3RhcnQiOiJhIn0", /* rv: 0 */
		"eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIifQ", /* start: "" */
		"eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIuLi9hIn0", /* ../a */
		"eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhL2IvYyJ9", /* a/b/c */
	};
	struct arena a;
	struct error err;
	struct str key;
	int64_t revision;

	arena_init(&a, SIZE_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(tokens); i++) {
		assert_int_equal(
			request_continue_parse(str_from(tokens[i]), &a, &revision, &key, &err),
			-ERR_BAD_REQUEST);
		assert_non_null(
			strstr(err.msg, "invalid continue token: continue key is not valid"));
	}
	arena_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_name_what_is_asked_for),
		cmocka_unit_test(paths_of_no_shape_are_refused),
		cmocka_unit_test(options_are_read_by_verb),
		cmocka_unit_test(a_get_ignores_what_lists_take),
		cmocka_unit_test(writes_have_their_options),
		cmocka_unit_test(wrong_options_are_told_in_upstreams_words),
		cmocka_unit_test(watching_one_name_selects_it),
		cmocka_unit_test(patch_options_depend_on_the_type),
		cmocka_unit_test(continue_tokens_come_back),
		cmocka_unit_test(damaged_continue_tokens_are_refused),
	};

	return cmocka_run_group_tests_name("server/request", tests, NULL, NULL);
}
