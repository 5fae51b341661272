/*
 * Equality and order. Numbers of two types are compared as doubles unless the range alone decides,
 * as upstream and the conformance tests have it: 9223372036854775807 equals
 * 9223372036854775808.0.
 *
 * Recursion goes as deep as the shallower of the two values, and no deeper than
 * CEL_VALUE_DEPTH_MAX: the evaluation ends there. Two JSON trees are left to json_equal(), which
 * does not recurse, before that.
 */
#include <math.h>

#include "cel/cel_limits.h"
#include "cel/core/ip.h"
#include "cel/core/json.h"
#include "cel/core/named_format.h"
#include "cel/core/semver.h"
#include "cel/core/url.h"

static int order_f64(double a, double b)
{
	return a < b ? -1 : a > b;
}

static int order_i64(int64_t a, int64_t b)
{
	return a < b ? -1 : a > b;
}

static int order_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static bool is_number(uint8_t kind)
{
	return kind == CEL_INT || kind == CEL_UINT || kind == CEL_DOUBLE;
}

/* Compares two numbers of different types. Neither is NaN. */
static int order_mixed(const struct cel_value *a, const struct cel_value *b)
{
	if (a->kind > b->kind)
		return -order_mixed(b, a);
	if (b->kind == CEL_UINT)
		return a->i < 0 ? -1 : order_u64((uint64_t)a->i, b->u);
	/* Rounding cannot pass the ends of the range, so large integers need no case. */
	return order_f64(a->kind == CEL_UINT ? (double)a->u : (double)a->i, b->d);
}

static bool is_nan(const struct cel_value *v)
{
	return v->kind == CEL_DOUBLE && isnan(v->d);
}

static bool compare_numbers(const struct cel_value *a, const struct cel_value *b, int *ret_order)
{
	if (is_nan(a) || is_nan(b))
		return false;
	if (a->kind != b->kind)
		*ret_order = order_mixed(a, b);
	else if (a->kind == CEL_INT)
		*ret_order = order_i64(a->i, b->i);
	else if (a->kind == CEL_UINT)
		*ret_order = order_u64(a->u, b->u);
	else
		*ret_order = order_f64(a->d, b->d);
	return true;
}

bool cel_compare(const struct cel_value *a, const struct cel_value *b, int *ret_order)
{
	if (is_number(a->kind) && is_number(b->kind))
		return compare_numbers(a, b, ret_order);
	if (a->kind != b->kind)
		return false;
	switch (a->kind) {
	case CEL_BOOL:
		*ret_order = a->b - b->b;
		return true;
	case CEL_STRING: /* UTF-8 sorts as its code points do */
	case CEL_BYTES:
		*ret_order = str_cmp(a->s, b->s);
		return true;
	case CEL_TIMESTAMP:
		*ret_order = order_i64(a->i, b->i);
		if (*ret_order == 0)
			*ret_order = order_u64(a->nanos, b->nanos);
		return true;
	case CEL_DURATION:
		*ret_order = order_i64(a->i, b->i);
		return true;
	default:
		return false;
	}
}

static bool equal_at(struct cel_eval *ev, const struct cel_value *a, const struct cel_value *b);

static bool equal_lists(struct cel_eval *ev, const struct cel_value *a, const struct cel_value *b)
{
	const struct cel_list_rules *rules = a->list.class->rules;
	size_t n = cel_list_size(a);
	struct cel_value x, y;

	if (rules)
		return rules->equal(ev, a, b);
	if (cel_list_size(b) != n)
		return false;
	if (!cel_work(ev, n))
		return false;
	for (size_t i = 0; i < n; i++) {
		x = cel_list_at(ev, a, i);
		y = cel_list_at(ev, b, i);
		if (!equal_at(ev, &x, &y))
			return false;
	}
	return true;
}

static bool equal_maps(struct cel_eval *ev, const struct cel_value *a, const struct cel_value *b)
{
	struct cel_value key, x, y;
	size_t at = 0;

	if (cel_map_size(a) != cel_map_size(b))
		return false;
	if (!cel_work(ev, cel_map_size(a)))
		return false;
	if (a->map.class->equal && a->map.class == b->map.class)
		return a->map.class->equal(ev, a->map.self, b->map.self);
	while (cel_map_next(ev, a, &at, &key, &x)) {
		y = cel_map_find(ev, b, &key);
		if (cel_is_error(y) || !equal_at(ev, &x, &y))
			return false;
	}
	return true;
}

static bool equal_objects(struct cel_eval *ev, const struct cel_value *a, const struct cel_value *b)
{
	const struct cel_type *type = cel_value_type(a);
	struct cel_value x, y;

	if (!str_eq(type->name, cel_value_type(b)->name))
		return false;
	if (a->object.class == b->object.class && a->object.class->equal)
		return a->object.class->equal(ev, a->object.self, b->object.self);
	for (size_t i = 0; i < type->nfields; i++) {
		x = a->object.class->get(ev, a->object.self, type->fields[i].name);
		y = b->object.class->get(ev, b->object.self, type->fields[i].name);
		if (cel_is_error(x) != cel_is_error(y))
			return false;
		if (!cel_is_error(x) && !equal_at(ev, &x, &y))
			return false;
	}
	return true;
}

static bool equal_optionals(struct cel_eval *ev, const struct cel_value *a,
			    const struct cel_value *b)
{
	if (!a->optional || !b->optional)
		return a->optional == b->optional;
	return equal_at(ev, a->optional, b->optional);
}

static bool equal_parts(struct cel_eval *ev, const struct cel_value *a, const struct cel_value *b)
{
	switch (a->kind) {
	case CEL_LIST:
		return equal_lists(ev, a, b);
	case CEL_MAP:
		return equal_maps(ev, a, b);
	case CEL_OBJECT:
		return equal_objects(ev, a, b);
	default:
		return equal_optionals(ev, a, b);
	}
}

/* Compares values with parts: lists, maps and objects. */
static bool equal_deep(struct cel_eval *ev, const struct cel_value *a, const struct cel_value *b)
{
	const struct json *ja, *jb;
	bool same = false;

	if (!cel_enter(ev))
		same = false;
	else if (ev->depth > CEL_DEPTH_MAX && cel_json_of(a, &ja) && cel_json_of(b, &jb))
		same = json_equal(ja, jb);
	else
		same = equal_parts(ev, a, b);
	cel_leave(ev);
	return same;
}

/* Long texts are work. */
static bool equal_texts(struct cel_eval *ev, struct str a, struct str b)
{
	ev->work += a.n >> 6;
	return str_eq(a, b);
}

static bool equal_opaque(const struct cel_value *a, const struct cel_value *b)
{
	switch (a->kind) {
	case CEL_QUANTITY:
		return quantity_cmp(*a->quantity, *b->quantity) == 0;
	case CEL_SEMVER:
		return cel_semver_cmp(a->semver, b->semver) == 0;
	case CEL_URL:
		return str_eq(a->url->text, b->url->text);
	case CEL_FORMAT:
		return str_eqz(str_from(a->format->name), b->format->name);
	case CEL_IP:
		return cel_ip_equal(a->address, b->address);
	default:
		return cel_cidr_equal(a->address, b->address);
	}
}

static bool equal_at(struct cel_eval *ev, const struct cel_value *a, const struct cel_value *b)
{
	int order;

	if (a->kind != b->kind)
		return is_number(a->kind) && is_number(b->kind) && compare_numbers(a, b, &order) &&
		       order == 0;
	switch (a->kind) {
	case CEL_ERROR:
		return false;
	case CEL_NULL:
		return true;
	case CEL_LIST:
	case CEL_MAP:
	case CEL_OBJECT:
	case CEL_OPTIONAL:
		return equal_deep(ev, a, b);
	case CEL_TYPE:
		return str_eq(a->type->name, b->type->name);
	case CEL_STRING:
	case CEL_BYTES:
		return equal_texts(ev, a->s, b->s);
	default:
		return a->kind < CEL_QUANTITY ? cel_compare(a, b, &order) && order == 0
					      : equal_opaque(a, b);
	}
}

bool cel_equal(struct cel_eval *ev, const struct cel_value *a, const struct cel_value *b)
{
	if (LIKELY(a->kind == CEL_STRING && b->kind == CEL_STRING))
		return equal_texts(ev, a->s, b->s);
	return equal_at(ev, a, b);
}
