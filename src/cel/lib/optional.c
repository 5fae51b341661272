/*
 * cel-go's optionals. The evaluator implements optional selects, and or() and orValue(), whose
 * argument is evaluated lazily. Their rows here are for the checker.
 */
#include "cel/lib/libraries.h"
#include "cel/parse/macro.h"

static const struct cel_type list_of_optional_a = { .kind = CEL_TYPE_LIST,
						    .name = STR("list"),
						    .params = { &cel_optional_a } };
static const struct cel_type optional_of_list_a = { .kind = CEL_TYPE_OPTIONAL,
						    .name = STR("optional_type"),
						    .params = { &cel_list_a } };
static const struct cel_type optional_of_map_ab = { .kind = CEL_TYPE_OPTIONAL,
						    .name = STR("optional_type"),
						    .params = { &cel_map_ab } };
/* The type with the name optional_type. */
static const struct cel_type optional_type = { .kind = CEL_TYPE_OPTIONAL,
					       .name = STR("optional_type"),
					       .params = { &cel_dyn } };

/* --- making ------------------------------------------------------------------------- */

static struct cel_value lib_optional_of(struct cel_eval *ev, const struct cel_value *args)
{
	return cel_optional(ev, args[0]);
}

static struct cel_value none(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	(void)args;
	return cel_none();
}

static bool object_is_empty(struct cel_eval *ev, const struct cel_value *v)
{
	const struct cel_type *type = v->object.class->type(v->object.self);

	for (size_t i = 0; i < type->nfields; i++)
		if (!cel_is_error(v->object.class->get(ev, v->object.self, type->fields[i].name)))
			return false;
	return true;
}

/* Whether the value is the zero value of its type. */
static bool is_zero(struct cel_eval *ev, const struct cel_value *v)
{
	enum { YEAR_ONE_DAYS = 719162 }; /* from 0001-01-01 to 1970-01-01 */

	switch (v->kind) {
	case CEL_NULL:
		return true;
	case CEL_BOOL:
		return !v->b;
	case CEL_INT:
	case CEL_DURATION:
		return v->i == 0;
	case CEL_UINT:
		return v->u == 0;
	case CEL_DOUBLE:
		return v->d == 0;
	case CEL_STRING:
	case CEL_BYTES:
		return v->s.n == 0;
	case CEL_TIMESTAMP:
		return v->i == -YEAR_ONE_DAYS * 86400LL && v->nanos == 0;
	case CEL_LIST:
		return cel_list_size(v) == 0;
	case CEL_MAP:
		return cel_map_size(v) == 0;
	case CEL_OBJECT:
		return object_is_empty(ev, v);
	default:
		return false;
	}
}

static struct cel_value of_non_zero(struct cel_eval *ev, const struct cel_value *args)
{
	return is_zero(ev, &args[0]) ? cel_none() : cel_optional(ev, args[0]);
}

/* --- asking ------------------------------------------------------------------------- */

static struct cel_value optional_value_of(struct cel_eval *ev, const struct cel_value *args)
{
	return args[0].optional ? *args[0].optional : cel_errorf(ev, "optional.none() dereference");
}

static struct cel_value optional_has_value(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_BOOL_V(args[0].optional != NULL);
}

/* --- lists -------------------------------------------------------------------------- */

static struct cel_value first(struct cel_eval *ev, const struct cel_value *args)
{
	return cel_list_size(&args[0]) ? cel_optional(ev, cel_list_at(ev, &args[0], 0))
				       : cel_none();
}

static struct cel_value last(struct cel_eval *ev, const struct cel_value *args)
{
	size_t n = cel_list_size(&args[0]);

	return n ? cel_optional(ev, cel_list_at(ev, &args[0], n - 1)) : cel_none();
}

/* The values of those elements that have one. */
static struct cel_value unwrap_list(struct cel_eval *ev, const struct cel_value *args)
{
	size_t n = cel_list_size(&args[0]), kept = 0;
	struct cel_value *values = cel_alloc(ev, n * sizeof(*values));

	if (!values)
		return cel_too_large();
	for (size_t i = 0; i < n; i++) {
		struct cel_value v = cel_list_at(ev, &args[0], i);

		if (v.kind != CEL_OPTIONAL)
			return cel_no_overload(ev);
		if (v.optional)
			values[kept++] = *v.optional;
	}
	return cel_list(ev, values, kept);
}

/* --- rows --------------------------------------------------------------------------- */

#define A   &cel_type_a
#define B   &cel_type_b
#define OA  &cel_optional_a
#define OB  &cel_optional_b
#define OLA &optional_of_list_a
#define OM  &optional_of_map_ab

/* clang-format off */
static const struct cel_overload overloads[] = {
	{ "_?._", "select_optional_field", OA, { &cel_dyn, &cel_string }, 2, false, NULL },
	{ "_[?_]", "list_optindex_optional_int", OA, { &cel_list_a, &cel_int }, 2, false, NULL },
	{ "_[?_]", "optional_list_optindex_optional_int", OA, { OLA, &cel_int }, 2, false, NULL },
	{ "_[?_]", "map_optindex_optional_value", OB, { &cel_map_ab, A }, 2, false, NULL },
	{ "_[?_]", "optional_map_optindex_optional_value", OB, { OM, A }, 2, false, NULL },
	{ "_[_]", "optional_list_index_int", OA, { OLA, &cel_int }, 2, false, NULL },
	{ "_[_]", "optional_map_index_value", OB, { OM, A }, 2, false, NULL },
	{ "first", "list_first", OA, { &cel_list_a }, 1, true, first },
	{ "hasValue", "optional_hasValue", &cel_bool, { OA }, 1, true, optional_has_value },
	{ "last", "list_last", OA, { &cel_list_a }, 1, true, last },
	{ "optional.none", "optional_none", OA, { NULL }, 0, false, none },
	{ "optional.of", "optional_of", OA, { A }, 1, false, lib_optional_of },
	{ "optional.ofNonZeroValue", "optional_ofNonZeroValue", OA, { A }, 1, false, of_non_zero },
	{ "optional.unwrap", "optional_unwrap", &cel_list_a, { &list_of_optional_a }, 1, false,
	  unwrap_list },
	{ "or", "optional_or_optional", OA, { OA, OA }, 2, true, NULL },
	{ "orValue", "optional_orValue_value", A, { OA, A }, 2, true, NULL },
	{ "unwrapOpt", "optional_unwrapOpt", &cel_list_a, { &list_of_optional_a }, 1, true,
	  unwrap_list },
	{ "value", "optional_value", A, { OA }, 1, true, optional_value_of },
};
/* clang-format on */

static const struct cel_type *const types[] = { &optional_type, NULL };

const struct cel_library cel_lib_optional = {
	.name = "optional",
	.overloads = overloads,
	.n = ARRAY_SIZE(overloads),
	.macros = cel_macros_optional,
	.types = types,
};
