#include "cluster_plugin.h"

#include "base/core/mem.h"
#include "grpc/channel.h"
#include "grpc/server.h"
#include "net/http/server.h"
#include "net/loop/addr.h"
#include "node/plugins/wire.h"

enum { LOOK_MS = 1000, STOP_MS = 500 };

#define ENDPOINT "sim-card.sock"

struct plugin {
	struct cluster_role *role;
	struct http_server *http;
	struct grpc_server *grpc;
	struct grpc_channel *channel; /* to the agent */
	struct grpc_call *watch; /* ListAndWatch; NULL: nobody listens */
	struct loop_timer look;
};

static void address_of(const struct cluster_cards *cards, const char *name, struct addr *ret_addr)
{
	char text[256];

	(void)snprintf(text, sizeof(text), "unix:%s/device-plugins/%s", cards->root, name);
	(void)addr_parse(ret_addr, str_from(text), 0, NULL);
}

/* --- what it offers ----------------------------------------------------------------------- */

static void send_list(struct plugin *p)
{
	const struct cluster_cards *cards = p->role->arg;
	Deviceplugin__ListAndWatchResponse m = DEVICEPLUGIN__LIST_AND_WATCH_RESPONSE__INIT;
	Deviceplugin__Device devices[CLUSTER_CARDS], *v[CLUSTER_CARDS];
	char ids[CLUSTER_CARDS][16];
	static char healthy[] = "Healthy", unhealthy[] = "Unhealthy";

	for (unsigned i = 0; i < CLUSTER_CARDS; i++) {
		deviceplugin__device__init(&devices[i]);
		(void)snprintf(ids[i], sizeof(ids[i]), "card-%u", i);
		devices[i].id = ids[i];
		devices[i].health = cards->sick[i] ? unhealthy : healthy;
		v[i] = &devices[i];
	}
	m.n_devices = CLUSTER_CARDS;
	m.devices = v;
	if (p->watch)
		(void)grpc_call_send(p->watch, &m.base);
}

static void serve_options(struct grpc_call *c, const void *request UNUSED)
{
	Deviceplugin__Options m = DEVICEPLUGIN__OPTIONS__INIT;

	(void)grpc_call_reply(c, &m.base);
}

static void serve_watch(struct grpc_call *c, const void *request UNUSED)
{
	struct plugin *p = grpc_call_service(c);

	p->watch = c;
	send_list(p);
}

static void end_watch(struct grpc_call *c, const struct grpc_status *st UNUSED)
{
	struct plugin *p = grpc_call_service(c);

	if (p->watch == c)
		p->watch = NULL;
}

static void serve_allocate(struct grpc_call *c, const void *request)
{
	const Deviceplugin__AllocateRequest *in = request;
	Deviceplugin__AllocateResponse out = DEVICEPLUGIN__ALLOCATE_RESPONSE__INIT;
	Deviceplugin__ContainerAllocateResponse one =
		DEVICEPLUGIN__CONTAINER_ALLOCATE_RESPONSE__INIT;
	Deviceplugin__ContainerAllocateResponse **v = xcalloc(in->n_container_requests + 1,
							      sizeof(void *));

	for (size_t i = 0; i < in->n_container_requests; i++)
		v[i] = &one;
	out.container_responses = v;
	out.n_container_responses = in->n_container_requests;
	(void)grpc_call_reply(c, &out.base);
	free(v);
}

static const struct grpc_handler rows[] = {
	{ .method = &plugin_wire_options, .on_request = serve_options },
	{ .method = &plugin_wire_list_and_watch,
	  .on_request = serve_watch,
	  .ops = { .on_end = end_watch } },
	{ .method = &plugin_wire_allocate, .on_request = serve_allocate },
};

/* --- registering -------------------------------------------------------------------------- */

static void on_registered(void *arg UNUSED, struct grpc_call *c UNUSED,
			  const struct grpc_status *st UNUSED, const void *reply UNUSED)
{
}

static void look(struct loop_timer *t)
{
	struct plugin *p = CONTAINER_OF(t, struct plugin, look);
	Deviceplugin__RegisterRequest m = DEVICEPLUGIN__REGISTER_REQUEST__INIT;
	struct grpc_call_opts opts = { .deadline_ms = LOOK_MS };
	static char version[] = PLUGIN_WIRE_DEVICE_VERSION, endpoint[] = ENDPOINT,
		    resource[] = CLUSTER_CARD;

	loop_timer_start(&p->look, 2 * LOOK_MS);
	if (p->watch)
		return;
	m.version = version;
	m.endpoint = endpoint;
	m.resource_name = resource;
	(void)grpc_channel_unary(p->channel, &plugin_wire_register, &m.base, &opts, on_registered,
				 p);
}

/* --- the role ----------------------------------------------------------------------------- */

static void handle(void *arg, struct http_stream *s, size_t lane UNUSED)
{
	grpc_server_handle(((struct plugin *)arg)->grpc, s);
}

static int start(struct cluster_role *role, struct error *err)
{
	struct plugin *p = XNEW(struct plugin);
	struct http_server_opts opts = { .nloops = 1, .handler = handle, .arg = p };
	struct grpc_channel_opts to = { .connect_timeout_ms = LOOK_MS };
	struct addr at;

	role->impl = p;
	p->role = role;
	p->grpc = grpc_server_new(NULL);
	grpc_server_add(p->grpc, rows, ARRAY_SIZE(rows), p);
	opts.loops = role->loops;
	p->http = http_server_new(&opts);
	address_of(role->arg, "kubelet.sock", &to.to);
	p->channel = grpc_channel_new(role->loops[0], &to);
	loop_timer_init(&p->look, role->loops[0], look);
	loop_timer_start(&p->look, 0);
	address_of(role->arg, ENDPOINT, &at);
	return http_server_listen(p->http, &at, NULL, 0, NULL, err);
}

static void stop(struct cluster_role *role, void (*done)(void *arg), void *arg)
{
	struct plugin *p = role->impl;

	loop_timer_stop(&p->look);
	grpc_channel_free(TAKE(p->channel));
	http_server_drain(p->http, STOP_MS, done, arg);
}

static void die(struct cluster_role *role UNUSED, bool stopping, void (*done)(void *arg), void *arg)
{
	if (!stopping)
		done(arg);
}

static void drop(struct cluster_role *role)
{
	struct plugin *p = role->impl;

	loop_timer_stop(&p->look);
	grpc_channel_free(p->channel);
	http_server_free(p->http);
	grpc_server_free(p->grpc);
	free(p);
}

const struct cluster_role_ops cluster_plugin_ops = {
	.start = start, .stop = stop, .drop = drop, .die = die, .nloops = 1
};

void cluster_plugin_set_sick(struct cluster_role *role, unsigned card, bool sick)
{
	struct cluster_cards *cards = role->arg;

	cards->sick[card] = sick;
	if (role->state == CLUSTER_UP && role->impl)
		send_list(role->impl);
}
