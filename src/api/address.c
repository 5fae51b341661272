/*
 * What Go's net package reads is wider than what it prints (leading zeros, mapped addresses).
 */
#include "api/address.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>

#include "base/compiler.h"
#include "base/ip6.h"

struct address {
	unsigned char bytes[16];
	bool is4;
	int prefix;
};

/* Dotted decimal with leading zeros allowed, as upstream's sloppy parser. */
static bool read_ipv4(struct str s, unsigned char out[static 4])
{
	size_t parts = 0;
	struct str part;

	while (str_split(&s, '.', &part)) {
		uint64_t n;

		if (parts == 4 || !str_to_u64(part, &n) || n > 255)
			return false;
		out[parts++] = (unsigned char)n;
	}
	return parts == 4;
}

/* Without the zeros that a group begins with, of which Go takes any number. */
static bool read_ipv6(struct str s, unsigned char out[static 16])
{
	char text[INET6_ADDRSTRLEN];
	size_t n = 0;
	bool begins = true;

	for (size_t i = 0; i < s.n; i++) {
		bool more = i + 1 < s.n && isxdigit((unsigned char)s.p[i + 1]);

		if (begins && s.p[i] == '0' && more)
			continue;
		if (s.p[i] == '\0' || n + 1 == sizeof(text))
			return false;
		begins = s.p[i] == ':' || s.p[i] == '.';
		text[n++] = s.p[i];
	}
	text[n] = '\0';
	return inet_pton(AF_INET6, text, out) == 1;
}

/* ::ffff:a.b.c.d is taken as IPv4, as Go does everywhere. */
static void unmap(struct address *a)
{
	if (!ip6_is_mapped(a->bytes))
		return;
	memmove(a->bytes, a->bytes + 12, 4);
	a->is4 = true;
	/* Below 96 that is no prefix of it, and Go says so with a negative one. */
	if (a->prefix > 32)
		a->prefix -= 96;
}

static bool read_cidr(struct str s, struct address *ret_address)
{
	ptrdiff_t slash = str_chr(s, '/');
	struct str ip;
	uint64_t prefix;

	if (slash < 0 || !str_to_u64(str_skip(s, (size_t)slash + 1), &prefix))
		return false;
	ip = str_of(s.p, (size_t)slash);
	ret_address->is4 = str_chr(ip, ':') < 0;
	ret_address->prefix = (int)MIN(prefix, 1000);
	if (ret_address->is4)
		return ret_address->prefix <= 32 && read_ipv4(ip, ret_address->bytes);
	if (ret_address->prefix > 128 || !read_ipv6(ip, ret_address->bytes))
		return false;
	unmap(ret_address);
	return true;
}

static void print_cidr(const struct address *a, struct buf *out)
{
	char text[IP6_TEXT];

	if (a->is4)
		(void)snprintf(text, sizeof(text), "%u.%u.%u.%u", a->bytes[0], a->bytes[1],
			       a->bytes[2], a->bytes[3]);
	else
		ip6_print(a->bytes, text);
	(void)buf_printf(out, "%s/%d", text, a->prefix);
}

bool address_canonical(struct str text, struct buf *out)
{
	struct address a;

	if (!read_cidr(text, &a))
		return false;
	print_cidr(&a, out);
	return true;
}
