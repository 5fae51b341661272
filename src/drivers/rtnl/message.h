/*
 * rtnl_message - what the kernel says about links, addresses and routes, read from bytes.
 *
 * Pure: no I/O, nothing to free, everything is copied out. Bytes may be anything: nothing is read
 * beyond the length that is given, and what is no proper message of its kind is false. Messages
 * must lie 4-byte aligned, as netlink has them.
 */
#ifndef DRIVERS_RTNL_MESSAGE_H
#define DRIVERS_RTNL_MESSAGE_H

#include "drivers/rtnl/rtnl.h"

struct nlmsghdr;

/* Takes the first message off what was received; NULL at the end, or when the rest is none. */
const struct nlmsghdr *rtnl_message_next(struct str *rest);

/*
 * RTM_NEWLINK and RTM_DELLINK. False also of those that are not about the link as such: a bridge
 * tells about its ports in the same form, with another family, and deleting one there is no end of
 * the link.
 */
bool rtnl_message_read_link(const struct nlmsghdr *m, struct rtnl_link *ret_link);

/* Of such a message: the link's other names, each as a text without NUL. */
void rtnl_message_altnames(const struct nlmsghdr *m, void (*each)(void *arg, struct str name),
			   void *arg);

/* RTM_NEWADDR and RTM_DELADDR, IPv4 or IPv6. */
bool rtnl_message_read_address(const struct nlmsghdr *m, struct rtnl_address *ret_address);

/*
 * RTM_NEWROUTE: a unicast route of the main table. One that leads over several links is read hop by
 * hop, from 0 on until false.
 */
bool rtnl_message_read_route(const struct nlmsghdr *m, unsigned hop, struct rtnl_route *ret_route);

struct rtnl_verdict {
	int errnum; /* 0: done */
	char text[128]; /* what the kernel says beyond that; "": nothing */
};

/* NLMSG_ERROR, which is also the acknowledgement, and NLMSG_DONE. */
bool rtnl_message_read_verdict(const struct nlmsghdr *m, struct rtnl_verdict *ret_verdict);

#endif
