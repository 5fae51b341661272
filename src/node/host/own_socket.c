/*
 * Whether the socket file is still ours is checked when the folder changes, and periodically in
 * case a notification was lost. If it is not, a new HTTP server replaces the old one, whose
 * connections may finish: a port stays with its server.
 */
#include "node/host/own_socket.h"

#include <errno.h>
#include <libgen.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/folder.h"
#include "net/http/server.h"
#include "net/loop/loop.h"
#include "net/net_limits.h"

enum {
	/* period of checking the socket; the folder's notifications come at once */
	LOOK_MS = 10 * 1000,
	DRAIN_MS = 15 * 1000, /* for calls on a socket that was replaced */
	FOLDER_MODE = 0750,
};

/* One HTTP server; it frees itself after its drain. */
struct own_port {
	struct http_server *http;
	struct own_socket *owner;
};

struct own_socket {
	struct own_socket_opts opts;
	struct own_port *port; /* NULL: not listening */
	char *path, *dir;
	dev_t dev; /* of our socket file */
	ino_t inode; /* of our socket file; 0: none, as in a simulated world */
	struct loop_watch *watch; /* NULL: the folder could not be watched */
	struct loop_timer timer;
	struct loop_task task;
	size_t ports; /* ports that still drain */
	bool troubled; /* a problem was reported and has not ended */
	bool closing;
	void (*done)(void *arg);
	void *arg;
};

static void socket_free(struct own_socket *s)
{
	free(s->path);
	free(s->dir);
	free(s);
}

/* --- ports --------------------------------------------------------------------------- */

static void port_free(struct own_port *port)
{
	http_server_free(port->http);
	free(port);
}

static void own_socket_on_drained(void *arg)
{
	struct own_port *port = arg;
	struct own_socket *s = port->owner;
	void (*done)(void *arg) = s->done;
	void *done_arg = s->arg;

	port_free(port);
	s->ports--;
	if (!s->closing || s->ports)
		return;
	socket_free(s);
	done(done_arg);
}

static void port_close(struct own_socket *s, int64_t grace_ms)
{
	struct own_port *port = TAKE(s->port);

	if (!port)
		return;
	s->ports++;
	http_server_drain(port->http, grace_ms, own_socket_on_drained, port);
}

static void own_socket_on_http(void *arg, struct http_stream *stream, size_t lane UNUSED)
{
	struct own_socket *s = arg;

	s->opts.handler(s->opts.arg, stream);
}

/* Records the file's identity, and sets its group. */
static int claim_file(struct own_socket *s, struct error *err)
{
	struct stat st;

	s->inode = 0;
	if (lstat(s->path, &st) < 0)
		return 0;
	s->dev = st.st_dev;
	s->inode = st.st_ino;
	if (s->opts.group >= 0 && lchown(s->path, (uid_t)-1, (gid_t)s->opts.group) < 0)
		return error_set_errno(err, ERR_IO, errno, "cannot give %s to group %lld", s->path,
				       (long long)s->opts.group);
	return 0;
}

static int listen_again(struct own_socket *s, struct error *err)
{
	struct http_server_opts opts = {
		.loops = &s->opts.loop,
		.nloops = 1,
		.config = s->opts.config,
		.handler = own_socket_on_http,
		.arg = s,
	};
	char text[NET_ADDRESS_MAX];
	struct own_port *port;
	struct addr at;
	int r;

	(void)snprintf(text, sizeof(text), "unix:%s", s->path);
	r = addr_parse(&at, str_from(text), 0, err);
	if (r < 0)
		return error_wrap(err, r, "socket %s", s->path);
	port = XNEW(struct own_port);
	port->owner = s;
	port->http = http_server_new(&opts);
	r = http_server_listen(port->http, &at, NULL, s->opts.mode, NULL, err);
	if (r == 0)
		r = claim_file(s, err);
	if (r < 0) {
		port_free(port); /* no loop has run, so there are no connections */
		return r;
	}
	s->port = port;
	return 0;
}

/* --- checks -------------------------------------------------------------------------- */

static bool own_socket_is_ours(const struct own_socket *s)
{
	struct stat st;

	if (!s->port)
		return false;
	if (!s->inode)
		return true;
	return lstat(s->path, &st) == 0 && st.st_dev == s->dev && st.st_ino == s->inode;
}

static void on_folder(void *arg, struct str name UNUSED, const struct error *err)
{
	struct own_socket *s = arg;

	if (err)
		loop_watch_free(TAKE(s->watch));
	loop_defer(s->opts.loop, &s->task);
}

/* Recreates what is missing; reports once if that fails. */
static int own_socket_look(struct own_socket *s, struct error *err)
{
	int r;

	if (own_socket_is_ours(s) && s->watch)
		return 0;
	r = folder_make(s->dir, FOLDER_MODE, err);
	if (r < 0)
		return r;
	if (!own_socket_is_ours(s)) {
		port_close(s, DRAIN_MS);
		r = listen_again(s, err);
		/* The folder itself may be new. */
		if (s->watch)
			loop_watch_free(TAKE(s->watch));
	}
	if (!s->watch &&
	    loop_watch_new(s->opts.loop, s->dir, on_folder, s, &s->watch, r < 0 ? NULL : err) < 0)
		return r < 0 ? r : -ERR_IO;
	return r;
}

static void look_and_tell(struct own_socket *s)
{
	struct error err;
	bool good = own_socket_look(s, &err) == 0;

	if (!good && !s->troubled && s->opts.on_problem)
		s->opts.on_problem(s->opts.arg, &err);
	s->troubled = !good;
}

static void own_socket_on_task(struct loop_task *t)
{
	look_and_tell(CONTAINER_OF(t, struct own_socket, task));
}

static void own_socket_on_timer(struct loop_timer *t)
{
	struct own_socket *s = CONTAINER_OF(t, struct own_socket, timer);

	loop_timer_start(t, LOOK_MS);
	look_and_tell(s);
}

/* --- life ---------------------------------------------------------------------------- */

int own_socket_new(const struct own_socket_opts *opts, struct own_socket **ret_socket,
		   struct error *err)
{
	CLEANUP(free) char *folder = xstrdup(opts->path);
	struct own_socket *s = XNEW(struct own_socket);
	int r;

	s->opts = *opts;
	s->path = xstrdup(opts->path);
	s->dir = xstrdup(dirname(folder));
	s->opts.path = s->path;
	loop_timer_init(&s->timer, opts->loop, own_socket_on_timer);
	loop_task_init(&s->task, own_socket_on_task);
	r = folder_make(s->dir, FOLDER_MODE, err);
	if (r == 0)
		r = listen_again(s, err);
	if (r < 0) {
		socket_free(s);
		return r;
	}
	loop_defer(opts->loop, &s->task); /* watches the folder */
	loop_timer_start(&s->timer, LOOK_MS);
	*ret_socket = s;
	return 0;
}

void own_socket_close(struct own_socket *s, int64_t grace_ms, void (*done)(void *arg), void *arg)
{
	if (!s) {
		done(arg);
		return;
	}
	s->closing = true;
	s->done = done;
	s->arg = arg;
	loop_timer_stop(&s->timer);
	loop_task_cancel(&s->task);
	if (s->watch)
		loop_watch_free(TAKE(s->watch));
	port_close(s, grace_ms);
	if (s->ports == 0) {
		socket_free(s);
		done(arg);
	}
}
