/*
 * compile - from a checked tree to instructions. Within cel only; see program.h.
 *
 * Expressions leave one value on the stack. The depth of the stack is known at every place, so
 * that a program says how much it needs. Constant parts are recognised after the fact: where
 * the arguments of a call turned out to be constants and nothing else, the call is done
 * at once and its result takes their place, with what it costs, since costs do not
 * depend on how clever we are. What would be an error stays for run time.
 */
#ifndef CEL_RUN_COMPILE_H
#define CEL_RUN_COMPILE_H

#include "base/core/vec.h"
#include "cel/run/machine.h"

/* A variable of a fold. */
struct cel_scope {
	const struct cel_scope *outer;
	struct str name;
	uint32_t slot;
	bool lazy; /* an accumulator computed by the code at `init` .. */
	size_t init, init_depth; /* .. which needs so much of the stack */
};

struct cel_compiler {
	const struct cel_env *env;
	struct arena *arena;
	size_t used; /* of the arena when compiling began */
	VEC(struct cel_ins) code;
	size_t depth, depth_max; /* of the stack */
	size_t slots, slots_max;
	const struct cel_scope *scope;
	struct cel_eval ev; /* makes constant lists and maps, in the program's memory */
	/*
	 * Makes calls of constants, whose arguments and results may be much larger than the text:
	 * in memory that is given back, beginning with a block of the compiler's.
	 */
	struct cel_eval fold;
	struct arena scratch;
	bool large; /* the program takes more than CEL_PROGRAM_MAX: what is compiled is not it */
	/*
	 * What is wrong with the first conversion of a constant that can only fail, or NULL:
	 * upstream makes no program then, whether or not that part would ever run.
	 */
	const char *fault;
};

/* --- compile.c ---------------------------------------------------------------------- */

/* The value of the expression; with all that it costs. */
void cel_compile_expr(struct cel_compiler *c, const struct cel_expr *e);
/* The same as cel-go resolves it within ?: and [ ]: paths from a variable cost one less. */
void cel_compile_resolved(struct cel_compiler *c, const struct cel_expr *e);

/* Whether it is a path: a variable, a field, an index, ?: */
bool cel_is_attribute(const struct cel_expr *e);

/*
 * Appends an instruction that changes the depth by `change`, and gives back its place. The pointer
 * of cel_compile_at() is good until the next one is appended.
 */
size_t cel_emit(struct cel_compiler *c, struct cel_ins ins, int change);
struct cel_ins *cel_compile_at(struct cel_compiler *c, size_t place);
/* The instruction at `place` jumps to here. */
void cel_patch(struct cel_compiler *c, size_t place);
void cel_patch2(struct cel_compiler *c, size_t place);
/* Jumps back. */
void cel_emit_back(struct cel_compiler *c, struct cel_ins ins, size_t to, int change);

/* --- constants ---------------------------------------------------------------------- */

/*
 * A constant is `plain` when cel-go takes it for one, too: literals, and lists, maps and
 * conversions of such. Those cost nothing.
 */
void cel_emit_const(struct cel_compiler *c, struct cel_value v, uint64_t cost, bool plain);
/* The value, if all code since `from` is n constants (all of them plain); else NULL. */
const struct cel_value *cel_constants(struct cel_compiler *c, size_t from, size_t n, bool plain,
				      uint64_t *ret_cost);
/* Takes back what was emitted since, n values. */
void cel_uncompile(struct cel_compiler *c, size_t from, size_t n);
struct cel_key *cel_key_new(struct cel_compiler *c, struct cel_value v);

/* --- compile_call.c, compile_fold.c ------------------------------------------------- */

void cel_compile_call(struct cel_compiler *c, const struct cel_expr *e);
void cel_compile_fold(struct cel_compiler *c, const struct cel_expr *e);

#endif
