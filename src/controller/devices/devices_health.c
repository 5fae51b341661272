/*
 * Pods arrive with every change of their status, mostly unrelated ones. So only the texts that the
 * book reads are compared, before anything is parsed.
 */
#include "controller/devices/devices_health.h"

#include "api/api_limits.h"
#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "client/api/resource.h"
#include "client/informer/informer.h"
#include "dra/availability/device_health.h"
#include "net/loop/loop.h"

enum { FORBIDDEN_MS = 2000 }; /* between checks whether listing is allowed now */

struct devices_health {
	struct devices_health_opts opts;
	struct device_health_book *book;
	struct resource pods_resource, nodes_resource;
	struct informer_handler pods, nodes;
	struct arena scratch; /* for one object */
	struct loop_timer forbidden; /* runs until it is synced */
};

static int64_t now(const struct devices_health *h)
{
	return clock_wall(loop_clock(h->opts.loop));
}

/* --- pods ------------------------------------------------------------------------------------ */

static bool has_claims(const struct cached *pod)
{
	return cached_field(pod, "spec.resourceClaims", NULL).n > 0 ||
	       cached_field(pod, "status.extendedResourceClaimStatus", NULL).n > 0;
}

static bool says_the_same(const struct cached *a, const struct cached *b)
{
	static const char *const fields[] = {
		"status.phase",
		"status.containerStatuses",
		"status.initContainerStatuses",
		"status.ephemeralContainerStatuses",
		"status.allocatedResourcesStatus",
		"status.resourceClaimStatuses",
		"status.extendedResourceClaimStatus",
	};

	return str_eq(a->uid, b->uid) && cached_same_fields(a, b, fields, ARRAY_SIZE(fields));
}

static void put_pod(struct devices_health *h, const struct cached *o)
{
	struct json *tree;

	if (cached_tree(o, &h->scratch, &tree, NULL) == 0)
		device_health_book_put_pod(h->book, tree, now(h));
	arena_clear(&h->scratch);
}

static void devices_health_on_pod(struct informer_handler *handler, struct cached *o,
				  bool initial UNUSED)
{
	if (has_claims(o))
		put_pod(CONTAINER_OF(handler, struct devices_health, pods), o);
}

static void devices_health_on_pod_update(struct informer_handler *handler, struct cached *old,
					 struct cached *o)
{
	struct devices_health *h = CONTAINER_OF(handler, struct devices_health, pods);

	if (!str_eq(old->uid, o->uid))
		device_health_book_remove_pod(h->book, old->uid);
	if (has_claims(o) && !says_the_same(old, o))
		put_pod(h, o);
}

static void devices_health_on_pod_delete(struct informer_handler *handler, struct cached *last,
					 bool unknown UNUSED)
{
	struct devices_health *h = CONTAINER_OF(handler, struct devices_health, pods);

	device_health_book_remove_pod(h->book, last->uid);
}

/* --- nodes ----------------------------------------------------------------------------------- */

static struct str annotation(struct devices_health *h, const struct cached *o)
{
	return cached_annotation(o, STR(DEVICE_HEALTH_ANNOTATION), &h->scratch);
}

static void put_node(struct devices_health *h, const struct cached *o, struct str text)
{
	struct error err = { 0 };

	if (device_health_book_put_node(h->book, o->key, text, now(h), &err) < 0 && h->opts.refused)
		h->opts.refused(h->opts.arg, "annotation " DEVICE_HEALTH_ANNOTATION, o->key, &err);
}

static void devices_health_on_node(struct informer_handler *handler, struct cached *o,
				   bool initial UNUSED)
{
	struct devices_health *h = CONTAINER_OF(handler, struct devices_health, nodes);
	struct str text = annotation(h, o);

	if (text.n > 0)
		put_node(h, o, text);
	arena_clear(&h->scratch);
	h->opts.node(h->opts.arg, o->key);
}

static struct str labels_of(const struct cached *o)
{
	return cached_field(o, "metadata.labels", NULL);
}

/*
 * A new taint may make the node lost, and its devices' health Unknown, without a call of
 * opts.changed: the book is the same. Their slices are computed anew. Nobody else must know at
 * once: health_taints reads the health of all its devices regularly, and Unknown changes no rule.
 */
static void on_node_update(struct informer_handler *handler, struct cached *old, struct cached *o)
{
	struct devices_health *h = CONTAINER_OF(handler, struct devices_health, nodes);
	struct str before = annotation(h, old), text = annotation(h, o);

	if (!str_eq(before, text))
		put_node(h, o, text);
	arena_clear(&h->scratch);
	if (!str_eq(labels_of(old), labels_of(o)) || !cached_same_field(old, o, "spec.taints"))
		h->opts.node(h->opts.arg, o->key);
}

static void on_node_delete(struct informer_handler *handler, struct cached *last,
			   bool unknown UNUSED)
{
	struct devices_health *h = CONTAINER_OF(handler, struct devices_health, nodes);

	device_health_book_remove_node(h->book, last->key);
	h->opts.node(h->opts.arg, last->key);
}

/* --- claims ---------------------------------------------------------------------------------- */

static struct str devices_of(const struct cached *claim)
{
	return claim ? cached_field(claim, "status.devices", NULL) : STR_NULL;
}

void devices_health_claim(struct devices_health *h, const struct cached *old,
			  const struct cached *o)
{
	struct str before = devices_of(old), text = devices_of(o);
	const struct cached *any = o ? o : old;
	struct json *devices = NULL;

	if (str_eq(before, text))
		return;
	if (text.n > 0 && json_parse(&h->scratch, text, NULL, &devices, NULL) < 0)
		devices = NULL;
	device_health_book_put_claim(h->book, cached_ns(any), cached_name(any), devices, now(h));
	arena_clear(&h->scratch);
}

/* --- life ------------------------------------------------------------------------------------ */

static void on_pods_synced(struct informer_handler *handler)
{
	struct devices_health *h = CONTAINER_OF(handler, struct devices_health, pods);

	h->opts.synced(h->opts.arg);
}

static void on_nodes_synced(struct informer_handler *handler)
{
	struct devices_health *h = CONTAINER_OF(handler, struct devices_health, nodes);

	h->opts.synced(h->opts.arg);
}

static bool may_not(const struct informer_handler *handler)
{
	return handler->informer && informer_failure(handler->informer)->code == ERR_FORBIDDEN;
}

static void devices_health_complain(struct devices_health *h,
				    const struct informer_handler *handler, struct str kind)
{
	if (!handler->synced && may_not(handler) && h->opts.refused)
		h->opts.refused(h->opts.arg, "health of devices", kind,
				informer_failure(handler->informer));
}

static void on_forbidden(struct loop_timer *t)
{
	struct devices_health *h = CONTAINER_OF(t, struct devices_health, forbidden);

	if (!devices_health_synced(h)) {
		loop_timer_start(t, FORBIDDEN_MS);
		return;
	}
	devices_health_complain(h, &h->pods, STR("pods"));
	devices_health_complain(h, &h->nodes, STR("nodes"));
	h->opts.synced(h->opts.arg);
}

static void devices_health_follow(struct devices_health *h, const struct resource *resource,
				  struct informer_handler *handler)
{
	struct informer_spec spec = { .resource = resource, .slim = true };

	informer_add_handler(informers_get(h->opts.informers, &spec), handler);
}

struct devices_health *devices_health_new(const struct devices_health_opts *opts)
{
	struct devices_health *h = XNEW(struct devices_health);

	h->opts = *opts;
	h->book = device_health_book_new(opts->changed, opts->arg);
	arena_init(&h->scratch, REQUEST_WORK_MAX);
	h->pods_resource = resource_builtin("", "v1", "pods");
	h->nodes_resource = resource_builtin("", "v1", "nodes");
	h->pods = (struct informer_handler){ .on_add = devices_health_on_pod,
					     .on_update = devices_health_on_pod_update,
					     .on_delete = devices_health_on_pod_delete,
					     .on_synced = on_pods_synced };
	h->nodes = (struct informer_handler){ .on_add = devices_health_on_node,
					      .on_update = on_node_update,
					      .on_delete = on_node_delete,
					      .on_synced = on_nodes_synced };
	if (opts->pods)
		devices_health_follow(h, &h->pods_resource, &h->pods);
	devices_health_follow(h, &h->nodes_resource, &h->nodes);
	loop_timer_init(&h->forbidden, opts->loop, on_forbidden);
	loop_timer_start(&h->forbidden, FORBIDDEN_MS);
	return h;
}

void devices_health_free(struct devices_health *h)
{
	if (!h)
		return;
	informer_remove_handler(&h->pods);
	informer_remove_handler(&h->nodes);
	loop_timer_stop(&h->forbidden);
	device_health_book_free(h->book);
	arena_release(&h->scratch);
	free(h);
}

bool devices_health_synced(const struct devices_health *h)
{
	return (!h->opts.pods || h->pods.synced || may_not(&h->pods)) &&
	       (h->nodes.synced || may_not(&h->nodes));
}

bool devices_health_knows_nodes(const struct devices_health *h)
{
	return h->nodes.synced;
}

const struct cached *devices_health_node(const struct devices_health *h, struct str name)
{
	return cache_get(informer_cache(h->nodes.informer), name);
}

struct device_health_book *devices_health_book(struct devices_health *h)
{
	return h->book;
}
