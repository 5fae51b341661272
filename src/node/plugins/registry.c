/*
 * Each socket is a small state machine that always has exactly one of: a dial in flight, a call, a
 * connection to its device plugin in progress, a timer until the next try, or its registration. The
 * types of plugins are in a table.
 *
 * If a socket file is removed, its state machine is closed at any step; its memory stays until the
 * end of the turn.
 */
#include "node/plugins/registry.h"

#include "base/core/buf.h"
#include "base/core/mem.h"
#include "base/ordered/omap.h"
#include "base/time/backoff.h"
#include "node/plugins/device_plugin.h"
#include "node/plugins/dra_driver.h"
#include "node/plugins/plugins_impl.h"
#include "node/plugins/watcher.h"
#include "node/plugins/wire.h"

enum {
	GET_INFO_MS = 1000,
	NOTIFY_MS = 5 * 1000,
	RETRY_MS = 500,
	RETRY_MAX_MS = 122 * 1000,
};

struct plugin_registry {
	struct plugins *p;
	struct plugin_watcher *watcher;
	struct omap sockets; /* by path */
};

struct plugin_type;

struct plugin_socket {
	struct plugin_registry *owner;
	char *path;
	struct grpc_channel *channel; /* while it is being registered */
	struct loop_timer dial, retry;
	struct backoff backoff;
	struct device_endpoint *connecting; /* for a device plugin; NULL: not connecting */
	const struct plugin_type *type; /* NULL: not registered */
	char *name, *endpoint; /* from its last GetInfo */
	struct error failure; /* being sent to the plugin; code 0: none */
	bool closed;
	struct loop_task release;
};

struct plugin_type {
	const char *name;
	int (*check)(const Pluginregistration__PluginInfo *info, const char *endpoint,
		     struct error *err);
	/* Ends in registered(), now or later. */
	void (*add)(struct plugin_socket *s, const Pluginregistration__PluginInfo *info);
	void (*remove)(struct plugins *p, struct str name, struct str endpoint);
};

static struct plugins *plugins_of(const struct plugin_socket *s)
{
	return s->owner->p;
}

/* --- ends of an attempt -------------------------------------------------------------- */

static void deregister(struct plugin_socket *s)
{
	const struct plugin_type *type = TAKE(s->type);

	if (type)
		type->remove(plugins_of(s), str_from(s->name), str_from(s->endpoint));
}

/* Schedules another try. */
static void attempt_failed(struct plugin_socket *s, const struct error *err)
{
	struct plugins *p = plugins_of(s);

	loop_timer_stop(&s->dial);
	loop_timer_start(&s->retry, backoff_next(&s->backoff, loop_prng(p->loop)));
	grpc_channel_free(TAKE(s->channel));
	plugins_problem(p, err, "plugin at %s", s->path);
}

static void on_notified(void *arg, struct grpc_call *c UNUSED, const struct grpc_status *st,
			const void *reply)
{
	struct plugin_socket *s = arg;
	struct error why, err = s->failure;

	if (s->closed)
		return;
	if (reply && !s->failure.code) {
		backoff_reset(&s->backoff);
		grpc_channel_free(TAKE(s->channel));
		return;
	}
	if (!reply) {
		(void)plugin_wire_error(st, &why);
		(void)error_set(
			&err, why.code,
			"RegisterPlugin error -- failed to send %s at socket %s, err: %.300s",
			s->failure.code ? "error" : "registration status", s->path, why.msg);
	}
	deregister(s);
	if (!s->closed)
		attempt_failed(s, &err);
}

/* The plugin belongs to a kubelet, which sends it the result. */
static void settle_beside(struct plugin_socket *s)
{
	const struct error err = s->failure;

	if (err.code) {
		attempt_failed(s, &err);
		return;
	}
	backoff_reset(&s->backoff);
	grpc_channel_free(TAKE(s->channel));
}

/* Sends the result to the plugin: s->failure, or that it is registered. */
static void notify(struct plugin_socket *s)
{
	Pluginregistration__RegistrationStatus m = PLUGINREGISTRATION__REGISTRATION_STATUS__INIT;
	struct grpc_call_opts opts = { .deadline_ms = NOTIFY_MS };

	if (plugins_of(s)->beside) {
		settle_beside(s);
		return;
	}
	m.plugin_registered = !s->failure.code;
	m.error = s->failure.msg;
	(void)grpc_channel_unary(s->channel, &plugin_wire_notify, &m.base, &opts, on_notified, s);
}

static void registered(struct plugin_socket *s, const struct plugin_type *type,
		       const struct error *err)
{
	if (err) {
		(void)error_set(
			&s->failure, err->code,
			"RegisterPlugin error -- plugin registration failed with err: %.400s",
			err->msg);
	} else {
		s->type = type;
	}
	notify(s);
}

/* --- types --------------------------------------------------------------------------- */

static struct dra_info dra_info_of(const Pluginregistration__PluginInfo *info, const char *endpoint)
{
	return (struct dra_info){ .name = info->name,
				  .endpoint = endpoint,
				  .versions = info->supported_versions,
				  .nversions = info->n_supported_versions };
}

static int check_dra(const Pluginregistration__PluginInfo *info, const char *endpoint,
		     struct error *err)
{
	struct dra_info dra = dra_info_of(info, endpoint);

	return dra_drivers_check(&dra, err);
}

static const struct plugin_type types[];
enum { TYPE_DRA, TYPE_DEVICE, TYPES };

static void add_dra(struct plugin_socket *s, const Pluginregistration__PluginInfo *info)
{
	struct dra_info dra = dra_info_of(info, s->endpoint);
	struct error err;
	int r = dra_drivers_add(plugins_of(s)->drivers, &dra, &err);

	if (!s->closed)
		registered(s, &types[TYPE_DRA], r < 0 ? &err : NULL);
}

static void remove_dra(struct plugins *p, struct str name, struct str endpoint)
{
	dra_drivers_remove(p->drivers, name, endpoint);
}

static int check_device(const Pluginregistration__PluginInfo *info, const char *endpoint UNUSED,
			struct error *err)
{
	struct buf list = BUF_INIT(200);
	int r = -ERR_INVALID;

	for (size_t i = 0; i < info->n_supported_versions; i++) {
		if (strcmp(info->supported_versions[i], PLUGIN_WIRE_DEVICE_VERSION) == 0)
			r = 0;
		(void)buf_printf(&list, i ? " %s" : "%s", info->supported_versions[i]);
	}
	if (r < 0)
		(void)error_set(err, ERR_INVALID,
				"manager version, " PLUGIN_WIRE_DEVICE_VERSION
				", is not among plugin supported versions [%s]",
				list.p ? list.p : "");
	buf_release(&list);
	if (r < 0)
		return r;
	r = device_plugins_check_name(str_from(info->name), err);
	return r < 0 ? error_wrap(err, r, "invalid name of device plugin socket") : 0;
}

static void on_device(void *arg, const struct error *err)
{
	struct plugin_socket *s = arg;

	s->connecting = NULL;
	registered(s, &types[TYPE_DEVICE], err);
}

static void registry_add_device(struct plugin_socket *s, const Pluginregistration__PluginInfo *info)
{
	s->connecting = device_plugins_connect(plugins_of(s)->devices, str_from(info->name),
					       s->endpoint, on_device, s);
}

static void remove_device(struct plugins *p, struct str name, struct str endpoint)
{
	device_plugins_disconnect(p->devices, name, endpoint);
}

static const struct plugin_type types[TYPES] = {
	[TYPE_DRA] = { "DRAPlugin", check_dra, add_dra, remove_dra },
	[TYPE_DEVICE] = { "DevicePlugin", check_device, registry_add_device, remove_device },
};

/* --- an attempt ---------------------------------------------------------------------- */

static const struct plugin_type *find_type(const char *name)
{
	for (size_t i = 0; i < TYPES; i++)
		if (strcmp(types[i].name, name) == 0)
			return &types[i];
	return NULL;
}

static void take_info(struct plugin_socket *s, const Pluginregistration__PluginInfo *info)
{
	const struct plugin_type *type = find_type(info->type);
	const char *endpoint = info->endpoint[0] ? info->endpoint : s->path;
	struct error err;

	free(s->name);
	free(s->endpoint);
	s->name = xstrdup(info->name);
	s->endpoint = xstrdup(endpoint);
	if (plugins_of(s)->beside && type != &types[TYPE_DRA]) {
		grpc_channel_free(TAKE(s->channel));
	} else if (!type) {
		(void)error_set(
			&s->failure, ERR_UNIMPLEMENTED,
			"RegisterPlugin error -- no handler registered for plugin type: %.100s "
			"at socket %s",
			info->type, s->path);
		notify(s);
	} else if (type->check(info, endpoint, &err) < 0) {
		(void)error_set(&s->failure, err.code,
				"RegisterPlugin error -- plugin validation failed with err: %.400s",
				err.msg);
		notify(s);
	} else {
		type->add(s, info);
	}
}

static void on_info(void *arg, struct grpc_call *c UNUSED, const struct grpc_status *st,
		    const void *reply)
{
	struct plugin_socket *s = arg;
	struct error err, why;

	if (s->closed)
		return;
	if (reply) {
		take_info(s, reply);
		return;
	}
	(void)plugin_wire_error(st, &why);
	(void)error_set(
		&err, why.code,
		"RegisterPlugin error -- failed to get plugin info using RPC GetInfo at socket "
		"%s, err: %.300s",
		s->path, why.msg);
	attempt_failed(s, &err);
}

static void registry_on_state(void *arg, enum grpc_channel_state state,
			      const struct error *err UNUSED)
{
	static const Pluginregistration__InfoRequest request =
		PLUGINREGISTRATION__INFO_REQUEST__INIT;
	struct grpc_call_opts opts = { .deadline_ms = GET_INFO_MS };
	struct plugin_socket *s = arg;

	if (state != GRPC_CHANNEL_READY || !loop_timer_running(&s->dial))
		return;
	loop_timer_stop(&s->dial);
	(void)grpc_channel_unary(s->channel, &plugin_wire_get_info, &request.base, &opts, on_info,
				 s);
}

static void on_dial_timeout(struct loop_timer *t)
{
	struct plugin_socket *s = CONTAINER_OF(t, struct plugin_socket, dial);
	struct error err;

	(void)error_set(
		&err, ERR_TIMEOUT,
		"RegisterPlugin error -- dial failed at socket %s, err: failed to dial socket %s, "
		"err: context deadline exceeded",
		s->path, s->path);
	attempt_failed(s, &err);
}

static void begin_attempt(struct plugin_socket *s)
{
	struct error err;

	s->failure = (struct error){ 0 };
	if (plugins_channel(plugins_of(s), s->path, registry_on_state, s, &s->channel, &err) < 0)
		attempt_failed(s, &err);
	else
		loop_timer_start(&s->dial, PLUGIN_DIAL_MS);
}

static void registry_on_retry(struct loop_timer *t)
{
	begin_attempt(CONTAINER_OF(t, struct plugin_socket, retry));
}

/* --- sockets ------------------------------------------------------------------------- */

static void registry_release(struct loop_task *t)
{
	struct plugin_socket *s = CONTAINER_OF(t, struct plugin_socket, release);

	free(s->path);
	free(s->name);
	free(s->endpoint);
	free(s);
}

static void socket_close(struct plugin_socket *s)
{
	s->closed = true;
	(void)omap_remove(&s->owner->sockets, str_from(s->path));
	loop_timer_stop(&s->dial);
	loop_timer_stop(&s->retry);
	loop_defer(plugins_of(s)->loop, &s->release);
	if (s->connecting)
		device_endpoint_cancel(TAKE(s->connecting));
	grpc_channel_free(TAKE(s->channel));
	deregister(s);
}

static void on_socket(void *arg, struct str path)
{
	struct plugin_registry *r = arg;
	struct plugin_socket *s = XNEW(struct plugin_socket);

	s->owner = r;
	s->path = str_dup(path);
	s->backoff = (struct backoff){ .initial_ms = RETRY_MS,
				       .max_ms = RETRY_MAX_MS,
				       .factor = 2 };
	loop_timer_init(&s->dial, r->p->loop, on_dial_timeout);
	loop_timer_init(&s->retry, r->p->loop, registry_on_retry);
	loop_task_init(&s->release, registry_release);
	(void)omap_put(&r->sockets, str_from(s->path), s);
	begin_attempt(s);
}

static void on_gone(void *arg, struct str path)
{
	struct plugin_registry *r = arg;
	struct plugin_socket *s = omap_get(&r->sockets, path);

	if (s)
		socket_close(s);
}

static void registry_on_problem(void *arg, const struct error *err)
{
	struct plugin_registry *r = arg;

	plugins_problem(r->p, err, "%s", r->p->registry_dir);
}

struct plugin_registry *plugin_registry_new(struct plugins *p)
{
	struct plugin_watcher_opts opts = { .loop = p->loop,
					    .dir = p->registry_dir,
					    .foreign = p->beside,
					    .on_socket = on_socket,
					    .on_gone = on_gone,
					    .on_problem = registry_on_problem };
	struct plugin_registry *r = XNEW(struct plugin_registry);

	r->p = p;
	omap_init(&r->sockets);
	opts.arg = r;
	r->watcher = plugin_watcher_new(&opts);
	return r;
}

int plugin_registry_check(const struct plugin_registry *r, struct error *err)
{
	return plugin_watcher_check(r->watcher, err);
}

void plugin_registry_free(struct plugin_registry *r)
{
	struct omap_cursor c;

	if (!r)
		return;
	plugin_watcher_free(r->watcher);
	while (omap_first(&r->sockets, &c))
		socket_close(omap_value(&c));
	omap_release(&r->sockets);
	free(r);
}
