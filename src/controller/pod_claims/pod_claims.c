/*
 * Finds the objects that a change affects: from a pod to its claims, from a claim or a template to
 * the pods that name it. Each step uses an index of an informer. A key is queued if local data
 * show that there is something to do. The work is in pod_claims/pod.c and pod_claims/claim.c.
 */
#include "controller/pod_claims/pod_claims.h"

#include "api/api_limits.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "client/api/discovery.h"
#include "client/work/workqueue.h"
#include "controller/pod_claims/pod_claims_impl.h"

enum {
	WORKERS = 50, /* as upstream's controller */
	LOOK_AGAIN_MS = 30 * 1000, /* for claims, if the server does not serve them */
	RETRY_MS = 2 * 1000, /* after a failed discovery */
};

/* --- affected objects ------------------------------------------------------------------------ */

static void pod_claims_add_key(struct pod_claims *c, struct str prefix, struct str ns,
			       struct str name)
{
	char key[512];
	int n = snprintf(key, sizeof(key), "%.*s%.*s/%.*s", STR_ARG(prefix), STR_ARG(ns),
			 STR_ARG(name));

	if (n > 0 && (size_t)n < sizeof(key))
		workqueue_add(c->queue, str_of(key, (size_t)n));
}

static bool has_claims(const struct cached *pod)
{
	return cached_field(pod, "spec.resourceClaims", NULL).n > 2 ||
	       cached_field(pod, "status.extendedResourceClaimStatus", NULL).n > 2;
}

/* Whether an entry of a pod's claims needs work. Uses the scratch arena. */
static bool entry_needs_work(struct pod_claims *c, const struct cached *pod,
			     const struct json *tree, const struct json *entry)
{
	struct pod_claims_ref ref = pod_claims_ref_of(tree, entry);
	const struct cached *o;
	struct json *claim;

	if (ref.state != POD_CLAIMS_REF_NAMED)
		return ref.state != POD_CLAIMS_REF_UNNEEDED;
	o = cache_get_in(informer_cache(c->claims.informer), cached_ns(pod), ref.claim);
	if (!o)
		return ref.template.n > 0;
	if (cached_tree(o, &c->scratch, &claim, NULL) < 0 ||
	    (ref.template.n > 0 && !pod_claims_controlled_by(claim, pod->uid)))
		return false;
	return json_text_at(json_getz(tree, "spec"), "nodeName").n > 0 &&
	       pod_claims_wants_reservation(claim, pod->uid);
}

static bool pod_needs_work(struct pod_claims *c, const struct cached *pod, const struct json *tree)
{
	if (pod->deleting)
		return false;
	JSON_FOREACH (it, json_getz(json_getz(tree, "spec"), "resourceClaims")) {
		if (entry_needs_work(c, pod, tree, it))
			return true;
	}
	return false;
}

/* Queues the claims of a pod that no longer needs them. */
static void add_claims_of(struct pod_claims *c, struct str ns, const struct json *pod)
{
	struct str extended = pod_claims_extended(pod);

	JSON_FOREACH (it, json_getz(json_getz(pod, "spec"), "resourceClaims")) {
		struct pod_claims_ref ref = pod_claims_ref_of(pod, it);

		if (ref.state == POD_CLAIMS_REF_NAMED)
			pod_claims_add_key(c, POD_CLAIMS_CLAIM_KEY, ns, ref.claim);
	}
	if (extended.n > 0)
		pod_claims_add_key(c, POD_CLAIMS_CLAIM_KEY, ns, extended);
}

/*
 * Queues the claims that list the pod as user: our last version of the pod may be older than the
 * status that named its claims.
 */
static void add_claims_used_by(struct pod_claims *c, struct str uid)
{
	struct cache_walk walk = { 0 };
	const struct cached *claim;

	while ((claim = cache_next_by(informer_cache(c->claims.informer), POD_CLAIMS_BY_USER, uid,
				      &walk)))
		pod_claims_add_key(c, POD_CLAIMS_CLAIM_KEY, cached_ns(claim), cached_name(claim));
}

static void look_at_pod(struct pod_claims *c, const struct cached *o, bool deleted)
{
	struct json *pod;

	if (deleted)
		add_claims_used_by(c, o->uid);
	if (!has_claims(o))
		return;
	if (deleted)
		pod_claims_gone_add(&c->gone, o->uid);
	if (cached_tree(o, &c->scratch, &pod, NULL) == 0) {
		/* A finished pod gets nothing more, and its claims are being released. */
		if (deleted || pod_claims_pod_done(pod))
			add_claims_of(c, cached_ns(o), pod);
		else if (pod_needs_work(c, o, pod))
			pod_claims_add_key(c, POD_CLAIMS_POD_KEY, cached_ns(o), cached_name(o));
	}
	arena_clear(&c->scratch);
}

static void pod_claims_on_pod(struct informer_handler *h, struct cached *o, bool initial UNUSED)
{
	look_at_pod(CONTAINER_OF(h, struct pod_claims, pods.handler), o, false);
}

static void pod_claims_on_pod_update(struct informer_handler *h, struct cached *old,
				     struct cached *o)
{
	struct pod_claims *c = CONTAINER_OF(h, struct pod_claims, pods.handler);

	/* Another pod of that name replaced it unseen. */
	if (!str_eq(old->uid, o->uid))
		look_at_pod(c, old, true);
	look_at_pod(c, o, false);
}

static void pod_claims_on_pod_delete(struct informer_handler *h, struct cached *last,
				     bool unknown UNUSED)
{
	look_at_pod(CONTAINER_OF(h, struct pod_claims, pods.handler), last, true);
}

static void look_at_pods_by(struct pod_claims *c, const char *index, const struct cached *o)
{
	struct cache_walk walk = { 0 };
	const struct cached *pod;

	while ((pod = cache_next_by(informer_cache(c->pods.informer), index, o->key, &walk)))
		look_at_pod(c, pod, false);
}

/*
 * Initially every claim is checked, for pods that are gone. Later each changed claim is, because a
 * pod that was already gone may have been added to it.
 */
static void pod_claims_on_claim(struct informer_handler *h, struct cached *o, bool initial UNUSED)
{
	struct pod_claims *c = CONTAINER_OF(h, struct pod_claims, claims.handler);

	pod_claims_metrics_count(&c->metrics, o, 1, &c->scratch);
	pod_claims_add_key(c, POD_CLAIMS_CLAIM_KEY, cached_ns(o), cached_name(o));
	look_at_pods_by(c, POD_CLAIMS_BY_CLAIM, o);
}

static void pod_claims_on_claim_update(struct informer_handler *h, struct cached *old,
				       struct cached *o)
{
	struct pod_claims *c = CONTAINER_OF(h, struct pod_claims, claims.handler);

	pod_claims_metrics_count(&c->metrics, old, -1, &c->scratch);
	pod_claims_on_claim(h, o, false);
}

static void on_claim_delete(struct informer_handler *h, struct cached *last, bool unknown UNUSED)
{
	struct pod_claims *c = CONTAINER_OF(h, struct pod_claims, claims.handler);

	pod_claims_metrics_count(&c->metrics, last, -1, &c->scratch);
	look_at_pods_by(c, POD_CLAIMS_BY_CLAIM, last);
}

static void on_template(struct informer_handler *h, struct cached *o, bool initial UNUSED)
{
	struct pod_claims *c = CONTAINER_OF(h, struct pod_claims, templates.handler);

	look_at_pods_by(c, POD_CLAIMS_BY_TEMPLATE, o);
}

static void on_template_update(struct informer_handler *h, struct cached *old UNUSED,
			       struct cached *o)
{
	on_template(h, o, false);
}

/* --- indexes --------------------------------------------------------------------------------- */

static void index_refs(const struct cached *o, struct arena *a, struct cache_values *v,
		       bool templates)
{
	struct json *pod;

	if (cached_field(o, "spec.resourceClaims", NULL).n <= 2 ||
	    cached_tree(o, a, &pod, NULL) < 0)
		return;
	JSON_FOREACH (it, json_getz(json_getz(pod, "spec"), "resourceClaims")) {
		struct pod_claims_ref ref = pod_claims_ref_of(pod, it);
		struct str name = templates ? ref.template : ref.claim;

		if (name.n > 0)
			cache_values_add(
				v, str_from(arena_printf(a, "%.*s/%.*s", STR_ARG(cached_ns(o)),
							 STR_ARG(name))));
	}
}

static void index_claim(const struct cached *o, struct arena *a, struct cache_values *v)
{
	index_refs(o, a, v, false);
}

static void index_user(const struct cached *o, struct arena *a, struct cache_values *v)
{
	struct json *claim;

	if (cached_field(o, "status.reservedFor", NULL).n <= 2 ||
	    cached_tree(o, a, &claim, NULL) < 0)
		return;
	JSON_FOREACH (it, json_getz(json_getz(claim, "status"), "reservedFor"))
		cache_values_add(v, json_text_at(it, "uid"));
}

static void index_template(const struct cached *o, struct arena *a, struct cache_values *v)
{
	index_refs(o, a, v, true);
}

/* --- life ------------------------------------------------------------------------------------ */

static void pod_claims_follow(struct pod_claims *c)
{
	static const struct cache_index of_pods[] = { { POD_CLAIMS_BY_CLAIM, index_claim, NULL },
						      { POD_CLAIMS_BY_TEMPLATE, index_template,
							NULL },
						      { 0 } };
	static const struct cache_index of_claims[] = { { POD_CLAIMS_BY_OWNER,
							  cache_index_owner_uid, NULL },
							{ POD_CLAIMS_BY_USER, index_user, NULL },
							{ 0 } };

	c->pods = (struct followed){
		.resource = resource_builtin("", "v1", "pods"),
		.indexes = of_pods,
		.handler = { .on_add = pod_claims_on_pod,
			     .on_update = pod_claims_on_pod_update,
			     .on_delete = pod_claims_on_pod_delete },
	};
	c->claims = (struct followed){
		.resource = resource_builtin("resource.k8s.io", "v1", "resourceclaims"),
		.indexes = of_claims,
		.handler = { .on_add = pod_claims_on_claim,
			     .on_update = pod_claims_on_claim_update,
			     .on_delete = on_claim_delete },
	};
	c->templates = (struct followed){
		.resource = resource_builtin("resource.k8s.io", "v1", "resourceclaimtemplates"),
		.handler = { .on_add = on_template, .on_update = on_template_update },
	};
	follow(&c->following, &c->pods);
	follow(&c->following, &c->claims);
	follow(&c->following, &c->templates);
}

static void on_served(struct served_wait *w, const struct error *err)
{
	struct pod_claims *c = CONTAINER_OF(w, struct pod_claims, wait);
	const struct discovery *d = served_discovery(c->ctx.served);

	if (err) {
		loop_timer_start(&c->again, RETRY_MS);
		return;
	}
	c->looked = true;
	if (discovery_find(d, STR("resource.k8s.io"), STR("v1"), STR("resourceclaims")))
		pod_claims_follow(c);
	else
		loop_timer_start(&c->again, LOOK_AGAIN_MS);
}

static void pod_claims_on_again(struct loop_timer *t)
{
	struct pod_claims *c = CONTAINER_OF(t, struct pod_claims, again);

	served_look(c->ctx.served, &c->wait);
}

struct pod_claims *pod_claims_new(const struct context *ctx, const struct pod_claims_opts *opts)
{
	struct pod_claims *c = XNEW(struct pod_claims);

	c->ctx = *ctx;
	pod_claims_gone_init(&c->gone);
	pod_claims_metrics_init(&c->metrics, ctx->metrics);
	arena_init(&c->scratch, REQUEST_WORK_MAX);
	c->queue = workqueue_new(
		&(struct workqueue_opts){ .loop = ctx->loop,
					  .name = "resource_claim",
					  .workers = opts->workers ? opts->workers : WORKERS,
					  .handle = pod_claims_handle,
					  .arg = c,
					  .metrics = ctx->metrics });
	works_init(&c->jobs, c->queue, ctx->log, "key", NULL);
	following_init(&c->following, ctx->informers);
	following_hold(&c->following, c->queue);
	c->wait.done = on_served;
	loop_timer_init(&c->again, ctx->loop, pod_claims_on_again);
	served_look(ctx->served, &c->wait);
	return c;
}

bool pod_claims_synced(const struct pod_claims *c)
{
	return c->looked && following_synced(&c->following);
}

void pod_claims_free(struct pod_claims *c)
{
	if (!c)
		return;
	served_cancel(&c->wait);
	loop_timer_stop(&c->again);
	following_end(&c->following);
	works_release(&c->jobs);
	workqueue_free(c->queue);
	pod_claims_metrics_release(&c->metrics);
	pod_claims_gone_release(&c->gone);
	arena_release(&c->scratch);
	free(c);
}
