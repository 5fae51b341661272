/*
 * Both sockets belong to one server, which offers all services on each. Only their file names
 * differ.
 */
#include "drivers/sdk/dra_mode.h"

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "dra.pb-c.h"
#include "drahealth.pb-c.h"
#include "drivers/prepare/rpc_socket.h"
#include "drivers/prepare/socket_path.h"
#include "drivers/sdk/driver.h"
#include "grpc/server.h"
#include "pluginregistration.pb-c.h"

enum { GRACE_MS = 5000, VERSIONS_MAX = 5 };

struct dra_mode {
	struct dp_driver *driver;
	struct grpc_server *services;
	struct rpc_socket *socket;
	char *endpoint;
};

/* --- registration ------------------------------------------------------------------------- */

static void on_get_info(struct grpc_call *c, const void *request UNUSED)
{
	static const struct {
		uint32_t dialect;
		const char *version;
	} health[] = {
		{ DP_HEALTH_V1, "v1.DRAResourceHealth" },
		{ DP_HEALTH_V1ALPHA1, "v1alpha1.DRAResourceHealth" },
		{ DP_HEALTH_NODE, "v1alpha1.NodeHealth" },
	};
	struct dra_mode *m = grpc_call_service(c);
	const struct dp_driver_config *config = &m->driver->config;
	const char *versions[VERSIONS_MAX] = { "v1.DRAPlugin", "v1beta1.DRAPlugin" };
	Pluginregistration__PluginInfo out = PLUGINREGISTRATION__PLUGIN_INFO__INIT;

	out.type = (char *)(uintptr_t) "DRAPlugin";
	out.name = (char *)(uintptr_t)config->name;
	out.endpoint = m->endpoint;
	out.n_supported_versions = 2;
	for (size_t i = 0; i < ARRAY_SIZE(health); i++)
		if (config->health_dialects & health[i].dialect)
			versions[out.n_supported_versions++] = health[i].version;
	out.supported_versions = (char **)(uintptr_t)versions;
	(void)grpc_call_reply(c, &out.base);
}

static void on_notify(struct grpc_call *c, const void *request)
{
	static const Pluginregistration__RegistrationStatusResponse out =
		PLUGINREGISTRATION__REGISTRATION_STATUS_RESPONSE__INIT;
	const Pluginregistration__RegistrationStatus *in = request;
	struct dra_mode *m = grpc_call_service(c);
	const struct dp_driver_config *config = &m->driver->config;

	m->driver->registered = in->plugin_registered;
	if (in->plugin_registered)
		driver_log(&m->driver->log, DP_LOG_INFO, "registered as %s", config->name);
	else
		driver_log(&m->driver->log, DP_LOG_ERROR, "registration of %s was rejected: %s",
			   config->name, in->error);
	(void)grpc_call_reply(c, &out.base);
	if (config->registered)
		config->registered(config->arg, in->plugin_registered, in->error);
}

#define REGISTRATION "/pluginregistration.Registration/"

static const struct grpc_method get_info = { REGISTRATION "GetInfo", GRPC_UNARY,
					     &pluginregistration__info_request__descriptor,
					     &pluginregistration__plugin_info__descriptor };
static const struct grpc_method notify = {
	REGISTRATION "NotifyRegistrationStatus", GRPC_UNARY,
	&pluginregistration__registration_status__descriptor,
	&pluginregistration__registration_status_response__descriptor
};

static const struct grpc_handler registration_rows[] = {
	{ .method = &get_info, .on_request = on_get_info },
	{ .method = &notify, .on_request = on_notify },
};

/* --- claims ------------------------------------------------------------------------------- */

static void on_prepare(struct grpc_call *c, const void *request)
{
	struct dra_mode *m = grpc_call_service(c);

	prepare_call(m->driver->prepare, c, request);
}

static void on_unprepare(struct grpc_call *c, const void *request)
{
	struct dra_mode *m = grpc_call_service(c);

	unprepare_call(m->driver->prepare, c, request);
}

#define DRA "/k8s.io.kubelet.pkg.apis.dra."

#define DRA_METHOD(call_, request_, response_)                         \
	{                                                              \
		DRA call_, GRPC_UNARY, &dra__##request_##__descriptor, \
			&dra__##response_##__descriptor                \
	}

static const struct grpc_method dra_methods[] = {
	DRA_METHOD("v1.DRAPlugin/NodePrepareResources", node_prepare_resources_request,
		   node_prepare_resources_response),
	DRA_METHOD("v1.DRAPlugin/NodeUnprepareResources", node_unprepare_resources_request,
		   node_unprepare_resources_response),
	DRA_METHOD("v1beta1.DRAPlugin/NodePrepareResources", node_prepare_resources_request,
		   node_prepare_resources_response),
	DRA_METHOD("v1beta1.DRAPlugin/NodeUnprepareResources", node_unprepare_resources_request,
		   node_unprepare_resources_response),
};

static const struct grpc_handler dra_rows[] = {
	{ .method = &dra_methods[0], .on_request = on_prepare },
	{ .method = &dra_methods[1], .on_request = on_unprepare },
	{ .method = &dra_methods[2], .on_request = on_prepare },
	{ .method = &dra_methods[3], .on_request = on_unprepare },
};

/* --- health ------------------------------------------------------------------------------- */

static void on_watch(struct grpc_call *c, const void *request UNUSED)
{
	struct dra_mode *m = grpc_call_service(c);

	reporter_watch(m->driver->reporter, c, REPORTER_DRA);
}

static void on_node_watch(struct grpc_call *c, const void *request UNUSED)
{
	struct dra_mode *m = grpc_call_service(c);

	reporter_watch(m->driver->reporter, c, REPORTER_NODE);
}

static const struct grpc_method health_methods[] = {
	{ "/v1.DRAResourceHealth/NodeWatchResources", GRPC_SERVER_STREAM,
	  &drahealth__watch_request__descriptor, &drahealth__watch_response__descriptor },
	{ "/v1alpha1.DRAResourceHealth/NodeWatchResources", GRPC_SERVER_STREAM,
	  &drahealth__watch_request__descriptor, &drahealth__watch_response__descriptor },
	{ "/v1alpha1.NodeHealth/WatchResources", GRPC_SERVER_STREAM,
	  &drahealth__watch_request__descriptor, &drahealth__node_health_response__descriptor },
};

/* In the order of the bits DP_HEALTH_*. A service that is not enabled returns Unimplemented. */
static void add_health(struct dra_mode *m)
{
	static const struct grpc_handler rows[] = {
		{ .method = &health_methods[0],
		  .on_request = on_watch,
		  .ops = { .on_writable = reporter_on_writable, .on_end = reporter_on_end } },
		{ .method = &health_methods[1],
		  .on_request = on_watch,
		  .ops = { .on_writable = reporter_on_writable, .on_end = reporter_on_end } },
		{ .method = &health_methods[2],
		  .on_request = on_node_watch,
		  .ops = { .on_writable = reporter_on_writable, .on_end = reporter_on_end } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (m->driver->config.health_dialects & (1U << i))
			grpc_server_add(m->services, &rows[i], 1, m);
}

/* --- life --------------------------------------------------------------------------------- */

static int listen_both(struct dra_mode *m, struct error *err)
{
	const struct dp_driver_config *c = &m->driver->config;
	struct buf endpoint = BUF_INIT(4 * KIB);
	CLEANUP(buf_release) struct buf registry = BUF_INIT(4 * KIB);
	int r;

	r = socket_path_dra(c->root_dir, c->name, c->instance, &endpoint, err);
	m->endpoint = buf_take(&endpoint);
	if (r == 0)
		r = socket_path_registry(c->root_dir, c->name, c->instance, &registry, err);
	if (r == 0)
		r = rpc_socket_listen(m->socket, str_from(m->endpoint), err);
	if (r == 0)
		r = rpc_socket_listen(m->socket, buf_str(&registry), err);
	return r;
}

int dra_mode_start(struct dp_driver *d, struct dra_mode **ret_mode, struct error *err)
{
	struct dra_mode *m = XNEW(struct dra_mode);

	m->driver = d;
	m->services = grpc_server_new(NULL);
	grpc_server_add(m->services, registration_rows, ARRAY_SIZE(registration_rows), m);
	grpc_server_add(m->services, dra_rows, ARRAY_SIZE(dra_rows), m);
	add_health(m);
	m->socket = rpc_socket_new(d->loop, m->services);
	*ret_mode = m; /* also on failure: the caller must stop it */
	return listen_both(m, err);
}

void dra_mode_stop(struct dra_mode *m, void (*done)(void *arg), void *arg)
{
	rpc_socket_close(TAKE(m->socket), GRACE_MS, done, arg);
}

void dra_mode_free(struct dra_mode *m)
{
	if (!m)
		return;
	grpc_server_free(m->services);
	free(m->endpoint);
	free(m);
}
