/*
 * Keeps for each Service the keys of the pods that it selects, and finds the Services that a pod
 * concerns: a Service is indexed by one label of its selector, which its pods have.
 */
#include "controller/endpoint_slices/endpoint_slices.h"

#include "api/api_limits.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "client/work/workqueue.h"
#include "controller/endpoint_slices/endpoint_slices_impl.h"
#include "controller/endpoints/slices.h"

enum { WORKERS = 5 /* as upstream's controller */ };

/* --- Services -------------------------------------------------------------------------------- */

static bool service_selects(const struct service_entry *s, const struct cached *pod)
{
	struct cached_labels labels = { pod, NULL };

	return selector_matches(&s->selector, cached_labels_get, &labels);
}

static void entry_add_pod(struct service_entry *s, struct str key)
{
	char *copy;

	if (omap_get(&s->pods, key))
		return;
	copy = str_dup(key);
	(void)omap_put(&s->pods, str_of(copy, key.n), copy);
}

static void entry_remove_pod(struct service_entry *s, struct str key)
{
	free(omap_remove(&s->pods, key));
}

static void entry_clear_pods(struct service_entry *s)
{
	struct omap_cursor c;

	for (bool ok = omap_first(&s->pods, &c); ok; ok = omap_next(&c))
		free(omap_value(&c));
	omap_clear(&s->pods);
}

static void service_entry_free(struct service_entry *s)
{
	entry_clear_pods(s);
	omap_release(&s->pods);
	arena_release(&s->arena);
	free((char *)s->key.p);
	free(s);
}

static void forget_service(struct endpoint_slices *e, struct str key)
{
	struct service_entry *s = omap_remove(&e->entries, key);

	if (s)
		service_entry_free(s);
}

static void select_pods(struct endpoint_slices *e, struct service_entry *s, struct str ns)
{
	struct cache_walk walk = { 0 };
	const struct cached *pod;

	entry_clear_pods(s);
	while ((pod = cache_next_in(informer_cache(e->pods.informer), ns, &walk))) {
		if (service_selects(s, pod))
			entry_add_pod(s, pod->key);
	}
}

static void read_service(struct endpoint_slices *e, struct cached *o)
{
	struct service_entry *s = omap_get(&e->entries, o->key);
	struct network_service says;
	struct json *tree;

	if (!s) {
		s = XNEW(struct service_entry);
		s->key = str_of(str_dup(o->key), o->key.n);
		arena_init(&s->arena, OBJECT_MAX);
		omap_init(&s->pods);
		(void)omap_put(&e->entries, s->key, s);
	}
	arena_clear(&s->arena);
	if (cached_tree_held(o, &s->arena, &tree, NULL) < 0 ||
	    !cluster_service_read(&s->arena, tree, &says)) {
		forget_service(e, o->key);
		return;
	}
	s->selector = says.selector;
	if (e->ready)
		select_pods(e, s, cached_ns(o));
}

static void on_service(struct informer_handler *h, struct cached *o, bool initial UNUSED)
{
	struct endpoint_slices *e = CONTAINER_OF(h, struct endpoint_slices, services.handler);

	read_service(e, o);
	workqueue_add(e->queue, o->key);
}

static void on_service_update(struct informer_handler *h, struct cached *old, struct cached *o)
{
	struct endpoint_slices *e = CONTAINER_OF(h, struct endpoint_slices, services.handler);

	if (!str_eq(old->uid, o->uid))
		forget_service(e, o->key);
	if (!cached_same_field(old, o, "spec.selector") ||
	    !cached_same_field(old, o, "spec.type") || !str_eq(old->uid, o->uid))
		read_service(e, o);
	workqueue_add(e->queue, o->key);
}

static void on_service_delete(struct informer_handler *h, struct cached *last, bool unknown UNUSED)
{
	struct endpoint_slices *e = CONTAINER_OF(h, struct endpoint_slices, services.handler);

	forget_service(e, last->key);
}

/* --- pods ------------------------------------------------------------------------------------ */

/* A label as an index has it: "NAMESPACE/KEY=VALUE". */
static struct str label_entry(struct arena *a, struct str ns, struct str key, struct str value)
{
	return str_from(
		arena_printf(a, "%.*s/%.*s=%.*s", STR_ARG(ns), STR_ARG(key), STR_ARG(value)));
}

/* Adds the pod to the Services that select it, or takes it out; queues them. */
static void note_pod_at(struct endpoint_slices *e, const struct cached *pod, struct str value,
			bool there)
{
	struct cache_walk walk = { 0 };
	const struct cached *o;

	while ((o = cache_next_by(informer_cache(e->services.informer), "selector", value,
				  &walk))) {
		struct service_entry *s = omap_get(&e->entries, o->key);

		if (!s || !service_selects(s, pod))
			continue;
		if (there)
			entry_add_pod(s, pod->key);
		else
			entry_remove_pod(s, pod->key);
		workqueue_add(e->queue, s->key);
	}
}

static void note_pod(struct endpoint_slices *e, const struct cached *pod, bool there)
{
	struct str text = cached_field(pod, "metadata.labels", &e->scratch);
	struct json *labels = NULL;

	if (text.n > 0)
		(void)json_parse(&e->scratch, text, NULL, &labels, NULL);
	JSON_FOREACH (it, labels)
		note_pod_at(e, pod,
			    label_entry(&e->scratch, cached_ns(pod), json_key(it), json_str(it)),
			    there);
	arena_clear(&e->scratch);
}

static bool slices_pod_ready(struct endpoint_slices *e, const struct cached *pod)
{
	struct json *tree;
	bool ready = cached_tree(pod, &e->scratch, &tree, NULL) == 0 && network_pod_ready(tree);

	arena_clear(&e->scratch);
	return ready;
}

/* Most changes of a pod, such as those of its containers, do not affect its endpoints. */
static bool slices_same_pod(struct endpoint_slices *e, const struct cached *old,
			    const struct cached *o)
{
	static const char *const fields[] = { "spec.nodeName", "spec.hostname", "spec.subdomain",
					      "status.podIPs", "status.phase",  "metadata.labels" };

	if (old->deleting != o->deleting || !str_eq(old->uid, o->uid))
		return false;
	if (!cached_same_fields(old, o, fields, ARRAY_SIZE(fields)))
		return false;
	return cached_same_field(old, o, "status.conditions") ||
	       slices_pod_ready(e, old) == slices_pod_ready(e, o);
}

static void slices_on_pod(struct informer_handler *h, struct cached *o, bool initial UNUSED)
{
	struct endpoint_slices *e = CONTAINER_OF(h, struct endpoint_slices, pods.handler);

	if (e->ready)
		note_pod(e, o, true);
}

static void slices_on_pod_update(struct informer_handler *h, struct cached *old, struct cached *o)
{
	struct endpoint_slices *e = CONTAINER_OF(h, struct endpoint_slices, pods.handler);

	if (old == o || slices_same_pod(e, old, o))
		return;
	if (!cached_same_field(old, o, "metadata.labels"))
		note_pod(e, old, false);
	note_pod(e, o, true);
}

static void slices_on_pod_delete(struct informer_handler *h, struct cached *last,
				 bool unknown UNUSED)
{
	note_pod(CONTAINER_OF(h, struct endpoint_slices, pods.handler), last, false);
}

static void index_selector(const struct cached *o, struct arena *a, struct cache_values *v)
{
	struct str text = cached_field(o, "spec.selector", a);
	const struct json *first;
	struct json *map;

	if (text.n == 0 || json_parse(a, text, NULL, &map, NULL) < 0)
		return;
	first = json_first(map);
	if (first)
		cache_values_add(v, label_entry(a, cached_ns(o), json_key(first), json_str(first)));
}

/* --- life ------------------------------------------------------------------------------------ */

/* Costs a lookup per label of each pod, and not a walk over the pods for each Service. */
static void note_all_pods(struct endpoint_slices *e)
{
	struct cache_walk walk = { 0 };
	const struct cached *pod;

	while ((pod = cache_next(informer_cache(e->pods.informer), &walk)))
		note_pod(e, pod, true);
}

static void endpoint_slices_on_synced(struct following *f)
{
	struct endpoint_slices *e = CONTAINER_OF(f, struct endpoint_slices, following);

	note_all_pods(e);
	e->ready = true;
}

static void slices_follow(struct endpoint_slices *e)
{
	static const struct cache_index by_selector[] = {
		{ "selector", index_selector, NULL },
		{ 0 },
	};

	e->services = (struct followed){
		.resource = resource_builtin("", "v1", "services"),
		.indexes = by_selector,
		.handler = { .on_add = on_service,
			     .on_update = on_service_update,
			     .on_delete = on_service_delete },
	};
	e->pods = (struct followed){
		.resource = resource_builtin("", "v1", "pods"),
		.handler = { .on_add = slices_on_pod,
			     .on_update = slices_on_pod_update,
			     .on_delete = slices_on_pod_delete },
	};
	e->nodes.resource = resource_builtin("", "v1", "nodes");
	follow(&e->following, &e->services);
	follow(&e->following, &e->pods);
	follow(&e->following, &e->nodes);
}

static void endpoint_slices_handle(void *arg, struct str key)
{
	struct endpoint_slices *e = arg;

	slice_jobs_handle(&e->jobs, key);
}

struct endpoint_slices *endpoint_slices_new(const struct context *ctx)
{
	struct endpoint_slices *e = XNEW(struct endpoint_slices);

	e->ctx = *ctx;
	omap_init(&e->entries);
	arena_init(&e->scratch, REQUEST_WORK_MAX);
	e->queue = workqueue_new(&(struct workqueue_opts){ .loop = ctx->loop,
							   .name = "endpoint_slice",
							   .workers = WORKERS,
							   .handle = endpoint_slices_handle,
							   .arg = e,
							   .metrics = ctx->metrics });
	following_init(&e->following, ctx->informers);
	following_hold(&e->following, e->queue);
	e->following.on_synced = endpoint_slices_on_synced;
	slices_follow(e);
	e->jobs = (struct slice_jobs){ .ctx = &e->ctx,
				       .manager = CLUSTER_MANAGER,
				       .services = e->services.informer,
				       .queue = e->queue,
				       .failure = "Error updating Endpoint Slices",
				       .plan = endpoint_slices_plan };
	slice_jobs_init(&e->jobs, &e->following);
	return e;
}

void endpoint_slices_free(struct endpoint_slices *e)
{
	struct omap_cursor c;

	if (!e)
		return;
	following_end(&e->following);
	slice_jobs_release(&e->jobs);
	workqueue_free(e->queue);
	for (bool ok = omap_first(&e->entries, &c); ok; ok = omap_next(&c))
		service_entry_free(omap_value(&c));
	omap_release(&e->entries);
	arena_release(&e->scratch);
	free(e);
}
