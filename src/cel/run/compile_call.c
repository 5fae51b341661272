/*
 * Calls and operators. The instruction depends on the known types: a single overload is called
 * directly, integers and comparisons with constants have their own instructions, and chains of &&
 * and || become one sequence of terms.
 */
#include "cel/cel_limits.h"
#include "cel/lib/regex.h"
#include "cel/run/compile.h"

/* --- logic -------------------------------------------------------------------------- */

/* The terms of a chain in order, each but the first joined to those before. */
static void compile_terms(struct cel_compiler *c, const struct cel_expr *e, bool and, bool *first,
			  size_t *chain)
{
	for (uint32_t i = 0; i < e->n; i++) {
		const struct cel_expr *term = e->children[i];
		struct cel_ins join = { .run = and? cel_op_and_join : cel_op_or_join };
		size_t place;

		if (term->kind == CEL_EXPR_CALL && str_eq(term->name, e->name)) {
			compile_terms(c, term, and, first, chain);
			continue;
		}
		cel_compile_expr(c, term);
		if (*first)
			join.run = and? cel_op_and_test : cel_op_or_test;
		place = cel_emit(c, join, *first ? 0 : -1);
		cel_compile_at(c, place)->to = *chain == SIZE_MAX ? 0 : (int32_t)(place - *chain);
		*chain = place;
		*first = false;
	}
}

static void compile_logic(struct cel_compiler *c, const struct cel_expr *e, bool and)
{
	size_t chain = SIZE_MAX;
	bool first = true;

	compile_terms(c, e, and, &first, &chain);
	while (chain != SIZE_MAX) {
		int32_t back = cel_compile_at(c, chain)->to;

		cel_patch(c, chain);
		chain = back ? chain - (size_t)back : SIZE_MAX;
	}
}

/* --- calls -------------------------------------------------------------------------- */

/*
 * Returns the kind that a parameter accepts; CEL_KINDS: any. Sets *ret_checked if the kind is not
 * sufficient.
 */
static uint8_t compile_call_kind_of(const struct cel_type *parameter, bool *ret_checked)
{
	uint8_t only = CEL_KINDS;
	size_t n = 0;

	if (parameter->kind == CEL_TYPE_OBJECT) {
		*ret_checked = true;
		return CEL_KINDS;
	}
	for (int kind = CEL_NULL; kind < CEL_KINDS; kind++) {
		struct cel_value v = { .kind = (uint8_t)kind };

		if (kind == CEL_OBJECT || !cel_type_admits(parameter, &v))
			continue;
		only = (uint8_t)kind;
		n++;
	}
	if (n == 1)
		return only;
	*ret_checked |= n < CEL_KINDS - 2;
	return CEL_KINDS;
}

static struct cel_call *call_new(struct cel_compiler *c, const struct cel_expr *e)
{
	struct cel_call *call = ARENA_NEW(c->arena, struct cel_call);

	call->function = e->name;
	call->overloads = e->overloads;
	call->n = e->noverloads;
	call->nargs = e->n;
	call->cost = call->n == 1 ? cel_call_cost_find(e->overloads[0])
				  : cel_call_cost_dynamic(e->overloads[0]->function);
	for (uint32_t i = 0; i < e->n && i < CEL_ARGS_MAX; i++)
		call->kinds[i] = compile_call_kind_of(e->overloads[0]->args[i], &call->checked);
	return call;
}

/*
 * Compiles the arguments in order, from number `first` on. With more than two, those after an error
 * are not evaluated.
 */
static size_t compile_args(struct cel_compiler *c, const struct cel_expr *e, uint32_t first)
{
	size_t chain = SIZE_MAX, place, from;

	for (uint32_t i = first; i < e->n; i++) {
		from = c->code.n;
		cel_compile_expr(c, e->children[i]);
		if (e->n < 3 || i + 1 == e->n ||
		    (c->code.n == from + 1 && cel_compile_at(c, from)->run == cel_op_const))
			continue;
		place = cel_emit(c, (struct cel_ins){ .run = cel_op_strict, .n = i }, 0);
		cel_compile_at(c, place)->to = chain == SIZE_MAX ? 0 : (int32_t)(place - chain);
		chain = place;
	}
	return chain;
}

/* Conversions of constants, which cel-go also evaluates beforehand. */
static bool is_conversion(const struct cel_expr *e)
{
	static const char *const functions[] = {
		"bool", "bytes",  "double",    "duration", "dyn",
		"int",  "string", "timestamp", "type",     "uint"
	};

	for (size_t i = 0; i < ARRAY_SIZE(functions) && e->n == 1; i++)
		if (str_eqz(e->name, functions[i]))
			return true;
	return false;
}

/* Lists and maps may be large where their description is short. */
static bool is_foldable(const struct cel_expr *e)
{
	switch (e->overloads[0]->result->kind) {
	case CEL_TYPE_LIST:
	case CEL_TYPE_MAP:
		return false;
	default:
		return e->noverloads == 1 && e->overloads[0]->call != NULL;
	}
}

/* Whether the arguments are so small that a call of any function is fast. */
static bool are_small(const struct cel_value *args, size_t n)
{
	size_t size = 0;

	for (size_t i = 0; i < n; i++)
		if (args[i].kind == CEL_STRING || args[i].kind == CEL_BYTES)
			size += args[i].s.n;
		else if (args[i].kind == CEL_LIST || args[i].kind == CEL_MAP)
			size += cel_value_size(&args[i]) * sizeof(args[0]);
	return size <= CEL_FOLD_TEXT_MAX;
}

/*
 * Copies the result to the program's memory. Returns false if it is too large. Text is copied;
 * values with parts are computed again there, if that needs little memory.
 */
static bool keep_result(struct cel_compiler *c, const struct cel_call *call,
			const struct cel_value *args, struct cel_value *result)
{
	switch (result->kind) {
	case CEL_NULL:
	case CEL_BOOL:
	case CEL_INT:
	case CEL_UINT:
	case CEL_DOUBLE:
	case CEL_TIMESTAMP:
	case CEL_DURATION:
	case CEL_TYPE:
		return true;
	case CEL_STRING:
	case CEL_BYTES:
		if (result->s.n > CEL_FOLD_TEXT_MAX)
			return false;
		result->s = arena_str(c->arena, result->s);
		return true;
	default:
		if (c->scratch.used > 0)
			return false;
		*result = cel_dispatch(&c->ev, call, args);
		return result->kind != CEL_ERROR;
	}
}

/*
 * Calls a function with constants. Returns the result and its cost, or false if it cannot be kept.
 */
static bool call_constants(struct cel_compiler *c, const struct cel_call *call,
			   const struct cel_value *args, bool plain, struct cel_value *ret_result,
			   uint64_t *ret_cost)
{
	bool fine;

	c->fold.exhausted = NULL;
	*ret_result = cel_dispatch(&c->fold, call, args);
	*ret_cost = call->cost ? call->cost(&c->fold, args, call->nargs, ret_result) : 1;
	fine = cel_work(&c->fold, 16) && !c->fold.exhausted;
	if (fine && ret_result->kind == CEL_ERROR) {
		if (plain && !c->fault)
			c->fault = arena_strdup(c->arena, str_from(ret_result->error));
		fine = false;
	}
	fine = fine && keep_result(c, call, args, ret_result);
	arena_clear(&c->scratch);
	c->fold.indexes = NULL;
	return fine;
}

/* Calls it now, if the arguments are constants and no error comes back. */
static bool fold_call(struct cel_compiler *c, const struct cel_expr *e, const struct cel_call *call,
		      size_t from)
{
	const struct cel_value *args;
	struct cel_value result;
	uint64_t cost, own;
	bool plain;

	if (!is_foldable(e))
		return false;
	args = cel_constants(c, from, e->n, false, &cost);
	if (!args)
		return false;
	plain = is_conversion(e) && cel_constants(c, from, e->n, true, &cost);
	if ((!plain && !are_small(args, e->n)) ||
	    !call_constants(c, call, args, plain, &result, &own))
		return false;
	cel_uncompile(c, from, e->n);
	cel_emit_const(c, result, plain ? 0 : cost + own, plain);
	return true;
}

/* Returns the instruction of an operator on integers, or NULL. */
static cel_op int_op(const char *id)
{
	static const struct {
		const char *id;
		cel_op run;
	} ops[] = {
		{ "add_int64", cel_op_add_int },
		{ "subtract_int64", cel_op_subtract_int },
		{ "less_int64", cel_op_less_int },
		{ "less_equals_int64", cel_op_less_equal_int },
		{ "greater_int64", cel_op_greater_int },
		{ "greater_equals_int64", cel_op_greater_equal_int },
	};

	for (size_t i = 0; i < ARRAY_SIZE(ops); i++)
		if (strcmp(ops[i].id, id) == 0)
			return ops[i].run;
	return NULL;
}

/* `from`: where its code begins, which is that of a constant receiver or nothing yet. */
static void compile_plain_call(struct cel_compiler *c, const struct cel_expr *e, size_t from)
{
	struct cel_call *call = call_new(c, e);
	size_t checks = compile_args(c, e, c->code.n > from);
	struct cel_ins ins = { .run = cel_op_dispatch, .p = call };

	if (fold_call(c, e, call, from))
		return;
	if (call->n == 1 && e->overloads[0]->call)
		ins.run = int_op(e->overloads[0]->id) ?: cel_op_call;
	cel_emit(c, ins, 1 - (int)e->n);
	while (checks != SIZE_MAX) {
		int32_t back = cel_compile_at(c, checks)->to;

		cel_patch(c, checks);
		checks = back ? checks - (size_t)back : SIZE_MAX;
	}
}

/* --- operators with instructions of their own --------------------------------------- */

static void compile_unary(struct cel_compiler *c, const struct cel_expr *e, cel_op run)
{
	size_t from = c->code.n;
	struct cel_call *call;

	cel_compile_expr(c, e->children[0]);
	call = call_new(c, e);
	if (run == cel_op_not && fold_call(c, e, call, from))
		return;
	cel_emit(c, (struct cel_ins){ .run = run, .p = call }, 0);
}

/* With a scalar constant on one side only the other is on the stack. */
static bool compile_equal_const(struct cel_compiler *c, const struct cel_call *call, size_t second,
				bool negate)
{
	const struct cel_value *v;
	struct cel_key *key;
	uint64_t cost;

	v = cel_constants(c, second, 1, true, &cost);
	if (!v || v->kind > CEL_STRING)
		return false;
	key = cel_key_new(c, *v);
	key->equal = call;
	key->equal_cost = call->cost(&c->ev, (struct cel_value[]){ *v, *v }, 2, NULL);
	cel_uncompile(c, second, 1);
	cel_emit(c,
		 (struct cel_ins){ .run = negate ? cel_op_not_equal_const : cel_op_equal_const,
				   .p = key },
		 0);
	return true;
}

static void compile_equal(struct cel_compiler *c, const struct cel_expr *e, bool negate)
{
	struct cel_call *call = call_new(c, e);
	size_t from = c->code.n, second;

	cel_compile_expr(c, e->children[0]);
	second = c->code.n;
	cel_compile_expr(c, e->children[1]);
	if (fold_call(c, e, call, from) || compile_equal_const(c, call, second, negate))
		return;
	cel_emit(c, (struct cel_ins){ .run = negate ? cel_op_not_equal : cel_op_equal, .p = call },
		 -1);
}

/* or(), orValue(): evaluates the argument only if there is no value. */
static void compile_opt_or(struct cel_compiler *c, const struct cel_expr *e, cel_op run)
{
	size_t test;

	cel_compile_expr(c, e->children[0]);
	test = cel_emit(c, (struct cel_ins){ .run = run }, -1);
	cel_compile_expr(c, e->children[1]);
	cel_patch(c, test);
}

/*
 * Keys of a set are compared exactly, but `==` with a double is not exact for large integers:
 * exclude these.
 */
static bool is_member_key(const struct cel_value *v)
{
	const int64_t exact = INT64_C(1) << 53;

	switch (v->kind) {
	case CEL_INT:
		return v->i >= -exact && v->i <= exact;
	case CEL_UINT:
		return v->u <= (uint64_t)exact;
	default:
		return v->kind == CEL_STRING || v->kind == CEL_BOOL;
	}
}

/* Returns a set of the members, if there are many and all can be keys. */
static struct cel_value set_of(struct cel_compiler *c, const struct cel_value *items, size_t n)
{
	struct cel_value *pairs;

	for (size_t i = 0; i < n; i++)
		if (!is_member_key(&items[i]) || n < 8)
			return CEL_NOTHING;
	pairs = ARENA_ARRAY(c->arena, struct cel_value, 2 * n);
	for (size_t i = 0; i < n; i++) {
		pairs[2 * i] = items[i];
		pairs[2 * i + 1] = CEL_BOOL_V(true);
	}
	return cel_map(&c->ev, pairs, n);
}

/* Membership in a constant list of scalars costs nothing, in an empty one not even the operand. */
static bool compile_in_const(struct cel_compiler *c, const struct cel_expr *e, size_t from,
			     size_t second)
{
	struct cel_members *members;
	const struct cel_value *list, *items;
	uint64_t cost;
	size_t n;

	list = cel_constants(c, second, 1, true, &cost);
	if (!list || list->kind != CEL_LIST || e->noverloads != 1)
		return false;
	items = cel_list_items(list);
	n = cel_list_size(list);
	for (size_t i = 0; i < n; i++)
		if (!items || items[i].kind < CEL_BOOL || items[i].kind > CEL_STRING)
			return false;
	if (n == 0) {
		cel_uncompile(c, from, 2);
		cel_emit_const(c, CEL_BOOL_V(false), 0, true);
		return true;
	}
	members = ARENA_NEW(c->arena, struct cel_members);
	*members = (struct cel_members){ *list, set_of(c, items, n) };
	cel_uncompile(c, second, 1);
	cel_emit(c, (struct cel_ins){ .run = cel_op_in_const, .p = members }, 0);
	return true;
}

static void compile_in(struct cel_compiler *c, const struct cel_expr *e)
{
	struct cel_call *call = call_new(c, e);
	size_t from = c->code.n, second;

	cel_compile_expr(c, e->children[0]);
	second = c->code.n;
	cel_compile_expr(c, e->children[1]);
	if (compile_in_const(c, e, from, second) || fold_call(c, e, call, from))
		return;
	cel_emit(c,
		 (struct cel_ins){ .run = call->n == 1 ? cel_op_call : cel_op_dispatch, .p = call },
		 -1);
}

static bool is_overload(const struct cel_expr *e, const char *id)
{
	return e->noverloads > 0 && strcmp(e->overloads[0]->id, id) == 0;
}

static enum cel_search search_of(const struct cel_expr *e)
{
	static const struct {
		const char *id;
		enum cel_search search;
	} searches[] = {
		{ "matches", CEL_SEARCH_MATCHES },
		{ "matches_string", CEL_SEARCH_MATCHES },
		{ "string_find_string", CEL_SEARCH_FIND },
		{ "string_find_all_string", CEL_SEARCH_FIND_ALL },
		{ "string_find_all_string_int", CEL_SEARCH_FIND_ALL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(searches) && e->noverloads == 1; i++)
		if (is_overload(e, searches[i].id))
			return searches[i].search;
	return CEL_SEARCH_NONE;
}

/*
 * Returns the pattern, if it is a valid constant. An invalid one is a fault of the program, or an
 * error at run time. A short text can make a large pattern, and there may be many, so beyond
 * CEL_PROGRAM_MAX they are not compiled in advance.
 */
static const struct cel_value *constant_pattern(struct cel_compiler *c, const struct cel_expr *e,
						const struct regex **ret_regex)
{
	const struct cel_value *pattern;
	size_t from = c->code.n;
	struct error err;
	uint64_t cost;

	if (e->kind != CEL_EXPR_CONST || c->arena->used - c->used > CEL_PROGRAM_MAX)
		return NULL;
	cel_compile_expr(c, e);
	pattern = cel_constants(c, from, 1, true, &cost);
	cel_uncompile(c, from, 1);
	if (!pattern || pattern->kind != CEL_STRING)
		return NULL;
	if (cel_regex_compile(c->env, c->arena, pattern->s, ret_regex, &err) == 0)
		return pattern;
	if (!c->fault)
		c->fault = arena_strdup(c->arena, str_from(err.msg));
	return NULL;
}

/* A constant pattern is compiled once. If the text is an error, the rest is not evaluated. */
static void compile_search(struct cel_compiler *c, const struct cel_expr *e, enum cel_search search)
{
	struct cel_call *call = call_new(c, e);
	size_t from = c->code.n, strict = 0;

	call->search = search;
	call->pattern = constant_pattern(c, e->children[1], &call->regex);
	if (!call->pattern) {
		compile_plain_call(c, e, from);
		return;
	}
	cel_compile_expr(c, e->children[0]);
	if (c->code.n == from + 1 && cel_compile_at(c, from)->run == cel_op_const) {
		compile_plain_call(c, e, from);
		return;
	}
	if (e->n == 3) {
		strict = cel_emit(c, (struct cel_ins){ .run = cel_op_strict }, 0);
		cel_compile_expr(c, e->children[2]);
	}
	cel_emit(c, (struct cel_ins){ .run = cel_op_search, .p = call }, 2 - (int)e->n);
	if (strict)
		cel_patch(c, strict);
}

void cel_compile_call(struct cel_compiler *c, const struct cel_expr *e)
{
	if (str_eqz(e->name, CEL_OP_AND) || str_eqz(e->name, CEL_OP_OR))
		compile_logic(c, e, str_eqz(e->name, CEL_OP_AND));
	else if (str_eqz(e->name, CEL_OP_EQUALS) || str_eqz(e->name, CEL_OP_NOT_EQUALS))
		compile_equal(c, e, str_eqz(e->name, CEL_OP_NOT_EQUALS));
	else if (str_eqz(e->name, CEL_OP_NOT))
		compile_unary(c, e, cel_op_not);
	else if (str_eqz(e->name, CEL_OP_NOT_STRICTLY_FALSE))
		compile_unary(c, e, cel_op_not_strictly_false);
	else if (str_eqz(e->name, CEL_OP_IN))
		compile_in(c, e);
	else if (is_overload(e, "optional_or_optional"))
		compile_opt_or(c, e, cel_op_opt_or);
	else if (is_overload(e, "optional_orValue_value"))
		compile_opt_or(c, e, cel_op_opt_or_value);
	else if (search_of(e))
		compile_search(c, e, search_of(e));
	else
		compile_plain_call(c, e, c->code.n);
}
