/*
 * Finds the pod's claims, and rejects the pod if it can run on no node: a claim is missing, belongs
 * to another pod, is being allocated for another pod, or names an unknown class. Everything is read
 * once here, so that filter has little to do for each node.
 */
#include "api/schema/gates.h"
#include "api/selector/node_selector.h"
#include "client/informer/cached.h"
#include "dra/dra_limits.h"
#include "dra/inventory/content.h"
#include "scheduler/dra/plugin.h"

struct str dra_claim_key(struct str ns, struct str name, char out[static DRA_KEY_MAX])
{
	if (ns.n + 1 + name.n > DRA_KEY_MAX)
		return STR_NULL;
	str_put(out, ns);
	out[ns.n] = '/';
	str_put(out + ns.n + 1, name);
	return str_of(out, ns.n + 1 + name.n);
}

/* --- the pod's claims ----------------------------------------------------------------------- */

#define SAY(a, ret_why, ...) \
	((void)((a) && (*(ret_why) = str_from(arena_printf((a), __VA_ARGS__)), true)), false)

static bool claim_exists(const struct dra_state *s, const struct podinfo *pod,
			 const struct pod_claim *pc, struct arena *a, struct str *ret_why)
{
	char text[DRA_KEY_MAX];
	struct str key = dra_claim_key(pod->ns, pc->claim, text);
	struct dra_claim claim;

	if (!pc->claim.p)
		return SAY(a, ret_why, "pod \"%.*s\": ResourceClaim not created yet",
			   STR_ARG(pod->key));
	if (!dra_state_find(s, key, &claim))
		return SAY(a, ret_why, "could not find ResourceClaim \"%.*s\"", STR_ARG(key));
	if (claim.object->deleting)
		return SAY(a, ret_why, "resourceclaim \"%.*s\" is being deleted",
			   STR_ARG(pc->claim));
	if (pc->from_template && !str_eq(claim.owner, pod->uid))
		return SAY(a, ret_why,
			   "ResourceClaim %.*s was not created for Pod %.*s (Pod is not owner)",
			   STR_ARG(key), STR_ARG(pod->key));
	return true;
}

bool dra_claims_exist(const struct dra_state *s, const struct podinfo *pod, struct arena *a,
		      struct str *ret_why)
{
	for (size_t i = 0; i < pod->nclaims; i++)
		if (!pod->claims[i].none_needed &&
		    !claim_exists(s, pod, &pod->claims[i], a, ret_why))
			return false;
	return true;
}

static int prefilter_read_claim(const struct dra_state *s, struct arena *a,
				struct dra_pod_claim *out, struct str key, struct error *err)
{
	struct dra_claim claim;

	/* It was there a moment ago. */
	if (!dra_state_find(s, key, &claim))
		return error_set(err, ERR_NOT_FOUND, "could not find ResourceClaim \"%.*s\"",
				 STR_ARG(key));
	out->object = claim.object;
	out->key = claim.object->key;
	out->uid = claim.object->uid;
	out->allocated = claim.allocated;
	return cached_tree_held(claim.object, a, &out->tree, err);
}

/* A pod may name a claim twice. */
static bool knows(const struct dra_cycle *d, struct str key)
{
	for (size_t i = 0; i < d->n; i++)
		if (str_eq(d->claims[i].key, key))
			return true;
	return false;
}

static int read_claims(const struct dra_state *s, const struct podinfo *pod, struct dra_cycle *d,
		       struct error *err)
{
	/* One more for the special claim. */
	d->claims = ARENA_ARRAY(d->arena, struct dra_pod_claim, pod->nclaims + 1);
	for (size_t i = 0; i < pod->nclaims; i++) {
		char text[DRA_KEY_MAX];
		struct str key = dra_claim_key(pod->ns, pod->claims[i].claim, text);
		int r;

		if (pod->claims[i].none_needed || knows(d, key))
			continue;
		r = prefilter_read_claim(s, d->arena, &d->claims[d->n], key, err);
		if (r < 0)
			return r;
		d->n++;
	}
	return 0;
}

/* --- claims that are allocated --------------------------------------------------------------- */

/* Whether a device was allocated for the alternative "request/own". */
static bool was_taken(const struct json *results, struct str request, struct str own)
{
	JSON_FOREACH (it, results) {
		struct str full = json_text_at(it, "request");

		if (full.n == request.n + 1 + own.n && str_starts(full, request) &&
		    full.p[request.n] == '/' && str_ends(full, own))
			return true;
	}
	return false;
}

static int64_t preference_of(const struct json *claim)
{
	const struct json *devices = json_getz(json_getz(claim, "spec"), "devices");
	const struct json *allocation = json_getz(json_getz(claim, "status"), "allocation");
	const struct json *results = json_getz(json_getz(allocation, "devices"), "results");
	int64_t sum = 0;

	JSON_FOREACH (request, json_getz(devices, "requests")) {
		struct str name = json_text_at(request, "name");
		int64_t worth = 8;

		JSON_FOREACH (sub, json_getz(request, "firstAvailable")) {
			if (was_taken(results, name, json_text_at(sub, "name")))
				sum += worth;
			worth--;
		}
	}
	return sum;
}

static bool wants_optional_operations(const struct json *allocation)
{
	const struct json *results = json_getz(json_getz(allocation, "devices"), "results");

	JSON_FOREACH (it, results)
		if (json_count(json_getz(it, "skipNodeOperations")))
			return true;
	return false;
}

static int look_at_allocated(struct plugin *p, struct dra_cycle *d, struct dra_pod_claim *c,
			     struct error *err)
{
	const struct dra_plugin *own = p->state;
	const struct gates *gates = dra_state_gates(p->services->dra);
	const struct json *allocation = json_getz(json_getz(c->tree, "status"), "allocation");
	const struct json *selector = json_getz(allocation, "nodeSelector");
	struct node_selector *nodes;
	struct error failed;
	int r;

	if (json_is(selector, JSON_OBJECT)) {
		nodes = ARENA_NEW(d->arena, struct node_selector);
		r = node_selector_read(d->arena, selector, nodes, err);
		if (r < 0)
			return r;
		c->nodes = nodes;
	}
	c->optional_operations = wants_optional_operations(allocation);
	d->preference += preference_of(c->tree);
	if (!gates_on(gates, GATE_DRADeviceBindingConditions) ||
	    !gates_on(gates, GATE_DRAResourceClaimDeviceStatus))
		return 0;
	r = dra_ready(c->tree, &failed);
	c->hopeless = r < 0 || (r == 0 && dra_ready_until(c->tree, own->binding_timeout_ns) <
						  dra_wall_ns(p->services));
	return 0;
}

/* --- claims that are not --------------------------------------------------------------------- */

static bool class_exists(struct plugin *p, struct arena *a, struct str class, struct str request,
			 struct str sub, struct verdict *ret_verdict)
{
	const char *slash = sub.n ? "/" : "";

	if (class.n == 0) {
		*ret_verdict = verdict_print(a, VERDICT_ERROR,
					     "request %.*s%s%.*s: unsupported request type",
					     STR_ARG(request), slash, STR_ARG(sub));
		return false;
	}
	if (inventory_class(dra_state_inventory(p->services->dra), class))
		return true;
	*ret_verdict = verdict_print(a, VERDICT_UNRESOLVABLE,
				     "request %.*s%s%.*s: device class %.*s does not exist",
				     STR_ARG(request), slash, STR_ARG(sub), STR_ARG(class));
	return false;
}

static bool request_possible(struct plugin *p, struct dra_cycle *d, const struct dra_pod_claim *c,
			     const struct json *request, struct verdict *ret_verdict)
{
	const struct json *exactly = json_getz(request, "exactly");
	const struct json *list = json_getz(request, "firstAvailable");
	struct str name = json_text_at(request, "name");

	if (json_is(exactly, JSON_OBJECT))
		return class_exists(p, d->arena, json_text_at(exactly, "deviceClassName"), name,
				    STR_NULL, ret_verdict);
	if (json_count(list) == 0) {
		*ret_verdict = verdict_print(d->arena, VERDICT_UNRESOLVABLE,
					     "resource claim %.*s, request %.*s: unknown request "
					     "type",
					     STR_ARG(c->key), STR_ARG(name));
		return false;
	}
	d->alternatives = true;
	JSON_FOREACH (sub, list)
		if (!class_exists(p, d->arena, json_text_at(sub, "deviceClassName"), name,
				  json_text_at(sub, "name"), ret_verdict))
			return false;
	return true;
}

/* Whether the claim can be allocated, independent of the node. */
static bool claim_possible(struct plugin *p, struct dra_cycle *d, const struct dra_pod_claim *c,
			   struct verdict *ret_verdict)
{
	const struct json *devices = json_getz(json_getz(c->tree, "spec"), "devices");
	struct dra_claim known;

	if (dra_state_find(p->services->dra, c->key, &known) && known.decided) {
		*ret_verdict = verdict_print(d->arena, VERDICT_UNRESOLVABLE,
					     "resource claim %.*s is in the process of being "
					     "allocated",
					     STR_ARG(c->key));
		return false;
	}
	if (c == d->special)
		return true;
	JSON_FOREACH (it, json_getz(devices, "requests"))
		if (!request_possible(p, d, c, it, ret_verdict))
			return false;
	return true;
}

/*
 * Returns the selector budget of one part of an attempt. A selector is compiled within one part, at
 * the latest in the last.
 */
static struct allocate_effort effort_of(const struct cycle *c)
{
	struct allocate_effort e = ALLOCATE_EFFORT;

	e.cost /= ATTEMPT_PARTS;
	if (c->part + 1 < ATTEMPT_PARTS)
		e.compile /= ATTEMPT_PARTS;
	return e;
}

struct verdict dra_pre_filter(struct plugin *p, struct cycle *c)
{
	const struct dra_state *s = p->services->dra;
	struct dra_cycle *d;
	struct verdict v;
	struct error err;
	struct str why;

	if (!s || (c->pod->nclaims == 0 && c->pod->requests.scalars.n == 0))
		return (struct verdict){ VERDICT_SKIP };
	if (!dra_claims_exist(s, c->pod, &c->arena, &why))
		return verdict_of(&c->arena, VERDICT_UNRESOLVABLE, why);
	d = ARENA_NEW(&c->arena, struct dra_cycle);
	d->arena = &c->arena;
	d->pod_uid = c->pod->uid;
	d->steps_left = ALLOCATE_ATTEMPT_STEPS_MAX;
	d->effort = effort_of(c);
	if (read_claims(s, c->pod, d, &err) < 0)
		return verdict_print(&c->arena, VERDICT_ERROR, "%s", err.msg);
	if (!dra_extended_begin(p, c, d, &v))
		return v;
	if (d->n == 0)
		return (struct verdict){ VERDICT_SKIP };
	for (size_t i = 0; i < d->n; i++) {
		struct dra_pod_claim *pc = &d->claims[i];

		if (!pc->allocated && !claim_possible(p, d, pc, &v))
			return v;
		if (pc->allocated && look_at_allocated(p, d, pc, &err) < 0)
			return verdict_print(&c->arena, VERDICT_ERROR, "%s", err.msg);
	}
	*cycle_state(c, p) = d;
	return VERDICT_OK;
}
