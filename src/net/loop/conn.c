/* The functions of a conn, forwarded to its topmost filter. */
#include "net/loop/filter.h"

#include "net/loop/backend.h"

int conn_connect(struct loop *l, const struct addr *to, const struct conn_events *events, void *arg,
		 struct conn **ret_conn, struct error *err)
{
	return l->ops->connect(l, to, events, arg, ret_conn, err);
}

void conn_set_events(struct conn *c, const struct conn_events *events, void *arg)
{
	c->events = events;
	c->arg = arg;
}

ssize_t conn_writev(struct conn *c, const struct iovec *iov, int n, struct error *err)
{
	return c->ops->writev(c, iov, n, err);
}

void conn_pause(struct conn *c)
{
	if (c->paused || c->closed)
		return;
	c->paused = true;
	c->ops->pause(c, true);
}

void conn_resume(struct conn *c)
{
	if (!c->paused || c->closed)
		return;
	c->paused = false;
	c->ops->pause(c, false);
}

void conn_shutdown(struct conn *c)
{
	if (!c->closed)
		c->ops->shutdown(c);
}

void conn_free(struct conn *c)
{
	if (!c || c->closed)
		return;
	c->closed = true;
	c->ops->close(c);
}

struct loop *conn_loop(const struct conn *c)
{
	return c->loop;
}

const struct addr *conn_peer(const struct conn *c)
{
	return c->peer;
}

bool conn_owner(const struct conn *c, struct conn_owner *ret_owner)
{
	return c->ops->owner && c->ops->owner(c, ret_owner);
}

struct str conn_alpn(const struct conn *c)
{
	return c->ops->alpn ? c->ops->alpn(c) : STR_NULL;
}

bool conn_flushed(const struct conn *c)
{
	return !c->ops->flushed || c->ops->flushed(c);
}

bool conn_hung_up(const struct conn *c)
{
	return c->paused && !c->closed && c->ops->hung_up && c->ops->hung_up(c);
}

bool conn_is_tls(const struct conn *c)
{
	return c->ops->is_tls;
}
