/*
 * Estimates of the language's own operators and functions, and of cel-go's lists and sets.
 */
#include "cel/check/cost_impl.h"

struct row {
	const char *id;
	bool (*estimate)(struct cost_call *call);
};

/* --- cel-go's libraries ------------------------------------------------------------- */

/* A constant int as a size. */
static uint64_t constant(const struct cost_node *node, uint64_t otherwise)
{
	const struct cel_value *v = &node->e->constant;

	if (node->e->kind != CEL_EXPR_CONST || v->kind != CEL_INT)
		return otherwise;
	return v->i < 0 ? 0 : (uint64_t)v->i;
}

static bool new_list(struct cost_call *call, double factor, struct cost_range size)
{
	struct cost_range cost = range_factor(size, factor);

	return cost_answer_sized(call, range_add(cost, COST_FIXED(1 + CEL_COST_LIST)), size);
}

/* The difference wraps around if the end is before the start, as upstream. */
static bool list_slice(struct cost_call *call)
{
	uint64_t from, to;

	if (!call->target || call->nargs != 2)
		return false;
	from = constant(&call->args[0], 0);
	to = constant(&call->args[1], node_size(call->target).max);
	return new_list(call, 1, COST_FIXED(to - from));
}

static bool lists_range(struct cost_call *call)
{
	if (call->target || call->nargs != 1)
		return false;
	return new_list(call, 1, COST_FIXED(constant(&call->args[0], UINT64_MAX)));
}

static bool list_reverse(struct cost_call *call)
{
	return call->target && new_list(call, 1, node_size(call->target));
}

static bool list_flatten(struct cost_call *call)
{
	uint64_t depth = call->nargs ? constant(&call->args[0], UINT64_MAX) : 1;

	return call->target && new_list(call, (double)depth, node_size(call->target));
}

static bool all_pairs(struct cost_call *call, struct cost_range size, double factor)
{
	return new_list(call, factor, range_multiply(size, size));
}

static bool list_distinct(struct cost_call *call)
{
	return call->target && all_pairs(call, node_size(call->target), 2);
}

static bool of_text(const char *id)
{
	return strncmp(id, "list_string", 11) == 0 || strncmp(id, "list_bytes", 10) == 0;
}

static bool sets(struct cost_call *call, double factor)
{
	struct cost_range pairs;

	if (call->nargs != 2)
		return false;
	pairs = range_multiply(node_size(&call->args[0]), node_size(&call->args[1]));
	return cost_answer(call, range_add(range_factor(pairs, factor), COST_FIXED(1)));
}

static bool sets_once(struct cost_call *call)
{
	return sets(call, 1);
}

static bool sets_twice(struct cost_call *call)
{
	return sets(call, 2);
}

static const struct row extensions[] = {
	{ "list_distinct", list_distinct },
	{ "list_flatten", list_flatten },
	{ "list_flatten_int", list_flatten },
	{ "list_reverse", list_reverse },
	{ "list_sets_contains_list", sets_once },
	{ "list_sets_equivalent_list", sets_twice },
	{ "list_sets_intersects_list", sets_once },
	{ "list_slice", list_slice },
	{ "lists_range", lists_range },
};

static const struct row *cost_standard_find(const struct row *rows, size_t n, const char *id)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(rows[i].id, id) == 0)
			return &rows[i];
	}
	return NULL;
}

bool cost_estimate_extension(struct cost_call *call)
{
	const struct row *row = cost_standard_find(extensions, ARRAY_SIZE(extensions), call->id);
	struct str id = str_from(call->id);
	const struct cost_node *keys = NULL;

	if (row)
		return row->estimate(call);
	if (!str_starts(id, STR("list_")) || !call->target)
		return false;
	if (str_ends(id, STR("_sort")))
		keys = call->target;
	else if (str_ends(id, STR("_sortByAssociatedKeys")) && call->nargs == 1)
		keys = &call->args[0];
	return keys && all_pairs(call, node_size(keys), of_text(call->id) ? 2.1 : 2);
}

/* --- the language ------------------------------------------------------------------- */

static struct cost_range read_cost(struct cost_range size)
{
	return range_factor(size, COST_PER_CHARACTER);
}

static bool format(struct cost_call *call)
{
	return call->target && cost_answer(call, read_cost(node_size(call->target)));
}

/* A character has up to four bytes. */
static bool to_bytes(struct cost_call *call)
{
	struct cost_range size = node_size(&call->args[0]);
	struct cost_range bytes = { size.min, size.max * 4 };

	return cost_answer_sized(call, read_cost(size), bytes);
}

static bool to_string(struct cost_call *call)
{
	struct cost_range size = node_size(&call->args[0]);
	struct cost_range characters = { size.min / 4, size.max };

	return cost_answer_sized(call, read_cost(size), characters);
}

/* Each character may be escaped. */
static bool quote(struct cost_call *call)
{
	struct cost_range size = node_size(&call->args[0]);
	struct cost_range quoted = { size.min + 2, size.max * 2 + 2 };

	return cost_answer_sized(call, read_cost(size), quoted);
}

static bool affix(struct cost_call *call)
{
	return call->nargs == 1 && cost_answer(call, read_cost(node_size(&call->args[0])));
}

static bool in_list(struct cost_call *call)
{
	return call->nargs == 2 && cost_answer(call, range_factor(node_size(&call->args[1]), 1));
}

static bool match(struct cost_call *call, const struct cost_node *text,
		  const struct cost_node *pattern)
{
	struct cost_range of_text = read_cost(range_add(node_size(text), COST_FIXED(1)));

	return cost_answer(
		call, range_multiply(of_text, range_factor(node_size(pattern), COST_PER_PATTERN)));
}

static bool matches(struct cost_call *call)
{
	if (call->target)
		return call->nargs == 1 && match(call, call->target, &call->args[0]);
	return call->nargs == 2 && match(call, &call->args[0], &call->args[1]);
}

static bool contains(struct cost_call *call)
{
	if (!call->target || call->nargs != 1)
		return false;
	return cost_answer(call, range_multiply(read_cost(node_size(call->target)),
						read_cost(node_size(&call->args[0]))));
}

/* The second may not be looked at. */
static bool logical(struct cost_call *call)
{
	call->cost = (struct cost_range){ call->args[0].cost.min, call->arguments.max };
	return true;
}

static void join_entries(struct cost_call *call, const struct cost_node *a,
			 const struct cost_node *b)
{
	call->has_entry = a->has_entry && b->has_entry;
	if (!call->has_entry)
		return;
	call->entry.container = a->entry.container;
	call->entry.key = range_union(a->entry.key, b->entry.key);
	call->entry.value = range_union(a->entry.value, b->entry.value);
}

static bool conditional(struct cost_call *call)
{
	const struct cost_node *yes = &call->args[1], *no = &call->args[2];

	join_entries(call, yes, no);
	call->size = range_union(node_size(yes), node_size(no));
	call->has_size = true;
	call->cost = range_add(call->args[0].cost, range_union(yes->cost, no->cost));
	return true;
}

static bool cost_standard_add_text(struct cost_call *call)
{
	struct cost_range size = range_add(node_size(&call->args[0]), node_size(&call->args[1]));

	join_entries(call, &call->args[0], &call->args[1]);
	return cost_answer_sized(call, read_cost(size), size);
}

static bool cost_standard_add_list(struct cost_call *call)
{
	struct cost_range size = range_add(node_size(&call->args[0]), node_size(&call->args[1]));

	join_entries(call, &call->args[0], &call->args[1]);
	return cost_answer_sized(call, COST_FIXED(1), size);
}

/* As far as the shorter one goes. */
static bool cost_standard_compare(struct cost_call *call)
{
	uint64_t most = MIN(node_size(&call->args[0]).max, node_size(&call->args[1]).max);
	struct cost_range size = { most > 0, most };

	return cost_answer(call, read_cost(size));
}

static const struct row standard[] = {
	{ "add_bytes", cost_standard_add_text },
	{ "add_list", cost_standard_add_list },
	{ "add_string", cost_standard_add_text },
	{ "bytes_to_string", to_string },
	{ "conditional", conditional },
	{ "contains_string", contains },
	{ "ends_with_string", affix },
	{ "equals", cost_standard_compare },
	{ "greater_bytes", cost_standard_compare },
	{ "greater_equals_bytes", cost_standard_compare },
	{ "greater_equals_string", cost_standard_compare },
	{ "greater_string", cost_standard_compare },
	{ "in_list", in_list },
	{ "less_bytes", cost_standard_compare },
	{ "less_equals_bytes", cost_standard_compare },
	{ "less_equals_string", cost_standard_compare },
	{ "less_string", cost_standard_compare },
	{ "logical_and", logical },
	{ "logical_or", logical },
	{ "matches", matches },
	{ "matches_string", matches },
	{ "not_equals", cost_standard_compare },
	{ "starts_with_string", affix },
	{ "string_format", format },
	{ "string_to_bytes", to_bytes },
	{ "strings_quote", quote },
};

void cost_estimate_standard(struct cost_call *call)
{
	const struct row *row = cost_standard_find(standard, ARRAY_SIZE(standard), call->id);

	if (!row || !row->estimate(call))
		(void)cost_answer(call, COST_FIXED(1));
}
