/*
 * A Register that waits for the plugin holds its call; when either ends, it releases the other.
 */
#include "node/plugins/server.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/text/print.h"
#include "grpc/server.h"
#include "node/host/own_socket.h"
#include "node/plugins/device_plugin.h"
#include "node/plugins/metrics.h"
#include "node/plugins/plugins_impl.h"
#include "node/plugins/wire.h"

struct plugin_server {
	struct plugins *p;
	struct grpc_server *grpc;
	struct own_socket *socket;
	char *path;
	void (*done)(void *arg);
	void *arg;
};

/* --- Register ------------------------------------------------------------------------ */

/* A registration that waits for its plugin; stored as the data of its call. */
struct registration {
	struct grpc_call *call; /* one reference */
	struct device_endpoint *endpoint; /* NULL: it is connected */
};

static void registration_end(struct registration *r)
{
	grpc_call_set_data(r->call, NULL);
	grpc_call_unref(r->call);
	free(r);
}

/* The code that grpc-go uses for a handler's error that is not a status. */
static void server_refuse(struct grpc_call *c, const struct error *err)
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
		server_refuse(c, err);
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
		server_refuse(c, &err);
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

static void server_on_http(void *arg, struct http_stream *s)
{
	struct plugin_server *d = arg;

	/* The gRPC server rejects requests that are not gRPC. */
	grpc_server_handle(d->grpc, s);
}

static void server_on_problem(void *arg, const struct error *err)
{
	struct plugin_server *d = arg;

	plugins_problem(d->p, err, "%s", d->path);
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

static void server_free(struct plugin_server *d)
{
	grpc_server_free(d->grpc);
	free(d->path);
	free(d);
}

int plugin_server_new(struct plugins *p, struct plugin_server **ret_server, struct error *err)
{
	struct own_socket_opts opts = {
		.loop = p->loop,
		.group = -1,
		.handler = server_on_http,
		.on_problem = server_on_problem,
	};
	struct plugin_server *d;
	int r = remove_sockets(p->device_dir, err);

	if (r < 0)
		return r;
	d = XNEW(struct plugin_server);
	d->p = p;
	d->path = socket_path(p->device_dir);
	d->grpc = grpc_server_new(NULL);
	grpc_server_add(d->grpc, handlers, ARRAY_SIZE(handlers), d);
	opts.path = d->path;
	opts.arg = d;
	r = own_socket_new(&opts, &d->socket, err);
	if (r < 0) {
		server_free(d);
		return r;
	}
	*ret_server = d;
	return 0;
}

static void server_on_closed(void *arg)
{
	struct plugin_server *d = arg;
	void (*done)(void *arg) = d->done;
	void *done_arg = d->arg;

	server_free(d);
	done(done_arg);
}

void plugin_server_close(struct plugin_server *d, void (*done)(void *arg), void *arg)
{
	if (!d) {
		done(arg);
		return;
	}
	d->done = done;
	d->arg = arg;
	own_socket_close(d->socket, 0, server_on_closed, d);
}
