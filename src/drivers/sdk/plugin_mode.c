/*
 * Watches the folder. On every event it compares the identity of both sockets with the known one.
 * The identity is inode and change time, because inode numbers are reused.
 */
#include "drivers/sdk/plugin_mode.h"

#include <sys/stat.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/system/folder.h"
#include "base/time/backoff.h"
#include "deviceplugin.pb-c.h"
#include "drivers/prepare/rpc_socket.h"
#include "drivers/prepare/socket_path.h"
#include "drivers/sdk/allocation.h"
#include "drivers/sdk/driver.h"
#include "grpc/channel.h"
#include "grpc/server.h"

enum {
	GRACE_MS = 1000,
	REGISTER_MS = 15000, /* the kubelet dials us during the call, for up to 10 s */
	WATCH_RETRY_MS = 1000, /* if the folder is missing */
};

struct identity {
	ino_t inode; /* 0: the file does not exist */
	int64_t changed; /* ns */
};

struct plugin_mode {
	struct dp_driver *driver;
	struct grpc_server *services;
	struct rpc_socket *socket;
	char *dir, *path, *kubelet;
	struct loop_watch *watch;
	struct grpc_channel *channel; /* to kubelet.sock, while registering */
	struct grpc_call *call;
	struct identity own, known; /* known: the kubelet.sock that we registered with */
	struct loop_task look;
	struct loop_timer retry;
	struct backoff backoff;
	unsigned closing; /* number of sockets being closed */
	bool stopping;
	void (*done)(void *arg);
	void *arg;
};

static struct identity identify(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0 || !S_ISSOCK(st.st_mode))
		return (struct identity){ 0 };
	return (struct identity){ st.st_ino,
				  (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec };
}

static bool plugin_mode_same(struct identity a, struct identity b)
{
	return a.inode == b.inode && a.changed == b.changed;
}

/* --- services ----------------------------------------------------------------------------- */

static void on_options(struct grpc_call *c, const void *request UNUSED)
{
	static const Deviceplugin__Options out = DEVICEPLUGIN__OPTIONS__INIT;

	(void)grpc_call_reply(c, &out.base);
}

static void plugin_mode_on_list(struct grpc_call *c, const void *request UNUSED)
{
	struct plugin_mode *m = grpc_call_service(c);

	reporter_watch(m->driver->reporter, c, REPORTER_PLUGIN);
}

static void on_allocate(struct grpc_call *c, const void *request)
{
	struct plugin_mode *m = grpc_call_service(c);

	allocation_call(m->driver, c, request);
}

static const struct grpc_method methods[] = {
	{ "/v1beta1.DevicePlugin/GetDevicePluginOptions", GRPC_UNARY,
	  &deviceplugin__empty__descriptor, &deviceplugin__options__descriptor },
	{ "/v1beta1.DevicePlugin/ListAndWatch", GRPC_SERVER_STREAM,
	  &deviceplugin__empty__descriptor, &deviceplugin__list_and_watch_response__descriptor },
	{ "/v1beta1.DevicePlugin/Allocate", GRPC_UNARY, &deviceplugin__allocate_request__descriptor,
	  &deviceplugin__allocate_response__descriptor },
};

static const struct grpc_handler rows[] = {
	{ .method = &methods[0], .on_request = on_options },
	{ .method = &methods[1],
	  .on_request = plugin_mode_on_list,
	  .ops = { .on_writable = reporter_on_writable, .on_end = reporter_on_end } },
	{ .method = &methods[2], .on_request = on_allocate },
};

static const struct grpc_method register_method = { "/v1beta1.Registration/Register", GRPC_UNARY,
						    &deviceplugin__register_request__descriptor,
						    &deviceplugin__empty__descriptor };

/* --- the socket --------------------------------------------------------------------------- */

static void plugin_mode_on_closed(void *arg)
{
	struct plugin_mode *m = arg;

	if (--m->closing == 0 && m->stopping)
		m->done(m->arg);
}

static void close_socket(struct plugin_mode *m)
{
	if (!m->socket)
		return;
	m->closing++;
	rpc_socket_close(TAKE(m->socket), GRACE_MS, plugin_mode_on_closed, m);
}

static int open_socket(struct plugin_mode *m, struct error *err)
{
	int r;

	close_socket(m);
	m->socket = rpc_socket_new(m->driver->loop, m->services);
	r = rpc_socket_listen(m->socket, str_from(m->path), err);
	m->own = identify(m->path);
	return r;
}

/* --- registration ------------------------------------------------------------------------- */

static void try_again(struct plugin_mode *m, const char *what, const char *why)
{
	driver_log(&m->driver->log, DP_LOG_WARN, "cannot %s: %s; retrying", what, why);
	m->known = (struct identity){ 0 };
	loop_timer_start(&m->retry, backoff_next(&m->backoff, loop_prng(m->driver->loop)));
}

static void plugin_mode_tell(struct plugin_mode *m, bool yes, const char *message)
{
	const struct dp_driver_config *c = &m->driver->config;

	m->driver->registered = yes;
	if (c->registered)
		c->registered(c->arg, yes, message);
}

static void on_registered(void *arg, struct grpc_call *c UNUSED, const struct grpc_status *st,
			  const void *answer UNUSED)
{
	struct plugin_mode *m = arg;
	struct error err;

	m->call = NULL;
	if (m->stopping)
		return;
	if (grpc_status_error(st, &err) < 0) {
		try_again(m, "register the device plugin", err.msg);
		plugin_mode_tell(m, false, err.msg);
		return;
	}
	backoff_reset(&m->backoff);
	driver_log(&m->driver->log, DP_LOG_INFO, "registered as device plugin of %s",
		   m->driver->config.resource);
	plugin_mode_tell(m, true, "");
}

static void register_now(struct plugin_mode *m)
{
	Deviceplugin__RegisterRequest in = DEVICEPLUGIN__REGISTER_REQUEST__INIT;
	Deviceplugin__Options options = DEVICEPLUGIN__OPTIONS__INIT;
	struct grpc_channel_opts o = { 0 };
	struct grpc_call_opts call = { .deadline_ms = REGISTER_MS };
	struct error err;

	grpc_channel_free(TAKE(m->channel));
	if (socket_path_addr(str_from(m->kubelet), &o.to, &err) < 0) {
		try_again(m, "register the device plugin", err.msg);
		return;
	}
	m->channel = grpc_channel_new(m->driver->loop, &o);
	in.version = (char *)(uintptr_t) "v1beta1";
	in.endpoint = strrchr(m->path, '/') + 1;
	in.resource_name = (char *)(uintptr_t)m->driver->config.resource;
	in.options = &options;
	m->call = grpc_channel_unary(m->channel, &register_method, &in.base, &call, on_registered,
				     m);
}

static void plugin_mode_look(struct plugin_mode *m)
{
	struct identity kubelet = identify(m->kubelet);
	bool lost = !plugin_mode_same(identify(m->path), m->own) || m->own.inode == 0;
	struct error err;

	if (m->stopping || loop_timer_running(&m->retry))
		return;
	if (kubelet.inode == 0) {
		m->known = kubelet;
		return;
	}
	if (plugin_mode_same(kubelet, m->known) && !lost)
		return;
	m->known = kubelet;
	if (lost && open_socket(m, &err) < 0)
		try_again(m, "open the device plugin's socket", err.msg);
	else
		register_now(m);
}

static void plugin_mode_on_look(struct loop_task *t)
{
	plugin_mode_look(CONTAINER_OF(t, struct plugin_mode, look));
}

static void plugin_mode_on_change(void *arg, struct str name UNUSED, const struct error *err)
{
	struct plugin_mode *m = arg;

	if (err) {
		loop_watch_free(TAKE(m->watch));
		loop_timer_start(&m->retry, WATCH_RETRY_MS);
	}
	loop_defer(m->driver->loop, &m->look);
}

static int watch(struct plugin_mode *m, struct error *err)
{
	int r = folder_make(m->dir, 0750, err);

	return r < 0 ? r
		     : loop_watch_new(m->driver->loop, m->dir, plugin_mode_on_change, m, &m->watch,
				      err);
}

static void plugin_mode_on_retry(struct loop_timer *t)
{
	struct plugin_mode *m = CONTAINER_OF(t, struct plugin_mode, retry);
	struct error err;

	if (!m->watch && watch(m, &err) < 0)
		try_again(m, "watch the device plugins' folder", err.msg);
	else
		plugin_mode_look(m);
}

/* --- life --------------------------------------------------------------------------------- */

static int find_paths(struct plugin_mode *m, struct error *err)
{
	const struct dp_driver_config *c = &m->driver->config;
	struct buf path = BUF_INIT(4 * KIB), text = BUF_INIT(4 * KIB);
	int r;

	r = socket_path_plugin(c->root_dir, c->name, &path, err);
	m->path = buf_take(&path);
	(void)buf_printf(&text, "%s/device-plugins", c->root_dir);
	m->dir = buf_take(&text);
	buf_init(&text, 4 * KIB);
	(void)buf_printf(&text, "%s/kubelet.sock", m->dir);
	m->kubelet = buf_take(&text);
	return r;
}

int plugin_mode_start(struct dp_driver *d, struct plugin_mode **ret_mode, struct error *err)
{
	struct plugin_mode *m = XNEW(struct plugin_mode);
	int r;

	m->driver = d;
	m->services = grpc_server_new(NULL);
	grpc_server_add(m->services, rows, ARRAY_SIZE(rows), m);
	m->backoff = (struct backoff){
		.initial_ms = 200, .max_ms = 10000, .factor = 2, .jitter = 0.2
	};
	loop_task_init(&m->look, plugin_mode_on_look);
	loop_timer_init(&m->retry, d->loop, plugin_mode_on_retry);
	*ret_mode = m; /* also on failure: the caller must stop it */
	r = find_paths(m, err);
	if (r == 0)
		r = watch(m, err);
	if (r == 0)
		r = open_socket(m, err);
	if (r == 0)
		loop_defer(d->loop, &m->look);
	return r;
}

static void plugin_mode_on_stopped(struct loop_task *t)
{
	struct plugin_mode *m = CONTAINER_OF(t, struct plugin_mode, look);

	m->done(m->arg);
}

void plugin_mode_stop(struct plugin_mode *m, void (*done)(void *arg), void *arg)
{
	m->stopping = true;
	m->done = done;
	m->arg = arg;
	loop_timer_stop(&m->retry);
	loop_watch_free(TAKE(m->watch));
	grpc_channel_free(TAKE(m->channel));
	close_socket(m);
	if (m->closing > 0)
		return;
	loop_task_cancel(&m->look);
	loop_task_init(&m->look, plugin_mode_on_stopped);
	loop_defer(m->driver->loop, &m->look);
}

void plugin_mode_free(struct plugin_mode *m)
{
	if (!m)
		return;
	loop_task_cancel(&m->look);
	grpc_server_free(m->services);
	free(m->dir);
	free(m->path);
	free(m->kubelet);
	free(m);
}
