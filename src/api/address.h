/*
 * address - addresses of network interfaces: "10.9.8.7/24", in the one form that Go's net package
 * prints.
 */
#ifndef API_ADDRESS_H
#define API_ADDRESS_H

#include "base/buf.h"

/* Appends the canonical text, of 64 bytes at most; false when `text` is no address. */
bool address_canonical(struct str text, struct buf *out);

#endif
