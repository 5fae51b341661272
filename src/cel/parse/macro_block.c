/*
 * Macros of expressions that a program has taken apart: what occurs several times is computed
 * once, in a list in front of all else, and named by its number.
 *
 *	cel.block([request.size, cel.index(0) * 2], cel.index(1) > limit)
 *
 * A block is bindings one within the other, so that a value sees those before it. Names are such as
 * nobody can write. Variables of comprehensions have numbers as well: of the nesting and of
 * the variable.
 */
#include <inttypes.h>

#include "cel/parse/macro.h"

static bool is_cel(const struct cel_expr *receiver)
{
	return receiver->kind == CEL_EXPR_IDENT && str_eqz(receiver->name, "cel");
}

/* The number that the argument is. */
static bool macro_block_number(struct cel_expander *x, const struct cel_expr *arg,
			       const char *macro, int64_t *ret_number)
{
	const struct cel_value *v = &arg->constant;

	if (arg->kind == CEL_EXPR_CONST && v->kind == CEL_INT && v->i >= 0) {
		*ret_number = v->i;
		return true;
	}
	cel_issue_add(x->issues, arg->offset,
		      "%s requires a non-negative int constant as its argument", macro);
	return false;
}

static struct str index_name(struct cel_expander *x, int64_t i)
{
	return str_from(arena_printf(x->issues->arena, "@index%" PRId64, i));
}

static struct cel_expr *expand_index(struct cel_expander *x, uint32_t offset,
				     struct cel_expr *receiver, struct cel_expr **args, size_t n)
{
	int64_t i;

	(void)offset;
	(void)n;
	if (!is_cel(receiver) || !macro_block_number(x, args[0], "cel.index()", &i))
		return NULL;
	return cel_make_ident(x, index_name(x, i));
}

static struct cel_expr *variable(struct cel_expander *x, struct cel_expr *receiver,
				 struct cel_expr **args, const char *macro, const char *prefix)
{
	int64_t depth, i;

	if (!is_cel(receiver) || !macro_block_number(x, args[0], macro, &depth) ||
	    !macro_block_number(x, args[1], macro, &i))
		return NULL;
	return cel_make_ident(x, str_from(arena_printf(x->issues->arena, "%s:%" PRId64 ":%" PRId64,
						       prefix, depth, i)));
}

static struct cel_expr *expand_iter_var(struct cel_expander *x, uint32_t offset,
					struct cel_expr *receiver, struct cel_expr **args, size_t n)
{
	(void)offset;
	(void)n;
	return variable(x, receiver, args, "cel.iterVar()", "@it");
}

static struct cel_expr *expand_accu_var(struct cel_expander *x, uint32_t offset,
					struct cel_expr *receiver, struct cel_expr **args, size_t n)
{
	(void)offset;
	(void)n;
	return variable(x, receiver, args, "cel.accuVar()", "@ac");
}

static struct cel_expr *expand_block(struct cel_expander *x, uint32_t offset,
				     struct cel_expr *receiver, struct cel_expr **args, size_t n)
{
	struct cel_expr *result = args[1];

	(void)offset;
	(void)n;
	if (!is_cel(receiver))
		return NULL;
	if (args[0]->kind != CEL_EXPR_LIST || args[0]->optionals) {
		cel_issue_add(x->issues, args[0]->offset,
			      "cel.block() requires a list of expressions as its first argument");
		return NULL;
	}
	for (uint32_t i = args[0]->n; i-- > 0;)
		result = cel_make_binding(x, index_name(x, i), args[0]->children[i], result);
	return result;
}

const struct cel_macro cel_macros_block[] = {
	{ "block", 2, true, expand_block },
	{ "index", 1, true, expand_index },
	{ "iterVar", 2, true, expand_iter_var },
	{ "accuVar", 2, true, expand_accu_var },
	{ NULL, 0, false, NULL },
};
