/*
 * String formats, as kube-openapi's strfmt reads them. A format with a pattern in strfmt has the
 * same one here; it is compiled with the schema that names the format. Other formats are parsed by
 * hand. Addresses are as lenient as Go's: leading zeros are accepted.
 */
#include "api/crd/crd_impl.h"

#include <arpa/inet.h>

#include "base/time/date.h"
#include "base/time/duration.h"

#define HEX_PAIR  "[0-9a-f]{4}-?"
#define LETTER    "[a-zA-Z0-9\\p{S}\\p{L}]"
#define COLOUR    "\\s*(0|[1-9]\\d?|1\\d\\d?|2[0-4]\\d|25[0-5])\\s*"
#define SHORT     "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
#define BASE64    "[A-Za-z0-9+\\/]"
#define CARD      "^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|"
#define CARD_REST "3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\\d{3})\\d{11})$"

enum { HOSTNAME_MAX = 255, LABEL_MAX = 63, SUBDOMAIN_MAX = 253, DIGITS_MAX = 32 };

struct crd_format {
	const char *name; /* without dashes, which are ignored */
	const char *pattern; /* or NULL */
	bool (*check)(struct str text); /* or NULL */
	bool digits; /* pattern and check get only the digits of the text */
};

/* --- addresses -------------------------------------------------------------------- */

/* Dotted decimal; numbers with leading zeros are decimal, too. */
static bool is_ipv4(struct str s)
{
	struct str rest = s, piece;
	size_t n = 0;
	uint64_t value;

	while (str_split(&rest, '.', &piece))
		if (++n > 4 || piece.n > 16 || !str_to_u64(piece, &value) || value > 255)
			return false;
	return n == 4;
}

static bool is_ipv6(struct str s)
{
	unsigned char bytes[16];
	char text[INET6_ADDRSTRLEN + 1];

	if (s.n >= sizeof(text) || str_chr(s, ':') < 0)
		return false;
	str_put(text, s);
	text[s.n] = '\0';
	return strlen(text) == s.n && inet_pton(AF_INET6, text, bytes) == 1;
}

/* Any address with a dot: ::ffff:1.2.3.4 is one to Go. */
static bool check_ipv4(struct str s)
{
	return is_ipv4(s) || (is_ipv6(s) && str_chr(s, '.') >= 0);
}

static bool check_cidr(struct str s)
{
	ptrdiff_t slash = str_chr(s, '/');
	struct str address, prefix;
	uint64_t bits;

	if (slash < 0)
		return false;
	address = str_of(s.p, (size_t)slash);
	prefix = str_skip(s, (size_t)slash + 1);
	if (prefix.n > 3 || !str_to_u64(prefix, &bits))
		return false;
	return is_ipv4(address) ? bits <= 32 : is_ipv6(address) && bits <= 128;
}

/* Groups of `width` digits, separated by `sep`; 6, 8 or 20 bytes in all. */
static bool is_mac(struct str s, size_t width, char sep)
{
	size_t bytes = (s.n + 1) / (width + 1) * width / 2;

	if ((s.n + 1) % (width + 1) != 0)
		return false;
	for (size_t i = 0; i < s.n; i++)
		if (i % (width + 1) == width ? s.p[i] != sep : str_hex_digit(s.p[i]) < 0)
			return false;
	return bytes == 6 || bytes == 8 || bytes == 20;
}

static bool check_mac(struct str s)
{
	return is_mac(s, 2, ':') || is_mac(s, 2, '-') || is_mac(s, 4, '.');
}

/* --- names ------------------------------------------------------------------------ */

static bool check_hostname(struct str s)
{
	struct str rest = s, piece;

	while (str_split(&rest, '.', &piece))
		if (piece.n > LABEL_MAX)
			return false;
	return s.n <= HOSTNAME_MAX;
}

static bool check_short_name(struct str s)
{
	return s.n <= LABEL_MAX;
}

static bool check_long_name(struct str s)
{
	return s.n <= SUBDOMAIN_MAX;
}

/*
 * Returns the length of a scheme with its colon; 0: no scheme; -1: a colon with nothing before it.
 */
static int scheme_length(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (c == ':')
			return i == 0 ? -1 : (int)i + 1;
		if (!str_is_letter(c) && (i == 0 || !str_is_one_of(c, "0123456789+-.")))
			return 0;
	}
	return 0;
}

/* Checks for no control characters, and two hex digits after each %. */
static bool is_escaped_well(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f)
			return false;
		if (s.p[i] == '%' && (i + 2 >= s.n || str_hex_digit(s.p[i + 1]) < 0 ||
				      str_hex_digit(s.p[i + 2]) < 0))
			return false;
	}
	return true;
}

static bool is_port(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (i == 0 ? s.p[i] != ':' : s.p[i] < '0' || s.p[i] > '9')
			return false;
	return true;
}

/* Checks host, host:port or [v6]:port, optionally after user:password@. */
static bool is_authority(struct str s)
{
	struct str host = s;
	ptrdiff_t end;

	for (size_t i = s.n; i > 0 && host.n == s.n; i--)
		if (s.p[i - 1] == '@')
			host = str_skip(s, i);
	if (host.n && host.p[0] == '[') {
		end = str_chr(host, ']');
		return end > 0 && is_port(str_skip(host, (size_t)end + 1));
	}
	for (size_t i = 0; i < host.n; i++)
		if (strchr(" \"<>\\^`{|}%", host.p[i]))
			return false;
	end = str_chr(host, ':');
	return end < 0 || is_port(str_skip(host, (size_t)end));
}

/* Accepts what Go's url.ParseRequestURI does: an absolute URI or an absolute path. */
static bool check_uri(struct str s)
{
	int scheme = scheme_length(s);
	struct str rest, authority;
	ptrdiff_t end;

	if (s.n == 0 || scheme < 0)
		return false;
	if (str_eqz(s, "*"))
		return true;
	rest = str_skip(s, (size_t)scheme);
	end = str_chr(rest, '?');
	/* Escapes in a query are not checked. */
	if (!is_escaped_well(end < 0 ? rest : str_of(rest.p, (size_t)end)))
		return false;
	if (!str_starts(rest, STR("/")))
		return scheme > 0;
	if (scheme == 0 || !str_starts(rest, STR("//")))
		return true;
	rest = str_skip(rest, 2);
	authority = rest;
	for (size_t i = 0; i < rest.n && authority.n == rest.n; i++)
		if (rest.p[i] == '/' || rest.p[i] == '?')
			authority = str_of(rest.p, i);
	return is_authority(authority);
}

/* Letters, digits and other characters of an RFC 5322 atom, with single dots between. */
static bool is_dot_atom(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c == '.' && (i == 0 || i + 1 == s.n || s.p[i + 1] == '.'))
			return false;
		if (c <= ' ' || c == 0x7f || strchr("()<>[]:;@\\,\"", c))
			return false;
	}
	return s.n > 0;
}

static bool is_quoted(struct str s)
{
	if (s.n < 2 || s.p[0] != '"' || s.p[s.n - 1] != '"')
		return false;
	for (size_t i = 1; i + 1 < s.n; i++) {
		if (s.p[i] == '"')
			return false;
		if (s.p[i] == '\\' && ++i + 1 >= s.n)
			return false;
	}
	return true;
}

static bool is_address(struct str s)
{
	struct str local = STR_NULL, domain = STR_NULL;

	for (size_t i = s.n; i > 0 && !local.p; i--) {
		if (s.p[i - 1] != '@')
			continue;
		local = str_of(s.p, i - 1);
		domain = str_skip(s, i);
	}
	if (!local.p || !(is_dot_atom(local) || is_quoted(local)))
		return false;
	if (domain.n > 2 && domain.p[0] == '[' && domain.p[domain.n - 1] == ']')
		return is_ipv4(str_of(domain.p + 1, domain.n - 2)) ||
		       is_ipv6(str_of(domain.p + 1, domain.n - 2));
	return is_dot_atom(domain);
}

/* "a@b" or "Somebody <a@b>". */
static bool check_email(struct str s)
{
	struct str text = str_trim(s);
	ptrdiff_t open = str_chr(text, '<');

	if (open >= 0 && text.p[text.n - 1] == '>')
		return is_address(str_of(text.p + open + 1, text.n - (size_t)open - 2));
	return is_address(text);
}

/* --- times ------------------------------------------------------------------------ */

static bool starts_folded(struct str s, const char *prefix)
{
	return s.n >= strlen(prefix) && str_ieq(str_of(s.p, strlen(prefix)), str_from(prefix));
}

/* Returns the nanoseconds of a unit ("d", "day", "days"); 0 if unknown. */
static int64_t unit_of(struct str s)
{
	enum { MAX_WORDS = 4 };
	static const struct {
		int64_t ns;
		const char *words[MAX_WORDS]; /* the last one matches as a prefix */
	} units[] = {
		{ 1, { "ns", "nano" } },
		{ 1000, { "us", "\xc2\xb5s", "micro" } },
		{ 1000000, { "ms", "milli" } },
		{ INT64_C(1000000000), { "s", "sec" } },
		{ INT64_C(60000000000), { "m", "min" } },
		{ INT64_C(3600000000000), { "h", "hr", "hour" } },
		{ INT64_C(86400000000000), { "d", "day" } },
		{ INT64_C(604800000000000), { "w", "wk", "week" } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		for (size_t k = 0; units[i].words[k]; k++)
			if (str_ieq(s, str_from(units[i].words[k])) ||
			    (!units[i].words[k + 1] && starts_folded(s, units[i].words[k])))
				return units[i].ns;
	return 0;
}

/* Accepts Go's form, or Scala's: any number followed by a unit, anywhere in the text. */
bool crd_format_duration(struct str s, int64_t *ret_ns)
{
	uint64_t sum = 0, number; /* wraps, as upstream's does */
	size_t i = 0, from;
	bool found = false;

	if (duration_parse(s, ret_ns, NULL) == 0)
		return true;
	while (i < s.n) {
		if (!str_is_digit(s.p[i])) {
			i++;
			continue;
		}
		for (number = 0; i < s.n && str_is_digit(s.p[i]); i++)
			number = number * 10 + (uint64_t)(s.p[i] - '0');
		while (i < s.n && str_is_one_of(s.p[i], " \t\n\f\r"))
			i++;
		for (from = i; i < s.n && (str_is_letter(s.p[i]) || (s.p[i] & 0x80));)
			i++;
		number *= (uint64_t)unit_of(str_of(s.p + from, i - from));
		found |= unit_of(str_of(s.p + from, i - from)) != 0;
		sum += number;
	}
	*ret_ns = (int64_t)sum;
	return found;
}

static bool check_duration(struct str s)
{
	int64_t ns;

	return crd_format_duration(s, &ns);
}

/* --- numbers ---------------------------------------------------------------------- */

static bool check_isbn10(struct str s)
{
	unsigned sum = 0;

	if (s.n != 10)
		return false;
	for (unsigned i = 0; i < 10; i++) {
		if (s.p[i] == 'X' && i < 9)
			return false;
		sum += (i + 1) * (s.p[i] == 'X' ? 10U : (unsigned)(s.p[i] - '0'));
	}
	return sum % 11 == 0;
}

static bool check_isbn13(struct str s)
{
	unsigned sum = 0;

	if (s.n != 13 || str_chr(s, 'X') >= 0)
		return false;
	for (unsigned i = 0; i < 12; i++)
		sum += (i % 2 ? 3 : 1) * (unsigned)(s.p[i] - '0');
	return (unsigned)(s.p[12] - '0') == (10 - sum % 10) % 10;
}

static bool check_isbn(struct str s)
{
	return check_isbn10(s) || check_isbn13(s);
}

/* Luhn's checksum. */
static bool check_card(struct str s)
{
	unsigned sum = 0, digit;

	for (size_t i = 0; i < s.n; i++) {
		digit = (unsigned)(s.p[s.n - 1 - i] - '0') << i % 2;
		sum += digit >= 10 ? digit - 9 : digit;
	}
	return sum % 10 == 0;
}

static bool check_ssn(struct str s)
{
	return s.n == 11;
}

/* --- the table -------------------------------------------------------------------- */

static const struct crd_format formats[] = {
	{ "bsonobjectid", "^[0-9a-fA-F]{24}$", NULL, false },
	{ "uri", NULL, check_uri, false },
	{ "email", NULL, check_email, false },
	{ "hostname",
	  "^(" LETTER "((-?" LETTER "{0,62})?)|(" LETTER "(([a-zA-Z0-9-\\p{S}\\p{L}]{0,61}" LETTER
	  ")?)(\\.)){1,}([a-zA-Z\\p{L}]){2,63})$",
	  check_hostname, false },
	{ "ipv4", NULL, check_ipv4, false },
	{ "ipv6", NULL, is_ipv6, false },
	{ "cidr", NULL, check_cidr, false },
	{ "mac", NULL, check_mac, false },
	{ "uuid", "(?i)^[0-9a-f]{8}-?" HEX_PAIR HEX_PAIR HEX_PAIR "[0-9a-f]{12}$", NULL, false },
	{ "uuid3", "(?i)^[0-9a-f]{8}-?" HEX_PAIR "3[0-9a-f]{3}-?" HEX_PAIR "[0-9a-f]{12}$", NULL,
	  false },
	{ "uuid4", "(?i)^[0-9a-f]{8}-?" HEX_PAIR "4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$",
	  NULL, false },
	{ "uuid5", "(?i)^[0-9a-f]{8}-?" HEX_PAIR "5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$",
	  NULL, false },
	{ "isbn", NULL, check_isbn, true },
	{ "isbn10", NULL, check_isbn10, true },
	{ "isbn13", NULL, check_isbn13, true },
	{ "creditcard", CARD CARD_REST, check_card, true },
	{ "ssn", "^\\d{3}[- ]?\\d{2}[- ]?\\d{4}$", check_ssn, false },
	{ "hexcolor", "^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$", NULL, false },
	{ "rgbcolor", "^rgb\\(" COLOUR "," COLOUR "," COLOUR "\\)$", NULL, false },
	{ "byte", "^(?:" BASE64 "{4})*(?:" BASE64 "{2}==|" BASE64 "{3}=|" BASE64 "{4})$", NULL,
	  false },
	{ "password", NULL, NULL, false },
	{ "date", NULL, date_is_valid, false },
	{ "duration", NULL, check_duration, false },
	{ "datetime", NULL, date_time_is_valid, false },
	{ "k8sshortname", "^" SHORT "$", check_short_name, false },
	{ "k8slongname", "^" SHORT "(\\." SHORT ")*$", check_long_name, false },
};

/* Whether the names are equal when dashes are ignored. */
static bool format_is_name(struct str given, const char *name)
{
	for (size_t i = 0; i < given.n; i++) {
		if (given.p[i] == '-')
			continue;
		if (*name++ != given.p[i])
			return false;
	}
	return *name == '\0';
}

const struct crd_format *crd_format_find(struct str name)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (format_is_name(name, formats[i].name))
			return &formats[i];
	return NULL;
}

struct str crd_format_pattern(const struct crd_format *format)
{
	return format->pattern ? str_from(format->pattern) : STR_NULL;
}

/*
 * Returns only the digits; empty if there are too many. A book's number may also have X, white
 * space and dashes; any other character makes it invalid.
 */
static struct str digits_of(const struct crd_format *format, struct str text, char *room)
{
	bool card = str_eqz(STR("creditcard"), format->name);
	size_t n = 0;

	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];

		if (str_is_digit(c) || (c == 'X' && !card)) {
			if (n == DIGITS_MAX)
				return STR("");
			room[n++] = c;
		} else if (!card && !str_is_one_of(c, " \t\n\f\r-")) {
			return STR("");
		}
	}
	return str_of(room, n);
}

bool crd_format_holds(const struct crd_format *format, const struct regex *pattern, struct str text)
{
	char room[DIGITS_MAX];

	if (format->digits)
		text = digits_of(format, text, room);
	if (pattern && !regex_matches(pattern, text))
		return false;
	return !format->check || format->check(text);
}
