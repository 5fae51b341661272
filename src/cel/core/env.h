/*
 * env - what an expression may use: libraries, variables, rules.
 *
 * An environment is a struct of its user's, usually static or on the stack; making one costs
 * nothing. It must live while an expression is compiled, its types and libraries as long as
 * the program.
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
	CEL_LITERALS = 1 << 1, /* constant durations, times, patterns, formats are checked */
	CEL_HAS_IS_FREE = 1 << 2, /* has() costs nothing (Kubernetes) */
	/*
	 * No types: whatever parses compiles, and what the checker would refuse is an error of the
	 * evaluation, if it comes to that.
	 */
	CEL_DYNAMIC = 1 << 3,
	/* Types of variables say how large values are; what is no text, list or map is nothing. */
	CEL_SIZED = 1 << 4,
	/*
	 * x.?a.b is an error where a is there and has no fields, as specified; without, it is
	 * optional.none(), which Kubernetes has.
	 */
	CEL_OPTIONAL_STRICT = 1 << 5,
};

/*
 * Bounds what compiling takes, of one expression or of many: each takes steps off. When too few
 * are left, cel_compile() refuses the expression, with CEL_COMPILE_EXCEEDED, as it does every
 * other from then on. Steps are bytes and parts of the text, types that are compared, work on
 * patterns and on constant calls, bytes of what is said about faults. A million are 7
 * to 25 milliseconds.
 */
struct cel_budget {
	uint64_t left;
	bool spent; /* something was refused for want of steps */
};

#define CEL_COMPILE_EXCEEDED "compiling the CEL expressions of the object exceeds cost limit"

struct cel_env {
	const struct cel_library *const *libraries; /* ends with NULL */
	const struct cel_variable *variables;
	size_t nvariables;
	unsigned flags; /* enum cel_env_flags */
	struct str container; /* names are resolved from here, as of a package; usually empty */
	struct cel_budget *budget; /* of compiling; NULL: none */
};

/* Takes n steps off the budget, if there is one. False: there are too few. */
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
