/*
 * ip6 - IPv6 addresses as text, in the form that Kubernetes requires.
 *
 * That is the form of Go's net package: RFC 5952, except that IPv4-compatible addresses are
 * hexadecimal like all others ("::102:304"), where inet_ntop(3) writes "::1.2.3.4".
 */
#ifndef BASE_TEXT_IP6_H
#define BASE_TEXT_IP6_H

#include <stdbool.h>

#include "base/core/compiler.h"

enum { IP6_TEXT = 40 };

void ip6_print(const unsigned char bytes[static 16], char out[static IP6_TEXT]);

/* Whether it is an IPv4-mapped address (::ffff:0:0/96). Go treats it as IPv4 everywhere. */
bool ip6_is_mapped(const unsigned char bytes[static 16]);

#endif
