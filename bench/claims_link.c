/*
 * Sockets in the namespace are opened when something is to happen for the first time: those of a
 * pod in which nothing does would be in the way of nobody, but there are hundreds.
 */
#include "claims_link.h"

#include <linux/rtnetlink.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/core/compiler.h"
#include "base/core/mem.h"
#include "drivers/rtnl/netns.h"
#include "drivers/rtnl/rtnl.h"
#include "load.h"

struct claims_link {
	int ns_fd;
	char path[64];
	struct rtnl *here, *there; /* or NULL: not looked at yet */
	int notices; /* socket; -1: none */
	int index, peer; /* of the interface, there, and of its other end, here */
};

struct claims_link *claims_link_new(void)
{
	struct claims_link *l = XNEW(struct claims_link);
	struct error err;

	l->notices = -1;
	if (netns_make(&l->ns_fd, &err) < 0)
		load_die(err.msg);
	(void)snprintf(l->path, sizeof(l->path), "/proc/%d/fd/%d", (int)getpid(), l->ns_fd);
	return l;
}

const char *claims_link_path(const struct claims_link *l)
{
	return l->path;
}

static int look(void *arg, const struct rtnl_link *found)
{
	struct claims_link *l = arg;

	if (!found->loopback) {
		l->index = found->index;
		l->peer = found->parent;
	}
	return 0;
}

static void open_notices(struct claims_link *l)
{
	struct sockaddr_nl sa = { .nl_family = AF_NETLINK,
				  .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR };
	struct error err;

	if (netns_socket(l->ns_fd, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE, &l->notices,
			 &err) < 0)
		load_die(err.msg);
	if (bind(l->notices, (struct sockaddr *)&sa, sizeof(sa)) < 0)
		load_die("cannot hear the kernel's notices");
}

static void need_sockets(struct claims_link *l)
{
	struct error err;

	if (l->there)
		return;
	if (rtnl_open(-1, &l->here, &err) < 0 || rtnl_open(l->ns_fd, &l->there, &err) < 0 ||
	    rtnl_links(l->there, look, l, &err) < 0)
		load_die(err.msg);
	if (!l->index)
		load_die("there is no interface in the pod");
	open_notices(l);
}

static void drop_notices(struct claims_link *l)
{
	char notice[16 * 1024];

	while (recv(l->notices, notice, sizeof(notice), MSG_DONTWAIT) > 0)
		continue;
}

static int64_t hear_notice(struct claims_link *l)
{
	struct pollfd p = { .fd = l->notices, .events = POLLIN };

	if (poll(&p, 1, 10000) != 1)
		load_die("the kernel does not tell");
	return load_now_ns();
}

int64_t claims_link_carrier(struct claims_link *l, bool on)
{
	struct rtnl_change change = { .set_up = true, .up = on };
	struct error err;

	need_sockets(l);
	drop_notices(l);
	if (rtnl_link_change(l->here, l->peer, &change, &err) < 0)
		load_die(err.msg);
	return hear_notice(l);
}

int64_t claims_link_address(struct claims_link *l, bool add)
{
	struct rtnl_address a = { 0 };
	struct error err;
	int r;

	need_sockets(l);
	drop_notices(l);
	a.index = l->index;
	(void)rtnl_ip_parse(STR("203.0.113.7/24"), false, &a.ip);
	r = add ? rtnl_address_add(l->there, &a, &err) : rtnl_address_delete(l->there, &a, &err);
	if (r < 0)
		load_die(err.msg);
	return hear_notice(l);
}

void claims_link_forget(struct claims_link *l)
{
	rtnl_close(TAKE(l->here));
	rtnl_close(TAKE(l->there));
	if (l->notices >= 0)
		(void)close(l->notices);
	l->notices = -1;
	l->index = l->peer = 0;
}
