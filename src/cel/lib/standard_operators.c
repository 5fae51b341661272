/*
 * Operators and functions on text. Integer overflow is an error. Doubles follow IEEE 754, including
 * division by zero. One function compares all types with cel_compare(); the rows of the table are
 * separate for the checker.
 */
#include "base/regex/regex.h"
#include "cel/cel_limits.h"
#include "cel/lib/regex.h"
#include "cel/lib/standard.h"

#define INT_OVERFLOW  CEL_ERROR_V("integer overflow")
#define UINT_OVERFLOW CEL_ERROR_V("unsigned integer overflow")

struct cel_value cel_std_not(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_BOOL_V(!args[0].b);
}

struct cel_value cel_std_negate_int(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return args[0].i == INT64_MIN ? INT_OVERFLOW : CEL_INT_V(-args[0].i);
}

struct cel_value cel_std_negate_double(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_DOUBLE_V(-args[0].d);
}

struct cel_value cel_std_add_int(struct cel_eval *ev, const struct cel_value *args)
{
	int64_t sum;

	(void)ev;
	return __builtin_add_overflow(args[0].i, args[1].i, &sum) ? INT_OVERFLOW : CEL_INT_V(sum);
}

struct cel_value cel_std_subtract_int(struct cel_eval *ev, const struct cel_value *args)
{
	int64_t rest;

	(void)ev;
	return __builtin_sub_overflow(args[0].i, args[1].i, &rest) ? INT_OVERFLOW : CEL_INT_V(rest);
}

struct cel_value cel_std_multiply_int(struct cel_eval *ev, const struct cel_value *args)
{
	int64_t product;

	(void)ev;
	return __builtin_mul_overflow(args[0].i, args[1].i, &product) ? INT_OVERFLOW
								      : CEL_INT_V(product);
}

struct cel_value cel_std_divide_int(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	if (args[1].i == 0)
		return CEL_ERROR_V("division by zero");
	if (args[0].i == INT64_MIN && args[1].i == -1)
		return INT_OVERFLOW;
	return CEL_INT_V(args[0].i / args[1].i);
}

struct cel_value cel_std_modulo_int(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	if (args[1].i == 0)
		return CEL_ERROR_V("modulus by zero");
	if (args[0].i == INT64_MIN && args[1].i == -1)
		return INT_OVERFLOW;
	return CEL_INT_V(args[0].i % args[1].i);
}

struct cel_value cel_std_add_uint(struct cel_eval *ev, const struct cel_value *args)
{
	uint64_t sum;

	(void)ev;
	return __builtin_add_overflow(args[0].u, args[1].u, &sum) ? UINT_OVERFLOW : CEL_UINT_V(sum);
}

struct cel_value cel_std_subtract_uint(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return args[0].u < args[1].u ? UINT_OVERFLOW : CEL_UINT_V(args[0].u - args[1].u);
}

struct cel_value cel_std_multiply_uint(struct cel_eval *ev, const struct cel_value *args)
{
	uint64_t product;

	(void)ev;
	return __builtin_mul_overflow(args[0].u, args[1].u, &product) ? UINT_OVERFLOW
								      : CEL_UINT_V(product);
}

struct cel_value cel_std_divide_uint(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return args[1].u == 0 ? CEL_ERROR_V("division by zero") : CEL_UINT_V(args[0].u / args[1].u);
}

struct cel_value cel_std_modulo_uint(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return args[1].u == 0 ? CEL_ERROR_V("modulus by zero") : CEL_UINT_V(args[0].u % args[1].u);
}

struct cel_value cel_std_add_double(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_DOUBLE_V(args[0].d + args[1].d);
}

struct cel_value cel_std_subtract_double(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_DOUBLE_V(args[0].d - args[1].d);
}

struct cel_value cel_std_multiply_double(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_DOUBLE_V(args[0].d * args[1].d);
}

/* IEEE 754 defines division by zero, which C leaves open: infinity, or NaN of zero and NaN. */
__attribute__((no_sanitize("float-divide-by-zero"))) struct cel_value cel_std_divide_double(
	struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_DOUBLE_V(args[0].d / args[1].d);
}

/* Strings and bytes. */
struct cel_value cel_std_add_text(struct cel_eval *ev, const struct cel_value *args)
{
	struct str a = args[0].s, b = args[1].s;
	struct cel_value sum = args[0];
	char *p;

	if (a.n == 0 || b.n == 0)
		return a.n == 0 ? args[1] : args[0];
	p = cel_alloc(ev, a.n + b.n);
	if (!p)
		return cel_too_large();
	str_put(p, a);
	str_put(p + a.n, b);
	sum.s = str_of(p, a.n + b.n);
	return sum;
}

struct cel_value cel_std_add_list(struct cel_eval *ev, const struct cel_value *args)
{
	const struct cel_list_rules *rules = args[0].list.class->rules;

	return rules ? rules->add(ev, &args[0], &args[1]) : cel_list_append(ev, &args[0], &args[1]);
}

/* --- comparing ---------------------------------------------------------------------- */

struct cel_value cel_std_equals(struct cel_eval *ev, const struct cel_value *args)
{
	if (cel_never_equals(&args[0], &args[1]))
		return cel_no_overload(ev);
	return CEL_BOOL_V(cel_equal(ev, &args[0], &args[1]));
}

struct cel_value cel_std_not_equals(struct cel_eval *ev, const struct cel_value *args)
{
	return CEL_BOOL_V(!cel_equal(ev, &args[0], &args[1]));
}

/* Returns the error for values without an order: NaN, or types that dispatch did not reject. */
static struct cel_value unordered(struct cel_eval *ev, const struct cel_value *args)
{
	if (args[0].kind == CEL_DOUBLE || args[1].kind == CEL_DOUBLE)
		return CEL_ERROR_V("NaN values cannot be ordered");
	return cel_no_overload(ev);
}

struct cel_value cel_std_less(struct cel_eval *ev, const struct cel_value *args)
{
	int order;

	if (!cel_compare(&args[0], &args[1], &order))
		return unordered(ev, args);
	return CEL_BOOL_V(order < 0);
}

struct cel_value cel_std_less_equals(struct cel_eval *ev, const struct cel_value *args)
{
	int order;

	if (!cel_compare(&args[0], &args[1], &order))
		return unordered(ev, args);
	return CEL_BOOL_V(order <= 0);
}

struct cel_value cel_std_greater(struct cel_eval *ev, const struct cel_value *args)
{
	int order;

	if (!cel_compare(&args[0], &args[1], &order))
		return unordered(ev, args);
	return CEL_BOOL_V(order > 0);
}

struct cel_value cel_std_greater_equals(struct cel_eval *ev, const struct cel_value *args)
{
	int order;

	if (!cel_compare(&args[0], &args[1], &order))
		return unordered(ev, args);
	return CEL_BOOL_V(order >= 0);
}

/* --- lists and maps ----------------------------------------------------------------- */

struct cel_value cel_std_in_list(struct cel_eval *ev, const struct cel_value *args)
{
	const struct cel_value *items = cel_list_items(&args[1]);
	size_t n = cel_list_size(&args[1]);
	struct cel_value item;

	for (size_t i = 0; i < n; i++) {
		if (!items)
			item = cel_list_at(ev, &args[1], i);
		if (cel_equal(ev, &args[0], items ? &items[i] : &item))
			return CEL_BOOL_V(true);
	}
	return CEL_BOOL_V(false);
}

struct cel_value cel_std_in_map(struct cel_eval *ev, const struct cel_value *args)
{
	const struct cel_map_class *class = args[1].map.class;
	struct cel_value v;

	if (class->has)
		return CEL_BOOL_V(class->has(args[1].map.self, &args[0]));
	v = cel_map_find(ev, &args[1], &args[0]);
	return v.kind == CEL_ERROR && v.error ? v : CEL_BOOL_V(v.kind != CEL_ERROR);
}

struct cel_value cel_std_index(struct cel_eval *ev, const struct cel_value *args)
{
	struct cel_value v = cel_qualify(ev, &args[0], &args[1]);

	return v.kind == CEL_ERROR && !v.error ? cel_missing(ev, &args[0], &args[1]) : v;
}

struct cel_value cel_std_size(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_INT_V((int64_t)cel_value_size(&args[0]));
}

/* --- text --------------------------------------------------------------------------- */

struct cel_value cel_std_contains(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_BOOL_V(str_find(args[0].s, args[1].s) >= 0);
}

struct cel_value cel_std_starts_with(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_BOOL_V(str_starts(args[0].s, args[1].s));
}

struct cel_value cel_std_ends_with(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_BOOL_V(str_ends(args[0].s, args[1].s));
}

/* With a pattern that is not constant: compiled for this call alone. */
struct cel_value cel_std_matches(struct cel_eval *ev, const struct cel_value *args)
{
	const struct regex *regex;
	struct cel_value v;
	struct error err;
	struct arena a;

	arena_init(&a, CEL_PROGRAM_MAX);
	if (cel_regex_compile_once(ev, &a, args[1].s, &regex, &err) < 0)
		v = cel_errorf(ev, "%s", err.msg);
	else
		v = cel_regex_matches(ev, regex, args[0].s);
	arena_release(&a);
	return v;
}
