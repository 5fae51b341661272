/*
 * Go's net package reads more forms than it prints (leading zeros, mapped addresses).
 */
#include "api/schema/address.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>

#include "base/core/compiler.h"

/* Reads dotted decimal; leading zeros are allowed, as in upstream's sloppy parser. */
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

/* Removes leading zeros of a group, of which Go accepts any number. */
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

/* ::ffff:a.b.c.d becomes IPv4, as everywhere in Go. */
static void unmap(struct address *a)
{
	if (!ip6_is_mapped(a->bytes))
		return;
	memmove(a->bytes, a->bytes + 12, 4);
	a->is4 = true;
	/* A prefix below 96 cannot be one of IPv4; Go shows it as a negative one. */
	if (a->prefix > 32)
		a->prefix -= 96;
}

bool address_read(struct str text, struct address *ret_address)
{
	struct address a = { .is4 = str_chr(text, ':') < 0 };

	a.prefix = a.is4 ? 32 : 128;
	if (a.is4 ? !read_ipv4(text, a.bytes) : !read_ipv6(text, a.bytes))
		return false;
	if (!a.is4)
		unmap(&a);
	*ret_address = a;
	return true;
}

bool address_read_cidr(struct str text, struct address *ret_address)
{
	ptrdiff_t slash = str_chr(text, '/');
	struct address a = { 0 };
	struct str ip;
	uint64_t prefix;

	if (slash < 0 || !str_to_u64(str_skip(text, (size_t)slash + 1), &prefix))
		return false;
	ip = str_of(text.p, (size_t)slash);
	a.is4 = str_chr(ip, ':') < 0;
	a.prefix = (int)MIN(prefix, 1000);
	if (a.prefix > (a.is4 ? 32 : 128))
		return false;
	if (a.is4 ? !read_ipv4(ip, a.bytes) : !read_ipv6(ip, a.bytes))
		return false;
	if (!a.is4)
		unmap(&a);
	*ret_address = a;
	return true;
}

const char *address_print(const struct address *a, char out[static ADDRESS_TEXT])
{
	if (a->is4)
		(void)snprintf(out, ADDRESS_TEXT, "%u.%u.%u.%u", a->bytes[0], a->bytes[1],
			       a->bytes[2], a->bytes[3]);
	else
		ip6_print(a->bytes, out);
	return out;
}

const char *address_print_cidr(const struct address *a, char out[static ADDRESS_TEXT])
{
	size_t n = strlen(address_print(a, out));

	(void)snprintf(out + n, ADDRESS_TEXT - n, "/%d", a->prefix);
	return out;
}

/* --- ranges --------------------------------------------------------------------------------- */

static size_t bytes_of(const struct address *a)
{
	return a->is4 ? 4 : 16;
}

struct address address_masked(const struct address *a)
{
	struct address first = *a;

	for (size_t i = 0; i < bytes_of(a); i++) {
		int kept = MAX(0, MIN(8, a->prefix - (int)(8 * i)));

		first.bytes[i] &= (unsigned char)(0xff << (8 - kept));
	}
	return first;
}

bool address_contains(const struct address *range, const struct address *a)
{
	struct address first = address_masked(range), other = *a;

	if (range->is4 != a->is4)
		return false;
	other.prefix = range->prefix;
	other = address_masked(&other);
	return address_compare(&first, &other) == 0;
}

int address_compare(const struct address *a, const struct address *b)
{
	return memcmp(a->bytes, b->bytes, bytes_of(a));
}

struct address address_add(const struct address *a, uint64_t n)
{
	struct address sum = *a;

	for (size_t i = bytes_of(a); i-- > 0 && n > 0; n >>= 8) {
		n += sum.bytes[i];
		sum.bytes[i] = (unsigned char)n;
	}
	return sum;
}

bool address_canonical(struct str text, struct buf *out)
{
	struct address a;
	char canonical[ADDRESS_TEXT];

	if (!address_read_cidr(text, &a))
		return false;
	(void)buf_add_str(out, str_from(address_print_cidr(&a, canonical)));
	return true;
}
