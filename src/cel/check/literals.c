/*
 * Checks of Kubernetes after type checking: constant durations, times and patterns must be valid,
 * elements of a literal must have one type (dyn does not hide another), and format strings must fit
 * their arguments.
 *
 * It always checks the first argument: for matches(text, pattern) this compiles the text, as cel-go
 * does. Recursion is bounded by CEL_HEIGHT_MAX.
 */
#include "cel/check/check_impl.h"
#include "cel/core/library.h"
#include "cel/lib/regex.h"

static void check_argument(struct checker *c, const struct cel_expr *call,
			   bool (*valid)(struct checker *, const struct cel_expr *,
					 const struct cel_value *))
{
	const struct cel_expr *arg = call->n > call->member ? call->children[call->member] : NULL;

	if (arg && arg->kind == CEL_EXPR_CONST && !valid(c, call, &arg->constant))
		cel_issue_add(c->issues, arg->offset, "invalid %.*s argument", STR_ARG(call->name));
}

/* Calls the conversion to check whether its constant argument can be converted. */
static bool converts(struct checker *c, const struct cel_expr *call, const struct cel_value *arg)
{
	struct cel_eval ev = { .scratch = c->arena };
	const struct cel_overload *o = call->noverloads == 1 ? call->overloads[0] : NULL;

	if (!o || o->nargs != 1 || !o->call)
		return true;
	/* Null passes the type check for a time, but is not valid. */
	return cel_type_admits(o->args[0], arg) && !cel_is_error(o->call(&ev, arg));
}

static bool compiles(struct checker *c, const struct cel_expr *call, const struct cel_value *arg)
{
	(void)call;
	return arg->kind != CEL_STRING || cel_regex_check(c->env, arg->s);
}

static void check_constant_argument(struct checker *c, const struct cel_expr *call)
{
	if (str_eqz(call->name, "duration") || str_eqz(call->name, "timestamp"))
		check_argument(c, call, converts);
	else if (str_eqz(call->name, "matches"))
		check_argument(c, call, compiles);
}

/* The type of an element, which for a `?` one is that of its value. */
static const struct cel_type *held_type(const struct cel_expr *e, size_t i, size_t element)
{
	const struct cel_type *type = e->children[i]->type;

	if (e->optionals && e->optionals[element] && type->kind == CEL_TYPE_OPTIONAL)
		return type->params[0];
	return type;
}

static bool agrees(struct checker *c, const struct cel_expr *e, const struct cel_type *expected,
		   const struct cel_type *type)
{
	if (check_same(c, expected, type))
		return true;
	cel_issue_add(c->issues, e->offset, "expected type '%s' but found '%s'",
		      check_show(c, expected), check_show(c, type));
	return false;
}

static void check_uniform_list(struct checker *c, const struct cel_expr *e)
{
	for (size_t i = 1; i < e->n; i++) {
		if (!agrees(c, e->children[i], held_type(e, 0, 0), held_type(e, i, i)))
			return;
	}
}

static void check_uniform_map(struct checker *c, const struct cel_expr *e)
{
	for (size_t i = 2; i + 1 < e->n; i += 2) {
		(void)agrees(c, e->children[i], e->children[0]->type, e->children[i]->type);
		(void)agrees(c, e->children[i + 1], held_type(e, 1, 0), held_type(e, i + 1, i / 2));
	}
}

/* `exempt`: within an argument of format(), whose lists are mixed by nature. */
static void literals_check_node(struct checker *c, const struct cel_expr *e, bool exempt)
{
	bool uniform = (c->env->flags & CEL_HOMOGENEOUS) && !exempt;

	if (e->kind == CEL_EXPR_LIST && uniform)
		check_uniform_list(c, e);
	if (e->kind == CEL_EXPR_MAP && uniform)
		check_uniform_map(c, e);
	if (e->kind == CEL_EXPR_CALL && (c->env->flags & CEL_LITERALS)) {
		check_constant_argument(c, e);
		check_format(c, e);
	}
}

static void literals_walk(struct checker *c, const struct cel_expr *e, bool exempt)
{
	literals_check_node(c, e, exempt);
	exempt |= e->kind == CEL_EXPR_CALL && str_eqz(e->name, "format");
	for (size_t i = 0; i < e->n; i++)
		literals_walk(c, e->children[i], exempt);
	if (e->kind != CEL_EXPR_FOLD)
		return;
	literals_walk(c, e->fold->range, exempt);
	literals_walk(c, e->fold->init, exempt);
	literals_walk(c, e->fold->condition, exempt);
	literals_walk(c, e->fold->step, exempt);
	literals_walk(c, e->fold->result, exempt);
}

void check_literals(struct checker *c, struct cel_expr *root)
{
	if (c->env->flags & (CEL_HOMOGENEOUS | CEL_LITERALS))
		literals_walk(c, root, false);
}
