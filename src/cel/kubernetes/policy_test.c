#include "cel/kubernetes/policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json/json.h"
#include "cel/core/json.h"
#include "cel/lib/authz.h"

struct fixture {
	struct arena arena;
	struct cel_eval ev;
	struct cel_authorizer authorizer;
};

static int set_up(void **state)
{
	struct fixture *f = test_calloc(1, sizeof(*f));

	arena_init(&f->arena, SIZE_MAX);
	f->ev = (struct cel_eval){ .scratch = &f->arena };
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	arena_release(&f->arena);
	test_free(f);
	return 0;
}

/* Allows "get" in namespace n. The reason repeats the query. */
static void decide(const struct cel_authorizer *self, struct cel_eval *ev,
		   const struct cel_authz_query *q, struct cel_authz_answer *ret_answer)
{
	(void)self;
	ret_answer->allowed = str_eqz(q->ns, "n") && str_eqz(q->verb, "get");
	if (q->is_path)
		ret_answer->reason = str_from(arena_printf(ev->scratch, "path %.*s %.*s",
							   STR_ARG(q->path), STR_ARG(q->verb)));
	else
		ret_answer->reason = str_from(arena_printf(
			ev->scratch, "%.*s/%.*s %.*s/%.*s of %.*s named %.*s in %.*s [%.*s] [%.*s]",
			STR_ARG(q->account_ns), STR_ARG(q->account), STR_ARG(q->resource),
			STR_ARG(q->subresource), STR_ARG(q->group), STR_ARG(q->name),
			STR_ARG(q->ns), STR_ARG(q->field_selector), STR_ARG(q->label_selector)));
}

static struct cel_value evaluate(struct fixture *f, const char *text, uint64_t *ret_cost)
{
	const struct cel_policy_options o = { .params = true, .authorizer = true };
	const struct cel_authz_query here = { .group = STR("g"),
					      .resource = STR("r"),
					      .ns = STR("n") };
	struct cel_value vars[CEL_POLICY_VARIABLES] = { 0 };
	const struct cel_program *p;
	const char *fault = NULL;
	struct json *tree;

	p = cel_policy_compile(o, str_from(text), CEL_POLICY_VALUE, &f->arena, &fault);
	if (!p)
		fail_msg("%s", fault);
	assert_int_equal(json_parse(&f->arena, STR("{\"spec\":{\"n\":3}}"), NULL, &tree, NULL), 0);
	f->authorizer.decide = decide;
	vars[CEL_POLICY_OBJECT] = cel_of_json(tree);
	vars[CEL_POLICY_OLD_OBJECT] = CEL_NULL_V;
	vars[CEL_POLICY_PARAMS] = CEL_NULL_V;
	vars[CEL_POLICY_AUTHORIZER] = cel_authorizer_value(&f->ev, &f->authorizer);
	vars[CEL_POLICY_REQUEST_RESOURCE] = cel_authorizer_resource(&f->ev, &f->authorizer, &here);
	f->ev.cost = 0;
	f->ev.cost_limit = CEL_POLICY_COST_MAX;
	struct cel_value v = cel_run(p, &f->ev, vars);

	if (ret_cost)
		*ret_cost = f->ev.cost;
	return v;
}

static void assert_text(struct fixture *f, const char *text, const char *want)
{
	struct cel_value v = evaluate(f, text, NULL);

	if (v.kind == CEL_ERROR)
		assert_string_equal(v.error, want);
	else
		assert_string_equal(arena_strdup(&f->arena, v.s), want);
}

static void assert_fault(struct fixture *f, struct cel_policy_options o, const char *text,
			 enum cel_policy_use use, const char *want)
{
	const char *fault = NULL;

	assert_null(cel_policy_compile(o, str_from(text), use, &f->arena, &fault));
	assert_string_equal(fault, want);
}

static void expressions_see_the_object_and_what_it_was(void **state)
{
	struct fixture *f = *state;

	assert_true(cel_is_true(evaluate(f, "object.spec.n == 3 && oldObject == null", NULL)));
	assert_true(cel_is_true(evaluate(f, "params == null", NULL)));
}

static void a_question_about_rights_is_put_together(void **state)
{
	struct fixture *f = *state;

	assert_text(f,
		    "authorizer.group('apps').resource('deployments').subresource('scale')"
		    ".namespace('n').name('x').check('get').reason()",
		    "/ deployments/scale of apps named x in n [] []");
	assert_text(f,
		    "authorizer.serviceAccount('ns', 'sa.b').group('').resource('pods')"
		    ".fieldSelector('a=b').labelSelector('c=d').check('list').reason()",
		    "ns/sa.b pods/ of  named  in  [a=b] [c=d]");
	assert_text(f, "authorizer.path('/healthz').check('get').reason()", "path /healthz get");
	assert_text(f, "authorizer.requestResource.check('get').reason()",
		    "/ r/ of g named  in n [] []");
	assert_true(cel_is_true(
		evaluate(f, "authorizer.requestResource.check('get').allowed()", NULL)));
	assert_true(cel_is_true(
		evaluate(f, "!authorizer.requestResource.check('list').errored()", NULL)));
}

static void questions_that_make_no_sense_are_errors(void **state)
{
	struct fixture *f = *state;

	assert_text(f, "authorizer.path(' ').check('get').reason()", "path must not be empty");
	assert_text(f, "authorizer.group('').resource('').check('get').reason()",
		    "resource must not be empty");
	assert_text(f, "authorizer.serviceAccount('a', 'b_').path('/').check('get').reason()",
		    "Invalid service account name");
	assert_text(f, "authorizer.serviceAccount('a.b', 'b').path('/').check('get').reason()",
		    "Invalid service account namespace");
}

static void two_questions_fit_into_an_expression(void **state)
{
	struct fixture *f = *state;
	uint64_t cost = 0;
	struct cel_value v;

	assert_true(cel_is_true(evaluate(f,
					 "authorizer.requestResource.check('get').allowed() && "
					 "authorizer.requestResource.check('get').allowed()",
					 &cost)));
	assert_int_equal(cost, 700004);
	v = evaluate(f, "['a','b','c'].all(x, authorizer.requestResource.check(x).reason() != '')",
		     NULL);
	assert_int_equal(v.kind, CEL_ERROR);
	assert_string_equal(v.error, CEL_COST_EXCEEDED);
}

static void variables_without_a_value_are_not_declared(void **state)
{
	struct fixture *f = *state;
	const struct cel_policy_options nothing = { 0 };

	assert_fault(f, nothing, "params.x == 1", CEL_POLICY_CONDITION,
		     "compilation failed: ERROR: <input>:1:1: undeclared reference to 'params' (in "
		     "container '')\n | params.x == 1\n | ^");
	assert_fault(f, nothing, "authorizer.path('/').check('get').allowed()",
		     CEL_POLICY_CONDITION,
		     "compilation failed: ERROR: <input>:1:1: undeclared reference to 'authorizer' "
		     "(in container '')\n | authorizer.path('/').check('get').allowed()\n | ^");
	assert_fault(
		f, nothing, "request.uid == ''", CEL_POLICY_CONDITION,
		"compilation failed: ERROR: <input>:1:8: undefined field 'uid'\n | request.uid "
		"== ''\n | .......^");
}

static void an_expression_yields_what_it_is_for(void **state)
{
	struct fixture *f = *state;
	const struct cel_policy_options o = { 0 };

	assert_fault(f, o, "object.spec.x", CEL_POLICY_CONDITION,
		     "must evaluate to bool but got dyn");
	assert_fault(f, o, "1", CEL_POLICY_MESSAGE, "must evaluate to string but got int");
	assert_fault(f, o, "1", CEL_POLICY_ANNOTATION,
		     "must evaluate to one of [string null_type] but got int");
}

static void variables_have_the_types_of_their_expressions(void **state)
{
	struct fixture *f = *state;
	struct cel_policy_named named;
	struct cel_policy_options o;
	struct json *list;

	assert_int_equal(json_parse(&f->arena,
				    STR("[{\"name\":\"b\"},{\"name\":\"a\"},"
					"{\"name\":\"b\"},{\"name\":\"c\"}]"),
				    NULL, &list, NULL),
			 0);
	cel_policy_named_init(&named, &f->arena, list);
	cel_policy_declare(&named, STR("b"), &cel_int);
	cel_policy_declare(&named, STR("a"), &cel_quantity);
	cel_policy_declare(&named, STR("b"), &cel_string);
	o = (struct cel_policy_options){ .named = &named.type };
	assert_fault(f, o, "variables.b", CEL_POLICY_CONDITION,
		     "must evaluate to bool but got string");
	assert_fault(f, o, "variables.a", CEL_POLICY_CONDITION,
		     "must evaluate to bool but got dyn");
	assert_fault(f, o, "variables.c", CEL_POLICY_CONDITION,
		     "compilation failed: ERROR: <input>:1:10: undefined field 'c'\n | "
		     "variables.c\n | .........^");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(expressions_see_the_object_and_what_it_was),
		TEST(a_question_about_rights_is_put_together),
		TEST(questions_that_make_no_sense_are_errors),
		TEST(two_questions_fit_into_an_expression),
		TEST(variables_without_a_value_are_not_declared),
		TEST(an_expression_yields_what_it_is_for),
		TEST(variables_have_the_types_of_their_expressions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
