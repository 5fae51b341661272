/*
 * Strategic merge patches on real types, with upstream's results.
 *
 * The tables are cases/strategic_*.cases. Blocks are separated by empty lines; lines that begin
 * with # are comments. A block begins with a resource and a title. Then come the object, the patch,
 * and the result or the error (a | stands for a new line):
 *
 *	v1/pods: null removes a label
 *		{"metadata":{"labels":{"a":"1","b":"2"}}}
 *		+ {"metadata":{"labels":{"a":null}}}
 *		= {"metadata":{"labels":{"b":"2"}}}
 *
 *	v1/pods: a patch that is a list
 *		{"spec":{}}
 *		+ []
 *		! BadRequest json: cannot unmarshal array into Go value of type ..
 */
#include "api/patch/strategic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/core/arena.h"
#include "base/core/limits.h"
#include "base/system/file.h"

struct patch_case {
	struct str title, object, patch, result, refusal;
};

/* --- running ------------------------------------------------------------------------- */

/* Finds the type of "group/version/resource"; core has no group. */
static const struct schema_type *type_of(struct str path)
{
	struct str group = STR(""), version, resource;

	(void)str_split(&path, '/', &version);
	(void)str_split(&path, '/', &resource);
	if (path.n) {
		group = version;
		version = resource;
		resource = path;
	}
	if (!schema_find_resource(group, version, resource))
		fail_msg("there is no resource %.*s", STR_ARG(resource));
	return schema_find_resource(group, version, resource)->type;
}

static struct json *parsed(struct arena *a, struct str text)
{
	struct json *tree = NULL;
	struct error err;

	if (json_parse(a, text, NULL, &tree, &err) < 0)
		fail_msg("%.*s: %s", STR_ARG(text), err.msg);
	return tree;
}

/* An error as the file writes it: "Reason text", with | for new lines. */
static const char *refusal_text(struct arena *a, const struct error *err)
{
	char *text = arena_printf(a, "%s %s", error_reason(err->code), err->msg);

	for (char *c = text; (c = strchr(c, '\n')); c++)
		*c = '|';
	return text;
}

static const char *outcome(struct arena *a, const struct patch_case *c, bool *ret_fine)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(MIB);
	struct str path = c->title, resource;
	struct json *tree = parsed(a, c->object), *patch = parsed(a, c->patch), *before;
	struct error err = { 0 };
	const char *text;

	(void)str_split(&path, ':', &resource);
	assert_int_equal(json_copy(a, patch, &before, NULL), 0);
	if (patch_strategic(a, &tree, type_of(resource), patch, &err) < 0) {
		text = refusal_text(a, &err);
		*ret_fine = c->refusal.p && str_eqz(c->refusal, text);
		return text;
	}
	(void)json_print(&out, tree, NULL);
	*ret_fine = c->result.p && json_equal(tree, parsed(a, c->result));
	*ret_fine = *ret_fine && json_equal(before, patch);
	return arena_strdup(a, buf_str(&out));
}

static bool passes(const struct patch_case *c)
{
	CLEANUP(arena_release) struct arena a;
	struct str want = c->result.p ? c->result : c->refusal;
	const char *got;
	bool fine = false;

	arena_init(&a, 64 * MIB);
	got = outcome(&a, c, &fine);
	if (!fine)
		print_error("%.*s\n  wanted %.*s\n  got    %s\n", STR_ARG(c->title), STR_ARG(want),
			    got);
	return fine;
}

/* --- files --------------------------------------------------------------------------- */

/* Adds one line of a block to the case. */
static void take_line(struct patch_case *c, struct str line)
{
	struct str rest = str_trim(str_skip(line, 1));

	if (line.p[0] == '+')
		c->patch = rest;
	else if (line.p[0] == '=')
		c->result = rest;
	else if (line.p[0] == '!')
		c->refusal = rest;
	else
		c->object = line;
}

static bool is_whole(const struct patch_case *c)
{
	return c->object.p && c->patch.p && !c->result.p != !c->refusal.p;
}

static size_t run_block(const struct patch_case *c, size_t *failed)
{
	if (!c->title.p)
		return 0;
	if (!is_whole(c))
		fail_msg("%.*s: the case lacks something", STR_ARG(c->title));
	*failed += !passes(c);
	return 1;
}

/* Returns the number of cases. */
static size_t run_file(const char *name)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(MIB);
	CLEANUP(arena_release) struct arena a;
	struct patch_case c = { 0 };
	struct str rest, line;
	size_t n = 0, failed = 0;
	struct error err;

	arena_init(&a, MIB);
	if (file_read(arena_printf(&a, "%s/%s", API_CASES, name), &text, &err) < 0)
		fail_msg("%s: %s", name, err.msg);
	rest = buf_str(&text);
	while (rest.n && str_split(&rest, '\n', &line)) {
		if (line.n && line.p[0] == '#')
			continue;
		if (line.n && line.p[0] == '\t') {
			take_line(&c, str_trim(line));
			continue;
		}
		n += run_block(&c, &failed);
		c = (struct patch_case){ .title = line.n ? line : STR_NULL };
	}
	n += run_block(&c, &failed);
	assert_int_equal(failed, 0);
	return n;
}

static void the_rules_hold_one_by_one(void **state)
{
	assert_true(run_file("strategic_rules.cases") >= 80);
}

static void patches_of_real_clients_do_what_they_do_upstream(void **state)
{
	assert_true(run_file("strategic_kinds.cases") >= 50);
}

/* --- malicious patches ------------------------------------------------------------------ */

static int patch_pod(struct arena *a, const char *object, const char *patch)
{
	struct json *tree = parsed(a, str_from(object));
	struct error err;

	return patch_strategic(a, &tree, type_of(STR("v1/pods")), parsed(a, str_from(patch)), &err);
}

static void a_patch_made_to_cost_time_is_refused(void **state)
{
	CLEANUP(buf_release) struct buf patch = BUF_INIT(MIB);
	CLEANUP(arena_release) struct arena a;

	(void)buf_addz(&patch, "{\"metadata\":{\"finalizers\":[");
	for (int i = 0; i < 20000; i++)
		(void)buf_printf(&patch, "%s\"%d\"", i ? "," : "", i);
	(void)buf_addz(&patch, "]}}");
	arena_init(&a, 64 * MIB);
	assert_int_equal(patch_pod(&a, "{\"metadata\":{\"finalizers\":[\"a\"]}}", patch.p),
			 -ERR_TOO_LARGE);
}

static void deep_patches_are_refused(void **state)
{
	CLEANUP(buf_release) struct buf patch = BUF_INIT(MIB);
	CLEANUP(arena_release) struct arena a;

	for (int i = 0; i < 2000; i++)
		(void)buf_addz(&patch, "{\"a\":");
	(void)buf_addz(&patch, "1");
	for (int i = 0; i < 2000; i++)
		(void)buf_addz(&patch, "}");
	arena_init(&a, 64 * MIB);
	assert_int_equal(patch_pod(&a, "{}", patch.p), -ERR_BAD_REQUEST);
	assert_int_equal(patch_pod(&a, patch.p, patch.p), -ERR_BAD_REQUEST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_rules_hold_one_by_one),
		cmocka_unit_test(patches_of_real_clients_do_what_they_do_upstream),
		cmocka_unit_test(a_patch_made_to_cost_time_is_refused),
		cmocka_unit_test(deep_patches_are_refused),
	};

	return cmocka_run_group_tests_name("api/patch_strategic", tests, NULL, NULL);
}
