/*
 * library - functions of CEL, as tables.
 *
 * A library is rows of overloads: name, signature, C function. The checker reads the
 * signatures, the compiler picks the function, and where types are known only at run time
 * the first overload whose kinds fit is called. Operators have names of their own: "_+_",
 * "_[_]", "@in", "!_", "-_", "_?_:_". Costs hang on the overload's id: see cost.h.
 *
 * Adding a function is adding a row, and, when it costs more than one unit, a row in
 * cost_calls.c.
 */
#ifndef CEL_CORE_LIBRARY_H
#define CEL_CORE_LIBRARY_H

#include "cel/core/value.h"

enum { CEL_ARGS_MAX = 5 };

struct cel_overload {
	const char *function; /* "startsWith", "math.greatest", "_+_" */
	const char *id; /* cel-go's: "starts_with_string" */
	const struct cel_type *result;
	const struct cel_type *args[CEL_ARGS_MAX]; /* the receiver first */
	uint8_t nargs;
	bool member; /* x.f(y) and not f(x, y) */
	/*
	 * Arguments are of the kinds of the signature and no errors. What comes back may be an
	 * error (cel_errorf). NULL: an operator that the evaluator does itself (&&, ||, ?:,
	 * not_strictly_false).
	 */
	struct cel_value (*call)(struct cel_eval *ev, const struct cel_value *args);
};

struct cel_library {
	const char *name;
	const struct cel_overload *overloads; /* in byte order of `function` */
	size_t n;
	const struct cel_macro *macros; /* see macro.h; ends with name NULL; or NULL */
	/* Types that expressions may name, such as net.IP; ends with NULL; or NULL. */
	const struct cel_type *const *types;
};

/* The rows of that function, as a range; NULL: there are none. */
const struct cel_overload *cel_library_find(const struct cel_library *lib, struct str function,
					    size_t *ret_n);

/* Whether a value's kind fits a parameter's type: what dispatch at run time asks. */
bool cel_type_admits(const struct cel_type *parameter, const struct cel_value *v);

#endif
