/*
 * Any bytes as an expression with every macro there is. The result is a tree or a list of issues
 * that can be printed. A printed tree parses to the same tree.
 */
#include "base/core/limits.h"
#include "cel/cel_limits.h"
#include "cel/core/env.h"
#include "cel/lib/libraries.h"
#include "cel/parse/macro.h"
#include "target.h"

/* Printing adds a pair of parentheses per operator: only what is flat stays within bounds. */
enum { FLAT = 60, SHORT = 20000 };

static struct cel_expr *parse(struct arena *a, struct str text, struct cel_issues *ret_issues)
{
	struct cel_env env = { .libraries = cel_libraries_all };
	struct cel_expr *e;

	cel_issues_init(ret_issues, a, text);
	e = cel_parse(&env, ret_issues);
	require((e == NULL) == (ret_issues->n > 0));
	return e;
}

static void require_issues(const struct cel_issues *issues)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(64 * MIB);
	size_t line, column;

	for (const struct cel_issue *i = issues->first; i; i = i->next) {
		cel_issue_place(issues, i, &line, &column);
		require(i->message.n > 0 && line > 0 && column > 0);
		require(i->offset == SIZE_MAX || i->offset <= issues->text.n);
	}
	cel_issues_print(issues, &out);
	require(str_starts(buf_str(&out), STR("ERROR: <input>:")));
}

static void require_same(struct arena *a, const struct cel_expr *e)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(MIB), again = BUF_INIT(MIB);
	struct cel_issues issues;

	cel_expr_print(e, &out);
	if (out.overflow || out.n > SHORT)
		return;
	for (size_t i = 0; i < out.n; i++) /* names that cannot be written */
		if (out.p[i] == '@' || out.p[i] == '#')
			out.p[i] = '_';
	e = parse(a, buf_str(&out), &issues);
	require(e);
	cel_expr_print(e, &again);
	require(str_eq(buf_str(&out), buf_str(&again)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_release) struct arena a;
	struct cel_issues issues;
	struct cel_expr *e;

	arena_init(&a, 64 * MIB);
	e = parse(&a, str_of(data, size), &issues);
	if (!e) {
		require_issues(&issues);
		return 0;
	}
	require(cel_expr_height(e) <= CEL_HEIGHT_MAX);
	if (cel_expr_height(e) <= FLAT)
		require_same(&a, e);
	return 0;
}
