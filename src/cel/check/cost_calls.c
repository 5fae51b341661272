/*
 * Costs of calls at run time. There are tables by overload for cel-go's libraries, by function for
 * Kubernetes', and by overload for the language itself. They are searched in this order, as
 * upstream.
 *
 * Sizes times 0.1 are rounded up in floating point like upstream, because costs are compared with
 * limits. Arguments may be errors: a call that was skipped because of that still has a cost.
 */
#include "cel/check/cost.h"

#include "cel/core/ip.h"
#include "cel/core/named_format.h"

#define CALL(name)                                                                            \
	static uint64_t name(struct cel_eval *ev, const struct cel_value *args, size_t nargs, \
			     const struct cel_value *result)

static uint64_t up(double v)
{
	uint64_t whole = (uint64_t)v;

	return whole + ((double)whole < v);
}

/* Returns the cost of reading so many characters. */
static uint64_t tenth(uint64_t size)
{
	return up((double)size * 0.1);
}

static uint64_t cost_calls_add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t multiply(uint64_t a, uint64_t b)
{
	return b && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

/* Characters are counted, which is work. */
static uint64_t cost_calls_size_of(struct cel_eval *ev, const struct cel_value *v)
{
	switch (v->kind) {
	case CEL_IP:
		return cel_ip_size(v->address);
	case CEL_CIDR:
		return cel_cidr_size(v->address);
	case CEL_STRING:
		ev->work += v->s.n >> 6;
		return cel_value_size(v);
	default:
		return cel_value_size(v);
	}
}

/* Size for the language's own functions, which look into optionals. */
static uint64_t inner_size(struct cel_eval *ev, const struct cel_value *v)
{
	while (v->kind == CEL_OPTIONAL && v->optional)
		v = v->optional;
	return cost_calls_size_of(ev, v);
}

/* --- the language ------------------------------------------------------------------- */

CALL(of_argument)
{
	return tenth(inner_size(ev, &args[1]));
}

CALL(of_receiver)
{
	return tenth(inner_size(ev, &args[0]));
}

CALL(of_elements)
{
	return inner_size(ev, &args[1]);
}

CALL(of_smaller)
{
	uint64_t a = inner_size(ev, &args[0]), b = inner_size(ev, &args[1]);

	return tenth(MIN(a, b));
}

CALL(of_both)
{
	return tenth(cost_calls_add(inner_size(ev, &args[0]), inner_size(ev, &args[1])));
}

/* A character of text for about four of the pattern; one more, for empty text costs, too. */
static uint64_t of_match(uint64_t text, uint64_t pattern)
{
	return multiply(up((1.0 + (double)text) * 0.1), up((double)pattern * 0.25));
}

CALL(of_pattern)
{
	return of_match(inner_size(ev, &args[0]), inner_size(ev, &args[1]));
}

CALL(of_search)
{
	return multiply(tenth(inner_size(ev, &args[0])), tenth(inner_size(ev, &args[1])));
}

/* --- cel-go's libraries ------------------------------------------------------------- */

static uint64_t scaled(uint64_t size, double factor)
{
	double v = (double)size * factor;

	return v >= 0x1p64 ? UINT64_MAX : (uint64_t)v;
}

static uint64_t of_new_list(double factor, uint64_t size)
{
	return cost_calls_add(scaled(size, factor < 0 ? 1 : factor), 1 + CEL_COST_LIST);
}

CALL(of_sets)
{
	return cost_calls_add(1,
			      cost_calls_size_of(ev, &args[0]) * cost_calls_size_of(ev, &args[1]));
}

CALL(of_sets_twice)
{
	return cost_calls_add(
		1, scaled(cost_calls_size_of(ev, &args[0]) * cost_calls_size_of(ev, &args[1]), 2));
}

CALL(of_result)
{
	return of_new_list(1, cost_calls_size_of(ev, result));
}

CALL(of_flatten)
{
	bool deep = nargs == 2 && args[1].kind == CEL_INT;

	return of_new_list(deep ? (double)args[1].i : 1, cost_calls_size_of(ev, &args[0]));
}

static uint64_t of_all_pairs(struct cel_eval *ev, const struct cel_value *list)
{
	uint64_t n = cost_calls_size_of(ev, list);
	struct cel_value first;

	if (n == 0 || list->kind != CEL_LIST)
		return of_new_list(2, 0);
	first = cel_list_at(ev, list, 0);
	return of_new_list(first.kind == CEL_STRING || first.kind == CEL_BYTES ? 2.1 : 2,
			   multiply(n, n));
}

CALL(of_pairs)
{
	return of_all_pairs(ev, &args[0]);
}

CALL(of_key_pairs)
{
	return of_all_pairs(ev, &args[1]);
}

/* --- Kubernetes' libraries ---------------------------------------------------------- */

CALL(of_one)
{
	return 1;
}

static uint64_t traversal(struct cel_eval *ev, const struct cel_value *v);

/* Cost of visiting a list or map, until the evaluation is exhausted. */
static uint64_t traversal_of_parts(struct cel_eval *ev, const struct cel_value *v)
{
	size_t n = v->kind == CEL_LIST ? cel_list_size(v) : 0, at = 0;
	struct cel_value key, item;
	uint64_t cost = 0;

	for (; at < n && !ev->exhausted; at++) {
		item = cel_list_at(ev, v, at);
		cost = cost_calls_add(cost, traversal(ev, &item));
	}
	while (v->kind == CEL_MAP && !ev->exhausted && cel_map_next(ev, v, &at, &key, &item))
		cost = cost_calls_add(cost,
				      cost_calls_add(traversal(ev, &key), traversal(ev, &item)));
	return cost;
}

/* In depth; text by its bytes, rounded down. Recursion ends with cel_enter(). */
static uint64_t traversal(struct cel_eval *ev, const struct cel_value *v)
{
	uint64_t cost = 0;

	switch (v->kind) {
	case CEL_STRING:
	case CEL_BYTES:
		return (uint64_t)((double)v->s.n * 0.1);
	case CEL_LIST:
	case CEL_MAP:
		if (cel_enter(ev) && cel_work(ev, cel_value_size(v)))
			cost = traversal_of_parts(ev, v);
		cel_leave(ev);
		return cost;
	default:
		return 1;
	}
}

CALL(of_traversal)
{
	return nargs ? traversal(ev, &args[0]) : 0;
}

CALL(of_text)
{
	return tenth(cost_calls_size_of(ev, &args[0]));
}

CALL(of_text_twice)
{
	return up((double)cost_calls_size_of(ev, &args[0]) * 2 * 0.1);
}

CALL(of_result_twice)
{
	return up((double)cost_calls_size_of(ev, result) * 2 * 0.1);
}

CALL(of_find)
{
	return of_match(cost_calls_size_of(ev, &args[0]), cost_calls_size_of(ev, &args[1]));
}

CALL(of_contains_ip)
{
	uint64_t cost = tenth(2 * cost_calls_size_of(ev, &args[0]));

	return args[1].kind == CEL_STRING ? cost + tenth(cost_calls_size_of(ev, &args[1])) : cost;
}

CALL(of_contains_cidr)
{
	uint64_t size = cost_calls_size_of(ev, &args[0]), cost = tenth(2 * size) + tenth(size) + 1;

	return args[1].kind == CEL_STRING ? cost + tenth(cost_calls_size_of(ev, &args[1])) : cost;
}

CALL(of_validate)
{
	if (args[0].kind != CEL_FORMAT)
		return 1;
	return of_match(cost_calls_size_of(ev, &args[1]), args[0].format->pattern_size);
}

CALL(of_equality)
{
	return args[0].kind >= CEL_QUANTITY ? 1 : of_smaller(ev, args, nargs, result);
}

/* Two questions about rights fit into an expression. */
CALL(of_check)
{
	(void)ev;
	(void)args;
	(void)nargs;
	(void)result;
	return 350000;
}

/* A selector is parsed into a list, with at worst one requirement per two characters. */
CALL(of_selector)
{
	double size = nargs > 1 ? (double)cost_calls_size_of(ev, &args[1]) : 0;

	(void)result;
	return cost_calls_add(CEL_COST_LIST,
			      cost_calls_add(up(size * 0.1), up(up(size * 0.5) * 50.0)));
}

/* --- tables ------------------------------------------------------------------------- */

struct row {
	const char *name;
	cel_call_cost cost;
};

/* In byte order, all of them. */
static const struct row extensions[] = {
	{ "list_bool_sort", of_pairs },
	{ "list_bool_sortByAssociatedKeys", of_key_pairs },
	{ "list_bytes_sort", of_pairs },
	{ "list_bytes_sortByAssociatedKeys", of_key_pairs },
	{ "list_distinct", of_pairs },
	{ "list_double_sort", of_pairs },
	{ "list_double_sortByAssociatedKeys", of_key_pairs },
	{ "list_flatten", of_flatten },
	{ "list_flatten_int", of_flatten },
	{ "list_google.protobuf.Duration_sort", of_pairs },
	{ "list_google.protobuf.Duration_sortByAssociatedKeys", of_key_pairs },
	{ "list_google.protobuf.Timestamp_sort", of_pairs },
	{ "list_google.protobuf.Timestamp_sortByAssociatedKeys", of_key_pairs },
	{ "list_int_sort", of_pairs },
	{ "list_int_sortByAssociatedKeys", of_key_pairs },
	{ "list_reverse", of_result },
	{ "list_sets_contains_list", of_sets },
	{ "list_sets_equivalent_list", of_sets_twice },
	{ "list_sets_intersects_list", of_sets },
	{ "list_slice", of_result },
	{ "list_string_sort", of_pairs },
	{ "list_string_sortByAssociatedKeys", of_key_pairs },
	{ "list_uint_sort", of_pairs },
	{ "list_uint_sortByAssociatedKeys", of_key_pairs },
	{ "lists_range", of_result },
};

static const struct row kubernetes[] = {
	{ "_==_", of_equality },
	{ "add", of_one },
	{ "check", of_check },
	{ "cidr", of_text },
	{ "containsCIDR", of_contains_cidr },
	{ "containsIP", of_contains_ip },
	{ "fieldSelector", of_selector },
	{ "find", of_find },
	{ "findAll", of_find },
	{ "includes", of_traversal },
	{ "indexOf", of_traversal },
	{ "ip.isCanonical", of_text_twice },
	{ "isCIDR", of_text },
	{ "isIP", of_text },
	{ "isQuantity", of_text },
	{ "isSemver", of_text },
	{ "isSorted", of_traversal },
	{ "join", of_result_twice },
	{ "jsonpatch.escapeKey", of_text },
	{ "labelSelector", of_selector },
	{ "lastIndexOf", of_traversal },
	{ "lowerAscii", of_text },
	{ "max", of_traversal },
	{ "min", of_traversal },
	{ "quantity", of_text },
	{ "replace", of_text_twice },
	{ "semver", of_text },
	{ "split", of_text_twice },
	{ "sub", of_one },
	{ "substring", of_text },
	{ "sum", of_traversal },
	{ "trim", of_text },
	{ "upperAscii", of_text },
	{ "url", of_text },
	{ "validate", of_validate },
};

static const struct row standard[] = {
	{ "add_bytes", of_both },
	{ "add_string", of_both },
	{ "bytes_to_string", of_receiver },
	{ "contains_string", of_search },
	{ "ends_with_string", of_argument },
	{ "equals", of_smaller },
	{ "greater_bytes", of_smaller },
	{ "greater_equals_bytes", of_smaller },
	{ "greater_equals_string", of_smaller },
	{ "greater_string", of_smaller },
	{ "in_list", of_elements },
	{ "less_bytes", of_smaller },
	{ "less_equals_bytes", of_smaller },
	{ "less_equals_string", of_smaller },
	{ "less_string", of_smaller },
	{ "matches", of_pattern },
	{ "matches_string", of_pattern },
	{ "not_equals", of_smaller },
	{ "starts_with_string", of_argument },
	{ "string_format", of_receiver },
	{ "string_to_bytes", of_receiver },
	{ "strings_quote", of_receiver },
};

static cel_call_cost cost_calls_find(const struct row *rows, size_t n, const char *name)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(rows[middle].name, name);

		if (order == 0)
			return rows[middle].cost;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

cel_call_cost cel_call_cost_find(const struct cel_overload *overload)
{
	cel_call_cost cost = cost_calls_find(extensions, ARRAY_SIZE(extensions), overload->id);

	/* ip() of text is a conversion, of a prefix an access. */
	if (strcmp(overload->id, "string_to_ip") == 0)
		cost = of_text;
	if (!cost)
		cost = cost_calls_find(kubernetes, ARRAY_SIZE(kubernetes), overload->function);
	if (!cost)
		cost = cost_calls_find(standard, ARRAY_SIZE(standard), overload->id);
	return cost;
}

cel_call_cost cel_call_cost_dynamic(const char *function)
{
	if (strcmp(function, CEL_OP_NOT_EQUALS) == 0)
		return of_smaller;
	return cost_calls_find(kubernetes, ARRAY_SIZE(kubernetes), function);
}
