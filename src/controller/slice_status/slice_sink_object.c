/*
 * Objects of a kind that we define ourselves (custom_kind.h). Each write carries the whole object,
 * so there is no moment without a status. A queue deletes an object when its slice is gone, because
 * clusters without a garbage collector would keep it.
 *
 * An object counts as one with an empty status if it belongs to an earlier slice of the same name,
 * or if its spec does not match the slice. The desired status differs from that, so it is written,
 * with the right owner and spec.
 */
#include "base/core/buf.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "base/report/log.h"
#include "client/informer/informer.h"
#include "client/work/workqueue.h"
#include "controller/devices/devices.h"
#include "controller/shared/context.h"
#include "controller/shared/custom_kind.h"
#include "controller/slice_status/slice_sink.h"
#include "controller/slice_status/slice_sink_definition.h"

enum { GONE_MAX_MS = 30 * 1000 }; /* between attempts to delete an object */

struct object_sink {
	struct slice_sink sink;
	struct context ctx;
	struct devices *devices;
	struct devices_watcher watcher;
	struct custom_kind *kind; /* and its objects */
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
	return custom_kind_find(s->kind, name);
}

/* --- reading and writing --------------------------------------------------------------------- */

static bool is_about(const struct cached *o, const struct cached *slice)
{
	return str_find(cached_field(o, "metadata.ownerReferences", NULL), slice->uid) >= 0 &&
	       cached_same_field(o, slice, "spec.driver") &&
	       cached_same_field(o, slice, "spec.nodeName") &&
	       cached_same_field(o, slice, "spec.pool.name") &&
	       cached_same_field(o, slice, "spec.pool.generation");
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

/*
 * Returns numbers of devices by state, for columns. In KEP-5677's summary the allocated devices
 * include those that are allocated in part, so its numbers do not add up to the devices.
 */
static struct json *make_counts(const struct json *status, struct arena *a)
{
	const struct json *summary = json_getz(status, "summary");
	int64_t available = json_i64_at(summary, "availableDevices", 0);
	int64_t allocated = json_i64_at(summary, "allocatedDevices", 0);
	int64_t partial = json_i64_at(summary, "partiallyAllocatedDevices", 0);
	int64_t total = json_i64_at(summary, "totalDevices", 0);
	struct json *counts = json_make_object(a);

	json_put_i64(a, counts, "available", available);
	json_put_i64(a, counts, "partiallyAllocated", partial);
	json_put_i64(a, counts, "allocated", allocated - partial);
	json_put_i64(a, counts, "unavailable", total - available - allocated);
	json_put_i64(a, counts, "unhealthy", json_i64_at(summary, "unhealthyDevices", 0));
	return counts;
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
	if (json_getz(own, "summary"))
		json_setz(tree, "counts", make_counts(own, a));
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
	const struct informer *informer = custom_kind_informer(s->kind);
	struct cache_walk walk = { 0 };
	const struct cached *o;

	while (informer && (o = cache_next(informer_cache(informer), &walk)))
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

/* --- life ------------------------------------------------------------------------------------ */

static void object_free(struct slice_sink *sink)
{
	struct object_sink *s = slice_sink_object_of(sink);

	devices_unwatch(&s->watcher);
	custom_kind_free(s->kind);
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
	s->handler = (struct informer_handler){ .on_add = slice_sink_object_on_add,
						.on_update = slice_sink_object_on_update,
						.on_delete = slice_sink_object_on_delete,
						.on_synced = slice_sink_object_on_synced };
	s->kind = custom_kind_new(&(struct custom_kind_opts){
		.ctx = ctx,
		.resource = &objects,
		.name = "resourceslicestatuses.devplane.dev",
		.definition = slice_sink_definition,
		.refused =
			"cannot define resourceslicestatuses.devplane.dev: grant create on "
			"customresourcedefinitions, or create deploy/availability/definition.yaml; "
			"until then the status of slices is not published",
		.handler = &s->handler });
	return &s->sink;
}
