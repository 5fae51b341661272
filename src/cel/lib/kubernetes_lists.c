/*
 * Kubernetes' list functions. There is one overload per element type, since a signature cannot
 * express "any ordered type". All overloads share functions that inspect the values.
 */
#include "cel/lib/libraries.h"

/* --- order -------------------------------------------------------------------------- */

static bool has_order(const struct cel_value *v)
{
	switch (v->kind) {
	case CEL_BOOL:
	case CEL_INT:
	case CEL_UINT:
	case CEL_DOUBLE:
	case CEL_STRING:
	case CEL_BYTES:
	case CEL_TIMESTAMP:
	case CEL_DURATION:
		return true;
	default:
		return false;
	}
}

static struct cel_value is_sorted(struct cel_eval *ev, const struct cel_value *args)
{
	size_t n = cel_list_size(&args[0]);
	struct cel_value before = CEL_NULL_V, v;
	int order;

	for (size_t i = 0; i < n && cel_work(ev, 1); i++, before = v) {
		v = cel_list_at(ev, &args[0], i);
		if (!has_order(&v))
			return cel_no_overload(ev);
		if (i > 0 && cel_compare(&before, &v, &order) && order > 0)
			return CEL_BOOL_V(false);
	}
	return CEL_BOOL_V(true);
}

/* The first element to which no other has the order `sign`. */
static struct cel_value extreme(struct cel_eval *ev, const struct cel_value *list, int sign,
				const char *name)
{
	size_t n = cel_list_size(list);
	struct cel_value best;
	int order;

	if (n == 0)
		return cel_errorf(ev, "%s called on empty list", name);
	best = cel_list_at(ev, list, 0);
	if (!has_order(&best))
		return cel_no_overload(ev);
	for (size_t i = 1; i < n && cel_work(ev, 1); i++) {
		struct cel_value v = cel_list_at(ev, list, i);

		if (cel_compare(&v, &best, &order) && order * sign > 0)
			best = v;
	}
	return best;
}

static struct cel_value least(struct cel_eval *ev, const struct cel_value *args)
{
	return extreme(ev, &args[0], -1, "min");
}

static struct cel_value greatest(struct cel_eval *ev, const struct cel_value *args)
{
	return extreme(ev, &args[0], 1, "max");
}

/* --- sums --------------------------------------------------------------------------- */

/* Adds `v` to *sum, both of one kind. NULL, or why it cannot. */
static const char *kubernetes_lists_add(struct cel_value *sum, const struct cel_value *v)
{
	bool overflow = false;

	if (v->kind != sum->kind)
		return "no such overload";
	if (v->kind == CEL_INT || v->kind == CEL_DURATION)
		overflow = __builtin_add_overflow(sum->i, v->i, &sum->i);
	else if (v->kind == CEL_UINT)
		overflow = __builtin_add_overflow(sum->u, v->u, &sum->u);
	else
		sum->d += v->d;
	if (!overflow)
		return NULL;
	return v->kind == CEL_INT    ? "integer overflow"
	       : v->kind == CEL_UINT ? "unsigned integer overflow"
				     : "duration overflow";
}

static struct cel_value sum_from(struct cel_eval *ev, const struct cel_value *list,
				 struct cel_value sum)
{
	size_t n = cel_list_size(list);
	const char *why = NULL;

	for (size_t i = 0; i < n && !why && cel_work(ev, 1); i++) {
		struct cel_value v = cel_list_at(ev, list, i);

		why = kubernetes_lists_add(&sum, &v);
	}
	return why ? cel_errorf(ev, "%s", why) : sum;
}

/* A list whose type is known at run time only has overloads for all: its first element tells. */
static struct cel_value sum(struct cel_eval *ev, const struct cel_value *args,
			    struct cel_value zero)
{
	struct cel_value v = cel_list_size(&args[0]) ? cel_list_at(ev, &args[0], 0) : zero;

	if (v.kind == CEL_INT || v.kind == CEL_UINT || v.kind == CEL_DOUBLE ||
	    v.kind == CEL_DURATION)
		zero = (struct cel_value){ .kind = v.kind };
	return sum_from(ev, &args[0], zero);
}

static struct cel_value sum_int(struct cel_eval *ev, const struct cel_value *args)
{
	return sum(ev, args, CEL_INT_V(0));
}

static struct cel_value sum_uint(struct cel_eval *ev, const struct cel_value *args)
{
	return sum(ev, args, CEL_UINT_V(0));
}

static struct cel_value sum_double(struct cel_eval *ev, const struct cel_value *args)
{
	return sum(ev, args, CEL_DOUBLE_V(0));
}

static struct cel_value sum_duration(struct cel_eval *ev, const struct cel_value *args)
{
	return sum(ev, args, CEL_DURATION_V(0));
}

/* --- searching ---------------------------------------------------------------------- */

static struct cel_value kubernetes_lists_index_of(struct cel_eval *ev, const struct cel_value *args)
{
	size_t n = cel_list_size(&args[0]);

	for (size_t i = 0; i < n && cel_work(ev, 1); i++) {
		struct cel_value v = cel_list_at(ev, &args[0], i);

		if (cel_equal(ev, &v, &args[1]))
			return CEL_INT_V((int64_t)i);
	}
	return CEL_INT_V(-1);
}

static struct cel_value last_index_of(struct cel_eval *ev, const struct cel_value *args)
{
	for (size_t i = cel_list_size(&args[0]); i > 0 && cel_work(ev, 1); i--) {
		struct cel_value v = cel_list_at(ev, &args[0], i - 1);

		if (cel_equal(ev, &v, &args[1]))
			return CEL_INT_V((int64_t)(i - 1));
	}
	return CEL_INT_V(-1);
}

/* A value that is not a list includes itself. */
static struct cel_value includes(struct cel_eval *ev, const struct cel_value *args)
{
	if (args[0].kind != CEL_LIST)
		return CEL_BOOL_V(cel_equal(ev, &args[0], &args[1]));
	return CEL_BOOL_V(kubernetes_lists_index_of(ev, args).i >= 0);
}

/* --- rows --------------------------------------------------------------------------- */

/* One row for each type that has an order. */
#define ORDERED(ROW)                                                                 \
	ROW("int", &cel_int, &cel_list_int), ROW("uint", &cel_uint, &cel_list_uint), \
		ROW("double", &cel_double, &cel_list_double),                        \
		ROW("bool", &cel_bool, &cel_list_bool),                              \
		ROW("duration", &cel_duration, &cel_list_duration),                  \
		ROW("timestamp", &cel_timestamp, &cel_list_timestamp),               \
		ROW("string", &cel_string, &cel_list_string),                        \
		ROW("bytes", &cel_bytes, &cel_list_bytes)
#define IS_SORTED(name, element, list)                                                    \
	{                                                                                 \
		"isSorted", "list_" name "_is_sorted_bool", &cel_bool, { list }, 1, true, \
			is_sorted                                                         \
	}
#define MAX_OF(name, element, list)                                                    \
	{                                                                              \
		"max", "list_" name "_max_" name, element, { list }, 1, true, greatest \
	}
#define MIN_OF(name, element, list)                                                 \
	{                                                                           \
		"min", "list_" name "_min_" name, element, { list }, 1, true, least \
	}

/* clang-format off */
static const struct cel_overload overloads[] = {
	{ "includes", "list_includes_dyn_dyn", &cel_bool, { &cel_dyn, &cel_dyn }, 2, true,
	  includes },
	{ "indexOf", "list_a_index_of_int", &cel_int, { &cel_list_a, &cel_type_a }, 2, true,
	  kubernetes_lists_index_of },
	ORDERED(IS_SORTED),
	{ "lastIndexOf", "list_a_last_index_of_int", &cel_int, { &cel_list_a, &cel_type_a }, 2,
	  true, last_index_of },
	ORDERED(MAX_OF),
	ORDERED(MIN_OF),
	{ "sum", "list_int_sum_int", &cel_int, { &cel_list_int }, 1, true, sum_int },
	{ "sum", "list_uint_sum_uint", &cel_uint, { &cel_list_uint }, 1, true, sum_uint },
	{ "sum", "list_double_sum_double", &cel_double, { &cel_list_double }, 1, true, sum_double },
	{ "sum", "list_duration_sum_duration", &cel_duration, { &cel_list_duration }, 1, true,
	  sum_duration },
};
/* clang-format on */

const struct cel_library cel_lib_kubernetes_lists = {
	.name = "kubernetes.lists",
	.overloads = overloads,
	.n = ARRAY_SIZE(overloads),
};
