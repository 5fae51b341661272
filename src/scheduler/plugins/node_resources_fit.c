/*
 * NodeResourcesFit: filters nodes by free resources, and scores them with the configured strategy.
 *
 * The pod's request is prepared once: it is part of podinfo, and the scalars that count (not
 * ignored, not 0) are listed with the text of their reason. If a device class offers a scalar and
 * the node itself does not, the DynamicResources plugin handles it.
 */
#include "api/schema/names.h"
#include "base/core/mem.h"
#include "client/informer/cached.h"
#include "scheduler/cycle/cycle.h"
#include "scheduler/dra/state.h"
#include "scheduler/framework/common.h"
#include "scheduler/plugins/fit_args.h"
#include "scheduler/plugins/plugins.h"

enum { ARGS_MEMORY_MAX = 1 << 20 };

/* In the order in which upstream reports them. */
enum { SHORT_PODS = 1 << 0, SHORT_CPU = 1 << 1, SHORT_MEMORY = 1 << 2, SHORT_EPHEMERAL = 1 << 3 };
enum { SHORT_KINDS = 4 };
static const struct str short_of[SHORT_KINDS] = { REASON("Too many pods"),
						  REASON("Insufficient cpu"),
						  REASON("Insufficient memory"),
						  REASON("Insufficient ephemeral-storage") };

struct wanted_scalar {
	uint32_t name;
	bool delegated; /* some device class offers it */
	int64_t value;
	struct str reason;
};

struct fit_state {
	struct wanted_scalar *scalars;
	size_t nscalars;
	int64_t *requests; /* for the score; NULL until pre_score */
};

/* --- the plugin ----------------------------------------------------------------------------- */

static void node_resources_fit_release(struct plugin *p)
{
	struct fit_args *s = p->state;

	if (!s)
		return;
	arena_release(&s->arena);
	free(s);
	p->state = NULL;
}

static int node_resources_fit_init(struct plugin *p, const struct json *args, struct error *err)
{
	struct fit_args *s = XNEW(struct fit_args);
	int r;

	arena_init(&s->arena, ARGS_MEMORY_MAX);
	p->state = s;
	r = fit_args_read(s, p->services->names, args, err);
	if (r < 0)
		node_resources_fit_release(p);
	return r;
}

/* --- filter --------------------------------------------------------------------------------- */

static bool is_ignored(const struct fit_args *s, struct str name)
{
	struct str group = str_of(name.p, (size_t)MAX(str_chr(name, '/'), 0));

	if ((!s->ignored && !s->ignored_groups) || !names_is_extended_resource(name))
		return false;
	return json_has_text(s->ignored, name) || json_has_text(s->ignored_groups, group);
}

static bool is_offered_by_class(const struct plugin *p, struct str name)
{
	return p->services->dra && dra_state_backs_resource(p->services->dra, name);
}

static struct fit_state *make_state(struct plugin *p, struct cycle *c)
{
	const struct amounts *requests = &c->pod->requests;
	struct fit_state *s = ARENA_NEW(&c->arena, struct fit_state);

	if (requests->scalars.n > 0)
		s->scalars = ARENA_ARRAY(&c->arena, struct wanted_scalar, requests->scalars.n);
	for (size_t i = 0; i < requests->scalars.n; i++) {
		const struct amount_scalar *v = &requests->scalars.v[i];
		struct str name = amount_names_text(p->services->names, v->name);

		if (v->value <= 0 || is_ignored(p->state, name))
			continue;
		s->scalars[s->nscalars++] = (struct wanted_scalar){
			.name = v->name,
			.delegated = is_offered_by_class(p, name),
			.value = v->value,
			.reason = str_from(
				arena_printf(&c->arena, "Insufficient %.*s", STR_ARG(name)))
		};
	}
	return s;
}

static struct fit_state *need_state(struct plugin *p, struct cycle *c)
{
	void **state = cycle_state(c, p);

	if (!*state)
		*state = make_state(p, c);
	return *state;
}

static struct verdict node_resources_fit_pre_filter(struct plugin *p, struct cycle *c)
{
	*cycle_state(c, p) = make_state(p, c);
	return VERDICT_OK;
}

static bool is_short(int64_t want, int64_t all, int64_t have)
{
	return want > 0 && amount_exceeds(want, amount_sum(all, -have));
}

/* Which of SHORT_*; *ret_never are those that no removal of pods would help. */
static unsigned find_short(const struct amounts *want, const struct nodeinfo *n,
			   unsigned *ret_never)
{
	const struct amounts *all = &n->node->allocatable, *have = &n->requested;
	unsigned lacks = 0, never = 0;

	if ((int64_t)n->pods.n + 1 > all->pods)
		lacks |= SHORT_PODS;
	if (is_short(want->cpu_milli, all->cpu_milli, have->cpu_milli)) {
		lacks |= SHORT_CPU;
		never |= amount_exceeds(want->cpu_milli, all->cpu_milli);
	}
	if (is_short(want->memory, all->memory, have->memory)) {
		lacks |= SHORT_MEMORY;
		never |= amount_exceeds(want->memory, all->memory);
	}
	if (is_short(want->ephemeral, all->ephemeral, have->ephemeral)) {
		lacks |= SHORT_EPHEMERAL;
		never |= amount_exceeds(want->ephemeral, all->ephemeral);
	}
	*ret_never = never;
	return lacks;
}

static bool scalar_is_short(const struct wanted_scalar *w, const struct nodeinfo *n,
			    bool *ret_never)
{
	int64_t all = amounts_scalar(&n->node->allocatable, w->name);

	if (w->delegated && all <= 0)
		return false;
	if (!is_short(w->value, all, amounts_scalar(&n->requested, w->name)))
		return false;
	*ret_never |= amount_exceeds(w->value, all);
	return true;
}

/* One of the four alone needs no memory: it is the usual way to fail. */
static struct verdict short_verdict(struct arena *a, enum verdict_code code, unsigned lacks)
{
	struct verdict v = { .code = code };

	for (unsigned i = 0; i < SHORT_KINDS; i++) {
		if (lacks == 1u << i)
			return (struct verdict){ .code = code, .reasons = &short_of[i], .n = 1 };
		if (lacks & (1u << i))
			verdict_add(a, &v, short_of[i]);
	}
	return v;
}

static struct verdict node_resources_fit_filter(struct plugin *p, struct cycle *c,
						const struct nodeinfo *n)
{
	const struct fit_state *s = need_state(p, c);
	unsigned hopeless = 0;
	unsigned lacks = find_short(&c->pod->requests, n, &hopeless);
	bool never = hopeless != 0;
	struct verdict v = VERDICT_OK;

	if (lacks)
		v = short_verdict(&c->arena, VERDICT_UNSCHEDULABLE, lacks);
	for (size_t i = 0; i < s->nscalars; i++) {
		if (!scalar_is_short(&s->scalars[i], n, &never))
			continue;
		v.code = VERDICT_UNSCHEDULABLE;
		verdict_add(&c->arena, &v, s->scalars[i].reason);
	}
	if (v.n > 0 && never)
		v.code = VERDICT_UNRESOLVABLE;
	return v;
}

/* --- score ---------------------------------------------------------------------------------- */

static struct verdict node_resources_fit_pre_score(struct plugin *p, struct cycle *c)
{
	const struct fit_args *args = p->state;
	struct fit_state *s = need_state(p, c);

	s->requests = resource_scores_requests(&args->scores, &c->arena, p->services->names,
					       c->pod);
	return VERDICT_OK;
}

static struct verdict node_resources_fit_score(struct plugin *p, struct cycle *c, size_t at,
					       int64_t *ret_score)
{
	const struct fit_args *args = p->state;
	struct fit_state *s = need_state(p, c);

	if (!s->requests)
		(void)node_resources_fit_pre_score(p, c);
	*ret_score = resource_scores_of(&args->scores, s->requests, c->feasible[at]);
	return VERDICT_OK;
}

/* --- hints ---------------------------------------------------------------------------------- */

static enum event_hint after_delete(const struct plugin *p, const struct podinfo *waiting,
				    const struct cluster_event *e)
{
	return pod_is_nowhere(e->old_pod) ? HINT_SKIP : HINT_QUEUE;
}

/* Ignored resources count here, as upstream. */
static bool fits_empty(const struct plugin *p, const struct podinfo *pod,
		       const struct nodeobject *n)
{
	const struct amounts *want = &pod->requests, *all = &n->allocatable;

	if (all->pods < 1 || amount_exceeds(want->cpu_milli, MAX(all->cpu_milli, 0)) ||
	    amount_exceeds(want->memory, MAX(all->memory, 0)) ||
	    amount_exceeds(want->ephemeral, MAX(all->ephemeral, 0)))
		return false;
	for (size_t i = 0; i < want->scalars.n; i++) {
		const struct amount_scalar *v = &want->scalars.v[i];
		int64_t have = amounts_scalar(all, v->name);

		if (v->value > 0 && amount_exceeds(v->value, have) &&
		    (have > 0 ||
		     !is_offered_by_class(p, amount_names_text(p->services->names, v->name))))
			return false;
	}
	return true;
}

static bool scalars_grew(const struct plugin *p, const struct amounts *want,
			 const struct amounts *before, const struct amounts *now)
{
	for (size_t i = 0; i < want->scalars.n; i++) {
		const struct amount_scalar *v = &want->scalars.v[i];
		int64_t have = amounts_scalar(now, v->name);

		if (v->value == 0)
			continue;
		if (have > amounts_scalar(before, v->name))
			return true;
		if (have <= 0 &&
		    is_offered_by_class(p, amount_names_text(p->services->names, v->name)))
			return true;
	}
	return false;
}

static bool has_grown(const struct plugin *p, const struct amounts *want,
		      const struct amounts *before, const struct amounts *now)
{
	return now->pods > before->pods ||
	       (want->cpu_milli > 0 && now->cpu_milli > before->cpu_milli) ||
	       (want->memory > 0 && now->memory > before->memory) ||
	       (want->ephemeral > 0 && now->ephemeral > before->ephemeral) ||
	       scalars_grew(p, want, before, now);
}

static enum event_hint node_resources_fit_after_node(const struct plugin *p,
						     const struct podinfo *waiting,
						     const struct cluster_event *e)
{
	if (!fits_empty(p, waiting, e->node))
		return HINT_SKIP;
	if (!e->old_node)
		return HINT_QUEUE;
	return has_grown(p, &waiting->requests, &e->old_node->allocatable, &e->node->allocatable)
		       ? HINT_QUEUE
		       : HINT_SKIP;
}

static bool wants(const struct plugin *p, const struct podinfo *pod, struct str name)
{
	const struct amounts *want = &pod->requests;

	for (size_t i = 0; i < want->scalars.n; i++)
		if (str_eq(amount_names_text(p->services->names, want->scalars.v[i].name), name))
			return true;
	return false;
}

static struct str class_resource(const struct cached *o, struct arena *a)
{
	return cached_field(o, "spec.extendedResourceName", a);
}

static enum event_hint after_class(const struct plugin *p, const struct podinfo *waiting,
				   const struct cluster_event *e)
{
	struct arena a;
	struct str name;
	bool queue = false;

	arena_init(&a, ARGS_MEMORY_MAX);
	name = class_resource(e->object, &a);
	if (e->old_object && str_eq(class_resource(e->old_object, &a), name))
		name = STR_NULL;
	else if (!e->old_object)
		queue = wants(p, waiting,
			      str_from(arena_printf(&a, "deviceclass.resource.kubernetes.io/%.*s",
						    STR_ARG(cached_name(e->object)))));
	queue = queue || (name.n > 0 && wants(p, waiting, name));
	arena_release(&a);
	return queue ? HINT_QUEUE : HINT_SKIP;
}

/* Wakes the pod if the other pod released some of the resources that it requests. */
static enum event_hint after_scale_down(const struct plugin *p, const struct podinfo *waiting,
					const struct cluster_event *e)
{
	const struct amounts *want = &waiting->requests;
	const struct amounts *before = &e->old_pod->requests, *now = &e->pod->requests;

	if (e->pod->node.n == 0)
		return HINT_SKIP;
	if ((want->cpu_milli > 0 && before->cpu_milli > now->cpu_milli) ||
	    (want->memory > 0 && before->memory > now->memory) ||
	    (want->ephemeral > 0 && before->ephemeral > now->ephemeral))
		return HINT_QUEUE;
	for (size_t i = 0; i < want->scalars.n; i++) {
		const struct amount_scalar *v = &want->scalars.v[i];

		if (v->value != 0 && amounts_scalar(before, v->name) > amounts_scalar(now, v->name))
			return HINT_QUEUE;
	}
	return HINT_SKIP;
}

static const struct plugin_event events[] = {
	{ .kind = EVENT_ASSIGNED_POD, .actions = EVENT_DELETE, .hint = after_delete },
	{ .kind = EVENT_NODE,
	  .actions = EVENT_ADD | EVENT_UPDATE_NODE_ALLOCATABLE,
	  .hint = node_resources_fit_after_node },
	{ .kind = EVENT_DEVICE_CLASS, .actions = EVENT_ADD | EVENT_UPDATE, .hint = after_class },
	{ .kind = EVENT_ASSIGNED_POD,
	  .actions = EVENT_UPDATE_POD_SCALE_DOWN,
	  .hint = after_scale_down },
	{ .kind = EVENT_UNSCHEDULED_POD, .actions = EVENT_UPDATE_POD_SCALE_DOWN },
	{ 0 },
};

const struct plugin_kind plugin_node_resources_fit = {
	.name = "NodeResourcesFit",
	.init = node_resources_fit_init,
	.release = node_resources_fit_release,
	.events = events,
	.pre_filter = node_resources_fit_pre_filter,
	.filter = node_resources_fit_filter,
	.pre_score = node_resources_fit_pre_score,
	.score = node_resources_fit_score,
};
