/*
 * Expressions of mutating policies: which compile, and the trees that they yield.
 */
#include "cel/kubernetes/mutation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "cel/core/json.h"
#include "cel/kubernetes/policy.h"

struct fixture {
	struct arena arena;
	struct cel_eval ev;
	struct buf text;
};

static int set_up(void **state)
{
	struct fixture *f = test_calloc(1, sizeof(*f));

	arena_init(&f->arena, SIZE_MAX);
	buf_init(&f->text, MIB);
	f->ev = (struct cel_eval){ .scratch = &f->arena };
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	arena_release(&f->arena);
	buf_release(&f->text);
	test_free(f);
	return 0;
}

static struct cel_value evaluate(struct fixture *f, const char *text, enum cel_policy_use use)
{
	const struct cel_policy_options o = { .mutates = true };
	struct cel_value vars[CEL_POLICY_VARIABLES] = { 0 };
	const struct cel_program *p;
	const char *fault = NULL;
	struct json *tree;

	p = cel_policy_compile(o, str_from(text), use, &f->arena, &fault);
	if (!p)
		fail_msg("%s", fault);
	assert_int_equal(
		json_parse(&f->arena, STR("{\"spec\":{\"n\":3,\"l\":[1]}}"), NULL, &tree, NULL), 0);
	vars[CEL_POLICY_OBJECT] = cel_of_json(tree);
	f->ev.cost = 0;
	f->ev.cost_limit = CEL_POLICY_COST_MAX;
	return cel_run(p, &f->ev, vars);
}

/* The tree of the expression, or the text of its fault. */
static void assert_tree(struct fixture *f, const char *text, enum cel_policy_use use,
			const char *want)
{
	struct cel_value v = evaluate(f, text, use);
	const char *fault = NULL;
	struct json *tree;

	if (v.kind == CEL_ERROR)
		fail_msg("%s: %s", text, v.error);
	tree = use == CEL_POLICY_APPLY ? cel_mutation_object(&f->ev, &v, &f->arena, &fault)
				       : cel_mutation_patch(&f->ev, &v, &f->arena, &fault);
	if (!tree) {
		assert_string_equal(fault, want);
		return;
	}
	buf_clear(&f->text);
	assert_int_equal(json_print(&f->text, tree, NULL), 0);
	assert_string_equal(f->text.p, want);
}

static void assert_fault(struct fixture *f, const char *text, enum cel_policy_use use,
			 const char *want)
{
	const struct cel_policy_options o = { .mutates = true };
	const char *fault = NULL;

	assert_null(cel_policy_compile(o, str_from(text), use, &f->arena, &fault));
	assert_string_equal(fault, want);
}

static void objects_become_trees(void **state)
{
	struct fixture *f = *state;

	assert_tree(f, "Object{}", CEL_POLICY_APPLY, "{}");
	assert_tree(f, "Object{spec: Object.spec{replicas: object.spec.n + 1}}", CEL_POLICY_APPLY,
		    "{\"spec\":{\"replicas\":4}}");
	assert_tree(f,
		    "Object{a: 1u, b: 'x', c: true, d: null, e: 1.5, f: [1, 2], g: {'k': 'v'}, "
		    "h: object.spec.l, i: object.spec}",
		    CEL_POLICY_APPLY,
		    "{\"a\":1,\"b\":\"x\",\"c\":true,\"d\":null,\"e\":1.5,\"f\":[1,2],"
		    "\"g\":{\"k\":\"v\"},\"h\":[1],\"i\":{\"n\":3,\"l\":[1]}}");
	assert_tree(f,
		    "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'c', "
		    "?image: optional.none(), ?tty: optional.of(true)}]}}",
		    CEL_POLICY_APPLY,
		    "{\"spec\":{\"containers\":[{\"name\":\"c\",\"tty\":true}]}}");
	assert_tree(
		f, "Object{a: b'hi', b: duration('1500ms'), c: timestamp('2026-01-02T03:04:05Z')}",
		CEL_POLICY_APPLY, "{\"a\":\"aGk=\",\"b\":\"1.5s\",\"c\":\"2026-01-02T03:04:05Z\"}");
	assert_tree(f, "true ? Object{a: 1} : Object{}", CEL_POLICY_APPLY, "{\"a\":1}");
}

static void names_of_types_repeat_the_path(void **state)
{
	struct fixture *f = *state;

	assert_tree(f, "Object{spec: Object.wrong{}}", CEL_POLICY_APPLY,
		    "type mismatch: unexpected type name \"Object.wrong\", expected "
		    "\"Object.spec\", which matches field name path from root Object type");
	assert_tree(f, "Object{spec: Object.spec{l: [Object.spec{}]}}", CEL_POLICY_APPLY,
		    "type mismatch: unexpected type name \"Object.spec\", expected "
		    "\"Object.spec.l\", which matches field name path from root Object type");
	assert_tree(f, "[JSONPatch{op: 'add', path: '/a', value: Object.a{b: Object.a.c{}}}]",
		    CEL_POLICY_PATCH,
		    "type mismatch: unexpected type name \"Object.a.c\", expected "
		    "\"Object.a.b\", which matches field name path from root Object type");
}

static void values_without_a_tree_are_refused(void **state)
{
	struct fixture *f = *state;

	assert_tree(f, "Object{a: {1: 2}}", CEL_POLICY_APPLY, "map key is of type int, not string");
	assert_tree(f, "Object{a: quantity('1Gi')}", CEL_POLICY_APPLY,
		    "unsupported type kubernetes.Quantity");
	assert_tree(f, "Object{a: JSONPatch{}}", CEL_POLICY_APPLY, "unsupported type JSONPatch");
	assert_tree(f, "Object{a: type(1)}", CEL_POLICY_APPLY, "unsupported type type");
}

/* Twenty levels that each use the one below twice are a million values. */
static void a_small_value_cannot_become_a_huge_tree(void **state)
{
	struct fixture *f = *state;

	assert_tree(f,
		    "Object{a: [0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19].map(x, x)"
		    ".map(x, [object, object, object, object, object, object, object, object])"
		    ".map(x, [x, x, x, x, x, x, x, x]).map(x, [x, x, x, x, x, x, x, x])"
		    ".map(x, [x, x, x, x, x, x, x, x])}",
		    CEL_POLICY_APPLY, CEL_TOO_LARGE);
}

static void patches_become_lists_of_operations(void **state)
{
	struct fixture *f = *state;

	assert_tree(f, "[JSONPatch{op: 'test', path: '/a', value: null}]", CEL_POLICY_PATCH,
		    "[{\"op\":\"test\",\"path\":\"/a\",\"value\":null}]");
	assert_tree(f,
		    "[JSONPatch{op: 'move', from: '/b', path: '/metadata/labels/' + "
		    "jsonpatch.escapeKey('k8s.io/my~label')}]",
		    CEL_POLICY_PATCH,
		    "[{\"op\":\"move\",\"path\":\"/metadata/labels/k8s.io~1my~0label\","
		    "\"from\":\"/b\"}]");
	assert_tree(f, "false ? [JSONPatch{}] : []", CEL_POLICY_PATCH, "[]");
	assert_tree(f, "[JSONPatch{value: Object.x{y: 1}}]", CEL_POLICY_PATCH,
		    "[{\"op\":\"\",\"path\":\"\",\"value\":{\"y\":1}}]");
}

static void fields_of_a_patch_can_be_read(void **state)
{
	struct fixture *f = *state;

	assert_true(cel_is_true(evaluate(f, "JSONPatch{op: 'add'}.op == 'add'", CEL_POLICY_VALUE)));
	assert_true(cel_is_true(evaluate(f, "JSONPatch{}.path == ''", CEL_POLICY_VALUE)));
	assert_true(cel_is_true(
		evaluate(f, "JSONPatch{op: 'a'} == JSONPatch{op: 'a'}", CEL_POLICY_VALUE)));
	assert_true(cel_is_true(evaluate(f, "Object{a: 1} != Object{a: 2}", CEL_POLICY_VALUE)));
	assert_int_equal(evaluate(f, "Object{a: 1}.a", CEL_POLICY_VALUE).kind, CEL_ERROR);
}

static void wrong_expressions_do_not_compile(void **state)
{
	struct fixture *f = *state;

	assert_fault(f, "{'spec': 1}", CEL_POLICY_APPLY,
		     "must evaluate to Object but got map(string, int)");
	assert_fault(f, "Object.spec{}", CEL_POLICY_APPLY,
		     "must evaluate to Object but got Object.spec");
	assert_fault(f, "[]", CEL_POLICY_PATCH,
		     "must evaluate to list(JSONPatch) but got list(dyn)");
	assert_fault(f, "[JSONPatch{op: 1}]", CEL_POLICY_PATCH,
		     "compilation failed: ERROR: <input>:1:14: expected type of field 'op' is "
		     "'string' but provided type is 'int'\n | [JSONPatch{op: 1}]\n | "
		     ".............^");
	assert_fault(f, "[JSONPatch{what: 1}]", CEL_POLICY_PATCH,
		     "compilation failed: ERROR: <input>:1:16: undefined field 'what'\n | "
		     "[JSONPatch{what: 1}]\n | ...............^");
	assert_fault(f, "Objects{}", CEL_POLICY_APPLY,
		     "compilation failed: ERROR: <input>:1:8: undeclared reference to 'Objects' "
		     "(in container '')\n | Objects{}\n | .......^");
}

static void other_expressions_know_no_objects(void **state)
{
	const struct cel_policy_options o = { 0 };
	struct fixture *f = *state;
	const char *fault = NULL;

	assert_null(cel_policy_compile(o, STR("Object{} == null"), CEL_POLICY_CONDITION, &f->arena,
				       &fault));
	assert_null(cel_policy_compile(o, STR("jsonpatch.escapeKey('') == ''"),
				       CEL_POLICY_CONDITION, &f->arena, &fault));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(objects_become_trees),
		TEST(names_of_types_repeat_the_path),
		TEST(values_without_a_tree_are_refused),
		TEST(a_small_value_cannot_become_a_huge_tree),
		TEST(patches_become_lists_of_operations),
		TEST(fields_of_a_patch_can_be_read),
		TEST(wrong_expressions_do_not_compile),
		TEST(other_expressions_know_no_objects),
	};

	return cmocka_run_group_tests_name("cel/mutation", tests, NULL, NULL);
}
