/*
 * Combines the parts: the server that device plugins register with, the registry of sockets, and
 * the tables of device plugins and DRA drivers.
 *
 * Freeing closes everything at once, without callbacks. Memory that a callback on the stack may
 * still use is freed at the end of the turn. The server needs a few more turns; `closed` waits for
 * that.
 */
#include "node/plugins/plugins.h"

#include <assert.h>

#include "base/core/buf.h"
#include "base/core/mem.h"
#include "base/system/folder.h"
#include "node/plugins/device_plugin.h"
#include "node/plugins/dra_driver.h"
#include "node/plugins/follow.h"
#include "node/plugins/metrics.h"
#include "node/plugins/plugins_impl.h"
#include "node/plugins/registry.h"
#include "node/plugins/server.h"
#include "node/plugins/wire.h"

enum {
	HEALTH_RETRY_MS = 1000,
	/* Retrying a local socket is cheap. */
	RECONNECT_MS = 100,
	RECONNECT_MAX_MS = 5 * 1000,
};

/* --- shared by the parts ------------------------------------------------------------- */

void plugins_problem(struct plugins *p, const struct error *err, const char *fmt, ...)
{
	struct buf what = BUF_INIT(4096);
	va_list ap;

	if (p->freed || !p->events.on_problem)
		return;
	va_start(ap, fmt);
	(void)buf_vprintf(&what, fmt, ap);
	va_end(ap);
	p->events.on_problem(p->arg, buf_str(&what), err);
	buf_release(&what);
}

int plugins_channel(struct plugins *p, const char *path,
		    void (*on_state)(void *arg, enum grpc_channel_state state,
				     const struct error *err),
		    void *arg, struct grpc_channel **ret_channel, struct error *err)
{
	struct grpc_channel_opts opts = {
		.eager = true,
		.connect_timeout_ms = PLUGIN_DIAL_MS,
		.backoff_initial_ms = RECONNECT_MS,
		.backoff_max_ms = RECONNECT_MAX_MS,
		.on_state = on_state,
		.arg = arg,
	};
	char text[PLUGIN_PATH_MAX];

	if ((size_t)snprintf(text, sizeof(text), "unix:%s", path) >= sizeof(text))
		return error_set(err, ERR_INVALID, "the socket's path is too long");
	if (addr_parse(&opts.to, str_from(text), 0, err) < 0)
		return error_wrap(err, -ERR_INVALID, "socket %s", path);
	*ret_channel = grpc_channel_new(p->loop, &opts);
	return 0;
}

/* --- requests ------------------------------------------------------------------------ */

static void request_free(struct plugin_request *q)
{
	list_remove(&q->link);
	loop_task_cancel(&q->task);
	arena_release(&q->arena);
	free(q);
}

static void request_end(struct plugin_request *q, const void *reply, const struct error *err)
{
	list_remove(&q->link);
	if (!q->p->freed)
		q->end(q, reply, err);
	request_free(q);
}

static void on_failure(struct loop_task *t)
{
	struct plugin_request *q = CONTAINER_OF(t, struct plugin_request, task);

	request_end(q, NULL, &q->failure);
}

struct plugin_request *plugin_request_new(struct plugins *p, const struct grpc_method *method,
					  struct str subject,
					  void (*end)(struct plugin_request *q, const void *reply,
						      const struct error *err),
					  void *arg)
{
	struct plugin_request *q = XNEW(struct plugin_request);

	q->p = p;
	q->method = method;
	q->end = end;
	q->arg = arg;
	q->began_ms = loop_now(p->loop);
	arena_init(&q->arena, SIZE_MAX);
	q->subject = arena_str(&q->arena, subject);
	loop_task_init(&q->task, on_failure);
	list_push_back(&p->requests, &q->link);
	return q;
}

void plugin_request_fail(struct plugin_request *q, const struct error *err)
{
	q->failure = *err;
	loop_defer(q->p->loop, &q->task);
}

static void plugins_on_answer(void *arg, struct grpc_call *c UNUSED, const struct grpc_status *st,
			      const void *reply)
{
	struct plugin_request *q = arg;
	struct error err;

	if (!q->p->freed)
		plugin_metrics_called(q, st->code);
	if (st->code == GRPC_OK) {
		request_end(q, reply, NULL);
		return;
	}
	(void)plugin_wire_error(st, &err);
	request_end(q, NULL, &err);
}

void plugin_request_call(struct plugin_request *q, struct grpc_channel *ch,
			 const ProtobufCMessage *message, int64_t deadline_ms)
{
	struct grpc_call_opts opts = {
		.deadline_ms = q->p->rpc_timeout_ms ? q->p->rpc_timeout_ms : deadline_ms,
	};

	(void)grpc_channel_unary(ch, q->method, message, &opts, plugins_on_answer, q);
}

/* --- life ---------------------------------------------------------------------------- */

static void plugins_release(struct loop_task *t)
{
	struct plugins *p = CONTAINER_OF(t, struct plugins, release);

	free(p->device_dir);
	free(p->registry_dir);
	free(p);
}

static char *plugins_join(const char *dir, const char *name)
{
	struct buf b = BUF_INIT(PLUGIN_PATH_MAX);

	(void)buf_printf(&b, "%s/%s", dir, name);
	return buf_take(&b);
}

/* Takes over the folders: makes them, and removes sockets that an earlier agent left. */
static int own_folders(struct plugins *p, struct error *err)
{
	int r = folder_make(p->device_dir, 0750, err);

	if (r == 0)
		r = folder_make(p->registry_dir, 0750, err);
	return r < 0 ? r : plugin_server_new(p, &p->server, err);
}

static int open_parts(struct plugins *p, struct error *err)
{
	int r;

	p->devices = device_plugins_new(p);
	p->drivers = dra_drivers_new(p);
	r = p->beside ? 0 : own_folders(p, err);
	if (r < 0)
		return r;
	p->registry = plugin_registry_new(p);
	return 0;
}

int plugins_new(const struct plugins_opts *opts, struct plugins **ret_plugins, struct error *err)
{
	struct plugins *p = XNEW(struct plugins);
	int r;

	p->loop = opts->loop;
	p->events = *opts->events;
	p->arg = opts->arg;
	p->rpc_timeout_ms = opts->rpc_timeout_ms;
	p->health_retry_ms = opts->health_retry_ms ? opts->health_retry_ms : HEALTH_RETRY_MS;
	p->watch_health = opts->watch_health;
	p->beside = opts->beside;
	p->device_dir = plugins_join(opts->root_dir, "device-plugins");
	p->registry_dir = plugins_join(opts->root_dir, "plugins_registry");
	list_init(&p->requests);
	list_init(&p->follows);
	loop_task_init(&p->release, plugins_release);
	plugin_metrics_init(&p->metrics, opts->metrics);
	r = open_parts(p, err);
	if (r < 0) {
		plugins_free(p);
		return r;
	}
	*ret_plugins = p;
	return 0;
}

int plugins_check_registry(const struct plugins *p, struct error *err)
{
	return plugin_registry_check(p->registry, err);
}

static void on_server_closed(void *arg)
{
	struct plugins *p = arg;

	loop_defer(p->loop, &p->release);
	if (p->closed)
		p->closed(p->closed_arg);
}

void plugins_close(struct plugins *p, void (*closed)(void *arg), void *arg)
{
	assert(!p->freed);
	p->freed = true;
	p->closed = closed;
	p->closed_arg = arg;
	plugin_follows_free(p);
	plugin_registry_free(p->registry);
	dra_drivers_free(p->drivers);
	device_plugins_free(p->devices);
	LIST_FOREACH_SAFE (it, &p->requests)
		request_free(LIST_ENTRY(it, struct plugin_request, link));
	plugin_server_close(p->server, on_server_closed, p);
}

void plugins_free(struct plugins *p)
{
	if (p && !p->freed)
		plugins_close(p, NULL, NULL);
}
