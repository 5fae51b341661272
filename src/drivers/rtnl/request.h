/*
 * rtnl_request - builds requests to the kernel about links, addresses and routes.
 *
 * Each function fills in the whole request, except its sequence number. No I/O, nothing to free. A
 * request that does not fit (a name of a thousand bytes) is marked `too_long`, and must not be
 * sent.
 */
#ifndef DRIVERS_RTNL_REQUEST_H
#define DRIVERS_RTNL_REQUEST_H

#include "drivers/rtnl/rtnl.h"

struct nlmsghdr;

struct rtnl_request {
	bool too_long;
	_Alignas(8) unsigned char bytes
		[1024]; /* begins with a struct nlmsghdr, which has the length */
};

struct nlmsghdr *rtnl_request_header(struct rtnl_request *q);

/* Lists. The kernel replies with one message per entry; parse them with message.h. */
void rtnl_request_links(struct rtnl_request *q);
void rtnl_request_addresses(struct rtnl_request *q, int index /* 0: of all */);
void rtnl_request_routes(struct rtnl_request *q, uint8_t family); /* of the main table */

/* The kernel replies to the rest with an acknowledgement; to these two with the link first. */
void rtnl_request_link_by_name(struct rtnl_request *q, const char *name);
void rtnl_request_link_by_index(struct rtnl_request *q, int index);

void rtnl_request_link_add(struct rtnl_request *q, const struct rtnl_new_link *l);
void rtnl_request_link_delete(struct rtnl_request *q, int index);
void rtnl_request_link_change(struct rtnl_request *q, int index, const struct rtnl_change *c);
void rtnl_request_altname(struct rtnl_request *q, int index, const char *name, bool add);

/*
 * IPv6 addresses are always added with IFA_F_NODAD, so that they are usable immediately. Otherwise
 * binding to them would fail for a second, while the kernel checks for duplicates.
 */
void rtnl_request_address_add(struct rtnl_request *q, const struct rtnl_address *a);
void rtnl_request_address_delete(struct rtnl_request *q, const struct rtnl_address *a);

void rtnl_request_route_add(struct rtnl_request *q, const struct rtnl_route *t);

#endif
