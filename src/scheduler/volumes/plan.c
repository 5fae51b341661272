/*
 * Finding volumes for claims: upstream's FindMatchingVolume and checkVolumeProvisions, on claims by
 * growing size, so that a large volume is left for the claim that needs it.
 */
#include "scheduler/volumes/plan.h"

#include <math.h>

#include "base/core/mem.h"
#include "base/json/json.h"
#include "client/informer/cache.h"
#include "scheduler/framework/common.h"

/* --- a volume for a claim ------------------------------------------------------------------ */

static bool bound_to(const struct volume *v, const struct volume_claim *c)
{
	return v->claim_name.p && str_eq(v->claim_name, c->name) && str_eq(v->claim_ns, c->ns) &&
	       (v->claim_uid.n == 0 || str_eq(v->claim_uid, c->uid));
}

static bool modes_fit(const struct volume_claim *c, const struct volume *v)
{
	JSON_FOREACH (mode, c->access_modes) {
		if (!json_has_text(v->access_modes, json_str(mode)))
			return false;
	}
	return true;
}

static bool taken(const struct volume_plan *plan, const struct volume *v)
{
	for (size_t i = 0; i < plan->nmatches; i++) {
		if (plan->matches[i].volume == v || str_eq(plan->matches[i].volume->name, v->name))
			return true;
	}
	return false;
}

/* Requirements for every volume, including one that is already bound to the claim. */
static bool could_be(const struct volume_claim *c, const struct volume *v)
{
	if (v->claim_name.p && !bound_to(v, c))
		return false;
	if (c->has_request && quantity_cmp(v->capacity, c->request) < 0)
		return false;
	return str_eq(v->mode, c->mode) && str_eq(v->attributes, c->attributes) && !v->deleting;
}

static bool suits(const struct volume_claim *c, const struct volume *v)
{
	return str_eqz(v->phase, "Available") && str_eq(v->class, c->class) &&
	       (!json_is(c->selector, JSON_OBJECT) || labels_selected(v->labels, c->selector)) &&
	       modes_fit(c, v);
}

static struct volume *find_match(const struct volume_candidates *from, const struct volume_claim *c,
				 const struct volume_plan *plan, const struct json *labels)
{
	struct volume *best = NULL;

	for (size_t i = 0; i < from->n; i++) {
		struct volume *v = from->v[i];

		if (taken(plan, v) || !could_be(c, v))
			continue;
		/* One that is bound to the claim is the only one that can be. */
		if (bound_to(v, c))
			return volume_allows(v, labels) ? v : NULL;
		if (!suits(c, v) || !volume_allows(v, labels))
			continue;
		if (!best || quantity_cmp(best->capacity, v->capacity) > 0)
			best = v;
	}
	return best;
}

/* --- making one ---------------------------------------------------------------------------- */

static bool topology_allows(const struct json *terms, const struct json *labels)
{
	if (json_count(terms) == 0)
		return true;
	JSON_FOREACH (term, terms) {
		const struct json *all = json_getz(term, "matchLabelExpressions");
		bool fits = json_count(all) > 0;

		JSON_FOREACH (e, all) {
			struct str value = labels_get(labels, json_text_at(e, "key"));

			fits = fits && value.p && json_has_text(json_getz(e, "values"), value);
		}
		if (fits)
			return true;
	}
	return false;
}

/* A CSIStorageCapacity that the node can reach and that has room. */
static bool capacity_fits(const struct json *o, const struct volume_claim *c,
			  const struct json *labels)
{
	const struct json *limit = json_getz(o, "maximumVolumeSize");
	const struct json *topology = json_getz(o, "nodeTopology");
	struct quantity room;

	return str_eq(json_text_at(o, "storageClassName"), c->class) &&
	       quantity_read(limit ? limit : json_getz(o, "capacity"), &room) &&
	       quantity_value(room) >= quantity_value(c->request) &&
	       json_is(topology, JSON_OBJECT) && labels_selected(labels, topology);
}

/*
 * Whether the node's storage has enough capacity. Only drivers that publish capacity are checked.
 */
static bool plan_has_room(const struct services *s, struct str provisioner,
			  struct volume_provision *provision, const struct json *labels,
			  struct arena *a)
{
	struct cached *driver = s->csi_drivers ? cache_get(s->csi_drivers, provisioner) : NULL;
	struct cache_walk w = { 0 };
	struct cached *o;

	provision->capacity = -1;
	if (!provision->claim->has_request || !driver ||
	    !str_eqz(cached_field(driver, "spec.storageCapacity", a), "true"))
		return true;
	while (s->csi_capacities && (o = cache_next(s->csi_capacities, &w))) {
		struct quantity room = { 0 };
		struct json *tree;

		if (cached_tree_held(o, a, &tree, NULL) < 0 ||
		    !capacity_fits(tree, provision->claim, labels))
			continue;
		(void)quantity_read(json_getz(tree, "capacity"), &room);
		provision->capacity = quantity_value(room);
		cache_walk_end(&w);
		return true;
	}
	return false;
}

enum outcome { PROVISION_OK, PROVISION_NO, PROVISION_NO_ROOM, PROVISION_ERROR };

static enum outcome try_provision(const struct services *s, struct volume_provision *provision,
				  const struct json *labels, struct verdict *ret_error,
				  struct arena *a)
{
	const struct volume_claim *c = provision->claim;
	const struct json *class;
	struct str provisioner;

	if (c->class.n == 0) {
		*ret_error = verdict_print(a, VERDICT_ERROR, "no class for claim \"%.*s\"",
					   STR_ARG(c->key));
		return PROVISION_ERROR;
	}
	class = volume_class_find(s, c->class, a);
	if (!class) {
		*ret_error = verdict_print(a, VERDICT_ERROR,
					   "failed to find storage class \"%.*s\"",
					   STR_ARG(c->class));
		return PROVISION_ERROR;
	}
	provisioner = json_text_at(class, "provisioner");
	if (provisioner.n == 0 || str_eqz(provisioner, "kubernetes.io/no-provisioner") ||
	    !topology_allows(json_getz(class, "allowedTopologies"), labels))
		return PROVISION_NO;
	return plan_has_room(s, provisioner, provision, labels, a) ? PROVISION_OK
								   : PROVISION_NO_ROOM;
}

/* --- all of a pod's ------------------------------------------------------------------------ */

#define REASON_BIND     "node(s) didn't find available persistent volumes to bind"
#define REASON_AFFINITY "node(s) didn't match PersistentVolume's node affinity"
#define REASON_SPACE    "node(s) did not have enough free storage"
#define REASON_NO_PV    "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"

static struct verdict check_bound(const struct volume_pod *pod, const struct json *labels)
{
	static const struct str affinity[] = { REASON(REASON_AFFINITY) };
	static const struct str no_volume[] = { REASON(REASON_NO_PV) };

	for (size_t i = 0; i < pod->nbound; i++) {
		if (!pod->volumes[i])
			return VERDICT_STATIC(VERDICT_UNRESOLVABLE, no_volume);
		if (!volume_allows(pod->volumes[i], labels))
			return VERDICT_STATIC(VERDICT_UNRESOLVABLE, affinity);
	}
	return VERDICT_OK;
}

/* Matches claims with volumes. Claims without a match must be provisioned. */
static void match(const struct volume_pod *pod, const struct json *labels, struct volume_plan *plan)
{
	for (size_t i = 0; i < pod->nunbound; i++) {
		struct volume_claim *c = pod->unbound[i];
		struct volume *v = NULL;

		if (!c->selected_node.p)
			v = find_match(&pod->candidates[i], c, plan, labels);
		if (v)
			plan->matches[plan->nmatches++] = (struct volume_match){ v, c };
		else
			plan->provisions[plan->nprovisions++] = (struct volume_provision){ c, -1 };
	}
}

static enum outcome provision(const struct services *s, const struct json *labels,
			      struct volume_plan *plan, struct verdict *ret_error, struct arena *a)
{
	for (size_t i = 0; i < plan->nprovisions; i++) {
		enum outcome o = try_provision(s, &plan->provisions[i], labels, ret_error, a);

		if (o != PROVISION_OK)
			return o;
	}
	return PROVISION_OK;
}

static enum outcome plan_unbound(const struct services *s, const struct volume_pod *pod,
				 struct str node, const struct json *labels,
				 struct volume_plan *plan, struct verdict *ret_error,
				 struct arena *a)
{
	for (size_t i = 0; i < pod->nunbound; i++) {
		struct str selected = pod->unbound[i]->selected_node;

		if (selected.p && !str_eq(selected, node))
			return PROVISION_NO;
	}
	plan->matches = ARENA_ARRAY(a, struct volume_match, pod->nunbound);
	plan->provisions = ARENA_ARRAY(a, struct volume_provision, pod->nunbound);
	match(pod, labels, plan);
	return provision(s, labels, plan, ret_error, a);
}

struct verdict volume_plan_make(const struct services *s, const struct volume_pod *pod,
				struct str node, const struct json *labels,
				struct volume_plan *ret_plan, struct arena *a)
{
	struct verdict v = check_bound(pod, labels), error = VERDICT_OK;
	enum outcome outcome;

	*ret_plan = (struct volume_plan){ 0 };
	if (pod->nunbound == 0)
		return v;
	outcome = plan_unbound(s, pod, node, labels, ret_plan, &error, a);
	if (outcome == PROVISION_ERROR)
		return error;
	if (outcome == PROVISION_OK)
		return v;
	/* Upstream's order of reasons: affinity, then unbound claims, then missing volumes. */
	if (v.n && str_eqz(v.reasons[0], REASON_NO_PV)) {
		v = verdict_of(a, VERDICT_UNRESOLVABLE,
			       outcome == PROVISION_NO ? STR(REASON_BIND) : STR(REASON_SPACE));
		verdict_add(a, &v, STR(REASON_NO_PV));
		return v;
	}
	v.code = VERDICT_UNRESOLVABLE;
	verdict_add(a, &v, outcome == PROVISION_NO ? STR(REASON_BIND) : STR(REASON_SPACE));
	return v;
}

/* --- scores -------------------------------------------------------------------------------- */

struct class_use {
	struct str class;
	int64_t requested, capacity;
};

static struct class_use *use_of(struct class_use *uses, size_t *n, struct str class)
{
	for (size_t i = 0; i < *n; i++) {
		if (str_eq(uses[i].class, class))
			return &uses[i];
	}
	uses[*n] = (struct class_use){ .class = class };
	return &uses[(*n)++];
}

static size_t sum_uses(const struct volume_plan *plan, struct class_use *uses)
{
	size_t n = 0;

	for (size_t i = 0; i < plan->nmatches; i++) {
		const struct volume_match *m = &plan->matches[i];
		struct class_use *u = use_of(
			uses, &n,
			json_text_at(json_getz(m->volume->tree, "spec"), "storageClassName"));

		u->requested += quantity_value(m->claim->request);
		u->capacity += quantity_value(m->volume->capacity);
	}
	for (size_t i = 0; plan->nmatches == 0 && i < plan->nprovisions; i++) {
		const struct volume_provision *p = &plan->provisions[i];
		struct class_use *u;

		if (p->capacity < 0)
			continue;
		u = use_of(uses, &n, p->claim->class);
		u->requested += quantity_value(p->claim->request);
		u->capacity = p->capacity; /* the same storage for all of the class */
	}
	return n;
}

int64_t volume_plan_score(const struct volume_binder *b, const struct volume_plan *plan,
			  struct arena *a)
{
	struct class_use *uses = ARENA_ARRAY(a, struct class_use,
					     plan->nmatches + plan->nprovisions + 1);
	size_t n = sum_uses(plan, uses);
	int64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		const struct class_use *u = &uses[i];
		bool full = u->capacity == 0 || u->requested > u->capacity;

		sum += resource_shape_at(&b->shape, full ? 100 : u->requested * 100 / u->capacity);
	}
	return n ? (int64_t)round((double)sum / (double)n) : 0;
}

/* --- assumptions --------------------------------------------------------------------------- */

/* Valid while the cache has the same version of the object as at the decision. */
struct assumed_volume {
	char *key;
	uint64_t revision;
	char *ns, *name, *uid; /* of a volume: the claim's */
	char *node; /* of a claim */
};

static void assumed_free(struct assumed_volume *v)
{
	if (!v)
		return;
	free(v->key);
	free(v->ns);
	free(v->name);
	free(v->uid);
	free(v->node);
	free(v);
}

static char *plan_key_of(const char *kind, struct str name)
{
	size_t n = strlen(kind);
	char *key = xmalloc(n + name.n + 1);

	memcpy(key, kind, n);
	str_put(key + n, name);
	key[n + name.n] = 0;
	return key;
}

static void plan_put(struct volume_binder *b, struct assumed_volume *v)
{
	assumed_free(map_put(&b->assumed, str_from(v->key), v));
}

static void plan_drop(struct volume_binder *b, const char *kind, struct str name)
{
	CLEANUP(free) char *key = plan_key_of(kind, name);

	assumed_free(map_remove(&b->assumed, str_from(key)));
}

static struct assumed_volume *plan_get(struct volume_binder *b, const char *kind, struct str name,
				       uint64_t revision)
{
	CLEANUP(free) char *key = NULL;
	struct assumed_volume *v;

	if (b->assumed.n == 0)
		return NULL;
	key = plan_key_of(kind, name);
	v = map_get(&b->assumed, str_from(key));
	if (v && v->revision != revision) {
		plan_drop(b, kind, name);
		return NULL;
	}
	return v;
}

void volume_assume(struct volume_binder *b, const struct volume_plan *plan, struct str node)
{
	for (size_t i = 0; i < plan->nmatches; i++) {
		const struct volume_match *m = &plan->matches[i];
		struct assumed_volume *v = XNEW(struct assumed_volume);

		v->key = plan_key_of("pv ", m->volume->name);
		v->revision = m->volume->object->revision;
		v->ns = str_dup(m->claim->ns);
		v->name = str_dup(m->claim->name);
		v->uid = str_dup(m->claim->uid);
		plan_put(b, v);
	}
	for (size_t i = 0; i < plan->nprovisions; i++) {
		const struct volume_claim *c = plan->provisions[i].claim;
		struct assumed_volume *v = XNEW(struct assumed_volume);

		v->key = plan_key_of("pvc ", c->key);
		v->revision = c->object->revision;
		v->node = str_dup(node);
		plan_put(b, v);
	}
}

void volume_forget(struct volume_binder *b, const struct volume_plan *plan)
{
	for (size_t i = 0; i < plan->nmatches; i++)
		plan_drop(b, "pv ", plan->matches[i].volume->name);
	for (size_t i = 0; i < plan->nprovisions; i++)
		plan_drop(b, "pvc ", plan->provisions[i].claim->key);
}

void volume_claim_overlay(struct volume_binder *b, struct volume_claim *c, struct arena *a)
{
	const struct assumed_volume *v = plan_get(b, "pvc ", c->key, c->object->revision);

	if (v)
		c->selected_node = arena_str(a, str_from(v->node));
}

void volume_overlay(struct volume_binder *b, struct volume *v, struct arena *a)
{
	const struct assumed_volume *as = plan_get(b, "pv ", v->name, v->object->revision);

	if (!as)
		return;
	v->claim_ns = arena_str(a, str_from(as->ns));
	v->claim_name = arena_str(a, str_from(as->name));
	v->claim_uid = arena_str(a, str_from(as->uid));
}

void volume_binder_release(struct volume_binder *b)
{
	struct str key;
	void *value;
	size_t at = 0;

	while (map_next(&b->assumed, &at, &key, &value))
		assumed_free(value);
	map_release(&b->assumed);
	arena_release(&b->arena);
}
