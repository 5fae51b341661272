/*
 * Plans the slices of one Service from the informers alone.
 */
#include "api/api_limits.h"
#include "base/json/json.h"
#include "controller/endpoints/network_endpoints_impl.h"
#include "controller/endpoints/slices.h"

/* Adds the endpoints of one pod; its trees live in the scratch arena. */
static void job_add_pod(struct network_endpoints *n, struct network_wanted *w,
			const struct cached *pod, struct arena *scratch)
{
	const struct cache *claims = informer_cache(n->claims.informer);
	struct network_claim_ref *refs;
	const struct json **trees;
	struct json *tree;
	size_t count;

	if (cached_tree(pod, scratch, &tree, NULL) < 0)
		return;
	count = network_pod_claims(scratch, tree, &refs);
	trees = ARENA_ARRAY(scratch, const struct json *, count);
	for (size_t i = 0; i < count; i++) {
		const struct cached *claim = cache_get_in(claims, cached_ns(pod), refs[i].claim);
		struct json *v;

		if (claim && cached_tree(claim, scratch, &v, NULL) == 0)
			trees[i] = v;
	}
	network_wanted_add(w, tree, refs, trees, count);
}

static void add_pods(struct network_endpoints *n, struct network_wanted *w, struct str ns)
{
	const struct cache *pods = informer_cache(n->pods.informer);
	struct cache_walk walk = { 0 };
	const struct cached *pod;
	struct arena scratch;

	arena_init(&scratch, REQUEST_WORK_MAX);
	while ((pod = cache_next_by(pods, "namespace", ns, &walk))) {
		struct cached_labels labels = { pod, NULL };

		if (network_service_selects(&w->says, cached_labels_get, &labels))
			job_add_pod(n, w, pod, &scratch);
		arena_clear(&scratch);
	}
	arena_release(&scratch);
}

static struct network_write *job_decide(struct network_endpoints *n, struct arena *a,
					const struct json *service,
					const struct network_service *says, struct json **slices,
					size_t count)
{
	struct network_wanted wanted;
	struct network_write *writes;

	network_wanted_init(&wanted, a, service, says);
	if (says->selects)
		add_pods(n, &wanted, json_text_at(json_getz(service, "metadata"), "namespace"));
	writes = network_slices_plan(&wanted, slices, count);
	network_wanted_release(&wanted);
	return writes;
}

struct network_write *network_endpoints_plan(struct slice_jobs *s, struct str key, struct arena *a,
					     struct json **slices, size_t count,
					     bool *ret_again UNUSED)
{
	struct network_endpoints *n = CONTAINER_OF(s, struct network_endpoints, jobs);
	struct cached *o = cache_get(informer_cache(n->services.informer), key);
	struct network_service says;
	struct json *service;
	struct error err;
	int r = 0;

	if (o)
		r = cached_tree_held(o, a, &service, &err);
	if (o && r == 0)
		r = network_service_read(a, service, &says, &err);
	if (r < 0) {
		slice_jobs_tell(s, key, "InvalidNetworkAnnotation", str_from(err.msg));
		return NULL;
	}
	if (r == 0)
		return slice_jobs_delete(a, slices, count);
	if (!says.selects)
		slice_jobs_tell(s, key, "NoNetworkSelector",
				STR("spec.selector and annotation devplane.dev/network-selector "
				    "are both missing: no pods are selected"));
	return job_decide(n, a, service, &says, slices, count);
}
