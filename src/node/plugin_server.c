/*
 * Whether the socket file is still ours is looked at when the folder changes, and now and then in
 * case a notice was lost. When it is not, a new HTTP server takes the place of the old one, whose
 * connections may end in peace: a port belongs to its server for life. If somebody else answers
 * on the path, their socket stays, and we look again later.
 *
 * A Register that waits for the plugin holds its call; whichever ends first lets go of the other.
 */
#include "node/plugin_server.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/print.h"
#include "grpc/server.h"
#include "net/http_server.h"
#include "node/device_plugin.h"
#include "node/plugin_metrics.h"
#include "node/plugin_wire.h"
#include "node/plugins_impl.h"

enum {
	LOOK_MS = 10 * 1000, /* whether the socket is there; the folder's notices come at once */
	DRAIN_MS = 15 * 1000, /* a Register that began on a socket which was replaced */
};

/* One HTTP server; it frees itself after its drain. */
struct server_port {
	struct http_server *http;
	struct plugin_server *owner; /* who waits for its end, or NULL */
};

struct plugin_server {
	struct plugins *p;
	struct grpc_server *grpc;
	struct server_port *port; /* NULL: not listening */
	char *path;
	dev_t dev; /* of our socket file ... */
	ino_t inode; /* ... 0: it has none, as in a simulated world */
	struct loop_watch *watch; /* NULL: the folder could not be watched */
	struct loop_timer timer;
	struct loop_task task;
	size_t ports; /* that still drain */
	bool troubled; /* a problem was told and has not ended */
	bool closing;
	void (*done)(void *arg);
	void *arg;
};

/* --- Register ------------------------------------------------------------------------ */

/* A registration that waits for its plugin; the data of its call. */
struct registration {
	struct grpc_call *call; /* one reference */
	struct device_endpoint *endpoint; /* that connects; NULL: it has */
};

static void registration_end(struct registration *r)
{
	grpc_call_set_data(r->call, NULL);
	grpc_call_unref(r->call);
	free(r);
}

/* Failures of Go's handlers that are no status have this code. */
static void refuse(struct grpc_call *c, const struct error *err)
{
	(void)grpc_call_finish(c, GRPC_UNKNOWN, str_from(err->msg));
}

static void on_connected(void *arg, const struct error *err)
{
	static const Deviceplugin__Empty empty = DEVICEPLUGIN__EMPTY__INIT;
	struct registration *r = arg;
	struct grpc_call *c = grpc_call_ref(r->call);

	registration_end(r);
	if (err)
		refuse(c, err);
	else
		(void)grpc_call_reply(c, &empty.base);
	grpc_call_unref(c);
}

static void on_call_end(struct grpc_call *c, const struct grpc_status *st UNUSED)
{
	struct registration *r = grpc_call_data(c);

	if (!r)
		return;
	device_endpoint_cancel(r->endpoint);
	registration_end(r);
}

static int check_request(const Deviceplugin__RegisterRequest *m, struct error *err)
{
	struct buf quoted = BUF_INIT(400);
	int r;

	if (strcmp(m->version, PLUGIN_WIRE_DEVICE_VERSION) == 0)
		return device_plugins_check_name(str_from(m->resource_name), err);
	(void)print_quoted(&quoted, str_from(m->version));
	r = error_set(err, ERR_INVALID,
		      "requested API version %s is not supported by kubelet. Supported version is "
		      "[\"" PLUGIN_WIRE_DEVICE_VERSION "\"]",
		      quoted.p ? quoted.p : "");
	buf_release(&quoted);
	return r;
}

static void on_register(struct grpc_call *c, const void *request)
{
	const Deviceplugin__RegisterRequest *m = request;
	struct plugins *p = ((struct plugin_server *)grpc_call_service(c))->p;
	struct str resource = str_from(m->resource_name);
	char socket[PLUGIN_PATH_MAX];
	struct registration *r;
	struct error err;

	if (p->freed) {
		(void)grpc_call_finish(c, GRPC_UNAVAILABLE, STR("the agent is stopping"));
		return;
	}
	plugin_metrics_registered(p, resource);
	if (check_request(m, &err) < 0) {
		refuse(c, &err);
		plugins_problem(p, &err, "device plugin at %s", m->endpoint);
		return;
	}
	(void)snprintf(socket, sizeof(socket), "%s/%s", p->device_dir, m->endpoint);
	r = XNEW(struct registration);
	r->call = grpc_call_ref(c);
	grpc_call_set_data(c, r);
	r->endpoint = device_plugins_connect(p->devices, resource, socket, on_connected, r);
}

static const struct grpc_handler handlers[] = {
	{ .method = &plugin_wire_register,
	  .on_request = on_register,
	  .ops = { .on_end = on_call_end } },
};

static void on_http(void *arg, struct http_stream *s, size_t lane UNUSED)
{
	struct plugin_server *d = arg;

	/* What is no gRPC is told so by the gRPC server. */
	grpc_server_handle(d->grpc, s);
}

/* --- the socket ---------------------------------------------------------------------- */

static void server_free(struct plugin_server *d)
{
	grpc_server_free(d->grpc);
	free(d->path);
	free(d);
}

static void on_drained(void *arg)
{
	struct server_port *port = arg;
	struct plugin_server *d = port->owner;
	void (*done)(void *arg) = d->done;
	void *done_arg = d->arg;

	http_server_free(port->http);
	free(port);
	d->ports--;
	if (!d->closing || d->ports)
		return;
	server_free(d);
	done(done_arg);
}

static void port_close(struct plugin_server *d, int64_t grace_ms)
{
	struct server_port *port = TAKE(d->port);

	if (!port)
		return;
	d->ports++;
	http_server_drain(port->http, grace_ms, on_drained, port);
}

static int listen_again(struct plugin_server *d, struct error *err)
{
	struct http_server_opts opts = {
		.loops = &d->p->loop,
		.nloops = 1,
		.handler = on_http,
		.arg = d,
	};
	struct server_port *port;
	struct addr at;
	struct stat st;
	char text[PLUGIN_PATH_MAX];
	int r;

	(void)snprintf(text, sizeof(text), "unix:%s", d->path);
	r = addr_parse(&at, str_from(text), 0, err);
	if (r < 0)
		return error_wrap(err, r, "socket %s", d->path);
	port = XNEW(struct server_port);
	port->owner = d;
	port->http = http_server_new(&opts);
	r = http_server_listen(port->http, &at, NULL, 0, NULL, err);
	if (r < 0) {
		http_server_free(port->http);
		free(port);
		return r;
	}
	d->port = port;
	d->inode = 0;
	if (lstat(d->path, &st) == 0) {
		d->dev = st.st_dev;
		d->inode = st.st_ino;
	}
	return 0;
}

static bool is_ours(const struct plugin_server *d)
{
	struct stat st;

	if (!d->port)
		return false;
	if (!d->inode)
		return true;
	return lstat(d->path, &st) == 0 && st.st_dev == d->dev && st.st_ino == d->inode;
}

static void on_folder(void *arg, struct str name UNUSED, const struct error *err)
{
	struct plugin_server *d = arg;

	if (err) {
		loop_watch_free(d->watch);
		d->watch = NULL;
	}
	loop_defer(d->p->loop, &d->task);
}

/* Brings back what is missing; says once what cannot be brought back. */
static int look(struct plugin_server *d, struct error *err)
{
	int r;

	if (is_ours(d) && d->watch)
		return 0;
	r = plugins_make_folder(d->p->device_dir, err);
	if (r < 0)
		return r;
	if (!is_ours(d)) {
		port_close(d, DRAIN_MS);
		r = listen_again(d, err);
		/* The folder itself may be a new one. */
		if (d->watch)
			loop_watch_free(TAKE(d->watch));
	}
	if (!d->watch && loop_watch_new(d->p->loop, d->p->device_dir, on_folder, d, &d->watch,
					r < 0 ? NULL : err) < 0)
		return r < 0 ? r : -ERR_IO;
	return r;
}

static void look_and_tell(struct plugin_server *d)
{
	struct error err;
	bool good = look(d, &err) == 0;

	if (!good && !d->troubled)
		plugins_problem(d->p, &err, "%s", d->path);
	d->troubled = !good;
}

static void on_task(struct loop_task *t)
{
	look_and_tell(CONTAINER_OF(t, struct plugin_server, task));
}

static void on_timer(struct loop_timer *t)
{
	struct plugin_server *d = CONTAINER_OF(t, struct plugin_server, timer);

	loop_timer_start(t, LOOK_MS);
	look_and_tell(d);
}

/* --- life ---------------------------------------------------------------------------- */

static int remove_sockets(const char *dir, struct error *err)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	struct stat st;
	int r = 0;

	if (!d)
		return error_set_errno(err, ERR_IO, errno, "cannot read %s", dir);
	while (r == 0 && (e = readdir(d))) {
		if (fstatat(dirfd(d), e->d_name, &st, 0) < 0 || !S_ISSOCK(st.st_mode))
			continue;
		if (unlinkat(dirfd(d), e->d_name, 0) < 0 && errno != ENOENT)
			r = error_set_errno(err, ERR_IO, errno, "cannot remove %s/%s", dir,
					    e->d_name);
	}
	(void)closedir(d);
	return r;
}

static char *socket_path(const char *dir)
{
	struct buf b = BUF_INIT(PLUGIN_PATH_MAX);

	(void)buf_printf(&b, "%s/kubelet.sock", dir);
	return buf_take(&b);
}

int plugin_server_new(struct plugins *p, struct plugin_server **ret_server, struct error *err)
{
	struct plugin_server *d;
	int r = remove_sockets(p->device_dir, err);

	if (r < 0)
		return r;
	d = XNEW(struct plugin_server);
	d->p = p;
	d->path = socket_path(p->device_dir);
	d->grpc = grpc_server_new(NULL);
	grpc_server_add(d->grpc, handlers, ARRAY_SIZE(handlers), d);
	loop_timer_init(&d->timer, p->loop, on_timer);
	loop_task_init(&d->task, on_task);
	r = listen_again(d, err);
	if (r < 0) {
		server_free(d);
		return r;
	}
	loop_defer(p->loop, &d->task); /* watches the folder */
	loop_timer_start(&d->timer, LOOK_MS);
	*ret_server = d;
	return 0;
}

void plugin_server_close(struct plugin_server *d, void (*done)(void *arg), void *arg)
{
	if (!d) {
		done(arg);
		return;
	}
	d->closing = true;
	d->done = done;
	d->arg = arg;
	loop_timer_stop(&d->timer);
	loop_task_cancel(&d->task);
	if (d->watch)
		loop_watch_free(TAKE(d->watch));
	port_close(d, 0);
	if (d->ports == 0) {
		server_free(d);
		done(arg);
	}
}
