/*
 * Accepting. If descriptors or memory run out, the listener pauses for a moment: connections wait
 * in the kernel's queue, and nothing is lost. Each accepted descriptor goes to its loop by message
 * and becomes a conn there.
 */
#include "net/loop/loop_uv.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "net/net_limits.h"

enum {
	ACCEPT_BATCH = 64, /* per turn, so that other work continues */
	ACCEPT_PAUSE_MS = 50, /* after EMFILE and the like */
};

struct listener_uv {
	struct listener listener;
	struct loop *loop;
	struct listener_opts opts;
	struct loop **lanes; /* never empty */
	size_t nlanes, next;
	int fd;
	uv_poll_t poll;
	struct loop_timer retry;
	ino_t unix_inode; /* of our socket file, so that we never remove another one */
};

/* An accepted descriptor on its way to its loop. */
struct handover {
	struct loop_msg msg;
	struct loop *loop;
	void (*on_accept)(void *arg, struct conn *c, size_t lane);
	void *arg;
	size_t lane;
	int fd;
	struct addr peer;
};

static void on_handover(struct loop_msg *m)
{
	struct handover *h = CONTAINER_OF(m, struct handover, msg);

	h->on_accept(h->arg, conn_uv_new(h->loop, h->fd, &h->peer), h->lane);
	free(h);
}

static void listener_uv_deliver(struct listener_uv *u, int fd, const struct addr *peer)
{
	size_t lane = u->next++ % u->nlanes;
	struct handover *h;

	if (u->lanes[lane] == u->loop) {
		u->opts.on_accept(u->opts.arg, conn_uv_new(u->loop, fd, peer), lane);
		return;
	}
	h = XNEW(struct handover);
	*h = (struct handover){ .msg = { .fn = on_handover },
				.loop = u->lanes[lane],
				.on_accept = u->opts.on_accept,
				.arg = u->opts.arg,
				.lane = lane,
				.fd = fd,
				.peer = *peer };
	loop_post(h->loop, &h->msg);
}

/* The peer of a unix socket has no useful name: uses our own address instead. */
static void name_peer(const struct listener_uv *u, struct addr *ret_peer,
		      const struct sockaddr_storage *sa, socklen_t len)
{
	if (u->listener.at.kind == ADDR_UNIX)
		*ret_peer = u->listener.at;
	else
		addr_from_sockaddr(ret_peer, (const struct sockaddr *)sa, len);
}

static bool is_passing(int code)
{
	/* accept(2): errors of the single connection that was being accepted. */
	return code == ECONNABORTED || code == EINTR || code == EPROTO || code == ENETDOWN ||
	       code == EHOSTUNREACH || code == ENETUNREACH || code == EPERM;
}

static void on_acceptable(uv_poll_t *p, int status UNUSED, int events UNUSED)
{
	struct listener_uv *u = CONTAINER_OF(p, struct listener_uv, poll);
	struct sockaddr_storage sa;
	struct addr peer;
	socklen_t len;
	int fd;

	u->loop->now = (int64_t)uv_now(p->loop);
	for (int i = 0; i < ACCEPT_BATCH && u->fd >= 0; i++) {
		len = sizeof(sa);
		fd = accept4(u->fd, (struct sockaddr *)&sa, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0) {
			name_peer(u, &peer, &sa, len);
			listener_uv_deliver(u, fd, &peer);
		} else if (errno == EAGAIN) {
			return;
		} else if (!is_passing(errno)) {
			(void)uv_poll_stop(p);
			loop_timer_start(&u->retry, ACCEPT_PAUSE_MS);
			return;
		}
	}
}

static void listener_uv_on_retry(struct loop_timer *t)
{
	struct listener_uv *u = CONTAINER_OF(t, struct listener_uv, retry);

	(void)uv_poll_start(&u->poll, UV_READABLE, on_acceptable);
}

/* --- opening ------------------------------------------------------------------------- */

/* Removes a socket file that nobody answers on. */
static int remove_stale(const struct addr *at, struct error *err)
{
	int fd, r;

	if (at->kind != ADDR_UNIX || at->host[0] == '@' || access(at->host, F_OK) < 0)
		return 0;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return error_set_errno(err, ERR_IO, errno, "cannot make a socket");
	r = connect(fd, (const struct sockaddr *)&at->sa, at->len);
	if (r < 0)
		r = errno;
	(void)close(fd);
	if (r == 0)
		return error_set(err, ERR_ALREADY_EXISTS, "%s is in use by another process",
				 at->text);
	if (r == ECONNREFUSED && unlink(at->host) == 0)
		return 0;
	return error_set_errno(err, ERR_ALREADY_EXISTS, r, "%s exists and is not a free socket",
			       at->text);
}

static int bind_unix(int fd, const struct addr *at, unsigned mode)
{
	/* The file must never have wider permissions than requested, not even for a moment. */
	mode_t old = umask(0777 & ~(mode ? mode : 0600));
	int r = bind(fd, (const struct sockaddr *)&at->sa, at->len);

	(void)umask(old);
	return r;
}

static bool is_any(const struct addr *at)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)(const void *)&at->sa;

	return at->sa.ss_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr);
}

static int open_fd(const struct addr *at, unsigned mode, struct error *err)
{
	struct addr any4;
	int on = 1, r, fd;

	r = remove_stale(at, err);
	if (r < 0)
		return r;
	fd = socket(at->sa.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 && errno == EAFNOSUPPORT && is_any(at)) {
		/* A kernel without IPv6: "any address" is the IPv4 one. */
		(void)addr_parse(&any4, STR("0.0.0.0"), at->port, NULL);
		return open_fd(&any4, mode, err);
	}
	if (fd < 0)
		return error_set_errno(err, ERR_IO, errno, "cannot make a socket");
	if (at->kind == ADDR_INET) {
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		r = bind(fd, (const struct sockaddr *)&at->sa, at->len);
	} else {
		r = bind_unix(fd, at, mode);
	}
	if (r < 0 || listen(fd, NET_BACKLOG) < 0) {
		r = error_set_errno(err, ERR_UNAVAILABLE, errno, "cannot listen on %s", at->text);
		(void)close(fd);
		return r;
	}
	return fd;
}

static void remember_address(struct listener_uv *u, const struct addr *at)
{
	struct sockaddr_storage sa;
	socklen_t len = sizeof(sa);
	struct stat st;

	u->listener.at = *at;
	if (at->kind == ADDR_INET && getsockname(u->fd, (struct sockaddr *)&sa, &len) == 0)
		addr_from_sockaddr(&u->listener.at, (struct sockaddr *)&sa, len);
	if (at->kind == ADDR_UNIX && stat(at->host, &st) == 0)
		u->unix_inode = st.st_ino;
}

static void on_listener_closed(uv_handle_t *h)
{
	struct listener_uv *u = CONTAINER_OF(h, struct listener_uv, poll);

	free(u->lanes);
	free(u);
}

static void listener_uv_free(struct listener *ln)
{
	struct listener_uv *u = CONTAINER_OF(ln, struct listener_uv, listener);
	struct stat st;

	if (u->unix_inode && stat(ln->at.host, &st) == 0 && st.st_ino == u->unix_inode)
		(void)unlink(ln->at.host);
	loop_timer_stop(&u->retry);
	uv_close((uv_handle_t *)&u->poll, on_listener_closed);
	(void)close(u->fd);
	u->fd = -1;
}

int listener_uv_open(struct loop *l, const struct addr *at, const struct listener_opts *opts,
		     struct listener **ret_listener, struct error *err)
{
	struct listener_uv *u;
	int fd;

	if (at->kind == ADDR_NAME)
		return error_set(err, ERR_INVALID, "%s: listening needs a numeric address",
				 at->text);
	fd = open_fd(at, opts->unix_mode, err);
	if (fd < 0)
		return fd;
	u = XNEW(struct listener_uv);
	u->listener.free = listener_uv_free;
	u->loop = l;
	u->opts = *opts;
	u->nlanes = opts->nloops ? opts->nloops : 1;
	u->lanes = xcalloc(u->nlanes, sizeof(*u->lanes));
	u->lanes[0] = l;
	for (size_t i = 0; i < opts->nloops; i++)
		u->lanes[i] = opts->loops[i];
	u->fd = fd;
	remember_address(u, at);
	loop_timer_init(&u->retry, l, listener_uv_on_retry);
	(void)uv_poll_init(&loop_uv_of(l)->uv, &u->poll, fd);
	(void)uv_poll_start(&u->poll, UV_READABLE, on_acceptable);
	*ret_listener = &u->listener;
	return 0;
}
