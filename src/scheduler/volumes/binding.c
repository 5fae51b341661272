/*
 * VolumeBinding: schedules a pod where its volumes are, or can be. A pod waits if one of its claims
 * should have been bound immediately, but is not. Claims that wait for their first consumer get a
 * volume on the chosen node: before the pod is bound, the plugin writes the volume, or a request to
 * provision one there, and waits until the claims are bound.
 *
 * In-tree volumes are used as they are, without translation to CSI.
 */
#include "base/core/mem.h"
#include "base/report/field_errors.h"
#include "client/informer/cache.h"
#include "scheduler/cycle/cycle.h"
#include "scheduler/framework/common.h"
#include "scheduler/volumes/plan.h"

enum { BIND_TIMEOUT_S = 600, ARGS_MAX = 1 << 20 };

/* --- arguments ----------------------------------------------------------------------------- */

static int check_args(const struct json *args, struct error *err)
{
	static const char *const fields[] = { "bindTimeoutSeconds", "shape", NULL };
	struct field_path timeout = field_path_name(NULL, "bindTimeoutSeconds");
	struct field_path shape = field_path_name(NULL, "shape");
	CLEANUP(arena_release) struct arena a;
	struct field_errors faults;
	int r;

	arena_init(&a, ARGS_MAX);
	field_errors_init(&faults, &a);
	r = plugin_args_check(args, "VolumeBindingArgs", fields, err);
	if (r < 0)
		return r;
	if (json_i64_at(args, "bindTimeoutSeconds", BIND_TIMEOUT_S) < 0)
		field_errors_invalid(
			&faults, &timeout,
			FIELD_I64(json_i64_at(args, "bindTimeoutSeconds", BIND_TIMEOUT_S)),
			"invalid BindTimeoutSeconds, should not be a negative value");
	if (json_count(json_getz(args, "shape")))
		resource_shape_check(json_getz(args, "shape"), &shape, &faults);
	return plugin_args_verdict(&faults, err);
}

static int binding_init(struct plugin *p, const struct json *args, struct error *err)
{
	static struct resource_point const usual[] = { { 0, SCORE_MAX }, { 100, 0 } };
	struct volume_binder *b;
	int r = check_args(args, err);

	if (r < 0)
		return r;
	b = XNEW(struct volume_binder);
	arena_init(&b->arena, ARGS_MAX);
	map_init(&b->assumed);
	b->bind_timeout_ms = json_i64_at(args, "bindTimeoutSeconds", BIND_TIMEOUT_S) * 1000;
	if (json_count(json_getz(args, "shape"))) {
		resource_shape_read(&b->shape, &b->arena, json_getz(args, "shape"));
	} else {
		b->shape.shape = ARENA_ARRAY(&b->arena, struct resource_point, 2);
		memcpy(b->shape.shape, usual, sizeof(usual));
		b->shape.nshape = 2;
	}
	p->state = b;
	return 0;
}

static void binding_release(struct plugin *p)
{
	volume_binder_release(p->state);
	free(p->state);
}

/* --- pre_filter ---------------------------------------------------------------------------- */

static struct verdict claim_missing(const struct pod_volume *v, struct arena *a)
{
	if (v->ephemeral)
		return verdict_print(a, VERDICT_UNRESOLVABLE,
				     "waiting for ephemeral volume controller to create the "
				     "persistentvolumeclaim \"%.*s\"",
				     STR_ARG(v->pvc));
	return volume_not_found("persistentvolumeclaim", v->pvc, a);
}

static struct verdict check_claim(const struct volume_claim *c, const struct podinfo *pod,
				  const struct pod_volume *v, struct arena *a)
{
	if (c->lost)
		return verdict_print(a, VERDICT_UNRESOLVABLE,
				     "persistentvolumeclaim \"%.*s\" bound to non-existent "
				     "persistentvolume \"%.*s\"",
				     STR_ARG(c->name), STR_ARG(c->volume));
	if (c->deleting)
		return verdict_print(a, VERDICT_UNRESOLVABLE,
				     "persistentvolumeclaim \"%.*s\" is being deleted",
				     STR_ARG(c->name));
	if (v->ephemeral && !volume_claim_is_of(c, pod))
		return volume_claim_foreign(c, pod, VERDICT_UNRESOLVABLE, a);
	return VERDICT_OK;
}

/* Whether the claim's class makes it wait for its first consumer. */
static struct verdict waits(const struct services *s, const struct volume_claim *c, bool *ret_waits,
			    struct arena *a)
{
	const struct json *class = c->class.n ? volume_class_find(s, c->class, a) : NULL;
	struct str mode = json_text_at(class, "volumeBindingMode");

	*ret_waits = str_eqz(mode, "WaitForFirstConsumer") && c->volume.n == 0;
	if (class && !mode.p)
		return verdict_print(a, VERDICT_ERROR,
				     "VolumeBindingMode not set for StorageClass \"%.*s\"",
				     STR_ARG(c->class));
	return VERDICT_OK;
}

/* Claims are checked, all of them, before any is sorted: upstream's order of reasons. */
static struct verdict read_claims(struct plugin *p, struct cycle *c, struct volume_claim **claims,
				  size_t *ret_n)
{
	const struct podinfo *pod = c->pod;
	size_t n = 0;

	for (size_t i = 0; i < pod->nvolumes; i++) {
		const struct pod_volume *v = &pod->volumes[i];
		struct verdict verdict;

		if (v->pvc.n == 0)
			continue;
		claims[n] = volume_claim_find(p->services, v->pvc_key, &c->arena);
		if (!claims[n])
			return claim_missing(v, &c->arena);
		verdict = check_claim(claims[n], pod, v, &c->arena);
		if (verdict.code != VERDICT_SUCCESS)
			return verdict;
		volume_claim_overlay(p->state, claims[n++], &c->arena);
	}
	*ret_n = n;
	return VERDICT_OK;
}

static struct verdict sort_claims(struct plugin *p, struct cycle *c, struct volume_pod *s,
				  struct volume_claim *const *claims, size_t n)
{
	bool immediate = false;

	for (size_t i = 0; i < n; i++) {
		struct verdict v;
		bool delayed;

		if (claims[i]->bound) {
			s->bound[s->nbound++] = claims[i];
			continue;
		}
		v = waits(p->services, claims[i], &delayed, &c->arena);
		if (v.code != VERDICT_SUCCESS)
			return v;
		if (delayed)
			s->unbound[s->nunbound++] = claims[i];
		immediate = immediate || !delayed;
	}
	if (immediate)
		return verdict_of(&c->arena, VERDICT_UNRESOLVABLE,
				  STR("pod has unbound immediate PersistentVolumeClaims"));
	return VERDICT_OK;
}

static bool goes_before(const struct volume_claim *a, const struct volume_claim *b)
{
	if (!a->selected_node.p != !b->selected_node.p)
		return a->selected_node.p;
	return !a->selected_node.p && quantity_cmp(a->request, b->request) < 0;
}

/* Those with a node first, then by size; else in the pod's order. There are few. */
static void order_claims(struct volume_claim **v, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct volume_claim *c = v[i];
		size_t k = i;

		for (; k > 0 && goes_before(c, v[k - 1]); k--)
			v[k] = v[k - 1];
		v[k] = c;
	}
}

static void list_candidates(struct plugin *p, struct cycle *c, struct volume_candidates *to,
			    struct str class)
{
	const struct cache *all = p->services->pvs;
	struct cache_walk w = { 0 };
	struct cached *o;

	to->class = class;
	to->v = ARENA_ARRAY(&c->arena, struct volume *, (all ? cache_count(all) : 0) + 1);
	while (all && (o = cache_next(all, &w))) {
		struct volume *v;

		/* By field or annotation: only those that could be of the class are read. */
		if (!str_eq(cached_field(o, "spec.storageClassName", NULL), class) &&
		    !cached_annotation(o, STR("volume.beta.kubernetes.io/storage-class"), NULL).p)
			continue;
		v = volume_read(o, &c->arena);
		if (!v || !str_eq(v->class, class))
			continue;
		volume_overlay(p->state, v, &c->arena);
		to->v[to->n++] = v;
	}
}

static void find_candidates(struct plugin *p, struct cycle *c, struct volume_pod *s)
{
	s->candidates = ARENA_ARRAY(&c->arena, struct volume_candidates, s->nunbound + 1);
	for (size_t i = 0; i < s->nunbound; i++) {
		struct str class = s->unbound[i]->class;
		size_t k = 0;

		while (k < i && !str_eq(s->candidates[k].class, class))
			k++;
		if (k < i)
			s->candidates[i] = s->candidates[k];
		else
			list_candidates(p, c, &s->candidates[i], class);
	}
}

static bool has_claims(const struct podinfo *pod)
{
	for (size_t i = 0; i < pod->nvolumes; i++) {
		if (pod->volumes[i].pvc.n)
			return true;
	}
	return false;
}

static struct verdict binding_pre_filter(struct plugin *p, struct cycle *c)
{
	size_t most = c->pod->nvolumes, n = 0;
	struct volume_claim **claims;
	struct volume_pod *s;
	struct verdict v;

	if (!has_claims(c->pod))
		return (struct verdict){ .code = VERDICT_SKIP };
	claims = ARENA_ARRAY(&c->arena, struct volume_claim *, most);
	v = read_claims(p, c, claims, &n);
	if (v.code != VERDICT_SUCCESS)
		return v;
	s = ARENA_NEW(&c->arena, struct volume_pod);
	s->bound = ARENA_ARRAY(&c->arena, struct volume_claim *, most);
	s->unbound = ARENA_ARRAY(&c->arena, struct volume_claim *, most);
	v = sort_claims(p, c, s, claims, n);
	if (v.code != VERDICT_SUCCESS)
		return v;
	s->volumes = ARENA_ARRAY(&c->arena, struct volume *, most);
	for (size_t i = 0; i < s->nbound; i++)
		s->volumes[i] = volume_find(p->services, s->bound[i]->volume, &c->arena);
	order_claims(s->unbound, s->nunbound);
	find_candidates(p, c, s);
	*cycle_state(c, p) = s;
	return VERDICT_OK;
}

/* --- the other points ---------------------------------------------------------------------- */

static struct verdict binding_filter(struct plugin *p, struct cycle *c, const struct nodeinfo *n)
{
	struct volume_plan plan;

	return volume_plan_make(p->services, *cycle_state(c, p), n->name, n->node->labels, &plan,
				&c->arena);
}

static struct verdict binding_pre_score(struct plugin *p, struct cycle *c)
{
	const struct volume_pod *s = *cycle_state(c, p);

	return (struct verdict){ .code = s && s->nunbound ? VERDICT_SUCCESS : VERDICT_SKIP };
}

static struct verdict binding_score(struct plugin *p, struct cycle *c, size_t at,
				    int64_t *ret_score)
{
	const struct nodeinfo *n = c->feasible[at];
	struct volume_plan plan;
	struct verdict v = volume_plan_make(p->services, *cycle_state(c, p), n->name,
					    n->node->labels, &plan, &c->arena);

	*ret_score = v.code == VERDICT_SUCCESS ? volume_plan_score(p->state, &plan, &c->arena) : 0;
	return VERDICT_OK;
}

/* Makes the plan again. It is the same, since nothing has changed since filter. */
static struct verdict reserve(struct plugin *p, struct cycle *c, struct str node)
{
	struct volume_pod *s = *cycle_state(c, p);
	const struct nodeinfo *n = nodecache_node(p->services->nodes, node);
	struct verdict v;

	if (!s || s->nunbound == 0)
		return VERDICT_OK;
	if (!n || !n->node)
		return verdict_print(&c->arena, VERDICT_ERROR, "node \"%.*s\" is gone",
				     STR_ARG(node));
	v = volume_plan_make(p->services, s, node, n->node->labels, &s->plan, &c->arena);
	if (v.code != VERDICT_SUCCESS)
		return v;
	volume_assume(p->state, &s->plan, node);
	s->reserved = true;
	return VERDICT_OK;
}

static void unreserve(struct plugin *p, struct cycle *c, struct str node UNUSED)
{
	struct volume_pod *s = *cycle_state(c, p);

	if (!s || !s->reserved)
		return;
	volume_forget(p->state, &s->plan);
	s->reserved = false;
}

static void pre_bind(struct plugin *p, struct binding *b)
{
	const struct volume_pod *s = *cycle_state(binding_cycle(b), p);

	if (!s || !s->reserved)
		binding_done(b, VERDICT_OK);
	else
		volume_bind_begin(p, b, &s->plan);
}

/* --- hints --------------------------------------------------------------------------------- */

/* The JSON text of a field is another; objects are never changed in their order by chance. */
static bool binding_differs(const struct cluster_event *e, const char *path)
{
	CLEANUP(arena_release) struct arena a;
	struct str was, is;

	arena_init(&a, 1 << 20);
	was = cached_field(e->old_object, path, &a);
	is = cached_field(e->object, path, &a);
	return !was.p != !is.p || !str_eq(was, is);
}

static enum event_hint class_changed(const struct plugin *p UNUSED,
				     const struct podinfo *waiting UNUSED,
				     const struct cluster_event *e)
{
	return !e->old_object || !e->object || binding_differs(e, "allowedTopologies") ? HINT_QUEUE
										       : HINT_SKIP;
}

static enum event_hint claim_changed(const struct plugin *p UNUSED, const struct podinfo *waiting,
				     const struct cluster_event *e)
{
	return volume_event_concerns(e, waiting, true) ? HINT_QUEUE : HINT_SKIP;
}

/* Upstream only needs this event to translate in-tree volumes, which we do not do. */
static enum event_hint csi_node_changed(const struct plugin *p UNUSED,
					const struct podinfo *waiting UNUSED,
					const struct cluster_event *e)
{
	return e->old_object ? HINT_SKIP : HINT_QUEUE;
}

/* Wakes the pod if the driver's capacity is no longer checked. */
static enum event_hint driver_changed(const struct plugin *p UNUSED,
				      const struct podinfo *waiting UNUSED,
				      const struct cluster_event *e)
{
	if (!e->old_object || !e->object)
		return HINT_SKIP;
	return str_eqz(cached_field(e->old_object, "spec.storageCapacity", NULL), "true") &&
			       binding_differs(e, "spec.storageCapacity")
		       ? HINT_QUEUE
		       : HINT_SKIP;
}

static int64_t limit_of(const struct cached *o)
{
	struct str text = cached_field(o, "maximumVolumeSize", NULL);
	struct quantity q;

	if (!text.p)
		text = cached_field(o, "capacity", NULL);
	return text.p && quantity_parse(text, &q, NULL) == 0 ? quantity_value(q) : -1;
}

static enum event_hint capacity_changed(const struct plugin *p UNUSED,
					const struct podinfo *waiting UNUSED,
					const struct cluster_event *e)
{
	if (!e->old_object || !e->object)
		return HINT_QUEUE;
	return limit_of(e->object) > limit_of(e->old_object) ? HINT_QUEUE : HINT_SKIP;
}

static const struct plugin_event events[] = {
	{ .kind = EVENT_STORAGE_CLASS, .actions = EVENT_ADD | EVENT_UPDATE, .hint = class_changed },
	{ .kind = EVENT_PVC, .actions = EVENT_ADD | EVENT_UPDATE, .hint = claim_changed },
	{ .kind = EVENT_PV, .actions = EVENT_ADD | EVENT_UPDATE },
	{ .kind = EVENT_NODE, .actions = EVENT_ADD | EVENT_UPDATE_NODE_LABEL },
	{ .kind = EVENT_CSI_NODE, .actions = EVENT_ADD | EVENT_UPDATE, .hint = csi_node_changed },
	{ .kind = EVENT_CSI_DRIVER, .actions = EVENT_UPDATE, .hint = driver_changed },
	{ .kind = EVENT_CSI_CAPACITY,
	  .actions = EVENT_ADD | EVENT_UPDATE,
	  .hint = capacity_changed },
	{ .actions = 0 },
};

const struct plugin_kind plugin_volume_binding = {
	.name = "VolumeBinding",
	.init = binding_init,
	.release = binding_release,
	.events = events,
	.pre_filter = binding_pre_filter,
	.filter = binding_filter,
	.pre_score = binding_pre_score,
	.score = binding_score,
	.reserve = reserve,
	.unreserve = unreserve,
	.pre_bind = pre_bind,
};
