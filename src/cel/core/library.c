/*
 * Looks up functions in libraries. The rows of a library are sorted by function, so that finding
 * the overloads of a name is a binary search in each of a dozen tables.
 */
#include "cel/core/library.h"

/* The order of a row and a name, in bytes. */
static int order(const struct cel_overload *o, struct str function)
{
	int r = strncmp(o->function, function.p, function.n);

	return r != 0 ? r : o->function[function.n] != '\0';
}

/* The first row that is not before `function`. */
static size_t lower_bound(const struct cel_library *lib, struct str function)
{
	size_t low = 0, high = lib->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (order(&lib->overloads[middle], function) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct cel_overload *cel_library_find(const struct cel_library *lib, struct str function,
					    size_t *ret_n)
{
	size_t first, end;

	/* Few libraries have operators, which are before all other names. */
	if (lib->n == 0 || order(&lib->overloads[0], function) > 0)
		return NULL;
	first = end = lower_bound(lib, function);
	while (end < lib->n && order(&lib->overloads[end], function) == 0)
		end++;
	if (end == first)
		return NULL;
	*ret_n = end - first;
	return &lib->overloads[first];
}

static bool admits_opaque(const struct cel_type *parameter, const struct cel_value *v)
{
	const struct cel_type *type = cel_value_type(v);

	return type->kind == CEL_TYPE_OPAQUE && str_eq(type->name, parameter->name);
}

static bool admits_object(const struct cel_type *parameter, const struct cel_value *v)
{
	return v->kind == CEL_OBJECT &&
	       str_eq(v->object.class->type(v->object.self)->name, parameter->name);
}

bool cel_type_admits(const struct cel_type *parameter, const struct cel_value *v)
{
	static const uint8_t kinds[] = {
		[CEL_TYPE_NULL] = CEL_NULL,         [CEL_TYPE_BOOL] = CEL_BOOL,
		[CEL_TYPE_INT] = CEL_INT,           [CEL_TYPE_UINT] = CEL_UINT,
		[CEL_TYPE_DOUBLE] = CEL_DOUBLE,     [CEL_TYPE_STRING] = CEL_STRING,
		[CEL_TYPE_BYTES] = CEL_BYTES,       [CEL_TYPE_TIMESTAMP] = CEL_TIMESTAMP,
		[CEL_TYPE_DURATION] = CEL_DURATION, [CEL_TYPE_LIST] = CEL_LIST,
		[CEL_TYPE_MAP] = CEL_MAP,           [CEL_TYPE_TYPE] = CEL_TYPE,
		[CEL_TYPE_OPTIONAL] = CEL_OPTIONAL,
	};

	switch (parameter->kind) {
	case CEL_TYPE_DYN:
	case CEL_TYPE_ANY:
	case CEL_TYPE_ERROR:
	case CEL_TYPE_PARAM:
		return true;
	case CEL_TYPE_WRAPPER:
		return v->kind == CEL_NULL || cel_type_admits(parameter->params[0], v);
	case CEL_TYPE_OPAQUE:
		return admits_opaque(parameter, v);
	case CEL_TYPE_OBJECT:
		return admits_object(parameter, v);
	default:
		return v->kind == kinds[parameter->kind];
	}
}
