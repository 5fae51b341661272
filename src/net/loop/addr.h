/*
 * addr - where to listen or connect.
 *
 * Forms: "127.0.0.1:6443", "[::1]:6443", ":6443" (any address: "[::]:6443",
 * which serves IPv4 too), "host:6443" (connect only: the loop resolves it),
 * "unix:/path", "unix:///path" and "unix:@name" (abstract). Schemes "tcp://",
 * "http://" and "https://" before a host are accepted and dropped. With a
 * default port, IPv6 addresses need no brackets.
 */
#ifndef NET_LOOP_ADDR_H
#define NET_LOOP_ADDR_H

#include <sys/socket.h>

#include "base/core/error.h"
#include "base/core/limits.h"
#include "base/core/str.h"

enum addr_kind {
	ADDR_INET, /* numeric, IPv4 or IPv6 */
	ADDR_UNIX,
	ADDR_NAME, /* a host name still to be resolved */
};

struct addr;

/* Says which addresses others may be led to. */
struct addr_rule {
	bool (*allows)(const struct addr_rule *r, const struct addr *a);
};

struct addr {
	enum addr_kind kind;
	socklen_t len; /* of `sa`; 0 for ADDR_NAME */
	struct sockaddr_storage sa;
	uint16_t port; /* not for ADDR_UNIX */
	/*
	 * Set by a program that connects for others, and outlives the address; NULL: anywhere. A
	 * name is refused as a whole if one of its addresses is not allowed (-ERR_FORBIDDEN).
	 */
	const struct addr_rule *rule;
	char text[NET_ADDRESS_MAX]; /* canonical form: shown to people, parsed back the same */
	char host[NET_ADDRESS_MAX]; /* without port and brackets; the path for ADDR_UNIX */
};

/* `default_port` serves when the text has none; 0 demands one. */
int addr_parse(struct addr *ret_addr, struct str text, uint16_t default_port, struct error *err);

/*
 * Whether others may be led there: no address of this machine or link alone, no group, no path.
 * Of a name only its addresses can tell, when they are known: true but for "localhost".
 */
bool addr_is_global(const struct addr *a);

extern const struct addr_rule addr_rule_global; /* allows what addr_is_global() says */

/* Whether the rule of `to`, if it has one, allows `a`: `to` itself, or an address of that name. */
bool addr_allows(const struct addr *to, const struct addr *a);

/*
 * From what accept(2) or getsockname(2) filled in. IPv4 that arrived on an
 * IPv6 socket becomes plain IPv4. A family that we do not know has no text.
 */
void addr_from_sockaddr(struct addr *ret_addr, const struct sockaddr *sa, socklen_t len);

#endif
