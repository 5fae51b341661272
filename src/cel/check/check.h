/*
 * check - types of an expression, and whether they fit.
 *
 * Infers the type of every node, as cel-go's checker does: overloads of functions, type
 * parameters, joins to dyn; resolves names; checks literals where the environment wants it.
 * The tree is annotated in place.
 */
#ifndef CEL_CHECK_CHECK_H
#define CEL_CHECK_CHECK_H

#include "cel/core/env.h"
#include "cel/core/issues.h"
#include "cel/parse/ast.h"

/* -ERR_INVALID when issues were added. Types live in issues->arena. */
int cel_check(const struct cel_env *env, struct cel_expr *root, struct cel_issues *issues);

#endif
