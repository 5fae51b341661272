/*
 * Calls. All functions are strict: the leftmost error among the arguments is the result, and
 * a function never sees one. Kinds of arguments are looked at even where types were
 * checked, since variables come from outside and may not keep what their declaration says.
 *
 * Comparing text with a constant is what selectors do most: what it costs follows from the
 * constant's length without counting characters again.
 */
#include "cel/lib/regex.h"
#include "cel/run/machine.h"

/* --- no such overload --------------------------------------------------------------- */

/* Operators whose first operand is refused by name when its type has no such operator at all. */
struct trait {
	const char *function;
	uint32_t kinds;
};

#define KIND(name) (1U << CEL_##name)
#define NUMBERS    (KIND(INT) | KIND(UINT) | KIND(DOUBLE))
#define TIMES      (KIND(TIMESTAMP) | KIND(DURATION))
#define TEXTS      (KIND(STRING) | KIND(BYTES))

static const struct trait traits[] = {
	{ "_+_", NUMBERS | TIMES | TEXTS | KIND(LIST) },
	{ "_-_", NUMBERS | TIMES },
	{ "_*_", NUMBERS },
	{ "_/_", NUMBERS },
	{ "_%_", KIND(INT) | KIND(UINT) },
	{ "_<_", NUMBERS | TIMES | TEXTS | KIND(BOOL) },
	{ "_<=_", NUMBERS | TIMES | TEXTS | KIND(BOOL) },
	{ "_>_", NUMBERS | TIMES | TEXTS | KIND(BOOL) },
	{ "_>=_", NUMBERS | TIMES | TEXTS | KIND(BOOL) },
	{ "matches", KIND(STRING) },
	{ "size", TEXTS | KIND(LIST) | KIND(MAP) },
};

static bool lacks_trait(struct str function, const struct cel_value *operand)
{
	for (size_t i = 0; i < ARRAY_SIZE(traits); i++)
		if (str_eqz(function, traits[i].function))
			return !(traits[i].kinds >> operand->kind & 1);
	return false;
}

/*
 * Errors of operators, and of functions that cel-go treats like them, do not list the argument
 * types.
 */
static bool is_terse(struct str function)
{
	static const char *const functions[] = { "contains", "endsWith", "matches", "size",
						 "startsWith" };
	bool op = !str_is_letter(function.p[0]);

	for (size_t i = 0; i < ARRAY_SIZE(functions) && !op; i++)
		op = str_eqz(function, functions[i]);
	return op;
}

static struct cel_value no_overload(struct cel_eval *ev, const struct cel_call *call,
				    const struct cel_value *args)
{
	char types[256] = "";
	size_t n = 0;

	if (is_terse(call->function)) {
		if (call->nargs && lacks_trait(call->function, &args[0]))
			return cel_errorf(ev, "no such overload: %.*s", STR_ARG(call->function));
		return cel_no_overload(ev);
	}
	for (uint32_t i = 0; i < call->nargs && n < sizeof(types); i++)
		n += (size_t)snprintf(types + n, sizeof(types) - n, "%s%.*s", i ? ", " : "",
				      STR_ARG(cel_value_type(&args[i])->name));
	return cel_errorf(ev, "no such overload: %.*s(%s)", STR_ARG(call->function), types);
}

/* --- calling ------------------------------------------------------------------------ */

static bool takes(const struct cel_overload *o, const struct cel_value *args, size_t n)
{
	if (o->nargs != n || !o->call)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!cel_type_admits(o->args[i], &args[i]))
			return false;
	return true;
}

struct cel_value cel_dispatch(struct cel_eval *ev, const struct cel_call *call,
			      const struct cel_value *args)
{
	for (size_t i = 0; i < call->n; i++)
		if (takes(call->overloads[i], args, call->nargs))
			return call->overloads[i]->call(ev, args);
	return no_overload(ev, call, args);
}

/* The leftmost error; NULL: none. */
static inline const struct cel_value *first_error(const struct cel_value *args, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (args[i].kind == CEL_ERROR)
			return &args[i];
	return NULL;
}

static inline uint64_t cost_of(struct cel_eval *ev, const struct cel_call *call,
			       const struct cel_value *args, const struct cel_value *result)
{
	return call->cost ? call->cost(ev, args, call->nargs, result) : 1;
}

static inline bool machine_call_fits(const struct cel_call *call, const struct cel_value *args)
{
	for (uint32_t i = 0; i < call->nargs; i++) {
		if (args[i].kind == call->kinds[i])
			continue;
		if (call->kinds[i] != CEL_KINDS || args[i].kind == CEL_ERROR)
			return false;
	}
	return !call->checked;
}

/* The result takes the place of the arguments. */
static const struct cel_ins *machine_call_finish(struct cel_machine *m, const struct cel_ins *ins,
						 struct cel_value *args, struct cel_value result)
{
	uint64_t cost = cost_of(m->ev, ins->p, args, &result);

	*args = result;
	m->sp = args + 1;
	return cel_next(m, ins, cost);
}

const struct cel_ins *cel_op_dispatch(struct cel_machine *m, const struct cel_ins *ins)
{
	const struct cel_call *call = ins->p;
	struct cel_value *args = m->sp - call->nargs;
	const struct cel_value *error = first_error(args, call->nargs);

	return machine_call_finish(m, ins, args, error ? *error : cel_dispatch(m->ev, call, args));
}

const struct cel_ins *cel_op_call(struct cel_machine *m, const struct cel_ins *ins)
{
	const struct cel_call *call = ins->p;
	struct cel_value *args = m->sp - call->nargs;

	if (UNLIKELY(!machine_call_fits(call, args)))
		return cel_op_dispatch(m, ins);
	return machine_call_finish(m, ins, args, call->overloads[0]->call(m->ev, args));
}

/* matches(), find() or findAll() of args, whose pattern is compiled. */
static struct cel_value machine_call_search(struct cel_eval *ev, const struct cel_call *call,
					    const struct cel_value *args)
{
	bool limited = call->nargs == 3;

	if (args[0].kind != CEL_STRING || (limited && args[2].kind != CEL_INT))
		return cel_no_overload(ev);
	switch (call->search) {
	case CEL_SEARCH_MATCHES:
		return cel_regex_matches(ev, call->regex, args[0].s);
	case CEL_SEARCH_FIND:
		return cel_regex_find(ev, call->regex, args[0].s);
	default:
		return cel_regex_find_all(ev, call->regex, args[0].s, limited ? args[2].i : -1);
	}
}

const struct cel_ins *cel_op_search(struct cel_machine *m, const struct cel_ins *ins)
{
	const struct cel_call *call = ins->p;
	struct cel_value *top = m->sp - (call->nargs - 1);
	struct cel_value args[3] = { top[0], *call->pattern, CEL_NULL_V };

	m->sp = top + 1;
	if (top->kind == CEL_ERROR)
		return ins + 1;
	if (call->nargs == 3)
		args[2] = top[1];
	*top = args[2].kind == CEL_ERROR ? args[2] : machine_call_search(m->ev, call, args);
	return cel_next(m, ins, cost_of(m->ev, call, args, top));
}

/* --- equality ----------------------------------------------------------------------- */

static inline const struct cel_ins *equal(struct cel_machine *m, const struct cel_ins *ins,
					  bool negate)
{
	struct cel_value *a = m->sp - 2, *b = m->sp - 1;
	const struct cel_value *error = first_error(a, 2);
	uint64_t cost = 1;
	bool same;

	if (UNLIKELY(error))
		return machine_call_finish(m, ins, a, *error);
	if (UNLIKELY(!negate && cel_never_equals(a, b)))
		return machine_call_finish(m, ins, a, cel_no_overload(m->ev));
	if (a->kind == CEL_INT && b->kind == CEL_INT)
		same = a->i == b->i;
	else
		same = cel_equal(m->ev, a, b);
	if (a->kind > CEL_DOUBLE || b->kind > CEL_DOUBLE)
		cost = cost_of(m->ev, ins->p, a, NULL);
	*a = CEL_BOOL_V(same != negate);
	m->sp--;
	return cel_next(m, ins, cost);
}

const struct cel_ins *cel_op_equal(struct cel_machine *m, const struct cel_ins *ins)
{
	return equal(m, ins, false);
}

const struct cel_ins *cel_op_not_equal(struct cel_machine *m, const struct cel_ins *ins)
{
	return equal(m, ins, true);
}

/* The constant is text, a number, a bool or null. */
static inline const struct cel_ins *equal_const(struct cel_machine *m, const struct cel_ins *ins,
						bool negate)
{
	const struct cel_key *key = ins->p;
	struct cel_value *a = m->sp - 1, args[2];
	uint64_t cost = key->equal_cost;
	bool same, text = a->kind == CEL_STRING && key->value.kind == CEL_STRING;

	if (text)
		same = str_eq(a->s, key->value.s);
	else
		same = a->kind != CEL_ERROR && cel_equal(m->ev, a, &key->value);
	/* A character has at most four bytes: text that is long enough is not counted. */
	if (!same && !(text && a->s.n / 4 >= key->size)) {
		args[0] = *a;
		args[1] = key->value;
		cost = cost_of(m->ev, key->equal, args, NULL);
	}
	if (UNLIKELY(!negate && cel_never_equals(a, &key->value)))
		*a = cel_no_overload(m->ev);
	else if (LIKELY(a->kind != CEL_ERROR))
		*a = CEL_BOOL_V(same != negate);
	return cel_next(m, ins, cost);
}

const struct cel_ins *cel_op_equal_const(struct cel_machine *m, const struct cel_ins *ins)
{
	return equal_const(m, ins, false);
}

const struct cel_ins *cel_op_not_equal_const(struct cel_machine *m, const struct cel_ins *ins)
{
	return equal_const(m, ins, true);
}

/* --- integers ----------------------------------------------------------------------- */

static inline bool two_ints(const struct cel_machine *m)
{
	return m->sp[-2].kind == CEL_INT && m->sp[-1].kind == CEL_INT;
}

const struct cel_ins *cel_op_add_int(struct cel_machine *m, const struct cel_ins *ins)
{
	int64_t sum;

	if (!two_ints(m) || __builtin_add_overflow(m->sp[-2].i, m->sp[-1].i, &sum))
		return cel_op_call(m, ins);
	m->sp--;
	m->sp[-1] = CEL_INT_V(sum);
	return cel_next(m, ins, 1);
}

const struct cel_ins *cel_op_subtract_int(struct cel_machine *m, const struct cel_ins *ins)
{
	int64_t difference;

	if (!two_ints(m) || __builtin_sub_overflow(m->sp[-2].i, m->sp[-1].i, &difference))
		return cel_op_call(m, ins);
	m->sp--;
	m->sp[-1] = CEL_INT_V(difference);
	return cel_next(m, ins, 1);
}

static inline const struct cel_ins *machine_call_answer(struct cel_machine *m,
							const struct cel_ins *ins, bool b)
{
	m->sp--;
	m->sp[-1] = CEL_BOOL_V(b);
	return cel_next(m, ins, 1);
}

const struct cel_ins *cel_op_less_int(struct cel_machine *m, const struct cel_ins *ins)
{
	return two_ints(m) ? machine_call_answer(m, ins, m->sp[-2].i < m->sp[-1].i)
			   : cel_op_call(m, ins);
}

const struct cel_ins *cel_op_less_equal_int(struct cel_machine *m, const struct cel_ins *ins)
{
	return two_ints(m) ? machine_call_answer(m, ins, m->sp[-2].i <= m->sp[-1].i)
			   : cel_op_call(m, ins);
}

const struct cel_ins *cel_op_greater_int(struct cel_machine *m, const struct cel_ins *ins)
{
	return two_ints(m) ? machine_call_answer(m, ins, m->sp[-2].i > m->sp[-1].i)
			   : cel_op_call(m, ins);
}

const struct cel_ins *cel_op_greater_equal_int(struct cel_machine *m, const struct cel_ins *ins)
{
	return two_ints(m) ? machine_call_answer(m, ins, m->sp[-2].i >= m->sp[-1].i)
			   : cel_op_call(m, ins);
}

/* --- membership --------------------------------------------------------------------- */

static bool is_member(struct cel_eval *ev, const struct cel_members *members,
		      const struct cel_value *v)
{
	const struct cel_value *items = cel_list_items(&members->list);
	struct cel_value found;

	if (members->set.kind == CEL_MAP) {
		found = cel_map_find(ev, &members->set, v);
		return found.kind != CEL_ERROR;
	}
	for (size_t i = 0, n = cel_list_size(&members->list); i < n; i++)
		if (cel_equal(ev, v, &items[i]))
			return true;
	return false;
}

const struct cel_ins *cel_op_in_const(struct cel_machine *m, const struct cel_ins *ins)
{
	struct cel_value *top = m->sp - 1;

	if (LIKELY(top->kind != CEL_ERROR))
		*top = CEL_BOOL_V(is_member(m->ev, ins->p, top));
	return ins + 1;
}
