/*
 * Decides for all nodes at once which of them can use a pool with a fault.
 *
 * Slices that every node sees are added once to a ledger of names and counters. Then the slices of
 * each node are added, checked and removed again. So each slice is visited once, and a slice with
 * perDeviceNodeSelection once for each node that its devices name. Nodes that no slice names, and
 * that are selected by the same node selectors, are judged together. Names and counters are
 * replaced by numbers for this. inventory_checks() decides which faults count, here and in
 * inventory/nodes.c, which looks for them from one node and words them. device_state_test.c
 * compares the two.
 */
#include <assert.h>

#include "base/core/mem.h"
#include "dra/inventory/store.h"

/* A slice, in a list of those that the same nodes see; the last one first. */
struct own {
	uint32_t slice; /* index in pool->slices */
	struct own *next;
};

/* The slices, or slices of devices, with the same node selector. */
struct choice_group {
	const struct inventory_choice *choice;
	struct own *slices; /* only used while verdicts are computed */
	uint64_t version; /* of the choice when verdicts were computed */
	uint32_t number; /* from 1 */
	bool usable; /* from some existing node that the selector matches */
	struct choice_group *next;
};

/* One of the selectors that match a node. */
struct choice_match {
	struct choice_group *group;
	struct choice_match *next;
};

/* A node that some slice or device names or selects. */
struct verdict {
	struct str name;
	/* Only used while verdicts are computed: */
	struct own *slices; /* those that name the node */
	struct choice_match *matches;
	size_t nmatches;

	bool usable;
};

struct inventory_verdicts {
	struct arena arena;
	struct map by_node; /* name -> struct verdict */
	struct map by_selector; /* text -> struct choice_group */
	struct choice_group *groups; /* all of `by_selector` */
	uint64_t matches_version; /* of the inventory when the groups were last found up to date */
	bool other; /* usable from a node that no slice or device names or selects */
	bool any; /* usable from some node that exists, as of: */
	uint64_t nodes_version;
};

/* Counts of everything in the slices that were added so far. */
struct ledger {
	const struct inventory_pool *pool;
	/* By slice: index of its first device and first counter in the lists below. */
	uint32_t *devices_at, *counters_at;
	uint32_t *names; /* by device: number of its name */
	uint32_t
		/* By counter of a slice: index in pool->counters; the first of equal ones. */
		*provided;
	uint32_t *set_of; /* by counter of the pool: the first counter of its set */

	uint32_t *named; /* by name: number of devices */
	/* By counter: number of devices that consume it, of slices that have it. */
	uint32_t *wanted, *offered;
	/* By set: number of slices that have it; last call that counted it. */
	uint32_t *sets, *stamps;
	uint32_t calls;
	size_t doubles, missing, double_sets, unknown; /* faults */
};

/* --- the ledger --------------------------------------------------------------------- */

static void number_names(struct ledger *l, struct arena *a)
{
	const struct inventory_pool *pool = l->pool;
	uint32_t *numbers = ARENA_ARRAY(a, uint32_t, pool->ndevices);
	uint32_t at = 0;
	struct map seen;

	map_init(&seen);
	map_reserve(&seen, pool->ndevices);
	for (uint32_t i = 0; i < pool->nslices; i++) {
		l->devices_at[i] = at;
		for (uint32_t k = 0; k < pool->slices[i]->ndevices; k++, at++) {
			struct str name = pool->slices[i]->devices[k].name;
			uint32_t *known = map_get(&seen, name);

			numbers[at] = known ? *known : at;
			if (!known)
				(void)map_put(&seen, name, &numbers[at]);
		}
	}
	map_release(&seen);
	l->names = numbers;
	l->named = ARENA_ARRAY(a, uint32_t, at);
}

static void number_counters(struct ledger *l, struct arena *a)
{
	const struct inventory_pool *pool = l->pool;
	uint32_t at = 0;

	l->provided = ARENA_ARRAY(a, uint32_t, pool->ncounters);
	for (uint32_t i = 0; i < pool->nslices; i++) {
		const struct inventory_slice *s = pool->slices[i];

		l->counters_at[i] = at;
		for (uint32_t k = 0; k < s->ncounters; k++)
			l->provided[at++] = inventory_counter_find(
				pool->counters, pool->ncounters,
				&(struct inventory_consumption){ .set = s->counters[k].set,
								 .counter = s->counters[k].name });
	}
	l->set_of = ARENA_ARRAY(a, uint32_t, pool->ncounters);
	for (uint32_t i = 0; i < pool->ncounters; i++)
		l->set_of[i] = i > 0 && str_eq(pool->counters[i - 1].set, pool->counters[i].set)
				       ? l->set_of[i - 1]
				       : i;
}

static void ledger_init(struct ledger *l, const struct inventory_pool *pool, struct arena *a)
{
	*l = (struct ledger){ .pool = pool };
	l->devices_at = ARENA_ARRAY(a, uint32_t, pool->nslices);
	l->counters_at = ARENA_ARRAY(a, uint32_t, pool->nslices);
	number_names(l, a);
	number_counters(l, a);
	l->wanted = ARENA_ARRAY(a, uint32_t, pool->ncounters);
	l->offered = ARENA_ARRAY(a, uint32_t, pool->ncounters);
	l->sets = ARENA_ARRAY(a, uint32_t, pool->ncounters);
	l->stamps = ARENA_ARRAY(a, uint32_t, pool->ncounters);
}

/* Counts up or down, and keeps track of how many counts are above one. */
static void verdict_count(uint32_t *n, int sign, size_t *above_one)
{
	*above_one -= *n > 1;
	*n += (uint32_t)sign;
	*above_one += *n > 1;
}

static void count_counter(struct ledger *l, uint32_t counter, int wanted, int offered)
{
	l->missing -= l->wanted[counter] && !l->offered[counter];
	l->wanted[counter] += (uint32_t)wanted;
	l->offered[counter] += (uint32_t)offered;
	l->missing += l->wanted[counter] && !l->offered[counter];
}

static void count_device(struct ledger *l, const struct inventory_device *d, int sign)
{
	for (size_t i = 0; i < d->ncounters; i++) {
		if (d->counters[i].index == UINT32_MAX)
			l->unknown += (size_t)sign;
		else
			count_counter(l, d->counters[i].index, sign, 0);
	}
}

/* Adds a slice to the ledger, or removes it. */
static void count_slice(struct ledger *l, uint32_t slice, int sign)
{
	const struct inventory_slice *s = l->pool->slices[slice];

	l->calls++;
	for (uint32_t i = 0; i < s->ndevices; i++) {
		verdict_count(&l->named[l->names[l->devices_at[slice] + i]], sign, &l->doubles);
		count_device(l, &s->devices[i], sign);
	}
	for (uint32_t i = 0; i < s->ncounters; i++) {
		uint32_t counter = l->provided[l->counters_at[slice] + i];
		uint32_t set = l->set_of[counter];

		count_counter(l, counter, 0, sign);
		if (l->stamps[set] != l->calls)
			verdict_count(&l->sets[set], sign, &l->double_sets);
		l->stamps[set] = l->calls;
	}
}

/* --- who sees what ------------------------------------------------------------------ */

struct making {
	const struct inventory *inv;
	struct inventory_pool *pool;
	struct inventory_verdicts *verdicts;
	struct own *everybody; /* slices that all nodes see */
	uint32_t neverybody, first; /* their number, and the first of them */
	/* The slices of the node that is judged; by slice, the last node that has it. */
	uint32_t *seen, *stamps;
	uint32_t nseen, judged;
	struct map alike; /* selectors that match a node -> the first such verdict */
	struct arena work;
	struct ledger ledger;
};

static void see(struct making *m, struct own **list, uint32_t slice)
{
	struct own *own;

	/* Several devices of one slice may have the same nodes. */
	if (*list && (*list)->slice == slice)
		return;
	own = ARENA_NEW(&m->work, struct own);
	own->slice = slice;
	own->next = *list;
	*list = own;
}

static struct verdict *verdict_of(struct making *m, struct str node)
{
	struct verdict *v = map_get(&m->verdicts->by_node, node);

	if (v)
		return v;
	v = ARENA_NEW(&m->verdicts->arena, struct verdict);
	/* A node that a selector matches may be removed. */
	v->name = arena_str(&m->verdicts->arena, node);
	(void)map_put(&m->verdicts->by_node, v->name, v);
	return v;
}

static struct choice_group *group_of(struct making *m, const struct inventory_nodes *nodes)
{
	struct inventory_verdicts *v = m->verdicts;
	struct choice_group *g = map_get(&v->by_selector, nodes->selector_text);

	if (g)
		return g;
	g = ARENA_NEW(&v->arena, struct choice_group);
	g->choice = inventory_choice(m->inv, nodes);
	g->version = g->choice->version;
	g->number = v->groups ? v->groups->number + 1 : 1;
	g->next = v->groups;
	v->groups = g;
	(void)map_put(&v->by_selector, g->choice->text, g);
	return g;
}

static void see_from(struct making *m, const struct inventory_nodes *nodes, uint32_t slice)
{
	if (nodes->kind == INVENTORY_NODES_NAME)
		see(m, &verdict_of(m, nodes->name)->slices, slice);
	else if (nodes->kind == INVENTORY_NODES_SELECTOR)
		see(m, &group_of(m, nodes)->slices, slice);
}

static bool is_common(const struct inventory_slice *s)
{
	bool common = s->nodes.kind == INVENTORY_NODES_ALL;

	for (uint32_t i = 0; s->nodes.kind == INVENTORY_NODES_PER_DEVICE && i < s->ndevices; i++)
		common |= s->devices[i].nodes->kind == INVENTORY_NODES_ALL;
	return common;
}

/* inventory_pool_usable() looks for the selectors of all devices. */
static void need_groups(struct making *m, const struct inventory_slice *s)
{
	for (uint32_t i = 0; s->nodes.kind == INVENTORY_NODES_PER_DEVICE && i < s->ndevices; i++)
		if (s->devices[i].nodes->kind == INVENTORY_NODES_SELECTOR)
			(void)group_of(m, s->devices[i].nodes);
}

static void see_by_everybody(struct making *m, uint32_t slice)
{
	see(m, &m->everybody, slice);
	if (m->neverybody++ == 0)
		m->first = slice;
}

/* Adds a slice to everybody's slices, or to those of the nodes that it or its devices have. */
static void see_slice(struct making *m, uint32_t slice)
{
	const struct inventory_slice *s = m->pool->slices[slice];

	if (s->ignored)
		return;
	if (is_common(s)) {
		see_by_everybody(m, slice);
		need_groups(m, s);
		return;
	}
	see_from(m, &s->nodes, slice);
	for (uint32_t i = 0; s->nodes.kind == INVENTORY_NODES_PER_DEVICE && i < s->ndevices; i++)
		see_from(m, s->devices[i].nodes, slice);
}

/* Notes for each node which selectors match it. */
static void match_group(struct making *m, struct choice_group *g)
{
	struct str name;
	size_t at = 0;
	void *value;

	while (map_next(&g->choice->matched, &at, &name, &value)) {
		struct verdict *v = verdict_of(m, name);
		struct choice_match *match = ARENA_NEW(&m->work, struct choice_match);

		match->group = g;
		match->next = v->matches;
		v->matches = match;
		v->nmatches++;
	}
}

/* --- verdicts ----------------------------------------------------------------------- */

static void count_list(struct making *m, const struct own *list, int sign)
{
	for (const struct own *it = list; it; it = it->next)
		count_slice(&m->ledger, it->slice, sign);
}

static void count_seen(struct making *m, int sign)
{
	for (uint32_t i = 0; i < m->nseen; i++)
		count_slice(&m->ledger, m->seen[i], sign);
}

/* Whether the slices in the ledger have one of the faults. */
static bool has_fault(const struct making *m, const struct inventory_checks *checks)
{
	const struct ledger *l = &m->ledger;

	return (checks->names && l->doubles) || (checks->pool_counters && m->pool->counter_fault) ||
	       (checks->seen_counters && (l->double_sets || l->missing || l->unknown));
}

/* The same slice may name a node and select it, for different devices. */
static void add_seen(struct making *m, const struct own *list)
{
	for (const struct own *it = list; it; it = it->next) {
		if (m->stamps[it->slice] == m->judged)
			continue;
		m->stamps[it->slice] = m->judged;
		m->seen[m->nseen++] = it->slice;
	}
}

/* Returns the number of slices that the node sees. */
static uint32_t collect_seen(struct making *m, const struct verdict *v, uint32_t *ret_first)
{
	m->judged++;
	m->nseen = 0;
	add_seen(m, v->slices);
	for (const struct choice_match *it = v->matches; it; it = it->next)
		add_seen(m, it->group->slices);
	*ret_first = m->neverybody ? m->first : UINT32_MAX;
	for (uint32_t i = 0; i < m->nseen; i++)
		*ret_first = MIN(*ret_first, m->seen[i]);
	return m->neverybody + m->nseen;
}

/* Whether the pool is usable for a node that sees its own slices and those that everybody sees. */
static bool verdict_judge(struct making *m, const struct verdict *v)
{
	struct inventory_checks checks;
	uint32_t first, n = collect_seen(m, v, &first);
	bool fault;

	if (n == 0)
		return false;
	checks = inventory_checks(m->inv, m->pool->slices[first], n);
	if (checks.incomplete)
		return false;
	count_seen(m, 1);
	fault = has_fault(m, &checks);
	count_seen(m, -1);
	return !fault;
}

/* As verdict_judge(); nodes with the same selectors, and without own slices, are judged once. */
static bool judge_alike(struct making *m, struct verdict *v)
{
	const struct verdict *known;
	struct str key;
	uint32_t *numbers;
	size_t n = 0;

	if (v->slices)
		return verdict_judge(m, v);
	numbers = ARENA_ARRAY(&m->work, uint32_t, v->nmatches);
	for (const struct choice_match *it = v->matches; it; it = it->next)
		numbers[n++] = it->group->number;
	key = str_of((const char *)numbers, n * sizeof(*numbers));
	known = map_get(&m->alike, key);
	if (known)
		return known->usable;
	(void)map_put(&m->alike, key, v);
	return verdict_judge(m, v);
}

/* Groups learn the verdict; the lists end with the work's memory. */
static void forget_work(struct verdict *v)
{
	for (struct choice_match *it = v->matches; it; it = it->next)
		it->group->usable |= v->usable;
	v->slices = NULL;
	v->matches = NULL;
}

static void judge_all(struct making *m)
{
	struct verdict nobody = { .slices = NULL };
	struct str name;
	size_t at = 0;
	void *value;

	count_list(m, m->everybody, 1);
	m->verdicts->other = verdict_judge(m, &nobody);
	while (map_next(&m->verdicts->by_node, &at, &name, &value))
		((struct verdict *)value)->usable = judge_alike(m, value);
	at = 0;
	while (map_next(&m->verdicts->by_node, &at, &name, &value))
		forget_work(value);
	for (struct choice_group *g = m->verdicts->groups; g; g = g->next)
		g->slices = NULL;
}

static void making_init(struct making *m, const struct inventory *inv, struct inventory_pool *pool)
{
	*m = (struct making){ .inv = inv,
			      .pool = pool,
			      .verdicts = XNEW(struct inventory_verdicts) };
	arena_init(&m->verdicts->arena, SIZE_MAX);
	map_init(&m->verdicts->by_node);
	map_init(&m->verdicts->by_selector);
	m->verdicts->nodes_version = UINT64_MAX;
	m->verdicts->matches_version = inv->matches_version;
	map_init(&m->alike);
	arena_init(&m->work, SIZE_MAX);
	m->seen = ARENA_ARRAY(&m->work, uint32_t, pool->nslices);
	m->stamps = ARENA_ARRAY(&m->work, uint32_t, pool->nslices);
}

static struct inventory_verdicts *verdict_make(const struct inventory *inv,
					       struct inventory_pool *pool)
{
	struct making m;

	making_init(&m, inv, pool);
	for (uint32_t i = 0; i < pool->nslices; i++)
		see_slice(&m, i);
	for (struct choice_group *g = m.verdicts->groups; g; g = g->next)
		match_group(&m, g);
	ledger_init(&m.ledger, pool, &m.work);
	judge_all(&m);
	map_release(&m.alike);
	arena_release(&m.work);
	return m.verdicts;
}

size_t inventory_verdicts_bytes(const struct inventory_verdicts *v)
{
	return v ? sizeof(*v) + v->by_node.n * sizeof(struct verdict) +
			       v->by_selector.n * sizeof(struct choice_group)
		 : 0;
}

void inventory_verdicts_free(struct inventory_verdicts *v)
{
	if (!v)
		return;
	map_release(&v->by_node);
	map_release(&v->by_selector);
	arena_release(&v->arena);
	free(v);
}

/* --- asking ------------------------------------------------------------------------- */

static bool usable_from_any(const struct inventory *inv, struct inventory_verdicts *v)
{
	size_t at = 0, existing = 0;
	bool usable = false;
	struct str name;
	void *value;

	if (v->nodes_version == inv->nodes_version)
		return v->any;
	while (map_next(&v->by_node, &at, &name, &value)) {
		bool exists = !inv->nodes_known || map_get(&inv->existing, name);

		existing += exists;
		usable |= exists && ((struct verdict *)value)->usable;
	}
	/* In a cluster without nodes, the first one is expected. */
	v->any = usable || (v->other && (!inv->nodes_known || inv->existing.n == 0 ||
					 inv->existing.n > existing));
	v->nodes_version = inv->nodes_version;
	return v->any;
}

/* Whether the selectors of the pool still match the same nodes. */
static bool is_up_to_date(const struct inventory *inv, struct inventory_verdicts *v)
{
	if (v->matches_version == inv->matches_version)
		return true;
	for (const struct choice_group *g = v->groups; g; g = g->next)
		if (g->version != g->choice->version)
			return false;
	v->matches_version = inv->matches_version;
	return true;
}

/* Returns the verdicts of a pool with a fault. */
static struct inventory_verdicts *verdicts_now(const struct inventory *inv,
					       struct inventory_pool *pool)
{
	if (pool->verdicts && !is_up_to_date(inv, pool->verdicts)) {
		inventory_verdicts_free(pool->verdicts);
		pool->verdicts = NULL;
	}
	if (!pool->verdicts)
		pool->verdicts = verdict_make(inv, pool);
	return pool->verdicts;
}

bool inventory_pool_usable(const struct inventory *inv, struct inventory_pool *pool,
			   const struct inventory_nodes *nodes)
{
	const struct choice_group *group;
	struct inventory_verdicts *verdicts;
	const struct verdict *v;

	assert(!pool->dirty);
	if (pool->sound)
		return true;
	verdicts = verdicts_now(inv, pool);
	if (nodes->kind == INVENTORY_NODES_ALL)
		return usable_from_any(inv, verdicts);
	if (nodes->kind == INVENTORY_NODES_SELECTOR) {
		group = map_get(&verdicts->by_selector, nodes->selector_text);
		return group && group->usable;
	}
	if (nodes->kind != INVENTORY_NODES_NAME)
		return false;
	/* Without a verdict of its own, the node sees only slices that everybody sees. */
	v = map_get(&verdicts->by_node, nodes->name);
	return v ? v->usable : verdicts->other;
}
