/*
 * The messages of a report are built once and changed in place, so that the driver's own work is
 * packing: it shares a loop with the watch that looks for the result.
 */
#include "node_driver.h"

#include <stdio.h>

#include "base/core/arena.h"
#include "base/core/clock.h"
#include "base/core/mem.h"
#include "dra.pb-c.h"
#include "drahealth.pb-c.h"
#include "drivers/prepare/rpc_socket.h"
#include "grpc/message.h"
#include "grpc/server.h"
#include "pluginregistration.pb-c.h"

struct device {
	Drahealth__DeviceHealth health;
	Drahealth__DeviceIdentifier id;
	char name[32], says[32];
};

struct node_driver {
	struct node_driver_opts opts;
	struct grpc_server *services;
	struct rpc_socket *socket;
	struct grpc_call *watch; /* of health, or NULL */
	struct device *devices;
	Drahealth__WatchResponse report;
};

static char *text(const char *literal)
{
	return (char *)(uintptr_t)literal;
}

/* --- registration ------------------------------------------------------------------------- */

static void on_get_info(struct grpc_call *c, const void *request UNUSED)
{
	Pluginregistration__PluginInfo out = PLUGINREGISTRATION__PLUGIN_INFO__INIT;
	char *versions[] = { text("v1.DRAPlugin"), text("v1.DRAResourceHealth") };

	out.type = text("DRAPlugin");
	out.name = text(NODE_DRIVER);
	out.n_supported_versions = ARRAY_SIZE(versions);
	out.supported_versions = versions;
	(void)grpc_call_reply(c, &out.base);
}

static void on_notify(struct grpc_call *c, const void *request)
{
	static const Pluginregistration__RegistrationStatusResponse out =
		PLUGINREGISTRATION__REGISTRATION_STATUS_RESPONSE__INIT;
	const Pluginregistration__RegistrationStatus *in = request;

	if (!in->plugin_registered)
		(void)fprintf(stderr, "node_driver: not registered: %s\n", in->error);
	(void)grpc_call_reply(c, &out.base);
}

/* --- claims ------------------------------------------------------------------------------- */

static Dra__NodePrepareResourceResponse *prepare(struct node_driver *d, struct arena *a,
						 struct str claim)
{
	Dra__NodePrepareResourceResponse *out = ARENA_NEW(a, Dra__NodePrepareResourceResponse);
	size_t n = d->opts.per_claim;
	uint64_t at = 0;

	dra__node_prepare_resource_response__init(out);
	(void)str_to_u64(str_skip(claim, strlen(NODE_DRIVER_CLAIM)), &at);
	if ((at + 1) * n > d->opts.devices) {
		out->error = text("no such claim");
		return out;
	}
	out->devices = ARENA_ARRAY(a, Dra__Device *, n);
	for (size_t i = 0; i < n; i++) {
		Dra__Device *device = ARENA_NEW(a, Dra__Device);

		dra__device__init(device);
		device->request_names = ARENA_NEW(a, char *);
		device->request_names[device->n_request_names++] = text("all");
		device->pool_name = text(NODE_DRIVER_POOL);
		device->device_name = d->devices[at * n + i].name;
		out->devices[out->n_devices++] = device;
	}
	return out;
}

static void on_prepare(struct grpc_call *c, const void *request)
{
	Dra__NodePrepareResourcesResponse out = DRA__NODE_PREPARE_RESOURCES_RESPONSE__INIT;
	const Dra__NodePrepareResourcesRequest *in = request;
	CLEANUP(arena_release) struct arena a;

	arena_init(&a, SIZE_MAX);
	out.claims = ARENA_ARRAY(&a, Dra__PreparedEntry *, in->n_claims);
	for (size_t i = 0; i < in->n_claims; i++) {
		Dra__PreparedEntry *e = ARENA_NEW(&a, Dra__PreparedEntry);

		dra__prepared_entry__init(e);
		e->key = in->claims[i]->uid;
		e->value = prepare(grpc_call_service(c), &a, str_from(in->claims[i]->name));
		out.claims[out.n_claims++] = e;
	}
	(void)grpc_call_reply(c, &out.base);
}

static void on_unprepare(struct grpc_call *c, const void *request)
{
	Dra__NodeUnprepareResourcesResponse out = DRA__NODE_UNPREPARE_RESOURCES_RESPONSE__INIT;
	Dra__NodeUnprepareResourceResponse done = DRA__NODE_UNPREPARE_RESOURCE_RESPONSE__INIT;
	const Dra__NodeUnprepareResourcesRequest *in = request;
	CLEANUP(arena_release) struct arena a;

	arena_init(&a, SIZE_MAX);
	out.claims = ARENA_ARRAY(&a, Dra__UnpreparedEntry *, in->n_claims);
	for (size_t i = 0; i < in->n_claims; i++) {
		Dra__UnpreparedEntry *e = ARENA_NEW(&a, Dra__UnpreparedEntry);

		dra__unprepared_entry__init(e);
		e->key = in->claims[i]->uid;
		e->value = &done;
		out.claims[out.n_claims++] = e;
	}
	(void)grpc_call_reply(c, &out.base);
}

/* --- health ------------------------------------------------------------------------------- */

static void on_watch(struct grpc_call *c, const void *request UNUSED)
{
	struct node_driver *d = grpc_call_service(c);

	d->watch = c;
	(void)grpc_call_send_headers(c);
	d->opts.on_watched(d->opts.arg);
}

static void on_watch_end(struct grpc_call *c, const struct grpc_status *st UNUSED)
{
	struct node_driver *d = grpc_call_service(c);

	if (d->watch == c)
		d->watch = NULL;
}

void node_driver_set(struct node_driver *d, size_t device, uint64_t report, bool healthy,
		     int64_t timeout_s)
{
	struct device *it = &d->devices[device];

	(void)snprintf(it->says, sizeof(it->says), NODE_DRIVER_SAYS "%llu",
		       (unsigned long long)report);
	it->health.health = healthy ? DRAHEALTH__HEALTH_STATUS__HEALTHY
				    : DRAHEALTH__HEALTH_STATUS__UNHEALTHY;
	it->health.health_check_timeout_seconds = timeout_s;
}

int64_t node_driver_report(struct node_driver *d)
{
	struct bytes *packed;
	int64_t now;

	if (!d->watch)
		return 0;
	packed = grpc_message_pack(&d->report.base);
	now = clock_monotonic(clock_system());
	(void)grpc_call_send_packed(d->watch, packed);
	bytes_unref(packed);
	return now;
}

static void make_devices(struct node_driver *d)
{
	size_t n = d->opts.devices;

	d->devices = xcalloc(n, sizeof(*d->devices));
	drahealth__watch_response__init(&d->report);
	d->report.devices = xcalloc(n, sizeof(*d->report.devices));
	d->report.n_devices = n;
	for (size_t i = 0; i < n; i++) {
		struct device *it = &d->devices[i];

		drahealth__device_health__init(&it->health);
		drahealth__device_identifier__init(&it->id);
		(void)snprintf(it->name, sizeof(it->name), NODE_DRIVER_DEVICE "%zu", i);
		it->id.pool_name = text(NODE_DRIVER_POOL);
		it->id.device_name = it->name;
		it->health.device = &it->id;
		it->health.message = it->says;
		d->report.devices[i] = &it->health;
	}
}

/* --- services ----------------------------------------------------------------------------- */

#define METHOD(path_, kind_, package_, request_, response_)        \
	&(const struct grpc_method)                                \
	{                                                          \
		.path = (path_), .kind = (kind_),                  \
		.request = &package_##__##request_##__descriptor,  \
		.response = &package_##__##response_##__descriptor \
	}

static const struct grpc_handler rows[] = {
	{ .method = METHOD("/pluginregistration.Registration/GetInfo", GRPC_UNARY,
			   pluginregistration, info_request, plugin_info),
	  .on_request = on_get_info },
	{ .method = METHOD("/pluginregistration.Registration/NotifyRegistrationStatus", GRPC_UNARY,
			   pluginregistration, registration_status, registration_status_response),
	  .on_request = on_notify },
	{ .method = METHOD("/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources",
			   GRPC_UNARY, dra, node_prepare_resources_request,
			   node_prepare_resources_response),
	  .on_request = on_prepare },
	{ .method = METHOD("/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodeUnprepareResources",
			   GRPC_UNARY, dra, node_unprepare_resources_request,
			   node_unprepare_resources_response),
	  .on_request = on_unprepare },
	{ .method = METHOD("/v1.DRAResourceHealth/NodeWatchResources", GRPC_SERVER_STREAM,
			   drahealth, watch_request, watch_response),
	  .on_request = on_watch,
	  .ops = { .on_end = on_watch_end } },
};

int node_driver_new(const struct node_driver_opts *opts, struct node_driver **ret_driver,
		    struct error *err)
{
	struct node_driver *d = XNEW(struct node_driver);

	d->opts = *opts;
	make_devices(d);
	d->services = grpc_server_new(NULL);
	grpc_server_add(d->services, rows, ARRAY_SIZE(rows), d);
	d->socket = rpc_socket_new(opts->loop, d->services);
	*ret_driver = d;
	return rpc_socket_listen(d->socket, str_from(opts->socket), err);
}
