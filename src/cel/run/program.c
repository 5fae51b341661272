/*
 * Compiles text to a program. The tree is in the program's arena. The caller's issues may be in
 * another one, so parser and checker use separate issues, which are copied to the caller's if there
 * are any.
 */
#include "cel/run/program.h"

#include "cel/cel_limits.h"
#include "cel/check/check.h"
#include "cel/parse/parse.h"
#include "cel/run/program_impl.h"

enum {
	TEXT_STEPS = 256, /* of the budget: for an expression, however short */
	BYTE_STEPS = 4, /* for each byte of it */
};

/* Refuses it for want of steps. */
static const struct cel_program *exceeded(struct cel_issues *issues)
{
	cel_issue_add(issues, SIZE_MAX, "%s", CEL_COMPILE_EXCEEDED);
	return NULL;
}

/* Copies the faults to the caller's memory. Each is shown with the text, and costs as much. */
static const struct cel_program *program_hand_over(const struct cel_env *env,
						   const struct cel_issues *found,
						   struct cel_issues *issues)
{
	if (!cel_spend(env, MIN(found->n, CEL_ISSUES_MAX) * (found->text.n / 2 + 64)))
		return exceeded(issues);
	for (const struct cel_issue *i = found->first; i; i = i->next)
		cel_issue_add(issues, i->offset, "%.*s", STR_ARG(i->message));
	return NULL;
}

const struct cel_program *cel_compile(const struct cel_env *env, struct str text, struct arena *a,
				      struct cel_issues *issues)
{
	const struct cel_program *p = NULL;
	size_t used = a->used;
	struct cel_issues found;
	struct cel_expr *root;

	if (!cel_spend(env, TEXT_STEPS + BYTE_STEPS * (uint64_t)text.n))
		return exceeded(issues);
	cel_issues_init(&found, a, arena_str(a, text));
	if (issues->text.n == 0)
		issues->text = found.text;
	root = cel_parse(env, &found);
	if (!root || cel_check(env, root, &found) < 0)
		return program_hand_over(env, &found, issues);
	if (a->used - used <= CEL_PROGRAM_MAX)
		p = cel_compile_tree(env, root, a);
	if (cel_is_spent(env))
		return exceeded(issues);
	if (!p || p->large) {
		cel_issue_add(issues, SIZE_MAX, "the expression is too large");
		return NULL;
	}
	if (!p->fault || !(env->flags & CEL_LITERALS))
		return p;
	cel_issue_add(issues, SIZE_MAX, "program instantiation failed: %s", p->fault);
	return NULL;
}

const struct cel_type *cel_program_type(const struct cel_program *p)
{
	return p->type;
}

const struct cel_expr *cel_program_tree(const struct cel_program *p)
{
	return p->tree;
}
