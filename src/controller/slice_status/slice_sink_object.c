/*
 * Objects of a kind that we define ourselves. First the kind: if discovery does not list it, it is
 * created, which is retried until it is served. Then its objects are followed. Each write carries
 * the whole object, so there is no moment without a status. A queue deletes an object when its
 * slice is gone, because clusters without a garbage collector would keep it.
 *
 * An object counts as one with an empty status if it belongs to an earlier slice of the same name,
 * or if its spec does not match the slice. The desired status differs from that, so it is written,
 * with the right owner and spec.
 */
#include "api/api_limits.h"
#include "base/core/buf.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "base/report/log.h"
#include "base/yaml/yaml.h"
#include "client/api/discovery.h"
#include "client/informer/informer.h"
#include "client/work/workqueue.h"
#include "controller/devices/devices.h"
#include "controller/shared/context.h"
#include "controller/shared/served.h"
#include "controller/slice_status/slice_sink.h"
#include "controller/slice_status/slice_sink_definition.h"

enum {
	LOOK_MIN_MS = 100, /* between checks for the kind, doubled each time .. */
	LOOK_MAX_MS = 30 * 1000, /* .. up to this */
	CHECK_MS = 30 * 1000, /* between checks whether it still exists */
	GONE_MAX_MS = 30 * 1000, /* between attempts to delete an object */
};

struct object_sink {
	struct slice_sink sink;
	struct context ctx;
	struct devices *devices;
	struct devices_watcher watcher;
	/* The kind. */
	struct served_wait wait;
	struct loop_timer later;
	struct client_request definition;
	int64_t look_ms;
	bool told; /* logged that we may not define it */
	/* Its objects. */
	struct informer *informer; /* NULL until it is served */
	struct informer_handler handler;
	/* Objects to delete. */
	struct workqueue *gone; /* names; one at a time */
	struct client_request removal;
	struct str removing;
};

static const struct resource objects = { .group = STR("devplane.dev"),
					 .version = STR("v1alpha1"),
					 .resource = STR("resourceslicestatuses"),
					 .kind = STR("ResourceSliceStatus") };

static struct object_sink *slice_sink_object_of(struct slice_sink *s)
{
	return CONTAINER_OF(s, struct object_sink, sink);
}

static const struct cached *find_object(const struct object_sink *s, struct str name)
{
	return s->informer ? cache_get(informer_cache(s->informer), name) : NULL;
}

/* --- reading and writing --------------------------------------------------------------------- */

static bool is_same_field(const struct cached *o, const struct cached *slice, const char *path)
{
	return str_eq(cached_field(o, path, NULL), cached_field(slice, path, NULL));
}

static bool is_about(const struct cached *o, const struct cached *slice)
{
	return str_find(cached_field(o, "metadata.ownerReferences", NULL), slice->uid) >= 0 &&
	       is_same_field(o, slice, "spec.driver") && is_same_field(o, slice, "spec.nodeName") &&
	       is_same_field(o, slice, "spec.pool.name") &&
	       is_same_field(o, slice, "spec.pool.generation");
}

static uint64_t object_revision(struct slice_sink *sink, struct str name)
{
	const struct cached *o = find_object(slice_sink_object_of(sink), name);

	return o ? o->revision : 0;
}

static struct slice_stored object_read(struct slice_sink *sink, struct str name)
{
	const struct object_sink *s = slice_sink_object_of(sink);
	const struct cached *o = find_object(s, name),
			    *slice = devices_find_slice(s->devices, name);
	struct slice_stored stored = { .status = STR_NULL };

	if (!o)
		return stored;
	stored.revision = o->revision;
	stored.status = slice && is_about(o, slice) ? cached_field(o, "status", NULL) : STR("{}");
	if (!stored.status.p)
		stored.status = STR("{}");
	return stored;
}

static struct json *make_owners(const struct object_sink *s, const struct cached *slice,
				struct arena *a)
{
	const struct resource *of_slices = informer_resource(devices_slices(s->devices));
	struct json *list = json_make_array(a), *owner = json_make_object(a);

	json_put_str(a, owner, "apiVersion", resource_api_version(a, of_slices));
	json_put_str(a, owner, "kind", STR("ResourceSlice"));
	json_put_str(a, owner, "name", cached_name(slice));
	json_put_str(a, owner, "uid", slice->uid);
	json_append(list, owner);
	return list;
}

static struct json *make_spec(const struct cached *slice, struct arena *a)
{
	struct json *spec = json_make_object(a), *pool;
	struct str node = cached_field(slice, "spec.nodeName", a);
	int64_t generation = 0;

	json_put_str(a, spec, "driver", cached_field(slice, "spec.driver", a));
	if (node.n > 0)
		json_put_str(a, spec, "nodeName", node);
	pool = json_need_object(a, spec, "pool");
	json_put_str(a, pool, "name", cached_field(slice, "spec.pool.name", a));
	(void)str_to_i64(cached_field(slice, "spec.pool.generation", a), &generation);
	json_put_i64(a, pool, "generation", generation);
	return spec;
}

/* Keeps the object's metadata, above all its version; labels may be somebody else's. */
static struct json *make_meta(const struct cached *o, struct str name, struct arena *a)
{
	struct json *meta = NULL;

	if (o)
		(void)json_parse(a, cached_field(o, "metadata", NULL), NULL, &meta, NULL);
	if (!meta)
		meta = json_make_object(a);
	json_put_str(a, meta, "name", name);
	return meta;
}

static struct json *make_object(const struct object_sink *s, const struct cached *o,
				const struct cached *slice, struct str status, struct arena *a)
{
	struct json *tree = json_make_object(a), *meta = make_meta(o, cached_name(slice), a);
	struct json *own = NULL;

	json_put_str(a, tree, "apiVersion", resource_api_version(a, &objects));
	json_put_str(a, tree, "kind", objects.kind);
	json_setz(tree, "metadata", meta);
	json_setz(meta, "ownerReferences", make_owners(s, slice, a));
	json_setz(tree, "spec", make_spec(slice, a));
	(void)json_parse(a, status, NULL, &own, NULL);
	json_setz(tree, "status", own ? own : json_make_object(a));
	return tree;
}

static bool object_write(struct slice_sink *sink, const struct cached *slice, struct str status,
			 struct client_request *r, struct arena *a)
{
	struct object_sink *s = slice_sink_object_of(sink);
	struct client *c = s->ctx.client;
	const struct cached *o = find_object(s, cached_name(slice));

	if (!status.p && !o)
		return false;
	if (!status.p)
		client_delete(c, r, &objects, STR_NULL, o->key,
			      &(struct client_delete_opts){
				      .uid = o->uid, .resource_version = o->resource_version });
	else if (!o)
		client_create(c, r, &objects, STR_NULL, make_object(s, NULL, slice, status, a));
	else
		client_update(c, r, &objects, STR_NULL, o->key,
			      make_object(s, o, slice, status, a));
	return true;
}

/* --- objects whose slice is gone ------------------------------------------------------------- */

static void look_for_slice(struct object_sink *s, struct str name)
{
	if (devices_synced(s->devices) && !devices_find_slice(s->devices, name) &&
	    find_object(s, name))
		workqueue_add(s->gone, name);
}

static void look_for_slices(struct object_sink *s)
{
	struct cache_walk walk = { 0 };
	const struct cached *o;

	while (s->informer && (o = cache_next(informer_cache(s->informer), &walk)))
		look_for_slice(s, o->key);
}

/* A conflict means that our copy is behind; it is checked again. */
static void slice_sink_object_on_removed(struct client_request *r,
					 const struct client_answer *a UNUSED,
					 const struct error *err)
{
	struct object_sink *s = r->arg;
	bool again = err && find_object(s, s->removing);

	if (again)
		log_debug(s->ctx.log, "cannot delete the status of a slice that is gone",
			  LOG_STR("name", s->removing), LOG_ERR(err));
	workqueue_finish(s->gone, s->removing, again);
}

static void remove_object(void *arg, struct str name)
{
	struct object_sink *s = arg;
	const struct cached *o = find_object(s, name);

	if (!o || devices_find_slice(s->devices, name)) {
		workqueue_finish(s->gone, name, false);
		return;
	}
	s->removing = name;
	client_delete(s->ctx.client, &s->removal, &objects, STR_NULL, name,
		      &(struct client_delete_opts){ .uid = o->uid,
						    .resource_version = o->resource_version });
}

static void slice_sink_object_on_slice(struct devices_watcher *w, struct str name)
{
	look_for_slice(CONTAINER_OF(w, struct object_sink, watcher), name);
}

static void on_devices_synced(struct devices_watcher *w)
{
	look_for_slices(CONTAINER_OF(w, struct object_sink, watcher));
}

/* --- objects --------------------------------------------------------------------------------- */

static void on_object(struct object_sink *s, const struct cached *o)
{
	look_for_slice(s, o->key);
	if (s->handler.synced && s->sink.changed)
		s->sink.changed(s->sink.arg, o->key);
}

static void slice_sink_object_on_add(struct informer_handler *h, struct cached *o,
				     bool initial UNUSED)
{
	on_object(CONTAINER_OF(h, struct object_sink, handler), o);
}

static void slice_sink_object_on_update(struct informer_handler *h, struct cached *old UNUSED,
					struct cached *o)
{
	on_object(CONTAINER_OF(h, struct object_sink, handler), o);
}

static void slice_sink_object_on_delete(struct informer_handler *h, struct cached *last,
					bool unknown UNUSED)
{
	on_object(CONTAINER_OF(h, struct object_sink, handler), last);
}

static void slice_sink_object_on_synced(struct informer_handler *h)
{
	struct object_sink *s = CONTAINER_OF(h, struct object_sink, handler);

	if (s->sink.ready)
		s->sink.ready(s->sink.arg);
}

static void slice_sink_object_follow(struct object_sink *s)
{
	if (s->informer)
		return;
	s->informer = informers_get(s->ctx.informers,
				    &(struct informer_spec){ .resource = &objects, .slim = true });
	s->handler = (struct informer_handler){ .on_add = slice_sink_object_on_add,
						.on_update = slice_sink_object_on_update,
						.on_delete = slice_sink_object_on_delete,
						.on_synced = slice_sink_object_on_synced };
	informer_add_handler(s->informer, &s->handler);
}

/* --- the kind -------------------------------------------------------------------------------- */

static void look_later(struct object_sink *s)
{
	loop_timer_start(&s->later, s->look_ms);
	s->look_ms = MIN(s->look_ms * 2, (int64_t)LOOK_MAX_MS);
}

static void on_defined(struct client_request *r, const struct client_answer *a UNUSED,
		       const struct error *err)
{
	struct object_sink *s = r->arg;

	if (!err)
		log_info(s->ctx.log, "defined resourceslicestatuses.devplane.dev");
	else if (err->code == ERR_ALREADY_EXISTS || s->told)
		log_debug(s->ctx.log, "resourceslicestatuses.devplane.dev is not served yet",
			  LOG_ERR(err));
	else
		log_warn(s->ctx.log,
			 "cannot define resourceslicestatuses.devplane.dev: grant create on "
			 "customresourcedefinitions, or create slice_sink_object.yaml by hand; "
			 "until then the status of slices is not published",
			 LOG_ERR(err));
	s->told |= err && err->code != ERR_ALREADY_EXISTS;
	look_later(s);
}

static void define(struct object_sink *s)
{
	static const struct resource definitions = {
		.group = STR("apiextensions.k8s.io"),
		.version = STR("v1"),
		.resource = STR("customresourcedefinitions"),
	};
	struct arena a;
	struct json *tree = NULL;

	arena_init(&a, REQUEST_WORK_MAX);
	(void)yaml_parse(&a, str_from(slice_sink_definition), NULL, &tree, NULL);
	client_create(s->ctx.client, &s->definition, &definitions, STR_NULL, tree);
	arena_release(&a);
}

static void on_served(struct served_wait *w, const struct error *err)
{
	struct object_sink *s = CONTAINER_OF(w, struct object_sink, wait);

	if (err) {
		look_later(s);
	} else if (discovery_find(served_discovery(s->ctx.served), objects.group, objects.version,
				  objects.resource)) {
		s->look_ms = LOOK_MIN_MS;
		slice_sink_object_follow(s);
		loop_timer_start(&s->later, CHECK_MS);
	} else {
		define(s);
	}
}

/* Somebody may delete the definition, and all objects with it. */
static void slice_sink_object_on_later(struct loop_timer *t)
{
	struct object_sink *s = CONTAINER_OF(t, struct object_sink, later);

	if (s->informer && informer_failure(s->informer)->code != ERR_NOT_FOUND)
		loop_timer_start(&s->later, CHECK_MS);
	else
		served_look(s->ctx.served, &s->wait);
}

/* --- life ------------------------------------------------------------------------------------ */

static void object_free(struct slice_sink *sink)
{
	struct object_sink *s = slice_sink_object_of(sink);

	devices_unwatch(&s->watcher);
	informer_remove_handler(&s->handler);
	served_cancel(&s->wait);
	loop_timer_stop(&s->later);
	client_cancel(&s->definition);
	client_cancel(&s->removal);
	workqueue_free(s->gone);
	free(s);
}

struct slice_sink *slice_sink_object_new(const struct context *ctx, struct devices *devices)
{
	static const struct slice_sink_ops ops = { .revision = object_revision,
						   .read = object_read,
						   .write = object_write,
						   .free = object_free };
	struct object_sink *s = XNEW(struct object_sink);

	s->sink.ops = &ops;
	s->ctx = *ctx;
	s->devices = devices;
	s->look_ms = LOOK_MIN_MS;
	s->definition = (struct client_request){ .on_done = on_defined, .arg = s };
	s->removal = (struct client_request){ .on_done = slice_sink_object_on_removed, .arg = s };
	s->gone = workqueue_new(&(struct workqueue_opts){ .loop = ctx->loop,
							  .name = "resourceslice_status_gone",
							  .handle = remove_object,
							  .backoff_max_ms = GONE_MAX_MS,
							  .arg = s,
							  .metrics = ctx->metrics });
	s->watcher.on_slice = slice_sink_object_on_slice;
	s->watcher.on_synced = on_devices_synced;
	devices_watch(devices, &s->watcher);
	s->wait.done = on_served;
	loop_timer_init(&s->later, ctx->loop, slice_sink_object_on_later);
	served_look(ctx->served, &s->wait);
	return &s->sink;
}
