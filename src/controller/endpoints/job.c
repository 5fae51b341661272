/*
 * One Service at a time: its slices are planned from the informers alone and written one after the
 * other. A create has a generated name, so repeating it would make a duplicate. Therefore a
 * Service waits until the informer has seen our last write for it. An update based on outdated
 * data conflicts, and is planned again.
 */
#include "api/api_limits.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "base/report/log.h"
#include "client/api/client.h"
#include "client/events/recorder.h"
#include "client/work/workqueue.h"
#include "controller/endpoints/network_endpoints_impl.h"
#include "controller/endpoints/slices.h"

enum { BEHIND_MS = 1000 }; /* check again, in case the informer's event never comes */

/* The write that the informer must have seen before a Service is checked again. */
struct written {
	uint64_t revision;
	char key[];
};

struct job {
	struct list link;
	struct network_endpoints *owner;
	struct str key; /* borrowed from the queue until it is done */
	struct arena arena;
	struct network_write *writes; /* the first is under way */
	struct client_request request;
};

/* --- our own writes -------------------------------------------------------------------------- */

static void note_written(struct network_endpoints *n, struct str key, uint64_t revision)
{
	struct written *w = omap_get(&n->written, key);

	if (!w) {
		w = xmalloc(sizeof(*w) + key.n);
		*w = (struct written){ 0 };
		str_put(w->key, key);
		(void)omap_put(&n->written, str_of(w->key, key.n), w);
	}
	w->revision = MAX(w->revision, revision);
}

/* Whether the informer has not yet seen our last write for this Service. */
static bool is_behind(struct network_endpoints *n, struct str key)
{
	struct written *w = omap_get(&n->written, key);
	uint64_t seen = 0;

	if (!w)
		return false;
	(void)str_to_u64(informer_resource_version(n->slices.informer), &seen);
	if (seen < w->revision)
		return true;
	(void)omap_remove(&n->written, key);
	free(w);
	return false;
}

/* --- deciding -------------------------------------------------------------------------------- */

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
		if (network_service_selects(&w->says, network_endpoints_label, pod))
			job_add_pod(n, w, pod, &scratch);
		arena_clear(&scratch);
	}
	arena_release(&scratch);
}

/* Our slices of the Service, in the job's arena. */
static size_t read_slices(struct job *j, struct json ***ret_slices)
{
	const struct cache *cache = informer_cache(j->owner->slices.informer);
	struct cache_walk walk = { 0 };
	struct json **slices;
	struct cached *o;
	size_t n = 0, room = 0;

	while (cache_next_by(cache, "service", j->key, &walk))
		room++;
	slices = ARENA_ARRAY(&j->arena, struct json *, room);
	walk = (struct cache_walk){ 0 };
	while ((o = cache_next_by(cache, "service", j->key, &walk))) {
		if (cached_tree_held(o, &j->arena, &slices[n], NULL) == 0)
			n++;
	}
	*ret_slices = slices;
	return n;
}

static void delete_all(struct job *j)
{
	struct network_write **last = &j->writes;
	struct json **slices;
	size_t n = read_slices(j, &slices);

	for (size_t i = 0; i < n; i++) {
		struct network_write *w = ARENA_NEW(&j->arena, struct network_write);

		*w = (struct network_write){ .verb = NETWORK_DELETE, .slice = slices[i] };
		*last = w;
		last = &w->next;
	}
}

static void job_tell(struct network_endpoints *n, struct str key, const char *reason,
		     struct str text)
{
	const struct cached *o = cache_get(informer_cache(n->services.informer), key);
	struct recorder_object about;

	if (!o || !n->ctx.recorder)
		return;
	about = (struct recorder_object){ .api_version = STR("v1"),
					  .kind = STR("Service"),
					  .ns = cached_ns(o),
					  .name = cached_name(o),
					  .uid = o->uid,
					  .resource_version = o->resource_version };
	recorder_event(n->ctx.recorder, &about, RECORDER_WARNING, reason, text);
}

static void job_decide(struct job *j, const struct json *service,
		       const struct network_service *says)
{
	struct network_endpoints *n = j->owner;
	struct network_wanted wanted;
	struct json **slices;
	size_t count = read_slices(j, &slices);

	if (!says->selects)
		job_tell(n, j->key, "NoNetworkSelector",
			 STR("spec.selector and annotation devplane.dev/network-selector are both "
			     "missing: no pods are selected"));
	network_wanted_init(&wanted, &j->arena, service, says);
	if (says->selects)
		add_pods(n, &wanted, json_text_at(json_getz(service, "metadata"), "namespace"));
	j->writes = network_slices_plan(&wanted, slices, count);
	network_wanted_release(&wanted);
}

/* Plans the job's writes. */
static void job_look_at(struct job *j)
{
	struct network_endpoints *n = j->owner;
	struct cached *o = cache_get(informer_cache(n->services.informer), j->key);
	struct network_service says;
	struct json *service;
	struct error err;
	int r = 0;

	if (o)
		r = cached_tree_held(o, &j->arena, &service, &err);
	if (o && r == 0)
		r = network_service_read(&j->arena, service, &says, &err);
	if (r < 0)
		job_tell(n, j->key, "InvalidNetworkAnnotation", str_from(err.msg));
	else if (r == 0)
		delete_all(j);
	else
		job_decide(j, service, &says);
}

/* --- writing --------------------------------------------------------------------------------- */

static void endpoints_job_free(struct job *j)
{
	list_remove(&j->link);
	client_cancel(&j->request);
	arena_release(&j->arena);
	free(j);
}

static void job_end(struct job *j, bool again)
{
	struct workqueue *queue = j->owner->queue;
	struct str key = j->key;

	endpoints_job_free(j);
	workqueue_finish(queue, key, again);
}

static void write_next(struct job *j)
{
	const struct network_write *w = j->writes;
	struct client *c = j->owner->ctx.client;
	const struct resource *slices = &j->owner->slices.resource;
	const struct json *meta = json_getz(w ? w->slice : NULL, "metadata");
	struct str ns = json_text_at(meta, "namespace"), name = json_text_at(meta, "name");

	if (!w)
		job_end(j, false);
	else if (w->verb == NETWORK_CREATE)
		client_create(c, &j->request, slices, ns, w->slice);
	else if (w->verb == NETWORK_UPDATE)
		client_update(c, &j->request, slices, ns, name, w->slice);
	else
		client_delete(c, &j->request, slices, ns, name,
			      &(struct client_delete_opts){ .uid = json_text_at(meta, "uid") });
}

/* The object is gone, or its namespace is being deleted. */
static bool is_harmless(enum network_verb verb, const struct error *err)
{
	return (err->code == ERR_NOT_FOUND && verb != NETWORK_UPDATE) ||
	       (err->code == ERR_CONFLICT && verb == NETWORK_DELETE) ||
	       (err->code == ERR_FORBIDDEN && strstr(err->msg, "being terminated"));
}

/* Conflicts are expected: the server was ahead of our copy. */
static void job_fail(struct job *j, const struct error *err)
{
	struct network_endpoints *n = j->owner;
	char text[sizeof(err->msg) + 64];

	if (err->code != ERR_CONFLICT && err->code != ERR_NOT_FOUND) {
		(void)snprintf(text, sizeof(text),
			       "cannot write EndpointSlices of network addresses: %s", err->msg);
		log_warn(n->ctx.log, "cannot write endpoint slices", LOG_STR("service", j->key),
			 LOG_ERR(err));
		job_tell(n, j->key, "FailedToUpdateEndpointSlices", str_from(text));
	}
	job_end(j, true);
}

static void job_on_written(struct client_request *r, const struct client_answer *a,
			   const struct error *err)
{
	struct job *j = r->arg;
	struct json *slice;
	uint64_t revision = 0;

	if (err && !is_harmless(j->writes->verb, err)) {
		job_fail(j, err);
		return;
	}
	if (!err && j->writes->verb != NETWORK_DELETE &&
	    client_answer_tree(a, &j->arena, &slice, NULL) == 0 &&
	    str_to_u64(json_text_at(json_getz(slice, "metadata"), "resourceVersion"), &revision))
		note_written(j->owner, j->key, revision);
	j->writes = j->writes->next;
	write_next(j);
}

void network_endpoints_handle(void *arg, struct str key)
{
	struct network_endpoints *n = arg;
	struct job *j;

	if (is_behind(n, key)) {
		workqueue_add_after(n->queue, key, BEHIND_MS);
		workqueue_finish(n->queue, key, false);
		return;
	}
	j = XNEW(struct job);
	j->owner = n;
	j->key = key;
	j->request.arg = j;
	j->request.on_done = job_on_written;
	arena_init(&j->arena, REQUEST_WORK_MAX);
	list_push_back(&n->jobs, &j->link);
	job_look_at(j);
	write_next(j);
}

void network_endpoints_jobs_release(struct network_endpoints *n)
{
	struct omap_cursor c;

	LIST_FOREACH_SAFE (l, &n->jobs)
		endpoints_job_free(LIST_ENTRY(l, struct job, link));
	for (bool ok = omap_first(&n->written, &c); ok; ok = omap_next(&c))
		free(omap_value(&c));
	omap_release(&n->written);
}
