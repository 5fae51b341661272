/*
 * Makes a connection. Each address is tried with a non-blocking connect; the first that succeeds
 * wins. The caller sets timeouts, and cancels.
 */
#include "net/loop/loop_uv.h"

#include <errno.h>
#include <netdb.h>
#include <unistd.h>

#include "base/core/mem.h"

enum { DIAL_ADDRS_MAX = 8 };

struct dial {
	struct loop *loop;
	void (*done)(void *arg, int fd, const struct addr *peer, const struct error *err);
	void *arg;
	struct addr name; /* the requested address */
	struct addr addrs[DIAL_ADDRS_MAX];
	size_t n, at;
	int fd;
	bool cancelled;
	bool looking_up, polling;
	uv_poll_t poll;
	uv_getaddrinfo_t lookup;
	struct loop_task begin; /* first step, in the next turn */
	struct error err; /* of the last attempt */
};

static void dial_closed(uv_handle_t *h)
{
	free(CONTAINER_OF(h, struct dial, poll));
}

/* Frees it once libuv has released it. */
static void dial_end(struct dial *d)
{
	loop_task_cancel(&d->begin);
	if (d->fd >= 0)
		(void)close(d->fd);
	d->fd = -1;
	if (d->polling)
		uv_close((uv_handle_t *)&d->poll, dial_closed);
	else if (!d->looking_up)
		free(d);
}

static void dial_done(struct dial *d, int fd)
{
	void (*done)(void *, int, const struct addr *, const struct error *) = d->done;
	struct addr peer = fd >= 0 ? d->addrs[d->at] : d->name;
	struct error err = d->err;
	void *arg = d->arg;

	d->fd = -1;
	dial_end(d);
	done(arg, fd, &peer, fd < 0 ? &err : NULL);
}

static void try_next(struct dial *d);

static void retry_after_close(uv_handle_t *h)
{
	struct dial *d = CONTAINER_OF(h, struct dial, poll);

	d->polling = false;
	if (d->cancelled)
		free(d);
	else
		try_next(d);
}

static void failed_address(struct dial *d, int code)
{
	(void)error_set_errno(&d->err, ERR_UNAVAILABLE, code, "cannot connect to %s",
			      d->addrs[d->at].text);
	d->at++;
	if (d->fd >= 0)
		(void)close(d->fd);
	d->fd = -1;
}

static void on_connected(uv_poll_t *p, int status, int events UNUSED)
{
	struct dial *d = CONTAINER_OF(p, struct dial, poll);
	int code = 0, fd = d->fd;
	socklen_t len = sizeof(code);

	d->loop->now = (int64_t)uv_now(p->loop);
	/* libuv reports EBADF for any failure; the socket has the real error. */
	(void)getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &len);
	if (code == 0 && status < 0)
		code = -status;
	(void)uv_poll_stop(p);
	if (code == 0) {
		dial_done(d, fd);
		return;
	}
	failed_address(d, code);
	uv_close((uv_handle_t *)&d->poll, retry_after_close);
}

/* Returns true if a connect is in progress, or succeeded at once (as for unix sockets). */
static bool start_connect(struct dial *d)
{
	const struct addr *a = &d->addrs[d->at];

	d->fd = socket(a->sa.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (d->fd < 0 ||
	    (connect(d->fd, (const struct sockaddr *)&a->sa, a->len) < 0 && errno != EINPROGRESS)) {
		failed_address(d, errno);
		return false;
	}
	(void)uv_poll_init(&loop_uv_of(d->loop)->uv, &d->poll, d->fd);
	d->polling = true;
	(void)uv_poll_start(&d->poll, UV_WRITABLE, on_connected);
	return true;
}

static void try_next(struct dial *d)
{
	while (d->at < d->n)
		if (start_connect(d))
			return;
	dial_done(d, -1);
}

/* All addresses must be allowed, because we cannot choose which one answers. */
static bool refuse_address(struct dial *d, const struct addr *a)
{
	if (addr_allows(&d->name, a))
		return false;
	(void)error_set(&d->err, ERR_FORBIDDEN, "address not allowed");
	return true;
}

static void on_resolved(uv_getaddrinfo_t *req, int status, struct addrinfo *list)
{
	struct dial *d = CONTAINER_OF(req, struct dial, lookup);
	bool refused = false;
	struct addr a;

	d->looking_up = false;
	for (struct addrinfo *i = list; i; i = i->ai_next) {
		addr_from_sockaddr(&a, i->ai_addr, i->ai_addrlen);
		refused = refused || refuse_address(d, &a);
		if (d->n < DIAL_ADDRS_MAX)
			d->addrs[d->n++] = a;
	}
	uv_freeaddrinfo(list);
	if (d->cancelled) {
		free(d);
		return;
	}
	if (refused)
		d->n = 0;
	else if (d->n == 0)
		(void)error_set(&d->err, ERR_UNAVAILABLE, "cannot resolve %s: %s", d->name.host,
				status ? uv_strerror(status) : "no address");
	try_next(d);
}

static void dial_uv_resolve(struct dial *d)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG };
	char port[8];
	int r;

	(void)snprintf(port, sizeof(port), "%u", d->name.port);
	r = uv_getaddrinfo(&loop_uv_of(d->loop)->uv, &d->lookup, on_resolved, d->name.host, port,
			   &hints);
	if (r == 0) {
		d->looking_up = true;
		return;
	}
	(void)loop_uv_error(&d->err, ERR_UNAVAILABLE, r, d->name.host);
	dial_done(d, -1);
}

static void on_begin(struct loop_task *t)
{
	struct dial *d = CONTAINER_OF(t, struct dial, begin);

	if (d->name.kind == ADDR_NAME) {
		dial_uv_resolve(d);
		return;
	}
	if (!refuse_address(d, &d->name))
		d->addrs[d->n++] = d->name;
	try_next(d);
}

struct dial *dial_new(struct loop *l, const struct addr *to,
		      void (*done)(void *arg, int fd, const struct addr *peer,
				   const struct error *err),
		      void *arg)
{
	struct dial *d = XNEW(struct dial);

	d->loop = l;
	d->done = done;
	d->arg = arg;
	d->name = *to;
	d->fd = -1;
	loop_task_init(&d->begin, on_begin);
	loop_defer(l, &d->begin);
	return d;
}

void dial_cancel(struct dial *d)
{
	if (!d)
		return;
	d->cancelled = true;
	if (d->looking_up)
		(void)uv_cancel((uv_req_t *)&d->lookup);
	/* A failed attempt that is being closed continues in retry_after_close. */
	if (d->polling && uv_is_closing((uv_handle_t *)&d->poll))
		return;
	dial_end(d);
}
