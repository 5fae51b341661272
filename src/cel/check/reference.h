/*
 * reference - a simple evaluator of trees, to compare programs with.
 *
 * It is slow, recursive and does not count costs: for tests and fuzzing only. It shares the library
 * functions with the machine, but not the code for operators, errors, paths, literals and folds.
 */
#ifndef CEL_CHECK_REFERENCE_H
#define CEL_CHECK_REFERENCE_H

#include "cel/core/env.h"
#include "cel/parse/ast.h"

/*
 * Evaluates a checked tree; see cel_run(). More than `steps` steps give the error "too many steps".
 */
struct cel_value cel_reference(const struct cel_env *env, const struct cel_expr *root,
			       struct cel_eval *ev, const struct cel_value *vars, size_t steps);

#define CEL_REFERENCE_EXCEEDED "too many steps"

#endif
