/*
 * The estimate walks the tree once, like cel-go's coster. A node returns its cost, the sizes of its
 * value and of the value's elements, and the part of a declared variable that it denotes, since
 * declarations have sizes. Variables of folds are scopes on the C stack. Depth is bounded by
 * CEL_HEIGHT_MAX; arguments of calls are on a separate stack, so that frames are small.
 */
#include "cel/check/cost.h"

#include "base/core/vec.h"
#include "cel/cel_limits.h"
#include "cel/check/cost_impl.h"

/* A variable of a fold. */
struct scope {
	struct scope *up;
	struct str name;
	struct cost_node node; /* its cost is not used */
};

struct walker {
	const struct cel_env *env;
	struct scope *scope;
	VEC(struct cost_node) args; /* of the calls that are being walked */
	/*
	 * The type of device attributes, for which any name in their maps counts. NULL: no devices.
	 */
	const struct cel_type *attribute;
	/* Type of `self` in a CRD validation rule, or NULL. */
	const struct cel_type *self;
};

static struct cost_node cost_walk(struct walker *w, const struct cel_expr *e);

/* --- sizes -------------------------------------------------------------------------- */

bool cost_declared_size(unsigned flags, const struct cel_type *declared,
			struct cost_range *ret_size)
{
	if (!declared)
		return false;
	switch (declared->kind) {
	case CEL_TYPE_DYN:
	case CEL_TYPE_ANY:
	case CEL_TYPE_STRING:
	case CEL_TYPE_BYTES:
	case CEL_TYPE_LIST:
	case CEL_TYPE_MAP:
		if (declared->max_size == 0)
			return false;
		break;
	default:
		if (!(flags & CEL_SIZED))
			return false;
	}
	*ret_size = (struct cost_range){ 0, declared->max_size == CEL_SIZE_NOTHING
						    ? 0
						    : declared->max_size };
	return true;
}

static bool is_scalar(const struct cel_type *type)
{
	switch (type->kind) {
	case CEL_TYPE_BOOL:
	case CEL_TYPE_INT:
	case CEL_TYPE_UINT:
	case CEL_TYPE_DOUBLE:
	case CEL_TYPE_TIMESTAMP:
	case CEL_TYPE_DURATION:
		return true;
	case CEL_TYPE_OPTIONAL:
		return type->params[0] && is_scalar(type->params[0]);
	default:
		return false;
	}
}

static void set_size(struct cost_node *node, struct cost_range size)
{
	node->size = size;
	node->has_size = true;
}

/* From the declaration, or from the type, when nothing better is known. */
static void guess_size(const struct walker *w, struct cost_node *node)
{
	if (cost_declared_size(w->env->flags, node->declared, &node->size))
		node->has_size = true;
	else if (is_scalar(node->e->type))
		set_size(node, COST_FIXED(1));
}

static const struct cel_type *elements(const struct cel_type *declared)
{
	if (!declared)
		return NULL;
	if (declared->kind == CEL_TYPE_LIST)
		return declared->params[0];
	return declared->kind == CEL_TYPE_MAP ? declared->params[1] : NULL;
}

static const struct cel_type *keys(const struct cel_type *declared)
{
	return declared && declared->kind == CEL_TYPE_MAP ? declared->params[0] : NULL;
}

static const struct cel_type *field(const struct walker *w, const struct cel_type *declared,
				    struct str name)
{
	const struct cel_field *f;

	if (!declared)
		return NULL;
	if (declared->kind == CEL_TYPE_OBJECT) {
		f = cel_type_field(declared, name);
		return f ? f->type : NULL;
	}
	return w->attribute && elements(declared) == w->attribute ? w->attribute : NULL;
}

/*
 * Returns the declaration of a part of a node. Upstream names parts by their path from a variable.
 * If there is no such path, as for the result of a call, the first step counts as the variable, and
 * so as `self`.
 */
static const struct cel_type *part(const struct walker *w, const struct cost_node *of,
				   const struct cel_type *declared)
{
	return of->path ? declared : w->self;
}

/* --- nodes -------------------------------------------------------------------------- */

static void walk_const(struct walker *w, struct cost_node *node)
{
	const struct cel_value *v = &node->e->constant;

	switch (v->kind) {
	case CEL_TYPE: /* an identifier to upstream, and to a rule a variable */
		node->cost = COST_FIXED(1);
		node->declared = w->self;
		node->path = true;
		guess_size(w, node);
		break;
	default:
		set_size(node, COST_FIXED(cel_value_size(v)));
	}
}

static const struct scope *find_scope(const struct walker *w, struct str name)
{
	for (const struct scope *s = w->scope; s; s = s->up) {
		if (str_eq(s->name, name))
			return s;
	}
	return NULL;
}

static void walk_ident(struct walker *w, struct cost_node *node)
{
	const struct scope *local = find_scope(w, node->e->name);

	node->cost = COST_FIXED(CEL_COST_SELECT);
	node->path = local ? local->node.path : true;
	if (local)
		node->declared = local->node.declared;
	else if (node->e->variable >= 0 && (size_t)node->e->variable < w->env->nvariables)
		node->declared = w->env->variables[node->e->variable].type;
	guess_size(w, node);
	if (!local)
		return;
	if (!node->has_size && local->node.has_size)
		set_size(node, local->node.size);
	node->entry = local->node.entry;
	node->has_entry = local->node.has_entry;
}

static void walk_select(struct walker *w, struct cost_node *node)
{
	const struct cel_expr *e = node->e;
	struct cost_node operand = cost_walk(w, e->children[0]);
	enum cel_type_kind kind = operand.e->type->kind;

	node->cost = operand.cost;
	if (e->test_only) {
		if (!(w->env->flags & CEL_HAS_IS_FREE))
			node->cost = range_add(node->cost, COST_FIXED(CEL_COST_SELECT));
	} else {
		if (kind == CEL_TYPE_MAP || kind == CEL_TYPE_OBJECT || kind == CEL_TYPE_PARAM)
			node->cost = range_add(node->cost, COST_FIXED(CEL_COST_SELECT));
		node->declared = part(w, &operand, field(w, operand.declared, e->name));
		node->path = true;
	}
	guess_size(w, node);
}

static void walk_list(struct walker *w, struct cost_node *node)
{
	const struct cel_expr *e = node->e;
	struct cost_range item = { e->n ? UINT64_MAX : 0, 0 };

	for (uint32_t i = 0; i < e->n; i++) {
		struct cost_node element = cost_walk(w, e->children[i]);

		node->cost = range_add(node->cost, element.cost);
		item = range_union(item, node_size(&element));
	}
	node->cost = range_add(node->cost, COST_FIXED(CEL_COST_LIST));
	node->entry = (struct cost_entry){ CEL_TYPE_LIST, COST_FIXED(1), item };
	node->has_entry = true;
	set_size(node, COST_FIXED(e->n));
}

static void walk_map(struct walker *w, struct cost_node *node)
{
	const struct cel_expr *e = node->e;
	uint64_t least = e->n ? UINT64_MAX : 0;
	struct cost_range sizes[2] = { { least, 0 }, { least, 0 } };

	for (uint32_t i = 0; i < e->n; i++) {
		struct cost_node child = cost_walk(w, e->children[i]);

		node->cost = range_add(node->cost, child.cost);
		sizes[i % 2] = range_union(sizes[i % 2], node_size(&child));
	}
	node->cost = range_add(node->cost, COST_FIXED(CEL_COST_MAP));
	node->entry = (struct cost_entry){ CEL_TYPE_MAP, sizes[0], sizes[1] };
	node->has_entry = true;
	set_size(node, COST_FIXED(e->n / 2));
}

static void walk_struct(struct walker *w, struct cost_node *node)
{
	for (uint32_t i = 0; i < node->e->n; i++)
		node->cost = range_add(node->cost, cost_walk(w, node->e->children[i]).cost);
	node->cost = range_add(node->cost, COST_FIXED(CEL_COST_STRUCT));
	guess_size(w, node);
}

/* --- calls -------------------------------------------------------------------------- */

static void estimate(struct cost_call *call)
{
	if (!cost_estimate_extension(call) && !cost_estimate_kubernetes(call))
		cost_estimate_standard(call);
}

/* Indexing leads to a part of the declaration, or to an element of known size. */
static bool follow_index(const struct walker *w, struct cost_node *node,
			 const struct cost_call *call)
{
	bool list = strcmp(call->id, "index_list") == 0;

	if ((!list && strcmp(call->id, "index_map") != 0) || call->nargs == 0)
		return false;
	node->declared = part(w, &call->args[0], elements(call->args[0].declared));
	node->path = true;
	node->has_size = call->args[0].has_entry;
	node->size = call->args[0].entry.value;
	return true;
}

/* Extends the range of the result's size by that of another overload. */
static void join_overload(struct walker *w, struct cost_node *node, const struct cost_call *call)
{
	node->cost = range_union(node->cost, call->cost);
	if (call->has_entry) {
		node->entry = call->entry;
		node->has_entry = true;
	}
	if (call->has_size)
		set_size(node, node->has_size ? range_union(node->size, call->size) : call->size);
	(void)follow_index(w, node, call);
	if (!node->has_size)
		guess_size(w, node);
}

/* dyn() only hides the type, so the size stays known. */
static void walk_dyn(struct walker *w, struct cost_node *node)
{
	struct cost_node arg = cost_walk(w, node->e->children[0]);

	arg.e = node->e;
	arg.declared = NULL;
	arg.path = false;
	arg.cost = range_add(arg.cost, COST_FIXED(1));
	*node = arg;
}

/* All overloads of a call whose arguments are on the stack from `base` on. */
static __attribute__((noinline)) void join_overloads(struct walker *w, struct cost_node *node,
						     size_t base, struct cost_range arguments)
{
	const struct cel_expr *e = node->e;
	const struct cost_node *children = w->args.v + base;
	size_t first = e->member ? 1 : 0;

	node->cost = (struct cost_range){ UINT64_MAX, 0 };
	for (uint32_t i = 0; i < e->noverloads; i++) {
		struct cost_call call = { .e = e,
					  .function = e->overloads[i]->function,
					  .id = e->overloads[i]->id,
					  .target = first ? &children[0] : NULL,
					  .args = children + first,
					  .nargs = w->args.n - base - first,
					  .flags = w->env->flags,
					  .arguments = arguments };

		estimate(&call);
		join_overload(w, node, &call);
	}
}

static void walk_call(struct walker *w, struct cost_node *node)
{
	const struct cel_expr *e = node->e;
	struct cost_range arguments = { 0, 0 }, receiver = { 0, 0 };
	size_t base = w->args.n, n = MIN(e->n, (uint32_t)CEL_ARGS_MAX + 1);

	if (str_eqz(e->name, "dyn") && e->n == 1) {
		walk_dyn(w, node);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		struct cost_node child = cost_walk(w, e->children[i]);

		(void)vec_push(&w->args, child);
		if (i == 0 && e->member)
			receiver = child.cost;
		else
			arguments = range_add(arguments, child.cost);
	}
	if (e->noverloads > 0) {
		join_overloads(w, node, base, arguments);
		node->cost = range_add(receiver, node->cost);
	}
	w->args.n = base;
}

/* --- folds -------------------------------------------------------------------------- */

static void cost_push(struct walker *w, struct scope *s, struct str name)
{
	s->name = name;
	s->up = w->scope;
	w->scope = s;
}

static bool is_bind(const struct cel_fold *f)
{
	return f->range->kind == CEL_EXPR_LIST && f->range->n == 0 &&
	       f->condition->kind == CEL_EXPR_CONST && f->condition->constant.kind == CEL_BOOL &&
	       !f->condition->constant.b && !str_eqz(f->accu, "__result__");
}

/* cel.bind(): no loop. */
static void walk_bind(struct walker *w, struct cost_node *node)
{
	const struct cel_fold *f = node->e->fold;
	struct scope *outer = w->scope, accu;
	struct cost_node range = cost_walk(w, f->range), result;

	accu.node = cost_walk(w, f->init);
	cost_push(w, &accu, f->accu);
	result = cost_walk(w, f->result);
	w->scope = outer;
	node->cost = range_add(range_add(range.cost, accu.node.cost), result.cost);
	node->size = result.size;
	node->has_size = result.has_size;
	node->entry = result.entry;
	node->has_entry = result.has_entry;
	if (!node->has_size)
		guess_size(w, node);
}

/* The variables of an iteration: an element, or key and value. */
static void push_iteration(struct walker *w, const struct cel_fold *f,
			   const struct cost_node *range, struct scope vars[static 2])
{
	enum cel_type_kind kind = range->has_entry ? range->entry.container : range->e->type->kind;
	bool list = kind == CEL_TYPE_LIST, two = f->var2.n > 0;
	struct cost_node key = { .has_size = range->has_entry, .size = range->entry.key };
	struct cost_node value = { .has_size = range->has_entry, .size = range->entry.value };

	key.declared = part(w, range, list ? NULL : keys(range->declared));
	value.declared = part(w, range, elements(range->declared));
	key.path = value.path = true;
	vars[0].node = list && !two ? value : key;
	cost_push(w, &vars[0], f->var);
	if (!two)
		return;
	vars[1].node = value;
	cost_push(w, &vars[1], f->var2);
}

/* A fold that collects has as many elements as its range, each as large as the step makes it. */
static void size_fold(const struct walker *w, struct cost_node *node, const struct cost_node *init,
		      struct cost_range count, const struct cost_node *step)
{
	switch (init->e->kind) {
	case CEL_EXPR_CONST:
		set_size(node, node_size(init));
		break;
	case CEL_EXPR_LIST:
	case CEL_EXPR_MAP:
		set_size(node, count);
		node->entry = step->entry;
		node->has_entry = step->has_entry;
		break;
	default:
		guess_size(w, node);
	}
}

static void walk_fold(struct walker *w, struct cost_node *node)
{
	const struct cel_fold *f = node->e->fold;
	struct scope *outer = w->scope, accu, vars[2];
	struct cost_node range, condition, step;
	struct cost_range count;

	if (is_bind(f)) {
		walk_bind(w, node);
		return;
	}
	range = cost_walk(w, f->range);
	accu.node = cost_walk(w, f->init);
	cost_push(w, &accu, f->accu);
	push_iteration(w, f, &range, vars);
	condition = cost_walk(w, f->condition);
	step = cost_walk(w, f->step);
	w->scope = &accu;
	node->cost = range_add(range.cost, accu.node.cost);
	node->cost = range_add(node->cost, cost_walk(w, f->result).cost);
	w->scope = outer;
	count = node_size(&range);
	node->cost = range_add(node->cost,
			       range_multiply(count, range_add(step.cost, condition.cost)));
	size_fold(w, node, &accu.node, count, &step);
}

/* --- all together ------------------------------------------------------------------- */

static struct cost_node cost_walk(struct walker *w, const struct cel_expr *e)
{
	static void (*const kinds[])(struct walker *, struct cost_node *) = {
		[CEL_EXPR_CONST] = walk_const,   [CEL_EXPR_IDENT] = walk_ident,
		[CEL_EXPR_SELECT] = walk_select, [CEL_EXPR_CALL] = walk_call,
		[CEL_EXPR_LIST] = walk_list,     [CEL_EXPR_MAP] = walk_map,
		[CEL_EXPR_STRUCT] = walk_struct, [CEL_EXPR_FOLD] = walk_fold,
	};
	struct cost_node node = { .e = e };

	kinds[e->kind](w, &node);
	return node;
}

/* Returns the type of device.attributes[domain].name. */
static const struct cel_type *attribute_of(const struct cel_env *env)
{
	const struct cel_field *attributes;

	for (size_t i = 0; i < env->nvariables; i++) {
		const struct cel_type *type = env->variables[i].type;

		if (type->kind != CEL_TYPE_OBJECT || !str_eqz(type->name, "kubernetes.DRADevice"))
			continue;
		attributes = cel_type_field(type, STR("attributes"));
		return attributes ? elements(elements(attributes->type)) : NULL;
	}
	return NULL;
}

struct cel_cost cel_cost_estimate(const struct cel_env *env, const struct cel_expr *root)
{
	bool rule = env->nvariables && str_eqz(env->variables[0].name, "self");
	struct walker w = { .env = env,
			    .attribute = attribute_of(env),
			    .self = rule ? env->variables[0].type : NULL };
	struct cost_node node;

	vec_init(&w.args, (size_t)CEL_HEIGHT_MAX * (CEL_ARGS_MAX + 1));
	(void)vec_reserve(&w.args,
			  CEL_ARGS_MAX + 1); /* a call without arguments has a place, too */
	node = cost_walk(&w, root);
	vec_release(&w.args);
	return (struct cel_cost){ node.cost.min, node.cost.max };
}
