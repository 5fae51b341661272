/*
 * Decides for all nodes at once which of them can use a pool with a fault.
 *
 * Slices that every node sees are added once to a ledger of names and counters. Then the slices of
 * each node are added, checked and removed again. So each slice is visited once, and a slice with
 * perDeviceNodeSelection once for each node that its devices name. Names and counters are replaced
 * by numbers for this. inventory_checks() decides which faults count, here and in
 * inventory/nodes.c, which looks for them from one node and words them. device_state_test.c
 * compares the two.
 */
#include <assert.h>

#include "base/core/mem.h"
#include "dra/inventory/store.h"

/* A slice that only some nodes see. */
struct own {
	uint32_t slice; /* index in pool->slices */
	struct own *next;
};

/* A node that some slice or device names. */
struct verdict {
	struct str name;
	struct own *slices; /* last one first; only used while verdicts are computed */
	uint32_t n, first;
	bool usable;
};

struct inventory_verdicts {
	struct arena arena;
	struct map by_node; /* name -> struct verdict */
	bool other; /* usable from a node that no slice or device names */
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
	struct verdict everybody; /* slices that all nodes see */
	struct arena work;
	struct ledger ledger;
};

static void see(struct making *m, struct verdict *v, uint32_t slice)
{
	struct own *own;

	/* Several devices of one slice may name the same node. */
	if (v->slices && v->slices->slice == slice)
		return;
	own = ARENA_NEW(&m->work, struct own);
	own->slice = slice;
	own->next = v->slices;
	v->slices = own;
	if (v->n++ == 0)
		v->first = slice;
}

static void see_named(struct making *m, struct str node, uint32_t slice)
{
	struct verdict *v = map_get(&m->verdicts->by_node, node);

	if (!v) {
		v = ARENA_NEW(&m->verdicts->arena, struct verdict);
		v->name = node;
		(void)map_put(&m->verdicts->by_node, node, v);
	}
	see(m, v, slice);
}

static bool is_common(const struct inventory_slice *s)
{
	bool common = s->nodes.kind == INVENTORY_NODES_ALL;

	for (uint32_t i = 0; s->nodes.kind == INVENTORY_NODES_PER_DEVICE && i < s->ndevices; i++)
		common |= s->devices[i].nodes->kind == INVENTORY_NODES_ALL;
	return common;
}

/* Adds a slice to everybody's slices, or to those of the nodes that it or its devices name. */
static void see_slice(struct making *m, uint32_t slice)
{
	const struct inventory_slice *s = m->pool->slices[slice];

	if (s->ignored)
		return;
	if (is_common(s)) {
		see(m, &m->everybody, slice);
		return;
	}
	if (s->nodes.kind == INVENTORY_NODES_NAME)
		see_named(m, s->nodes.name, slice);
	if (s->nodes.kind != INVENTORY_NODES_PER_DEVICE)
		return;
	for (uint32_t i = 0; i < s->ndevices; i++)
		if (s->devices[i].nodes->kind == INVENTORY_NODES_NAME)
			see_named(m, s->devices[i].nodes->name, slice);
}

/* --- verdicts ----------------------------------------------------------------------- */

static void count_own(struct making *m, const struct verdict *v, int sign)
{
	for (const struct own *it = v->slices; it; it = it->next)
		count_slice(&m->ledger, it->slice, sign);
}

/* Whether the slices in the ledger have one of the faults. */
static bool has_fault(const struct making *m, const struct inventory_checks *checks)
{
	const struct ledger *l = &m->ledger;

	return (checks->names && l->doubles) || (checks->pool_counters && m->pool->counter_fault) ||
	       (checks->seen_counters && (l->double_sets || l->missing || l->unknown));
}

static uint32_t first_of(const struct verdict *a, const struct verdict *b)
{
	if (a->n == 0 || b->n == 0)
		return a->n ? a->first : b->first;
	return MIN(a->first, b->first);
}

/* Whether the pool is usable for a node that sees its own slices and those that everybody sees. */
static bool verdict_judge(struct making *m, const struct verdict *v)
{
	const struct verdict *all = &m->everybody;
	struct inventory_checks checks;
	uint32_t n = v->n + all->n;
	bool fault;

	if (n == 0)
		return false;
	checks = inventory_checks(m->inv, m->pool->slices[first_of(v, all)], n);
	if (checks.incomplete)
		return false;
	count_own(m, v, 1);
	fault = has_fault(m, &checks);
	count_own(m, v, -1);
	return !fault;
}

static void judge_all(struct making *m)
{
	struct verdict nobody = { .n = 0 };
	struct str name;
	size_t at = 0;
	void *value;

	count_own(m, &m->everybody, 1);
	m->verdicts->other = verdict_judge(m, &nobody);
	while (map_next(&m->verdicts->by_node, &at, &name, &value)) {
		struct verdict *v = value;

		v->usable = verdict_judge(m, v);
		v->slices = NULL;
	}
}

static struct inventory_verdicts *verdict_make(const struct inventory *inv,
					       struct inventory_pool *pool)
{
	struct making m = { .inv = inv, .pool = pool, .verdicts = XNEW(struct inventory_verdicts) };

	arena_init(&m.verdicts->arena, SIZE_MAX);
	map_init(&m.verdicts->by_node);
	m.verdicts->nodes_version = UINT64_MAX;
	arena_init(&m.work, SIZE_MAX);
	for (uint32_t i = 0; i < pool->nslices; i++)
		see_slice(&m, i);
	ledger_init(&m.ledger, pool, &m.work);
	judge_all(&m);
	arena_release(&m.work);
	return m.verdicts;
}

size_t inventory_verdicts_bytes(const struct inventory_verdicts *v)
{
	return v ? sizeof(*v) + v->by_node.n * sizeof(struct verdict) : 0;
}

void inventory_verdicts_free(struct inventory_verdicts *v)
{
	if (!v)
		return;
	map_release(&v->by_node);
	arena_release(&v->arena);
	free(v);
}

/* --- asking ------------------------------------------------------------------------- */

static bool usable_from_any(const struct inventory *inv, struct inventory_verdicts *v)
{
	struct str name;
	size_t at = 0;
	void *value;

	if (v->nodes_version == inv->nodes_version)
		return v->any;
	v->any = v->other;
	while (!v->any && map_next(&v->by_node, &at, &name, &value))
		v->any = ((struct verdict *)value)->usable &&
			 (!inv->nodes_known || map_get(&inv->existing, name));
	v->nodes_version = inv->nodes_version;
	return v->any;
}

bool inventory_pool_usable(const struct inventory *inv, struct inventory_pool *pool,
			   const struct inventory_nodes *nodes)
{
	const struct verdict *v;

	assert(!pool->dirty);
	if (pool->sound)
		return true;
	if (!pool->verdicts)
		pool->verdicts = verdict_make(inv, pool);
	if (nodes->kind == INVENTORY_NODES_ALL)
		return usable_from_any(inv, pool->verdicts);
	if (nodes->kind != INVENTORY_NODES_NAME)
		return false;
	/* Without a verdict of its own, the node sees only slices that everybody sees. */
	v = map_get(&pool->verdicts->by_node, nodes->name);
	return v ? v->usable : pool->verdicts->other;
}
