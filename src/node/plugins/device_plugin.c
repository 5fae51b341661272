/*
 * The steps of an endpoint: dial (10 s), GetDevicePluginOptions, connected, ListAndWatch. Until it
 * is connected, failures are reported to the caller of connect. After that, the end of the stream
 * removes it.
 *
 * A closed endpoint is removed from all tables at once, but its memory stays until the end of the
 * turn, so that code on the stack sees `closed`.
 */
#include "node/plugins/device_plugin.h"

#include "api/schema/names.h"
#include "base/core/arena.h"
#include "base/core/mem.h"
#include "base/text/print.h"
#include "grpc/message.h"
#include "node/node_limits.h"
#include "node/plugins/device_plugin_impl.h"
#include "node/plugins/plugins_impl.h"
#include "node/plugins/wire.h"

enum { OPTIONS_MS = 10 * 1000 }; /* upstream waits as long as the plugin's Register does */

int device_plugins_check_name(struct str name, struct error *err)
{
	struct buf quoted = BUF_INIT(400);
	int r = 0;

	if (names_is_extended_resource(name))
		return 0;
	(void)print_quoted(&quoted, name);
	r = error_set(err, ERR_INVALID, "the ResourceName %s is invalid", quoted.p ? quoted.p : "");
	buf_release(&quoted);
	return r;
}

struct device_endpoint *device_plugins_newest(const struct device_plugins *d, struct str resource)
{
	const struct device_resource *res = omap_get(&d->resources, resource);

	return res ? LIST_ENTRY(res->endpoints.prev, struct device_endpoint, link) : NULL;
}

static bool is_newest(const struct device_endpoint *e)
{
	return e->of->endpoints.prev == &e->link;
}

/* --- an endpoint's end --------------------------------------------------------------- */

static void device_plugin_release(struct loop_task *t)
{
	struct device_endpoint *e = CONTAINER_OF(t, struct device_endpoint, task);

	free(e->resource);
	free(e->socket);
	free((char *)e->list.p);
	free(e);
}

/*
 * Removes the endpoint from all tables, without an event. Ending its calls runs callbacks, which
 * may even free the owner: only the endpoint itself is used afterwards.
 */
static void endpoint_close(struct device_endpoint *e)
{
	if (e->closed)
		return;
	e->closed = true;
	e->owner->n--;
	list_remove(&e->link);
	loop_timer_stop(&e->dial);
	loop_task_cancel(&e->task);
	e->task.fn = device_plugin_release;
	loop_defer(e->owner->p->loop, &e->task);
	grpc_channel_free(TAKE(e->channel));
}

void device_endpoint_cancel(struct device_endpoint *e)
{
	endpoint_close(e);
}

/* The newest endpoint has changed, or the last one has gone. */
static void newest_changed(struct device_plugins *d, const char *resource)
{
	const struct device_endpoint *e = device_plugins_newest(d, str_from(resource));
	struct plugins *p = d->p;
	struct assign_device *v;
	struct arena a;
	void *message;
	size_t n;

	arena_init(&a, SIZE_MAX);
	/* It was converted successfully when it arrived, so this cannot fail now. */
	if (e && e->list.p &&
	    grpc_message_unpack(plugin_wire_list_and_watch.response, e->list, &a, &message, NULL) ==
		    0 &&
	    plugin_wire_devices(message, &a, &v, &n, NULL) == 0) {
		if (p->events.on_resource)
			p->events.on_resource(p->arg, str_from(resource), v, n);
	} else if (p->events.on_resource_gone) {
		p->events.on_resource_gone(p->arg, str_from(resource));
	}
	arena_release(&a);
}

/* Ends a connected endpoint. */
static void endpoint_gone(struct device_endpoint *e)
{
	struct device_resource *res = e->of;
	struct device_plugins *d = e->owner;
	struct plugins *p = d->p;
	bool newest = is_newest(e);
	char *name = xstrdup(e->resource);

	list_remove(&e->link);
	if (list_empty(&res->endpoints)) {
		(void)omap_remove(&d->resources, str_from(res->name));
		free(res->name);
		free(res);
	}
	endpoint_close(e);
	if (newest && !p->freed)
		newest_changed(d, name);
	free(name);
}

/* --- connecting ---------------------------------------------------------------------- */

static void fail_connect(struct device_endpoint *e, const struct error *err)
{
	device_connect_done *done = e->done;
	void *arg = e->arg;

	endpoint_close(e);
	done(arg, err);
}

static void on_failure(struct loop_task *t)
{
	struct device_endpoint *e = CONTAINER_OF(t, struct device_endpoint, task);

	fail_connect(e, &e->failure);
}

static bool is_connected(const struct device_resource *res, const char *socket)
{
	LIST_FOREACH (it, &res->endpoints)
		if (strcmp(LIST_ENTRY(it, struct device_endpoint, link)->socket, socket) == 0)
			return true;
	return false;
}

static struct device_resource *resource_of(struct device_plugins *d, const char *name)
{
	struct device_resource *res = omap_get(&d->resources, str_from(name));

	if (res)
		return res;
	res = XNEW(struct device_resource);
	res->name = xstrdup(name);
	list_init(&res->endpoints);
	(void)omap_put(&d->resources, str_from(res->name), res);
	return res;
}

static void watch(struct device_endpoint *e);

static void on_options(void *arg, struct grpc_call *c UNUSED, const struct grpc_status *st,
		       const void *reply)
{
	struct device_endpoint *e = arg;
	const Deviceplugin__Options *options = reply;
	struct device_resource *res;
	struct error err, why;

	e->call = NULL;
	if (e->closed)
		return;
	if (!options) {
		(void)plugin_wire_error(st, &why);
		(void)error_set(&err, why.code, "failed to get device plugin options: %.400s",
				why.msg);
		fail_connect(e, &err);
		return;
	}
	res = omap_get(&e->owner->resources, str_from(e->resource));
	if (res && is_connected(res, e->socket)) {
		(void)error_set(&err, ERR_ALREADY_EXISTS, "device plugin already connected: %s",
				e->socket);
		fail_connect(e, &err);
		return;
	}
	e->prestart = options->pre_start_required;
	e->preferred = options->get_preferred_allocation_available;
	e->of = resource_of(e->owner, e->resource);
	list_remove(&e->link);
	list_push_back(&e->of->endpoints, &e->link);
	e->done(e->arg, NULL);
	if (!e->closed)
		watch(e);
}

static void device_plugin_on_state(void *arg, enum grpc_channel_state state,
				   const struct error *err UNUSED)
{
	static const Deviceplugin__Empty empty = DEVICEPLUGIN__EMPTY__INIT;
	struct grpc_call_opts opts = { .deadline_ms = OPTIONS_MS };
	struct device_endpoint *e = arg;

	if (state != GRPC_CHANNEL_READY || !loop_timer_running(&e->dial))
		return;
	loop_timer_stop(&e->dial);
	e->call = grpc_channel_unary(e->channel, &plugin_wire_options, &empty.base, &opts,
				     on_options, e);
}

static void on_dial_timeout(struct loop_timer *t)
{
	struct device_endpoint *e = CONTAINER_OF(t, struct device_endpoint, dial);
	struct error err;

	(void)error_set(&err, ERR_TIMEOUT,
			"failed to dial device plugin: context deadline exceeded");
	fail_connect(e, &err);
}

static int device_plugin_begin(struct device_endpoint *e, struct error *err)
{
	struct plugins *p = e->owner->p;
	int r;

	if (e->owner->n > PLUGIN_ENDPOINTS_MAX)
		return error_set(err, ERR_TOO_MANY_REQUESTS, "too many device plugins: %d",
				 PLUGIN_ENDPOINTS_MAX);
	r = plugins_channel(p, e->socket, device_plugin_on_state, e, &e->channel, err);
	if (r < 0)
		return error_wrap(err, r, "failed to dial device plugin");
	loop_timer_start(&e->dial, PLUGIN_DIAL_MS);
	return 0;
}

struct device_endpoint *device_plugins_connect(struct device_plugins *d, struct str resource,
					       const char *socket, device_connect_done *done,
					       void *arg)
{
	struct device_endpoint *e = XNEW(struct device_endpoint);

	e->owner = d;
	e->resource = str_dup(resource);
	e->socket = xstrdup(socket);
	e->done = done;
	e->arg = arg;
	loop_timer_init(&e->dial, d->p->loop, on_dial_timeout);
	loop_task_init(&e->task, on_failure);
	list_push_back(&d->connecting, &e->link);
	d->n++;
	if (device_plugin_begin(e, &e->failure) < 0)
		loop_defer(d->p->loop, &e->task);
	return e;
}

/* --- its devices --------------------------------------------------------------------- */

static void keep_list(struct device_endpoint *e, const Deviceplugin__ListAndWatchResponse *m)
{
	size_t n = protobuf_c_message_get_packed_size(&m->base);
	uint8_t *packed = xmalloc(n + 1); /* not NULL for an empty list */

	free((char *)e->list.p);
	e->list = str_of(packed, protobuf_c_message_pack(&m->base, packed));
}

static void device_plugin_on_list(struct grpc_call *c, const void *message)
{
	struct device_endpoint *e = grpc_call_data(c);
	struct plugins *p = e->owner->p;
	struct assign_device *v;
	struct arena a;
	struct error err;
	size_t n;

	if (e->closed)
		return;
	arena_init(&a, SIZE_MAX);
	if (plugin_wire_devices(message, &a, &v, &n, &err) < 0) {
		plugins_problem(p, &err, "device plugin %s at %s", e->resource, e->socket);
		if (!e->closed)
			endpoint_gone(e);
	} else {
		keep_list(e, message);
		if (is_newest(e) && p->events.on_resource)
			p->events.on_resource(p->arg, str_from(e->resource), v, n);
	}
	arena_release(&a);
}

static void on_lists_end(struct grpc_call *c, const struct grpc_status *st)
{
	struct device_endpoint *e = grpc_call_data(c);
	struct plugins *p = e->owner->p;
	struct error err;

	e->call = NULL;
	if (e->closed)
		return;
	if (st->code == GRPC_OK)
		(void)error_set(&err, ERR_UNAVAILABLE, "EOF");
	else
		(void)plugin_wire_error(st, &err);
	(void)error_wrap(&err, -(int)err.code, "ListAndWatch ended");
	plugins_problem(p, &err, "device plugin %s at %s", e->resource, e->socket);
	if (!e->closed)
		endpoint_gone(e);
}

static void watch(struct device_endpoint *e)
{
	static const struct grpc_call_ops ops = { .on_message = device_plugin_on_list,
						  .on_end = on_lists_end };
	static const Deviceplugin__Empty empty = DEVICEPLUGIN__EMPTY__INIT;

	e->call = grpc_channel_call(e->channel, &plugin_wire_list_and_watch, NULL, &ops, e);
	(void)grpc_call_send(e->call, &empty.base);
	(void)grpc_call_half_close(e->call);
}

/* --- the table ----------------------------------------------------------------------- */

struct device_plugins *device_plugins_new(struct plugins *p)
{
	struct device_plugins *d = XNEW(struct device_plugins);

	d->p = p;
	omap_init(&d->resources);
	list_init(&d->connecting);
	return d;
}

void device_plugins_disconnect(struct device_plugins *d, struct str resource, struct str socket)
{
	struct device_resource *res = omap_get(&d->resources, resource);

	if (!res)
		return;
	LIST_FOREACH (it, &res->endpoints) {
		struct device_endpoint *e = LIST_ENTRY(it, struct device_endpoint, link);

		if (str_eqz(socket, e->socket)) {
			endpoint_gone(e);
			return;
		}
	}
}

void device_plugins_free(struct device_plugins *d)
{
	struct omap_cursor c;
	struct error err;

	if (!d)
		return;
	(void)error_set(&err, ERR_UNAVAILABLE, "the agent is stopping");
	while (!list_empty(&d->connecting))
		fail_connect(LIST_ENTRY(d->connecting.next, struct device_endpoint, link), &err);
	while (omap_first(&d->resources, &c)) {
		struct device_resource *res = omap_value(&c);

		endpoint_gone(LIST_ENTRY(res->endpoints.next, struct device_endpoint, link));
	}
	omap_release(&d->resources);
	free(d);
}
