/*
 * Decides without a search what allocate.c finds by searching. Reasons have the order in which the
 * allocator would meet them. device_state_test.c compares the two.
 */
#include "dra/availability/device_state.h"

static const char *const state_names[] = {
	[DEVICE_AVAILABLE] = "Available",
	[DEVICE_PARTIALLY_ALLOCATED] = "PartiallyAllocated",
	[DEVICE_ALLOCATED] = "Allocated",
	[DEVICE_UNAVAILABLE] = "Unavailable",
};

/* KEP-5677 leaves the words open; its example for DEVICE_COUNTERS_EXHAUSTED has another one. */
static const char *const reason_names[] = {
	[DEVICE_POOL_INCOMPLETE] = "PoolIncomplete",
	[DEVICE_POOL_INVALID] = "PoolInvalid",
	[DEVICE_NODE_NONE] = "NoNode",
	[DEVICE_NODE_GONE] = "NodeGone",
	[DEVICE_NODE_UNREACHABLE] = "NodeUnreachable",
	[DEVICE_UNSUPPORTED] = "UnsupportedFeature",
	[DEVICE_TAINTED] = "Tainted",
	[DEVICE_CAPACITY_EXHAUSTED] = "CapacityExhausted",
	[DEVICE_COUNTERS_EXHAUSTED] = "CountersExhausted",
};

const char *device_state_name(enum device_state s)
{
	return state_names[s];
}

const char *device_reason_name(enum device_reason r)
{
	return reason_names[r];
}

struct str device_standing_text(const struct device_standing *s, struct arena *a)
{
	if (s->reason == DEVICE_NO_REASON)
		return STR("");
	if (!s->taint)
		return str_from(reason_names[s->reason]);
	return str_from(
		arena_printf(a, "%s: %.*s", reason_names[s->reason], STR_ARG(s->taint->key)));
}

/* --- nodes and pools -------------------------------------------------------------------------- */

bool device_is_gone(const struct inventory *inv, const struct inventory_device *d)
{
	return inventory_nodes_gone(inv, inventory_device_nodes(d));
}

bool device_is_lost(const struct inventory *inv, const struct inventory_device *d)
{
	return inventory_nodes_lost(inv, inventory_device_nodes(d), NULL) != 0;
}

static bool is_unreachable(const struct inventory *inv, const struct inventory_nodes *nodes)
{
	return nodes->kind == INVENTORY_NODES_NONE || inventory_nodes_none(inv, nodes);
}

/* Returns the pool's fault, if none of the nodes can use the pool. */
static enum device_reason pool_reason(const struct inventory *inv, struct inventory_pool *pool,
				      const struct inventory_nodes *nodes)
{
	if (inventory_pool_usable(inv, pool, nodes))
		return DEVICE_NO_REASON;
	return pool->incomplete ? DEVICE_POOL_INCOMPLETE : DEVICE_POOL_INVALID;
}

enum device_reason device_slice_reason(const struct inventory *inv, const struct inventory_slice *s)
{
	if (s->ignored || s->uncounted)
		return DEVICE_UNSUPPORTED;
	if (is_unreachable(inv, &s->nodes))
		return DEVICE_NODE_NONE;
	if (inventory_nodes_gone(inv, &s->nodes))
		return DEVICE_NODE_GONE;
	if (inventory_nodes_lost(inv, &s->nodes, NULL))
		return DEVICE_NODE_UNREACHABLE;
	if (s->nodes.kind == INVENTORY_NODES_PER_DEVICE)
		return DEVICE_NO_REASON;
	return pool_reason(inv, s->pool, &s->nodes);
}

/* --- shares ------------------------------------------------------------------------- */

/* The smallest positive amount, for a capacity without a policy. */
static struct quantity smallest(struct quantity like)
{
	return (struct quantity){ .nano = 1, .format = like.format };
}

static struct quantity least_of(const struct inventory_capacity *c)
{
	const struct inventory_policy *p = c->policy;
	struct quantity least = smallest(*c->value);

	if (p && p->has_range && p->has_min && p->min.nano > 0)
		least = p->min;
	else if (p && p->has_range && p->has_min && p->has_step)
		least = p->step;
	else if (p && p->nvalues > 0)
		least = p->values[0];
	if (p && p->has_standard && quantity_cmp(p->standard, least) < 0 && p->standard.nano > 0)
		least = p->standard;
	return least;
}

/* Returns the most that the capacity's policy lets one claim take of the amount left. */
static struct quantity device_share_most(const struct inventory_capacity *c, struct quantity left)
{
	const struct inventory_policy *p = c->policy;
	struct quantity most = left;

	if (!p)
		return most;
	for (size_t i = 0; i < p->nvalues; i++)
		if (quantity_cmp(p->values[i], left) <= 0)
			most = p->values[i];
	if (!p->has_range)
		return most;
	if (p->has_max && quantity_cmp(p->max, most) < 0)
		most = p->max;
	if (p->has_min && p->has_step && p->step.nano > 0)
		most.nano -= (most.nano - p->min.nano) % p->step.nano;
	return most;
}

bool device_share(const struct inventory_device *d, const struct inventory_capacity *c,
		  struct quantity *ret_least, struct quantity *ret_most)
{
	struct quantity left = inventory_device_in_use(d) ? quantity_of(0, c->value->format)
							  : inventory_remaining(d, c);

	*ret_least = least_of(c);
	*ret_most = device_share_most(c, left);
	return quantity_cmp(*ret_least, left) <= 0;
}

static bool has_share(const struct inventory_device *d)
{
	struct quantity least, most;

	for (size_t i = 0; i < d->view.ncapacity; i++)
		if (!device_share(d, &d->capacities[i], &least, &most))
			return false;
	return true;
}

/* --- one device --------------------------------------------------------------------- */

/*
 * Returns the sum that the device's first n entries consume of a counter; usually there is one
 * entry.
 */
static struct quantity taken_by(const struct inventory_device *d, size_t n, uint32_t counter)
{
	struct quantity sum = { .nano = 0 };

	for (size_t i = 0; i < n; i++)
		if (d->counters[i].index == counter)
			sum = quantity_add(sum, d->counters[i].amount);
	return sum;
}

static bool counters_suffice(const struct inventory_device *d)
{
	const struct inventory_pool *pool = d->slice->pool;

	/* A further share does not charge the counters again. */
	if (d->ncounters == 0 || inventory_device_shared(d))
		return true;
	if (pool->overdrawn > 0)
		return false;
	for (size_t i = 0; i < d->ncounters; i++) {
		uint32_t at = d->counters[i].index;

		if (at == UINT32_MAX ||
		    quantity_cmp(inventory_counter_remaining(&pool->counters[at]),
				 taken_by(d, i + 1, at)) < 0)
			return false;
	}
	return true;
}

static const struct inventory_taint *first_taint(const struct inventory *inv,
						 const struct inventory_device *d)
{
	const struct inventory_taint *t;
	size_t at = 0;

	if (!inventory_features(inv)->taints)
		return NULL;
	while ((t = inventory_next_taint(d, &at)))
		if (t->effect != INVENTORY_EFFECT_OTHER)
			return t;
	return NULL;
}

/* Returns why the allocator does not give the device to a claim without tolerations. */
static struct device_standing obstacle(const struct inventory *inv,
				       const struct inventory_device *d,
				       enum device_reason of_slice)
{
	const struct inventory_features *on = inventory_features(inv);
	struct device_standing s = { .reason = of_slice };

	if (s.reason)
		return s;
	if (d->nodes && is_unreachable(inv, d->nodes))
		s.reason = DEVICE_NODE_NONE;
	else if (device_is_gone(inv, d))
		s.reason = DEVICE_NODE_GONE;
	else if (device_is_lost(inv, d))
		s.reason = DEVICE_NODE_UNREACHABLE;
	else if (d->nodes && (s.reason = pool_reason(inv, d->slice->pool, d->nodes)))
		return s;
	else if ((d->nbinding && !on->binding_conditions) || (d->ncounters && !on->partitionable))
		s.reason = DEVICE_UNSUPPORTED;
	else if ((s.taint = first_taint(inv, d)))
		s.reason = DEVICE_TAINTED;
	else if (!has_share(d))
		s.reason = DEVICE_CAPACITY_EXHAUSTED;
	else if (!counters_suffice(d))
		s.reason = DEVICE_COUNTERS_EXHAUSTED;
	return s;
}

struct device_standing device_standing(const struct inventory *inv,
				       const struct inventory_device *d,
				       enum device_reason of_slice)
{
	bool held = inventory_device_held(d);
	struct device_standing s;

	if (inventory_device_in_use(d))
		return (struct device_standing){ .state = DEVICE_ALLOCATED };
	s = obstacle(inv, d, of_slice);
	if (s.reason)
		s.state = held ? DEVICE_ALLOCATED : DEVICE_UNAVAILABLE;
	else
		s.state = held ? DEVICE_PARTIALLY_ALLOCATED : DEVICE_AVAILABLE;
	return s;
}
