/*
 * cel-go's sets: set operations on lists. Elements are compared pairwise with `==`: a hash would
 * have to be the same for 1, 1u and 1.0.
 */
#include "cel/lib/libraries.h"

static bool sets_has(struct cel_eval *ev, const struct cel_value *list, const struct cel_value *v)
{
	size_t n = cel_list_size(list);

	for (size_t i = 0; i < n && cel_work(ev, 1); i++) {
		struct cel_value other = cel_list_at(ev, list, i);

		if (cel_equal(ev, v, &other))
			return true;
	}
	return false;
}

/* Whether every element of `part` is in `whole`. */
static bool all_in(struct cel_eval *ev, const struct cel_value *whole, const struct cel_value *part)
{
	size_t n = cel_list_size(part);

	for (size_t i = 0; i < n && cel_work(ev, 1); i++) {
		struct cel_value v = cel_list_at(ev, part, i);

		if (!sets_has(ev, whole, &v))
			return false;
	}
	return true;
}

static struct cel_value contains(struct cel_eval *ev, const struct cel_value *args)
{
	return CEL_BOOL_V(all_in(ev, &args[0], &args[1]));
}

static struct cel_value equivalent(struct cel_eval *ev, const struct cel_value *args)
{
	return CEL_BOOL_V(all_in(ev, &args[0], &args[1]) && all_in(ev, &args[1], &args[0]));
}

static struct cel_value intersects(struct cel_eval *ev, const struct cel_value *args)
{
	size_t n = cel_list_size(&args[0]);

	for (size_t i = 0; i < n && cel_work(ev, 1); i++) {
		struct cel_value v = cel_list_at(ev, &args[0], i);

		if (sets_has(ev, &args[1], &v))
			return CEL_BOOL_V(true);
	}
	return CEL_BOOL_V(false);
}

#define A &cel_list_a

static const struct cel_overload overloads[] = {
	{ "sets.contains", "list_sets_contains_list", &cel_bool, { A, A }, 2, false, contains },
	{ "sets.equivalent",
	  "list_sets_equivalent_list",
	  &cel_bool,
	  { A, A },
	  2,
	  false,
	  equivalent },
	{ "sets.intersects",
	  "list_sets_intersects_list",
	  &cel_bool,
	  { A, A },
	  2,
	  false,
	  intersects },
};

const struct cel_library cel_lib_sets = {
	.name = "sets",
	.overloads = overloads,
	.n = ARRAY_SIZE(overloads),
};
