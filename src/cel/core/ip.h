/*
 * ip - addresses and prefixes of IP, as Go's net/netip reads and prints them.
 *
 * Strict: no leading zeros, no zones, and IPv6 that is written with an IPv4 address
 * (::ffff:1.2.3.4) is refused. A prefix may have bits set behind its length.
 */
#ifndef CEL_CORE_IP_H
#define CEL_CORE_IP_H

#include "base/core/error.h"
#include "base/text/ip6.h"
#include "cel/core/value.h"

enum { CEL_ADDRESS_TEXT = IP6_TEXT + 4 }; /* with "/128" and a NUL */

/*
 * -ERR_INVALID with upstream's words. `unmaps`: "::ffff:c0a8:1" is 192.168.0.1, as the
 * specification has it; to Kubernetes it is no address.
 */
int cel_ip_parse(struct str text, bool unmaps, struct cel_address *ret_ip, struct error *err);
int cel_cidr_parse(struct str text, struct cel_address *ret_cidr, struct error *err);

/* What a URL may have in brackets: IPv6 of any kind, zones too. */
int cel_ip_check_literal(struct str text, struct error *err);

/* Writes it, terminated, and returns it as a str into `out`. */
struct str cel_ip_print(const struct cel_address *ip, char out[static CEL_ADDRESS_TEXT]);
struct str cel_cidr_print(const struct cel_address *cidr, char out[static CEL_ADDRESS_TEXT]);

/* The same bytes and family; prefixes also have the same length. */
bool cel_ip_equal(const struct cel_address *a, const struct cel_address *b);
bool cel_cidr_equal(const struct cel_address *a, const struct cel_address *b);

/* In bytes: 4 or 16; of a prefix, as many as its length touches. */
uint64_t cel_ip_size(const struct cel_address *ip);
uint64_t cel_cidr_size(const struct cel_address *cidr);

/* Whether the first bits of both are the same; of one family only. */
bool cel_address_matches(const struct cel_address *a, const struct cel_address *b, unsigned bits);

#endif
