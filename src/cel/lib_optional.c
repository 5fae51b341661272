/*
 * cel-go's optionals. or() and orValue() evaluate their argument only when they need it; the
 * evaluator sees to that, and the functions here are what remains when both are there.
 */
#include "cel/lib_optional.h"

#include <math.h>

#include "cel/library.h"
#include "cel/macro.h"

static const struct cel_type list_of_optional_a = { .kind = CEL_TYPE_LIST,
						    .name = STR("list"),
						    .params = { &cel_optional_a } };
static const struct cel_type optional_of_list_a = { .kind = CEL_TYPE_OPTIONAL,
						    .name = STR("optional_type"),
						    .params = { &cel_list_a } };
static const struct cel_type optional_of_map_ab = { .kind = CEL_TYPE_OPTIONAL,
						    .name = STR("optional_type"),
						    .params = { &cel_map_ab } };
/* What the name optional_type stands for. */
static const struct cel_type optional_type = { .kind = CEL_TYPE_OPTIONAL,
					       .name = STR("optional_type"),
					       .params = { &cel_dyn } };

/* --- reading what may be missing ---------------------------------------------------- */

/* An optional's value, or the value itself. False: an optional without value. */
static bool unwrap(const struct cel_value *v, struct cel_value *ret_value)
{
	if (v->kind == CEL_OPTIONAL) {
		if (!v->optional)
			return false;
		v = v->optional;
	}
	*ret_value = *v;
	return true;
}

/* What was found, or nothing, as an optional; errors as they are. */
static struct cel_value wrap(struct cel_eval *ev, struct cel_value found)
{
	if (cel_is_error(found))
		return found.error ? found : cel_none();
	return cel_optional(ev, found);
}

struct cel_value cel_optional_select(struct cel_eval *ev, const struct cel_value *operand,
				     struct str field)
{
	struct cel_value v, key = CEL_STRING_V(field);

	if (!unwrap(operand, &v))
		return cel_none();
	if (v.kind == CEL_MAP)
		return wrap(ev, cel_map_find(ev, &v, &key));
	if (v.kind != CEL_OBJECT)
		return cel_errorf(ev, "no such key: %.*s", STR_ARG(field));
	if (!cel_type_field(v.object.class->type(v.object.self), field))
		return cel_errorf(ev, "no such field '%.*s'", STR_ARG(field));
	return wrap(ev, v.object.class->get(ev, v.object.self, field));
}

/* An index as any number may give it. False: it is none, which is an error. */
static bool is_index(const struct cel_value *key, int64_t *ret_index)
{
	bool whole = key->kind == CEL_DOUBLE && key->d == trunc(key->d) && fabs(key->d) < 1e15;

	if (key->kind == CEL_INT)
		*ret_index = key->i;
	else if (key->kind == CEL_UINT)
		*ret_index = key->u > INT64_MAX ? INT64_MAX : (int64_t)key->u;
	else if (whole)
		*ret_index = (int64_t)key->d;
	return key->kind == CEL_INT || key->kind == CEL_UINT || whole;
}

static struct cel_value index_list(struct cel_eval *ev, const struct cel_value *list,
				   const struct cel_value *key)
{
	int64_t i;

	if (!is_index(key, &i))
		return cel_errorf(ev, "unsupported index type '%.*s' in list",
				  STR_ARG(cel_value_type(key)->name));
	if (i < 0 || (uint64_t)i >= cel_list_size(list))
		return cel_none();
	return wrap(ev, cel_list_at(ev, list, (size_t)i));
}

struct cel_value cel_optional_index(struct cel_eval *ev, const struct cel_value *operand,
				    const struct cel_value *key)
{
	struct cel_value v;

	if (!unwrap(operand, &v))
		return cel_none();
	if (v.kind == CEL_LIST)
		return index_list(ev, &v, key);
	if (v.kind == CEL_MAP)
		return wrap(ev, cel_map_find(ev, &v, key));
	if (v.kind == CEL_OBJECT && key->kind == CEL_STRING)
		return cel_optional_select(ev, &v, key->s);
	return cel_no_overload(ev);
}

static struct cel_value select_field(struct cel_eval *ev, const struct cel_value *args)
{
	return cel_optional_select(ev, &args[0], args[1].s);
}

static struct cel_value index_optionally(struct cel_eval *ev, const struct cel_value *args)
{
	return cel_optional_index(ev, &args[0], &args[1]);
}

/* --- making ------------------------------------------------------------------------- */

static struct cel_value of(struct cel_eval *ev, const struct cel_value *args)
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

/* What its type has when nobody set it. */
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

static struct cel_value value_of(struct cel_eval *ev, const struct cel_value *args)
{
	return args[0].optional ? *args[0].optional : cel_errorf(ev, "optional.none() dereference");
}

static struct cel_value has_value(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_BOOL_V(args[0].optional != NULL);
}

static struct cel_value or_optional(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return args[0].optional ? args[0] : args[1];
}

static struct cel_value or_value(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return args[0].optional ? *args[0].optional : args[1];
}

/* --- lists -------------------------------------------------------------------------- */

static struct cel_value first(struct cel_eval *ev, const struct cel_value *args)
{
	return cel_list_size(&args[0]) ? wrap(ev, cel_list_at(ev, &args[0], 0)) : cel_none();
}

static struct cel_value last(struct cel_eval *ev, const struct cel_value *args)
{
	size_t n = cel_list_size(&args[0]);

	return n ? wrap(ev, cel_list_at(ev, &args[0], n - 1)) : cel_none();
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
	{ "_?._", "select_optional_field", OA, { &cel_dyn, &cel_string }, 2, false, select_field },
	{ "_[?_]", "list_optindex_optional_int", OA, { &cel_list_a, &cel_int }, 2, false,
	  index_optionally },
	{ "_[?_]", "optional_list_optindex_optional_int", OA, { OLA, &cel_int }, 2, false,
	  index_optionally },
	{ "_[?_]", "map_optindex_optional_value", OB, { &cel_map_ab, A }, 2, false,
	  index_optionally },
	{ "_[?_]", "optional_map_optindex_optional_value", OB, { OM, A }, 2, false,
	  index_optionally },
	{ "_[_]", "optional_list_index_int", OA, { OLA, &cel_int }, 2, false, index_optionally },
	{ "_[_]", "optional_map_index_value", OB, { OM, A }, 2, false, index_optionally },
	{ "first", "list_first", OA, { &cel_list_a }, 1, true, first },
	{ "hasValue", "optional_hasValue", &cel_bool, { OA }, 1, true, has_value },
	{ "last", "list_last", OA, { &cel_list_a }, 1, true, last },
	{ "optional.none", "optional_none", OA, { NULL }, 0, false, none },
	{ "optional.of", "optional_of", OA, { A }, 1, false, of },
	{ "optional.ofNonZeroValue", "optional_ofNonZeroValue", OA, { A }, 1, false, of_non_zero },
	{ "optional.unwrap", "optional_unwrap", &cel_list_a, { &list_of_optional_a }, 1, false,
	  unwrap_list },
	{ "or", "optional_or_optional", OA, { OA, OA }, 2, true, or_optional },
	{ "orValue", "optional_orValue_value", A, { OA, A }, 2, true, or_value },
	{ "unwrapOpt", "optional_unwrapOpt", &cel_list_a, { &list_of_optional_a }, 1, true,
	  unwrap_list },
	{ "value", "optional_value", A, { OA }, 1, true, value_of },
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
