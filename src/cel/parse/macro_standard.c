/*
 * Macros of the language itself, and those with two variables. All of them become a fold. all(x,
 * ..) and all(i, x, ..) only differ in the number of variables, so each expansion handles both.
 */
#include "cel/parse/macro.h"

static struct cel_expr *accumulator(struct cel_expander *x)
{
	return cel_make_ident(x, STR(CEL_ACCUMULATOR));
}

static struct cel_expr *boolean(struct cel_expander *x, bool v)
{
	return cel_make_constant(x, CEL_BOOL_V(v));
}

static struct cel_expr *one(struct cel_expander *x)
{
	return cel_make_constant(x, CEL_INT_V(1));
}

/* Reads the variables from the first arguments; false if it added an issue. */
static bool take_variables(struct cel_expander *x, struct cel_expr **args, size_t n,
			   const char *no_name, struct cel_fold *fold)
{
	for (size_t i = 0; i < n; i++) {
		if (args[i]->kind == CEL_EXPR_IDENT)
			continue;
		cel_issue_add(x->issues, args[i]->offset, "%s", no_name);
		return false;
	}
	fold->var = args[0]->name;
	if (n > 1)
		fold->var2 = args[1]->name;
	if (n > 1 && str_eq(fold->var, fold->var2)) {
		cel_issue_add(x->issues, args[1]->offset, "duplicate variable name: %.*s",
			      STR_ARG(fold->var));
		return false;
	}
	for (size_t i = 0; i < n; i++) {
		if (!str_eqz(args[i]->name, CEL_ACCUMULATOR) &&
		    !str_eqz(args[i]->name, "__result__"))
			continue;
		cel_issue_add(x->issues, args[i]->offset,
			      "iteration variable overwrites accumulator variable");
		return false;
	}
	fold->accu = STR(CEL_ACCUMULATOR);
	return true;
}

static struct cel_expr *expand_has(struct cel_expander *x, uint32_t offset,
				   struct cel_expr *receiver, struct cel_expr **args, size_t n)
{
	(void)offset;
	(void)receiver;
	(void)n;
	if (args[0]->kind == CEL_EXPR_SELECT)
		return cel_make_select(x, args[0]->children[0], args[0]->name, true);
	cel_issue_add(x->issues, args[0]->offset, "invalid argument to has() macro");
	return NULL;
}

/* Quantifiers take the variables, of which there are n - 1, and a predicate. */
static bool begin_quantifier(struct cel_expander *x, struct cel_expr *receiver,
			     struct cel_expr **args, size_t n, struct cel_fold *fold)
{
	*fold = (struct cel_fold){ .range = receiver };
	return take_variables(x, args, n - 1, "argument must be a simple name", fold);
}

static struct cel_expr *expand_all(struct cel_expander *x, uint32_t offset,
				   struct cel_expr *receiver, struct cel_expr **args, size_t n)
{
	struct cel_fold fold;

	(void)offset;
	if (!begin_quantifier(x, receiver, args, n, &fold))
		return NULL;
	fold.init = boolean(x, true);
	fold.condition = cel_make_call1(x, CEL_OP_NOT_STRICTLY_FALSE, accumulator(x));
	fold.step = cel_make_call2(x, CEL_OP_AND, accumulator(x), args[n - 1]);
	fold.result = accumulator(x);
	return cel_make_fold(x, &fold);
}

static struct cel_expr *expand_exists(struct cel_expander *x, uint32_t offset,
				      struct cel_expr *receiver, struct cel_expr **args, size_t n)
{
	struct cel_fold fold;

	(void)offset;
	if (!begin_quantifier(x, receiver, args, n, &fold))
		return NULL;
	fold.init = boolean(x, false);
	fold.condition = cel_make_call1(x, CEL_OP_NOT_STRICTLY_FALSE,
					cel_make_call1(x, CEL_OP_NOT, accumulator(x)));
	fold.step = cel_make_call2(x, CEL_OP_OR, accumulator(x), args[n - 1]);
	fold.result = accumulator(x);
	return cel_make_fold(x, &fold);
}

/* Adds one where the predicate holds; never stops early, so that errors are not lost. */
static struct cel_expr *expand_exists_one(struct cel_expander *x, uint32_t offset,
					  struct cel_expr *receiver, struct cel_expr **args,
					  size_t n)
{
	struct cel_fold fold;

	(void)offset;
	if (!begin_quantifier(x, receiver, args, n, &fold))
		return NULL;
	fold.init = cel_make_constant(x, CEL_INT_V(0));
	fold.condition = boolean(x, true);
	fold.step = cel_make_call3(x, CEL_OP_CONDITIONAL, args[n - 1],
				   cel_make_call2(x, CEL_OP_ADD, accumulator(x), one(x)),
				   accumulator(x));
	fold.result = cel_make_call2(x, CEL_OP_EQUALS, accumulator(x), one(x));
	return cel_make_fold(x, &fold);
}

/* A fold that only ever adds: `step`, but the accumulator as it is where `filter` is false. */
static struct cel_expr *macro_standard_collect(struct cel_expander *x, struct cel_fold *fold,
					       enum cel_expr_kind kind, struct cel_expr *filter,
					       struct cel_expr *step)
{
	fold->init = cel_make_aggregate(x, kind, NULL, 0);
	fold->condition = boolean(x, true);
	fold->step = filter ? cel_make_call3(x, CEL_OP_CONDITIONAL, filter, step, accumulator(x))
			    : step;
	fold->result = accumulator(x);
	return cel_make_fold(x, fold);
}

static struct cel_expr *macro_standard_append(struct cel_expander *x, struct cel_expr *element)
{
	return cel_make_call2(x, CEL_OP_ADD, accumulator(x),
			      cel_make_aggregate(x, CEL_EXPR_LIST, &element, 1));
}

static struct cel_expr *expand_map(struct cel_expander *x, uint32_t offset,
				   struct cel_expr *receiver, struct cel_expr **args, size_t n)
{
	struct cel_fold fold = { .range = receiver };

	(void)offset;
	if (!take_variables(x, args, 1, "argument is not an identifier", &fold))
		return NULL;
	return macro_standard_collect(x, &fold, CEL_EXPR_LIST, n == 3 ? args[1] : NULL,
				      macro_standard_append(x, args[n - 1]));
}

static struct cel_expr *expand_filter(struct cel_expander *x, uint32_t offset,
				      struct cel_expr *receiver, struct cel_expr **args, size_t n)
{
	struct cel_fold fold = { .range = receiver };

	(void)offset;
	(void)n;
	if (!take_variables(x, args, 1, "argument is not an identifier", &fold))
		return NULL;
	return macro_standard_collect(x, &fold, CEL_EXPR_LIST, args[1],
				      macro_standard_append(x, args[0]));
}

/* transformX(k, v, transform) and transformX(k, v, filter, transform). */
static bool begin_transform(struct cel_expander *x, struct cel_expr *receiver,
			    struct cel_expr **args, struct cel_fold *fold)
{
	*fold = (struct cel_fold){ .range = receiver };
	return take_variables(x, args, 2, "argument must be a simple name", fold);
}

static struct cel_expr *expand_transform_list(struct cel_expander *x, uint32_t offset,
					      struct cel_expr *receiver, struct cel_expr **args,
					      size_t n)
{
	struct cel_fold fold;

	(void)offset;
	if (!begin_transform(x, receiver, args, &fold))
		return NULL;
	return macro_standard_collect(x, &fold, CEL_EXPR_LIST, n == 4 ? args[2] : NULL,
				      macro_standard_append(x, args[n - 1]));
}

static struct cel_expr *expand_transform_map(struct cel_expander *x, uint32_t offset,
					     struct cel_expr *receiver, struct cel_expr **args,
					     size_t n)
{
	struct cel_fold fold;
	struct cel_expr *step;

	(void)offset;
	if (!begin_transform(x, receiver, args, &fold))
		return NULL;
	step = cel_make_call3(x, "cel.@mapInsert", accumulator(x), cel_make_ident(x, fold.var),
			      args[n - 1]);
	return macro_standard_collect(x, &fold, CEL_EXPR_MAP, n == 4 ? args[2] : NULL, step);
}

static struct cel_expr *expand_transform_map_entry(struct cel_expander *x, uint32_t offset,
						   struct cel_expr *receiver,
						   struct cel_expr **args, size_t n)
{
	struct cel_fold fold;
	struct cel_expr *step;

	(void)offset;
	if (!begin_transform(x, receiver, args, &fold))
		return NULL;
	step = cel_make_call2(x, "cel.@mapInsert", accumulator(x), args[n - 1]);
	return macro_standard_collect(x, &fold, CEL_EXPR_MAP, n == 4 ? args[2] : NULL, step);
}

const struct cel_macro cel_macros_standard[] = {
	{ "has", 1, false, expand_has },
	{ "all", 2, true, expand_all },
	{ "exists", 2, true, expand_exists },
	{ "exists_one", 2, true, expand_exists_one },
	{ "existsOne", 2, true, expand_exists_one },
	{ "map", 2, true, expand_map },
	{ "map", 3, true, expand_map },
	{ "filter", 2, true, expand_filter },
	{ NULL, 0, false, NULL },
};

const struct cel_macro cel_macros_comprehensions[] = {
	{ "all", 3, true, expand_all },
	{ "exists", 3, true, expand_exists },
	{ "existsOne", 3, true, expand_exists_one },
	{ "exists_one", 3, true, expand_exists_one },
	{ "transformList", 3, true, expand_transform_list },
	{ "transformList", 4, true, expand_transform_list },
	{ "transformMap", 3, true, expand_transform_map },
	{ "transformMap", 4, true, expand_transform_map },
	{ "transformMapEntry", 3, true, expand_transform_map_entry },
	{ "transformMapEntry", 4, true, expand_transform_map_entry },
	{ NULL, 0, false, NULL },
};
