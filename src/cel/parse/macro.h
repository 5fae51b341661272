/*
 * macro - creates tree nodes, for the parser and for the expansion of macros.
 *
 * Libraries refer to tables of macros: see struct cel_macro. An expander creates the nodes. Nodes
 * that a macro adds have the offset of the macro call's parenthesis. Every node knows its height,
 * so that the height of the tree can be checked once.
 */
#ifndef CEL_PARSE_MACRO_H
#define CEL_PARSE_MACRO_H

#include "cel/parse/parse.h"

/* Variables of comprehensions, with names that no expression can use. */
#define CEL_ACCUMULATOR "@result"
#define CEL_UNUSED      "#unused"

struct cel_expander {
	const struct cel_env *env;
	struct cel_issues *issues; /* nodes live in its arena */
	uint32_t offset; /* offset of the nodes that are created next */
	uint32_t nodes; /* created so far */
	bool full; /* too many nodes, which has been reported; nodes are no longer distinct */
};

extern const struct cel_macro cel_macros_standard[]; /* has, all, exists, map, filter, .. */
extern const struct cel_macro cel_macros_comprehensions[]; /* with two variables */
extern const struct cel_macro cel_macros_bindings[]; /* cel.bind */
extern const struct cel_macro cel_macros_block[]; /* cel.block, cel.index, .. */
extern const struct cel_macro cel_macros_optional[]; /* optMap, optFlatMap */
extern const struct cel_macro cel_macros_math[]; /* math.greatest, math.least */
extern const struct cel_macro cel_macros_lists[]; /* sortBy */

/*
 * Finds a macro by name, presence of a receiver and number of arguments in all libraries, or
 * returns NULL.
 */
const struct cel_macro *cel_macro_find(const struct cel_env *env, struct str name, bool member,
				       size_t n);

/*
 * Create nodes. Arrays of children are borrowed for the life of the tree, except those with a count
 * after them, which are copied.
 */
struct cel_expr *cel_make_constant(struct cel_expander *x, struct cel_value v);
struct cel_expr *cel_make_ident(struct cel_expander *x, struct str name);
struct cel_expr *cel_make_select(struct cel_expander *x, struct cel_expr *operand, struct str field,
				 bool test_only);
/* A receiver, if there is one, becomes the first child. */
struct cel_expr *cel_make_call(struct cel_expander *x, struct str function,
			       struct cel_expr *receiver, struct cel_expr *const *args, size_t n);
struct cel_expr *cel_make_call1(struct cel_expander *x, const char *function, struct cel_expr *a);
struct cel_expr *cel_make_call2(struct cel_expander *x, const char *function, struct cel_expr *a,
				struct cel_expr *b);
struct cel_expr *cel_make_call3(struct cel_expander *x, const char *function, struct cel_expr *a,
				struct cel_expr *b, struct cel_expr *c);
/* A list, map or struct, by `kind`. The caller adds names and optional marks. */
struct cel_expr *cel_make_aggregate(struct cel_expander *x, enum cel_expr_kind kind,
				    struct cel_expr *const *children, size_t n);
struct cel_expr *cel_make_fold(struct cel_expander *x, const struct cel_fold *fold);
/*
 * Binds a value to a name within `result`. It is a fold over an empty list, with the value as
 * accumulator.
 */
struct cel_expr *cel_make_binding(struct cel_expander *x, struct str name, struct cel_expr *value,
				  struct cel_expr *result);

/* Returns a deep copy with the same offsets. */
struct cel_expr *cel_make_copy(struct cel_expander *x, const struct cel_expr *e);

/* Returns the height of the tree, including this node. */
uint32_t cel_expr_height(const struct cel_expr *e);

#endif
