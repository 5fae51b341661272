/*
 * Tests programs apart from their values, which the cases and the reference cover: memory, costs
 * and limits, errors of variables, constant folding, long expressions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "cel/cel_limits.h"
#include "cel/lib/libraries.h"
#include "cel/run/program_impl.h"

static const struct cel_type list_of_int = { .kind = CEL_TYPE_LIST,
					     .name = STR("list"),
					     .params = { &cel_int } };

static const struct cel_variable variables[] = {
	{ STR("i"), &cel_int },
	{ STR("s"), &cel_string },
	{ STR("l"), &list_of_int },
	{ STR("d"), &cel_dyn },
};

struct fixture {
	struct cel_env env;
	struct arena arena, scratch;
	struct cel_eval ev;
	struct cel_value vars[ARRAY_SIZE(variables)], items[3], pairs[2];
	_Alignas(16) char block[4096];
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct cel_eval ev = { .scratch = &f->arena };

	assert_non_null(f);
	f->env = (struct cel_env){ .libraries = cel_libraries_all,
				   .variables = variables,
				   .nvariables = ARRAY_SIZE(variables) };
	arena_init(&f->arena, CEL_PROGRAM_MAX);
	arena_init_in(&f->scratch, CEL_SCRATCH_MAX, f->block, sizeof(f->block));
	f->ev.scratch = &f->scratch;
	f->vars[0] = CEL_INT_V(5);
	f->vars[1] = CEL_STRING_V(STR("gpu.example.com"));
	for (int i = 0; i < 3; i++)
		f->items[i] = CEL_INT_V(i + 1);
	f->vars[2] = cel_list(&ev, f->items, 3);
	f->pairs[0] = CEL_STRING_V(STR("a"));
	f->pairs[1] = f->vars[2];
	f->vars[3] = cel_map(&ev, f->pairs, 1);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	arena_release(&f->scratch);
	arena_release(&f->arena);
	free(f);
	return 0;
}

static const struct cel_program *compile(struct fixture *f, struct str text)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(MIB);
	const struct cel_program *p;
	struct cel_issues issues;

	cel_issues_init(&issues, &f->arena, text);
	p = cel_compile(&f->env, text, &f->arena, &issues);
	if (!p) {
		cel_issues_print(&issues, &out);
		fail_msg("%.*s", STR_ARG(buf_str(&out)));
	}
	return p;
}

static struct cel_value run(struct fixture *f, const char *text)
{
	f->ev.cost = 0;
	return cel_run(compile(f, str_from(text)), &f->ev, f->vars);
}

/* Evaluates and compares what it cost. */
static void assert_cost(struct fixture *f, const char *text, uint64_t cost)
{
	struct cel_value v = run(f, text);

	if (f->ev.cost != cost || cel_is_error(v))
		fail_msg("%s costs %llu, not %llu; %s", text, (unsigned long long)f->ev.cost,
			 (unsigned long long)cost, cel_is_error(v) ? v.error : "");
}

static void assert_error(struct fixture *f, const char *text, const char *error)
{
	struct cel_value v = run(f, text);

	assert_true(cel_is_error(v));
	assert_string_equal(v.error, error);
}

/* --- memory ------------------------------------------------------------------------- */

static void selectors_take_no_memory_at_all(void **state)
{
	static const char *const texts[] = {
		"s == 'gpu.example.com' && d.a[1] == 2",
		"i > 3 && quantity('10Gi').isGreaterThan(quantity('1Gi'))",
		"s in ['a', 'b', 'c'] || s.matches('^gpu[.]')",
		"has(d.b) || d.a.exists(x, x == 3)",
		"cel.bind(x, d.a, x[0] + x[1] == i - 2)",
		"d.?b.orValue(l) == l",
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		assert_true(cel_is_true(run(f, texts[i])));
		assert_ptr_equal(f->scratch.at, f->block);
		assert_int_equal(f->scratch.used, 0);
	}
}

static void lists_fit_in_the_block_of_the_caller(void **state)
{
	struct fixture *f = *state;
	struct cel_value v = run(f, "l.map(x, x * 2).filter(x, x > 2)");

	assert_int_equal(cel_list_size(&v), 2);
	assert_true(f->scratch.at > f->block);
	assert_int_equal(f->scratch.used, 0);
}

static void an_evaluation_cannot_take_more_memory_than_it_may(void **state)
{
	struct fixture *f = *state;

	f->scratch.max = 64UL * KIB;
	assert_error(f, "lists.range(100000).map(x, x).size()", cel_too_large().error);
	assert_error(f, "lists.range(1000).map(x, lists.range(x)).size()", cel_too_large().error);
}

/* n squared would be ten thousand times the memory of the list. */
static void folds_that_build_lists_and_maps_are_linear(void **state)
{
	struct fixture *f = *state;
	struct cel_value v;

	v = run(f, "lists.range(10000).map(x, x + 1).filter(x, x % 2 == 0)");
	assert_int_equal(cel_list_size(&v), 5000);
	v = run(f, "lists.range(10000).transformMap(k, v, v * 2)");
	assert_int_equal(cel_map_size(&v), 10000);
	v = run(f, "lists.range(10000).transformMapEntry(k, v, {string(v): k})");
	assert_int_equal(cel_map_size(&v), 10000);
	assert_true(f->scratch.used < 16UL * MIB);
}

/* --- costs -------------------------------------------------------------------------- */

static void steps_cost_what_they_cost_upstream(void **state)
{
	struct fixture *f = *state;

	assert_cost(f, "1", 0);
	assert_cost(f, "i", 1);
	assert_cost(f, "d.a", 2);
	assert_cost(f, "d.a[i - 5]", 5);
	assert_cost(f, "d[s == 'a' ? s : 'a']", 4);
	assert_cost(f, "[1, 2, 3]", 0);
	assert_cost(f, "[i, 2, 3]", 11);
	assert_cost(f, "{'a': i}", 31);
	assert_cost(f, "google.protobuf.Int64Value{value: i}", 41);
	assert_cost(f, "i + 1 == 6", 3);
	assert_cost(f, "int('1') + 2", 1);
	assert_cost(f, "s == 'gpu.example.com'", 3);
	assert_cost(f, "i in [1, 2, 5]", 1);
	assert_cost(f, "i in l", 5);
	assert_cost(f, "true ? i : 2", 0);
	assert_cost(f, "d.a[i == 5 ? 0 : 1]", 5);
	assert_cost(f, "has(d.a)", 2);
	assert_cost(f, "d.?b.?c.d", 1);
	assert_cost(f, "false && i == 5", 0);
	assert_cost(f, "cel.bind(x, i + i, false && x == 3)", 0);
	assert_cost(f, "cel.bind(x, i + i, x + x)", 6);
	assert_cost(f, "quantity('1Gi').isLessThan(quantity('2Gi'))", 3);
	assert_cost(f, "l.all(x, x > 0)", 1 + 3 * 5 + 1);
	assert_cost(f, "l.map(x, x)", 1 + 3 * 13 + 1);
	assert_cost(f, "l.map(x, 1)", 1 + 3 * 2 + 1);
	assert_cost(f, "l.filter(x, false)", 1 + 0 + 1);
}

static void tests_of_fields_are_free_where_kubernetes_says_so(void **state)
{
	struct fixture *f = *state;

	f->env.flags = CEL_HAS_IS_FREE;
	assert_cost(f, "has(d.a)", 1);
	assert_cost(f, "has(d.a) && has(d.a)", 2);
	assert_cost(f, "has((i == 5 ? d : d).a)", 2);
}

static void nothing_absorbs_an_evaluation_that_costs_too_much(void **state)
{
	struct fixture *f = *state;

	f->ev.cost_limit = 10;
	assert_error(f, "l.all(x, x > 0) || true", CEL_COST_EXCEEDED);
	assert_error(f, "cel.bind(x, l.all(x, x > 0), true ? x : false)", CEL_COST_EXCEEDED);
	assert_error(f, "[i, i]", CEL_COST_EXCEEDED);
	assert_false(cel_is_error(run(f, "i + i + i + i == 20 || i / 0 == 1")));
}

/* The caller may count over several evaluations. */
static void costs_add_up_until_the_caller_resets_them(void **state)
{
	struct fixture *f = *state;
	const struct cel_program *p = compile(f, STR("i + i"));

	f->ev.cost_limit = 7;
	assert_int_equal(cel_run(p, &f->ev, f->vars).i, 10);
	assert_int_equal(cel_run(p, &f->ev, f->vars).i, 10);
	assert_int_equal(f->ev.cost, 6);
	assert_string_equal(cel_run(p, &f->ev, f->vars).error, CEL_COST_EXCEEDED);
}

/* --- errors ------------------------------------------------------------------------- */

static void a_variable_without_value_is_an_error_where_it_is_used(void **state)
{
	struct fixture *f = *state;

	f->vars[0] = CEL_NOTHING;
	assert_error(f, "i + 1", "no such attribute(s): i");
	assert_true(cel_is_true(run(f, "i == 1 || true")));
	assert_true(cel_is_true(run(f, "cel.bind(x, i, true)")));
}

static void a_variable_that_is_not_what_was_declared_does_no_harm(void **state)
{
	struct fixture *f = *state;

	f->vars[0] = CEL_STRING_V(STR("five"));
	f->vars[2] = CEL_INT_V(7);
	assert_error(f, "i + 1", "no such overload");
	assert_error(f, "l[0]", "no such key: 0");
	assert_error(f, "l.all(x, x > 1)", "got 'types.Int', expected iterable type");
	assert_error(f, "i > 3 ? 1 : 2", "no such overload");
}

static void errors_say_what_is_not_there(void **state)
{
	struct fixture *f = *state;

	assert_error(f, "d.b", "no such key: b");
	assert_error(f, "d.a[3]", "index out of bounds: 3");
	assert_error(f, "l[i]", "index out of bounds: 5");
	assert_error(f, "d[1.5]", "no such key: 1.5");
	assert_error(f, "dyn(l)['x']", "unsupported index type 'string' in list");
	assert_error(f, "dyn(l)[1.5]", "unsupported index value 1.5 in list");
	assert_error(f, "optional.none().value()", "optional.none() dereference");
	assert_error(f, "{s: 1, s: 2}", "Failed with repeated key");
	assert_error(f, "l.transformMapEntry(k, v, {'a': v})",
		     "insert failed: key a already exists");
}

/* --- compiling ---------------------------------------------------------------------- */

static void constant_parts_are_one_instruction(void **state)
{
	static const char *const texts[] = {
		"quantity('10Gi')",
		"duration('1h') + duration('30m') < duration('2h')",
		"timestamp('2024-01-01T00:00:00Z').getFullYear()",
		"size([1, 2, 3] + [4])", /* the sum is left alone */
		"semver('1.2.3').isGreaterThan(semver('1.0.0'))",
		"ip('10.0.0.1').family() == 4",
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		const struct cel_program *p = compile(f, str_from(texts[i]));

		assert_int_equal(p->n, i == 3 ? 5 : 2);
	}
}

static void constant_parts_that_fail_do_so_when_they_run(void **state)
{
	struct fixture *f = *state;

	assert_error(f, "1 / 0 == 1", "division by zero");
	assert_true(cel_is_true(run(f, "i == 5 || quantity('x') == quantity('1')")));
}

static void kubernetes_refuses_conversions_that_can_only_fail(void **state)
{
	struct fixture *f = *state;
	struct cel_issues issues;
	struct str text = STR("true || int('x') == 1");

	assert_true(cel_is_true(run(f, "true || int('x') == 1")));
	f->env.flags = CEL_LITERALS;
	cel_issues_init(&issues, &f->arena, text);
	assert_null(cel_compile(&f->env, text, &f->arena, &issues));
	assert_int_equal(issues.n, 1);
	assert_true(str_starts(issues.first->message, STR("program instantiation failed: ")));
}

static void long_chains_are_one_row(void **state)
{
	struct fixture *f = *state;
	struct buf text = BUF_INIT(MIB);
	const struct cel_program *p;

	(void)buf_addz(&text, "i == 5");
	for (int i = 0; i < 5000; i++)
		(void)buf_addz(&text, " && i > 1");
	p = compile(f, buf_str(&text));
	assert_true(p->nstack <= 4);
	assert_true(cel_is_true(cel_run(p, &f->ev, f->vars)));
	buf_release(&text);
}

static void deep_expressions_have_a_deep_stack(void **state)
{
	struct fixture *f = *state;
	struct buf text = BUF_INIT(MIB);
	struct cel_value v;

	for (int i = 0; i < 80; i++)
		(void)buf_addz(&text, "[i, ");
	(void)buf_addz(&text, "i");
	for (int i = 0; i < 80; i++)
		(void)buf_addz(&text, "]");
	v = cel_run(compile(f, buf_str(&text)), &f->ev, f->vars);
	assert_int_equal(cel_list_size(&v), 2);
	buf_release(&text);
}

/* Initial values are subroutines: each is computed once, wherever it is asked for first. */
static void bindings_within_bindings_are_computed_once(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(run(f, "cel.bind(a, i + 1, cel.bind(b, a + a, cel.bind(c, b + b, "
				"[1, 2].map(x, x + c + a)[1] + c)))")
				 .i,
			 2 + 24 + 6 + 24);
	assert_cost(f, "cel.bind(a, i + 1, cel.bind(b, a + a, b + b))", 2 + 3 + 3);
	assert_int_equal(run(f, "cel.bind(a, l.map(x, x * 2), l.map(x, a.map(y, y + x)[0]))[2]").i,
			 5);
}

/* --- work --------------------------------------------------------------------------- */

/* A text with `n` times `part` in the middle. */
static const char *repeat(struct fixture *f, const char *before, const char *part, size_t n,
			  const char *after)
{
	struct buf text = BUF_INIT(SIZE_MAX);
	const char *copy;

	(void)buf_addz(&text, before);
	for (size_t i = 0; i < n; i++)
		(void)buf_addz(&text, part);
	(void)buf_addz(&text, after);
	copy = arena_strdup(&f->arena, buf_str(&text));
	buf_release(&text);
	return copy;
}

/* Values that share their parts are exponentially larger than what they cost. */
static void walks_through_astronomic_values_end(void **state)
{
	struct fixture *f = *state;
	const char *made;

	made = repeat(f, "[dyn([1])]", ".map(x, dyn([x, x]))", 60, ".map(x, x == x)[0]");
	assert_error(f, made, CEL_TOO_LONG);
	made = repeat(f, "[dyn([1])]", ".map(x, dyn([x, x]))", 60, ".flatten(1000).size() > 0");
	assert_error(f, made, CEL_TOO_LONG);
	made = repeat(f, "[dyn([1])]", ".map(x, dyn([x, x]))", 60, ".indexOf(1) > 0");
	assert_error(f, made, CEL_TOO_LONG);
	made = repeat(f, "'%s'.format([[dyn([1])]", ".map(x, dyn([x, x]))", 60, "]).size() > 0");
	assert_error(f, made, CEL_TOO_LONG);
}

/* Each thing that is found is as long as the rest is searched. */
static void searches_that_look_at_everything_each_time_end(void **state)
{
	struct fixture *f = *state;
	const char *text = repeat(f, "('aaaaaaaaaa' + s)", ".replace('a', 'aaaaaaaaaa')", 4,
				  ".findAll('a.*b|a').size() > 0");

	assert_error(f, text, CEL_TOO_LONG);
	text = repeat(f, "('aaaaaaaaaa' + s)", ".replace('a', 'aaaaaaaaaa')", 4,
		      ".findAll('a' + s).size() == 0");
	assert_true(cel_is_true(run(f, text)));
}

static void loops_that_cost_nothing_end(void **state)
{
	struct fixture *f = *state;

	assert_error(f,
		     "lists.range(1000000).all(x, lists.range(1000000).all(y, "
		     "lists.range(1000000).all(z, true)))",
		     CEL_TOO_LONG);
	assert_error(f, "sets.contains(lists.range(100000), lists.range(100000))", CEL_TOO_LONG);
	assert_error(f, "lists.range(100000).distinct().size() > 0", CEL_TOO_LONG);
}

static void nothing_absorbs_an_evaluation_that_takes_too_long(void **state)
{
	struct fixture *f = *state;

	assert_error(f, "sets.contains(lists.range(100000), lists.range(100000)) || true",
		     CEL_TOO_LONG);
	assert_error(f,
		     "[1, 2].exists(x, sets.contains(lists.range(100000), lists.range(100000)) || "
		     "x == 2)",
		     CEL_TOO_LONG);
	f->scratch.max = 64UL * KIB;
	assert_error(f, "lists.range(100000).map(x, x).size() > 0 || true", CEL_TOO_LARGE);
	/* The next one begins anew. */
	assert_true(cel_is_true(run(f, "[1, 2].map(x, x + 1) == [2, 3]")));
}

/* Each step adds ten levels, and each step is twenty characters. */
static void values_that_are_too_deep_end_the_evaluation(void **state)
{
	static const char step[] = ".map(x, dyn([[[[[[[[[[x]]]]]]]]]]))";
	struct fixture *f = *state;

	assert_true(cel_is_true(run(f, repeat(f, "[dyn(1)]", step, 90, ".map(x, x == x)[0]"))));
	assert_error(f, repeat(f, "[dyn(1)]", step, 110, ".map(x, x == x)[0]"), CEL_TOO_DEEP);
	assert_error(f, repeat(f, "[dyn(1)]", step, 110, ".flatten(100000).size() > 0"),
		     CEL_TOO_DEEP);
	assert_error(f, repeat(f, "[dyn(1)]", step, 110, ".indexOf(1) > 0"), CEL_TOO_DEEP);
	assert_error(f, repeat(f, "'%s'.format([[dyn(1)]", step, 110, "]).size() > 0"),
		     CEL_TOO_DEEP);
}

/* Views of views are one view. */
static void slices_and_reversed_lists_of_each_other_are_in_order(void **state)
{
	struct fixture *f = *state;

	assert_true(cel_is_true(run(
		f, "lists.range(10).reverse().slice(2, 8).reverse().slice(1, 4) == [3, 4, 5]")));
	assert_true(cel_is_true(run(
		f, "lists.range(10).slice(2, 8).reverse().slice(1, 6).reverse() == [2, 3, 4, 5, "
		   "6]")));
	assert_true(cel_is_true(run(f, "lists.range(3).reverse().slice(3, 3).reverse() == []")));
}

static void the_last_place_is_found_from_the_front(void **state)
{
	struct fixture *f = *state;

	assert_true(cel_is_true(run(f, "'aaaa'.lastIndexOf('aa') == 2")));
	assert_true(cel_is_true(run(f, "'aaaa'.lastIndexOf('aa', 1) == 1")));
	assert_true(cel_is_true(run(f, "'abcab'.lastIndexOf('ab') == 3")));
	assert_true(cel_is_true(run(f, "'abcab'.lastIndexOf('ab', 2) == 0")));
	assert_true(cel_is_true(run(f, "'abc'.lastIndexOf('abcd') == -1")));
}

/* --- what the compiler does beforehand ---------------------------------------------- */

/* Twice as much with each call, were it done while compiling. */
static void constant_calls_take_little_memory_beforehand(void **state)
{
	struct fixture *f = *state;
	const char *text = repeat(f, "'aaaaaaaaaaaaaaaa'", ".replace('a', 'aa')", 30,
				  ".size() > 0");
	size_t used = f->arena.used;

	assert_non_null(compile(f, str_from(text)));
	assert_true(f->arena.used - used < MIB);
}

/* Twice as long with each call, were each receiver compiled twice. */
static void searches_in_constants_are_compiled_once(void **state)
{
	struct fixture *f = *state;

	assert_true(cel_is_true(run(f, repeat(f, "'a'", ".find('a')", 60, " == 'a'"))));
}

/* As in a short list: by a double beside one. */
static void large_integers_are_members_as_they_are_equal(void **state)
{
	struct fixture *f = *state;

	assert_true(cel_is_true(run(f, "dyn(9007199254740992.0) in [1, 9007199254740993]")));
	assert_true(cel_is_true(
		run(f, "dyn(9007199254740992.0) in [1, 2, 3, 4, 5, 6, 7, 9007199254740993]")));
}

/* Steps that compiling takes with that many; UINT64_MAX: it was refused for want of them. */
static uint64_t compile_steps(struct fixture *f, const char *text, uint64_t most)
{
	struct cel_budget budget = { .left = most };
	const struct cel_program *p;
	struct cel_issues issues;

	f->env.budget = &budget;
	cel_issues_init(&issues, &f->arena, str_from(text));
	p = cel_compile(&f->env, str_from(text), &f->arena, &issues);
	f->env.budget = NULL;
	assert_int_equal(budget.spent,
			 issues.first && str_eqz(issues.first->message, CEL_COMPILE_EXCEEDED));
	if (!budget.spent)
		return most - budget.left;
	assert_null(p);
	assert_int_equal(issues.n, 1);
	return UINT64_MAX;
}

static void compiling_takes_its_steps_off_a_budget(void **state)
{
	static const char *const texts[] = {
		"1 + i == 3",
		"l.all(x, l.all(y, l.exists(z, x == y + z)))",
		"'aaaa'.matches('(ab|cd){300}')",
		"s.matches('(ab|cd){300}')",
		"s.find('^[a-z]*(a|b){5}$') == ''",
		"'abcdefgh'.replace('a', 'bbbbbbbbbbbbbbbbb').size() == 1",
		"undeclared + undeclared", /* says what is wrong, if there are steps for that */
		"1 +",
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		uint64_t all = compile_steps(f, texts[i], 1000000);

		assert_in_range(all, 100, 100000);
		assert_true(compile_steps(f, texts[i], all + 1) == all);
		assert_true(compile_steps(f, texts[i], all * 3 / 4) == UINT64_MAX);
		assert_true(compile_steps(f, texts[i], 0) == UINT64_MAX);
	}
	/* A pattern counts by the program that it would become. */
	assert_true(compile_steps(f, "s.matches('(ab|cd){900}')", 1000000) >
		    2 * compile_steps(f, "s.matches('(ab|cd){300}')", 1000000));
}

static void matching_counts_the_places_of_a_pattern(void **state)
{
	struct fixture *f = *state;
	struct cel_issues issues;
	const struct cel_program *p;
	struct cel_value v;

	cel_issues_init(&issues, &f->arena, STR_NULL);
	p = cel_compile(&f->env, STR("s.matches('(e?x?a?m?p?l?e?){100}Z')"), &f->arena, &issues);
	assert_non_null(p);
	v = cel_run(p, &f->ev, f->vars);
	assert_int_equal(v.kind, CEL_BOOL);
	assert_in_range(f->ev.work, 700 * 10, 700 * 100);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(selectors_take_no_memory_at_all),
		TEST(lists_fit_in_the_block_of_the_caller),
		TEST(an_evaluation_cannot_take_more_memory_than_it_may),
		TEST(folds_that_build_lists_and_maps_are_linear),
		TEST(steps_cost_what_they_cost_upstream),
		TEST(tests_of_fields_are_free_where_kubernetes_says_so),
		TEST(nothing_absorbs_an_evaluation_that_costs_too_much),
		TEST(costs_add_up_until_the_caller_resets_them),
		TEST(a_variable_without_value_is_an_error_where_it_is_used),
		TEST(a_variable_that_is_not_what_was_declared_does_no_harm),
		TEST(errors_say_what_is_not_there),
		TEST(constant_parts_are_one_instruction),
		TEST(constant_parts_that_fail_do_so_when_they_run),
		TEST(kubernetes_refuses_conversions_that_can_only_fail),
		TEST(long_chains_are_one_row),
		TEST(deep_expressions_have_a_deep_stack),
		TEST(bindings_within_bindings_are_computed_once),
		TEST(walks_through_astronomic_values_end),
		TEST(searches_that_look_at_everything_each_time_end),
		TEST(loops_that_cost_nothing_end),
		TEST(nothing_absorbs_an_evaluation_that_takes_too_long),
		TEST(values_that_are_too_deep_end_the_evaluation),
		TEST(slices_and_reversed_lists_of_each_other_are_in_order),
		TEST(the_last_place_is_found_from_the_front),
		TEST(constant_calls_take_little_memory_beforehand),
		TEST(searches_in_constants_are_compiled_once),
		TEST(large_integers_are_members_as_they_are_equal),
		TEST(compiling_takes_its_steps_off_a_budget),
		TEST(matching_counts_the_places_of_a_pattern),
	};

	return cmocka_run_group_tests_name("cel/program", tests, NULL, NULL);
}
