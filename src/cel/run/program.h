/*
 * program - an expression that is compiled once and evaluated many times.
 *
 * cel_compile() parses and checks the text, and translates the tree into instructions of a small
 * stack machine. Names become slots, known overloads become direct calls, constant parts are
 * evaluated in advance, and constant patterns are compiled. cel_run() executes the program. It uses
 * no heap memory, unless the expression creates lists or text that do not fit into the scratch
 * block.
 *
 * Threads: a program is immutable; any thread may run it with a cel_eval of its own.
 */
#ifndef CEL_RUN_PROGRAM_H
#define CEL_RUN_PROGRAM_H

#include "cel/check/cost.h"
#include "cel/core/env.h"
#include "cel/core/issues.h"

struct cel_program;

/* The error of an evaluation that exceeds its cost limit. Nothing absorbs it. */
#define CEL_COST_EXCEEDED "operation cancelled: actual cost limit exceeded"

/*
 * The program lives in the arena. `text` is copied; the environment's types and libraries are
 * borrowed. Returns NULL if there are issues (whose arena may be another one). With CEL_LITERALS, a
 * conversion of a constant that always fails, such as int("x"), is an issue: "program instantiation
 * failed: ..". So is a program that needs more memory than CEL_PROGRAM_MAX. If the environment's
 * budget does not suffice, CEL_COMPILE_EXCEEDED is the only issue.
 */
const struct cel_program *cel_compile(const struct cel_env *env, struct str text, struct arena *a,
				      struct cel_issues *issues);

/*
 * The same from a checked tree, which must live as long. A program that is too large fails when it
 * runs.
 */
const struct cel_program *cel_compile_tree(const struct cel_env *env, struct cel_expr *root,
					   struct arena *a);

const struct cel_type *cel_program_type(const struct cel_program *p);
const struct cel_expr *cel_program_tree(const struct cel_program *p); /* checked */

/*
 * Evaluates the program. vars[i] is variable i of the environment; CEL_NOTHING means no value ("no
 * such attribute"). Exceeding ev->cost_limit gives the error CEL_COST_EXCEEDED. Exceeding the
 * general limits of work or memory gives another error (see cel_exhaust()). Nothing absorbs these
 * errors.
 */
struct cel_value cel_run(const struct cel_program *p, struct cel_eval *ev,
			 const struct cel_value *vars);

#endif
