/*
 * library - tables of CEL functions.
 *
 * A library is a table of overloads: name, signature, C function. The checker reads the signatures,
 * and the compiler picks the function. If types are known only at run time, the first overload with
 * matching kinds is called. Operators have names, too: "_+_", "_[_]", "@in", "!_", "-_", "_?_:_".
 * Costs depend on the overload's ID: see cost.h.
 *
 * To add a function, add a row here, and, if it costs more than one unit, a row in
 * check/cost_calls.c.
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
	 * Arguments have the kinds of the signature and are not errors. The result may be an error
	 * (cel_errorf). NULL: an operator that the evaluator implements itself (&&, ||, ?:,
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

/* Returns the first of the *ret_n rows of that function, or NULL if there is no such function. */
const struct cel_overload *cel_library_find(const struct cel_library *lib, struct str function,
					    size_t *ret_n);

/* Whether a value's kind fits a parameter's type, for dispatch at run time. */
bool cel_type_admits(const struct cel_type *parameter, const struct cel_value *v);

#endif
