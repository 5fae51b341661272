/*
 * DynamicResources: allocates devices for a pod's claims on a node that can reach them.
 *
 * This file has the function table and the extension points for the chosen node: reserve holds the
 * devices in dra_state, so that the next attempt does not allocate them again, and unreserve undoes
 * that. See dra/plugin.h for the others.
 */
#include "base/core/mem.h"
#include "base/core/random.h"
#include "base/report/log.h"
#include "base/report/metrics.h"
#include "base/time/duration.h"
#include "client/informer/cached.h"
#include "dra/allocate/explain.h"
#include "net/loop/loop.h"
#include "scheduler/cache/nodecache.h"
#include "scheduler/dra/plugin.h"
#include "scheduler/framework/common.h"

enum { BINDING_TIMEOUT_S = 600 };

static const struct str deallocated[] = { REASON("deallocation of ResourceClaim completed") };
static const struct str deleted[] = { REASON("deletion of ResourceClaim completed") };

static int dynamic_resources_read_time(const struct json *args, const char *field, int64_t *ns,
				       struct error *err)
{
	const struct json *v = json_getz(args, field);
	int r;

	if (!v)
		return 0;
	if (!json_is(v, JSON_STRING))
		return error_set(err, ERR_INVALID, "%s: must be a duration", field);
	r = duration_parse(json_str(v), ns, err);
	if (r < 0)
		return error_wrap(err, r, "%s", field);
	return 0;
}

static struct metrics_counter *count_conflicts(struct metrics *m)
{
	static const struct metrics_spec spec = {
		.name = "devplane_scheduler_device_conflicts_total",
		.help = "Allocations that the API server rejected because another claim held a "
			"device, or because capacity or counters were used up",
		.type = METRICS_COUNTER,
	};
	struct metrics_family *f = NULL;

	if (!m || metrics_register(m, &spec, &f, NULL) < 0)
		return NULL;
	return metrics_counter_of(f, NULL, 0);
}

static int dynamic_resources_init(struct plugin *p, const struct json *args, struct error *err)
{
	static const char *const fields[] = { "filterTimeout", "bindingTimeout", NULL };
	struct dra_plugin *own;
	int64_t filter_ns = 0, binding_ns = BINDING_TIMEOUT_S * CLOCK_SEC;
	int r = plugin_args_check(args, "DynamicResourcesArgs", fields, err);

	/* The search is limited by steps, so filterTimeout is accepted without effect. */
	if (r == 0)
		r = dynamic_resources_read_time(args, "filterTimeout", &filter_ns, err);
	if (r == 0)
		r = dynamic_resources_read_time(args, "bindingTimeout", &binding_ns, err);
	if (r < 0)
		return r;
	if (filter_ns < 0)
		return error_set(err, ERR_INVALID, "filterTimeout: must be zero or positive");
	if (binding_ns < CLOCK_SEC)
		return error_set(err, ERR_INVALID, "bindingTimeout: must be at least 1 second");
	own = XNEW(struct dra_plugin);
	own->binding_timeout_ns = binding_ns;
	own->conflicts = count_conflicts(p->services->metrics);
	p->state = own;
	return 0;
}

static void dynamic_resources_release(struct plugin *p)
{
	free(p->state);
}

static struct verdict pre_enqueue(struct plugin *p, const struct podinfo *pod, struct arena *a)
{
	struct str why;

	if (!p->services->dra || dra_claims_exist(p->services->dra, pod, a, &why))
		return VERDICT_OK;
	return verdict_of(a, VERDICT_UNRESOLVABLE, why);
}

/* --- nothing fits ----------------------------------------------------------------------------- */

/* Logs for each request why the devices of a node do not fit. */
static void explain_node(struct plugin *p, struct cycle *c, const struct dra_cycle *d)
{
	const struct log *log = p->services->log;
	const struct dra_variant *v = d->variants;
	struct allocate_node node;
	struct explain e;
	struct buf text;
	size_t at = 0;

	if (!log || !log_enabled(log, LOG_LEVEL_DEBUG) || !v || !v->plan || !c->snapshot)
		return;
	while (at < c->snapshot->n && c->diagnosis.nodes && c->diagnosis.nodes[at].plugin != p)
		at++;
	if (!c->diagnosis.nodes || at == c->snapshot->n)
		return;
	node = (struct allocate_node){ .name = c->snapshot->nodes[at]->name,
				       .labels = c->snapshot->nodes[at]->node->labels };
	explain_fit(dra_state_inventory(p->services->dra), &node, v->wanted, v->nwanted, NULL,
		    &c->arena, &e);
	buf_init(&text, 1UL << 14);
	explain_print(&e, &node, 4, &text);
	log_debug(log, "devices do not fit", LOG_STR("pod", c->pod->key),
		  LOG_STR("why", buf_str(&text)));
	buf_release(&text);
}

/* Whether the claim can be deallocated: no pod uses it, except perhaps this one. */
static bool is_idle(const struct dra_pod_claim *claim, struct str pod_uid)
{
	const struct json *users = json_getz(json_getz(claim->tree, "status"), "reservedFor");

	return json_count(users) == 0 ||
	       (json_count(users) == 1 && dra_reserved_for(claim->tree, pod_uid));
}

static struct verdict post_filter(struct plugin *p, struct cycle *c, struct str *ret_nominated)
{
	struct dra_cycle *d = dra_cycle_of(c, p);
	struct dra_pod_claim *one = NULL;
	uint64_t n = 0;

	(void)ret_nominated;
	if (!d)
		return (struct verdict){ VERDICT_UNSCHEDULABLE };
	explain_node(p, c, d);
	for (size_t i = 0; i < d->n; i++) {
		struct dra_pod_claim *claim = &d->claims[i];

		if (claim == d->special || !claim->unavailable || !is_idle(claim, c->pod->uid))
			continue;
		/* Each with the same chance: there is no better rule. */
		n++;
		if (!one || (p->services->loop && prng_below(loop_prng(p->services->loop), n) == 0))
			one = claim;
	}
	if (one) {
		dra_write_deallocate(p, one);
		return VERDICT_STATIC(VERDICT_UNSCHEDULABLE, deallocated);
	}
	if (d->special && d->special->object) {
		dra_write_delete(p, d->special);
		return VERDICT_STATIC(VERDICT_UNSCHEDULABLE, deleted);
	}
	return (struct verdict){ VERDICT_UNSCHEDULABLE };
}

/* --- scores ----------------------------------------------------------------------------------- */

/* Without a choice among alternatives all nodes are the same to it. */
static struct verdict dynamic_resources_pre_score(struct plugin *p, struct cycle *c)
{
	const struct dra_cycle *d = dra_cycle_of(c, p);

	return d && d->alternatives ? VERDICT_OK : (struct verdict){ VERDICT_SKIP };
}

static struct verdict dynamic_resources_score(struct plugin *p, struct cycle *c, size_t at,
					      int64_t *ret_score)
{
	*ret_score = dra_cycle_of(c, p) ? dra_preference(p, c, c->feasible[at]) : 0;
	return VERDICT_OK;
}

static void normalize(struct plugin *p, struct cycle *c, int64_t *scores, size_t n)
{
	(void)p;
	(void)c;
	scores_normalize(scores, n, false);
}

/* --- the node that is chosen ------------------------------------------------------------------ */

static const struct nodeinfo *find_node(const struct plugin *p, const struct cycle *c,
					struct str name)
{
	if (c->snapshot)
		return snapshot_find(c->snapshot, name);
	return p->services->nodes ? nodecache_node(p->services->nodes, name) : NULL;
}

/* The claim at a place of a variant's list. */
static struct dra_pod_claim *wanted_claim(struct dra_cycle *d, const struct dra_variant *v,
					  size_t at)
{
	if (v->wanted[at] == v->claim)
		return d->special;
	for (size_t i = 0; i < d->n; i++)
		if (d->claims[i].tree == v->wanted[at])
			return &d->claims[i];
	return NULL;
}

static void dynamic_resources_give_up(struct plugin *p, struct dra_cycle *d)
{
	for (size_t i = 0; i < d->n; i++) {
		struct dra_pod_claim *claim = &d->claims[i];

		if (claim->allocation && dra_state_drop(p->services->dra, claim->uid))
			dra_tell_freed(p, claim->key);
		claim->allocation = NULL;
	}
}

static struct verdict reserve(struct plugin *p, struct cycle *c, struct str node)
{
	struct dra_cycle *d = dra_cycle_of(c, p);
	const struct nodeinfo *n = d ? find_node(p, c, node) : NULL;
	struct json **results;
	struct dra_variant *v;
	struct error err;

	if (!d)
		return VERDICT_OK;
	if (!n || dra_allocate(p, c, n, &v, &results, &err) != 1)
		return verdict_of(&c->arena, VERDICT_ERROR,
				  STR("claim allocation not found for node"));
	d->chosen = v;
	for (size_t i = 0; i < v->nwanted; i++) {
		struct dra_pod_claim *claim = wanted_claim(d, v, i);

		if (dra_state_decide(p->services->dra, v->wanted[i], results[i], &err) < 0) {
			dynamic_resources_give_up(p, d);
			return verdict_print(&c->arena, VERDICT_ERROR,
					     "internal error, couldn't signal allocation for claim "
					     "%.*s: %s",
					     STR_ARG(claim->key), err.msg);
		}
		claim->allocation = results[i];
	}
	return VERDICT_OK;
}

/*
 * If the pod is gone, its reservation stays. The controller removes it, and with the last
 * reservation also the allocation and the finalizer. It does so only in that step, so if we removed
 * the reservation here, the claim would keep its devices for ever. If the pod may be bound, it
 * keeps everything: the next attempt finds it, or the controller when the pod ends.
 */
static void unreserve(struct plugin *p, struct cycle *c, struct str node)
{
	struct dra_cycle *d = dra_cycle_of(c, p);
	bool gone, doubted;

	(void)node;
	if (!d)
		return;
	gone = d->binding && binding_gone(d->binding);
	doubted = d->binding && binding_doubted(d->binding);
	dra_bind_cancel(d->bind);
	for (size_t i = 0; i < d->n && !doubted; i++) {
		struct dra_pod_claim *claim = &d->claims[i];
		const struct json *status = json_getz(claim->tree, "status");

		if (claim == d->special && claim->object)
			dra_write_delete(p, claim);
		else if (claim != d->special && !gone &&
			 json_is(json_getz(status, "allocation"), JSON_OBJECT) &&
			 dra_reserved_for(claim->tree, c->pod->uid))
			dra_write_unreserve(p, claim, c->pod->uid);
	}
	dynamic_resources_give_up(p, d);
}

const struct plugin_kind plugin_dynamic_resources = {
	.name = "DynamicResources",
	.init = dynamic_resources_init,
	.release = dynamic_resources_release,
	.events = dra_events,
	.pre_enqueue = pre_enqueue,
	.pre_filter = dra_pre_filter,
	.filter = dra_filter,
	.post_filter = post_filter,
	.pre_score = dynamic_resources_pre_score,
	.score = dynamic_resources_score,
	.normalize = normalize,
	.reserve = reserve,
	.unreserve = unreserve,
	.pre_bind = dra_pre_bind,
};
