/*
 * The list of devices is built once and changed in place, so that the plugin's own work is packing:
 * it shares a loop with those who look for the result.
 */
#include "node_plugin.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "deviceplugin.pb-c.h"
#include "drivers/prepare/rpc_socket.h"
#include "grpc/channel.h"
#include "grpc/message.h"
#include "grpc/server.h"
#include "net/net_limits.h"
#include "node/plugins/wire.h"

enum { NUMA_NODES = 2 };

struct device {
	Deviceplugin__Device device;
	Deviceplugin__TopologyInfo topology;
	Deviceplugin__NumaNode numa, *numas[1];
	char id[32];
};

struct node_plugin {
	struct node_plugin_opts opts;
	struct grpc_server *services;
	struct rpc_socket *socket;
	struct grpc_channel *agent;
	struct grpc_call *watch; /* or NULL */
	struct device *devices;
	Deviceplugin__ListAndWatchResponse list;
};

static char *text(const char *literal)
{
	return (char *)(uintptr_t)literal;
}

static void make_devices(struct node_plugin *p)
{
	size_t n = p->opts.devices;

	p->devices = xcalloc(n, sizeof(*p->devices));
	deviceplugin__list_and_watch_response__init(&p->list);
	p->list.devices = xcalloc(n, sizeof(*p->list.devices));
	p->list.n_devices = n;
	for (size_t i = 0; i < n; i++) {
		struct device *it = &p->devices[i];

		deviceplugin__device__init(&it->device);
		deviceplugin__topology_info__init(&it->topology);
		deviceplugin__numa_node__init(&it->numa);
		(void)snprintf(it->id, sizeof(it->id), "device-%zu", i);
		it->numa.id = (int64_t)(i % NUMA_NODES);
		it->numas[0] = &it->numa;
		it->topology.n_nodes = 1;
		it->topology.nodes = it->numas;
		it->device.id = it->id;
		it->device.health = text("Healthy");
		it->device.topology = &it->topology;
		p->list.devices[i] = &it->device;
	}
}

static int64_t send_list(struct node_plugin *p)
{
	struct bytes *packed;
	int64_t now;

	if (!p->watch)
		return 0;
	packed = grpc_message_pack(&p->list.base);
	now = clock_monotonic(clock_system());
	(void)grpc_call_send_packed(p->watch, packed);
	bytes_unref(packed);
	return now;
}

int64_t node_plugin_set(struct node_plugin *p, size_t device, bool healthy)
{
	p->devices[device].device.health = text(healthy ? "Healthy" : "Unhealthy");
	return send_list(p);
}

/* --- services --------------------------------------------------------------------------- */

static void on_options(struct grpc_call *c, const void *request UNUSED)
{
	static const Deviceplugin__Options out = DEVICEPLUGIN__OPTIONS__INIT;

	(void)grpc_call_reply(c, &out.base);
}

static void on_watch(struct grpc_call *c, const void *request UNUSED)
{
	struct node_plugin *p = grpc_call_service(c);

	p->watch = c;
	(void)send_list(p);
	p->opts.on_watched(p->opts.arg);
}

static void on_watch_end(struct grpc_call *c, const struct grpc_status *st UNUSED)
{
	struct node_plugin *p = grpc_call_service(c);

	if (p->watch == c)
		p->watch = NULL;
}

static void on_allocate(struct grpc_call *c, const void *request)
{
	const Deviceplugin__AllocateRequest *in = request;
	Deviceplugin__AllocateResponse out = DEVICEPLUGIN__ALLOCATE_RESPONSE__INIT;
	Deviceplugin__ContainerAllocateResponse nothing =
		DEVICEPLUGIN__CONTAINER_ALLOCATE_RESPONSE__INIT;

	out.n_container_responses = in->n_container_requests;
	out.container_responses = xcalloc(in->n_container_requests,
					  sizeof(*out.container_responses));
	for (size_t i = 0; i < in->n_container_requests; i++)
		out.container_responses[i] = &nothing;
	(void)grpc_call_reply(c, &out.base);
	free(out.container_responses);
}

static const struct grpc_handler rows[] = {
	{ .method = &plugin_wire_options, .on_request = on_options },
	{ .method = &plugin_wire_list_and_watch,
	  .on_request = on_watch,
	  .ops = { .on_end = on_watch_end } },
	{ .method = &plugin_wire_allocate, .on_request = on_allocate },
};

/* --- registration ----------------------------------------------------------------------- */

static void on_registered(void *arg UNUSED, struct grpc_call *c UNUSED,
			  const struct grpc_status *st, const void *answer UNUSED)
{
	struct error err;

	if (grpc_status_error(st, &err) == 0)
		return;
	(void)fprintf(stderr, "node_plugin: not registered: %s\n", err.msg);
	exit(1);
}

static int register_at(struct node_plugin *p, const char *agent, struct error *err)
{
	Deviceplugin__RegisterRequest in = DEVICEPLUGIN__REGISTER_REQUEST__INIT;
	struct grpc_channel_opts o = { 0 };
	int r = addr_parse(&o.to, str_from(agent), 0, err);

	if (r < 0)
		return r;
	in.version = text("v1beta1");
	in.endpoint = text("bench.sock");
	in.resource_name = text(NODE_PLUGIN_RESOURCE);
	p->agent = grpc_channel_new(p->opts.loop, &o);
	(void)grpc_channel_unary(p->agent, &plugin_wire_register, &in.base, NULL, on_registered, p);
	return 0;
}

int node_plugin_new(const struct node_plugin_opts *opts, struct node_plugin **ret_plugin,
		    struct error *err)
{
	struct node_plugin *p = XNEW(struct node_plugin);
	char path[NET_ADDRESS_MAX], agent[NET_ADDRESS_MAX];
	int r;

	p->opts = *opts;
	make_devices(p);
	(void)snprintf(path, sizeof(path), "%s/device-plugins/bench.sock", opts->root);
	(void)snprintf(agent, sizeof(agent), "unix:%s/device-plugins/kubelet.sock", opts->root);
	p->services = grpc_server_new(NULL);
	grpc_server_add(p->services, rows, ARRAY_SIZE(rows), p);
	p->socket = rpc_socket_new(opts->loop, p->services);
	*ret_plugin = p;
	r = rpc_socket_listen(p->socket, str_from(path), err);
	return r < 0 ? r : register_at(p, agent, err);
}
