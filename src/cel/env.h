/*
 * env - what an expression may use: libraries, variables, rules.
 *
 * An environment is a struct of its user's, usually static or on the stack; making one costs
 * nothing. It must live while an expression is compiled, its types and libraries as long as
 * the program.
 */
#ifndef CEL_ENV_H
#define CEL_ENV_H

#include "cel/library.h"

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

struct cel_env {
	const struct cel_library *const *libraries; /* ends with NULL */
	const struct cel_variable *variables;
	size_t nvariables;
	unsigned flags; /* enum cel_env_flags */
	struct str container; /* names are resolved from here, as of a package; usually empty */
};

/* Every library, for the command line. */
extern const struct cel_library *const cel_libraries_all[];
/* What Kubernetes 1.37 has for new expressions; goes with the first three flags. */
extern const struct cel_library *const cel_libraries_kubernetes[];
/* The same with cel.bind: device selectors. */
extern const struct cel_library *const cel_libraries_device[];

#endif
