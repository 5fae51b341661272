/*
 * Finds the slices that a node can reach. Slices that name one node form a ring, of which a map has
 * the first by the node's name. All others are in one list. Both are kept in the order in which
 * pools are returned, so that a call visits each slice once and only sorts after a change.
 *
 * A sound pool needs no further check. Otherwise it depends on the node: see inventory_checks().
 */
#include "dra/inventory/store.h"

/* --- the index ---------------------------------------------------------------------- */

static int slice_order(const struct inventory_slice *a, const struct inventory_slice *b)
{
	int c = a->pool == b->pool ? 0 : str_cmp(a->pool->driver, b->pool->driver);

	if (c == 0 && a->pool != b->pool)
		c = str_cmp(a->pool->name, b->pool->name);
	return c ? c : str_cmp(a->name, b->name);
}

static int by_order(const void *a, const void *b)
{
	return slice_order(*(struct inventory_slice *const *)a,
			   *(struct inventory_slice *const *)b);
}

static struct inventory_slice *local_of(struct list *l)
{
	return LIST_ENTRY(l, struct inventory_slice, local);
}

/* Returns the next slice that names the same node, or NULL. */
static struct inventory_slice *local_next(const struct inventory_slice *first,
					  const struct inventory_slice *slice)
{
	struct inventory_slice *next = local_of(slice->local.next);

	return next == first ? NULL : next;
}

static size_t local_count(const struct inventory_slice *first)
{
	size_t n = 0;

	for (const struct inventory_slice *s = first; s; s = local_next(first, s))
		n++;
	return n;
}

static void add_local(struct inventory *inv, struct inventory_slice *slice)
{
	struct inventory_slice *first = map_get(&inv->nodes, slice->nodes.name);
	struct list *before;

	slice->at = 0;
	if (!first || slice_order(slice, first) < 0) {
		if (first)
			list_push_back(&first->local, &slice->local);
		map_put(&inv->nodes, slice->nodes.name, slice);
		return;
	}
	before = first->local.prev;
	while (slice_order(local_of(before), slice) > 0)
		before = before->prev;
	list_insert_after(before, &slice->local);
}

static void remove_local(struct inventory *inv, struct inventory_slice *slice)
{
	struct inventory_slice *first = map_get(&inv->nodes, slice->nodes.name);
	struct inventory_slice *next = local_next(first, slice);

	if (slice == first && next)
		map_put(&inv->nodes, next->nodes.name, next);
	else if (slice == first)
		map_remove(&inv->nodes, slice->nodes.name);
	list_remove(&slice->local);
}

void inventory_index_add(struct inventory *inv, struct inventory_slice *slice)
{
	if (slice->at != SIZE_MAX || slice->nodes.kind == INVENTORY_NODES_NONE)
		return;
	if (slice->nodes.kind == INVENTORY_NODES_NAME) {
		add_local(inv, slice);
		return;
	}
	inventory_choices_add(inv, slice);
	vec_push(&inv->wide, slice);
	slice->at = inv->wide.n - 1;
	inv->wide_unsorted = true;
}

void inventory_index_remove(struct inventory *inv, struct inventory_slice *slice)
{
	if (slice->at == SIZE_MAX)
		return;
	if (slice->nodes.kind == INVENTORY_NODES_NAME) {
		remove_local(inv, slice);
	} else {
		inventory_choices_remove(inv, slice);
		vec_remove_swap(&inv->wide, slice->at);
		if (slice->at < inv->wide.n)
			inv->wide.v[slice->at]->at = slice->at;
		inv->wide_unsorted = true;
	}
	slice->at = SIZE_MAX;
}

static void sort_wide(struct inventory *inv)
{
	if (!inv->wide_unsorted)
		return;
	if (inv->wide.n > 0)
		qsort(inv->wide.v, inv->wide.n, sizeof(*inv->wide.v), by_order);
	for (size_t i = 0; i < inv->wide.n; i++)
		inv->wide.v[i]->at = i;
	inv->wide_unsorted = false;
}

void inventory_index_release(struct inventory *inv)
{
	map_release(&inv->nodes);
	vec_release(&inv->wide);
}

size_t inventory_index_bytes(const struct inventory *inv)
{
	return inv->wide.cap * sizeof(*inv->wide.v);
}

/* --- nodes -------------------------------------------------------------------------- */

bool inventory_nodes_match(const struct inventory_nodes *nodes, const struct inventory_node *node)
{
	switch (nodes->kind) {
	case INVENTORY_NODES_NAME:
		return str_eq(nodes->name, node->name);
	case INVENTORY_NODES_ALL:
		return true;
	case INVENTORY_NODES_SELECTOR:
		return node_selector_matches(nodes->selector, node->name, node->labels);
	default:
		return false;
	}
}

static bool slice_applies(const struct inventory_slice *s, const struct inventory_node *node)
{
	if (s->nodes.kind != INVENTORY_NODES_PER_DEVICE)
		return inventory_nodes_match(&s->nodes, node);
	for (size_t i = 0; i < s->ndevices; i++)
		if (inventory_nodes_match(s->devices[i].nodes, node))
			return true;
	return false;
}

/* Returns the slices that apply to the node, merged from two sorted lists. */
static size_t nodes_gather(struct inventory *inv, const struct inventory_node *node,
			   struct arena *a, struct inventory_slice ***ret_slices)
{
	struct inventory_slice *first = map_get(&inv->nodes, node->name), *local = first;
	struct inventory_slice **out;
	size_t n = 0, k = 0;

	out = ARENA_ARRAY(a, struct inventory_slice *, local_count(first) + inv->wide.n);
	*ret_slices = out;
	while (local || k < inv->wide.n) {
		if (k == inv->wide.n || (local && slice_order(local, inv->wide.v[k]) < 0)) {
			out[n++] = local;
			local = local_next(first, local);
		} else if (slice_applies(inv->wide.v[k], node)) {
			out[n++] = inv->wide.v[k++];
		} else {
			k++;
		}
	}
	return n;
}

/* Whether the slice, which is not tied to one node, or its pool depends on the node. */
static bool depends_on_node(const struct inventory *inv, const struct inventory_slice *s,
			    struct str node)
{
	if (!s->pool->sound || inventory_only_node(inv, &s->nodes, node))
		return true;
	for (size_t i = 0; s->nodes.kind == INVENTORY_NODES_PER_DEVICE && i < s->ndevices; i++)
		if (inventory_device_on_node(&s->devices[i], node) ||
		    inventory_only_node(inv, s->devices[i].nodes, node))
			return true;
	return false;
}

size_t inventory_node_slices(struct inventory *inv, struct str node, struct arena *a,
			     struct inventory_slice ***ret_slices)
{
	struct inventory_slice *first;
	size_t n = 0;

	inventory_settle(inv);
	first = map_get(&inv->nodes, node);
	*ret_slices = ARENA_ARRAY(a, struct inventory_slice *, local_count(first) + inv->wide.n);
	for (struct inventory_slice *s = first; s; s = local_next(first, s))
		(*ret_slices)[n++] = s;
	for (size_t i = 0; i < inv->wide.n; i++)
		if (depends_on_node(inv, inv->wide.v[i], node))
			(*ret_slices)[n++] = inv->wide.v[i];
	return n;
}

/*
 * Lists nodes that do not exist but are named by devices of slices with perDeviceNodeSelection. If
 * `out` is NULL, only counts them.
 */
static size_t gone_per_device(const struct inventory *inv, struct str *out)
{
	size_t n = 0;

	for (size_t i = 0; i < inv->wide.n; i++) {
		const struct inventory_slice *s = inv->wide.v[i];

		if (s->nodes.kind != INVENTORY_NODES_PER_DEVICE)
			continue;
		for (size_t k = 0; k < s->ndevices; k++) {
			if (!inventory_nodes_gone(inv, s->devices[k].nodes))
				continue;
			if (out)
				out[n] = s->devices[k].nodes->name;
			n++;
		}
	}
	return n;
}

size_t inventory_gone_nodes(struct inventory *inv, struct arena *a, struct str **ret_names)
{
	size_t n, at = 0, kept = 0;
	struct str name, *names;
	void *value;

	inventory_settle(inv);
	names = ARENA_ARRAY(a, struct str, inv->nodes.n + gone_per_device(inv, NULL));
	n = gone_per_device(inv, names);
	while (inv->nodes_known && map_next(&inv->nodes, &at, &name, &value))
		if (!map_get(&inv->existing, name) && !map_get(&inv->lost, name))
			names[n++] = name;
	if (n > 0)
		qsort(names, n, sizeof(*names), str_order);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || !str_eq(names[i], names[kept - 1]))
			names[kept++] = names[i];
	*ret_names = names;
	return kept;
}

const struct inventory_slice *inventory_only_slice(struct inventory *inv, struct str node)
{
	const struct inventory_slice *first;

	inventory_settle(inv);
	first = inv->wide.n == 0 ? map_get(&inv->nodes, node) : NULL;
	return first && !local_next(first, first) && first->sound ? first : NULL;
}

/* --- pools -------------------------------------------------------------------------- */

/* Finds faults if the node sees only some slices of the pool. */
static struct str fault_of_some(struct inventory_slice **seen, size_t n, struct arena *a)
{
	uint32_t ncounters;
	struct inventory_counter *counters = inventory_counters(seen, n, &ncounters);
	struct str fault = inventory_counter_fault(seen, n, counters, ncounters, a);

	free(counters);
	return fault;
}

struct inventory_checks inventory_checks(const struct inventory *inv,
					 const struct inventory_slice *first, size_t n)
{
	const struct inventory_pool *pool = first->pool;
	bool counters = inv->features.partitionable, whole;

	if (first->sound)
		return (struct inventory_checks){ 0 };
	whole = (int64_t)pool->observed == first->expected;
	if (!whole && (int64_t)n != first->expected)
		return (struct inventory_checks){ .incomplete = true };
	return (struct inventory_checks){ .names = pool->name_fault,
					  .pool_counters = counters && whole,
					  .seen_counters = counters && !whole };
}

static struct str fault_for(const struct inventory_checks *checks,
			    const struct inventory_pool *pool, struct inventory_slice **seen,
			    size_t n, struct arena *a)
{
	struct str fault = STR("");

	if (checks->names)
		fault = inventory_name_fault(seen, n, a);
	if (fault.n == 0 && checks->pool_counters)
		fault = str_from(pool->counter_fault);
	if (fault.n == 0 && checks->seen_counters)
		fault = fault_of_some(seen, n, a);
	return fault;
}

/* Decides whether the pool is complete and valid for a node that sees these n slices. */
static void nodes_judge(const struct inventory *inv, struct inventory_node_pool *np,
			struct inventory_slice **seen, size_t n, struct arena *a)
{
	const struct inventory_checks checks = inventory_checks(inv, seen[0], n);

	np->incomplete = checks.incomplete;
	np->invalid_reason = fault_for(&checks, np->pool, seen, n, a);
	np->invalid = np->invalid_reason.n > 0;
	if (np->incomplete || np->invalid)
		return;
	np->slices = seen;
	for (size_t i = 0; i < n; i++) {
		np->binding |= seen[i]->binding;
		/* Skip slices without devices, which only have counters. */
		if (seen[i]->ndevices > 0)
			seen[np->n++] = seen[i];
	}
}

/* Moves pools with binding conditions to the end; otherwise keeps the order. */
static void binding_last(struct inventory_node_pool *pools, size_t n, struct arena *a)
{
	struct inventory_node_pool *late = NULL;
	size_t nlate = 0, kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (!pools[i].binding) {
			pools[kept++] = pools[i];
			continue;
		}
		if (!late)
			late = ARENA_ARRAY(a, struct inventory_node_pool, n);
		late[nlate++] = pools[i];
	}
	for (size_t i = 0; i < nlate; i++)
		pools[kept + i] = late[i];
}

size_t inventory_node_pools(struct inventory *inv, const struct inventory_node *node,
			    struct arena *a, struct inventory_node_pool **ret_pools)
{
	struct inventory_node_pool *pools;
	struct inventory_slice **slices;
	size_t n, npools = 0;

	inventory_settle(inv);
	inventory_programs_trim(inv);
	sort_wide(inv);
	n = nodes_gather(inv, node, a, &slices);
	for (size_t i = 0; i < n; i++)
		npools += i == 0 || slices[i]->pool != slices[i - 1]->pool;
	pools = ARENA_ARRAY(a, struct inventory_node_pool, npools);
	npools = 0;
	for (size_t i = 0, end; i < n; i = end) {
		struct inventory_node_pool *np = &pools[npools++];

		for (end = i + 1; end < n && slices[end]->pool == slices[i]->pool;)
			end++;
		*np = (struct inventory_node_pool){ .pool = slices[i]->pool };
		nodes_judge(inv, np, &slices[i], end - i, a);
	}
	binding_last(pools, npools, a);
	*ret_pools = pools;
	return npools;
}
