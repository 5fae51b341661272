/*
 * check_impl - private to the files of the checker.
 *
 * Types may contain type variables: an empty list is list(_var0) until its element type is known.
 * check/types.c keeps their bindings. All work on types is counted, because a short expression can
 * have an exponentially large type (a map of maps of maps, each bound and used twice). Beyond
 * CEL_TYPE_STEPS_MAX the expression is rejected.
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

/* The previous binding of a type variable, to undo a new one. */
struct check_undo {
	size_t variable;
	const struct cel_type *bound;
};

struct checker {
	const struct cel_env *env;
	struct cel_issues *issues;
	struct arena *arena; /* of issues */
	const struct check_local *locals; /* innermost first */
	VEC(const struct cel_type *) bound; /* binding of type variable i, or NULL */
	VEC(struct check_undo) trail;
	bool settled; /* bindings no longer change */
	uint64_t steps; /* so far */
	size_t depth; /* of the type that is being visited */
};

/* --- check/types.c ------------------------------------------------------------------- */

/* Counts a step. Returns false if the expression has taken too many: then end. */
bool check_spend(struct checker *c);

const struct cel_type *check_type_variable(struct checker *c);

/* Returns the overload's signature with fresh type variables for its parameters. */
void check_instantiate(struct checker *c, const struct cel_overload *o,
		       const struct cel_type **ret_args, const struct cel_type **ret_result);

/*
 * Whether values of type `from` can be used as `to`. If all fit, binds type variables; otherwise
 * binds none.
 */
bool check_assignable(struct checker *c, const struct cel_type *from, const struct cel_type *to);
bool check_all_assignable(struct checker *c, const struct cel_type *const *from,
			  const struct cel_type *const *to, size_t n);

/* Returns the more general of two compatible types. */
const struct cel_type *check_most_general(struct checker *c, const struct cel_type *a,
					  const struct cel_type *b);

/* Replaces all bound type variables; with `to_dyn`, replaces unbound ones by dyn. */
const struct cel_type *check_substitute(struct checker *c, const struct cel_type *t, bool to_dyn);

/* cel_type_equal(), but a wrapper equals the type that it wraps, as in cel-go. Counts steps. */
bool check_same(struct checker *c, const struct cel_type *a, const struct cel_type *b);

static inline bool check_is_dyn(const struct cel_type *t)
{
	return t->kind == CEL_TYPE_DYN || t->kind == CEL_TYPE_ANY;
}

/* Returns the type's name for messages, in the arena. */
const char *check_show(struct checker *c, const struct cel_type *t);

/* --- check/names.c ------------------------------------------------------------------- */

/* The meaning of a name: a variable of the environment or of a fold, or a constant. */
struct check_name {
	struct str name; /* in full */
	const struct cel_type *type;
	int32_t variable; /* of the environment, or -1 */
	struct cel_value constant; /* CEL_NOTHING: not a constant */
};

/* Resolves a name as written, perhaps with a leading dot. `qualified`: it contains dots. */
bool check_resolve(struct checker *c, struct str name, bool qualified, struct check_name *ret_name);

/* Returns the name of a chain of selects on an identifier: "a.b.c". */
bool check_qualified_name(struct checker *c, const struct cel_expr *e, struct str *ret_name);

struct cel_message;

/*
 * Resolves the name of a message, or of another type (ret_type). Returns false if the name is
 * unknown.
 */
bool check_resolve_message(struct checker *c, struct str name,
			   const struct cel_message **ret_message,
			   const struct cel_type **ret_type);

/* Returns all overloads of a function in all libraries; 0 if the function is unknown. */
size_t check_function(struct checker *c, struct str name, struct str *ret_name,
		      const struct cel_overload ***ret_overloads);

/* --- the walk ------------------------------------------------------------------------- */

/* Sets the types of e and its children. Recursion is bounded by CEL_HEIGHT_MAX. */
void check_expr(struct checker *c, struct cel_expr *e);
void check_call(struct checker *c, struct cel_expr *e);
void check_select_field(struct checker *c, struct cel_expr *e, struct cel_expr *operand,
			struct str field, bool optional);

/* "undeclared reference to .." */
void check_report_undeclared(struct checker *c, const struct cel_expr *e);

/* check/literals.c: checks constant arguments, mixed literals and format strings. */
void check_literals(struct checker *c, struct cel_expr *root);
/* check/format.c: checks a call of format(). */
void check_format(struct checker *c, const struct cel_expr *call);

#endif
