/*
 * address - IP addresses and ranges as text: what Go's net package reads, and the one form that it
 * prints.
 */
#ifndef API_SCHEMA_ADDRESS_H
#define API_SCHEMA_ADDRESS_H

#include "base/core/buf.h"
#include "base/text/ip6.h"

enum { ADDRESS_TEXT = IP6_TEXT + 4 };

/* An address, or with `prefix` a range. */
struct address {
	unsigned char bytes[16]; /* of IPv4 the first four */
	bool is4;
	int prefix;
};

/* Reads "10.9.8.7" or "2001:db8::1"; the prefix is that of one address. IPv4 in IPv6 is IPv4. */
bool address_read(struct str text, struct address *ret_address);
/* Reads "10.9.8.7/24"; the bytes behind the prefix stay as they are. */
bool address_read_cidr(struct str text, struct address *ret_address);

/* Prints it without its prefix, and with it. */
const char *address_print(const struct address *a, char out[static ADDRESS_TEXT]);
const char *address_print_cidr(const struct address *a, char out[static ADDRESS_TEXT]);

/* The first address of the range that it is in, with its prefix. */
struct address address_masked(const struct address *a);
bool address_contains(const struct address *range, const struct address *a);
/* <0, 0, >0: in order; both of one family. */
int address_compare(const struct address *a, const struct address *b);
/* The address that many behind it; wraps at the end of all addresses. */
struct address address_add(const struct address *a, uint64_t n);

/* Appends the canonical text, of 64 bytes at most; false when `text` is none with a prefix. */
bool address_canonical(struct str text, struct buf *out);

#endif
