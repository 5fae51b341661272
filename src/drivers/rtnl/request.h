/*
 * rtnl_request - what is asked of the kernel about links, addresses and routes, as bytes.
 *
 * Each function fills a request whole, but for its sequence number. Pure: no I/O, nothing to free.
 * What does not fit (a name of a thousand bytes) makes the request `too_long`; it must not be sent.
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

/* Lists; answered by one message for each, read with rtnl_message.h. */
void rtnl_request_links(struct rtnl_request *q);
void rtnl_request_addresses(struct rtnl_request *q, int index /* 0: of all */);
void rtnl_request_routes(struct rtnl_request *q, uint8_t family); /* of the main table */

/* The others are answered by an acknowledgement; these two by the link before it. */
void rtnl_request_link_by_name(struct rtnl_request *q, const char *name);
void rtnl_request_link_by_index(struct rtnl_request *q, int index);

void rtnl_request_link_add(struct rtnl_request *q, const struct rtnl_new_link *l);
void rtnl_request_link_delete(struct rtnl_request *q, int index);
void rtnl_request_link_change(struct rtnl_request *q, int index, const struct rtnl_change *c);
void rtnl_request_altname(struct rtnl_request *q, int index, const char *name, bool add);

/*
 * IPv6 addresses are added with IFA_F_NODAD, whatever the flags say: one that was ordered is used
 * at once, and not only after the second in which the kernel asks whether others have it; until
 * then binding to it fails.
 */
void rtnl_request_address_add(struct rtnl_request *q, const struct rtnl_address *a);
void rtnl_request_address_delete(struct rtnl_request *q, const struct rtnl_address *a);

void rtnl_request_route_add(struct rtnl_request *q, const struct rtnl_route *t);

#endif
