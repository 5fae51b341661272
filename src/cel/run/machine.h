/*
 * machine - the instructions that a program consists of.
 *
 * Values are pushed on a stack; variables of folds live in slots beside it. An instruction
 * names the function that executes it, which returns the next one, or NULL when the evaluation is
 * over. Strict operators hand errors on, which are values like any other; only what it costs too
 * much ends everything at once.
 *
 * Costs are counted as cel-go's interpreter counts them, which is not always one per node:
 * where compile.c decides about them it says so. Within cel only.
 *
 * Threads: instructions are immutable, a machine belongs to one evaluation.
 */
#ifndef CEL_RUN_MACHINE_H
#define CEL_RUN_MACHINE_H

#include "base/regex/regex.h"
#include "cel/check/cost.h"
#include "cel/core/library.h"
#include "cel/parse/ast.h"

/* Of a slot: an accumulator whose initial value nobody asked for yet, or is being computed. */
enum { CEL_UNSET = CEL_KINDS, CEL_PENDING };

struct cel_machine {
	struct cel_eval *ev;
	const struct cel_value *vars;
	struct cel_value *sp; /* one above the top */
	struct cel_value *slots;
	uint64_t cost; /* so far */
};

struct cel_ins;

typedef const struct cel_ins *(*cel_op)(struct cel_machine *m, const struct cel_ins *ins);

struct cel_ins {
	cel_op run;
	const void *p; /* what the instruction is about: see each */
	int32_t to, to2; /* jumps, from this instruction on */
	uint32_t n; /* values that it takes, a slot, an index */
	uint32_t cost;
};

enum cel_search { CEL_SEARCH_NONE, CEL_SEARCH_MATCHES, CEL_SEARCH_FIND, CEL_SEARCH_FIND_ALL };

/* A call: one overload when types are known, else those that are tried. */
struct cel_call {
	struct str function;
	const struct cel_overload *const *overloads;
	size_t n;
	cel_call_cost cost; /* NULL: 1 */
	uint32_t nargs;
	uint8_t kinds[CEL_ARGS_MAX]; /* of the one overload's arguments; CEL_KINDS: see `checked` */
	bool checked; /* some kind does not say enough: ask cel_type_admits() */
	enum cel_search search; /* with a constant pattern: its program and its text */
	const struct regex *regex;
	const struct cel_value *pattern;
};

/* A constant that is compared with, looked up, or selected by. */
struct cel_key {
	struct cel_value value;
	uint64_t size; /* cel_value_size() */
	const char *missing; /* "no such key: x" */
	const struct cel_call
		*equal; /* of a comparison, and what it costs with the constant itself */
	uint64_t equal_cost;
};

/* A constant list to search: in its set when there is one. */
struct cel_members {
	struct cel_value list, set;
};

/* A struct literal. */
struct cel_literal {
	const struct cel_type *type;
	const struct str *fields;
	const bool *optionals;
};

/* How slots of a fold are used, from its first one on. */
enum {
	CEL_FOLD_ACCU,
	CEL_FOLD_VAR,
	CEL_FOLD_VAR2,
	CEL_FOLD_RANGE,
	CEL_FOLD_AT,
	CEL_FOLD_SIZE,
	CEL_FOLD_SLOTS
};

/* --- for those who execute ---------------------------------------------------------- */

/* Counts; false when that was too much, or the evaluation is exhausted: return NULL then. */
static inline bool cel_charge(struct cel_machine *m, uint64_t cost)
{
	if (UNLIKELY(__builtin_add_overflow(m->cost, cost, &m->cost)))
		m->cost = UINT64_MAX;
	return LIKELY(m->cost < m->ev->bound);
}

/* The next instruction after counting. */
static inline const struct cel_ins *cel_next(struct cel_machine *m, const struct cel_ins *ins,
					     uint64_t cost)
{
	return LIKELY(cel_charge(m, cost)) ? ins + 1 : NULL;
}

static inline const struct cel_ins *cel_jump(struct cel_machine *m, const struct cel_ins *to,
					     uint64_t cost)
{
	return LIKELY(cel_charge(m, cost)) ? to : NULL;
}

/* What a value that should be a bool and is none turns into: itself when it is an error. */
static inline struct cel_value cel_not_bool(struct cel_eval *ev, struct cel_value v)
{
	return cel_is_error(v) ? v : cel_no_overload(ev);
}

/* --- instructions ------------------------------------------------------------------- */

/* machine.c */
const struct cel_ins *cel_op_end(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_const(struct cel_machine *m, const struct cel_ins *ins); /* p */
const struct cel_ins *cel_op_fault(struct cel_machine *m, const struct cel_ins *ins); /* p */
/* Variable n; p: the error when it has no value. */
const struct cel_ins *cel_op_var(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_slot(struct cel_machine *m, const struct cel_ins *ins); /* n */
const struct cel_ins *cel_op_jump(struct cel_machine *m, const struct cel_ins *ins);
/* The top is the result of && (||) when it is false (true): go on at `to`. */
const struct cel_ins *cel_op_and_test(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_or_test(struct cel_machine *m, const struct cel_ins *ins);
/* Both terms are there and the first was not decisive. Also jumps. */
const struct cel_ins *cel_op_and_join(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_or_join(struct cel_machine *m, const struct cel_ins *ins);
/* ?: true goes on, false at `to`; anything else is an error and goes on at `to2`. */
const struct cel_ins *cel_op_choose(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_not(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_not_strictly_false(struct cel_machine *m, const struct cel_ins *ins);
/* An error at the top, n values above where it belongs: it becomes the result, at `to`. */
const struct cel_ins *cel_op_strict(struct cel_machine *m, const struct cel_ins *ins);
/* or() and orValue(): without value of the first, go on and compute the second; else at `to`. */
const struct cel_ins *cel_op_opt_or(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_opt_or_value(struct cel_machine *m, const struct cel_ins *ins);

/* machine_select.c: p is a struct cel_key or, with a key on the stack, NULL. */
const struct cel_ins *cel_op_select(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_index(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_opt_select(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_opt_index(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_has(struct cel_machine *m, const struct cel_ins *ins);
/* Nothing to index at the top: the key is not looked at, go on at `to`. */
const struct cel_ins *cel_op_guard(struct cel_machine *m, const struct cel_ins *ins);

/* machine_call.c: p is a struct cel_call; comparing with a constant: a struct cel_key. */
const struct cel_ins *cel_op_call(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_dispatch(struct cel_machine *m, const struct cel_ins *ins);
/* The pattern is compiled and not on the stack. */
const struct cel_ins *cel_op_search(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_equal(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_not_equal(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_equal_const(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_not_equal_const(struct cel_machine *m, const struct cel_ins *ins);
/* Of two integers; anything unusual is left to the overload. */
const struct cel_ins *cel_op_add_int(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_subtract_int(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_less_int(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_less_equal_int(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_greater_int(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_greater_equal_int(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_in_const(struct cel_machine *m, const struct cel_ins *ins);

/* machine_build.c: n values; p: the flags of optional ones, or NULL. */
const struct cel_ins *cel_op_list(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_map(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_struct(struct cel_machine *m, const struct cel_ins *ins);

/* machine_fold.c: n is the first slot. */
/* Takes the range; an error goes on at `to`. p: what the accumulator begins with; NULL: unset. */
const struct cel_ins *cel_op_fold_begin(struct cel_machine *m, const struct cel_ins *ins);
/* The same with an accumulator that is built in place. */
const struct cel_ins *cel_op_fold_build(struct cel_machine *m, const struct cel_ins *ins);
/* The next element, or `to`. */
const struct cel_ins *cel_op_fold_next(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_fold_next2(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_fold_test(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_fold_step(struct cel_machine *m, const struct cel_ins *ins);
/* Marks the accumulator as not computed. */
const struct cel_ins *cel_op_unset(struct cel_machine *m, const struct cel_ins *ins);
/* Pushes it, computed at `to` when nobody did so before; that ends with lazy_store. */
const struct cel_ins *cel_op_lazy(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_lazy_store(struct cel_machine *m, const struct cel_ins *ins);
/* Steps of accumulators built in place. */
const struct cel_ins *cel_op_charge(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_append(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_insert(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_insert_all(struct cel_machine *m, const struct cel_ins *ins);
/* The accumulator is an error already: go on at `to`. */
const struct cel_ins *cel_op_build_guard(struct cel_machine *m, const struct cel_ins *ins);
/* As choose; what is no bool becomes the accumulator. */
const struct cel_ins *cel_op_build_choose(struct cel_machine *m, const struct cel_ins *ins);
/* The map is complete: no key twice. */
const struct cel_ins *cel_op_build_map(struct cel_machine *m, const struct cel_ins *ins);

/* --- shared with the reference ------------------------------------------------------ */

/* Calls the first overload that takes such arguments, none of them an error. */
struct cel_value cel_dispatch(struct cel_eval *ev, const struct cel_call *call,
			      const struct cel_value *args);
/* A map literal of n values: keys and values in turn. Keys are checked. */
struct cel_value cel_map_literal(struct cel_eval *ev, const struct cel_value *pairs, size_t n,
				 const bool *optionals);
struct cel_value cel_list_literal(struct cel_eval *ev, const struct cel_value *items, size_t n,
				  const bool *optionals);
/* A map of n entries; a key that comes twice is an error ("insert failed: .."). */
struct cel_value cel_map_of_pairs(struct cel_eval *ev, const struct cel_value *pairs, size_t n);
struct cel_value cel_struct_literal(struct cel_eval *ev, const struct cel_literal *literal,
				    const struct cel_value *values, size_t n);
/* The error of a fold over something else than a list or map. */
struct cel_value cel_not_iterable(struct cel_eval *ev, const struct cel_value *range, bool two);

#endif
