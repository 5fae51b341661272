/*
 * Finds the Services that a change affects: from a claim to the pods that use it, from a pod to
 * the Services that select it. Each step uses an index of an informer. endpoints/job.c does the
 * work.
 */
#include "controller/endpoints/network_endpoints.h"

#include "api/api_limits.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "client/work/workqueue.h"
#include "controller/endpoints/network_endpoints_impl.h"
#include "controller/endpoints/slices.h"

enum { WORKERS = 5 /* as upstream's controller */ };

struct str network_endpoints_label(const void *pod, struct str key)
{
	return cached_label(pod, key, NULL);
}

/* --- affected Services ----------------------------------------------------------------------- */

static bool has_claims(const struct cached *pod)
{
	return cached_field(pod, "spec.resourceClaims", NULL).n > 2;
}

/* Queues the Services that select the pod. */
static void add_services_of(struct network_endpoints *n, const struct cached *pod)
{
	const struct cache *services = informer_cache(n->services.informer);
	struct cache_walk walk = { 0 };
	const struct cached *o;

	while ((o = cache_next_by(services, "network", cached_ns(pod), &walk))) {
		struct network_service says;
		struct json *tree;

		if (cached_tree(o, &n->scratch, &tree, NULL) == 0 &&
		    network_service_read(&n->scratch, tree, &says, NULL) > 0 &&
		    network_service_selects(&says, network_endpoints_label, pod))
			workqueue_add(n->queue, o->key);
		arena_clear(&n->scratch);
	}
}

static bool same_field(const struct cached *a, const struct cached *b, const char *path)
{
	return str_eq(cached_field(a, path, NULL), cached_field(b, path, NULL));
}

static bool network_endpoints_is_ready(struct network_endpoints *n, const struct cached *pod)
{
	struct json *tree;
	bool ready = cached_tree(pod, &n->scratch, &tree, NULL) == 0 && network_pod_ready(tree);

	arena_clear(&n->scratch);
	return ready;
}

/* Most changes of a pod, such as those of its containers, do not affect its endpoints. */
static bool same_pod(struct network_endpoints *n, const struct cached *old, const struct cached *o)
{
	static const char *const fields[] = {
		"metadata.labels",
		"spec.nodeName",
		"status.phase",
		"status.resourceClaimStatuses",
	};

	if (old->deleting != o->deleting || !str_eq(old->uid, o->uid))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (!same_field(old, o, fields[i]))
			return false;
	}
	return network_endpoints_is_ready(n, old) == network_endpoints_is_ready(n, o);
}

static void network_endpoints_on_pod(struct informer_handler *h, struct cached *o, bool initial)
{
	struct network_endpoints *n = CONTAINER_OF(h, struct network_endpoints, pods.handler);

	/* Initially every Service is checked. */
	if (!initial && has_claims(o))
		add_services_of(n, o);
}

static void network_endpoints_on_pod_update(struct informer_handler *h, struct cached *old,
					    struct cached *o)
{
	struct network_endpoints *n = CONTAINER_OF(h, struct network_endpoints, pods.handler);

	if (old == o || !(has_claims(old) || has_claims(o)) || same_pod(n, old, o))
		return;
	add_services_of(n, o);
	if (!same_field(old, o, "metadata.labels"))
		add_services_of(n, old);
}

static void network_endpoints_on_pod_delete(struct informer_handler *h, struct cached *last,
					    bool unknown UNUSED)
{
	network_endpoints_on_pod(h, last, false);
}

static void network_endpoints_on_claim(struct informer_handler *h, struct cached *o, bool initial)
{
	struct network_endpoints *n = CONTAINER_OF(h, struct network_endpoints, claims.handler);
	struct cache_walk walk = { 0 };
	const struct cached *pod;

	if (initial)
		return;
	while ((pod = cache_next_by(informer_cache(n->pods.informer), "claim", o->key, &walk)))
		add_services_of(n, pod);
}

static void network_endpoints_on_claim_update(struct informer_handler *h, struct cached *old,
					      struct cached *o)
{
	if (!same_field(old, o, "status.devices") || !same_field(old, o, "status.reservedFor"))
		network_endpoints_on_claim(h, o, false);
}

static void on_claim_delete(struct informer_handler *h, struct cached *last, bool unknown UNUSED)
{
	network_endpoints_on_claim(h, last, false);
}

static bool takes_part(struct network_endpoints *n, const struct cached *service)
{
	bool part = cached_annotation(service, NETWORK_ANNOTATION, &n->scratch).p != NULL;

	arena_clear(&n->scratch);
	return part;
}

static void on_service_update(struct informer_handler *h, struct cached *old, struct cached *o)
{
	struct network_endpoints *n = CONTAINER_OF(h, struct network_endpoints, services.handler);

	if (takes_part(n, old) || takes_part(n, o))
		workqueue_add(n->queue, o->key);
}

static void on_service(struct informer_handler *h, struct cached *o, bool initial UNUSED)
{
	on_service_update(h, o, o);
}

static void on_service_delete(struct informer_handler *h, struct cached *last, bool unknown UNUSED)
{
	on_service_update(h, last, last);
}

/* The key of the Service that a slice of ours names; empty if the slice is not ours. */
static struct str service_of(const struct cached *slice, struct arena *a)
{
	struct str name = cached_label(slice, NETWORK_SERVICE_NAME_LABEL, a);

	if (name.n == 0 ||
	    !str_eqz(cached_label(slice, NETWORK_MANAGED_BY_LABEL, a), NETWORK_MANAGER))
		return STR_NULL;
	return str_from(arena_printf(a, "%.*s/%.*s", STR_ARG(cached_ns(slice)), STR_ARG(name)));
}

static void network_endpoints_on_slice(struct informer_handler *h, struct cached *o,
				       bool initial UNUSED)
{
	struct network_endpoints *n = CONTAINER_OF(h, struct network_endpoints, slices.handler);
	struct str key = service_of(o, &n->scratch);

	if (key.n > 0)
		workqueue_add(n->queue, key);
	arena_clear(&n->scratch);
}

static void on_slice_update(struct informer_handler *h, struct cached *old, struct cached *o)
{
	network_endpoints_on_slice(h, old, false);
	network_endpoints_on_slice(h, o, false);
}

static void on_slice_delete(struct informer_handler *h, struct cached *last, bool unknown UNUSED)
{
	network_endpoints_on_slice(h, last, false);
}

/* --- indexes --------------------------------------------------------------------------------- */

/* Services that opt in, by namespace. */
static void index_network(const struct cached *o, struct arena *a, struct cache_values *v)
{
	if (cached_annotation(o, NETWORK_ANNOTATION, a).p)
		cache_values_add(v, cached_ns(o));
}

/* Pods that have claims, by namespace. */
static void index_namespace(const struct cached *o, struct arena *a UNUSED, struct cache_values *v)
{
	if (has_claims(o))
		cache_values_add(v, cached_ns(o));
}

/* Pods by the keys of their claims. */
static void index_claim(const struct cached *o, struct arena *a, struct cache_values *v)
{
	struct network_claim_ref *refs;
	struct json *tree;
	size_t n;

	if (!has_claims(o) || cached_tree(o, a, &tree, NULL) < 0)
		return;
	n = network_pod_claims(a, tree, &refs);
	for (size_t i = 0; i < n; i++)
		cache_values_add(v, str_from(arena_printf(a, "%.*s/%.*s", STR_ARG(cached_ns(o)),
							  STR_ARG(refs[i].claim))));
}

/* Our slices, by the keys of their Services. */
static void index_service(const struct cached *o, struct arena *a, struct cache_values *v)
{
	struct str key = service_of(o, a);

	if (key.n > 0)
		cache_values_add(v, key);
}

/* --- life ------------------------------------------------------------------------------------ */

/* Until all informers have their state, endpoints would seem to be missing. */
static void network_endpoints_on_synced(struct network_endpoints *n)
{
	if (n->services.handler.synced && n->pods.handler.synced && n->claims.handler.synced &&
	    n->slices.handler.synced)
		workqueue_hold(n->queue, false);
}

static void on_services_synced(struct informer_handler *h)
{
	network_endpoints_on_synced(CONTAINER_OF(h, struct network_endpoints, services.handler));
}

static void on_pods_synced(struct informer_handler *h)
{
	network_endpoints_on_synced(CONTAINER_OF(h, struct network_endpoints, pods.handler));
}

static void on_claims_synced(struct informer_handler *h)
{
	network_endpoints_on_synced(CONTAINER_OF(h, struct network_endpoints, claims.handler));
}

static void on_slices_synced(struct informer_handler *h)
{
	network_endpoints_on_synced(CONTAINER_OF(h, struct network_endpoints, slices.handler));
}

static void network_endpoints_follow(struct network_endpoints *n, struct followed *f,
				     struct str label_selector, const struct cache_index *indexes)
{
	f->informer = informers_get(n->ctx.informers,
				    &(struct informer_spec){ .resource = &f->resource,
							     .label_selector = label_selector,
							     .slim = true });
	for (; indexes && indexes->name; indexes++)
		informer_add_index(f->informer, indexes);
	informer_add_handler(f->informer, &f->handler);
}

static void follow_all(struct network_endpoints *n)
{
	static const struct cache_index of_services[] = { { "network", index_network, NULL },
							  { 0 } };
	static const struct cache_index of_pods[] = { { "namespace", index_namespace, NULL },
						      { "claim", index_claim, NULL },
						      { 0 } };
	static const struct cache_index of_slices[] = { { "service", index_service, NULL }, { 0 } };

	n->services = (struct followed){
		.resource = resource_builtin("", "v1", "services"),
		.handler = { .on_add = on_service,
			     .on_update = on_service_update,
			     .on_delete = on_service_delete,
			     .on_synced = on_services_synced },
	};
	n->pods = (struct followed){
		.resource = resource_builtin("", "v1", "pods"),
		.handler = { .on_add = network_endpoints_on_pod,
			     .on_update = network_endpoints_on_pod_update,
			     .on_delete = network_endpoints_on_pod_delete,
			     .on_synced = on_pods_synced },
	};
	n->claims = (struct followed){
		.resource = resource_builtin("resource.k8s.io", "v1", "resourceclaims"),
		.handler = { .on_add = network_endpoints_on_claim,
			     .on_update = network_endpoints_on_claim_update,
			     .on_delete = on_claim_delete,
			     .on_synced = on_claims_synced },
	};
	n->slices = (struct followed){
		.resource = resource_builtin("discovery.k8s.io", "v1", "endpointslices"),
		.handler = { .on_add = network_endpoints_on_slice,
			     .on_update = on_slice_update,
			     .on_delete = on_slice_delete,
			     .on_synced = on_slices_synced },
	};
	network_endpoints_follow(n, &n->services, STR_NULL, of_services);
	network_endpoints_follow(n, &n->pods, STR_NULL, of_pods);
	network_endpoints_follow(n, &n->claims, STR_NULL, NULL);
	network_endpoints_follow(n, &n->slices,
				 STR("endpointslice.kubernetes.io/managed-by=" NETWORK_MANAGER),
				 of_slices);
}

static void network_endpoints_handle(void *arg, struct str key)
{
	struct network_endpoints *n = arg;

	slice_jobs_handle(&n->jobs, key);
}

struct network_endpoints *network_endpoints_new(const struct context *ctx)
{
	struct network_endpoints *n = XNEW(struct network_endpoints);

	n->ctx = *ctx;
	arena_init(&n->scratch, REQUEST_WORK_MAX);
	n->queue = workqueue_new(&(struct workqueue_opts){ .loop = ctx->loop,
							   .name = "network_endpoints",
							   .workers = WORKERS,
							   .handle = network_endpoints_handle,
							   .arg = n,
							   .metrics = ctx->metrics });
	workqueue_hold(n->queue, true);
	follow_all(n);
	n->jobs = (struct slice_jobs){
		.ctx = &n->ctx,
		.resource = &n->slices.resource,
		.slices = n->slices.informer,
		.services = n->services.informer,
		.queue = n->queue,
		.failure = "cannot write EndpointSlices of network addresses",
		.plan = network_endpoints_plan,
	};
	slice_jobs_init(&n->jobs);
	return n;
}

void network_endpoints_free(struct network_endpoints *n)
{
	if (!n)
		return;
	informer_remove_handler(&n->services.handler);
	informer_remove_handler(&n->pods.handler);
	informer_remove_handler(&n->claims.handler);
	informer_remove_handler(&n->slices.handler);
	slice_jobs_release(&n->jobs);
	workqueue_free(n->queue);
	arena_release(&n->scratch);
	free(n);
}
