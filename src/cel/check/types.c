/*
 * Unification, as cel-go does it. A type variable stands for nothing, or for a type that may
 * get more general as more is learnt (int, then dyn). Bindings are an array, and a trail of what
 * they were before undoes an attempt that failed: overloads are tried in turn.
 *
 * Recursion follows the nesting of types, which chains of macros make deeper than the expression;
 * beyond CEL_TYPE_DEPTH_MAX all that is left is to end.
 */
#include <assert.h>

#include "cel/cel_limits.h"
#include "cel/check/check_impl.h"
#include "cel/core/library.h"

/* A type variable created by the checker. Types of expressions have no other parameters. */
struct type_variable {
	struct cel_type type;
	size_t index;
};

enum binding { BINDS_NOT, CONFLICTS, BINDS };

bool check_spend(struct checker *c)
{
	if (!cel_spend(c->env, 1))
		c->steps = MAX(c->steps, (uint64_t)CEL_TYPE_STEPS_MAX);
	if (c->steps == CEL_TYPE_STEPS_MAX)
		cel_issue_add(c->issues, SIZE_MAX, "types of the expression are too complex");
	if (c->steps <= CEL_TYPE_STEPS_MAX)
		c->steps++;
	return c->steps <= CEL_TYPE_STEPS_MAX;
}

/* Enters one level of a type. False: that is too deep. Call types_leave() in either case. */
static bool types_enter(struct checker *c)
{
	c->depth++;
	if (c->depth > CEL_TYPE_DEPTH_MAX && c->steps < CEL_TYPE_STEPS_MAX)
		c->steps = CEL_TYPE_STEPS_MAX;
	return check_spend(c);
}

static bool types_leave(struct checker *c, bool result)
{
	c->depth--;
	return result;
}

const struct cel_type *check_type_variable(struct checker *c)
{
	struct type_variable *v = ARENA_NEW(c->arena, struct type_variable);

	v->index = c->bound.n;
	v->type.kind = CEL_TYPE_PARAM;
	v->type.name = str_from(arena_printf(c->arena, "_var%zu", v->index));
	(void)vec_push(&c->bound, NULL);
	return &v->type;
}

static size_t variable_index(const struct cel_type *t)
{
	return ((const struct type_variable *)t)->index;
}

static const struct cel_type *variable_bound(const struct checker *c, const struct cel_type *t)
{
	return c->bound.v[variable_index(t)];
}

static void variable_bind(struct checker *c, const struct cel_type *t, const struct cel_type *to)
{
	size_t i = variable_index(t);

	(void)vec_push(&c->trail, (struct check_undo){ i, c->bound.v[i] });
	c->bound.v[i] = to;
}

static void undo(struct checker *c)
{
	while (c->trail.n > 0) {
		struct check_undo u = c->trail.v[--c->trail.n];

		c->bound.v[u.variable] = u.bound;
	}
}

static bool is_composite(const struct cel_type *t)
{
	return t->params[0] && t->kind != CEL_TYPE_WRAPPER;
}

/* Returns the type with other parameters, or the type itself if they are the same. */
static const struct cel_type *with_params(struct checker *c, const struct cel_type *t,
					  const struct cel_type *first,
					  const struct cel_type *second)
{
	struct cel_type *copy;

	if (first == t->params[0] && second == t->params[1])
		return t;
	copy = arena_alloc(c->arena, sizeof(*copy));
	*copy = *t;
	copy->params[0] = first;
	copy->params[1] = second;
	return copy;
}

/* Parameters of one signature and the variables in their place. */
struct instance {
	struct checker *c;
	struct str names[CEL_ARGS_MAX + 1];
	const struct cel_type *variables[CEL_ARGS_MAX + 1];
	size_t n;
};

static const struct cel_type *instance_variable(struct instance *in, const struct cel_type *param)
{
	for (size_t i = 0; i < in->n; i++) {
		if (str_eq(in->names[i], param->name))
			return in->variables[i];
	}
	assert(in->n < ARRAY_SIZE(in->names));
	in->names[in->n] = param->name;
	in->variables[in->n] = check_type_variable(in->c);
	return in->variables[in->n++];
}

static const struct cel_type *instantiate(struct instance *in, const struct cel_type *t)
{
	const struct cel_type *first, *second;

	if (t->kind == CEL_TYPE_PARAM)
		return instance_variable(in, t);
	if (!is_composite(t))
		return t;
	first = instantiate(in, t->params[0]);
	second = t->params[1] ? instantiate(in, t->params[1]) : NULL;
	return with_params(in->c, t, first, second);
}

void check_instantiate(struct checker *c, const struct cel_overload *o,
		       const struct cel_type **ret_args, const struct cel_type **ret_result)
{
	struct instance in = { .c = c };

	for (size_t i = 0; i < o->nargs; i++)
		ret_args[i] = instantiate(&in, o->args[i]);
	*ret_result = instantiate(&in, o->result);
}

static const struct cel_type *unwrapped(const struct cel_type *t)
{
	return t && t->kind == CEL_TYPE_WRAPPER ? t->params[0] : t;
}

bool check_same(struct checker *c, const struct cel_type *a, const struct cel_type *b)
{
	a = unwrapped(a);
	b = unwrapped(b);
	if (a == b)
		return true;
	if (!a || !b || a->kind != b->kind)
		return false;
	if (a->kind >= CEL_TYPE_OPAQUE && !str_eq(a->name, b->name))
		return false;
	return types_leave(c, types_enter(c) && check_same(c, a->params[0], b->params[0]) &&
				      check_same(c, a->params[1], b->params[1]));
}

/*
 * Follows the bindings of a type variable to the end, which may be an unbound variable. Other types
 * are returned as they are. Once bindings are settled, the chain is shortened, as many may share
 * it.
 */
static const struct cel_type *resolved(struct checker *c, const struct cel_type *t)
{
	const struct cel_type *end = t, *next;

	while (end->kind == CEL_TYPE_PARAM && variable_bound(c, end) && check_spend(c))
		end = variable_bound(c, end);
	for (; c->settled && t != end; t = next) {
		next = variable_bound(c, t);
		c->bound.v[variable_index(t)] = end;
	}
	return end;
}

/* Whether the type variable does not occur in the type, following bindings. */
static bool not_within(struct checker *c, const struct cel_type *variable, const struct cel_type *t)
{
	while (t != variable && t->kind == CEL_TYPE_PARAM && variable_bound(c, t) && check_spend(c))
		t = variable_bound(c, t);
	if (!check_spend(c) || t == variable)
		return false;
	if (!is_composite(t))
		return true;
	return types_leave(c, types_enter(c) && not_within(c, variable, t->params[0]) &&
				      (!t->params[1] || not_within(c, variable, t->params[1])));
}

/* Whether `a` is equal to or less specific than `b`, with dyn for some part. */
static bool less_specific(struct checker *c, const struct cel_type *a, const struct cel_type *b)
{
	if (check_is_dyn(a) || a->kind == CEL_TYPE_PARAM)
		return true;
	if (!check_spend(c) || check_is_dyn(b) || b->kind == CEL_TYPE_PARAM)
		return false;
	if (a->kind == CEL_TYPE_TYPE && b->kind == CEL_TYPE_TYPE)
		return true;
	if (!is_composite(a) || a->kind != b->kind)
		return check_same(c, a, b);
	return types_leave(c,
			   types_enter(c) && less_specific(c, a->params[0], b->params[0]) &&
				   (!a->params[1] || less_specific(c, a->params[1], b->params[1])));
}

const struct cel_type *check_most_general(struct checker *c, const struct cel_type *a,
					  const struct cel_type *b)
{
	return less_specific(c, a, b) ? a : b;
}

static bool unify(struct checker *c, const struct cel_type *a, const struct cel_type *b);

/* Binds the type variable to `t`, or to a type that fits both `t` and its current binding. */
static enum binding bind(struct checker *c, const struct cel_type *t,
			 const struct cel_type *variable)
{
	const struct cel_type *bound, *general;

	if (t == variable)
		return BINDS;
	bound = variable_bound(c, variable);
	if (!bound) {
		if (!not_within(c, variable, t))
			return BINDS_NOT;
		variable_bind(c, variable, t);
		return BINDS;
	}
	if (check_same(c, t, bound))
		return BINDS;
	if (!unify(c, t, bound))
		return CONFLICTS;
	general = check_most_general(c, t, bound);
	if (not_within(c, variable, general))
		variable_bind(c, variable, general);
	return BINDS;
}

/* Null fits where a message or an opaque value is wanted, and wrappers. */
static bool is_nullable(const struct cel_type *t)
{
	switch (t->kind) {
	case CEL_TYPE_NULL:
	case CEL_TYPE_WRAPPER:
	case CEL_TYPE_TIMESTAMP:
	case CEL_TYPE_DURATION:
	case CEL_TYPE_OPTIONAL:
	case CEL_TYPE_OPAQUE:
	case CEL_TYPE_OBJECT:
		return true;
	default:
		return false;
	}
}

static bool unify_known(struct checker *c, const struct cel_type *a, const struct cel_type *b)
{
	if (a->kind == CEL_TYPE_NULL)
		return is_nullable(b);
	if (b->kind == CEL_TYPE_NULL)
		return is_nullable(a);
	a = unwrapped(a);
	b = unwrapped(b);
	if (a->kind != b->kind)
		return false;
	if (a->kind == CEL_TYPE_TYPE)
		return true;
	if (a->kind >= CEL_TYPE_OPAQUE && !str_eq(a->name, b->name))
		return false;
	return !a->params[0] || (unify(c, a->params[0], b->params[0]) &&
				 (!a->params[1] || unify(c, a->params[1], b->params[1])));
}

static bool is_wildcard(const struct cel_type *t)
{
	return check_is_dyn(t) || t->kind == CEL_TYPE_ERROR;
}

static bool unify_now(struct checker *c, const struct cel_type *a, const struct cel_type *b)
{
	if (b->kind == CEL_TYPE_PARAM) {
		enum binding r = bind(c, a, b);

		if (r != BINDS_NOT)
			return r == BINDS;
	}
	if (a->kind == CEL_TYPE_PARAM)
		return bind(c, b, a) == BINDS;
	if (is_wildcard(a) || is_wildcard(b))
		return true;
	return unify_known(c, a, b);
}

static bool unify(struct checker *c, const struct cel_type *a, const struct cel_type *b)
{
	return types_leave(c, types_enter(c) && unify_now(c, a, b));
}

bool check_all_assignable(struct checker *c, const struct cel_type *const *from,
			  const struct cel_type *const *to, size_t n)
{
	c->trail.n = 0; /* the binding does not change */
	for (size_t i = 0; i < n; i++) {
		if (!unify(c, from[i], to[i])) {
			undo(c);
			return false;
		}
	}
	return true;
}

bool check_assignable(struct checker *c, const struct cel_type *from, const struct cel_type *to)
{
	return check_all_assignable(c, &from, &to, 1);
}

const struct cel_type *check_substitute(struct checker *c, const struct cel_type *t, bool to_dyn)
{
	const struct cel_type *first, *second;

	if (!check_spend(c))
		return &cel_type_error;
	t = resolved(c, t);
	if (t->kind == CEL_TYPE_PARAM)
		return to_dyn ? &cel_dyn : t;
	if (!is_composite(t))
		return t;
	if (!types_enter(c)) {
		c->depth--;
		return &cel_type_error;
	}
	first = check_substitute(c, t->params[0], to_dyn);
	second = t->params[1] ? check_substitute(c, t->params[1], to_dyn) : NULL;
	c->depth--;
	return with_params(c, t, first, second);
}

const char *check_show(struct checker *c, const struct cel_type *t)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(CEL_TYPE_SHOWN_MAX);

	cel_type_print(t, &out);
	return arena_strdup(c->arena, buf_str(&out));
}
