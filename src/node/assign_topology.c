/*
 * Admission and NUMA: which devices fit the nodes that the topology policy chose.
 */
#include "node/assign_admit.h"

/* Nodes from 64 on exist for no policy. */
static uint64_t nodes_of(const struct device_rec *d)
{
	uint64_t nodes = 0;

	for (size_t i = 0; i < d->nnuma; i++) {
		if (d->numa[i] >= 0 && d->numa[i] < 64)
			nodes |= UINT64_C(1) << d->numa[i];
	}
	return nodes;
}

static bool has_topology(const struct resource_rec *r)
{
	struct omap_cursor c;

	for (bool ok = omap_first(&r->devices, &c); ok; ok = omap_next(&c)) {
		const struct device_rec *d = omap_value(&c);

		if (d->listed && d->nnuma > 0)
			return true;
	}
	return false;
}

void assign_split(const struct admitting *in, const struct resource_rec *r,
		  struct device_list available, struct device_split *ret_split)
{
	struct device_rec **room;

	*ret_split = (struct device_split){ .anywhere = available };
	if (in->affinity.any || !has_topology(r))
		return;
	room = ARENA_ARRAY(in->a, struct device_rec *, available.n * 3);
	ret_split->aligned.v = room;
	ret_split->unaligned.v = room + available.n;
	ret_split->anywhere = (struct device_list){ .v = room + available.n * 2 };
	for (size_t i = 0; i < available.n; i++) {
		struct device_rec *d = available.v[i];
		struct device_list *l = &ret_split->unaligned;

		if (d->nnuma == 0)
			l = &ret_split->anywhere;
		else if (nodes_of(d) & in->affinity.nodes)
			l = &ret_split->aligned;
		l->v[l->n++] = d;
	}
}
