/*
 * env - the environment of an expression: libraries, variables and rules.
 *
 * The caller owns the struct, usually static or on the stack. It must live while an expression is
 * compiled; its types and libraries must live as long as the program.
 */
#ifndef CEL_CORE_ENV_H
#define CEL_CORE_ENV_H

#include "cel/core/library.h"

struct cel_variable {
	struct str name; /* may have dots */
	const struct cel_type *type;
};

enum cel_env_flags {
	CEL_HOMOGENEOUS = 1 << 0, /* elements of a literal have one type (Kubernetes) */
	CEL_LITERALS = 1 << 1, /* check constant durations, times, patterns and formats */
	CEL_HAS_IS_FREE = 1 << 2, /* has() costs nothing (Kubernetes) */
	/*
	 * No type checking: everything that parses compiles. Type errors become errors of the
	 * evaluation, if it reaches them.
	 */
	CEL_DYNAMIC = 1 << 3,
	/* Types of variables declare sizes; values other than texts, lists and maps have size 0. */
	CEL_SIZED = 1 << 4,
	/*
	 * x.?a.b is an error if a exists and has no fields, as specified. Without this flag it is
	 * optional.none(), as in Kubernetes.
	 */
	CEL_OPTIONAL_STRICT = 1 << 5,
};

/*
 * Limits the work of compiling one or many expressions: each subtracts its steps. If too few are
 * left, cel_compile() rejects the expression with CEL_COMPILE_EXCEEDED, and all further ones. Steps
 * are bytes and nodes of the text, compared types, work on patterns and constant calls, and bytes
 * of messages. A million steps take 7 to 25 milliseconds.
 */
struct cel_budget {
	uint64_t left;
	bool spent; /* an expression was rejected because too few steps were left */
};

#define CEL_COMPILE_EXCEEDED "compiling the CEL expressions of the object exceeds cost limit"

struct cel_env {
	const struct cel_library *const *libraries; /* ends with NULL */
	const struct cel_variable *variables;
	size_t nvariables;
	unsigned flags; /* enum cel_env_flags */
	struct str container; /* package in which names are resolved first; usually empty */
	/*
	 * Returns the message of that name, beyond those of google.protobuf, with `type.message`
	 * set; or NULL. It may be in the arena, which lives as long as the program. NULL: there are
	 * none.
	 */
	const struct cel_message *(*find_message)(struct arena *a, struct str name);
	struct cel_budget *budget; /* for compiling; NULL: no limit */
};

/* Subtracts n steps from the budget, if there is one. Returns false if too few are left. */
static inline bool cel_spend(const struct cel_env *env, uint64_t n)
{
	struct cel_budget *b = env->budget;

	if (!b)
		return true;
	b->spent = b->spent || b->left < n;
	b->left = b->spent ? 0 : b->left - n;
	return !b->spent;
}

static inline bool cel_is_spent(const struct cel_env *env)
{
	return env->budget && env->budget->spent;
}

#endif
