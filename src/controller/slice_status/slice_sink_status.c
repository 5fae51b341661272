/*
 * The slice's own status, written as a JSON patch of the status subresource. The patch has the
 * version that was read, so that a late write conflicts, and the whole status. Unlike a merge
 * patch, it removes members that the new status lacks. Unlike an update, it does not carry the
 * spec, which is the larger part and belongs to the driver.
 */
#include "api/api_limits.h"
#include "base/core/buf.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "client/informer/informer.h"
#include "controller/devices/devices.h"
#include "controller/shared/context.h"
#include "controller/slice_status/slice_sink.h"

struct status_sink {
	struct slice_sink sink;
	struct client *client;
	struct informer *slices;
	struct informer_handler handler;
};

static struct status_sink *status_sink_of(struct slice_sink *s)
{
	return CONTAINER_OF(s, struct status_sink, sink);
}

static struct str slice_sink_status_of(const struct cached *slice)
{
	struct str text = cached_field(slice, "status", NULL);

	return str_starts(text, STR("{")) ? text : STR_NULL;
}

static uint64_t sink_revision(struct slice_sink *s, struct str slice)
{
	const struct cached *o = cache_get(informer_cache(status_sink_of(s)->slices), slice);

	return o ? o->revision : 0;
}

static struct slice_stored sink_read(struct slice_sink *s, struct str slice)
{
	const struct cached *o = cache_get(informer_cache(status_sink_of(s)->slices), slice);

	if (!o)
		return (struct slice_stored){ 0 };
	return (struct slice_stored){ .status = slice_sink_status_of(o), .revision = o->revision };
}

static void print_patch(struct buf *out, const struct cached *slice, struct str status)
{
	(void)buf_addz(out, "[{\"op\":\"add\",\"path\":\"/metadata/resourceVersion\",\"value\":");
	(void)json_print_str(out, slice->resource_version, NULL);
	if (status.p) {
		(void)buf_addz(out, "},{\"op\":\"add\",\"path\":\"/status\",\"value\":");
		(void)buf_add_str(out, status);
		(void)buf_addz(out, "}]");
	} else {
		(void)buf_addz(out, "},{\"op\":\"remove\",\"path\":\"/status\"}]");
	}
}

static bool sink_write(struct slice_sink *s, const struct cached *slice, struct str status,
		       struct client_request *r, struct arena *a UNUSED)
{
	struct status_sink *t = status_sink_of(s);
	struct buf patch = BUF_INIT(2 * OBJECT_MAX);

	if (!status.p && !slice_sink_status_of(slice).p)
		return false;
	print_patch(&patch, slice, status);
	r->body = buf_str(&patch);
	r->accept = ACCEPT_METADATA;
	client_patch(
		t->client, r, informer_resource(t->slices),
		(struct resource_name){ .name = cached_name(slice), .subresource = STR("status") },
		CLIENT_PATCH_JSON, NULL);
	r->body = STR_NULL;
	buf_release(&patch);
	return true;
}

static void sink_free(struct slice_sink *s)
{
	struct status_sink *t = status_sink_of(s);

	informer_remove_handler(&t->handler);
	free(t);
}

/* Does not compare the status: it usually has changed. */
static void slice_sink_status_on_update(struct informer_handler *h, struct cached *old UNUSED,
					struct cached *o)
{
	struct status_sink *t = CONTAINER_OF(h, struct status_sink, handler);

	if (t->sink.changed)
		t->sink.changed(t->sink.arg, o->key);
}

static void slice_sink_status_on_synced(struct informer_handler *h)
{
	struct status_sink *t = CONTAINER_OF(h, struct status_sink, handler);

	if (t->sink.ready)
		t->sink.ready(t->sink.arg);
}

struct slice_sink *slice_sink_status_new(const struct context *ctx, struct devices *devices)
{
	static const struct slice_sink_ops ops = {
		.revision = sink_revision,
		.read = sink_read,
		.write = sink_write,
		.free = sink_free,
	};
	struct status_sink *t = XNEW(struct status_sink);

	t->sink.ops = &ops;
	t->sink.in_slice = true;
	t->client = ctx->client;
	t->slices = devices_slices(devices);
	t->handler.on_update = slice_sink_status_on_update;
	t->handler.on_synced = slice_sink_status_on_synced;
	informer_add_handler(t->slices, &t->handler);
	return &t->sink;
}
