/*
 * machine - the instructions of a program.
 *
 * Values are pushed on a stack; variables of folds are in separate slots. An instruction has a
 * pointer to the function that executes it, which returns the next instruction, or NULL at the end
 * of the evaluation. Errors are values, which strict operators propagate. Only exceeding the cost
 * limit ends the evaluation at once.
 *
 * Costs are counted like in cel-go's interpreter, which is not always one per node; compile.c
 * documents the details. Private to cel.
 *
 * Threads: instructions are immutable, a machine belongs to one evaluation.
 */
#ifndef CEL_RUN_MACHINE_H
#define CEL_RUN_MACHINE_H

#include "base/regex/regex.h"
#include "cel/check/cost.h"
#include "cel/core/library.h"
#include "cel/parse/ast.h"

/* Kinds of a slot: an accumulator whose initial value is not computed yet, or is being computed. */
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
	const void *p; /* operand; depends on the instruction */
	int32_t to, to2; /* jump targets, relative to this instruction */
	uint32_t n; /* number of operands, a slot, or an index */
	uint32_t cost;
};

enum cel_search { CEL_SEARCH_NONE, CEL_SEARCH_MATCHES, CEL_SEARCH_FIND, CEL_SEARCH_FIND_ALL };

/* A call: one overload if types are known, else the candidates. */
struct cel_call {
	struct str function;
	const struct cel_overload *const *overloads;
	size_t n;
	cel_call_cost cost; /* NULL: 1 */
	uint32_t nargs;
	uint8_t kinds[CEL_ARGS_MAX]; /* of the overload's arguments; CEL_KINDS: see `checked` */
	bool checked; /* some kind is not sufficient: call cel_type_admits() */
	enum cel_search search; /* for a constant pattern: its compiled form and its text */
	const struct regex *regex;
	const struct cel_value *pattern;
};

/* A constant operand of a comparison, lookup or select. */
struct cel_key {
	struct cel_value value;
	uint64_t size; /* cel_value_size() */
	const char *missing; /* "no such key: x" */
	/* Call of a comparison; equal_cost: its cost with `value` itself. */
	const struct cel_call *equal;
	uint64_t equal_cost;
};

/* A constant list to search, and its set, if there is one. */
struct cel_members {
	struct cel_value list, set;
};

/* A struct literal. */
struct cel_literal {
	const struct cel_type *type;
	const struct str *fields;
	const bool *optionals;
};

/* The slots of a fold, relative to its first one. */
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

/*
 * Adds to the cost. Returns false if the limit is exceeded or the evaluation is exhausted: then
 * return NULL.
 */
static inline bool cel_charge(struct cel_machine *m, uint64_t cost)
{
	if (UNLIKELY(__builtin_add_overflow(m->cost, cost, &m->cost)))
		m->cost = UINT64_MAX;
	return LIKELY(m->cost < m->ev->bound);
}

/* Adds to the cost and returns the next instruction. */
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

/* Returns the error for a value that is not a bool. An error stays as it is. */
static inline struct cel_value cel_not_bool(struct cel_eval *ev, struct cel_value v)
{
	return cel_is_error(v) ? v : cel_no_overload(ev);
}

/* --- instructions ------------------------------------------------------------------- */

/* machine.c */
const struct cel_ins *cel_op_end(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_const(struct cel_machine *m, const struct cel_ins *ins); /* p */
const struct cel_ins *cel_op_fault(struct cel_machine *m, const struct cel_ins *ins); /* p */
/* Pushes variable n; p: the error if it has no value. */
const struct cel_ins *cel_op_var(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_slot(struct cel_machine *m, const struct cel_ins *ins); /* n */
const struct cel_ins *cel_op_jump(struct cel_machine *m, const struct cel_ins *ins);
/* If the top is false (for &&) or true (for ||), it is the result: jumps to `to`. */
const struct cel_ins *cel_op_and_test(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_or_test(struct cel_machine *m, const struct cel_ins *ins);
/* Joins two terms, the first of which was not decisive. Also jumps if the second is. */
const struct cel_ins *cel_op_and_join(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_or_join(struct cel_machine *m, const struct cel_ins *ins);
/* ?: continues on true, jumps to `to` on false. Anything else is an error and jumps to `to2`. */
const struct cel_ins *cel_op_choose(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_not(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_not_strictly_false(struct cel_machine *m, const struct cel_ins *ins);
/*
 * If the top is an error, drops the n values below it, so that it becomes the result, and jumps to
 * `to`.
 */
const struct cel_ins *cel_op_strict(struct cel_machine *m, const struct cel_ins *ins);
/*
 * or() and orValue(): if the first has no value, continues to compute the second; else jumps to
 * `to`.
 */
const struct cel_ins *cel_op_opt_or(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_opt_or_value(struct cel_machine *m, const struct cel_ins *ins);

/* machine_select.c: p is a struct cel_key or, with a key on the stack, NULL. */
const struct cel_ins *cel_op_select(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_index(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_opt_select(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_opt_index(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_has(struct cel_machine *m, const struct cel_ins *ins);
/* If the top cannot be indexed, jumps to `to` without evaluating the key. */
const struct cel_ins *cel_op_guard(struct cel_machine *m, const struct cel_ins *ins);

/* machine_call.c: p is a struct cel_call; for comparisons with a constant, a struct cel_key. */
const struct cel_ins *cel_op_call(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_dispatch(struct cel_machine *m, const struct cel_ins *ins);
/* The pattern is compiled and not on the stack. */
const struct cel_ins *cel_op_search(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_equal(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_not_equal(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_equal_const(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_not_equal_const(struct cel_machine *m, const struct cel_ins *ins);
/* Operators on two integers. Overflow and other cases are left to the overload. */
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
/* Pops the range; an error jumps to `to`. p: initial value of the accumulator; NULL: unset. */
const struct cel_ins *cel_op_fold_begin(struct cel_machine *m, const struct cel_ins *ins);
/* The same with an accumulator that is built in place. */
const struct cel_ins *cel_op_fold_build(struct cel_machine *m, const struct cel_ins *ins);
/* Sets the next element, or jumps to `to` at the end. */
const struct cel_ins *cel_op_fold_next(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_fold_next2(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_fold_test(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_fold_step(struct cel_machine *m, const struct cel_ins *ins);
/* Marks the accumulator as not computed. */
const struct cel_ins *cel_op_unset(struct cel_machine *m, const struct cel_ins *ins);
/*
 * Pushes the accumulator. If it is not computed yet, runs the code at `to`, which ends with
 * lazy_store.
 */
const struct cel_ins *cel_op_lazy(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_lazy_store(struct cel_machine *m, const struct cel_ins *ins);
/* Steps of accumulators built in place. */
const struct cel_ins *cel_op_charge(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_append(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_insert(struct cel_machine *m, const struct cel_ins *ins);
const struct cel_ins *cel_op_insert_all(struct cel_machine *m, const struct cel_ins *ins);
/* If the accumulator is an error, jumps to `to`. */
const struct cel_ins *cel_op_build_guard(struct cel_machine *m, const struct cel_ins *ins);
/* Like choose, but a value that is not a bool becomes the accumulator, as an error. */
const struct cel_ins *cel_op_build_choose(struct cel_machine *m, const struct cel_ins *ins);
/* Completes the map. A duplicate key is an error. */
const struct cel_ins *cel_op_build_map(struct cel_machine *m, const struct cel_ins *ins);

/* --- shared with the reference ------------------------------------------------------ */

/* Calls the first overload that accepts the arguments, which must not be errors. */
struct cel_value cel_dispatch(struct cel_eval *ev, const struct cel_call *call,
			      const struct cel_value *args);
/* Returns a map literal of n values: alternating keys and values. Checks the keys. */
struct cel_value cel_map_literal(struct cel_eval *ev, const struct cel_value *pairs, size_t n,
				 const bool *optionals);
struct cel_value cel_list_literal(struct cel_eval *ev, const struct cel_value *items, size_t n,
				  const bool *optionals);
/* Returns a map of n entries. A duplicate key is an error ("insert failed: .."). */
struct cel_value cel_map_of_pairs(struct cel_eval *ev, const struct cel_value *pairs, size_t n);

#endif
