/*
 * type - types of CEL, for the checker.
 *
 * A type is an immutable struct, compared by content, not by address. There are the simple types
 * below, parametrised types (in an arena or static), and objects with declared fields. A
 * declaration may also have a maximum size of the value, which only the cost estimate uses.
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
	CEL_TYPE_ANY, /* like dyn, but comprehensions cannot range over it */
	/* Type of an invalid expression: fits anywhere, so that each error is reported once. */
	CEL_TYPE_ERROR,
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
	CEL_TYPE_TYPE, /* params[0]; NULL: any type */
	CEL_TYPE_OPTIONAL, /* params[0] */
	CEL_TYPE_WRAPPER, /* params[0], a bool, number, string or bytes, or null */
	CEL_TYPE_OPAQUE, /* by name, such as kubernetes.Quantity */
	CEL_TYPE_OBJECT, /* by name, with fields */
	CEL_TYPE_PARAM, /* a type parameter of an overload's signature, by name: "A" */
};

struct cel_message; /* see core/wellknown.h */
struct cel_type;

struct cel_field {
	struct str name;
	const struct cel_type *type; /* NULL: not declared yet */
};

struct cel_type {
	enum cel_type_kind kind;
	struct str name; /* name of type(x) at run time: "int", "list", "net.IP" */
	const struct cel_type *params[2];
	const struct cel_field *fields; /* of an object; in byte order of their names */
	size_t nfields;
	/* Of an object: how literals of it are made, if the environment declares it; or NULL. */
	const struct cel_message *message;
	/*
	 * In a declaration: the maximum number of characters, bytes, elements or entries of a
	 * value. 0: unknown; CEL_SIZE_NOTHING: always empty.
	 */
	uint64_t max_size;
};

#define CEL_SIZE_NOTHING UINT64_MAX

extern const struct cel_type cel_dyn, cel_any, cel_type_error, cel_null, cel_bool, cel_int,
	cel_uint, cel_double, cel_string, cel_bytes, cel_timestamp, cel_duration;
/* Types that libraries use often. */
extern const struct cel_type cel_type_a, cel_type_b; /* PARAM "A", "B" */
extern const struct cel_type cel_list_dyn, cel_list_a, cel_list_string, cel_list_int;
extern const struct cel_type cel_list_uint, cel_list_double, cel_list_bool, cel_list_duration,
	cel_list_timestamp, cel_list_bytes;
extern const struct cel_type cel_map_ab, cel_map_dyn; /* map(A, B), map(dyn, dyn) */
extern const struct cel_type cel_optional_a, cel_optional_b;
extern const struct cel_type cel_type_type_a, cel_type_type; /* type(A), type */
extern const struct cel_type cel_quantity, cel_semver, cel_ip, cel_cidr, cel_url, cel_format;

/* Parametrised types in an arena. */
const struct cel_type *cel_list_of(struct arena *a, const struct cel_type *element);
const struct cel_type *cel_map_of(struct arena *a, const struct cel_type *key,
				  const struct cel_type *value);
const struct cel_type *cel_optional_of(struct arena *a, const struct cel_type *value);
const struct cel_type *cel_type_of(struct arena *a, const struct cel_type *type);

/* The same with a bound on the size. */
const struct cel_type *cel_type_sized(struct arena *a, const struct cel_type *type, uint64_t max);

/* Returns the field of an object type, or NULL. */
const struct cel_field *cel_type_field(const struct cel_type *object, struct str name);

/*
 * Whether the types are equal, including parameters. Objects and opaque types are compared by name.
 */
bool cel_type_equal(const struct cel_type *a, const struct cel_type *b);

/*
 * Appends the type's name for messages: "int", "list(string)", "map(string, dyn)", "wrapper(int)".
 */
void cel_type_print(const struct cel_type *type, struct buf *out);

/* The same with run-time names: "null_type", "google.protobuf.Duration", "list(dyn)". */
void cel_type_print_named(const struct cel_type *type, struct buf *out);

#endif
