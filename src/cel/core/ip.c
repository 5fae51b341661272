/*
 * Parses in one pass per family, as strictly as Go's netip, and with its messages, which are shown
 * to authors of rules.
 */
#include "cel/core/ip.h"

#include "base/text/quote.h"

/* --- reading ------------------------------------------------------------------------ */

/* ParseAddr("1.2.3"): IPv4 address too short; with the place when `at` is not empty. */
static int ip_refuse(struct str in, const char *why, struct str at, struct error *err)
{
	char text[QUOTE_SIZE], place[QUOTE_SIZE];

	if (at.n == 0)
		return error_set(err, ERR_INVALID, "ParseAddr(%s): %s", quote_text(in, text), why);
	return error_set(err, ERR_INVALID, "ParseAddr(%s): %s (at %s)", quote_text(in, text), why,
			 quote_text(at, place));
}

/* Four numbers in s, which is a part of `in`. */
static int parse_v4(struct str in, struct str s, unsigned char out[static 4], struct error *err)
{
	unsigned value = 0, digits = 0, field = 0;

	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (str_is_digit(c) && digits == 1 && value == 0)
			return ip_refuse(in, "IPv4 field has octet with leading zero", STR_NULL,
					 err);
		if (str_is_digit(c)) {
			value = value * 10 + (unsigned)(c - '0');
			digits++;
			if (value > 255)
				return ip_refuse(in, "IPv4 field has value >255", STR_NULL, err);
			continue;
		}
		if (c != '.')
			return ip_refuse(in, "unexpected character", str_skip(s, i), err);
		if (i == 0 || i == s.n - 1 || s.p[i - 1] == '.')
			return ip_refuse(in, "IPv4 field must have at least one digit",
					 str_skip(s, i), err);
		if (field == 3)
			return ip_refuse(in, "IPv4 address too long", STR_NULL, err);
		out[field++] = (unsigned char)value;
		value = digits = 0;
	}
	if (field < 3)
		return ip_refuse(in, "IPv4 address too short", STR_NULL, err);
	out[3] = (unsigned char)value;
	return 0;
}

/* IPv6 while it is read. */
struct reader {
	struct str in; /* all of it, for messages */
	struct str s; /* the remaining text, without the zone */
	unsigned char bytes[16];
	size_t at;
	ptrdiff_t gap; /* where "::" was; -1: not yet */
};

/* Up to four digits at the front: how many, or negative. */
static int take_group(struct reader *r, unsigned *ret_value, struct error *err)
{
	unsigned value = 0;
	size_t n = 0;

	for (; n < r->s.n && str_hex_digit(r->s.p[n]) >= 0; n++) {
		if (n > 3)
			return ip_refuse(r->in, "each group must have 4 or less digits", r->s, err);
		value = value << 4 | (unsigned)str_hex_digit(r->s.p[n]);
	}
	if (n == 0)
		return ip_refuse(r->in, "each colon-separated field must have at least one digit",
				 r->s, err);
	*ret_value = value;
	return (int)n;
}

/* The last four bytes as IPv4. */
static int take_v4(struct reader *r, struct error *err)
{
	int result;

	if (r->gap < 0 && r->at != 12)
		return ip_refuse(r->in,
				 "embedded IPv4 address must replace the final 2 fields of the "
				 "address",
				 r->s, err);
	if (r->at + 4 > 16)
		return ip_refuse(r->in,
				 "too many hex fields to fit an embedded IPv4 at the end of the "
				 "address",
				 r->s, err);
	result = parse_v4(r->in, r->s, r->bytes + r->at, err);
	if (result < 0)
		return result;
	r->s = STR_NULL;
	r->at += 4;
	return 0;
}

/* Reads the colon or double colon between two groups. */
static int take_colons(struct reader *r, struct error *err)
{
	if (r->s.p[0] != ':')
		return ip_refuse(r->in, "unexpected character, want colon", r->s, err);
	if (r->s.n == 1)
		return ip_refuse(r->in, "colon must be followed by more characters", r->s, err);
	r->s = str_skip(r->s, 1);
	if (r->s.p[0] != ':')
		return 0;
	if (r->gap >= 0)
		return ip_refuse(r->in, "multiple :: in address", r->s, err);
	r->gap = (ptrdiff_t)r->at;
	r->s = str_skip(r->s, 1);
	return 0;
}

static int take_groups(struct reader *r, struct error *err)
{
	unsigned value = 0;
	int n, result = 0;

	while (r->at < 16 && r->s.n && result == 0) {
		n = take_group(r, &value, err);
		if (n < 0)
			return n;
		if ((size_t)n < r->s.n && r->s.p[n] == '.')
			return take_v4(r, err);
		r->bytes[r->at++] = (unsigned char)(value >> 8);
		r->bytes[r->at++] = (unsigned char)value;
		r->s = str_skip(r->s, (size_t)n);
		if (r->s.n)
			result = take_colons(r, err);
	}
	return result;
}

/* Zeros for "::". */
static int fill_gap(struct reader *r, struct error *err)
{
	size_t n = 16 - r->at;

	if (r->s.n)
		return ip_refuse(r->in, "trailing garbage after address", r->s, err);
	if (n == 0 && r->gap >= 0)
		return ip_refuse(r->in, "the :: must expand to at least one field of zeros",
				 STR_NULL, err);
	if (n == 0)
		return 0;
	if (r->gap < 0)
		return ip_refuse(r->in, "address string too short", STR_NULL, err);
	memmove(r->bytes + r->gap + n, r->bytes + r->gap, r->at - (size_t)r->gap);
	memset(r->bytes + r->gap, 0, n);
	return 0;
}

static int parse_v6(struct str in, struct cel_address *ret_ip, bool *ret_zone, struct error *err)
{
	struct reader r = { .in = in, .s = in, .gap = -1 };
	ptrdiff_t zone = str_chr(in, '%');
	int result;

	*ret_zone = zone >= 0;
	if (zone >= 0)
		r.s.n = (size_t)zone;
	if (zone >= 0 && (size_t)zone + 1 == in.n)
		return ip_refuse(in, "zone must be a non-empty string", STR_NULL, err);
	if (str_starts(r.s, STR("::"))) {
		r.gap = 0;
		r.s = str_skip(r.s, 2);
	} else if (r.s.n == 0) {
		return ip_refuse(in, "each colon-separated field must have at least one digit", r.s,
				 err);
	}
	result = take_groups(&r, err);
	if (result == 0)
		result = fill_gap(&r, err);
	if (result < 0)
		return result;
	*ret_ip = (struct cel_address){ .v6 = true };
	memcpy(ret_ip->bytes, r.bytes, sizeof(r.bytes));
	return 0;
}

static int parse_address(struct str s, struct cel_address *ret_ip, bool *ret_zone,
			 struct error *err)
{
	struct cel_address ip = { .v6 = false };
	int r;

	*ret_zone = false;
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '%')
			return ip_refuse(s, "missing IPv6 address", STR_NULL, err);
		if (s.p[i] == ':')
			return parse_v6(s, ret_ip, ret_zone, err);
		if (s.p[i] != '.')
			continue;
		r = parse_v4(s, s, ip.bytes, err);
		if (r == 0)
			*ret_ip = ip;
		return r;
	}
	return ip_refuse(s, "unable to parse IP", STR_NULL, err);
}

static bool is_mapped(const struct cel_address *ip)
{
	return ip->v6 && ip6_is_mapped(ip->bytes);
}

/* Converts an IPv4-mapped address ("::ffff:c0a8:1") to IPv4, if it is not written with dots. */
static bool unmap(struct str text, struct cel_address *ip)
{
	if (str_chr(text, '.') >= 0)
		return false;
	memmove(ip->bytes, ip->bytes + 12, 4);
	memset(ip->bytes + 4, 0, 12);
	ip->v6 = false;
	return true;
}

int cel_ip_parse(struct str text, bool unmaps, struct cel_address *ret_ip, struct error *err)
{
	struct cel_address ip;
	char quoted[QUOTE_SIZE];
	struct error why;
	bool zone;

	if (parse_address(text, &ip, &zone, &why) < 0)
		return error_set(err, ERR_INVALID,
				 "IP Address %s parse error during conversion from string: %s",
				 quote_text(text, quoted), why.msg);
	if (zone)
		return error_set(err, ERR_INVALID, "IP address %s with zone value is not allowed",
				 quote_text(text, quoted));
	if (is_mapped(&ip) && !(unmaps && unmap(text, &ip)))
		return error_set(err, ERR_INVALID, "IPv4-mapped IPv6 address %s is not allowed",
				 quote_text(text, quoted));
	*ret_ip = ip;
	return 0;
}

int cel_ip_check_literal(struct str text, struct error *err)
{
	struct cel_address ip;
	struct error why;
	bool zone;

	if (parse_address(text, &ip, &zone, &why) < 0)
		return error_set(err, ERR_INVALID, "invalid host: %s", why.msg);
	return ip.v6 ? 0 : error_set(err, ERR_INVALID, "invalid IP-literal");
}

/* --- prefixes ----------------------------------------------------------------------- */

static int refuse_prefix(struct str in, const char *why, struct error *err)
{
	char text[QUOTE_SIZE];

	return error_set(err, ERR_INVALID,
			 "network address parse error during conversion from string: "
			 "netip.ParsePrefix(%s): %s",
			 quote_text(in, text), why);
}

static ptrdiff_t last_slash(struct str s)
{
	size_t at = s.n;

	while (at > 0 && s.p[at - 1] != '/')
		at--;
	return (ptrdiff_t)at - 1;
}

/* Whether no bits are set beyond the prefix. */
static bool is_masked(const struct cel_address *cidr)
{
	for (unsigned bit = cidr->bits; bit < (cidr->v6 ? 128 : 32); bit++) {
		if (cidr->bytes[bit / 8] & (0x80U >> bit % 8))
			return false;
	}
	return true;
}

static int read_bits(struct str in, struct str bits, struct cel_address *ip, struct error *err)
{
	char why[QUOTE_SIZE + 32], quoted[QUOTE_SIZE];
	uint64_t n = 0;

	if (!str_to_u64(bits, &n) || (bits.n > 1 && bits.p[0] == '0')) {
		(void)snprintf(why, sizeof(why), "bad bits after slash: %s",
			       quote_text(bits, quoted));
		return refuse_prefix(in, why, err);
	}
	if (n > (ip->v6 ? 128 : 32))
		return refuse_prefix(in, "prefix length out of range", err);
	ip->bits = (uint8_t)n;
	ip->masked = is_masked(ip);
	return 0;
}

int cel_cidr_parse(struct str text, struct cel_address *ret_cidr, struct error *err)
{
	struct cel_address ip;
	char quoted[QUOTE_SIZE];
	ptrdiff_t slash = last_slash(text);
	struct error why;
	bool zone;
	int r;

	if (slash < 0)
		return refuse_prefix(text, "no '/'", err);
	if (parse_address(str_of(text.p, (size_t)slash), &ip, &zone, &why) < 0)
		return refuse_prefix(text, why.msg, err);
	if (zone)
		return refuse_prefix(text, "IPv6 zones cannot be present in a prefix", err);
	r = read_bits(text, str_skip(text, (size_t)slash + 1), &ip, err);
	if (r < 0)
		return r;
	if (is_mapped(&ip))
		return error_set(err, ERR_INVALID, "IPv4-mapped IPv6 address %s is not allowed",
				 quote_text(text, quoted));
	*ret_cidr = ip;
	return 0;
}

/* --- printing, comparing ------------------------------------------------------------ */

struct str cel_ip_print(const struct cel_address *ip, char out[static CEL_ADDRESS_TEXT])
{
	if (ip->v6)
		ip6_print(ip->bytes, out);
	else
		(void)snprintf(out, CEL_ADDRESS_TEXT, "%u.%u.%u.%u", ip->bytes[0], ip->bytes[1],
			       ip->bytes[2], ip->bytes[3]);
	return str_from(out);
}

struct str cel_cidr_print(const struct cel_address *cidr, char out[static CEL_ADDRESS_TEXT])
{
	size_t n = cel_ip_print(cidr, out).n;

	(void)snprintf(out + n, CEL_ADDRESS_TEXT - n, "/%u", cidr->bits);
	return str_from(out);
}

bool cel_ip_equal(const struct cel_address *a, const struct cel_address *b)
{
	return a->v6 == b->v6 && memcmp(a->bytes, b->bytes, a->v6 ? 16 : 4) == 0;
}

bool cel_cidr_equal(const struct cel_address *a, const struct cel_address *b)
{
	return cel_ip_equal(a, b) && a->bits == b->bits;
}

uint64_t cel_ip_size(const struct cel_address *ip)
{
	return ip->v6 ? 16 : 4;
}

uint64_t cel_cidr_size(const struct cel_address *cidr)
{
	return ((uint64_t)cidr->bits + 7) / 8;
}

bool cel_address_matches(const struct cel_address *a, const struct cel_address *b, unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;

	if (a->v6 != b->v6 || memcmp(a->bytes, b->bytes, whole) != 0)
		return false;
	return rest == 0 || (a->bytes[whole] ^ b->bytes[whole]) >> (8 - rest) == 0;
}
