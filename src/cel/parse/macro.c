/*
 * Nodes have a hidden field for their height behind the public struct. It is known when a node is
 * created, because its children are created first.
 */
#include "cel/cel_limits.h"
#include "cel/parse/macro.h"

enum { NODE_STEPS = 32 }; /* of the budget: to make, check and compile a node */

struct node {
	struct cel_expr expr;
	uint32_t height;
};

uint32_t cel_expr_height(const struct cel_expr *e)
{
	return CONTAINER_OF(e, const struct node, expr)->height;
}

const struct cel_macro *cel_macro_find(const struct cel_env *env, struct str name, bool member,
				       size_t n)
{
	const struct cel_macro *any = NULL;

	for (const struct cel_library *const *lib = env->libraries; lib && *lib; lib++) {
		for (const struct cel_macro *m = (*lib)->macros; m && m->name; m++) {
			if (m->member != member || !str_eqz(name, m->name))
				continue;
			if (m->nargs == n)
				return m;
			if (m->nargs == UINT8_MAX)
				any = m;
		}
	}
	return any;
}

static struct cel_expr *macro_make(struct cel_expander *x, enum cel_expr_kind kind)
{
	struct node *node = ARENA_NEW(x->issues->arena, struct node);

	if (++x->nodes > CEL_NODES_MAX && !x->full) {
		x->full = true;
		cel_issue_add(x->issues, SIZE_MAX, "expression has more than %d parts",
			      CEL_NODES_MAX);
	}
	if (!cel_spend(x->env, NODE_STEPS) && !x->full) {
		x->full = true;
		cel_issue_add(x->issues, SIZE_MAX, "%s", CEL_COMPILE_EXCEEDED);
	}
	node->expr.kind = kind;
	node->expr.offset = x->offset;
	node->expr.variable = -1;
	node->height = 1;
	return &node->expr;
}

/* Takes note of a child's height. */
static struct cel_expr *macro_below(struct cel_expr *parent, struct cel_expr *child)
{
	struct node *node = CONTAINER_OF(parent, struct node, expr);

	node->height = MAX(node->height, cel_expr_height(child) + 1);
	return child;
}

static void set_children(struct cel_expander *x, struct cel_expr *e, struct cel_expr *const *v,
			 size_t n)
{
	size_t first = e->n;

	if (first + n == 0)
		return;
	if (first == 0)
		e->children = ARENA_ARRAY(x->issues->arena, struct cel_expr *, n);
	for (size_t i = 0; i < n; i++)
		e->children[first + i] = macro_below(e, v[i]);
	e->n += (uint32_t)n;
}

struct cel_expr *cel_make_constant(struct cel_expander *x, struct cel_value v)
{
	struct cel_expr *e = macro_make(x, CEL_EXPR_CONST);

	e->constant = v;
	return e;
}

struct cel_expr *cel_make_ident(struct cel_expander *x, struct str name)
{
	struct cel_expr *e = macro_make(x, CEL_EXPR_IDENT);

	e->name = name;
	return e;
}

struct cel_expr *cel_make_select(struct cel_expander *x, struct cel_expr *operand, struct str field,
				 bool test_only)
{
	struct cel_expr *e = macro_make(x, CEL_EXPR_SELECT);

	e->name = field;
	e->test_only = test_only;
	set_children(x, e, &operand, 1);
	return e;
}

struct cel_expr *cel_make_call(struct cel_expander *x, struct str function,
			       struct cel_expr *receiver, struct cel_expr *const *args, size_t n)
{
	struct cel_expr *e = macro_make(x, CEL_EXPR_CALL);

	e->name = function;
	if (receiver) {
		e->member = true;
		e->children = ARENA_ARRAY(x->issues->arena, struct cel_expr *, n + 1);
		e->children[0] = macro_below(e, receiver);
		e->n = 1;
	}
	set_children(x, e, args, n);
	return e;
}

struct cel_expr *cel_make_call1(struct cel_expander *x, const char *function, struct cel_expr *a)
{
	return cel_make_call(x, str_from(function), NULL, &a, 1);
}

struct cel_expr *cel_make_call2(struct cel_expander *x, const char *function, struct cel_expr *a,
				struct cel_expr *b)
{
	struct cel_expr *const args[] = { a, b };

	return cel_make_call(x, str_from(function), NULL, args, 2);
}

struct cel_expr *cel_make_call3(struct cel_expander *x, const char *function, struct cel_expr *a,
				struct cel_expr *b, struct cel_expr *c)
{
	struct cel_expr *const args[] = { a, b, c };

	return cel_make_call(x, str_from(function), NULL, args, 3);
}

struct cel_expr *cel_make_aggregate(struct cel_expander *x, enum cel_expr_kind kind,
				    struct cel_expr *const *children, size_t n)
{
	struct cel_expr *e = macro_make(x, kind);

	set_children(x, e, children, n);
	return e;
}

struct cel_expr *cel_make_fold(struct cel_expander *x, const struct cel_fold *fold)
{
	struct cel_expr *e = macro_make(x, CEL_EXPR_FOLD);

	e->fold = ARENA_NEW(x->issues->arena, struct cel_fold);
	*e->fold = *fold;
	macro_below(e, fold->range);
	macro_below(e, fold->init);
	macro_below(e, fold->condition);
	macro_below(e, fold->step);
	macro_below(e, fold->result);
	return e;
}

struct cel_expr *cel_make_binding(struct cel_expander *x, struct str name, struct cel_expr *value,
				  struct cel_expr *result)
{
	struct cel_fold fold = {
		.var = STR(CEL_UNUSED),
		.accu = name,
		.range = cel_make_aggregate(x, CEL_EXPR_LIST, NULL, 0),
		.init = value,
		.condition = cel_make_constant(x, CEL_BOOL_V(false)),
		.step = cel_make_ident(x, name),
		.result = result,
	};

	return cel_make_fold(x, &fold);
}

static struct cel_fold *copy_fold(struct cel_expander *x, struct cel_expr *e,
				  const struct cel_fold *from)
{
	struct cel_fold *fold = ARENA_NEW(x->issues->arena, struct cel_fold);

	*fold = *from;
	fold->range = macro_below(e, cel_make_copy(x, from->range));
	fold->init = macro_below(e, cel_make_copy(x, from->init));
	fold->condition = macro_below(e, cel_make_copy(x, from->condition));
	fold->step = macro_below(e, cel_make_copy(x, from->step));
	fold->result = macro_below(e, cel_make_copy(x, from->result));
	return fold;
}

/* Where the fields of a copy are: the macro's place, unlike all else of it. */
static const uint32_t *copy_field_offsets(struct cel_expander *x, uint32_t n)
{
	uint32_t *offsets = ARENA_ARRAY(x->issues->arena, uint32_t, n);

	for (uint32_t i = 0; i < n; i++)
		offsets[i] = x->offset;
	return offsets;
}

/* Recursion is bounded: the nesting of the text is, and a macro adds a few levels at most. */
struct cel_expr *cel_make_copy(struct cel_expander *x, const struct cel_expr *e)
{
	struct cel_expr *copy = macro_make(x, e->kind);

	if (x->full) { /* copies of copies grow beyond all bounds */
		copy->kind = CEL_EXPR_CONST;
		return copy;
	}
	*copy = *e;
	if (e->fold)
		copy->fold = copy_fold(x, copy, e->fold);
	if (e->n > 0)
		copy->children = ARENA_ARRAY(x->issues->arena, struct cel_expr *, e->n);
	for (uint32_t i = 0; i < e->n; i++)
		copy->children[i] = macro_below(copy, cel_make_copy(x, e->children[i]));
	if (e->field_offsets && e->n > 0)
		copy->field_offsets = copy_field_offsets(x, e->n);
	return copy;
}
