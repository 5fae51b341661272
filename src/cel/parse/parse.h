/*
 * parse - text to tree, macros expanded.
 *
 * The whole grammar of the CEL specification with cel-go's bounds and error texts, optional
 * syntax (a.?b, a[?b], [?a], {?k: v}) and identifiers in back-quotes as fields.
 */
#ifndef CEL_PARSE_PARSE_H
#define CEL_PARSE_PARSE_H

#include "cel/core/env.h"
#include "cel/core/issues.h"
#include "cel/parse/ast.h"

/*
 * The tree lives in issues->arena, as does text with escapes; other text is borrowed from
 * issues->text. NULL when there are issues.
 */
struct cel_expr *cel_parse(const struct cel_env *env, struct cel_issues *issues);

/* --- macros ------------------------------------------------------------------------- */

struct cel_expander; /* makes nodes; see macro.h */

struct cel_macro {
	const char *name; /* "exists" */
	uint8_t nargs; /* UINT8_MAX: any */
	bool member;
	/*
	 * The tree in place of the call, NULL when it is to stay a call, or an issue was added.
	 * `receiver` is NULL for a global macro.
	 */
	struct cel_expr *(*expand)(struct cel_expander *x, uint32_t offset,
				   struct cel_expr *receiver, struct cel_expr **args, size_t n);
};

#endif
