/*
 * Types are plain structs, so that tables of overloads are constant data. Types that the checker
 * creates live in its arena and share their parts. Opaque types, objects and parameters of one kind
 * only differ by name.
 *
 * Recursion follows the nesting of types. The checker bounds how deep they are (CEL_TYPE_DEPTH_MAX)
 * and how many steps all of them together take.
 */
#include "cel/core/type.h"

#define SIMPLE(k, n)                                               \
	{                                                          \
		.kind = CEL_TYPE_##k, .name = { n, sizeof(n) - 1 } \
	}

const struct cel_type cel_dyn = SIMPLE(DYN, "dyn");
const struct cel_type cel_any = SIMPLE(ANY, "google.protobuf.Any");
const struct cel_type cel_type_error = SIMPLE(ERROR, "error");
const struct cel_type cel_null = SIMPLE(NULL, "null_type");
const struct cel_type cel_bool = SIMPLE(BOOL, "bool");
const struct cel_type cel_int = SIMPLE(INT, "int");
const struct cel_type cel_uint = SIMPLE(UINT, "uint");
const struct cel_type cel_double = SIMPLE(DOUBLE, "double");
const struct cel_type cel_string = SIMPLE(STRING, "string");
const struct cel_type cel_bytes = SIMPLE(BYTES, "bytes");
const struct cel_type cel_timestamp = SIMPLE(TIMESTAMP, "google.protobuf.Timestamp");
const struct cel_type cel_duration = SIMPLE(DURATION, "google.protobuf.Duration");

const struct cel_type cel_type_a = SIMPLE(PARAM, "A");
const struct cel_type cel_type_b = SIMPLE(PARAM, "B");

#define LIST(element)                                                               \
	{                                                                           \
		.kind = CEL_TYPE_LIST, .name = { "list", 4 }, .params = { element } \
	}
#define MAP(key, value)                                                              \
	{                                                                            \
		.kind = CEL_TYPE_MAP, .name = { "map", 3 }, .params = { key, value } \
	}
#define OPTIONAL(value)                                                                         \
	{                                                                                       \
		.kind = CEL_TYPE_OPTIONAL, .name = { "optional_type", 13 }, .params = { value } \
	}
#define TYPE(type)                                                               \
	{                                                                        \
		.kind = CEL_TYPE_TYPE, .name = { "type", 4 }, .params = { type } \
	}

const struct cel_type cel_list_dyn = LIST(&cel_dyn);
const struct cel_type cel_list_a = LIST(&cel_type_a);
const struct cel_type cel_list_string = LIST(&cel_string);
const struct cel_type cel_list_uint = LIST(&cel_uint);
const struct cel_type cel_list_double = LIST(&cel_double);
const struct cel_type cel_list_bool = LIST(&cel_bool);
const struct cel_type cel_list_duration = LIST(&cel_duration);
const struct cel_type cel_list_timestamp = LIST(&cel_timestamp);
const struct cel_type cel_list_bytes = LIST(&cel_bytes);
const struct cel_type cel_list_int = LIST(&cel_int);
const struct cel_type cel_map_ab = MAP(&cel_type_a, &cel_type_b);
const struct cel_type cel_map_dyn = MAP(&cel_dyn, &cel_dyn);
const struct cel_type cel_optional_a = OPTIONAL(&cel_type_a);
const struct cel_type cel_optional_b = OPTIONAL(&cel_type_b);
const struct cel_type cel_type_type_a = TYPE(&cel_type_a);
const struct cel_type cel_type_type = TYPE(NULL);

const struct cel_type cel_quantity = SIMPLE(OPAQUE, "kubernetes.Quantity");
const struct cel_type cel_semver = SIMPLE(OPAQUE, "kubernetes.Semver");
const struct cel_type cel_ip = SIMPLE(OPAQUE, "net.IP");
const struct cel_type cel_cidr = SIMPLE(OPAQUE, "net.CIDR");
const struct cel_type cel_url = SIMPLE(OPAQUE, "kubernetes.URL");
const struct cel_type cel_format = SIMPLE(OPAQUE, "kubernetes.NamedFormat");

static const struct cel_type *type_new(struct arena *a, struct cel_type type)
{
	struct cel_type *t = arena_alloc(a, sizeof(*t));

	*t = type;
	return t;
}

const struct cel_type *cel_list_of(struct arena *a, const struct cel_type *element)
{
	return type_new(a, (struct cel_type)LIST(element));
}

const struct cel_type *cel_map_of(struct arena *a, const struct cel_type *key,
				  const struct cel_type *value)
{
	return type_new(a, (struct cel_type)MAP(key, value));
}

const struct cel_type *cel_optional_of(struct arena *a, const struct cel_type *value)
{
	return type_new(a, (struct cel_type)OPTIONAL(value));
}

const struct cel_type *cel_type_of(struct arena *a, const struct cel_type *type)
{
	return type_new(a, (struct cel_type)TYPE(type));
}

const struct cel_type *cel_type_sized(struct arena *a, const struct cel_type *type, uint64_t max)
{
	struct cel_type sized = *type;

	sized.max_size = max;
	return type_new(a, sized);
}

const struct cel_field *cel_type_field(const struct cel_type *object, struct str name)
{
	size_t low = 0, high = object->nfields;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = str_cmp(object->fields[middle].name, name);

		if (order == 0)
			return object->fields[middle].type ? &object->fields[middle] : NULL;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

bool cel_type_equal(const struct cel_type *a, const struct cel_type *b)
{
	if (a == b)
		return true;
	if (!a || !b || a->kind != b->kind)
		return false;
	if (a->kind >= CEL_TYPE_OPAQUE && !str_eq(a->name, b->name))
		return false;
	return cel_type_equal(a->params[0], b->params[0]) &&
	       cel_type_equal(a->params[1], b->params[1]);
}

static const char *type_word(enum cel_type_kind kind)
{
	static const char *const words[] = {
		[CEL_TYPE_DYN] = "dyn",
		[CEL_TYPE_ANY] = "any",
		[CEL_TYPE_ERROR] = "!error!",
		[CEL_TYPE_NULL] = "null",
		[CEL_TYPE_BOOL] = "bool",
		[CEL_TYPE_INT] = "int",
		[CEL_TYPE_UINT] = "uint",
		[CEL_TYPE_DOUBLE] = "double",
		[CEL_TYPE_STRING] = "string",
		[CEL_TYPE_BYTES] = "bytes",
		[CEL_TYPE_TIMESTAMP] = "timestamp",
		[CEL_TYPE_DURATION] = "duration",
		[CEL_TYPE_LIST] = "list",
		[CEL_TYPE_MAP] = "map",
		[CEL_TYPE_TYPE] = "type",
		[CEL_TYPE_OPTIONAL] = "optional_type",
		[CEL_TYPE_WRAPPER] = "wrapper",
	};

	return kind < ARRAY_SIZE(words) ? words[kind] : NULL;
}

static void type_print(const struct cel_type *type, bool named, struct buf *out)
{
	const char *word = type_word(type->kind);

	if (out->overflow) /* types can be exponentially large: stop with the buffer */
		return;
	if (named && !type->params[0] && type->kind != CEL_TYPE_DYN)
		word = NULL;
	(void)(word ? buf_addz(out, word) : buf_add_str(out, type->name));
	if (!type->params[0])
		return;
	(void)buf_addc(out, '(');
	type_print(type->params[0], named, out);
	if (type->params[1]) {
		(void)buf_addz(out, ", ");
		type_print(type->params[1], named, out);
	}
	(void)buf_addc(out, ')');
}

void cel_type_print(const struct cel_type *type, struct buf *out)
{
	type_print(type, false, out);
}

void cel_type_print_named(const struct cel_type *type, struct buf *out)
{
	type_print(type, true, out);
}
