/*
 * rtnl_message - parses the kernel's messages about links, addresses and routes.
 *
 * No I/O, nothing to free: everything is copied. The bytes may be arbitrary: it reads nothing
 * beyond the given length, and returns false for a message that is not valid. Messages must be
 * 4-byte aligned, as in netlink.
 */
#ifndef DRIVERS_RTNL_MESSAGE_H
#define DRIVERS_RTNL_MESSAGE_H

#include "drivers/rtnl/rtnl.h"

struct nlmsghdr;

/*
 * Takes the first message off the received bytes. Returns NULL at the end, or if the rest is
 * invalid.
 */
const struct nlmsghdr *rtnl_message_next(struct str *rest);

/*
 * RTM_NEWLINK and RTM_DELLINK. Also returns false for messages that are not about the link itself:
 * a bridge reports its ports in the same form with a different family, and removing a port there
 * does not delete the link.
 */
bool rtnl_message_read_link(const struct nlmsghdr *m, struct rtnl_link *ret_link);

/* Calls `each` with the link's alternative names, without NUL. */
void rtnl_message_altnames(const struct nlmsghdr *m, void (*each)(void *arg, struct str name),
			   void *arg);

/* RTM_NEWADDR and RTM_DELADDR, IPv4 or IPv6. */
bool rtnl_message_read_address(const struct nlmsghdr *m, struct rtnl_address *ret_address);

/*
 * RTM_NEWROUTE: a unicast route of the main table. A route over several links is read hop by hop:
 * count `hop` from 0 until it returns false.
 */
bool rtnl_message_read_route(const struct nlmsghdr *m, unsigned hop, struct rtnl_route *ret_route);

struct rtnl_verdict {
	int errnum; /* 0: success */
	char text[128]; /* the kernel's extended message, or "" */
};

/* NLMSG_ERROR, which is also the acknowledgement, and NLMSG_DONE. */
bool rtnl_message_read_verdict(const struct nlmsghdr *m, struct rtnl_verdict *ret_verdict);

#endif
