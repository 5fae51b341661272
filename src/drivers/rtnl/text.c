/*
 * Addresses as text. They are printed in the canonical form of the API server, which is Go's.
 * Parsing accepts only unambiguous forms: some programs read IPv4 with leading zeros as octal, and
 * some convert IPv4-mapped IPv6 addresses to IPv4.
 */
#include <arpa/inet.h>

#include "base/text/ip6.h"
#include "drivers/rtnl/rtnl.h"

/* --- IP ----------------------------------------------------------------------------------- */

/* Go's net package shows an IPv4-mapped address (::ffff:192.0.2.5/120) as IPv4. */
static struct rtnl_ip unmapped(const struct rtnl_ip *ip)
{
	struct rtnl_ip out = { .family = AF_INET };

	if (ip->family != AF_INET6 || !ip6_is_mapped(ip->bytes))
		return *ip;
	memcpy(out.bytes, ip->bytes + 12, 4);
	out.prefix = ip->prefix > 96 ? (uint8_t)(ip->prefix - 96) : 0;
	return out;
}

static void print_plain(const struct rtnl_ip *ip, char out[static RTNL_IP_TEXT])
{
	const unsigned char *b = ip->bytes;

	if (ip->family == AF_INET6)
		ip6_print(b, out);
	else
		(void)snprintf(out, RTNL_IP_TEXT, "%u.%u.%u.%u", b[0], b[1], b[2], b[3]);
}

void rtnl_ip_print_plain(const struct rtnl_ip *ip, char out[static RTNL_IP_TEXT])
{
	struct rtnl_ip plain = unmapped(ip);

	print_plain(&plain, out);
}

void rtnl_ip_print(const struct rtnl_ip *ip, char out[static RTNL_IP_TEXT])
{
	struct rtnl_ip plain = unmapped(ip);
	size_t n;

	print_plain(&plain, out);
	n = strlen(out);
	(void)snprintf(out + n, RTNL_IP_TEXT - n, "/%u", plain.prefix);
}

/* Decimal without sign and leading zeros, at most `max`. */
static bool text_read_number(struct str s, unsigned max, uint8_t *ret_n)
{
	uint64_t n;

	if (s.n == 0 || s.n > 3 || (s.n > 1 && s.p[0] == '0') || !str_to_u64(s, &n) || n > max)
		return false;
	*ret_n = (uint8_t)n;
	return true;
}

static bool read_ipv4(struct str s, struct rtnl_ip *ip)
{
	unsigned n = 0;
	struct str part;

	ip->family = AF_INET;
	while (str_split(&s, '.', &part))
		if (n == 4 || !text_read_number(part, 255, &ip->bytes[n++]))
			return false;
	return n == 4;
}

static bool read_ipv6(struct str s, struct rtnl_ip *ip)
{
	char text[INET6_ADDRSTRLEN];

	if (s.n >= sizeof(text) || memchr(s.p, '\0', s.n))
		return false;
	str_put(text, s);
	text[s.n] = '\0';
	ip->family = AF_INET6;
	return inet_pton(AF_INET6, text, ip->bytes) == 1 && !ip6_is_mapped(ip->bytes);
}

bool rtnl_ip_parse(struct str text, bool plain, struct rtnl_ip *ret_ip)
{
	struct rtnl_ip ip = { 0 };
	ptrdiff_t slash = str_chr(text, '/');
	struct str address = slash < 0 ? text : str_of(text.p, (size_t)slash);
	unsigned bits;

	if (plain == (slash >= 0) || address.n == 0)
		return false;
	if (!(str_chr(address, ':') < 0 ? read_ipv4(address, &ip) : read_ipv6(address, &ip)))
		return false;
	bits = ip.family == AF_INET ? 32 : 128;
	if (plain)
		ip.prefix = (uint8_t)bits;
	else if (!text_read_number(str_skip(text, (size_t)slash + 1), bits, &ip.prefix))
		return false;
	*ret_ip = ip;
	return true;
}

bool rtnl_ip_is_network(const struct rtnl_ip *ip)
{
	unsigned bits = ip->family == AF_INET ? 32 : 128;

	for (unsigned i = ip->prefix; i < bits; i++)
		if (ip->bytes[i / 8] & 0x80U >> i % 8)
			return false;
	return true;
}

/* --- hardware addresses and names --------------------------------------------------------- */

void rtnl_mac_print(const struct rtnl_mac *mac, char out[static RTNL_MAC_TEXT])
{
	static const char digits[] = "0123456789abcdef";
	size_t n = 0;

	for (unsigned i = 0; i < MIN(mac->n, (unsigned)RTNL_MAC); i++) {
		if (i)
			out[n++] = ':';
		out[n++] = digits[mac->bytes[i] >> 4];
		out[n++] = digits[mac->bytes[i] & 0xf];
	}
	out[n] = '\0';
}

bool rtnl_mac_parse(struct str text, struct rtnl_mac *ret_mac)
{
	struct rtnl_mac mac = { .n = 6 };

	if (text.n != 17)
		return false;
	for (unsigned i = 0; i < 6; i++) {
		const char *p = text.p + (size_t)3 * i;
		int high = str_hex_digit(p[0]), low = str_hex_digit(p[1]);

		if (high < 0 || low < 0 || (i < 5 && p[2] != ':'))
			return false;
		mac.bytes[i] = (unsigned char)(high << 4 | low);
	}
	*ret_mac = mac;
	return true;
}

bool rtnl_mac_equal(const struct rtnl_mac *a, const struct rtnl_mac *b)
{
	return a->n == b->n && memcmp(a->bytes, b->bytes, MIN(a->n, (unsigned)RTNL_MAC)) == 0;
}

/* isspace() of the C locale; the kernel also rejects 0xa0, a space in Latin-1. */
static bool is_space(unsigned char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r') || c == 0xa0;
}

bool rtnl_name_is_valid(struct str name)
{
	if (name.n == 0 || name.n >= RTNL_NAME || str_eqz(name, ".") || str_eqz(name, ".."))
		return false;
	for (size_t i = 0; i < name.n; i++) {
		unsigned char c = (unsigned char)name.p[i];

		if (c == '\0' || c == '/' || c == ':' || is_space(c))
			return false;
	}
	return true;
}

bool rtnl_name_is_text(const char *name)
{
	struct str text = str_from(name);

	for (size_t i = 0; i < text.n; i++)
		if ((unsigned char)text.p[i] < ' ' || text.p[i] == 0x7f)
			return false;
	return rtnl_name_is_valid(text) && str_is_utf8(text);
}

void rtnl_name_print(const char *name, char out[static RTNL_NAME_TEXT])
{
	bool plain = rtnl_name_is_text(name);
	size_t n = 0;

	for (; *name && n + 4 < RTNL_NAME_TEXT; name++) {
		unsigned char c = (unsigned char)*name;

		if (plain || (c >= ' ' && c < 0x7f))
			out[n++] = *name;
		else
			n += (size_t)snprintf(out + n, RTNL_NAME_TEXT - n, "\\x%02x", c);
	}
	out[n] = '\0';
}
