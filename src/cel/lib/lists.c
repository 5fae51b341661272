/*
 * cel-go's list functions. Slices and reversed lists are views, and a range only stores its size,
 * so none of them copies elements.
 */
#include <inttypes.h>

#include "cel/lib/libraries.h"
#include "cel/parse/macro.h"

/* --- views -------------------------------------------------------------------------- */

struct view {
	struct cel_value list;
	size_t first, n;
	bool backwards;
};

static size_t view_size(const void *self)
{
	return ((const struct view *)self)->n;
}

static struct cel_value view_at(struct cel_eval *ev, const void *self, size_t index)
{
	const struct view *view = self;

	return cel_list_at(ev, &view->list,
			   view->backwards ? view->first - index : view->first + index);
}

static const struct cel_list_class view_class = { .size = view_size, .at = view_at };

/* A view of a view is one of the list: however many there are, an element is a step away. */
static struct cel_value view_of(struct cel_eval *ev, struct view view)
{
	struct view *copy = cel_alloc(ev, sizeof(*copy));
	const struct view *inner;

	if (!copy)
		return cel_too_large();
	if (view.list.list.class == &view_class) {
		inner = view.list.list.self;
		view.first = inner->backwards ? inner->first - view.first
					      : inner->first + view.first;
		view.backwards ^= inner->backwards;
		view.list = inner->list;
	}
	*copy = view;
	return (struct cel_value){ .kind = CEL_LIST, .list = { &view_class, copy } };
}

static struct cel_value slice(struct cel_eval *ev, const struct cel_value *args)
{
	int64_t start = args[1].i, end = args[2].i;
	size_t n = cel_list_size(&args[0]);
	const char *why = NULL;

	if (start < 0 || end < 0)
		why = "negative indexes not supported";
	else if (start > end)
		why = "start index must be less than or equal to end index";
	if (why)
		return cel_errorf(ev, "cannot slice(%" PRId64 ", %" PRId64 "), %s", start, end,
				  why);
	if ((uint64_t)end > n)
		return cel_errorf(ev, "cannot slice(%" PRId64 ", %" PRId64 "), list is length %zu",
				  start, end, n);
	return view_of(ev, (struct view){ args[0], (size_t)start, (size_t)(end - start), false });
}

static struct cel_value reverse(struct cel_eval *ev, const struct cel_value *args)
{
	size_t n = cel_list_size(&args[0]);

	return view_of(ev, (struct view){ args[0], n ? n - 1 : 0, n, true });
}

/* A range is the address that its size makes. */
static size_t range_size(const void *self)
{
	return (size_t)(uintptr_t)self;
}

static struct cel_value range_at(struct cel_eval *ev, const void *self, size_t index)
{
	(void)ev;
	(void)self;
	return CEL_INT_V((int64_t)index);
}

static const struct cel_list_class range_class = { .size = range_size, .at = range_at };

static struct cel_value range(struct cel_eval *ev, const struct cel_value *args)
{
	enum { RANGE_MAX = 1000000 }; /* cel-go's */

	if (args[0].i < 0)
		return cel_errorf(ev, "lists.range: size must be non-negative, got %" PRId64,
				  args[0].i);
	if (args[0].i > RANGE_MAX)
		return cel_errorf(ev, "lists.range: size %" PRId64 " exceeds maximum allowed (%d)",
				  args[0].i, RANGE_MAX);
	return (struct cel_value){ .kind = CEL_LIST,
				   .list = { &range_class, (const void *)(uintptr_t)args[0].i } };
}

/* --- flattening --------------------------------------------------------------------- */

/*
 * Counts the elements, or copies them if `out` is not NULL; stops if the evaluation is exhausted.
 * cel_enter() bounds the recursion.
 */
static size_t flatten_into(struct cel_eval *ev, const struct cel_value *list, int64_t depth,
			   struct cel_value *out)
{
	size_t n = cel_list_size(list), kept = 0;

	if (!cel_enter(ev) || !cel_work(ev, n))
		n = 0;
	for (size_t i = 0; i < n && !ev->exhausted; i++) {
		struct cel_value v = cel_list_at(ev, list, i);

		if (v.kind == CEL_LIST && depth > 0)
			kept += flatten_into(ev, &v, depth - 1, out ? out + kept : NULL);
		else if (out)
			out[kept++] = v;
		else
			kept++;
	}
	cel_leave(ev);
	return kept;
}

static struct cel_value flatten_to(struct cel_eval *ev, const struct cel_value *list, int64_t depth)
{
	struct cel_value *items;
	size_t n;

	if (depth < 0)
		return cel_errorf(ev, "level must be non-negative");
	n = flatten_into(ev, list, depth, NULL);
	items = ev->exhausted ? NULL : cel_alloc(ev, n * sizeof(*items));
	if (!items)
		return cel_too_large();
	n = flatten_into(ev, list, depth, items);
	return cel_list(ev, items, n);
}

static struct cel_value flatten(struct cel_eval *ev, const struct cel_value *args)
{
	return flatten_to(ev, &args[0], 1);
}

static struct cel_value flatten_deep(struct cel_eval *ev, const struct cel_value *args)
{
	return flatten_to(ev, &args[0], args[1].i);
}

/* --- sorting ------------------------------------------------------------------------ */

static struct cel_value *items_of(struct cel_eval *ev, const struct cel_value *list, size_t n)
{
	struct cel_value *items = cel_alloc(ev, n * sizeof(*items));

	(void)cel_work(ev, n);
	for (size_t i = 0; items && i < n; i++)
		items[i] = cel_list_at(ev, list, i);
	return items;
}

static bool is_comparable(unsigned kind)
{
	return kind == CEL_BOOL || kind == CEL_INT || kind == CEL_UINT || kind == CEL_DOUBLE ||
	       kind == CEL_STRING || kind == CEL_BYTES || kind == CEL_TIMESTAMP ||
	       kind == CEL_DURATION;
}

/* Why keys have no order; NULL: they have. */
static const char *unsortable(const struct cel_value *keys, size_t n)
{
	if (!is_comparable(keys[0].kind))
		return "list elements must be comparable";
	for (size_t i = 1; i < n; i++)
		if (keys[i].kind != keys[0].kind)
			return "list elements must have the same type";
	return NULL;
}

static bool keys_in_order(const void *keys, uint32_t a, uint32_t b)
{
	const struct cel_value *v = keys;
	int order = 0;

	return !cel_compare(&v[b], &v[a], &order) || order >= 0;
}

/* Returns the indexes of the sorted keys, or NULL if memory or the work limit is used up. */
static const uint32_t *order_of(struct cel_eval *ev, const struct cel_value *keys, size_t n)
{
	uint64_t rounds = (uint64_t)(64 - __builtin_clzll(n | 1));

	for (size_t i = 0; i < n; i++)
		if (keys[i].kind == CEL_STRING || keys[i].kind == CEL_BYTES)
			ev->work += (keys[i].s.n >> 6) * rounds;
	return cel_order(ev, n, keys_in_order, keys);
}

static struct cel_value sort_by(struct cel_eval *ev, const struct cel_value *args)
{
	size_t n = cel_list_size(&args[0]), nkeys = cel_list_size(&args[1]);
	struct cel_value *keys, *sorted;
	const uint32_t *order;
	const char *why;

	if (n != nkeys)
		return cel_errorf(ev,
				  "@sortByAssociatedKeys() expected a list of the same size as the "
				  "associated keys list, but got %zu and %zu elements respectively",
				  n, nkeys);
	if (n == 0)
		return args[0];
	keys = items_of(ev, &args[1], n);
	if (!keys || n > UINT32_MAX)
		return cel_too_large();
	why = unsortable(keys, n);
	if (why)
		return cel_errorf(ev, "%s", why);
	order = order_of(ev, keys, n);
	sorted = cel_alloc(ev, n * sizeof(*sorted));
	if (!order || !sorted)
		return cel_too_large();
	for (size_t i = 0; i < n; i++)
		sorted[i] = cel_list_at(ev, &args[0], order[i]);
	return cel_list(ev, sorted, n);
}

static struct cel_value sort(struct cel_eval *ev, const struct cel_value *args)
{
	return sort_by(ev, (struct cel_value[]){ args[0], args[0] });
}

/* --- each once ---------------------------------------------------------------------- */

static bool lists_is_among(struct cel_eval *ev, const struct cel_value *items, size_t n,
			   const struct cel_value *v)
{
	for (size_t i = 0; i < n && cel_work(ev, 1); i++)
		if (cel_equal(ev, v, &items[i]))
			return true;
	return false;
}

/* Keeps the first of equal elements. The cost is that of n * n comparisons. */
static struct cel_value distinct(struct cel_eval *ev, const struct cel_value *args)
{
	size_t n = cel_list_size(&args[0]), kept = 0;
	struct cel_value *items = cel_alloc(ev, n * sizeof(*items));

	if (!items)
		return cel_too_large();
	for (size_t i = 0; i < n && cel_work(ev, 1); i++) {
		struct cel_value v = cel_list_at(ev, &args[0], i);

		if (!lists_is_among(ev, items, kept, &v))
			items[kept++] = v;
	}
	return cel_list(ev, items, kept);
}

/* --- rows --------------------------------------------------------------------------- */

static const struct cel_type list_list_a = { .kind = CEL_TYPE_LIST,
					     .name = STR("list"),
					     .params = { &cel_list_a } };

#define LA &cel_list_a
#define SORT_BY(name, keys)                                                                      \
	{                                                                                        \
		"@sortByAssociatedKeys", "list_" name "_sortByAssociatedKeys", LA, { LA, keys }, \
			2, true, sort_by                                                         \
	}
#define SORT(name, list)                                                    \
	{                                                                   \
		"sort", "list_" name "_sort", list, { list }, 1, true, sort \
	}

/* clang-format off */
static const struct cel_overload overloads[] = {
	SORT_BY("int", &cel_list_int),
	SORT_BY("uint", &cel_list_uint),
	SORT_BY("double", &cel_list_double),
	SORT_BY("bool", &cel_list_bool),
	SORT_BY("google.protobuf.Duration", &cel_list_duration),
	SORT_BY("google.protobuf.Timestamp", &cel_list_timestamp),
	SORT_BY("string", &cel_list_string),
	SORT_BY("bytes", &cel_list_bytes),
	{ "distinct", "list_distinct", LA, { LA }, 1, true, distinct },
	{ "flatten", "list_flatten", LA, { &list_list_a }, 1, true, flatten },
	{ "flatten", "list_flatten_int", &cel_list_dyn, { &cel_list_dyn, &cel_int }, 2, true,
	  flatten_deep },
	{ "lists.range", "lists_range", &cel_list_int, { &cel_int }, 1, false, range },
	{ "reverse", "list_reverse", LA, { LA }, 1, true, reverse },
	{ "slice", "list_slice", LA, { LA, &cel_int, &cel_int }, 3, true, slice },
	SORT("int", &cel_list_int),
	SORT("uint", &cel_list_uint),
	SORT("double", &cel_list_double),
	SORT("bool", &cel_list_bool),
	SORT("google.protobuf.Duration", &cel_list_duration),
	SORT("google.protobuf.Timestamp", &cel_list_timestamp),
	SORT("string", &cel_list_string),
	SORT("bytes", &cel_list_bytes),
};
/* clang-format on */

const struct cel_library cel_lib_lists = {
	.name = "lists",
	.overloads = overloads,
	.n = ARRAY_SIZE(overloads),
	.macros = cel_macros_lists,
};
