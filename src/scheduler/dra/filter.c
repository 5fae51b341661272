/*
 * Filters one node: can it use the allocated claims, and would the others get devices? Filter only
 * checks whether they fit. The allocation is computed again for the chosen node, with the same
 * result, since nothing changes within an attempt.
 *
 * As upstream, a node without enough devices is rejected for that. Only if the devices would
 * suffice, an allocated claim that cannot be used there is blamed: it may be deallocated.
 */
#include "api/selector/node_selector.h"
#include "base/system/uuid.h"
#include "scheduler/cache/nodeinfo.h"
#include "scheduler/dra/plugin.h"
#include "scheduler/framework/common.h"

static const struct str not_all[] = { REASON("cannot allocate all claims") };
static const struct str not_available[] = { REASON("resourceclaim not available on the node") };
static const struct str invalid_pools[] = { REASON("invalid resource pools were encountered") };
static const struct str stale[] = { REASON("cannot schedule extended resource claim") };

static void share_id(void *ctx, char out[static UUID_TEXT_SIZE])
{
	struct uuid u;

	(void)ctx;
	uuid_make(&u);
	(void)uuid_print(&u, out);
}

/* --- variants -------------------------------------------------------------------------------- */

static struct dra_variant *variant_new(struct plugin *p, struct dra_cycle *d,
				       const struct podinfo *pod, uint64_t resources)
{
	struct allocate_options options = { .share_id = share_id,
					    .report = &d->report,
					    .budget = &d->steps_left,
					    .effort = &d->effort };
	struct dra_variant *v = ARENA_NEW(d->arena, struct dra_variant);

	v->resources = resources;
	if (resources)
		dra_extended_claim(d, pod, v);
	v->wanted = ARENA_ARRAY(d->arena, const struct json *, d->n);
	for (size_t i = 0; i < d->n; i++) {
		const struct dra_pod_claim *c = &d->claims[i];

		if (c == d->special && v->claim)
			v->wanted[v->nwanted++] = v->claim;
		else if (c != d->special && !c->allocated)
			v->wanted[v->nwanted++] = c->tree;
	}
	if (v->nwanted > 0)
		v->plan = allocate_prepare(dra_state_inventory(p->services->dra), v->wanted,
					   v->nwanted, &options, d->arena);
	v->next = d->variants;
	d->variants = v;
	return v;
}

static struct dra_variant *variant(struct plugin *p, struct dra_cycle *d, const struct podinfo *pod,
				   uint64_t resources)
{
	struct dra_variant *v = d->variants;

	while (v && v->resources != resources)
		v = v->next;
	return v ? v : variant_new(p, d, pod, resources);
}

static struct allocate_node filter_node_of(const struct nodeinfo *n)
{
	return (struct allocate_node){ .name = n->name,
				       .labels = n->node ? n->node->labels : NULL };
}

/* --- filter ---------------------------------------------------------------------------------- */

static bool declares(const struct nodeobject *n, struct str feature)
{
	for (size_t i = 0; n && i < n->nfeatures; i++)
		if (str_eq(n->features[i], feature))
			return true;
	return false;
}

static bool usable(const struct dra_pod_claim *c, const struct nodeinfo *n)
{
	const struct json *labels = n->node ? n->node->labels : NULL;

	if (!c->allocated)
		return true;
	if (c->hopeless || (c->nodes && !node_selector_matches(c->nodes, n->name, labels)))
		return false;
	return !c->optional_operations || declares(n->node, STR("DRAOptionalNodeOperations"));
}

/* Returns the verdict for an allocation that did not succeed. */
static struct verdict no_result(const struct dra_cycle *d, struct arena *a,
				const struct nodeinfo *n, int r, const struct error *err)
{
	if (r == 0 && d->report.invalid_pool)
		return VERDICT_STATIC(VERDICT_UNRESOLVABLE, invalid_pools);
	if (r == 0)
		return VERDICT_STATIC(VERDICT_UNRESOLVABLE, not_all);
	if (err->code == ERR_TIMEOUT)
		return verdict_print(a, VERDICT_ERROR,
				     "node %.*s: timed out trying to allocate devices",
				     STR_ARG(n->name));
	return verdict_print(a, VERDICT_ERROR, "%s", err->msg);
}

struct verdict dra_filter(struct plugin *p, struct cycle *c, const struct nodeinfo *n)
{
	struct dra_cycle *d = dra_cycle_of(c, p);
	const struct dra_variant *v;
	struct allocate_node node = filter_node_of(n);
	uint64_t resources = 0;
	struct verdict verdict;
	bool available = true;
	struct error err;
	int r = 1;

	if (!d)
		return VERDICT_OK;
	if (d->special && d->special->object)
		return VERDICT_STATIC(VERDICT_UNRESOLVABLE, stale);
	if (!dra_extended_on(d, n, &resources, &verdict))
		return verdict;
	v = variant(p, d, c->pod, resources);
	if (v->plan)
		r = allocate_on(v->plan, &node, NULL, NULL, &err);
	if (r == -ERR_TOO_LARGE)
		c->unfinished = true;
	if (r != 1)
		return no_result(d, &c->arena, n, r, &err);
	for (size_t i = 0; i < d->n; i++) {
		if (usable(&d->claims[i], n))
			continue;
		d->claims[i].unavailable = true;
		available = false;
	}
	return available ? VERDICT_OK : VERDICT_STATIC(VERDICT_UNRESOLVABLE, not_available);
}

/* --- for the node that is chosen -------------------------------------------------------------- */

int dra_allocate(struct plugin *p, struct cycle *c, const struct nodeinfo *n,
		 struct dra_variant **ret_variant, struct json ***ret_results, struct error *err)
{
	struct dra_cycle *d = dra_cycle_of(c, p);
	struct allocate_node node = filter_node_of(n);
	struct verdict verdict;
	uint64_t resources = 0;

	if (!dra_extended_on(d, n, &resources, &verdict))
		return 0;
	*ret_variant = variant(p, d, c->pod, resources);
	*ret_results = ARENA_ARRAY(d->arena, struct json *, d->n);
	if (!(*ret_variant)->plan)
		return 1;
	return allocate_on((*ret_variant)->plan, &node, d->arena, *ret_results, err);
}

int64_t dra_preference(struct plugin *p, struct cycle *c, const struct nodeinfo *n)
{
	struct dra_cycle *d = dra_cycle_of(c, p);
	struct allocate_node node = filter_node_of(n);
	const struct dra_variant *v;
	struct verdict verdict;
	uint64_t resources = 0;

	if (!dra_extended_on(d, n, &resources, &verdict))
		return 0;
	v = variant(p, d, c->pod, resources);
	if (!v->plan)
		return 0;
	if (allocate_on(v->plan, &node, NULL, NULL, NULL) == 1)
		return d->preference + d->report.preference;
	return d->preference;
}
