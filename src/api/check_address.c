/*
 * Addresses of network interfaces: "10.9.8.7/24", in the one form that Go's
 * net package prints. What it reads is wider (leading zeros, mapped addresses),
 * and then upstream tells the canonical text.
 */
#include <arpa/inet.h>

#include "api/checks.h"

struct address {
	unsigned char bytes[16];
	bool is4;
	unsigned prefix;
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

static bool read_ipv6(struct str s, unsigned char out[static 16])
{
	char text[INET6_ADDRSTRLEN];

	if (s.n >= sizeof(text) || memchr(s.p, '\0', s.n))
		return false;
	memcpy(text, s.p, s.n);
	text[s.n] = '\0';
	return inet_pton(AF_INET6, text, out) == 1;
}

/* ::ffff:a.b.c.d is taken as IPv4, as Go does everywhere. */
static void unmap(struct address *a)
{
	static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (memcmp(a->bytes, mapped, sizeof(mapped)) != 0)
		return;
	memmove(a->bytes, a->bytes + 12, 4);
	a->is4 = true;
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
	ret_address->prefix = (unsigned)MIN(prefix, 1000);
	if (ret_address->is4)
		return ret_address->prefix <= 32 && read_ipv4(ip, ret_address->bytes);
	if (ret_address->prefix > 128 || !read_ipv6(ip, ret_address->bytes))
		return false;
	unmap(ret_address);
	return true;
}

static unsigned group(const struct address *a, size_t i)
{
	return (unsigned)a->bytes[2 * i] << 8 | a->bytes[2 * i + 1];
}

/* The longest run of two or more zero groups, the first of equals; n is 0 for none. */
static size_t longest_zeros(const struct address *a, size_t *ret_n)
{
	size_t best = 0, n = 0;

	for (size_t i = 0; i < 8; i++) {
		size_t end = i;

		while (end < 8 && group(a, end) == 0)
			end++;
		if (end - i > n && end - i >= 2) {
			best = i;
			n = end - i;
		}
	}
	*ret_n = n;
	return best;
}

/* RFC 5952, but for IPv4-compatible addresses, which Go prints as hexadecimal. */
static void print_ipv6(const struct address *a, struct buf *out)
{
	size_t zeros_n, zeros = longest_zeros(a, &zeros_n);

	for (size_t i = 0; i < 8; i++) {
		if (zeros_n && i == zeros) {
			(void)buf_addz(out, "::");
			i += zeros_n - 1;
			continue;
		}
		if (i && !(zeros_n && i == zeros + zeros_n))
			(void)buf_addc(out, ':');
		(void)buf_printf(out, "%x", group(a, i));
	}
}

static void print_cidr(const struct address *a, struct buf *out)
{
	if (a->is4)
		(void)buf_printf(out, "%u.%u.%u.%u", a->bytes[0], a->bytes[1], a->bytes[2],
				 a->bytes[3]);
	else
		print_ipv6(a, out);
	(void)buf_printf(out, "/%u", a->prefix);
}

static void check_address(struct validation *v, struct str text, const struct field_path *path)
{
	CLEANUP(buf_release) struct buf canonical = BUF_INIT(128);
	struct address a;

	if (!read_cidr(text, &a)) {
		field_errors_invalid(v->errs, path, FIELD_STR(text),
				     "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or "
				     "2001:db8::1/64)");
		return;
	}
	print_cidr(&a, &canonical);
	if (!str_eq(text, buf_str(&canonical)))
		field_errors_addf(v->errs, FIELD_INVALID, path, FIELD_STR(text),
				  "must be in canonical form (\"%s\")", canonical.p);
}

void check_interface_addresses(struct validation *v, const struct json *addresses,
			       const struct field_path *path)
{
	size_t i = 0;

	JSON_FOREACH (address, addresses) {
		struct field_path at = field_path_index(path, i++);

		check_address(v, json_str(address), &at);
	}
}
