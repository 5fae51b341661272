/*
 * address - IP addresses and ranges: parses the text that Go's net package accepts, and prints the
 * one form that it prints.
 */
#ifndef API_SCHEMA_ADDRESS_H
#define API_SCHEMA_ADDRESS_H

#include "base/core/buf.h"
#include "base/text/ip6.h"

enum { ADDRESS_TEXT = IP6_TEXT + 4 };

/* An address, or with `prefix` a range. */
struct address {
	unsigned char bytes[16]; /* IPv4: the first four */
	bool is4;
	int prefix;
};

/*
 * Reads "10.9.8.7" or "2001:db8::1"; sets `prefix` to 32 or 128. An IPv4-mapped IPv6 address
 * becomes IPv4.
 */
bool address_read(struct str text, struct address *ret_address);
/* Reads "10.9.8.7/24". The bits after the prefix are kept. */
bool address_read_cidr(struct str text, struct address *ret_address);

/* Print the address without its prefix, and with it. Both return `out`. */
const char *address_print(const struct address *a, char out[static ADDRESS_TEXT]);
const char *address_print_cidr(const struct address *a, char out[static ADDRESS_TEXT]);

/* Returns the first address of the range that `a` lies in, with the same prefix. */
struct address address_masked(const struct address *a);
bool address_contains(const struct address *range, const struct address *a);
/* Returns <0, 0 or >0. Both must be of the same family. */
int address_compare(const struct address *a, const struct address *b);
/* Returns the address `n` after `a`; wraps around after the last address. */
struct address address_add(const struct address *a, uint64_t n);

/*
 * Appends the canonical text, at most 64 bytes. Returns false if `text` is not an address with a
 * prefix.
 */
bool address_canonical(struct str text, struct buf *out);

#endif
