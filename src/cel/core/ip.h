/*
 * ip - IP addresses and prefixes (CIDRs), parsed and printed like Go's net/netip.
 *
 * Parsing is strict: no leading zeros, no zones, and no IPv6 with an embedded IPv4 address
 * (::ffff:1.2.3.4). A prefix may have bits set beyond its length.
 */
#ifndef CEL_CORE_IP_H
#define CEL_CORE_IP_H

#include "base/core/error.h"
#include "base/text/ip6.h"
#include "cel/core/value.h"

enum { CEL_ADDRESS_TEXT = IP6_TEXT + 4 }; /* with "/128" and a NUL */

/*
 * Return -ERR_INVALID with upstream's message. `unmaps`: "::ffff:c0a8:1" is 192.168.0.1, as in the
 * specification; Kubernetes rejects it.
 */
int cel_ip_parse(struct str text, bool unmaps, struct cel_address *ret_ip, struct error *err);
int cel_cidr_parse(struct str text, struct cel_address *ret_cidr, struct error *err);

/* Checks the text in the brackets of a URL: any IPv6 address, also with a zone. */
int cel_ip_check_literal(struct str text, struct error *err);

/* Prints NUL-terminated text into `out`, and returns it as a str. */
struct str cel_ip_print(const struct cel_address *ip, char out[static CEL_ADDRESS_TEXT]);
struct str cel_cidr_print(const struct cel_address *cidr, char out[static CEL_ADDRESS_TEXT]);

/* Whether bytes and family are equal, and for prefixes the length. */
bool cel_ip_equal(const struct cel_address *a, const struct cel_address *b);
bool cel_cidr_equal(const struct cel_address *a, const struct cel_address *b);

/* Returns the size in bytes: 4 or 16; for a prefix, the bytes that its length covers. */
uint64_t cel_ip_size(const struct cel_address *ip);
uint64_t cel_cidr_size(const struct cel_address *cidr);

/* Whether both have the same family and the first `bits` bits are equal. */
bool cel_address_matches(const struct cel_address *a, const struct cel_address *b, unsigned bits);

#endif
