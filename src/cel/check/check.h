/*
 * check - infers and checks the types of an expression.
 *
 * Works like cel-go's checker: it infers the type of every node (overloads, type parameters, joins
 * to dyn), resolves names, and checks literals if the environment says so. It annotates the tree in
 * place.
 */
#ifndef CEL_CHECK_CHECK_H
#define CEL_CHECK_CHECK_H

#include "cel/core/env.h"
#include "cel/core/issues.h"
#include "cel/parse/ast.h"

/* Returns -ERR_INVALID if it added issues. Types live in issues->arena. */
int cel_check(const struct cel_env *env, struct cel_expr *root, struct cel_issues *issues);

#endif
