/*
 * Idle connections have no timeout, because the kubelet or node agent takes a closed connection for
 * a driver that has gone.
 */
#include "drivers/prepare/rpc_socket.h"

#include <libgen.h>
#include <sys/stat.h>

#include "base/core/mem.h"
#include "base/system/folder.h"
#include "drivers/prepare/socket_path.h"
#include "grpc/server.h"
#include "net/http/server.h"

struct rpc_socket {
	struct loop *loop;
	struct grpc_server *services;
	struct http_server *http;
	void (*done)(void *arg);
	void *arg;
};

static void rpc_socket_on_close(struct http_stream *s UNUSED, const struct error *err UNUSED)
{
}

static const struct http_stream_ops refused_ops = { .on_close = rpc_socket_on_close };

static void rpc_socket_on_request(void *arg, struct http_stream *s, size_t lane UNUSED)
{
	struct rpc_socket *self = arg;
	struct error err;

	if (grpc_server_wants(s)) {
		grpc_server_handle(self->services, s);
		return;
	}
	s->ops = &refused_ops;
	(void)error_set(&err, ERR_UNSUPPORTED_MEDIA_TYPE, "this socket only serves gRPC");
	http_stream_fail(s, &err);
}

struct rpc_socket *rpc_socket_new(struct loop *l, struct grpc_server *services)
{
	struct rpc_socket *s = XNEW(struct rpc_socket);
	struct http_server_opts o = { .nloops = 1, .handler = rpc_socket_on_request, .arg = s };

	s->loop = l;
	s->services = services;
	o.loops = &s->loop;
	o.config.idle_timeout_ms = -1;
	s->http = http_server_new(&o);
	return s;
}

/* A folder with the set-group-ID bit is shared with its group, so its sockets are, too. */
static unsigned socket_mode(const char *folder)
{
	struct stat st;

	return stat(folder, &st) == 0 && st.st_mode & S_ISGID ? 0660 : 0600;
}

int rpc_socket_listen(struct rpc_socket *s, struct str path, struct error *err)
{
	CLEANUP(free) char *folder = str_dup(path);
	struct addr at;
	int r;

	(void)dirname(folder);
	r = folder_make(folder, 0750, err);
	if (r == 0)
		r = socket_path_addr(path, &at, err);
	if (r == 0)
		r = http_server_listen(s->http, &at, NULL, socket_mode(folder), NULL, err);
	return r;
}

static void rpc_socket_on_drained(void *arg)
{
	struct rpc_socket *s = arg;
	void (*done)(void *arg) = s->done;
	void *done_arg = s->arg;

	http_server_free(s->http);
	free(s);
	if (done)
		done(done_arg);
}

void rpc_socket_close(struct rpc_socket *s, int64_t grace_ms, void (*done)(void *arg), void *arg)
{
	s->done = done;
	s->arg = arg;
	http_server_drain(s->http, grace_ms, rpc_socket_on_drained, s);
}
