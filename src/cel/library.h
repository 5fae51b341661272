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
#ifndef CEL_LIBRARY_H
#define CEL_LIBRARY_H

#include "cel/value.h"

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

/* The language itself: operators, conversions, size, text, time; macros has, all, .. */
extern const struct cel_library cel_lib_standard;
/* cel-go's extensions. */
extern const struct cel_library cel_lib_optional; /* optional.of, orValue, ?., [?], optMap, .. */
extern const struct cel_library cel_lib_strings; /* charAt .. upperAscii, strings.quote */
/* Beside it one of these: format() and indexOf(part, from) as specified, reverse() .. */
extern const struct cel_library cel_lib_strings_later;
/* .. or as cel-go had them before, with separators of thousands: Kubernetes. */
extern const struct cel_library cel_lib_strings_kubernetes;
extern const struct cel_library cel_lib_lists; /* slice, flatten, sort, distinct, range, .. */
extern const struct cel_library cel_lib_sets; /* sets.contains, .. */
extern const struct cel_library cel_lib_math; /* math.greatest .. math.bitShiftLeft */
extern const struct cel_library cel_lib_encoders; /* base64.encode, base64.decode */
extern const struct cel_library cel_lib_bindings; /* cel.bind */
extern const struct cel_library cel_lib_block; /* cel.block: what programs write */
extern const struct cel_library cel_lib_comprehensions; /* all(i, v, ..), transformList, .. */
/* Kubernetes' libraries. */
extern const struct cel_library cel_lib_kubernetes_lists; /* isSorted, sum, min, indexOf, .. */
extern const struct cel_library cel_lib_regex; /* find, findAll */
extern const struct cel_library cel_lib_quantity;
extern const struct cel_library cel_lib_semver;
extern const struct cel_library cel_lib_ip; /* and one of the next two */
extern const struct cel_library cel_lib_ip_kubernetes; /* refuses ::ffff:c0a8:1 */
extern const struct cel_library cel_lib_ip_specification; /* takes it for 192.168.0.1 */
extern const struct cel_library cel_lib_cidr;
extern const struct cel_library cel_lib_url;
extern const struct cel_library cel_lib_format;
extern const struct cel_library cel_lib_authz; /* authorizer.group('').resource('pods').. */

/* The rows of that function, as a range; NULL: there are none. */
const struct cel_overload *cel_library_find(const struct cel_library *lib, struct str function,
					    size_t *ret_n);

/* Whether a value's kind fits a parameter's type: what dispatch at run time asks. */
bool cel_type_admits(const struct cel_type *parameter, const struct cel_value *v);

#endif
