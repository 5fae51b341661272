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
		struct cached_labels labels = { pod, NULL };
		struct network_service says;
		struct json *tree;

		if (cached_tree(o, &n->scratch, &tree, NULL) == 0 &&
		    network_service_read(&n->scratch, tree, &says, NULL) > 0 &&
		    network_service_selects(&says, cached_labels_get, &labels))
			workqueue_add(n->queue, o->key);
		arena_clear(&n->scratch);
	}
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
	if (!cached_same_fields(old, o, fields, ARRAY_SIZE(fields)))
		return false;
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
	if (!cached_same_field(old, o, "metadata.labels"))
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
	if (!cached_same_field(old, o, "status.devices") ||
	    !cached_same_field(old, o, "status.reservedFor"))
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

/* --- life ------------------------------------------------------------------------------------ */

static void network_endpoints_follow(struct network_endpoints *n)
{
	static const struct cache_index of_services[] = { { "network", index_network, NULL },
							  { 0 } };
	static const struct cache_index of_pods[] = { { "namespace", index_namespace, NULL },
						      { "claim", index_claim, NULL },
						      { 0 } };

	n->services = (struct followed){
		.resource = resource_builtin("", "v1", "services"),
		.indexes = of_services,
		.handler = { .on_add = on_service,
			     .on_update = on_service_update,
			     .on_delete = on_service_delete },
	};
	n->pods = (struct followed){
		.resource = resource_builtin("", "v1", "pods"),
		.indexes = of_pods,
		.handler = { .on_add = network_endpoints_on_pod,
			     .on_update = network_endpoints_on_pod_update,
			     .on_delete = network_endpoints_on_pod_delete },
	};
	n->claims = (struct followed){
		.resource = resource_builtin("resource.k8s.io", "v1", "resourceclaims"),
		.handler = { .on_add = network_endpoints_on_claim,
			     .on_update = network_endpoints_on_claim_update,
			     .on_delete = on_claim_delete },
	};
	follow(&n->following, &n->services);
	follow(&n->following, &n->pods);
	follow(&n->following, &n->claims);
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
	following_init(&n->following, ctx->informers);
	following_hold(&n->following, n->queue);
	network_endpoints_follow(n);
	n->jobs = (struct slice_jobs){
		.ctx = &n->ctx,
		.manager = NETWORK_MANAGER,
		.services = n->services.informer,
		.queue = n->queue,
		.failure = "cannot write EndpointSlices of network addresses",
		.plan = network_endpoints_plan,
	};
	slice_jobs_init(&n->jobs, &n->following);
	return n;
}

void network_endpoints_free(struct network_endpoints *n)
{
	if (!n)
		return;
	following_end(&n->following);
	slice_jobs_release(&n->jobs);
	workqueue_free(n->queue);
	arena_release(&n->scratch);
	free(n);
}
