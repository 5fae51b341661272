/*
 * Devices of an allocation that slices no longer publish count, too, because rules select by name.
 */
#include "controller/taint_eviction/judge.h"

#include "base/core/clock.h"
#include "controller/taint_eviction/eviction.h"
#include "dra/claims/pod_claims.h"
#include "dra/inventory/content.h"

/* --- taints ---------------------------------------------------------------------------------- */

static bool evicts(const struct inventory_taint *t)
{
	return t->effect == INVENTORY_EFFECT_NO_EXECUTE;
}

/* Whether a rule for the device's pool selects the device. */
static bool is_for(const struct inventory_rule *rule, struct str device)
{
	return !rule->device.p || str_eq(rule->device, device);
}

bool taint_judge_own(const struct inventory_device *d)
{
	for (size_t i = 0; i < d->ntaints; i++)
		if (evicts(&d->taints[i]))
			return true;
	return false;
}

static bool use_concerned(const struct inventory_use *use)
{
	const struct inventory_pool *pool = use->pool;
	const struct inventory_device *d = inventory_pool_device(pool, use->name);

	if (d && taint_judge_own(d))
		return true;
	for (size_t i = 0; i < pool->nrules; i++)
		if (evicts(&pool->rules[i]->taint) && is_for(pool->rules[i], use->name))
			return true;
	return false;
}

bool taint_judge_concerned(const struct inventory_claim *claim)
{
	for (size_t i = 0; claim && i < claim->n; i++)
		if (use_concerned(claim->holders[i].use))
			return true;
	return false;
}

/* --- claims ---------------------------------------------------------------------------------- */

/* INT64_MAX: never. */
static int64_t later(int64_t when, int64_t seconds)
{
	int64_t ns;

	if (__builtin_mul_overflow(seconds, CLOCK_SEC, &ns) ||
	    __builtin_add_overflow(when, ns, &when))
		return INT64_MAX;
	return when;
}

/* How long a pod with these tolerations may stay despite the taint, in seconds; -1: for ever. */
static int64_t seconds_to_stay(const struct json *tolerations, const struct inventory_taint *t)
{
	int64_t seconds = -1;

	JSON_FOREACH (it, tolerations) {
		int64_t s = 0;

		if (!inventory_tolerates(it, t))
			continue;
		if (!json_i64(json_getz(it, "tolerationSeconds"), &s) ||
		    json_text_at(it, "effect").n == 0)
			return -1;
		s = s > 0 ? s : 0;
		seconds = seconds < 0 || s < seconds ? s : seconds;
	}
	return MAX(seconds, 0);
}

static void add_taint(struct eviction_draft *draft, const struct json *tolerations,
		      const struct inventory_taint *t, const char *kind, struct str source)
{
	struct str from = str_from(arena_printf(draft->arena, "%s%.*s", kind, STR_ARG(source)));
	int64_t seconds = seconds_to_stay(tolerations, t);

	if (seconds == 0 && t->added < INT64_MAX)
		eviction_add_at_once(draft, t->added, from);
	else if (seconds > 0 && later(t->added, seconds) < INT64_MAX)
		eviction_add(draft, later(t->added, seconds), from);
}

static void add_own(struct eviction_draft *draft, const struct json *tolerations,
		    const struct inventory_device *d)
{
	for (size_t i = 0; i < d->ntaints; i++)
		if (evicts(&d->taints[i]))
			add_taint(draft, tolerations, &d->taints[i], EVICTION_SLICE,
				  d->slice->name);
}

static void add_rule(struct eviction_draft *draft, const struct json *tolerations,
		     const struct inventory_rule *rule)
{
	struct inventory_taint t = rule->taint;

	t.effect_text = STR("NoExecute");
	add_taint(draft, tolerations, &t, EVICTION_RULE, rule->name);
}

static void judge_result(struct inventory *inv, const struct json *result,
			 const struct inventory_rule *only, struct eviction_draft *draft)
{
	const struct json *tolerations = json_getz(result, "tolerations");
	struct str device = json_text_at(result, "device");
	const struct inventory_pool *pool = inventory_pool(inv, json_text_at(result, "driver"),
							   json_text_at(result, "pool"));
	const struct inventory_device *d;

	if (!pool)
		return;
	d = inventory_pool_device(pool, device);
	if (d && !only)
		add_own(draft, tolerations, d);
	for (size_t i = 0; i < pool->nrules; i++) {
		const struct inventory_rule *rule = pool->rules[i];

		if (is_for(rule, device) && (only ? rule == only : evicts(&rule->taint)))
			add_rule(draft, tolerations, rule);
	}
}

void taint_judge_claim(struct inventory *inv, const struct json *claim,
		       const struct inventory_rule *only, struct eviction_draft *draft)
{
	const struct json *allocation = json_getz(json_getz(claim, "status"), "allocation");

	JSON_FOREACH (it, json_getz(json_getz(allocation, "devices"), "results"))
		judge_result(inv, it, only, draft);
}

/* --- rules ----------------------------------------------------------------------------------- */

static int64_t select_of_pool(const struct inventory_pool *pool, const struct inventory_rule *rule,
			      void (*fn)(void *arg, const struct inventory_use *use), void *arg)
{
	const struct inventory_use *use;
	size_t at = 0;

	if (rule->device.p) {
		use = inventory_use(pool, rule->device);
		if (use)
			fn(arg, use);
		return inventory_pool_device(pool, rule->device) ? 1 : 0;
	}
	while ((use = inventory_next_use(pool, &at)))
		fn(arg, use);
	return (int64_t)pool->ndevices;
}

/* Pools of a driver are adjacent: keys have "/" between the driver and the pool. */
int64_t taint_judge_select(struct inventory *inv, const struct inventory_rule *rule,
			   void (*fn)(void *arg, const struct inventory_use *use), void *arg)
{
	const struct inventory_pool *pool;
	int64_t published = 0;
	struct arena a;
	struct str after;

	if (!rule->any)
		return 0;
	if (rule->driver.p && rule->pool.p) {
		pool = inventory_pool(inv, rule->driver, rule->pool);
		return pool ? select_of_pool(pool, rule, fn, arg) : 0;
	}
	arena_init(&a, SIZE_MAX);
	after = rule->driver.p ? str_from(arena_printf(&a, "%.*s/", STR_ARG(rule->driver)))
			       : STR("");
	while ((pool = inventory_pool_after(inv, after)) &&
	       (!rule->driver.p || str_eq(pool->driver, rule->driver))) {
		if (!rule->pool.p || str_eq(pool->name, rule->pool))
			published += select_of_pool(pool, rule, fn, arg);
		after = pool->key;
	}
	arena_release(&a);
	return published;
}

/* --- pods ------------------------------------------------------------------------------------ */

bool taint_judge_runs(const struct json *pod)
{
	return json_text_at(json_getz(pod, "spec"), "nodeName").n > 0 &&
	       !json_getz(json_getz(pod, "metadata"), "deletionTimestamp");
}

bool taint_judge_uses(const struct json *pod, const struct json *claim, bool owned)
{
	struct str uid = json_text_at(json_getz(pod, "metadata"), "uid");

	return uid.n > 0 && (!owned || pod_claims_controlled_by(claim, uid)) &&
	       json_find(json_getz(json_getz(claim, "status"), "reservedFor"), "uid", uid);
}

bool taint_judge_names(const struct json *pod, struct str name, const struct json *claim)
{
	JSON_FOREACH (it, json_getz(json_getz(pod, "spec"), "resourceClaims")) {
		struct pod_claims_ref ref = pod_claims_ref_of(pod, it);

		if (ref.state == POD_CLAIMS_REF_NAMED && str_eq(ref.claim, name) &&
		    taint_judge_uses(pod, claim, ref.template.n > 0))
			return true;
	}
	return str_eq(pod_claims_extended(pod), name) && taint_judge_uses(pod, claim, true);
}
