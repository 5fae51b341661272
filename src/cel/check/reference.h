/*
 * reference - evaluates a tree in the most obvious way, to hold programs against.
 *
 * Slow, recursive and without costs: for tests and fuzzing, no part of the library. It shares the
 * functions of libraries with the machine, and nothing of how operators, errors, paths, literals
 * and folds work.
 */
#ifndef CEL_CHECK_REFERENCE_H
#define CEL_CHECK_REFERENCE_H

#include "cel/core/env.h"
#include "cel/parse/ast.h"

/* Of a checked tree; see cel_run(). `steps` bounds the work: "too many steps" beyond it. */
struct cel_value cel_reference(const struct cel_env *env, const struct cel_expr *root,
			       struct cel_eval *ev, const struct cel_value *vars, size_t steps);

#define CEL_REFERENCE_EXCEEDED "too many steps"

#endif
