/*
 * program - an expression, compiled once to be evaluated many times.
 *
 * cel_compile() parses, checks and turns the tree into instructions of a small stack
 * machine: names become slots, overloads that are known become direct calls, constant
 * parts are evaluated beforehand, constant patterns compiled. cel_run() executes them; it takes no
 * heap memory unless the expression makes lists or text that outgrow the scratch block.
 *
 * Threads: a program is immutable; any thread may run it with a cel_eval of its own.
 */
#ifndef CEL_RUN_PROGRAM_H
#define CEL_RUN_PROGRAM_H

#include "cel/check/cost.h"
#include "cel/core/env.h"
#include "cel/core/issues.h"

struct cel_program;

/* The error of an evaluation that costs more than it may: nothing absorbs it. */
#define CEL_COST_EXCEEDED "operation cancelled: actual cost limit exceeded"

/*
 * All memory is the arena's; `text` is copied, the environment's types and libraries are borrowed.
 * NULL when there are issues (whose arena may be another one). With CEL_LITERALS a conversion of a
 * constant that can only fail, such as int("x"), is one: "program instantiation failed: ..". What
 * takes more memory than CEL_PROGRAM_MAX is one, too, and so is one that the environment's budget
 * does not suffice for: CEL_COMPILE_EXCEEDED, then the only one.
 */
const struct cel_program *cel_compile(const struct cel_env *env, struct str text, struct arena *a,
				      struct cel_issues *issues);

/* The same from a checked tree, which must live as long. What is too large fails when it runs. */
const struct cel_program *cel_compile_tree(const struct cel_env *env, struct cel_expr *root,
					   struct arena *a);

const struct cel_type *cel_program_type(const struct cel_program *p);
const struct cel_expr *cel_program_tree(const struct cel_program *p); /* checked */

/*
 * Evaluates. vars[i] is variable i of the environment; CEL_NOTHING is one without a value ("no
 * such attribute"). Exceeding ev->cost_limit gives the error CEL_COST_EXCEEDED, working or
 * taking memory beyond what any evaluation may another one (see cel_exhaust()); nothing absorbs
 * them.
 */
struct cel_value cel_run(const struct cel_program *p, struct cel_eval *ev,
			 const struct cel_value *vars);

#endif
