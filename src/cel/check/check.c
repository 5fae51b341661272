/*
 * Walks the tree with one function per kind of node, with the rules and messages of cel-go's
 * checker. An invalid node gets the type "error", which fits everywhere, so that each error is
 * reported once. At the end the type variables in all types are replaced.
 */
#include "cel/check/check.h"

#include "base/core/error.h"
#include "cel/cel_limits.h"
#include "cel/check/check_impl.h"
#include "cel/core/wellknown.h"

void check_report_undeclared(struct checker *c, const struct cel_expr *e)
{
	cel_issue_add(c->issues, e->offset, "undeclared reference to '%.*s' (in container '%.*s')",
		      STR_ARG(e->name), STR_ARG(c->env->container));
}

static void report_mismatch(struct checker *c, const struct cel_expr *e,
			    const struct cel_type *expected, const struct cel_type *found)
{
	cel_issue_add(c->issues, e->offset, "expected type '%s' but found '%s'",
		      check_show(c, expected), check_show(c, found));
}

static void check_constant(struct cel_expr *e)
{
	static const struct cel_type *const types[CEL_KINDS] = {
		[CEL_NULL] = &cel_null,   [CEL_BOOL] = &cel_bool,     [CEL_INT] = &cel_int,
		[CEL_UINT] = &cel_uint,   [CEL_DOUBLE] = &cel_double, [CEL_STRING] = &cel_string,
		[CEL_BYTES] = &cel_bytes,
	};

	if (types[e->constant.kind])
		e->type = types[e->constant.kind];
}

/* Turns the node into the variable or constant that its name denotes. */
static void become_name(struct cel_expr *e, const struct check_name *name)
{
	e->kind = name->constant.kind == CEL_ERROR ? CEL_EXPR_IDENT : CEL_EXPR_CONST;
	e->constant = name->constant;
	e->name = name->name;
	e->n = 0;
	e->variable = name->variable;
	e->type = name->type;
}

static void check_identifier(struct checker *c, struct cel_expr *e)
{
	struct check_name name;

	if (check_resolve(c, e->name, false, &name)) {
		become_name(e, &name);
		return;
	}
	check_report_undeclared(c, e);
	e->type = &cel_type_error;
}

static const struct cel_type *field_type(struct checker *c, const struct cel_expr *e,
					 const struct cel_type *object, struct str name)
{
	const struct cel_field *field = cel_type_field(object, name);
	const struct cel_type *declared = NULL;

	if (field)
		return field->type;
	if (object->message)
		declared = cel_message_field(object->message, name);
	if (declared)
		return declared;
	cel_issue_add(c->issues, e->offset, "undefined field '%.*s'", STR_ARG(name));
	return &cel_type_error;
}

static const struct cel_type *selected_type(struct checker *c, const struct cel_expr *e,
					    const struct cel_type *target, struct str field)
{
	switch (target->kind) {
	case CEL_TYPE_MAP:
		return target->params[1];
	case CEL_TYPE_OBJECT:
		return field_type(c, e, target, field);
	case CEL_TYPE_PARAM:
		/* Nothing may make it something without fields afterwards. */
		(void)check_assignable(c, &cel_dyn, target);
		return &cel_dyn;
	case CEL_TYPE_DYN:
	case CEL_TYPE_ANY:
	case CEL_TYPE_ERROR:
		return &cel_dyn;
	default:
		cel_issue_add(c->issues, e->offset, "type '%s' does not support field selection",
			      check_show(c, target));
		return &cel_dyn;
	}
}

void check_select_field(struct checker *c, struct cel_expr *e, struct cel_expr *operand,
			struct str field, bool optional)
{
	const struct cel_type *target, *type;

	check_expr(c, operand);
	target = check_substitute(c, operand->type, false);
	if (target->kind == CEL_TYPE_OPTIONAL) {
		target = target->params[0];
		optional = true;
	}
	type = selected_type(c, e, target, field);
	if (e->test_only)
		type = &cel_bool;
	else if (optional)
		type = cel_optional_of(c->arena, type);
	e->type = check_substitute(c, type, false);
}

static void check_select(struct checker *c, struct cel_expr *e)
{
	struct check_name name;
	struct str written;

	if (check_qualified_name(c, e, &written) && check_resolve(c, written, true, &name))
		become_name(e, &name);
	else
		check_select_field(c, e, e->children[0], e->name, false);
}

/* Returns the type of an element; for an optional one (`?`), the type of its value. */
static const struct cel_type *element_type(struct checker *c, const struct cel_expr *value,
					   bool optional)
{
	const struct cel_type *type = value->type;

	if (!optional || check_is_dyn(type))
		return type;
	if (type->kind == CEL_TYPE_OPTIONAL)
		return type->params[0];
	report_mismatch(c, value, cel_optional_of(c->arena, type), type);
	return type;
}

/* The type that elements have in common so far; NULL before the first. */
static const struct cel_type *check_join(struct checker *c, const struct cel_type *before,
					 const struct cel_type *type)
{
	if (!before)
		return type;
	if (check_assignable(c, before, type))
		return check_most_general(c, before, type);
	return &cel_dyn;
}

static void check_check_list(struct checker *c, struct cel_expr *e)
{
	const struct cel_type *type = NULL;

	for (size_t i = 0; i < e->n; i++) {
		struct cel_expr *element = e->children[i];

		check_expr(c, element);
		type = check_join(c, type,
				  element_type(c, element, e->optionals && e->optionals[i]));
	}
	e->type = cel_list_of(c->arena, type ? type : check_type_variable(c));
}

static void check_map(struct checker *c, struct cel_expr *e)
{
	const struct cel_type *keys = NULL, *values = NULL;

	for (size_t i = 0; i + 1 < e->n; i += 2) {
		struct cel_expr *key = e->children[i], *value = e->children[i + 1];

		check_expr(c, key);
		keys = check_join(c, keys, key->type);
		check_expr(c, value);
		values = check_join(c, values,
				    element_type(c, value, e->optionals && e->optionals[i / 2]));
	}
	if (!keys) {
		keys = check_type_variable(c);
		values = check_type_variable(c);
	}
	e->type = cel_map_of(c->arena, keys, values);
}

static void check_message_field(struct checker *c, const struct cel_expr *e, size_t i,
				const struct cel_message *message)
{
	const struct cel_expr *value = e->children[i];
	size_t at = e->field_offsets ? e->field_offsets[i] : value->offset;
	const struct cel_type *type, *wanted;

	wanted = message ? cel_message_field(message, e->fields[i]) : &cel_type_error;
	if (!wanted) {
		cel_issue_add(c->issues, at, "undefined field '%.*s'", STR_ARG(e->fields[i]));
		wanted = &cel_type_error;
	}
	type = element_type(c, value, e->optionals && e->optionals[i]);
	if (!check_assignable(c, wanted, type))
		cel_issue_add(c->issues, at,
			      "expected type of field '%.*s' is '%s' but provided type is '%s'",
			      STR_ARG(e->fields[i]), check_show(c, wanted), check_show(c, type));
}

static void check_message(struct checker *c, struct cel_expr *e)
{
	const struct cel_message *message = NULL;
	const struct cel_type *type = NULL;

	e->type = &cel_type_error;
	if (!check_resolve_message(c, e->name, &message, &type)) {
		check_report_undeclared(c, e);
		return;
	}
	if (message) {
		e->name = type->name;
		e->type = type;
	} else {
		cel_issue_add(c->issues, e->offset, "'%.*s' is not a message type",
			      STR_ARG(type->name));
	}
	for (size_t i = 0; i < e->n; i++) {
		check_expr(c, e->children[i]);
		check_message_field(c, e, i, message);
	}
}

/* Returns the types of a fold's variables, from the type of its range. */
static void range_types(struct checker *c, const struct cel_fold *fold,
			const struct cel_type **ret_var, const struct cel_type **ret_var2)
{
	const struct cel_type *range = check_substitute(c, fold->range->type, false);
	bool two = fold->var2.n > 0;

	*ret_var = *ret_var2 = &cel_dyn;
	switch (range->kind) {
	case CEL_TYPE_LIST:
		*ret_var = two ? &cel_int : range->params[0];
		*ret_var2 = range->params[0];
		return;
	case CEL_TYPE_MAP:
		*ret_var = range->params[0];
		*ret_var2 = range->params[1];
		return;
	case CEL_TYPE_DYN:
	case CEL_TYPE_ERROR:
	case CEL_TYPE_PARAM:
		(void)check_assignable(c, &cel_dyn, range);
		return;
	default:
		cel_issue_add(c->issues, fold->range->offset,
			      "expression of type '%s' cannot be range of a comprehension "
			      "(must be list, map, or dynamic)",
			      check_show(c, range));
		*ret_var = *ret_var2 = &cel_type_error;
	}
}

static void check_is(struct checker *c, const struct cel_expr *e, const struct cel_type *wanted)
{
	if (!check_assignable(c, wanted, e->type))
		report_mismatch(c, e, wanted, e->type);
}

static void check_fold(struct checker *c, struct cel_expr *e)
{
	struct cel_fold *fold = e->fold;
	struct check_local accu = { .outer = c->locals, .name = fold->accu };
	struct check_local var = { .outer = &accu, .name = fold->var };
	struct check_local var2 = { .outer = &var, .name = fold->var2 };

	check_expr(c, fold->range);
	check_expr(c, fold->init);
	accu.type = fold->init->type;
	range_types(c, fold, &var.type, &var2.type);
	c->locals = fold->var2.n > 0 ? &var2 : &var;
	check_expr(c, fold->condition);
	check_is(c, fold->condition, &cel_bool);
	check_expr(c, fold->step);
	check_is(c, fold->step, accu.type);
	c->locals = &accu;
	check_expr(c, fold->result);
	c->locals = accu.outer;
	e->type = check_substitute(c, fold->result->type, false);
}

/*
 * Without type checking: turns the node's issues into an error at run time, and its type into dyn,
 * so that all overloads stay.
 */
static void loosen(struct checker *c, struct cel_expr *e)
{
	struct cel_issues *issues = c->issues;

	if (issues->n) {
		e->kind = CEL_EXPR_CONST;
		e->constant = CEL_NOTHING;
		e->constant.error = arena_strdup(c->arena, issues->last->message);
		e->n = 0;
		cel_issues_init(issues, issues->arena, issues->text);
	}
	if (e->kind != CEL_EXPR_STRUCT)
		e->type = &cel_dyn;
}

static void check_kind(struct checker *c, struct cel_expr *e)
{
	e->type = e->type ? e->type : &cel_type_error;
	if (!check_spend(c))
		return;
	switch (e->kind) {
	case CEL_EXPR_CONST:
		check_constant(e);
		return;
	case CEL_EXPR_IDENT:
		check_identifier(c, e);
		return;
	case CEL_EXPR_SELECT:
		check_select(c, e);
		return;
	case CEL_EXPR_CALL:
		check_call(c, e);
		return;
	case CEL_EXPR_LIST:
		check_check_list(c, e);
		return;
	case CEL_EXPR_MAP:
		check_map(c, e);
		return;
	case CEL_EXPR_STRUCT:
		check_message(c, e);
		return;
	case CEL_EXPR_FOLD:
		check_fold(c, e);
		return;
	}
}

void check_expr(struct checker *c, struct cel_expr *e)
{
	check_kind(c, e);
	if (c->env->flags & CEL_DYNAMIC)
		loosen(c, e);
}

/* Replaces the type variables in all types by their bindings. */
static void check_finish(struct checker *c, struct cel_expr *e)
{
	e->type = check_substitute(c, e->type, true);
	for (size_t i = 0; i < e->n; i++)
		check_finish(c, e->children[i]);
	if (e->kind != CEL_EXPR_FOLD)
		return;
	check_finish(c, e->fold->range);
	check_finish(c, e->fold->init);
	check_finish(c, e->fold->condition);
	check_finish(c, e->fold->step);
	check_finish(c, e->fold->result);
}

int cel_check(const struct cel_env *env, struct cel_expr *root, struct cel_issues *issues)
{
	struct checker c = { .env = env, .issues = issues, .arena = issues->arena };
	size_t before = issues->n;
	struct cel_issues loose;

	if (env->flags & CEL_DYNAMIC) {
		cel_issues_init(&loose, issues->arena, issues->text);
		c.issues = &loose;
	}
	vec_init(&c.bound, CEL_TYPE_STEPS_MAX);
	vec_init(&c.trail, CEL_TYPE_STEPS_MAX);
	check_expr(&c, root);
	c.settled = true;
	if (issues->n == before)
		check_finish(&c, root);
	if (issues->n == before)
		check_literals(&c, root);
	vec_release(&c.bound);
	vec_release(&c.trail);
	return issues->n == before ? 0 : -ERR_INVALID;
}
