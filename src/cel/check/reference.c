/*
 * One function per kind of node. Nothing is precomputed and nothing is short-cut: both sides of
 * && are evaluated and then looked at, a fold makes a new list in each step.
 */
#include "cel/check/reference.h"

#include <inttypes.h>
#include <math.h>

#include "cel/core/library.h"
#include "cel/core/wellknown.h"

/* A variable of a fold. */
struct local {
	const struct local *outer;
	struct str name;
	struct cel_value value;
};

struct reference {
	const struct cel_env *env;
	struct cel_eval *ev;
	const struct cel_value *vars;
	size_t steps; /* left */
};

static struct cel_value evaluate(struct reference *r, const struct cel_expr *e,
				 const struct local *locals);

static struct cel_value reference_fault(const char *text)
{
	return (struct cel_value){ .kind = CEL_ERROR, .error = text };
}

/* --- names and paths ---------------------------------------------------------------- */

static struct cel_value name(struct reference *r, const struct cel_expr *e,
			     const struct local *locals)
{
	if (e->variable < 0) {
		while (!str_eq(locals->name, e->name))
			locals = locals->outer;
		return locals->value;
	}
	if (r->vars[e->variable].kind == CEL_ERROR && !r->vars[e->variable].error)
		return cel_errorf(r->ev, "no such attribute(s): %.*s",
				  STR_ARG(r->env->variables[e->variable].name));
	return r->vars[e->variable];
}

/* A number as an index into n elements: -1 is outside, -2 is no index at all. */
static int64_t position(const struct cel_value *key, size_t n)
{
	double d;

	switch (key->kind) {
	case CEL_INT:
		d = (double)key->i;
		break;
	case CEL_UINT:
		if (key->u > INT64_MAX)
			return -2;
		d = (double)key->u;
		break;
	case CEL_DOUBLE:
		d = key->d;
		break;
	default:
		return -2;
	}
	if (!(floor(d) == d) || fabs(d) > 0x1p63)
		return -2;
	return d >= 0 && d < (double)n ? (int64_t)d : -1;
}

/* Returns the part of a value, or CEL_NOTHING. */
static struct cel_value reference_look(struct reference *r, struct cel_value from,
				       struct cel_value key)
{
	int64_t at;

	if (from.kind == CEL_MAP)
		return cel_map_find(r->ev, &from, &key);
	if (from.kind == CEL_OBJECT && key.kind == CEL_STRING)
		return from.object.class->get(r->ev, from.object.self, key.s);
	if (from.kind != CEL_LIST)
		return CEL_NOTHING;
	at = position(&key, cel_list_size(&from));
	if (at == -2)
		return reference_fault("unsupported index");
	return at < 0 ? CEL_NOTHING : cel_list_at(r->ev, &from, (size_t)at);
}

/* from.key, from[key], from.?key, from[?key] */
static struct cel_value reference_step(struct reference *r, struct cel_value from,
				       struct cel_value key, bool optional)
{
	struct cel_value found;

	if (cel_is_error(from))
		return from;
	if (from.kind == CEL_OPTIONAL && !from.optional)
		return from;
	if (cel_is_error(key))
		return key;
	if (from.kind == CEL_OPTIONAL) {
		from = *from.optional;
		if (!optional && (r->env->flags & CEL_OPTIONAL_STRICT) && !cel_has_parts(&from))
			return reference_fault("no such key");
		optional = true;
	}
	found = reference_look(r, from, key);
	if (cel_is_error(found) && found.error)
		return found;
	if (optional)
		return cel_is_error(found) ? cel_none() : cel_optional(r->ev, found);
	if (cel_is_error(found))
		return reference_fault(from.kind == CEL_LIST ? "index out of bounds"
							     : "no such key");
	return found;
}

static struct cel_value reference_has(struct reference *r, struct cel_value from,
				      struct cel_value key)
{
	struct cel_value found = reference_step(r, from, key, true);

	return cel_is_error(found) ? found : CEL_BOOL_V(found.optional != NULL);
}

/* --- operators ---------------------------------------------------------------------- */

/* && where `decisive` is false, || where it is true. */
static struct cel_value logic(struct reference *r, const struct cel_expr *e,
			      const struct local *locals, bool decisive)
{
	struct cel_value result = CEL_BOOL_V(!decisive);

	for (uint32_t i = 0; i < e->n; i++) {
		struct cel_value v = evaluate(r, e->children[i], locals);

		if (v.kind == CEL_BOOL && v.b == decisive)
			return v;
		if (v.kind != CEL_BOOL && result.kind == CEL_BOOL)
			result = cel_is_error(v) ? v : reference_fault("no such overload");
	}
	return result;
}

static struct cel_value choice(struct reference *r, const struct cel_expr *e,
			       const struct local *locals)
{
	struct cel_value v = evaluate(r, e->children[0], locals);

	if (v.kind == CEL_BOOL)
		return evaluate(r, e->children[v.b ? 1 : 2], locals);
	return cel_is_error(v) ? v : reference_fault("no such overload");
}

static struct cel_value either(struct reference *r, const struct cel_expr *e,
			       const struct local *locals, bool value)
{
	struct cel_value v = evaluate(r, e->children[0], locals);

	if (cel_is_error(v))
		return v;
	if (v.kind != CEL_OPTIONAL)
		return reference_fault("no such overload");
	if (!v.optional)
		return evaluate(r, e->children[1], locals);
	return value ? *v.optional : v;
}

static bool takes(const struct cel_overload *o, const struct cel_value *args, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!cel_type_admits(o->args[i], &args[i]))
			return false;
	return o->nargs == n && o->call;
}

static struct cel_value call(struct reference *r, const struct cel_expr *e,
			     const struct local *locals)
{
	struct cel_value args[CEL_ARGS_MAX], error = CEL_NOTHING;

	for (uint32_t i = 0; i < e->n; i++) {
		args[i] = evaluate(r, e->children[i], locals);
		if (cel_is_error(args[i]) && !error.error)
			error = args[i];
	}
	if (error.error)
		return error;
	for (uint32_t i = 0; i < e->noverloads; i++)
		if (takes(e->overloads[i], args, e->n))
			return e->overloads[i]->call(r->ev, args);
	return reference_fault("no such overload");
}

static bool is(const struct cel_expr *e, const char *function)
{
	return str_eqz(e->name, function);
}

/* x in [] is false even if x is an error, as upstream. */
static bool in_nothing(const struct cel_expr *e)
{
	return is(e, CEL_OP_IN) && e->children[1]->kind == CEL_EXPR_LIST && e->children[1]->n == 0;
}

static struct cel_value operation(struct reference *r, const struct cel_expr *e,
				  const struct local *locals)
{
	struct cel_value v;

	if (is(e, CEL_OP_AND) || is(e, CEL_OP_OR))
		return logic(r, e, locals, is(e, CEL_OP_OR));
	if (is(e, CEL_OP_CONDITIONAL))
		return choice(r, e, locals);
	if (is(e, "or") || is(e, "orValue"))
		return either(r, e, locals, is(e, "orValue"));
	if (is(e, CEL_OP_INDEX) || is(e, CEL_OP_OPT_INDEX) || is(e, CEL_OP_OPT_SELECT))
		return reference_step(r, evaluate(r, e->children[0], locals),
				      evaluate(r, e->children[1], locals), !is(e, CEL_OP_INDEX));
	if (is(e, CEL_OP_NOT_STRICTLY_FALSE)) {
		v = evaluate(r, e->children[0], locals);
		return v.kind == CEL_BOOL ? v : CEL_BOOL_V(true);
	}
	return in_nothing(e) ? CEL_BOOL_V(false) : call(r, e, locals);
}

/* --- literals ----------------------------------------------------------------------- */

/* Evaluates child i into *v. Returns false if an optional has no value, or if *v is an error. */
static bool item(struct reference *r, const struct cel_expr *e, const struct local *locals,
		 uint32_t i, bool optional, struct cel_value *v)
{
	*v = evaluate(r, e->children[i], locals);
	if (cel_is_error(*v) || !optional)
		return !cel_is_error(*v);
	if (v->kind != CEL_OPTIONAL)
		*v = reference_fault("cannot initialize optional");
	else if (v->optional)
		*v = *v->optional;
	return !cel_is_error(*v) && !(v->kind == CEL_OPTIONAL && !v->optional);
}

static struct cel_value list(struct reference *r, const struct cel_expr *e,
			     const struct local *locals)
{
	struct cel_value *items = cel_alloc(r->ev, (e->n + 1) * sizeof(*items));
	size_t n = 0;

	if (!items)
		return cel_too_large();
	for (uint32_t i = 0; i < e->n; i++)
		if (item(r, e, locals, i, e->optionals && e->optionals[i], &items[n]))
			n++;
		else if (cel_is_error(items[n]))
			return items[n];
	return cel_list(r->ev, items, n);
}

static struct cel_value fields(struct reference *r, const struct cel_expr *e,
			       const struct local *locals)
{
	struct cel_value *items = cel_alloc(r->ev, (e->n + 1) * sizeof(*items));
	struct str *names = cel_alloc(r->ev, (e->n + 1) * sizeof(*names));
	size_t n = 0;

	if (!items || !names)
		return cel_too_large();
	for (uint32_t i = 0; i < e->n; i++) {
		names[n] = e->fields[i];
		if (item(r, e, locals, i, e->optionals && e->optionals[i], &items[n]))
			n++;
		else if (cel_is_error(items[n]))
			return items[n];
	}
	return cel_wellknown_make(r->ev, e->type, names, items, n);
}

static struct cel_value bad_key(struct reference *r, const struct cel_value *pairs, size_t n)
{
	const struct cel_value *key = &pairs[n];

	if (key->kind != CEL_STRING && key->kind != CEL_INT && key->kind != CEL_UINT &&
	    key->kind != CEL_BOOL)
		return reference_fault("unsupported key type");
	for (size_t i = 0; i < n; i += 2)
		if (cel_equal(r->ev, &pairs[i], key))
			return reference_fault("Failed with repeated key");
	return CEL_NOTHING;
}

static struct cel_value map(struct reference *r, const struct cel_expr *e,
			    const struct local *locals)
{
	struct cel_value *pairs = cel_alloc(r->ev, (e->n + 2) * sizeof(*pairs)), bad;
	size_t n = 0;

	if (!pairs)
		return cel_too_large();
	for (uint32_t i = 0; i < e->n; i += 2) {
		bool optional = e->optionals && e->optionals[i / 2];

		pairs[n] = evaluate(r, e->children[i], locals);
		if (cel_is_error(pairs[n]))
			return pairs[n];
		if (item(r, e, locals, i + 1, optional, &pairs[n + 1]))
			n += 2;
		else if (cel_is_error(pairs[n + 1]))
			return pairs[n + 1];
	}
	for (size_t i = 0; i < n; i += 2) {
		bad = bad_key(r, pairs, i);
		if (bad.error)
			return bad;
	}
	return cel_map(r->ev, pairs, n / 2);
}

/* --- folds -------------------------------------------------------------------------- */

static struct cel_value fold(struct reference *r, const struct cel_fold *f,
			     const struct local *outer)
{
	struct cel_value range = evaluate(r, f->range, outer), key = CEL_NOTHING, value, go;
	struct local accu = { outer, f->accu, CEL_NOTHING };
	struct local var = { &accu, f->var, CEL_NOTHING }, var2 = { &var, f->var2, CEL_NOTHING };
	size_t at = 0;

	if (cel_is_error(range))
		return range;
	if (range.kind != CEL_LIST && range.kind != CEL_MAP)
		return reference_fault("expected iterable type");
	accu.value = evaluate(r, f->init, outer);
	while (r->steps > 0) {
		if (range.kind == CEL_MAP && !cel_map_next(r->ev, &range, &at, &key, &value))
			break;
		if (range.kind == CEL_LIST && at >= cel_list_size(&range))
			break;
		if (range.kind == CEL_LIST) {
			key = CEL_INT_V((int64_t)at);
			value = cel_list_at(r->ev, &range, at++);
		}
		var.value = range.kind == CEL_MAP || f->var2.n > 0 ? key : value;
		var2.value = value;
		go = evaluate(r, f->condition, f->var2.n > 0 ? &var2 : &var);
		if (go.kind == CEL_BOOL && !go.b)
			break;
		accu.value = evaluate(r, f->step, f->var2.n > 0 ? &var2 : &var);
	}
	return evaluate(r, f->result, &accu);
}

/* Recursion is as deep as the tree: CEL_HEIGHT_MAX. */
static struct cel_value evaluate(struct reference *r, const struct cel_expr *e,
				 const struct local *locals)
{
	struct cel_value v;

	if (r->steps == 0)
		return reference_fault(CEL_REFERENCE_EXCEEDED);
	r->steps--;
	switch (e->kind) {
	case CEL_EXPR_CONST:
		return e->constant;
	case CEL_EXPR_IDENT:
		return name(r, e, locals);
	case CEL_EXPR_SELECT:
		v = evaluate(r, e->children[0], locals);
		return e->test_only ? reference_has(r, v, CEL_STRING_V(e->name))
				    : reference_step(r, v, CEL_STRING_V(e->name), false);
	case CEL_EXPR_CALL:
		return operation(r, e, locals);
	case CEL_EXPR_LIST:
		return list(r, e, locals);
	case CEL_EXPR_MAP:
		return map(r, e, locals);
	case CEL_EXPR_STRUCT:
		return fields(r, e, locals);
	case CEL_EXPR_FOLD:
		return fold(r, e->fold, locals);
	}
	return reference_fault("unknown expression");
}

struct cel_value cel_reference(const struct cel_env *env, const struct cel_expr *root,
			       struct cel_eval *ev, const struct cel_value *vars, size_t steps)
{
	struct reference r = { env, ev, vars, steps };
	struct cel_value v = evaluate(&r, root, NULL);

	return r.steps > 0 ? v : reference_fault(CEL_REFERENCE_EXCEEDED);
}
