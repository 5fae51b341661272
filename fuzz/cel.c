/*
 * An expression, in the environment that the first byte picks. An expression that compiles must
 * give the same result as the reference: the same value, or both an error. Evaluations that cost
 * too much, or take too much memory, are not compared.
 */
#include "base/core/buf.h"
#include "base/core/limits.h"
#include "cel/check/reference.h"
#include "cel/kubernetes/mutation.h"
#include "cel/run/program.h"
#include "target.h"
#include "cel/lib/libraries.h"

enum { COST_MAX = 20000, STEPS = 100000, TEXT_MAX = 2048 };

static const struct cel_variable variables[] = {
	{ STR("i"), &cel_int },     { STR("s"), &cel_string }, { STR("l"), &cel_list_int },
	{ STR("m"), &cel_map_dyn }, { STR("d"), &cel_dyn },    { STR("none"), &cel_dyn },
};

/* Values of the variables; the last has none. */
static void make_values(struct arena *a, struct cel_value *vars)
{
	struct cel_eval ev = { .scratch = a };
	struct cel_value *items = ARENA_ARRAY(a, struct cel_value, 3);
	struct cel_value *pairs = ARENA_ARRAY(a, struct cel_value, 4);

	for (int i = 0; i < 3; i++)
		items[i] = CEL_INT_V(i + 1);
	vars[0] = CEL_INT_V(5);
	vars[1] = CEL_STRING_V(STR("gr\xc3\xbc\xc3\x9f"));
	vars[2] = cel_list(&ev, items, 3);
	pairs[0] = CEL_STRING_V(STR("a"));
	pairs[1] = vars[2];
	pairs[2] = CEL_INT_V(1);
	pairs[3] = CEL_DOUBLE_V(0.5);
	vars[3] = vars[4] = cel_map(&ev, pairs, 2);
	vars[5] = CEL_NOTHING;
}

static bool is_error(struct cel_value v, const char *text)
{
	return cel_is_error(v) && strcmp(v.error, text) == 0;
}

static void print(struct cel_eval *ev, struct cel_value v, struct buf *out)
{
	if (cel_is_error(v))
		(void)buf_addz(out, "error");
	else
		cel_value_print(ev, &v, out);
}

/* What mutating policies make of any value: a tree, or a message. */
static void make_trees(struct cel_eval *ev, const struct cel_value *v, struct arena *a)
{
	const char *fault = NULL;

	require(cel_mutation_object(ev, v, a, &fault) || fault);
	fault = NULL;
	require(cel_mutation_patch(ev, v, a, &fault) || fault);
}

static void compare(const struct cel_env *env, const struct cel_program *p, struct arena *a,
		    const struct cel_value *vars)
{
	struct cel_eval ev = { .scratch = a, .cost_limit = COST_MAX }, other = { .scratch = a };
	struct buf ours = BUF_INIT(MIB), theirs = BUF_INIT(MIB);
	struct cel_value v, w;

	v = cel_run(p, &ev, vars);
	if (is_error(v, CEL_COST_EXCEEDED))
		return;
	require(ev.cost <= COST_MAX);
	w = cel_reference(env, cel_program_tree(p), &other, vars, STEPS);
	if (is_error(w, CEL_REFERENCE_EXCEEDED) || a->used > a->max / 2)
		return;
	print(&ev, v, &ours);
	print(&other, w, &theirs);
	require(str_eq(buf_str(&ours), buf_str(&theirs)));
	buf_release(&ours);
	buf_release(&theirs);
	make_trees(&ev, &v, a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_release) struct arena a, values;
	struct cel_value vars[ARRAY_SIZE(variables)];
	struct cel_env env = { .variables = variables, .nvariables = ARRAY_SIZE(variables) };
	const struct cel_program *p;
	struct cel_issues issues;
	struct str text;

	arena_init(&a, 32 * MIB);
	arena_init(&values, MIB);
	if (size == 0 || size > TEXT_MAX)
		return 0;
	env.libraries = data[0] & 1 ? cel_libraries_kubernetes : cel_libraries_all;
	if (data[0] & 1)
		env.flags = CEL_HOMOGENEOUS | CEL_LITERALS | CEL_HAS_IS_FREE;
	if (data[0] & 2) {
		env.libraries = cel_libraries_mutation;
		env.find_message = cel_mutation_message;
	}
	make_values(&values, vars);
	text = str_of(data + 1, size - 1);
	cel_issues_init(&issues, &a, text);
	p = cel_compile(&env, text, &a, &issues);
	require(p || issues.n > 0);
	if (p)
		compare(&env, p, &a, vars);
	return 0;
}
