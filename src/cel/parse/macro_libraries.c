/*
 * Macros of extensions.
 */
#include "cel/parse/macro.h"

static bool is_namespace(const struct cel_expr *receiver, const char *name)
{
	return receiver->kind == CEL_EXPR_IDENT && str_eqz(receiver->name, name);
}

static struct cel_expr *expand_bind(struct cel_expander *x, uint32_t offset,
				    struct cel_expr *receiver, struct cel_expr **args, size_t n)
{
	(void)offset;
	(void)n;
	if (!is_namespace(receiver, "cel"))
		return NULL;
	if (args[0]->kind == CEL_EXPR_IDENT)
		return cel_make_binding(x, args[0]->name, args[1], args[2]);
	cel_issue_add(x->issues, args[0]->offset,
		      "cel.bind() variable names must be simple identifiers");
	return NULL;
}

/* The computation with the variable bound to the value of a copy of the receiver. */
static struct cel_expr *bind_value(struct cel_expander *x, struct cel_expr *receiver,
				   struct cel_expr **args, const char *macro)
{
	struct cel_expr *value;

	if (args[0]->kind != CEL_EXPR_IDENT) {
		cel_issue_add(x->issues, args[0]->offset,
			      "%s() variable name must be a simple identifier", macro);
		return NULL;
	}
	value = cel_make_call(x, STR("value"), cel_make_copy(x, receiver), NULL, 0);
	return cel_make_binding(x, args[0]->name, value, args[1]);
}

static struct cel_expr *if_present(struct cel_expander *x, struct cel_expr *receiver,
				   struct cel_expr *then)
{
	return cel_make_call3(x, CEL_OP_CONDITIONAL,
			      cel_make_call(x, STR("hasValue"), receiver, NULL, 0), then,
			      cel_make_call(x, STR("optional.none"), NULL, NULL, 0));
}

static struct cel_expr *expand_opt_map(struct cel_expander *x, uint32_t offset,
				       struct cel_expr *receiver, struct cel_expr **args, size_t n)
{
	struct cel_expr *value = bind_value(x, receiver, args, "optMap");

	(void)offset;
	(void)n;
	return value ? if_present(x, receiver, cel_make_call1(x, "optional.of", value)) : NULL;
}

static struct cel_expr *expand_opt_flat_map(struct cel_expander *x, uint32_t offset,
					    struct cel_expr *receiver, struct cel_expr **args,
					    size_t n)
{
	struct cel_expr *value = bind_value(x, receiver, args, "optFlatMap");

	(void)offset;
	(void)n;
	return value ? if_present(x, receiver, value) : NULL;
}

/* Whether it may be a number, as far as one can see. */
static bool maybe_number(const struct cel_expr *e)
{
	switch (e->kind) {
	case CEL_EXPR_CONST:
		return e->constant.kind == CEL_INT || e->constant.kind == CEL_UINT ||
		       e->constant.kind == CEL_DOUBLE || e->constant.kind == CEL_ERROR;
	case CEL_EXPR_LIST:
	case CEL_EXPR_MAP:
	case CEL_EXPR_STRUCT:
		return false;
	default:
		return true;
	}
}

static bool maybe_numbers(const struct cel_expr *e)
{
	if (e->kind != CEL_EXPR_LIST || e->n == 0)
		return false;
	for (uint32_t i = 0; i < e->n; i++)
		if (!maybe_number(e->children[i]))
			return false;
	return true;
}

/* One argument is a number or a list of them; two are a pair; more become a list. */
static struct cel_expr *extreme(struct cel_expander *x, const char *macro, const char *function,
				struct cel_expr **args, size_t n)
{
	if (n == 1) {
		if (maybe_numbers(args[0]) || maybe_number(args[0]))
			return cel_make_call1(x, function, args[0]);
		cel_issue_add(x->issues, args[0]->offset, "%s() invalid single argument value",
			      macro);
		return NULL;
	}
	for (size_t i = 0; i < n; i++) {
		if (maybe_number(args[i]))
			continue;
		cel_issue_add(x->issues, args[i]->offset,
			      "%s() simple literal arguments must be numeric", macro);
		return NULL;
	}
	if (n == 2)
		return cel_make_call2(x, function, args[0], args[1]);
	return cel_make_call1(x, function, cel_make_aggregate(x, CEL_EXPR_LIST, args, n));
}

static struct cel_expr *expand_extreme(struct cel_expander *x, struct cel_expr *receiver,
				       struct cel_expr **args, size_t n, bool greatest)
{
	const char *macro = greatest ? "math.greatest" : "math.least";

	if (!is_namespace(receiver, "math"))
		return NULL;
	if (n > 0)
		return extreme(x, macro, greatest ? "math.@max" : "math.@min", args, n);
	cel_issue_add(x->issues, receiver->offset, "%s() requires at least one argument", macro);
	return NULL;
}

static struct cel_expr *expand_greatest(struct cel_expander *x, uint32_t offset,
					struct cel_expr *receiver, struct cel_expr **args, size_t n)
{
	(void)offset;
	return expand_extreme(x, receiver, args, n, true);
}

static struct cel_expr *expand_least(struct cel_expander *x, uint32_t offset,
				     struct cel_expr *receiver, struct cel_expr **args, size_t n)
{
	(void)offset;
	return expand_extreme(x, receiver, args, n, false);
}

/* Binds the list, maps it to its keys, and sorts the one by the other. */
static struct cel_expr *expand_sort_by(struct cel_expander *x, uint32_t offset,
				       struct cel_expr *receiver, struct cel_expr **args, size_t n)
{
	static const struct str input = { "@__sortBy_input__", 17 };
	const struct cel_macro *map = cel_macros_standard;
	struct cel_expr *keys, *sorted;

	if (receiver->kind == CEL_EXPR_CONST || receiver->kind == CEL_EXPR_MAP ||
	    receiver->kind == CEL_EXPR_STRUCT) {
		cel_issue_add(x->issues, receiver->offset,
			      "sortBy can only be applied to a list, identifier, "
			      "comprehension, call or select expression");
		return NULL;
	}
	while (map->nargs != n || !str_eqz(STR("map"), map->name))
		map++;
	keys = map->expand(x, offset, cel_make_ident(x, input), args, n);
	if (!keys)
		return NULL;
	sorted = cel_make_call(x, STR("@sortByAssociatedKeys"), cel_make_ident(x, input), &keys, 1);
	return cel_make_binding(x, input, receiver, sorted);
}

const struct cel_macro cel_macros_bindings[] = {
	{ "bind", 3, true, expand_bind },
	{ NULL, 0, false, NULL },
};

const struct cel_macro cel_macros_optional[] = {
	{ "optMap", 2, true, expand_opt_map },
	{ "optFlatMap", 2, true, expand_opt_flat_map },
	{ NULL, 0, false, NULL },
};

const struct cel_macro cel_macros_math[] = {
	{ "greatest", UINT8_MAX, true, expand_greatest },
	{ "least", UINT8_MAX, true, expand_least },
	{ NULL, 0, false, NULL },
};

const struct cel_macro cel_macros_lists[] = {
	{ "sortBy", 2, true, expand_sort_by },
	{ NULL, 0, false, NULL },
};
