/*
 * Checks calls. a.b.f(x) is the function "a.b.f" if there is one, else the method f of a.b. Every
 * overload that fits the types of the arguments is kept: one if the types are known, several if
 * they are dyn. With several, the result is dyn unless all have the same result type.
 */
#include "cel/cel_limits.h"
#include "cel/check/check_impl.h"
#include "cel/core/library.h"

struct resolution {
	const struct cel_type *const *args; /* types */
	size_t nargs;
	const struct cel_overload **found; /* also the result: those that fit, at the front */
	size_t nfound;
	const struct cel_type *result; /* NULL: no overload fits */
};

static void report_no_overload(struct checker *c, const struct cel_expr *e,
			       const struct resolution *r)
{
	CLEANUP(buf_release) struct buf signature = BUF_INIT(CEL_TYPE_SHOWN_MAX);

	for (size_t i = 0; i < r->nargs; i++) {
		if (i == e->member)
			(void)buf_addc(&signature, '(');
		else if (i > 0)
			(void)buf_addz(&signature, ", ");
		cel_type_print(check_substitute(c, r->args[i], true), &signature);
		if (i == 0 && e->member)
			(void)buf_addc(&signature, '.');
	}
	if (r->nargs <= e->member)
		(void)buf_addc(&signature, '(');
	(void)buf_addc(&signature, ')');
	cel_issue_add(c->issues, e->offset,
		      "found no matching overload for '%.*s' applied to '%.*s'", STR_ARG(e->name),
		      STR_ARG(buf_str(&signature)));
}

/* The operators && and || may have any number of operands. Each wrong one is reported. */
static void resolve_logical(struct checker *c, struct cel_expr *e, struct resolution *r)
{
	r->nfound = 1;
	r->result = &cel_bool;
	for (size_t i = 0; i < r->nargs; i++) {
		if (check_assignable(c, r->args[i], &cel_bool))
			continue;
		cel_issue_add(c->issues, e->children[i]->offset,
			      "expected type 'bool' but found '%s'", check_show(c, r->args[i]));
		r->result = &cel_type_error;
	}
}

static void resolve_one(struct checker *c, const struct cel_overload *o, struct resolution *r)
{
	const struct cel_type *args[CEL_ARGS_MAX], *result;

	check_instantiate(c, o, args, &result);
	if (o->nargs != r->nargs || !check_all_assignable(c, r->args, args, r->nargs))
		return;
	r->found[r->nfound++] = o;
	result = check_substitute(c, result, false);
	if (!r->result)
		r->result = result;
	else if (!check_is_dyn(r->result) && !check_same(c, result, r->result))
		r->result = &cel_dyn;
}

/* Among `n` overloads of the function e->name. */
static void call_resolve(struct checker *c, struct cel_expr *e,
			 const struct cel_overload **overloads, size_t n)
{
	const struct cel_type **args = ARENA_ARRAY(c->arena, const struct cel_type *, e->n + 1);
	struct resolution r = { .args = args, .nargs = e->n, .found = overloads };

	for (size_t i = 0; i < e->n; i++)
		args[i] = e->children[i]->type;
	if (str_eqz(e->name, CEL_OP_AND) || str_eqz(e->name, CEL_OP_OR)) {
		resolve_logical(c, e, &r);
	} else {
		for (size_t i = 0; i < n; i++) {
			if (overloads[i]->member == e->member)
				resolve_one(c, overloads[i], &r);
		}
	}
	e->overloads = r.found;
	e->noverloads = (uint32_t)r.nfound;
	e->type = r.result ? r.result : &cel_type_error;
	if (!r.result)
		report_no_overload(c, e, &r);
}

/* operand.?field: a select, however it is written. */
static void check_optional_select(struct checker *c, struct cel_expr *e)
{
	const struct cel_expr *field = e->n == 2 ? e->children[1] : NULL;
	const struct cel_overload **overloads = NULL;
	struct str name;
	size_t n;

	e->type = &cel_type_error;
	if (!field || field->kind != CEL_EXPR_CONST || field->constant.kind != CEL_STRING) {
		cel_issue_add(c->issues, e->offset, "unsupported optional field selection");
		return;
	}
	e->children[1]->type = &cel_string;
	check_select_field(c, e, e->children[0], field->constant.s, true);
	n = check_function(c, e->name, &name, &overloads);
	e->overloads = overloads;
	e->noverloads = n > 0;
}

/* Makes a.b.f(x) a call of the function "a.b.f", without receiver, if there is one. */
static bool check_namespaced(struct checker *c, struct cel_expr *e)
{
	const struct cel_overload **overloads;
	struct str prefix, name;
	size_t n;

	if (!check_qualified_name(c, e->children[0], &prefix))
		return false;
	name = str_from(arena_printf(c->arena, "%.*s.%.*s", STR_ARG(prefix), STR_ARG(e->name)));
	n = check_function(c, name, &name, &overloads);
	if (n == 0)
		return false;
	e->name = name;
	e->member = false;
	e->children++;
	e->n--;
	call_resolve(c, e, overloads, n);
	return true;
}

void check_call(struct checker *c, struct cel_expr *e)
{
	const struct cel_overload **overloads;
	struct str name;
	size_t n;

	if (str_eqz(e->name, CEL_OP_OPT_SELECT)) {
		check_optional_select(c, e);
		return;
	}
	for (size_t i = e->member; i < e->n; i++)
		check_expr(c, e->children[i]);
	if (e->member) {
		if (check_namespaced(c, e))
			return;
		check_expr(c, e->children[0]);
	}
	n = check_function(c, e->name, &name, &overloads);
	if (n == 0) {
		check_report_undeclared(c, e);
		e->type = &cel_type_error;
		return;
	}
	e->name = name;
	call_resolve(c, e, overloads, n);
}
