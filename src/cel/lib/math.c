/*
 * cel-go's mathematics: the least and the greatest of some numbers, rounding, signs and bits.
 * math.least() and math.greatest() take any number of arguments; a macro turns them
 * into calls of math.@min and math.@max with one, two or a list.
 */
#include <inttypes.h>
#include <math.h>

#include "cel/lib/libraries.h"
#include "cel/parse/macro.h"

static const struct cel_type list_uint = { .kind = CEL_TYPE_LIST,
					   .name = STR("list"),
					   .params = { &cel_uint } };
static const struct cel_type list_double = { .kind = CEL_TYPE_LIST,
					     .name = STR("list"),
					     .params = { &cel_double } };

static bool is_number(const struct cel_value *v)
{
	return v->kind == CEL_INT || v->kind == CEL_UINT || v->kind == CEL_DOUBLE;
}

/* --- least and greatest ------------------------------------------------------------- */

static struct cel_value math_same(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return args[0];
}

/* The second where its order to the first is `sign`, else the first. */
static struct cel_value math_pick(struct cel_eval *ev, const struct cel_value *first,
				  const struct cel_value *second, int sign, const char *function)
{
	int order;

	if (cel_compare(first, second, &order))
		return order == sign ? *second : *first;
	if (is_number(first) && is_number(second))
		return cel_errorf(ev, "NaN values cannot be ordered: %s", function);
	return cel_errorf(ev, "no such overload: %s", function);
}

static struct cel_value pick_of_list(struct cel_eval *ev, const struct cel_value *list, int sign,
				     const char *function)
{
	size_t n = cel_list_size(list);
	struct cel_value best;

	if (n == 0)
		return cel_errorf(ev, "%s(list) argument must not be empty", function);
	best = cel_list_at(ev, list, 0);
	for (size_t i = 1; i < n && !cel_is_error(best); i++) {
		struct cel_value next = cel_list_at(ev, list, i);

		best = cel_is_error(next) ? next : math_pick(ev, &best, &next, sign, function);
	}
	if (cel_is_error(best) || is_number(&best))
		return best;
	return cel_errorf(ev, "no such overload: %s", function);
}

static struct cel_value least_of_two(struct cel_eval *ev, const struct cel_value *args)
{
	return math_pick(ev, &args[0], &args[1], 1, "math.@min");
}

static struct cel_value greatest_of_two(struct cel_eval *ev, const struct cel_value *args)
{
	return math_pick(ev, &args[0], &args[1], -1, "math.@max");
}

static struct cel_value least_of_list(struct cel_eval *ev, const struct cel_value *args)
{
	return pick_of_list(ev, &args[0], 1, "math.@min");
}

static struct cel_value greatest_of_list(struct cel_eval *ev, const struct cel_value *args)
{
	return pick_of_list(ev, &args[0], -1, "math.@max");
}

/* --- doubles ------------------------------------------------------------------------ */

static struct cel_value round_up(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_DOUBLE_V(ceil(args[0].d));
}

static struct cel_value round_down(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_DOUBLE_V(floor(args[0].d));
}

static struct cel_value round_half_away(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_DOUBLE_V(round(args[0].d));
}

static struct cel_value truncate_double(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_DOUBLE_V(trunc(args[0].d));
}

static struct cel_value is_infinite(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_BOOL_V(isinf(args[0].d) != 0);
}

static struct cel_value is_nan(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_BOOL_V(isnan(args[0].d) != 0);
}

static struct cel_value is_finite(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_BOOL_V(isfinite(args[0].d) != 0);
}

static struct cel_value root_double(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_DOUBLE_V(sqrt(args[0].d));
}

static struct cel_value root_int(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_DOUBLE_V(sqrt((double)args[0].i));
}

static struct cel_value root_uint(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_DOUBLE_V(sqrt((double)args[0].u));
}

/* --- signs -------------------------------------------------------------------------- */

static struct cel_value abs_double(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_DOUBLE_V(fabs(args[0].d));
}

static struct cel_value abs_int(struct cel_eval *ev, const struct cel_value *args)
{
	if (args[0].i == INT64_MIN)
		return cel_errorf(ev, "integer overflow");
	return CEL_INT_V(args[0].i < 0 ? -args[0].i : args[0].i);
}

static struct cel_value sign_double(struct cel_eval *ev, const struct cel_value *args)
{
	double d = args[0].d;

	(void)ev;
	return CEL_DOUBLE_V(isnan(d) ? d : (double)((d > 0) - (d < 0)));
}

static struct cel_value sign_int(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_INT_V((args[0].i > 0) - (args[0].i < 0));
}

static struct cel_value sign_uint(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_UINT_V(args[0].u > 0);
}

/* --- bits --------------------------------------------------------------------------- */

/* int and uint share their place in a value, so that one function serves both kinds. */
static struct cel_value with_bits(const struct cel_value *like, uint64_t bits)
{
	struct cel_value v = *like;

	v.u = bits;
	return v;
}

static struct cel_value bit_and(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return with_bits(&args[0], args[0].u & args[1].u);
}

static struct cel_value bit_or(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return with_bits(&args[0], args[0].u | args[1].u);
}

static struct cel_value bit_xor(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return with_bits(&args[0], args[0].u ^ args[1].u);
}

static struct cel_value bit_not(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return with_bits(&args[0], ~args[0].u);
}

static struct cel_value shift_left(struct cel_eval *ev, const struct cel_value *args)
{
	int64_t by = args[1].i;

	if (by < 0)
		return cel_errorf(ev, "math.bitShiftLeft() negative offset: %" PRId64, by);
	return with_bits(&args[0], by > 63 ? 0 : args[0].u << by);
}

/* Zeroes come in from the left for an int, too. */
static struct cel_value shift_right(struct cel_eval *ev, const struct cel_value *args)
{
	int64_t by = args[1].i;

	if (by < 0)
		return cel_errorf(ev, "math.bitShiftRight() negative offset: %" PRId64, by);
	return with_bits(&args[0], by > 63 ? 0 : args[0].u >> by);
}

/* --- rows --------------------------------------------------------------------------- */

#define I &cel_int
#define U &cel_uint
#define D &cel_double

/* clang-format off */
static const struct cel_overload overloads[] = {
	{ "math.@max", "math_@max_double", D, { D }, 1, false, math_same },
	{ "math.@max", "math_@max_int", I, { I }, 1, false, math_same },
	{ "math.@max", "math_@max_uint", U, { U }, 1, false, math_same },
	{ "math.@max", "math_@max_double_double", D, { D, D }, 2, false, greatest_of_two },
	{ "math.@max", "math_@max_int_int", I, { I, I }, 2, false, greatest_of_two },
	{ "math.@max", "math_@max_uint_uint", U, { U, U }, 2, false, greatest_of_two },
	{ "math.@max", "math_@max_int_uint", &cel_dyn, { I, U }, 2, false, greatest_of_two },
	{ "math.@max", "math_@max_int_double", &cel_dyn, { I, D }, 2, false, greatest_of_two },
	{ "math.@max", "math_@max_double_int", &cel_dyn, { D, I }, 2, false, greatest_of_two },
	{ "math.@max", "math_@max_double_uint", &cel_dyn, { D, U }, 2, false, greatest_of_two },
	{ "math.@max", "math_@max_uint_int", &cel_dyn, { U, I }, 2, false, greatest_of_two },
	{ "math.@max", "math_@max_uint_double", &cel_dyn, { U, D }, 2, false, greatest_of_two },
	{ "math.@max", "math_@max_list_double", D, { &list_double }, 1, false, greatest_of_list },
	{ "math.@max", "math_@max_list_int", I, { &cel_list_int }, 1, false, greatest_of_list },
	{ "math.@max", "math_@max_list_uint", U, { &list_uint }, 1, false, greatest_of_list },
	{ "math.@min", "math_@min_double", D, { D }, 1, false, math_same },
	{ "math.@min", "math_@min_int", I, { I }, 1, false, math_same },
	{ "math.@min", "math_@min_uint", U, { U }, 1, false, math_same },
	{ "math.@min", "math_@min_double_double", D, { D, D }, 2, false, least_of_two },
	{ "math.@min", "math_@min_int_int", I, { I, I }, 2, false, least_of_two },
	{ "math.@min", "math_@min_uint_uint", U, { U, U }, 2, false, least_of_two },
	{ "math.@min", "math_@min_int_uint", &cel_dyn, { I, U }, 2, false, least_of_two },
	{ "math.@min", "math_@min_int_double", &cel_dyn, { I, D }, 2, false, least_of_two },
	{ "math.@min", "math_@min_double_int", &cel_dyn, { D, I }, 2, false, least_of_two },
	{ "math.@min", "math_@min_double_uint", &cel_dyn, { D, U }, 2, false, least_of_two },
	{ "math.@min", "math_@min_uint_int", &cel_dyn, { U, I }, 2, false, least_of_two },
	{ "math.@min", "math_@min_uint_double", &cel_dyn, { U, D }, 2, false, least_of_two },
	{ "math.@min", "math_@min_list_double", D, { &list_double }, 1, false, least_of_list },
	{ "math.@min", "math_@min_list_int", I, { &cel_list_int }, 1, false, least_of_list },
	{ "math.@min", "math_@min_list_uint", U, { &list_uint }, 1, false, least_of_list },
	{ "math.abs", "math_abs_double", D, { D }, 1, false, abs_double },
	{ "math.abs", "math_abs_int", I, { I }, 1, false, abs_int },
	{ "math.abs", "math_abs_uint", U, { U }, 1, false, math_same },
	{ "math.bitAnd", "math_bitAnd_int_int", I, { I, I }, 2, false, bit_and },
	{ "math.bitAnd", "math_bitAnd_uint_uint", U, { U, U }, 2, false, bit_and },
	{ "math.bitNot", "math_bitNot_int_int", I, { I }, 1, false, bit_not },
	{ "math.bitNot", "math_bitNot_uint_uint", U, { U }, 1, false, bit_not },
	{ "math.bitOr", "math_bitOr_int_int", I, { I, I }, 2, false, bit_or },
	{ "math.bitOr", "math_bitOr_uint_uint", U, { U, U }, 2, false, bit_or },
	{ "math.bitShiftLeft", "math_bitShiftLeft_int_int", I, { I, I }, 2, false, shift_left },
	{ "math.bitShiftLeft", "math_bitShiftLeft_uint_int", U, { U, I }, 2, false, shift_left },
	{ "math.bitShiftRight", "math_bitShiftRight_int_int", I, { I, I }, 2, false, shift_right },
	{ "math.bitShiftRight", "math_bitShiftRight_uint_int", U, { U, I }, 2, false, shift_right },
	{ "math.bitXor", "math_bitXor_int_int", I, { I, I }, 2, false, bit_xor },
	{ "math.bitXor", "math_bitXor_uint_uint", U, { U, U }, 2, false, bit_xor },
	{ "math.ceil", "math_ceil_double", D, { D }, 1, false, round_up },
	{ "math.floor", "math_floor_double", D, { D }, 1, false, round_down },
	{ "math.isFinite", "math_isFinite_double", &cel_bool, { D }, 1, false, is_finite },
	{ "math.isInf", "math_isInf_double", &cel_bool, { D }, 1, false, is_infinite },
	{ "math.isNaN", "math_isNaN_double", &cel_bool, { D }, 1, false, is_nan },
	{ "math.round", "math_round_double", D, { D }, 1, false, round_half_away },
	{ "math.sign", "math_sign_double", D, { D }, 1, false, sign_double },
	{ "math.sign", "math_sign_int", I, { I }, 1, false, sign_int },
	{ "math.sign", "math_sign_uint", U, { U }, 1, false, sign_uint },
	{ "math.sqrt", "math_sqrt_double", D, { D }, 1, false, root_double },
	{ "math.sqrt", "math_sqrt_int", D, { I }, 1, false, root_int },
	{ "math.sqrt", "math_sqrt_uint", D, { U }, 1, false, root_uint },
	{ "math.trunc", "math_trunc_double", D, { D }, 1, false, truncate_double },
};
/* clang-format on */

const struct cel_library cel_lib_math = {
	.name = "math",
	.overloads = overloads,
	.n = ARRAY_SIZE(overloads),
	.macros = cel_macros_math,
};
