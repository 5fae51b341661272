/*
 * addr - an address to listen on or connect to.
 *
 * Forms: "127.0.0.1:6443", "[::1]:6443", ":6443" (any address: "[::]:6443", which serves IPv4 too),
 * "host:6443" (connect only: the loop resolves it), "unix:/path", "unix:///path" and "unix:@name"
 * (abstract). Schemes "tcp://", "http://" and "https://" before a host are accepted and dropped.
 * With a default port, IPv6 addresses need no brackets.
 */
#ifndef NET_LOOP_ADDR_H
#define NET_LOOP_ADDR_H

#include <sys/socket.h>

#include "base/core/error.h"
#include "base/core/str.h"
#include "net/net_limits.h"

enum addr_kind {
	ADDR_INET, /* numeric, IPv4 or IPv6 */
	ADDR_UNIX,
	ADDR_NAME, /* a host name still to be resolved */
};

struct addr;

/* Decides which addresses a program may connect to on behalf of others. */
struct addr_rule {
	bool (*allows)(const struct addr_rule *r, const struct addr *a);
};

struct addr {
	enum addr_kind kind;
	socklen_t len; /* of `sa`; 0 for ADDR_NAME */
	struct sockaddr_storage sa;
	uint16_t port; /* not for ADDR_UNIX */
	/*
	 * Set by a program that connects on behalf of others; it must outlive the address. NULL:
	 * anywhere. A name is rejected as a whole if one of its addresses is not allowed
	 * (-ERR_FORBIDDEN).
	 */
	const struct addr_rule *rule;
	char text[NET_ADDRESS_MAX]; /* canonical form, for people; parses to the same address */
	char host[NET_ADDRESS_MAX]; /* without port and brackets; the path for ADDR_UNIX */
};

/* `default_port` is used if the text has no port; 0: a port is required. */
int addr_parse(struct addr *ret_addr, struct str text, uint16_t default_port, struct error *err);

/*
 * Whether others may be connected there. False for unspecified, loopback, link-local, multicast and
 * broadcast addresses, and for unix sockets. A host name can only be judged by its addresses, so it
 * is true for all names but "localhost".
 */
bool addr_is_global(const struct addr *a);

extern const struct addr_rule addr_rule_global; /* allows what addr_is_global() does */

/* Whether the rule of `to`, if it has one, allows `a`: `to` itself, or an address of that name. */
bool addr_allows(const struct addr *to, const struct addr *a);

/*
 * From a result of accept(2) or getsockname(2). IPv4 that arrived on an IPv6 socket becomes plain
 * IPv4. An unknown family has no text.
 */
void addr_from_sockaddr(struct addr *ret_addr, const struct sockaddr *sa, socklen_t len);

#endif
