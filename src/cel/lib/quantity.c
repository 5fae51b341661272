/*
 * Quantities, as resources are counted in.
 */
#include "base/json/quantity.h"

#include "cel/lib/libraries.h"

static struct cel_value quantity_wrap(struct cel_eval *ev, struct quantity q)
{
	struct quantity *copy = cel_alloc(ev, sizeof(*copy));

	if (!copy)
		return cel_too_large();
	*copy = q;
	return (struct cel_value){ .kind = CEL_QUANTITY, .quantity = copy };
}

static struct cel_value quantity_make(struct cel_eval *ev, const struct cel_value *args)
{
	struct quantity q;
	struct error err;

	if (quantity_parse(args[0].s, &q, &err) < 0)
		return cel_errorf(ev, "%s", err.msg);
	return quantity_wrap(ev, q);
}

static struct cel_value quantity_is(struct cel_eval *ev, const struct cel_value *args)
{
	struct quantity q;

	(void)ev;
	return CEL_BOOL_V(quantity_parse(args[0].s, &q, NULL) == 0);
}

static struct cel_value quantity_get_sign(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_INT_V(quantity_sign(*args[0].quantity));
}

static struct cel_value quantity_greater(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_BOOL_V(quantity_cmp(*args[0].quantity, *args[1].quantity) > 0);
}

static struct cel_value quantity_less(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_BOOL_V(quantity_cmp(*args[0].quantity, *args[1].quantity) < 0);
}

static struct cel_value quantity_compare(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_INT_V(quantity_cmp(*args[0].quantity, *args[1].quantity));
}

static struct cel_value quantity_as_float(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_DOUBLE_V(quantity_double(*args[0].quantity));
}

static struct cel_value quantity_as_integer(struct cel_eval *ev, const struct cel_value *args)
{
	int64_t value;

	if (!quantity_integer(*args[0].quantity, &value))
		return cel_errorf(ev, "cannot convert value to integer");
	return CEL_INT_V(value);
}

static struct cel_value quantity_is_integer(struct cel_eval *ev, const struct cel_value *args)
{
	int64_t value;

	(void)ev;
	return CEL_BOOL_V(quantity_integer(*args[0].quantity, &value));
}

static struct cel_value quantity_plus(struct cel_eval *ev, const struct cel_value *args)
{
	return quantity_wrap(ev, quantity_add(*args[0].quantity, *args[1].quantity));
}

static struct cel_value quantity_plus_int(struct cel_eval *ev, const struct cel_value *args)
{
	return quantity_wrap(ev, quantity_add(*args[0].quantity,
					      quantity_of(args[1].i, QUANTITY_DECIMAL_EXPONENT)));
}

static struct cel_value quantity_minus(struct cel_eval *ev, const struct cel_value *args)
{
	return quantity_wrap(ev, quantity_sub(*args[0].quantity, *args[1].quantity));
}

static struct cel_value quantity_minus_int(struct cel_eval *ev, const struct cel_value *args)
{
	return quantity_wrap(ev, quantity_sub(*args[0].quantity,
					      quantity_of(args[1].i, QUANTITY_DECIMAL_EXPONENT)));
}

static const struct cel_overload overloads[] = {
	{ "add",
	  "quantity_add",
	  &cel_quantity,
	  { &cel_quantity, &cel_quantity },
	  2,
	  true,
	  quantity_plus },
	{ "add",
	  "quantity_add_int",
	  &cel_quantity,
	  { &cel_quantity, &cel_int },
	  2,
	  true,
	  quantity_plus_int },
	{ "asApproximateFloat",
	  "quantity_get_float",
	  &cel_double,
	  { &cel_quantity },
	  1,
	  true,
	  quantity_as_float },
	{ "asInteger",
	  "quantity_get_int",
	  &cel_int,
	  { &cel_quantity },
	  1,
	  true,
	  quantity_as_integer },
	{ "compareTo",
	  "quantity_compare_to",
	  &cel_int,
	  { &cel_quantity, &cel_quantity },
	  2,
	  true,
	  quantity_compare },
	{ "isGreaterThan",
	  "quantity_is_greater_than",
	  &cel_bool,
	  { &cel_quantity, &cel_quantity },
	  2,
	  true,
	  quantity_greater },
	{ "isInteger",
	  "quantity_is_integer",
	  &cel_bool,
	  { &cel_quantity },
	  1,
	  true,
	  quantity_is_integer },
	{ "isLessThan",
	  "quantity_is_less_than",
	  &cel_bool,
	  { &cel_quantity, &cel_quantity },
	  2,
	  true,
	  quantity_less },
	{ "isQuantity", "is_quantity_string", &cel_bool, { &cel_string }, 1, false, quantity_is },
	{ "quantity",
	  "string_to_quantity",
	  &cel_quantity,
	  { &cel_string },
	  1,
	  false,
	  quantity_make },
	{ "sign", "quantity_sign", &cel_int, { &cel_quantity }, 1, false, quantity_get_sign },
	{ "sub",
	  "quantity_sub",
	  &cel_quantity,
	  { &cel_quantity, &cel_quantity },
	  2,
	  true,
	  quantity_minus },
	{ "sub",
	  "quantity_sub_int",
	  &cel_quantity,
	  { &cel_quantity, &cel_int },
	  2,
	  true,
	  quantity_minus_int },
};

const struct cel_library cel_lib_quantity = {
	.name = "kubernetes.quantity",
	.overloads = overloads,
	.n = ARRAY_SIZE(overloads),
};
