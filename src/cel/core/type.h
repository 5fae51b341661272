/*
 * type - what the checker of CEL knows about a value before there is one.
 *
 * A type is an immutable struct, compared by what it says, not by its address:
 * the simple ones below, parametrised ones made in an arena or as static tables,
 * and objects, whose fields are declared. A declaration may also say how large a
 * value can get, which only the estimate of costs looks at.
 *
 * Threads: immutable.
 */
#ifndef CEL_CORE_TYPE_H
#define CEL_CORE_TYPE_H

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/str.h"

enum cel_type_kind {
	CEL_TYPE_DYN, /* known at run time only */
	CEL_TYPE_ANY, /* as dyn, but nothing can range over it */
	CEL_TYPE_ERROR, /* of an expression at fault: fits anywhere, so that a fault is told once */
	CEL_TYPE_NULL,
	CEL_TYPE_BOOL,
	CEL_TYPE_INT,
	CEL_TYPE_UINT,
	CEL_TYPE_DOUBLE,
	CEL_TYPE_STRING,
	CEL_TYPE_BYTES,
	CEL_TYPE_TIMESTAMP,
	CEL_TYPE_DURATION,
	CEL_TYPE_LIST, /* params[0] */
	CEL_TYPE_MAP, /* params[0] to params[1] */
	CEL_TYPE_TYPE, /* params[0]; NULL: of any type */
	CEL_TYPE_OPTIONAL, /* params[0] */
	CEL_TYPE_WRAPPER, /* params[0], a bool, number, string or bytes, or null */
	CEL_TYPE_OPAQUE, /* by name, such as kubernetes.Quantity */
	CEL_TYPE_OBJECT, /* by name, with fields */
	CEL_TYPE_PARAM, /* a variable of an overload's signature, by name: "A" */
};

struct cel_type;

struct cel_field {
	struct str name;
	const struct cel_type *type; /* NULL: there is none of this name yet */
};

struct cel_type {
	enum cel_type_kind kind;
	struct str name; /* what type(x) is called at run time: "int", "list", "net.IP" */
	const struct cel_type *params[2];
	const struct cel_field *fields; /* of an object; in byte order of their names */
	size_t nfields;
	/*
	 * Of a declaration: the most characters, bytes, elements or entries that a value has.
	 * 0: not known; CEL_SIZE_NOTHING: it is always empty.
	 */
	uint64_t max_size;
};

#define CEL_SIZE_NOTHING UINT64_MAX

extern const struct cel_type cel_dyn, cel_any, cel_type_error, cel_null, cel_bool, cel_int,
	cel_uint, cel_double, cel_string, cel_bytes, cel_timestamp, cel_duration;
/* Of what the declarations of libraries need again and again. */
extern const struct cel_type cel_type_a, cel_type_b, cel_type_c; /* PARAM "A", "B", "C" */
extern const struct cel_type cel_list_dyn, cel_list_a, cel_list_string, cel_list_int;
extern const struct cel_type cel_list_uint, cel_list_double, cel_list_bool, cel_list_duration,
	cel_list_timestamp, cel_list_bytes;
extern const struct cel_type cel_map_ab, cel_map_dyn; /* map(A, B), map(dyn, dyn) */
extern const struct cel_type cel_optional_a, cel_optional_b, cel_optional_dyn;
extern const struct cel_type cel_type_type_a, cel_type_type; /* type(A), type */
extern const struct cel_type cel_quantity, cel_semver, cel_ip, cel_cidr, cel_url, cel_format;

/* Parametrised types in an arena. */
const struct cel_type *cel_list_of(struct arena *a, const struct cel_type *element);
const struct cel_type *cel_map_of(struct arena *a, const struct cel_type *key,
				  const struct cel_type *value);
const struct cel_type *cel_optional_of(struct arena *a, const struct cel_type *value);
const struct cel_type *cel_type_of(struct arena *a, const struct cel_type *type);
const struct cel_type *cel_wrapper_of(struct arena *a, const struct cel_type *primitive);

/* The same with a bound on the size. */
const struct cel_type *cel_type_sized(struct arena *a, const struct cel_type *type, uint64_t max);

/* The field of an object type; NULL: there is none. */
const struct cel_field *cel_type_field(const struct cel_type *object, struct str name);

/* The same type, parameters and all. Objects and opaque types are the same by name. */
bool cel_type_equal(const struct cel_type *a, const struct cel_type *b);

/* Appends it as messages name it: "int", "list(string)", "map(string, dyn)", "wrapper(int)". */
void cel_type_print(const struct cel_type *type, struct buf *out);

/* The same with the names of values: "null_type", "google.protobuf.Duration", "list(dyn)". */
void cel_type_print_named(const struct cel_type *type, struct buf *out);

#endif
