/*
 * macro - makes nodes of a tree, for the parser and for macros in place of calls.
 *
 * Macros are rows of tables that libraries name: see struct cel_macro. An expander makes the
 * nodes; those that a macro adds stand where its call stood in the text, at the parenthesis.
 * Every node knows how deep the tree below it is, so that the whole can be bounded once.
 */
#ifndef CEL_PARSE_MACRO_H
#define CEL_PARSE_MACRO_H

#include "cel/parse/parse.h"

/* Variables of comprehensions that no expression can name. */
#define CEL_ACCUMULATOR "@result"
#define CEL_UNUSED      "#unused"

struct cel_expander {
	const struct cel_env *env;
	struct cel_issues *issues; /* nodes live in its arena */
	uint32_t offset; /* of nodes that are made next */
	uint32_t nodes; /* made so far */
	bool full; /* there were too many, which was told; nodes are no longer distinct */
};

extern const struct cel_macro cel_macros_standard[]; /* has, all, exists, map, filter, .. */
extern const struct cel_macro cel_macros_comprehensions[]; /* with two variables */
extern const struct cel_macro cel_macros_bindings[]; /* cel.bind */
extern const struct cel_macro cel_macros_block[]; /* cel.block, cel.index, .. */
extern const struct cel_macro cel_macros_optional[]; /* optMap, optFlatMap */
extern const struct cel_macro cel_macros_math[]; /* math.greatest, math.least */
extern const struct cel_macro cel_macros_lists[]; /* sortBy */

/* The macro of that name, receiver and count of arguments in any library; NULL: there is none. */
const struct cel_macro *cel_macro_find(const struct cel_env *env, struct str name, bool member,
				       size_t n);

/*
 * New nodes. Arrays of children are borrowed as long as the tree lives; those with a count
 * behind them are copied.
 */
struct cel_expr *cel_make_constant(struct cel_expander *x, struct cel_value v);
struct cel_expr *cel_make_ident(struct cel_expander *x, struct str name);
struct cel_expr *cel_make_select(struct cel_expander *x, struct cel_expr *operand, struct str field,
				 bool test_only);
/* With a receiver it is the first child. */
struct cel_expr *cel_make_call(struct cel_expander *x, struct str function,
			       struct cel_expr *receiver, struct cel_expr *const *args, size_t n);
struct cel_expr *cel_make_call1(struct cel_expander *x, const char *function, struct cel_expr *a);
struct cel_expr *cel_make_call2(struct cel_expander *x, const char *function, struct cel_expr *a,
				struct cel_expr *b);
struct cel_expr *cel_make_call3(struct cel_expander *x, const char *function, struct cel_expr *a,
				struct cel_expr *b, struct cel_expr *c);
/* A list, map or struct, by `kind`; the caller adds names and marks. */
struct cel_expr *cel_make_aggregate(struct cel_expander *x, enum cel_expr_kind kind,
				    struct cel_expr *const *children, size_t n);
struct cel_expr *cel_make_fold(struct cel_expander *x, const struct cel_fold *fold);
/* The result, which sees the value under that name: a fold over nothing, its accumulator. */
struct cel_expr *cel_make_binding(struct cel_expander *x, struct str name, struct cel_expr *value,
				  struct cel_expr *result);

/* A tree of its own with the same content, at the same place. */
struct cel_expr *cel_make_copy(struct cel_expander *x, const struct cel_expr *e);

/* How many nodes lie one below the other at most, this one counted. */
uint32_t cel_expr_height(const struct cel_expr *e);

#endif
