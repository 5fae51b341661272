/*
 * Runs every file cases/?*.cases: expressions and what they are to yield. A file has lines:
 *
 *	# text                  a comment
 *	env NAME                the environment of what follows in the file: std (every library; at
 *	                        the beginning), dynamic (the same without types), k8s (Kubernetes'
 *	                        libraries and rules), device
 *	with {JSON}             variables of the next case, declared dyn
 *	EXPRESSION => EXPECTED  a case; the last " => " of the line counts
 *	EXPRESSION              a long one may take several lines, which are joined
 *	  MORE => EXPECTED      by newlines; the last may be "=> EXPECTED" alone
 *	cost N                  after a case: the cost of its evaluation
 *
 * Blank lines are for people. EXPECTED is one of
 *
 *	TYPE VALUE              type(x), and x as cel_write_json() prints it: int 3, uint 3,
 *	                        double 1.5, double "NaN", string "a", bytes "AGI=", bool true,
 *	                        null_type null, list [1,2], map {"a":1}, type "int",
 *	                        google.protobuf.Duration "60s", optional_type null. VALUE may be
 *	                        left out.
 *	error TEXT              evaluating fails; the message has TEXT in it
 *	issue TEXT              compiling fails; the issues, printed, have TEXT in them
 *
 * Every failing case is printed on standard error with file, line, expected and actual result; then
 * the test of the file fails. Time zones come from the table below, so that no case depends on the
 * machine.
 */
#include <glob.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/core/mem.h"
#include "base/system/file.h"
#include "base/time/zone.h"
#include "cel/cel_limits.h"
#include "cel/core/json.h"
#include "cel/lib/libraries.h"
#include "cel/run/program.h"

enum {
	VARIABLES_MAX = 32,
	FILES_MAX = 64,
	CASES_FILE_MAX = 4 * 1024 * 1024,
};

struct environment {
	const char *name;
	const struct cel_library *const *libraries;
	unsigned flags;
};

static const struct environment environments[] = {
	{ "std", cel_libraries_all, CEL_OPTIONAL_STRICT },
	{ "dynamic", cel_libraries_all, CEL_OPTIONAL_STRICT | CEL_DYNAMIC },
	{ "k8s", cel_libraries_kubernetes, CEL_HOMOGENEOUS | CEL_LITERALS | CEL_HAS_IS_FREE },
	{ "device", cel_libraries_device, CEL_HOMOGENEOUS | CEL_LITERALS | CEL_HAS_IS_FREE },
};

/* Zones by the rule that ends their files. */
static const struct {
	const char *name, *rule;
} zones[] = {
	{ "America/Los_Angeles", "PST8PDT,M3.2.0,M11.1.0" },
	{ "America/New_York", "EST5EDT,M3.2.0,M11.1.0" },
	{ "Asia/Kathmandu", "<+0545>-5:45" },
	{ "Australia/Sydney", "AEST-10AEDT,M10.1.0,M4.1.0/3" },
	{ "Europe/Berlin", "CET-1CEST,M3.5.0,M10.5.0/3" },
};

/* One file, as it is read. */
struct run {
	const char *file;
	size_t line; /* of what was read last */
	size_t case_line; /* where the current case began */
	const struct environment *env;
	struct str with; /* n 0: none */
	struct buf text; /* of the expression so far */
	struct arena program, scratch;
	uint64_t cost; /* of the last case */
	size_t cases, failed;
};

static bool zone_offset_of(void *context, struct str name, int64_t seconds, int32_t *ret_offset)
{
	struct zone zone;

	(void)context;
	for (size_t i = 0; i < ARRAY_SIZE(zones); i++)
		if (str_eqz(name, zones[i].name)) {
			if (zone_of_rule(str_from(zones[i].rule), &zone, NULL) < 0)
				return false;
			*ret_offset = zone_offset(&zone, seconds);
			return true;
		}
	return false;
}

static void PRINTF_LIKE(2, 3) fail_case(struct run *r, const char *fmt, ...)
{
	va_list ap;

	r->failed++;
	(void)fprintf(stderr, "%s:%zu: %.*s\n\t", r->file, r->case_line,
		      STR_ARG(buf_str(&r->text)));
	va_start(ap, fmt);
	(void)vfprintf(stderr, fmt, ap);
	va_end(ap);
	(void)fputc('\n', stderr);
}

/* Reads the variables of the case; false when the file is at fault. */
static bool read_variables(struct run *r, struct cel_variable *variables, struct cel_value *values,
			   size_t *ret_n)
{
	struct json *tree = NULL;
	struct error err;
	size_t n = 0;

	*ret_n = 0;
	if (r->with.n == 0)
		return true;
	if (json_parse(&r->program, r->with, NULL, &tree, &err) < 0 ||
	    !json_is(tree, JSON_OBJECT)) {
		fail_case(r, "the variables are no JSON object");
		return false;
	}
	JSON_FOREACH (member, tree) {
		if (n == VARIABLES_MAX)
			break;
		variables[n] = (struct cel_variable){ json_key(member), &cel_dyn };
		values[n++] = cel_of_json(member);
	}
	*ret_n = n;
	return true;
}

/* Prints the result of an expression in the format of a cases file. */
static void print_result(struct cel_eval *ev, const struct cel_value *v, struct buf *out)
{
	struct json_writer w;

	if (cel_is_error(*v)) {
		(void)buf_printf(out, "error %s", v->error ? v->error : "(nothing)");
		return;
	}
	(void)buf_printf(out, "%.*s ", STR_ARG(cel_value_type(v)->name));
	json_writer_init(&w, out, NULL);
	cel_write_json(ev, v, &w);
	(void)json_writer_finish(&w);
}

/* Compiles and evaluates the expression; appends the result to `out`. */
static void evaluate(struct run *r, struct buf *out)
{
	struct cel_variable variables[VARIABLES_MAX];
	struct cel_value values[VARIABLES_MAX], v;
	struct cel_env env = {
		.libraries = r->env->libraries,
		.variables = variables,
		.flags = r->env->flags,
	};
	struct cel_eval ev = { .scratch = &r->scratch, .zone_offset = zone_offset_of };
	const struct cel_program *program;
	struct cel_issues issues;

	if (!read_variables(r, variables, values, &env.nvariables))
		return;
	cel_issues_init(&issues, &r->program, buf_str(&r->text));
	program = cel_compile(&env, buf_str(&r->text), &r->program, &issues);
	if (!program) {
		(void)buf_addz(out, "issue ");
		cel_issues_print(&issues, out);
		return;
	}
	v = cel_run(program, &ev, values);
	r->cost = ev.cost;
	print_result(&ev, &v, out);
}

static bool as_expected(struct str got, struct str expected)
{
	struct str rest = expected, word;

	(void)str_split(&rest, ' ', &word);
	if (str_eqz(word, "error") || str_eqz(word, "issue"))
		return str_starts(got, word) && str_find(got, rest) >= 0;
	if (!rest.p)
		return str_starts(got, word) && got.n > word.n && got.p[word.n] == ' ';
	return str_eq(got, expected);
}

static void run_case(struct run *r, struct str expected)
{
	struct buf got = BUF_INIT(CASES_FILE_MAX);

	r->cases++;
	r->cost = UINT64_MAX;
	evaluate(r, &got);
	if (got.n > 0 && !as_expected(buf_str(&got), expected))
		fail_case(r, "expected: %.*s\n\tgot:      %.*s", STR_ARG(expected),
			  STR_ARG(buf_str(&got)));
	buf_release(&got);
	buf_clear(&r->text);
	arena_clear(&r->program);
	arena_clear(&r->scratch);
	r->with = STR_NULL;
}

static void check_cost(struct run *r, struct str expected)
{
	uint64_t cost;

	r->case_line = r->line;
	if (!str_to_u64(expected, &cost) || cost != r->cost)
		fail_case(r, "expected: cost %.*s\n\tgot:      cost %" PRIu64, STR_ARG(expected),
			  r->cost);
}

static void set_environment(struct run *r, struct str name)
{
	for (size_t i = 0; i < ARRAY_SIZE(environments); i++)
		if (str_eqz(name, environments[i].name)) {
			r->env = &environments[i];
			return;
		}
	r->case_line = r->line;
	fail_case(r, "there is no environment %.*s", STR_ARG(name));
}

/* Index of the last " => ", or that the line begins with "=> "; -1: neither. */
static ptrdiff_t find_arrow(struct str line)
{
	struct str arrow = STR(" => ");

	for (size_t i = line.n; i-- > 0;)
		if (str_starts(str_skip(line, i), arrow))
			return (ptrdiff_t)i + 1;
	return str_starts(line, STR("=> ")) ? 0 : -1;
}

/* A line of an expression, or its last with what is expected. */
static void read_expression(struct run *r, struct str line)
{
	ptrdiff_t arrow = find_arrow(line);

	if (r->text.n == 0)
		r->case_line = r->line;
	else if (arrow != 0)
		(void)buf_addc(&r->text, '\n');
	if (arrow < 0) {
		(void)buf_add_str(&r->text, line);
		return;
	}
	(void)buf_add(&r->text, line.p, arrow > 0 ? (size_t)arrow - 1 : 0);
	run_case(r, str_trim(str_skip(line, (size_t)arrow + 2)));
}

static void read_line(struct run *r, struct str line)
{
	bool blank = str_trim(line).n == 0;

	r->line++;
	if (r->text.n > 0 && blank)
		run_case(r, STR("(nothing: the case has no =>)"));
	else if (blank || (r->text.n == 0 && line.p[0] == '#'))
		return;
	else if (r->text.n == 0 && str_starts(line, STR("env ")))
		set_environment(r, str_trim(str_skip(line, 4)));
	else if (r->text.n == 0 && str_starts(line, STR("with ")))
		r->with = str_skip(line, 5);
	else if (r->text.n == 0 && str_starts(line, STR("cost ")) && find_arrow(line) < 0)
		check_cost(r, str_trim(str_skip(line, 5)));
	else
		read_expression(r, line);
}

static void cases_hold(void **state)
{
	const char *file = *state;
	struct run r = { .file = strrchr(file, '/') + 1, .env = &environments[0] };
	struct buf content = BUF_INIT(CASES_FILE_MAX);
	struct str rest, line;
	struct error err;

	assert_return_code(file_read(file, &content, &err), 0);
	buf_init(&r.text, CEL_TEXT_MAX);
	arena_init(&r.program, CEL_PROGRAM_MAX);
	arena_init(&r.scratch, CEL_SCRATCH_MAX);
	rest = buf_str(&content);
	while (str_split(&rest, '\n', &line))
		read_line(&r, line);
	(void)fprintf(stderr, "%s: %zu cases, %zu failed\n", r.file, r.cases, r.failed);
	arena_release(&r.program);
	arena_release(&r.scratch);
	buf_release(&r.text);
	buf_release(&content);
	assert_int_equal(r.failed, 0);
	assert_int_not_equal(r.cases, 0);
}

/* One test for each file that is given, or that is there. */
int main(int argc, char **argv)
{
	struct CMUnitTest tests[FILES_MAX] = { 0 };
	size_t n = 0;
	glob_t found;
	int failed;

	if (glob(CEL_CASES "/?*.cases", 0, NULL, &found) != 0)
		return EXIT_FAILURE;
	for (size_t i = 0; i < found.gl_pathc && argc == 1 && n < FILES_MAX; i++)
		tests[n++] = (struct CMUnitTest){ .name = strrchr(found.gl_pathv[i], '/') + 1,
						  .test_func = cases_hold,
						  .initial_state = found.gl_pathv[i] };
	for (int i = 1; i < argc && n < FILES_MAX; i++)
		tests[n++] = (struct CMUnitTest){ .name = argv[i],
						  .test_func = cases_hold,
						  .initial_state = argv[i] };
	failed = _cmocka_run_group_tests("cel/cases", tests, n, NULL, NULL);
	globfree(&found);
	return failed;
}
