/*
 * check_impl - what the files of the checker share.
 *
 * Types of expressions may hold variables: an empty list is list(_var0) until something says
 * more. check/types.c keeps what they stand for. All work on types is counted, because the type of
 * a short expression can be exponentially large (a map of maps of maps, each bound and used
 * twice); past CEL_TYPE_STEPS_MAX the expression is refused.
 */
#ifndef CEL_CHECK_CHECK_IMPL_H
#define CEL_CHECK_CHECK_IMPL_H

#include "base/core/vec.h"
#include "cel/check/check.h"

/* A variable of a fold. */
struct check_local {
	const struct check_local *outer;
	struct str name;
	const struct cel_type *type;
};

/* What a variable stood for before a binding that may have to be undone. */
struct check_undo {
	size_t variable;
	const struct cel_type *bound;
};

struct checker {
	const struct cel_env *env;
	struct cel_issues *issues;
	struct arena *arena; /* of issues */
	const struct check_local *locals; /* innermost first */
	VEC(const struct cel_type *) bound; /* what type variable i stands for, or NULL */
	VEC(struct check_undo) trail;
	bool settled; /* what variables stand for changes no more */
	uint64_t steps; /* taken */
	size_t depth; /* of the type that is walked through */
};

/* --- check/types.c ------------------------------------------------------------------- */

/* False once the expression has taken too many steps; then all that is left is to end. */
bool check_spend(struct checker *c);

const struct cel_type *check_type_variable(struct checker *c);

/* The signature with fresh variables for its parameters: arguments, then the result. */
void check_instantiate(struct checker *c, const struct cel_overload *o,
		       const struct cel_type **ret_args, const struct cel_type **ret_result);

/*
 * Whether values of the one type fit where the other is wanted. Binds variables when they all
 * do, and none when not.
 */
bool check_assignable(struct checker *c, const struct cel_type *from, const struct cel_type *to);
bool check_all_assignable(struct checker *c, const struct cel_type *const *from,
			  const struct cel_type *const *to, size_t n);

/* The one of two types that fit which says less. */
const struct cel_type *check_most_general(struct checker *c, const struct cel_type *a,
					  const struct cel_type *b);

/* With all variables replaced that stand for something; the others by dyn when `to_dyn`. */
const struct cel_type *check_substitute(struct checker *c, const struct cel_type *t, bool to_dyn);

/* cel_type_equal(), but a wrapper is what it wraps, as cel-go has it; counted. */
bool check_same(struct checker *c, const struct cel_type *a, const struct cel_type *b);

static inline bool check_is_dyn(const struct cel_type *t)
{
	return t->kind == CEL_TYPE_DYN || t->kind == CEL_TYPE_ANY;
}

/* As messages name it, in the arena. */
const char *check_show(struct checker *c, const struct cel_type *t);

/* --- check/names.c ------------------------------------------------------------------- */

/* What a name stands for: one of a variable of the environment, of a fold, or a constant. */
struct check_name {
	struct str name; /* in full */
	const struct cel_type *type;
	int32_t variable; /* of the environment, or -1 */
	struct cel_value constant; /* CEL_NOTHING: none */
};

/* A name as written, perhaps with a dot in front. `qualified`: it has dots inside. */
bool check_resolve(struct checker *c, struct str name, bool qualified, struct check_name *ret_name);

/* The name of a chain of selects that ends in an identifier: "a.b.c". */
bool check_qualified_name(struct checker *c, const struct cel_expr *e, struct str *ret_name);

struct cel_message;

/* A message of this name, or a type that is none (ret_type). False: there is no such name. */
bool check_resolve_message(struct checker *c, struct str name,
			   const struct cel_message **ret_message,
			   const struct cel_type **ret_type);

/* All overloads of a function in all libraries. 0: there is no such function. */
size_t check_function(struct checker *c, struct str name, struct str *ret_name,
		      const struct cel_overload ***ret_overloads);

/* --- the walk ------------------------------------------------------------------------- */

/* Sets e->type and those of its children. Recursive: CEL_HEIGHT_MAX. */
void check_expr(struct checker *c, struct cel_expr *e);
void check_call(struct checker *c, struct cel_expr *e);
void check_select_field(struct checker *c, struct cel_expr *e, struct cel_expr *operand,
			struct str field, bool optional);

/* "undeclared reference to .." */
void check_report_undeclared(struct checker *c, const struct cel_expr *e);

/* check/literals.c: constants that are arguments, mixed literals, format strings. */
void check_literals(struct checker *c, struct cel_expr *root);
/* check/format.c: of a call of format(). */
void check_format(struct checker *c, const struct cel_expr *call);

#endif
