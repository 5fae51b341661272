/*
 * parse - parses text into a tree, with macros expanded.
 *
 * Supports the whole grammar of the CEL specification with cel-go's limits and messages, optional
 * syntax (a.?b, a[?b], [?a], {?k: v}), and back-quoted identifiers as fields.
 */
#ifndef CEL_PARSE_PARSE_H
#define CEL_PARSE_PARSE_H

#include "cel/core/env.h"
#include "cel/core/issues.h"
#include "cel/parse/ast.h"

/*
 * The tree and text with escapes live in issues->arena; other text is borrowed from issues->text.
 * Returns NULL if there are issues.
 */
struct cel_expr *cel_parse(const struct cel_env *env, struct cel_issues *issues);

/* --- macros ------------------------------------------------------------------------- */

struct cel_expander; /* creates nodes; see macro.h */

struct cel_macro {
	const char *name; /* "exists" */
	uint8_t nargs; /* UINT8_MAX: any number */
	bool member;
	/*
	 * Returns the tree that replaces the call. Returns NULL if it stays a call, or if it added
	 * an issue. `receiver` is NULL for a global macro.
	 */
	struct cel_expr *(*expand)(struct cel_expander *x, uint32_t offset,
				   struct cel_expr *receiver, struct cel_expr **args, size_t n);
};

#endif
