/*
 * compile - translates a checked tree into instructions. Private to cel; see program.h.
 *
 * Each expression leaves one value on the stack. The depth of the stack is known at every
 * instruction, so a program knows the stack size that it needs. Constant folding happens after
 * emitting code: if all arguments of a call are constants, the call is made at once and its result
 * replaces them. Its cost stays the same, since costs must not depend on optimization. Calls that
 * fail are left to run time.
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
	bool lazy; /* an accumulator that the code at `init` computes on demand .. */
	size_t init, init_depth; /* .. with this stack depth */
};

struct cel_compiler {
	const struct cel_env *env;
	struct arena *arena;
	size_t used; /* of the arena, when compiling began */
	VEC(struct cel_ins) code;
	size_t depth, depth_max; /* of the stack */
	size_t slots, slots_max;
	const struct cel_scope *scope;
	struct cel_eval ev; /* creates constant lists and maps, in the program's memory */
	/*
	 * Evaluates calls of constants in temporary memory, because arguments and results may be
	 * much larger than the text. Its first block is the compiler's.
	 */
	struct cel_eval fold;
	struct arena scratch;
	bool large; /* the program needs more than CEL_PROGRAM_MAX: the code is incomplete */
	/*
	 * Error of the first conversion of a constant that always fails, or NULL. Upstream then
	 * rejects the program, whether or not that part would ever run.
	 */
	const char *fault;
};

/* --- compile.c ---------------------------------------------------------------------- */

/* Emits code for the value of the expression, with its full cost. */
void cel_compile_expr(struct cel_compiler *c, const struct cel_expr *e);

/*
 * Appends an instruction that changes the stack depth by `change`, and returns its index. The
 * pointer of cel_compile_at() is valid until the next append.
 */
size_t cel_emit(struct cel_compiler *c, struct cel_ins ins, int change);
struct cel_ins *cel_compile_at(struct cel_compiler *c, size_t place);
/* Make the instruction at `place` jump to the current end of the code. */
void cel_patch(struct cel_compiler *c, size_t place);
void cel_patch2(struct cel_compiler *c, size_t place);
/* Appends a backward jump. */
void cel_emit_back(struct cel_compiler *c, struct cel_ins ins, size_t to, int change);

/* --- constants ---------------------------------------------------------------------- */

/*
 * A constant is `plain` if cel-go treats it as a constant, too: literals, and lists, maps and
 * conversions of plain constants. These cost nothing.
 */
void cel_emit_const(struct cel_compiler *c, struct cel_value v, uint64_t cost, bool plain);
/*
 * If all code since `from` is n constants (with `plain`: plain ones), returns the values; else
 * NULL.
 */
const struct cel_value *cel_constants(struct cel_compiler *c, size_t from, size_t n, bool plain,
				      uint64_t *ret_cost);
/* Removes the code since `from`, which pushes n values. */
void cel_uncompile(struct cel_compiler *c, size_t from, size_t n);
struct cel_key *cel_key_new(struct cel_compiler *c, struct cel_value v);

/* --- compile_call.c, compile_fold.c ------------------------------------------------- */

void cel_compile_call(struct cel_compiler *c, const struct cel_expr *e);
void cel_compile_fold(struct cel_compiler *c, const struct cel_expr *e);

#endif
