/*
 * Folds, and two forms of them that are common: a binding (a fold over nothing) has no loop
 * at all, and an accumulator that only ever grows at its end is built in place.
 */
#include "cel/run/compile.h"

#define CALL_MAP_INSERT "cel.@mapInsert"

/* --- recognising accumulators that grow --------------------------------------------- */

static bool mentions(const struct cel_expr *e, struct str name);

static bool fold_mentions(const struct cel_fold *f, struct str name)
{
	bool hidden = str_eq(f->accu, name) || str_eq(f->var, name) || str_eq(f->var2, name);

	return mentions(f->range, name) || mentions(f->init, name) ||
	       (!hidden && (mentions(f->condition, name) || mentions(f->step, name) ||
			    mentions(f->result, name)));
}

/* Recursion is as deep as the tree: CEL_HEIGHT_MAX. */
static bool mentions(const struct cel_expr *e, struct str name)
{
	if (e->kind == CEL_EXPR_IDENT)
		return e->variable < 0 && str_eq(e->name, name);
	if (e->kind == CEL_EXPR_FOLD)
		return fold_mentions(e->fold, name);
	for (uint32_t i = 0; i < e->n; i++)
		if (mentions(e->children[i], name))
			return true;
	return false;
}

static bool compile_fold_is_name(const struct cel_expr *e, struct str name)
{
	return e->kind == CEL_EXPR_IDENT && e->variable < 0 && str_eq(e->name, name);
}

static bool is_call(const struct cel_expr *e, const char *function, uint32_t n)
{
	return e->kind == CEL_EXPR_CALL && e->n == n && str_eqz(e->name, function);
}

/* accu + [x] */
static bool appends(const struct cel_expr *e, struct str accu)
{
	const struct cel_expr *item;

	if (!is_call(e, CEL_OP_ADD, 2) || !compile_fold_is_name(e->children[0], accu))
		return false;
	item = e->children[1];
	return item->kind == CEL_EXPR_LIST && item->n == 1 && !item->optionals &&
	       !mentions(item, accu);
}

/* insert(accu, var, x) or insert(accu, x) */
static bool inserts(const struct cel_expr *e, const struct cel_fold *f)
{
	if (is_call(e, CALL_MAP_INSERT, 3))
		return compile_fold_is_name(e->children[0], f->accu) &&
		       compile_fold_is_name(e->children[1], f->var) &&
		       !mentions(e->children[2], f->accu);
	return is_call(e, CALL_MAP_INSERT, 2) && compile_fold_is_name(e->children[0], f->accu) &&
	       !mentions(e->children[1], f->accu);
}

/* The accumulator as it is, with one more, or either of it by ?: */
static bool grows(const struct cel_expr *e, const struct cel_fold *f, bool map)
{
	if (compile_fold_is_name(e, f->accu) || (map ? inserts(e, f) : appends(e, f->accu)))
		return true;
	return is_call(e, CEL_OP_CONDITIONAL, 3) && !mentions(e->children[0], f->accu) &&
	       grows(e->children[1], f, map) && grows(e->children[2], f, map);
}

static bool is_built(const struct cel_fold *f)
{
	bool map = f->init->kind == CEL_EXPR_MAP;

	return (map || f->init->kind == CEL_EXPR_LIST) && f->init->n == 0 &&
	       !mentions(f->condition, f->accu) && grows(f->step, f, map);
}

/* --- steps of built accumulators ---------------------------------------------------- */

/* accu + [item]: the list of one constant is a constant. */
static void compile_append(struct cel_compiler *c, const struct cel_expr *item, uint32_t slot)
{
	struct cel_ins ins = { .run = cel_op_append, .n = slot, .cost = CEL_COST_SELECT + 1 };
	size_t from = c->code.n;
	uint64_t cost;

	cel_compile_expr(c, item);
	if (!cel_constants(c, from, 1, true, &cost))
		ins.cost += CEL_COST_LIST;
	cel_emit(c, ins, -1);
}

/* Code that changes the accumulator in its slot. A branch of ?: costs one less. */
static void compile_growth(struct cel_compiler *c, const struct cel_expr *e, uint32_t slot,
			   bool branch)
{
	size_t choose, jump, guard;

	if (e->kind == CEL_EXPR_IDENT) {
		cel_emit(c, (struct cel_ins){ .run = cel_op_charge, .cost = !branch }, 0);
	} else if (is_call(e, CEL_OP_CONDITIONAL, 3)) {
		cel_compile_expr(c, e->children[0]);
		choose = cel_emit(c, (struct cel_ins){ .run = cel_op_build_choose, .n = slot }, -1);
		compile_growth(c, e->children[1], slot, true);
		jump = cel_emit(c, (struct cel_ins){ .run = cel_op_jump }, 0);
		cel_patch(c, choose);
		compile_growth(c, e->children[2], slot, true);
		cel_patch(c, jump);
		cel_patch2(c, choose);
	} else if (is_call(e, CEL_OP_ADD, 2)) {
		compile_append(c, e->children[1]->children[0], slot);
	} else if (e->n == 2) {
		cel_compile_expr(c, e->children[1]);
		cel_emit(c,
			 (struct cel_ins){
				 .run = cel_op_insert_all, .n = slot, .cost = CEL_COST_SELECT + 1 },
			 -1);
	} else {
		guard = cel_emit(c,
				 (struct cel_ins){ .run = cel_op_build_guard,
						   .n = slot,
						   .cost = CEL_COST_SELECT },
				 0);
		cel_compile_expr(c, e->children[1]);
		cel_compile_expr(c, e->children[2]);
		cel_emit(c, (struct cel_ins){ .run = cel_op_insert, .n = slot, .cost = 1 }, -2);
		cel_patch(c, guard);
	}
}

/* --- folds -------------------------------------------------------------------------- */

static uint32_t take_slots(struct cel_compiler *c, size_t n)
{
	size_t first = c->slots;

	c->slots += n;
	c->slots_max = MAX(c->slots_max, c->slots);
	return (uint32_t)first;
}

/*
 * Compiles the initial value of the accumulator as a subroutine. It runs at any stack depth,
 * wherever the value is first needed, so its own folds have slots that no other code uses
 * meanwhile.
 */
static void compile_init(struct cel_compiler *c, const struct cel_expr *init,
			 struct cel_scope *accu)
{
	size_t depth = c->depth, depth_max = c->depth_max, slots_max = c->slots_max;

	accu->lazy = true;
	accu->init = c->code.n;
	c->depth = c->depth_max = 0;
	c->slots_max = c->slots;
	cel_compile_expr(c, init);
	cel_emit(c, (struct cel_ins){ .run = cel_op_lazy_store, .n = accu->slot }, -1);
	accu->init_depth = c->depth_max;
	c->slots = c->slots_max;
	c->slots_max = MAX(c->slots_max, slots_max);
	c->depth = depth;
	c->depth_max = depth_max;
}

/* cel.bind() and its like: no loop. */
static void compile_binding(struct cel_compiler *c, const struct cel_fold *f)
{
	struct cel_scope accu = { c->scope, f->accu, take_slots(c, 1), false, 0, 0 };
	size_t slots = c->slots - 1, unset;

	unset = cel_emit(c, (struct cel_ins){ .run = cel_op_unset, .n = accu.slot }, 0);
	compile_init(c, f->init, &accu);
	cel_patch(c, unset);
	c->scope = &accu;
	cel_compile_expr(c, f->result);
	c->scope = accu.outer;
	c->slots = slots;
}

/* Returns the initial value of an accumulator, if it is constant and costs nothing. */
static const struct cel_value *constant_init(struct cel_compiler *c, const struct cel_expr *init)
{
	size_t from = c->code.n;
	const struct cel_value *v;
	uint64_t cost;

	if (init->kind != CEL_EXPR_CONST && init->n > 0)
		return NULL;
	cel_compile_expr(c, init);
	v = cel_constants(c, from, 1, true, &cost);
	cel_uncompile(c, from, 1);
	return v;
}

/* Where the accumulator is, and its first value if that is to be computed. */
static void compile_begin(struct cel_compiler *c, const struct cel_fold *f, bool built,
			  struct cel_scope *accu, size_t *ret_begin)
{
	struct cel_ins ins = { .run = built ? cel_op_fold_build : cel_op_fold_begin,
			       .n = accu->slot,
			       .to2 = f->var2.n > 0 };
	size_t over;

	if (!built && f->init->kind != CEL_EXPR_FOLD)
		ins.p = constant_init(c, f->init);
	*ret_begin = cel_emit(c, ins, -1);
	if (built || ins.p)
		return;
	over = cel_emit(c, (struct cel_ins){ .run = cel_op_jump }, 0);
	compile_init(c, f->init, accu);
	cel_patch(c, over);
}

static void compile_loop(struct cel_compiler *c, const struct cel_fold *f, bool built,
			 uint32_t slot)
{
	cel_op next = f->var2.n > 0 ? cel_op_fold_next2 : cel_op_fold_next;
	size_t again = cel_emit(c, (struct cel_ins){ .run = next, .n = slot }, 0), test = 0, cond;
	const struct cel_value *condition;
	uint64_t cost;

	cond = c->code.n;
	cel_compile_expr(c, f->condition);
	condition = cel_constants(c, cond, 1, true, &cost);
	if (condition && cel_is_true(*condition))
		cel_uncompile(c, cond, 1);
	else
		test = cel_emit(c, (struct cel_ins){ .run = cel_op_fold_test }, -1);
	if (built) {
		compile_growth(c, f->step, slot, false);
		cel_emit_back(c, (struct cel_ins){ .run = cel_op_jump }, again, 0);
	} else {
		cel_compile_expr(c, f->step);
		cel_emit_back(c, (struct cel_ins){ .run = cel_op_fold_step, .n = slot }, again, -1);
	}
	cel_patch(c, again);
	if (test)
		cel_patch(c, test);
}

static void compile_general(struct cel_compiler *c, const struct cel_fold *f)
{
	struct cel_scope accu = { c->scope, f->accu, take_slots(c, CEL_FOLD_SLOTS), false, 0, 0 };
	struct cel_scope var = { &accu, f->var, accu.slot + CEL_FOLD_VAR, false, 0, 0 };
	struct cel_scope var2 = { &var, f->var2, accu.slot + CEL_FOLD_VAR2, false, 0, 0 };
	bool built = is_built(f);
	size_t begin;

	compile_begin(c, f, built, &accu, &begin);
	c->scope = f->var2.n > 0 ? &var2 : &var;
	compile_loop(c, f, built, accu.slot);
	if (built && f->init->kind == CEL_EXPR_MAP)
		cel_emit(c, (struct cel_ins){ .run = cel_op_build_map, .n = accu.slot }, 0);
	c->scope = &accu;
	cel_compile_expr(c, f->result);
	cel_patch(c, begin);
	c->scope = accu.outer;
	c->slots = accu.slot;
}

void cel_compile_fold(struct cel_compiler *c, const struct cel_expr *e)
{
	const struct cel_fold *f = e->fold;
	const struct cel_value *range;
	size_t from = c->code.n;
	uint64_t cost;

	cel_compile_expr(c, f->range);
	range = cel_constants(c, from, 1, true, &cost);
	if (range && range->kind == CEL_LIST && cel_list_size(range) == 0) {
		cel_uncompile(c, from, 1);
		compile_binding(c, f);
		return;
	}
	compile_general(c, f);
}
