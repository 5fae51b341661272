/*
 * Calls to device plugins. Each is one call to the newest endpoint of the resource, for one
 * container. Upstream has a time-out only for PreStartContainer; here every call has one, because a
 * plugin that hangs must not block a pod for ever.
 */
#include "node/plugins/device_plugin.h"

#include "base/core/mem.h"
#include "node/plugins/device_plugin_impl.h"
#include "node/plugins/plugins_impl.h"
#include "node/plugins/wire.h"

enum {
	ALLOCATE_MS = 60 * 1000,
	PRESTART_MS = 30 * 1000,
};

bool plugins_has_resource(const struct plugins *p, struct str resource)
{
	return device_plugins_newest(p->devices, resource) != NULL;
}

bool plugins_wants_preferred(const struct plugins *p, struct str resource)
{
	const struct device_endpoint *e = device_plugins_newest(p->devices, resource);

	return e && e->preferred;
}

bool plugins_wants_prestart(const struct plugins *p, struct str resource)
{
	const struct device_endpoint *e = device_plugins_newest(p->devices, resource);

	return e && e->prestart;
}

/* NUL-terminated copies in the request's arena. */
static char **terminated(struct plugin_request *q, const struct str *v, size_t n)
{
	char **out = ARENA_ARRAY(&q->arena, char *, n ? n : 1);

	for (size_t i = 0; i < n; i++)
		out[i] = arena_strdup(&q->arena, v[i]);
	return out;
}

static void device_plugin_call_ask(struct plugin_request *q, const ProtobufCMessage *message,
				   int64_t deadline_ms)
{
	struct device_endpoint *e = device_plugins_newest(q->p->devices, q->subject);
	struct error err;

	if (e) {
		plugin_request_call(q, e->channel, message, deadline_ms);
		return;
	}
	(void)error_set(&err, ERR_UNAVAILABLE, "endpoint of %.*s has been stopped",
			STR_ARG(q->subject));
	plugin_request_fail(q, &err);
}

/* --- GetPreferredAllocation ---------------------------------------------------------- */

static void end_preferred(struct plugin_request *q, const void *reply, const struct error *err)
{
	const Deviceplugin__PreferredAllocationResponse *m = reply;
	const Deviceplugin__ContainerPreferredAllocationResponse *first;
	struct error wrapped;
	struct str *ids;

	if (err) {
		wrapped = *err;
		(void)error_wrap(&wrapped, -(int)err->code,
				 "device plugin GetPreferredAllocation rpc failed with err");
		q->done.ids(q->arg, NULL, 0, &wrapped);
		return;
	}
	if (m->n_container_responses == 0) {
		q->done.ids(q->arg, NULL, 0, NULL);
		return;
	}
	first = m->container_responses[0];
	ids = ARENA_ARRAY(&q->arena, struct str, first->n_device_ids);
	for (size_t i = 0; i < first->n_device_ids; i++)
		ids[i] = str_from(first->device_ids[i]);
	q->done.ids(q->arg, ids, first->n_device_ids, NULL);
}

void plugins_preferred(struct plugins *p, const struct assign_wish *wish, plugins_ids_done *done,
		       void *arg)
{
	Deviceplugin__ContainerPreferredAllocationRequest one =
		DEVICEPLUGIN__CONTAINER_PREFERRED_ALLOCATION_REQUEST__INIT;
	Deviceplugin__ContainerPreferredAllocationRequest *all[] = { &one };
	Deviceplugin__PreferredAllocationRequest m =
		DEVICEPLUGIN__PREFERRED_ALLOCATION_REQUEST__INIT;
	struct plugin_request *q = plugin_request_new(p, &plugin_wire_preferred, wish->resource,
						      end_preferred, arg);

	q->done.ids = done;
	one.available_device_ids = terminated(q, wish->available, wish->navailable);
	one.n_available_device_ids = wish->navailable;
	one.must_include_device_ids = terminated(q, wish->must, wish->nmust);
	one.n_must_include_device_ids = wish->nmust;
	one.allocation_size = (int32_t)MIN(wish->size, (int64_t)INT32_MAX);
	m.container_requests = all;
	m.n_container_requests = 1;
	device_plugin_call_ask(q, &m.base, ALLOCATE_MS);
}

/* --- Allocate ------------------------------------------------------------------------ */

static void end_allocate(struct plugin_request *q, const void *reply, const struct error *err)
{
	struct str packed = STR_NULL;
	struct error bad;

	if (!err && plugin_wire_allocated(reply, &q->arena, &packed, &bad) < 0)
		err = &bad;
	q->done.packed(q->arg, packed, err);
}

void plugins_allocate(struct plugins *p, struct str resource, const struct str *ids, size_t n,
		      plugins_packed_done *done, void *arg)
{
	Deviceplugin__ContainerAllocateRequest one = DEVICEPLUGIN__CONTAINER_ALLOCATE_REQUEST__INIT;
	Deviceplugin__ContainerAllocateRequest *all[] = { &one };
	Deviceplugin__AllocateRequest m = DEVICEPLUGIN__ALLOCATE_REQUEST__INIT;
	struct plugin_request *q = plugin_request_new(p, &plugin_wire_allocate, resource,
						      end_allocate, arg);

	q->done.packed = done;
	one.devices_ids = terminated(q, ids, n);
	one.n_devices_ids = n;
	m.container_requests = all;
	m.n_container_requests = 1;
	device_plugin_call_ask(q, &m.base, ALLOCATE_MS);
}

/* --- PreStartContainer --------------------------------------------------------------- */

static void end_prestart(struct plugin_request *q, const void *reply UNUSED,
			 const struct error *err)
{
	struct error wrapped;

	if (err) {
		wrapped = *err;
		(void)error_wrap(&wrapped, -(int)err->code,
				 "device plugin PreStartContainer rpc failed with err");
		err = &wrapped;
	}
	q->done.plain(q->arg, err);
}

void plugins_prestart(struct plugins *p, struct str resource, const struct str *ids, size_t n,
		      plugins_done *done, void *arg)
{
	Deviceplugin__PreStartContainerRequest m = DEVICEPLUGIN__PRE_START_CONTAINER_REQUEST__INIT;
	struct plugin_request *q = plugin_request_new(p, &plugin_wire_prestart, resource,
						      end_prestart, arg);

	q->done.plain = done;
	m.devices_ids = terminated(q, ids, n);
	m.n_devices_ids = n;
	device_plugin_call_ask(q, &m.base, PRESTART_MS);
}
