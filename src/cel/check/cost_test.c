/*
 * Runs cases/cost.txt: what expressions are estimated to cost, and what they do cost. A line is
 * EXPRESSION => LEAST MOST ACTUAL, with "max" for what has no bound; "env NAME" says where:
 * k8s, with the variables below, or device, with the device below.
 */
#include "cel/check/cost.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/system/file.h"
#include "cel/cel_limits.h"
#include "cel/core/json.h"
#include "cel/kubernetes/device.h"
#include "cel/lib/libraries.h"
#include "cel/run/program.h"

enum { FILE_MAX = 1024 * 1024 };

static const struct cel_type strings_map = {
	.kind = CEL_TYPE_MAP,
	.name = STR("map"),
	.params = { &cel_string, &cel_string },
};
static const struct cel_type ints_lists = {
	.kind = CEL_TYPE_LIST,
	.name = STR("list"),
	.params = { &cel_list_int },
};

static const struct {
	struct cel_variable variable;
	const char *value;
} rows[] = {
	{ { STR("x"), &cel_string }, "\"hello world, this is text\"" },
	{ { STR("y"), &cel_string }, "\"lo\"" },
	{ { STR("n"), &cel_int }, "7" },
	{ { STR("b"), &cel_bool }, "true" },
	{ { STR("d"), &cel_double }, "1.5" },
	{ { STR("l"), &cel_list_int }, "[3,1,2,9,4]" },
	{ { STR("ls"), &cel_list_string }, "[\"alpha\",\"beta\",\"gamma is long text here\"]" },
	{ { STR("ll"), &ints_lists }, "[[1,2],[3]]" },
	{ { STR("m"), &strings_map }, "{\"a\":\"1\",\"bb\":\"22\"}" },
	{ { STR("ml"), &cel_dyn }, "{\"k\":[\"q\",\"r\"]}" },
	{ { STR("dl"), &cel_dyn }, "[1,2]" },
	{ { STR("dy"), &cel_dyn }, "{\"f\":{\"g\":[1,2,3]},\"s\":\"some text in dyn\",\"t\":5}" },
};

static const char device_text[] =
	"{\"name\":\"d\",\"allowMultipleAllocations\":true,\"attributes\":{"
	"\"model\":{\"string\":\"a100-sxm\"},\"other.org/idx\":{\"int\":3},"
	"\"flag\":{\"bool\":true},\"ver\":{\"version\":\"1.2.3\"}},\"capacity\":{"
	"\"memory\":{\"value\":\"40Gi\"},\"other.org/cores\":{\"value\":\"12\"}}}";

struct fixture {
	struct arena memory, scratch; /* memory: of the variables */
	struct cel_variable variables[ARRAY_SIZE(rows)];
	struct cel_value values[ARRAY_SIZE(rows)];
	struct cel_device device;
	struct cel_value device_value;
	size_t cases, failed;
};

static void fixture_init(struct fixture *f)
{
	struct json *tree = NULL;
	struct error err;

	*f = (struct fixture){ .cases = 0 };
	arena_init(&f->memory, CEL_PROGRAM_MAX);
	arena_init(&f->scratch, CEL_SCRATCH_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_return_code(
			json_parse(&f->memory, str_from(rows[i].value), NULL, &tree, &err), 0);
		f->variables[i] = rows[i].variable;
		f->values[i] = cel_of_json(tree);
	}
	assert_return_code(json_parse(&f->memory, str_from(device_text), NULL, &tree, &err), 0);
	assert_return_code(
		cel_device_read(tree, STR("dra.example.com"), &f->memory, &f->device, &err), 0);
	f->device_value = cel_device_value(&f->device);
}

static void fixture_release(struct fixture *f)
{
	arena_release(&f->scratch);
	arena_release(&f->memory);
}

static void set_env(struct fixture *f, struct str name, struct cel_env *env)
{
	if (str_eqz(name, "device")) {
		cel_device_env(env, (struct cel_device_features){ .consumable_capacity = true });
		return;
	}
	*env = (struct cel_env){
		.libraries = cel_libraries_kubernetes,
		.variables = f->variables,
		.nvariables = ARRAY_SIZE(rows),
		.flags = CEL_HOMOGENEOUS | CEL_LITERALS | CEL_HAS_IS_FREE,
	};
}

static void add_number(struct buf *out, uint64_t n)
{
	(void)(n == UINT64_MAX ? buf_addz(out, "max") : buf_add_u64(out, n));
}

/* "LEAST MOST ACTUAL", or what is wrong with the expression. */
static void print_costs(struct fixture *f, const struct cel_env *env, struct str text,
			struct buf *out)
{
	struct cel_eval ev = { .scratch = &f->scratch };
	const struct cel_program *program;
	struct cel_issues issues;
	struct cel_cost cost;

	cel_issues_init(&issues, &f->scratch, text);
	program = cel_compile(env, text, &f->scratch, &issues);
	if (!program) {
		cel_issues_print(&issues, out);
		return;
	}
	cost = cel_cost_estimate(env, cel_program_tree(program));
	(void)cel_run(program, &ev, env->variables == f->variables ? f->values : &f->device_value);
	add_number(out, cost.min);
	(void)buf_addc(out, ' ');
	add_number(out, cost.max);
	(void)buf_addc(out, ' ');
	add_number(out, ev.cost);
}

static void run_line(struct fixture *f, const struct cel_env *env, struct str line)
{
	struct buf got = BUF_INIT(FILE_MAX);
	ptrdiff_t arrow = (ptrdiff_t)line.n;

	while (arrow >= 0 && !str_starts(str_skip(line, (size_t)arrow), STR(" => ")))
		arrow--;
	f->cases++;
	if (arrow >= 0)
		print_costs(f, env, str_of(line.p, (size_t)arrow), &got);
	if (arrow < 0 || !str_eq(buf_str(&got), str_skip(line, (size_t)arrow + 4))) {
		(void)fprintf(stderr, "%.*s\n\tgot: %.*s\n", STR_ARG(line), STR_ARG(buf_str(&got)));
		f->failed++;
	}
	buf_release(&got);
	arena_clear(&f->scratch);
}

static void costs_are_as_listed(void **state)
{
	struct buf content = BUF_INIT(FILE_MAX);
	struct str rest, line;
	struct cel_env env;
	struct fixture f;
	struct error err;

	(void)state;
	fixture_init(&f);
	set_env(&f, STR("k8s"), &env);
	assert_return_code(file_read(CEL_CASES "/cost.txt", &content, &err), 0);
	rest = buf_str(&content);
	while (str_split(&rest, '\n', &line)) {
		if (str_starts(line, STR("env ")))
			set_env(&f, str_skip(line, 4), &env);
		else if (line.n && line.p[0] != '#')
			run_line(&f, &env, line);
	}
	assert_in_range(f.cases, 300, 10000);
	assert_int_equal(f.failed, 0);
	fixture_release(&f);
	buf_release(&content);
}

static struct cel_cost estimate(struct arena *a, const struct cel_env *env, const char *text)
{
	struct cel_issues issues;
	const struct cel_program *program;

	cel_issues_init(&issues, a, str_from(text));
	program = cel_compile(env, str_from(text), a, &issues);
	assert_non_null(program);
	return cel_cost_estimate(env, cel_program_tree(program));
}

/* As the schema of a custom resource declares it. */
static void declared_sizes_bound_the_estimate(void **state)
{
	struct arena a;
	const struct cel_type *name, *names, *object;
	struct cel_field fields[2];
	struct cel_type type = { .kind = CEL_TYPE_OBJECT, .name = STR("selfType") };
	struct cel_variable self = { STR("self"), &type };
	struct cel_env env = { .libraries = cel_libraries_kubernetes,
			       .variables = &self,
			       .nvariables = 1,
			       .flags = CEL_HAS_IS_FREE | CEL_SIZED };

	(void)state;
	arena_init(&a, CEL_PROGRAM_MAX);
	name = cel_type_sized(&a, &cel_string, 20);
	names = cel_type_sized(&a, cel_list_of(&a, name), 10);
	object = cel_type_sized(&a, cel_map_of(&a, name, names), 3);
	fields[0] = (struct cel_field){ STR("count"), &cel_int };
	fields[1] = (struct cel_field){ STR("lists"), object };
	type.fields = fields;
	type.nfields = 2;
	/* self.lists; thrice: still true, and self.lists[k]; ten times: the same, and s == 'a'. */
	assert_int_equal(
		estimate(&a, &env, "self.lists.all(k, self.lists[k].all(s, s == 'a'))").max,
		2 + 1 + 3 * (2 + 1 + (4 + 1 + 10 * (2 + 1 + (1 + 1)))));
	assert_int_equal(
		estimate(&a, &env, "self.lists['a'][0].startsWith(self.lists['b'][0])").max,
		4 + 4 + 2);
	/* Values without a size cost nothing. */
	assert_int_equal(estimate(&a, &env, "self.count == 5").max, 2);
	assert_int_equal(estimate(&a, &env, "self.count == 5").min, 2);
	env.flags = 0;
	assert_int_equal(estimate(&a, &env, "self.count == 5").max, 3);
	assert_int_equal(estimate(&a, &env, "has(self.count)").max, 2);
	arena_release(&a);
}

static void costs_saturate(void **state)
{
	static const struct cel_variable list = { STR("l"), &cel_list_int };
	struct cel_env env = { .libraries = cel_libraries_kubernetes,
			       .variables = &list,
			       .nvariables = 1 };
	struct arena a;

	(void)state;
	arena_init(&a, CEL_PROGRAM_MAX);
	assert_true(estimate(&a, &env, "l.all(i, l.all(j, i == j))").max == UINT64_MAX);
	assert_true(estimate(&a, &env, "l.all(i, i > 0) && l.all(i, i > 0)").max == UINT64_MAX);
	assert_true(estimate(&a, &env, "sets.contains(l, l)").max == UINT64_MAX);
	assert_int_equal(estimate(&a, &env, "l.all(i, i > 0)").min, 2);
	arena_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(costs_are_as_listed),
		cmocka_unit_test(declared_sizes_bound_the_estimate),
		cmocka_unit_test(costs_saturate),
	};

	return cmocka_run_group_tests_name("cel/cost", tests, NULL, NULL);
}
