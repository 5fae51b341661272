#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/regex/regex.h"
#include "cel/cel_limits.h"
#include "cel/core/env.h"
#include "cel/lib/libraries.h"
#include "cel/lib/regex.h"
#include "cel/run/program.h"

/*
 * The .cases files test the functions. This file tests the tables, calls that programs make in
 * another way, and the limits of memory.
 */

struct fixture {
	struct arena arena, scratch;
	struct cel_eval ev;
};

static void fixture_init(struct fixture *f, size_t scratch_max)
{
	arena_init(&f->arena, SIZE_MAX);
	arena_init(&f->scratch, scratch_max);
	f->ev = (struct cel_eval){ .scratch = &f->scratch };
}

static void fixture_release(struct fixture *f)
{
	arena_release(&f->scratch);
	arena_release(&f->arena);
}

static struct cel_value evaluate(struct fixture *f, const char *text)
{
	struct cel_env env = { .libraries = cel_libraries_all };
	const struct cel_program *p;
	struct cel_issues issues;

	cel_issues_init(&issues, &f->arena, str_from(text));
	p = cel_compile(&env, str_from(text), &f->arena, &issues);
	if (!p)
		fail_msg("%s: %.*s", text, STR_ARG(issues.first->message));
	return cel_run(p, &f->ev, NULL);
}

static const struct cel_overload *overload(const struct cel_library *lib, const char *id)
{
	for (size_t i = 0; i < lib->n; i++)
		if (strcmp(lib->overloads[i].id, id) == 0)
			return &lib->overloads[i];
	fail_msg("no overload %s", id);
	return NULL;
}

/* --- tables ------------------------------------------------------------------------- */

static void check_row(const struct cel_library *lib, size_t i)
{
	const struct cel_overload *row = &lib->overloads[i];

	if (i > 0 && strcmp(row[-1].function, row->function) > 0)
		fail_msg("%s: %s is before %s", lib->name, row[-1].function, row->function);
	if (!row->id || !row->result || row->nargs > CEL_ARGS_MAX)
		fail_msg("%s: row %zu is not complete", lib->name, i);
	for (size_t k = 0; k < CEL_ARGS_MAX; k++)
		if ((k < row->nargs) != (row->args[k] != NULL))
			fail_msg("%s: %s has not %u arguments", lib->name, row->id, row->nargs);
	if (row->member && row->nargs == 0)
		fail_msg("%s: %s has no receiver", lib->name, row->id);
	for (size_t k = 0; k < i; k++)
		if (strcmp(lib->overloads[k].id, row->id) == 0)
			fail_msg("%s: %s is there twice", lib->name, row->id);
}

static void rows_are_complete_and_in_order(void **state)
{
	(void)state;
	for (size_t l = 0; cel_libraries_all[l]; l++)
		for (size_t i = 0; i < cel_libraries_all[l]->n; i++)
			check_row(cel_libraries_all[l], i);
	for (size_t l = 0; cel_libraries_kubernetes[l]; l++)
		for (size_t i = 0; i < cel_libraries_kubernetes[l]->n; i++)
			check_row(cel_libraries_kubernetes[l], i);
}

/* --- calls of the machine ----------------------------------------------------------- */

static void patterns_compiled_beforehand_find_the_same(void **state)
{
	struct str text = STR("abc 12 def 345");
	const struct regex *re;
	struct cel_value v, one;
	struct fixture f;
	struct error err;

	(void)state;
	fixture_init(&f, CEL_SCRATCH_MAX);
	assert_int_equal(
		cel_regex_compile(&(struct cel_env){ 0 }, &f.arena, STR("[0-9]+"), &re, &err), 0);
	assert_true(cel_regex_matches(&f.ev, re, text).b);
	v = cel_regex_find(&f.ev, re, text);
	assert_true(str_eqz(v.s, "12"));
	assert_ptr_equal(v.s.p, text.p + 4);
	v = cel_regex_find_all(&f.ev, re, text, -1);
	assert_int_equal(cel_list_size(&v), 2);
	one = cel_list_at(&f.ev, &v, 1);
	assert_true(str_eqz(one.s, "345"));
	assert_int_equal(cel_regex_compile(&(struct cel_env){ 0 }, &f.arena, STR("["), &re, &err),
			 -ERR_BAD_REQUEST);
	assert_string_equal(err.msg, "error parsing regexp: missing closing ]: `[`");
	fixture_release(&f);
}

static void many_matches_are_all_found(void **state)
{
	const struct regex *re;
	struct fixture f;
	struct cel_value v;
	char text[2001];

	(void)state;
	fixture_init(&f, CEL_SCRATCH_MAX);
	for (size_t i = 0; i < 2000; i++)
		text[i] = i % 2 ? ',' : 'x';
	assert_int_equal(cel_regex_compile(&(struct cel_env){ 0 }, &f.arena, STR("x"), &re, NULL),
			 0);
	v = cel_regex_find_all(&f.ev, re, str_of(text, 2000), -1);
	assert_int_equal(cel_list_size(&v), 1000);
	v = cel_regex_find_all(&f.ev, re, str_of(text, 2000), 999);
	assert_int_equal(cel_list_size(&v), 999);
	fixture_release(&f);
}

static void maps_grow_by_one_entry_or_by_many(void **state)
{
	const struct cel_library *lib = &cel_lib_comprehensions;
	const struct cel_overload *one = overload(lib, "@mapInsert_map_key_value");
	const struct cel_overload *all = overload(lib, "@mapInsert_map_map");
	struct cel_value args[3] = { { 0 } }, key = CEL_STRING_V(STR("a")), v;
	struct fixture f;

	(void)state;
	fixture_init(&f, CEL_SCRATCH_MAX);
	args[0] = cel_map(&f.ev, NULL, 0);
	args[1] = key;
	args[2] = CEL_INT_V(1);
	args[0] = one->call(&f.ev, args);
	assert_int_equal(cel_map_size(&args[0]), 1);
	v = one->call(&f.ev, args);
	assert_string_equal(v.error, "insert failed: key a already exists");
	args[1] = args[0];
	v = all->call(&f.ev, args);
	assert_string_equal(v.error, "insert failed: key a already exists");
	args[0] = cel_map(&f.ev, NULL, 0);
	v = all->call(&f.ev, args);
	v = cel_map_find(&f.ev, &v, &key);
	assert_int_equal(v.i, 1);
	fixture_release(&f);
}

/* The text that is no pattern is not known before, so that it is compiled when it runs. */
static void patterns_of_run_time_leave_no_memory_behind(void **state)
{
	struct fixture f;
	struct cel_value v;

	(void)state;
	fixture_init(&f, CEL_SCRATCH_MAX);
	v = evaluate(
		&f, "lists.range(1000).all(i, ('x' + string(i)).find('(x|y)+' + string(i)) != '')");
	assert_true(cel_is_true(v));
	assert_true(f.scratch.used < 512 * KIB);
	fixture_release(&f);
}

/* --- memory ------------------------------------------------------------------------- */

static void results_beyond_the_memory_are_errors(void **state)
{
	static const char *const texts[] = {
		"lists.range(1000000).map(i, i).reverse().sort().size() < 0",
		"lists.range(1000000).map(i, 'abcdefgh').join('-').size() < 0",
		"lists.range(100000).map(i, 'abcdefgh').join('-').replace('', 'abcdef').size() < 0",
		"lists.range(1000000).map(i, 'x').join().split('').size() < 0",
		"lists.range(1000000).map(i, 'x').join().findAll('x').size() < 0",
		"'%s'.format([lists.range(1000000)]).size() < 0",
		"base64.encode(bytes(lists.range(1000000).map(i, 'x').join())).size() < 0",
		"'%s'.format([lists.range(100000).transformMap(i, v, v)]).size() < 0",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct fixture f;
		struct cel_value v;

		fixture_init(&f, 1 * MIB);
		v = evaluate(&f, texts[i]);
		if (!cel_is_error(v))
			fail_msg("%s is no error", texts[i]);
		fixture_release(&f);
	}
}

static void precision_without_bound_takes_no_memory_without_bound(void **state)
{
	const struct cel_overload *format = overload(&cel_lib_strings_kubernetes, "string_format");
	struct cel_value args[2], number = CEL_DOUBLE_V(0.5), v;
	struct fixture f;

	(void)state;
	fixture_init(&f, CEL_SCRATCH_MAX);
	args[0] = CEL_STRING_V(STR("%.5000f"));
	args[1] = cel_list(&f.ev, &number, 1);
	v = format->call(&f.ev, args);
	assert_int_equal(v.s.n, 5002);
	assert_memory_equal(v.s.p, "0.500", 5);
	args[0] = CEL_STRING_V(STR("%.2147483648f"));
	assert_true(cel_is_error(format->call(&f.ev, args)));
	args[0] = CEL_STRING_V(STR("%.9000000000000000000e"));
	assert_true(cel_is_error(format->call(&f.ev, args)));
	fixture_release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_complete_and_in_order),
		cmocka_unit_test(patterns_compiled_beforehand_find_the_same),
		cmocka_unit_test(many_matches_are_all_found),
		cmocka_unit_test(patterns_of_run_time_leave_no_memory_behind),
		cmocka_unit_test(maps_grow_by_one_entry_or_by_many),
		cmocka_unit_test(results_beyond_the_memory_are_errors),
		cmocka_unit_test(precision_without_bound_takes_no_memory_without_bound),
	};

	return cmocka_run_group_tests_name("cel/lib_ext", tests, NULL, NULL);
}
