/*
 * A socket in the kernel's multicast groups for links and addresses, read when it is readable. If
 * changes come faster than they are read, its buffer fills up; the kernel then drops messages, and
 * the next read reports that.
 *
 * A turn reads a bounded number of datagrams, so that many changes do not block the loop. The rest
 * makes the descriptor readable again at once.
 */
#include "drivers/rtnl/watch.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "drivers/rtnl/message.h"
#include "drivers/rtnl/netns.h"
#include "drivers/rtnl/rtnl_impl.h"
#include "net/loop/loop.h"

enum {
	BUFFER = 8 * 1024 * 1024, /* some two thousand changes */
	DATAGRAMS = 64, /* per turn */
};

struct rtnl_watch {
	int fd;
	struct loop_fd *readable;
	void (*on_event)(void *arg, const struct rtnl_event *e);
	void *arg;
	bool reading; /* on the stack: it completes the free */
	bool freed;
};

/* Returns false for messages that are not reported. */
static bool read_event(const struct nlmsghdr *m, struct rtnl_event *e)
{
	switch (m->nlmsg_type) {
	case RTM_NEWLINK:
	case RTM_DELLINK:
		e->type = m->nlmsg_type == RTM_NEWLINK ? RTNL_LINK_SET : RTNL_LINK_GONE;
		return rtnl_message_read_link(m, &e->link);
	case RTM_NEWADDR:
	case RTM_DELADDR:
		e->type = m->nlmsg_type == RTM_NEWADDR ? RTNL_ADDRESS_SET : RTNL_ADDRESS_GONE;
		return rtnl_message_read_address(m, &e->address);
	default:
		return false;
	}
}

static void tell_all(struct rtnl_watch *w, struct str text)
{
	const struct nlmsghdr *m;

	while (!w->freed && (m = rtnl_message_next(&text))) {
		struct rtnl_event e = { 0 };

		if (read_event(m, &e))
			w->on_event(w->arg, &e);
	}
}

/* Returns false if nothing is left for now. */
static bool watch_read_one(struct rtnl_watch *w)
{
	CLEANUP(rtnl_buffer_release) struct rtnl_buffer received;
	struct str text;
	int errnum;

	rtnl_buffer_init(&received);
	errnum = rtnl_receive(w->fd, &received, &text);
	if (errnum == EAGAIN)
		return false;
	if (errnum == 0)
		tell_all(w, text);
	else
		w->on_event(w->arg, &(struct rtnl_event){ .type = RTNL_LOST });
	return !w->freed;
}

static void on_readable(void *arg)
{
	struct rtnl_watch *w = arg;

	w->reading = true;
	for (int i = 0; i < DATAGRAMS && watch_read_one(w); i++)
		;
	w->reading = false;
	if (w->freed)
		free(w);
}

void rtnl_watch_set_buffer(struct rtnl_watch *w, int bytes)
{
	/* SO_RCVBUFFORCE may exceed the system's limit, if we are privileged. */
	if (setsockopt(w->fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) < 0)
		(void)setsockopt(w->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
}

static int watch_join(struct rtnl_watch *w, struct error *err)
{
	struct sockaddr_nl at = {
		.nl_family = AF_NETLINK,
		.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR,
	};

	if (bind(w->fd, (struct sockaddr *)&at, sizeof(at)) < 0)
		return error_set_errno(err, ERR_IO, errno, "join the groups of rtnetlink");
	return 0;
}

int rtnl_watch_new(struct loop *l, int ns_fd,
		   void (*on_event)(void *arg, const struct rtnl_event *e), void *arg,
		   struct rtnl_watch **ret_watch, struct error *err)
{
	CLEANUP(rtnl_watch_free) struct rtnl_watch *w = XNEW(struct rtnl_watch);
	int r;

	*w = (struct rtnl_watch){ .fd = -1, .on_event = on_event, .arg = arg };
	r = netns_socket(ns_fd, AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK, NETLINK_ROUTE, &w->fd, err);
	if (r >= 0) {
		rtnl_watch_set_buffer(w, BUFFER);
		r = watch_join(w, err);
	}
	if (r >= 0)
		r = loop_fd_new(l, w->fd, on_readable, w, &w->readable, err);
	if (r < 0)
		return error_wrap(err, r, "watch network interfaces");
	*ret_watch = TAKE(w);
	return 0;
}

void rtnl_watch_free(struct rtnl_watch *w)
{
	if (!w)
		return;
	loop_fd_free(w->readable);
	if (w->fd >= 0)
		(void)close(w->fd);
	w->freed = true;
	if (!w->reading)
		free(w);
}
