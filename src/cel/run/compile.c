/*
 * Paths and literals, and the means to emit code.
 *
 * Costs of paths are those of cel-go's interpreter, where a variable with all its fields and
 * indexes is one "attribute": every step costs one unit, and the attribute itself another. As a
 * branch of ?: or as an index, the attribute itself costs nothing. A path from another expression
 * (a call, a literal) counts as one in addition to that.
 */
#include "cel/run/compile.h"

#include <assert.h>

#include "cel/cel_limits.h"
#include "cel/run/program_impl.h"

enum {
	INS_PER_NODE = 16, /* more than any node makes */
};

/* --- code --------------------------------------------------------------------------- */

size_t cel_emit(struct cel_compiler *c, struct cel_ins ins, int change)
{
	size_t place = c->code.n;

	bool room = vec_push(&c->code, ins);

	assert(room);
	(void)room;
	c->depth = (size_t)((ptrdiff_t)c->depth + change);
	c->depth_max = MAX(c->depth_max, c->depth);
	return place;
}

struct cel_ins *cel_compile_at(struct cel_compiler *c, size_t place)
{
	return &c->code.v[place];
}

void cel_patch(struct cel_compiler *c, size_t place)
{
	c->code.v[place].to = (int32_t)(c->code.n - place);
}

void cel_patch2(struct cel_compiler *c, size_t place)
{
	c->code.v[place].to2 = (int32_t)(c->code.n - place);
}

void cel_emit_back(struct cel_compiler *c, struct cel_ins ins, size_t to, int change)
{
	ins.to = (int32_t)((ptrdiff_t)to - (ptrdiff_t)c->code.n);
	cel_emit(c, ins, change);
}

/* --- constants ---------------------------------------------------------------------- */

void cel_emit_const(struct cel_compiler *c, struct cel_value v, uint64_t cost, bool plain)
{
	struct cel_value *copy = ARENA_NEW(c->arena, struct cel_value);

	*copy = v;
	cel_emit(c,
		 (struct cel_ins){ .run = v.kind == CEL_ERROR ? cel_op_fault : cel_op_const,
				   .p = copy,
				   .n = plain,
				   .cost = (uint32_t)MIN(cost, (uint64_t)UINT32_MAX) },
		 1);
}

const struct cel_value *cel_constants(struct cel_compiler *c, size_t from, size_t n, bool plain,
				      uint64_t *ret_cost)
{
	struct cel_value *values;

	if (c->code.n - from != n)
		return NULL;
	for (size_t i = from; i < c->code.n; i++)
		if (c->code.v[i].run != cel_op_const || (plain && !c->code.v[i].n))
			return NULL;
	*ret_cost = 0;
	values = ARENA_ARRAY(c->arena, struct cel_value, n);
	for (size_t i = 0; i < n; i++) {
		values[i] = *(const struct cel_value *)c->code.v[from + i].p;
		*ret_cost += c->code.v[from + i].cost;
	}
	return values;
}

void cel_uncompile(struct cel_compiler *c, size_t from, size_t n)
{
	c->code.n = from;
	c->depth -= n;
}

/*
 * Returns the message of cel_missing() for the key. For text it is built without the formatting
 * functions.
 */
static const char *missing_text(struct cel_compiler *c, const struct cel_value *key)
{
	static const char words[] = "no such key: ";
	struct cel_value operand = CEL_NULL_V;
	size_t n = sizeof(words) - 1;
	char *text;

	if (key->kind != CEL_STRING)
		return cel_missing(&c->ev, &operand, key).error;
	text = arena_alloc(c->arena, n + key->s.n + 1);
	memcpy(text, words, n);
	str_put(text + n, key->s);
	text[n + key->s.n] = '\0';
	return text;
}

struct cel_key *cel_key_new(struct cel_compiler *c, struct cel_value v)
{
	struct cel_key *key = ARENA_NEW(c->arena, struct cel_key);

	key->value = v;
	key->size = cel_value_size(&v);
	key->missing = missing_text(c, &v);
	return key;
}

/* --- paths -------------------------------------------------------------------------- */

/* Whether the expression is a path: a variable, a field, an index, or ?: */
static bool is_attribute(const struct cel_expr *e)
{
	switch (e->kind) {
	case CEL_EXPR_IDENT:
	case CEL_EXPR_SELECT:
		return true;
	case CEL_EXPR_CALL:
		return str_eqz(e->name, CEL_OP_INDEX) || str_eqz(e->name, CEL_OP_OPT_INDEX) ||
		       str_eqz(e->name, CEL_OP_OPT_SELECT) || str_eqz(e->name, CEL_OP_CONDITIONAL);
	default:
		return false;
	}
}

static void compile_path(struct cel_compiler *c, const struct cel_expr *e, bool self);
static void compile_resolved(struct cel_compiler *c, const struct cel_expr *e);

static const struct cel_scope *find_scope(const struct cel_compiler *c, struct str name)
{
	const struct cel_scope *scope = c->scope;

	while (scope && !str_eq(scope->name, name))
		scope = scope->outer;
	return scope;
}

static void compile_local(struct cel_compiler *c, const struct cel_expr *e, bool self)
{
	const struct cel_scope *scope = find_scope(c, e->name);

	if (!scope) {
		/* The checker knows every name. */
		cel_emit_const(c, (struct cel_value){ .error = "no such attribute" }, 0, false);
		return;
	}
	if (!scope->lazy) {
		cel_emit(c, (struct cel_ins){ .run = cel_op_slot, .n = scope->slot, .cost = self },
			 1);
		return;
	}
	cel_emit_back(c, (struct cel_ins){ .run = cel_op_lazy, .n = scope->slot, .cost = self },
		      scope->init, 1);
	c->depth_max = MAX(c->depth_max, c->depth + scope->init_depth);
}

static void compile_ident(struct cel_compiler *c, const struct cel_expr *e, bool self)
{
	const char *missing;

	if (e->variable < 0) {
		compile_local(c, e, self);
		return;
	}
	missing = arena_printf(c->arena, "no such attribute(s): %.*s",
			       STR_ARG(c->env->variables[e->variable].name));
	cel_emit(
		c,
		(struct cel_ins){
			.run = cel_op_var, .p = missing, .n = (uint32_t)e->variable, .cost = self },
		1);
}

/* Compiles the beginning of a path. Returns the cost of the path itself that is not charged yet. */
static uint32_t compile_operand(struct cel_compiler *c, const struct cel_expr *e, bool self)
{
	if (is_attribute(e)) {
		compile_path(c, e, self);
		return 0;
	}
	cel_compile_expr(c, e);
	return self;
}

static bool is_strict(const struct cel_compiler *c)
{
	return c->env->flags & CEL_OPTIONAL_STRICT;
}

/* operand[key]: the key is not evaluated if the operand cannot be indexed. */
static void compile_index(struct cel_compiler *c, const struct cel_expr *e, bool self)
{
	bool optional = !str_eqz(e->name, CEL_OP_INDEX);
	uint32_t cost = compile_operand(c, e->children[0], self);
	const struct cel_value *key;
	uint64_t key_cost;
	size_t guard = cel_emit(c, (struct cel_ins){ .run = cel_op_guard, .cost = cost }, 0);

	compile_resolved(c, e->children[1]);
	key = cel_constants(c, guard + 1, 1, true, &key_cost);
	if (!key) {
		cel_emit(c,
			 (struct cel_ins){ .run = optional ? cel_op_opt_index : cel_op_index,
					   .n = !optional && is_strict(c) },
			 -1);
		cel_patch(c, guard);
		return;
	}
	cel_uncompile(c, guard, 1);
	cel_emit(c,
		 (struct cel_ins){ .run = optional ? cel_op_opt_select : cel_op_select,
				   .p = cel_key_new(c, *key),
				   .n = !optional && is_strict(c),
				   .cost = cost },
		 0);
}

/* Whether the path begins with ?:, which costs nothing itself. */
static bool begins_with_choice(const struct cel_expr *e)
{
	while (is_attribute(e) && e->n > 0) {
		if (str_eqz(e->name, CEL_OP_CONDITIONAL) && e->kind == CEL_EXPR_CALL)
			return true;
		e = e->children[0];
	}
	return false;
}

static void compile_select(struct cel_compiler *c, const struct cel_expr *e, bool self)
{
	const struct cel_expr *operand = e->children[0];
	bool free = e->test_only && self && (c->env->flags & CEL_HAS_IS_FREE);
	struct cel_ins ins = {
		.run = e->test_only ? cel_op_has : cel_op_select,
		.p = cel_key_new(c, CEL_STRING_V(e->name)),
		.n = e->test_only ? free && begins_with_choice(operand) : is_strict(c),
	};

	ins.cost = compile_operand(c, operand, self && !free);
	cel_emit(c, ins, 0);
}

static void compile_choice(struct cel_compiler *c, const struct cel_expr *e)
{
	size_t choose, jump;

	cel_compile_expr(c, e->children[0]);
	choose = cel_emit(c, (struct cel_ins){ .run = cel_op_choose }, -1);
	compile_resolved(c, e->children[1]);
	jump = cel_emit(c, (struct cel_ins){ .run = cel_op_jump }, -1);
	cel_patch(c, choose);
	compile_resolved(c, e->children[2]);
	cel_patch(c, jump);
	cel_patch2(c, choose);
}

/* `self`: the path itself counts. */
static void compile_path(struct cel_compiler *c, const struct cel_expr *e, bool self)
{
	if (e->kind == CEL_EXPR_IDENT)
		compile_ident(c, e, self);
	else if (e->kind == CEL_EXPR_SELECT)
		compile_select(c, e, self);
	else if (str_eqz(e->name, CEL_OP_CONDITIONAL))
		compile_choice(c, e);
	else
		compile_index(c, e, self);
}

/* For operands of ?: and [ ], where paths from a variable cost one less, as in cel-go. */
static void compile_resolved(struct cel_compiler *c, const struct cel_expr *e)
{
	if (is_attribute(e))
		compile_path(c, e, false);
	else
		cel_compile_expr(c, e);
}

/* --- literals ----------------------------------------------------------------------- */

/*
 * Compiles each value with a check for errors. The checks are chained by `to`, until they are
 * patched.
 */
static void compile_values(struct cel_compiler *c, const struct cel_expr *e, uint32_t cost,
			   size_t *ret_checks)
{
	size_t chain = SIZE_MAX, from, place;

	for (uint32_t i = 0; i < e->n; i++) {
		from = c->code.n;
		cel_compile_expr(c, e->children[i]);
		if (c->code.n == from + 1 && c->code.v[from].run == cel_op_const)
			continue;
		place = cel_emit(c, (struct cel_ins){ .run = cel_op_strict, .n = i, .cost = cost },
				 0);
		c->code.v[place].to = chain == SIZE_MAX ? 0 : (int32_t)(place - chain);
		chain = place;
	}
	*ret_checks = chain;
}

static void patch_checks(struct cel_compiler *c, size_t chain)
{
	while (chain != SIZE_MAX) {
		int32_t back = c->code.v[chain].to;

		cel_patch(c, chain);
		chain = back ? chain - (size_t)back : SIZE_MAX;
	}
}

static void compile_literal(struct cel_compiler *c, const struct cel_expr *e, struct cel_ins ins)
{
	size_t from = c->code.n, checks;
	const struct cel_value *values;
	struct cel_value made;
	uint64_t cost;
	bool plain;

	compile_values(c, e, ins.cost, &checks);
	values = ins.run == cel_op_struct ? NULL : cel_constants(c, from, e->n, false, &cost);
	plain = values && cel_constants(c, from, e->n, true, &cost);
	if (values) {
		made = ins.run == cel_op_list ? cel_list_literal(&c->ev, values, e->n, ins.p)
					      : cel_map_literal(&c->ev, values, e->n, ins.p);
		if (made.kind != CEL_ERROR) {
			cel_uncompile(c, from, e->n);
			cel_emit_const(c, made, plain ? 0 : cost + ins.cost, plain);
			return;
		}
	}
	ins.n = e->n;
	cel_emit(c, ins, 1 - (int)e->n);
	patch_checks(c, checks);
}

static void compile_struct(struct cel_compiler *c, const struct cel_expr *e)
{
	struct cel_literal *literal = ARENA_NEW(c->arena, struct cel_literal);

	*literal = (struct cel_literal){ e->type, e->fields, e->optionals };
	compile_literal(
		c, e,
		(struct cel_ins){ .run = cel_op_struct, .p = literal, .cost = CEL_COST_STRUCT });
}

/* Whether there is memory for more; if not, nothing else is compiled but a place for its value. */
static bool compile_has_room(struct cel_compiler *c)
{
	size_t used = c->arena->used - c->used + c->code.n * sizeof(c->code.v[0]);

	c->large |= used > CEL_PROGRAM_MAX;
	if (c->large)
		cel_emit_const(c, cel_too_large(), 0, false);
	return !c->large;
}

/* Recursion is as deep as the tree: CEL_HEIGHT_MAX. */
void cel_compile_expr(struct cel_compiler *c, const struct cel_expr *e)
{
	if (!compile_has_room(c))
		return;
	switch (e->kind) {
	case CEL_EXPR_CONST:
		cel_emit_const(c, e->constant, 0, true);
		break;
	case CEL_EXPR_IDENT:
	case CEL_EXPR_SELECT:
		compile_path(c, e, true);
		break;
	case CEL_EXPR_CALL:
		if (is_attribute(e))
			compile_path(c, e, true);
		else
			cel_compile_call(c, e);
		break;
	case CEL_EXPR_LIST:
		compile_literal(c, e,
				(struct cel_ins){ .run = cel_op_list,
						  .p = e->optionals,
						  .cost = CEL_COST_LIST });
		break;
	case CEL_EXPR_MAP:
		compile_literal(c, e,
				(struct cel_ins){ .run = cel_op_map,
						  .p = e->optionals,
						  .cost = CEL_COST_MAP });
		break;
	case CEL_EXPR_STRUCT:
		compile_struct(c, e);
		break;
	case CEL_EXPR_FOLD:
		cel_compile_fold(c, e);
		break;
	}
}

const struct cel_program *cel_compile_tree(const struct cel_env *env, struct cel_expr *root,
					   struct arena *a)
{
	struct cel_program *p = ARENA_NEW(a, struct cel_program);
	struct cel_compiler c = { .env = env, .arena = a, .used = a->used, .ev = { .scratch = a } };
	uint64_t fold_max = env->budget ? MIN(CEL_FOLD_WORK_MAX, env->budget->left)
					: CEL_FOLD_WORK_MAX;
	char block[CEL_FOLD_TEXT_MAX] UNZEROED;
	struct cel_ins *code;

	c.fold.scratch = &c.scratch;
	c.fold.work = CEL_WORK_MAX - fold_max;
	arena_init_in(&c.scratch, CEL_FOLD_SCRATCH_MAX, block, sizeof(block));
	vec_init(&c.code, (size_t)INS_PER_NODE * CEL_NODES_MAX);
	cel_compile_expr(&c, root);
	(void)cel_spend(env, c.fold.work - (CEL_WORK_MAX - fold_max));
	if (c.large) {
		cel_uncompile(&c, 0, c.depth);
		cel_emit_const(&c, cel_too_large(), 0, false);
	}
	cel_emit(&c, (struct cel_ins){ .run = cel_op_end }, 0);
	code = arena_alloc(a, c.code.n * sizeof(*code));
	memcpy(code, c.code.v, c.code.n * sizeof(*code));
	*p = (struct cel_program){
		.code = code,
		.n = c.code.n,
		.nstack = c.depth_max,
		.nslots = c.slots_max,
		.type = root->type,
		.tree = root,
		.fault = c.fault,
		.large = c.large,
	};
	vec_release(&c.code);
	arena_release(&c.scratch);
	return p;
}
