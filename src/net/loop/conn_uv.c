/*
 * Sockets. We read and write the descriptors ourselves, and libuv only reports readiness (uv_poll).
 * The read buffer is the loop's, writes are one sendmsg of the caller's pieces, and an idle
 * connection only costs this struct.
 */
#include "net/loop/loop_uv.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include "base/core/mem.h"

/* As in Go: a peer that vanished is noticed within minutes. */
enum { KEEPALIVE_S = 15 };

struct conn_uv {
	struct conn conn;
	uv_poll_t poll;
	int fd;
	int events; /* polled events */
	struct dial *dial; /* while connecting: no descriptor yet */
	bool read_closed; /* eof or an error was reported */
	bool want_write; /* a write fell short */
	bool shut_early; /* shut down before there was a descriptor */
	struct loop_task gone; /* frees a conn that never had a descriptor */
	struct addr peer_addr;
};

static void on_poll(uv_poll_t *p, int status, int events);

static struct conn_uv *self_of(struct conn *c)
{
	return CONTAINER_OF(c, struct conn_uv, conn);
}

static void update_poll(struct conn_uv *u)
{
	int events = 0;

	if (u->fd < 0)
		return;
	if (u->want_write)
		events |= UV_WRITABLE;
	if (!u->conn.paused && !u->read_closed)
		events |= UV_READABLE;
	if (events == u->events)
		return;
	u->events = events;
	if (events)
		(void)uv_poll_start(&u->poll, events, on_poll);
	else
		(void)uv_poll_stop(&u->poll);
}

/* No further callbacks will come. */
static int die(struct conn_uv *u, struct error *err, int errno_)
{
	u->read_closed = true;
	u->want_write = false;
	update_poll(u);
	return error_set_errno(err, ERR_UNAVAILABLE, errno_, "lost the connection to %s",
			       u->peer_addr.text);
}

static void conn_uv_fail(struct conn_uv *u, int errno_)
{
	struct error err;

	(void)die(u, &err, errno_);
	conn_up_error(&u->conn, &err);
}

/* Returns false if there was nothing. */
static bool read_some(struct conn_uv *u)
{
	char *buf = loop_uv_of(u->conn.loop)->read;
	ssize_t n = recv(u->fd, buf, LOOP_UV_READ, 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n > 0) {
		conn_up_data(&u->conn, buf, (size_t)n);
	} else if (n == 0) {
		u->read_closed = true;
		update_poll(u);
		conn_up_eof(&u->conn);
	} else {
		conn_uv_fail(u, errno);
	}
	return true;
}

/*
 * libuv reports EBADF for any failed socket, and has stopped polling. Bytes that arrived before the
 * failure can still be read, and may be the peer's last ones.
 */
static void on_socket_error(struct conn_uv *u)
{
	int code = 0;
	socklen_t len = sizeof(code);

	u->events = 0;
	while (!u->conn.closed && !u->conn.paused && !u->read_closed && read_some(u))
		;
	if (u->conn.closed || (!u->want_write && (u->conn.paused || u->read_closed)))
		return;
	(void)getsockopt(u->fd, SOL_SOCKET, SO_ERROR, &code, &len);
	conn_uv_fail(u, code ? code : ECONNRESET);
}

static void on_poll(uv_poll_t *p, int status, int events)
{
	struct conn_uv *u = CONTAINER_OF(p, struct conn_uv, poll);
	struct loop *l = u->conn.loop;

	l->now = (int64_t)uv_now(p->loop);
	if (status < 0) {
		on_socket_error(u);
		return;
	}
	if ((events & UV_READABLE) && !u->conn.paused && !u->read_closed)
		(void)read_some(u);
	if ((events & UV_WRITABLE) && u->want_write && !u->conn.closed) {
		u->want_write = false;
		conn_up_writable(&u->conn);
		if (!u->conn.closed)
			update_poll(u);
	}
	/*
	 * Runs the deferred work while its data is in the caches, before the next socket is read.
	 */
	loop_turn_deferred(l);
}

/* --- the filter's verbs -------------------------------------------------------------- */

static ssize_t conn_uv_writev(struct conn *c, const struct iovec *iov, int n, struct error *err)
{
	struct conn_uv *u = self_of(c);
	struct msghdr msg = { .msg_iov = (struct iovec *)(uintptr_t)iov, .msg_iovlen = (size_t)n };
	size_t total = 0;
	ssize_t sent = 0;

	for (int i = 0; i < n; i++)
		total += iov[i].iov_len;
	if (u->fd >= 0)
		sent = sendmsg(u->fd, &msg, MSG_NOSIGNAL);
	if (sent < 0 && errno != EAGAIN && errno != EINTR)
		return die(u, err, errno);
	sent = MAX(sent, (ssize_t)0);
	if ((size_t)sent < total) {
		u->want_write = true;
		update_poll(u);
	}
	return sent;
}

static void conn_uv_pause(struct conn *c, bool pause UNUSED)
{
	update_poll(self_of(c));
}

static void conn_uv_shutdown(struct conn *c)
{
	struct conn_uv *u = self_of(c);

	if (u->fd >= 0)
		(void)shutdown(u->fd, SHUT_WR);
	else
		u->shut_early = true;
}

static void conn_uv_on_closed(uv_handle_t *h)
{
	free(CONTAINER_OF(h, struct conn_uv, poll));
}

static void on_gone(struct loop_task *t)
{
	free(CONTAINER_OF(t, struct conn_uv, gone));
}

static void conn_uv_close(struct conn *c)
{
	struct conn_uv *u = self_of(c);

	dial_cancel(u->dial);
	u->dial = NULL;
	if (u->fd < 0) {
		loop_defer(c->loop, &u->gone);
		return;
	}
	uv_close((uv_handle_t *)&u->poll, conn_uv_on_closed);
	(void)close(u->fd);
	u->fd = -1;
}

/* The kernel records the process that called connect(). */
static bool conn_uv_owner(const struct conn *c, struct conn_owner *ret_owner)
{
	const struct conn_uv *u = CONTAINER_OF(c, const struct conn_uv, conn);
	struct ucred cred;
	socklen_t n = sizeof(cred);
	int domain = 0;
	socklen_t domain_n = sizeof(domain);

	if (u->fd < 0 || getsockopt(u->fd, SOL_SOCKET, SO_DOMAIN, &domain, &domain_n) < 0 ||
	    domain != AF_UNIX || getsockopt(u->fd, SOL_SOCKET, SO_PEERCRED, &cred, &n) < 0)
		return false;
	*ret_owner = (struct conn_owner){ .pid = cred.pid, .uid = cred.uid, .gid = cred.gid };
	return true;
}

/* Asks the kernel instead of relying on an event: a peer that half-closes is still valid. */
static bool conn_uv_hung_up(const struct conn *c)
{
	const struct conn_uv *u = CONTAINER_OF(c, const struct conn_uv, conn);
	struct pollfd p = { .fd = u->fd, .events = POLLRDHUP };

	if (u->fd < 0 || u->read_closed)
		return false;
	return poll(&p, 1, 0) > 0 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

static const struct conn_ops conn_uv_ops = {
	.writev = conn_uv_writev,
	.pause = conn_uv_pause,
	.shutdown = conn_uv_shutdown,
	.close = conn_uv_close,
	.hung_up = conn_uv_hung_up,
	.owner = conn_uv_owner,
};

/* --- making one ----------------------------------------------------------------------- */

static struct conn_uv *conn_uv_alloc(struct loop *l, const struct addr *peer)
{
	struct conn_uv *u = XNEW(struct conn_uv);

	u->conn = (struct conn){ .ops = &conn_uv_ops, .loop = l, .peer = &u->peer_addr };
	u->fd = -1;
	u->peer_addr = *peer;
	loop_task_init(&u->gone, on_gone);
	return u;
}

static void adopt_fd(struct conn_uv *u, int fd)
{
	int on = 1, seconds = KEEPALIVE_S;

	u->fd = fd;
	if (u->peer_addr.kind == ADDR_INET) {
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
		(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof(seconds));
		(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof(seconds));
	}
	(void)uv_poll_init(&loop_uv_of(u->conn.loop)->uv, &u->poll, fd);
	update_poll(u);
}

struct conn *conn_uv_new(struct loop *l, int fd, const struct addr *peer)
{
	struct conn_uv *u = conn_uv_alloc(l, peer);

	adopt_fd(u, fd);
	return &u->conn;
}

static void on_dialed(void *arg, int fd, const struct addr *peer, const struct error *err)
{
	struct conn_uv *u = arg;

	u->dial = NULL;
	if (fd < 0) {
		conn_up_error(&u->conn, err);
		return;
	}
	u->peer_addr = *peer;
	adopt_fd(u, fd);
	if (u->shut_early)
		(void)shutdown(fd, SHUT_WR);
	conn_up_open(&u->conn);
}

int conn_uv_connect(struct loop *l, const struct addr *to, const struct conn_events *events,
		    void *arg, struct conn **ret_conn, struct error *err UNUSED)
{
	struct conn_uv *u = conn_uv_alloc(l, to);

	conn_set_events(&u->conn, events, arg);
	u->dial = dial_new(l, to, on_dialed, u);
	*ret_conn = &u->conn;
	return 0;
}
