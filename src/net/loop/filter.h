/*
 * filter - the interface that a filter implements. Only for files that create conns.
 *
 * A filter embeds `struct conn` first and fills in `ops`. After each call up (conn_up_*) it must
 * check `closed`, because the owner may have freed the conn. Its memory stays valid until the end
 * of the turn.
 */
#ifndef NET_LOOP_FILTER_H
#define NET_LOOP_FILTER_H

#include "net/loop/addr.h"
#include "net/loop/conn.h"
#include "net/loop/loop.h"

struct conn_ops {
	ssize_t (*writev)(struct conn *c, const struct iovec *iov, int n, struct error *err);
	void (*pause)(struct conn *c, bool pause);
	void (*shutdown)(struct conn *c);
	/* Releases everything and, after the turn, the memory. Called once. */
	void (*close)(struct conn *c);
	struct str (*alpn)(const struct conn *c);
	/* Whether the filter has no unwritten bytes; NULL: it never keeps any. */
	bool (*flushed)(const struct conn *c);
	/* conn_hung_up() of a paused conn; NULL: unknown. */
	bool (*hung_up)(const struct conn *c);
	/* conn_owner(); NULL: unknown. */
	bool (*owner)(const struct conn *c, struct conn_owner *ret_owner);
	bool is_tls;
};

struct conn {
	const struct conn_ops *ops;
	struct loop *loop;
	const struct conn_events *events;
	void *arg;
	const struct addr *peer; /* owned by the bottom filter */
	bool closed;
	bool paused;
};

static inline void conn_up_open(struct conn *c)
{
	if (!c->closed && c->events->on_open)
		c->events->on_open(c->arg);
}

static inline void conn_up_data(struct conn *c, char *data, size_t n)
{
	if (!c->closed)
		c->events->on_data(c->arg, data, n);
}

static inline void conn_up_eof(struct conn *c)
{
	if (!c->closed)
		c->events->on_eof(c->arg);
}

static inline void conn_up_writable(struct conn *c)
{
	if (!c->closed)
		c->events->on_writable(c->arg);
}

static inline void conn_up_error(struct conn *c, const struct error *err)
{
	if (!c->closed)
		c->events->on_error(c->arg, err);
}

#endif
