/*
 * Parses like Go: first the whole text as a request URI (where a fragment is part of the path),
 * then again without its fragment. The result is in one block with the maximum size of all parts.
 */
#include "cel/core/url.h"

#include "base/text/quote.h"
#include "cel/core/ip.h"

/* Bytes that all parts take at most: each byte is written up to eight times, escaped. */
#define ROOM(n) (24 * (n) + 64)

struct parts {
	struct str scheme, opaque, user, authority_host, raw_path, query, fragment;
	bool has_authority, has_user, no_host, force_query;
};

/* --- characters --------------------------------------------------------------------- */

static bool is_plain(char c)
{
	return str_is_alnum(c) || (c && strchr("-_.~", c));
}

static bool stands(char c, enum cel_url_part part)
{
	static const struct {
		unsigned parts;
		const char *extra;
	} allowed[] = {
		{ CEL_URL_PATH, "$&+,/:;=@" },
		{ CEL_URL_USER, "$&+,;=" },
		{ CEL_URL_HOST, "!$&'()*+,;=:[]<>\"" },
		{ CEL_URL_FRAGMENT, "$&+,/:;=?@!()*" },
		{ CEL_URL_QUERY, "" },
	};

	if (is_plain(c))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(allowed); i++) {
		if (allowed[i].parts == (unsigned)part)
			return c && strchr(allowed[i].extra, c);
	}
	return false;
}

static bool has_control(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f)
			return true;
	}
	return false;
}

/* "%41": its value, or negative with an error. `zone`: of an IPv6 address. */
static int check_escape(struct str s, enum cel_url_part part, bool zone, struct error *err)
{
	char text[QUOTE_SIZE];
	struct str three = str_of(s.p, MIN(s.n, 3U));
	int high = s.n > 2 ? str_hex_digit(s.p[1]) : -1;
	int low = s.n > 2 ? str_hex_digit(s.p[2]) : -1;
	int value = high * 16 + low;
	bool wrong = high < 0 || low < 0;

	if (!wrong && part == CEL_URL_HOST && value != '%')
		wrong = zone ? value != ' ' && !stands((char)value, part) : high < 8;
	if (wrong)
		return error_set(err, ERR_INVALID, "invalid URL escape %s",
				 quote_text(three, text));
	return value;
}

static int core_url_unescape(struct str s, enum cel_url_part part, bool zone, char *out,
			     size_t *ret_n, struct error *err)
{
	char text[QUOTE_SIZE];
	size_t n = 0, i = 0;

	while (i < s.n) {
		char c = s.p[i];
		int value = (unsigned char)c;

		if (c == '%')
			value = check_escape(str_skip(s, i), part, zone, err);
		else if (part == CEL_URL_HOST && !(c & 0x80) && !stands(c, part))
			value = error_set(err, ERR_INVALID, "invalid character %s in host name",
					  quote_text(str_of(&c, 1), text));
		if (value < 0)
			return value;
		i += c == '%' ? 3 : 1;
		if (c == '+' && part == CEL_URL_QUERY)
			value = ' ';
		if (out)
			out[n] = (char)value;
		n++;
	}
	*ret_n = n;
	return 0;
}

int cel_url_unescape(struct str s, enum cel_url_part part, char *out, size_t *ret_n,
		     struct error *err)
{
	return core_url_unescape(s, part, false, out, ret_n, err);
}

/* --- taking apart ------------------------------------------------------------------- */

/* Returns the length of the scheme; 0 without a scheme; -1 for a colon at the start. */
static ptrdiff_t scheme_length(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (c == ':')
			return i ? (ptrdiff_t)i : -1;
		if (!str_is_letter(c) && (i == 0 || !c || !strchr("0123456789+-.", c)))
			return 0;
	}
	return 0;
}

static ptrdiff_t last_chr(struct str s, char c)
{
	size_t at = s.n;

	while (at > 0 && s.p[at - 1] != c)
		at--;
	return (ptrdiff_t)at - 1;
}

static bool is_port(struct str s)
{
	if (s.n && s.p[0] != ':')
		return false;
	for (size_t i = 1; i < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
	}
	return true;
}

static int check_port(struct str port, struct error *err)
{
	char text[QUOTE_SIZE];

	if (is_port(port))
		return 0;
	return error_set(err, ERR_INVALID, "invalid port %s after host", quote_text(port, text));
}

/* [address%25zone]:port, unescaped to `out`. */
static int read_literal(struct str host, char *out, size_t *ret_n, struct error *err)
{
	ptrdiff_t close = last_chr(host, ']'), zone;
	struct str name, port;
	size_t n = 0, more = 0;
	int r;

	if (close < 0)
		return error_set(err, ERR_INVALID, "missing ']' in host");
	name = str_of(host.p + 1, (size_t)close - 1);
	port = str_skip(host, (size_t)close + 1);
	r = check_port(port, err);
	if (r < 0)
		return r;
	zone = str_find(name, STR("%25"));
	out[0] = '[';
	r = core_url_unescape(zone < 0 ? name : str_of(name.p, (size_t)zone), CEL_URL_HOST, false,
			      out + 1, &n, err);
	if (r == 0 && zone >= 0)
		r = core_url_unescape(str_skip(name, (size_t)zone), CEL_URL_HOST, true, out + 1 + n,
				      &more, err);
	n += more;
	if (r == 0)
		r = cel_ip_check_literal(str_of(out + 1, n), err);
	if (r < 0)
		return r;
	out[1 + n] = ']';
	str_put(out + 2 + n, port);
	*ret_n = 2 + n + port.n;
	return 0;
}

/* Only one colon may be in the host of a web address; databases list several with ports. */
static int read_host(struct str scheme, struct str host, char *out, size_t *ret_n,
		     struct error *err)
{
	ptrdiff_t bracket = last_chr(host, '['), colon = str_chr(host, ':');
	int r;

	if (bracket > 0)
		return error_set(err, ERR_INVALID, "invalid IP-literal");
	if (bracket == 0)
		return read_literal(host, out, ret_n, err);
	if (!str_eqz(scheme, "http") && !str_eqz(scheme, "https"))
		colon = last_chr(host, ':');
	r = colon < 0 ? 0 : check_port(str_skip(host, (size_t)colon), err);
	return r < 0 ? r : core_url_unescape(host, CEL_URL_HOST, false, out, ret_n, err);
}

static int check_user(struct str user, struct error *err)
{
	size_t n;

	for (size_t i = 0; i < user.n; i++) {
		if (!is_plain(user.p[i]) && !strchr(":!$&'()*+,;=%@", user.p[i]))
			return error_set(err, ERR_INVALID, "net/url: invalid userinfo");
	}
	return core_url_unescape(user, CEL_URL_USER, false, NULL, &n, err);
}

/* Splits at the last '@' into parts->user and parts->authority_host. */
static void split_authority(struct str authority, struct parts *parts)
{
	ptrdiff_t at = last_chr(authority, '@');

	parts->has_authority = true;
	parts->has_user = at >= 0;
	parts->authority_host = str_skip(authority, (size_t)(at + 1));
	if (at >= 0)
		parts->user = str_of(authority.p, (size_t)at);
}

static void split_query(struct str *rest, struct parts *parts)
{
	ptrdiff_t mark = str_chr(*rest, '?');

	if (mark < 0)
		return;
	parts->query = str_skip(*rest, (size_t)mark + 1);
	parts->force_query = parts->query.n == 0;
	rest->n = (size_t)mark;
}

static int url_split(struct str s, bool request, struct parts *parts, struct error *err)
{
	ptrdiff_t scheme = scheme_length(s), slash;
	struct str rest = s;
	bool rooted;

	*parts = (struct parts){ .raw_path = STR("") };
	if (has_control(s))
		return error_set(err, ERR_INVALID, "net/url: invalid control character in URL");
	if (s.n == 0)
		return error_set(err, ERR_INVALID, "empty url");
	if (scheme < 0)
		return error_set(err, ERR_INVALID, "missing protocol scheme");
	if (scheme > 0) {
		parts->scheme = str_of(s.p, (size_t)scheme);
		rest = str_skip(s, (size_t)scheme + 1);
	}
	split_query(&rest, parts);
	rooted = str_starts(rest, STR("/"));
	if (!rooted && scheme > 0) {
		parts->opaque = rest;
		return 0;
	}
	if (!rooted && !str_eqz(s, "*"))
		return error_set(err, ERR_INVALID, "invalid URI for request");
	parts->raw_path = rest;
	if (str_starts(rest, STR("//")) &&
	    (scheme > 0 || (!request && !str_starts(rest, STR("///"))))) {
		rest = str_skip(rest, 2);
		slash = str_chr(rest, '/');
		parts->raw_path = slash < 0 ? STR("") : str_skip(rest, (size_t)slash);
		split_authority(slash < 0 ? rest : str_of(rest.p, (size_t)slash), parts);
	} else {
		parts->no_host = scheme > 0;
	}
	return 0;
}

/* --- putting together --------------------------------------------------------------- */

/* Where parts are written: a block that is large enough. */
struct writer {
	char *at;
};

static void url_put(struct writer *w, struct str s)
{
	str_put(w->at, s);
	w->at += s.n;
}

static void put_escaped(struct writer *w, struct str s, enum cel_url_part part)
{
	static const char digits[] = "0123456789ABCDEF";

	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (stands(s.p[i], part)) {
			*w->at++ = s.p[i];
			continue;
		}
		*w->at++ = '%';
		*w->at++ = digits[c >> 4];
		*w->at++ = digits[c & 15];
	}
}

static struct str written(const struct writer *w, const char *from)
{
	return str_of(from, (size_t)(w->at - from));
}

/* Whether the escapes may stay as they were written. */
static bool is_well_escaped(struct str s, enum cel_url_part part)
{
	for (size_t i = 0; i < s.n; i++) {
		if (!stands(s.p[i], part) && !strchr("!$&'()*+,;=:@[]%", s.p[i]))
			return false;
	}
	return true;
}

/* The text of a path or fragment in its escaped form. */
static int write_part(struct writer *w, struct str raw, enum cel_url_part part,
		      struct str *ret_text, struct error *err)
{
	char *from = w->at;
	size_t n = 0;
	int r = core_url_unescape(raw, part, false, from, &n, err);

	if (r < 0)
		return r;
	if (is_well_escaped(raw, part)) {
		*ret_text = raw;
		return 0;
	}
	w->at += n;
	put_escaped(w, str_of(from, n), part);
	*ret_text = written(w, from + n);
	return 0;
}

static void write_user(struct writer *w, struct str user)
{
	ptrdiff_t colon = str_chr(user, ':');
	struct str parts[2] = { user, STR_NULL };
	char *from;
	size_t n = 0;

	if (colon >= 0) {
		parts[0].n = (size_t)colon;
		parts[1] = str_skip(user, (size_t)colon + 1);
	}
	for (int i = 0; i < (colon >= 0 ? 2 : 1); i++) {
		/* Unescaped behind what the colon and its escaped form can reach. */
		from = w->at + 3 * parts[i].n + 1;
		(void)core_url_unescape(parts[i], CEL_URL_USER, false, from, &n, NULL);
		if (i == 1)
			url_put(w, STR(":"));
		put_escaped(w, str_of(from, n), CEL_URL_USER);
	}
	url_put(w, STR("@"));
}

static struct str url_write_all(struct writer *w, const struct parts *parts,
				const struct cel_url *url)
{
	char *from = w->at;

	url_put(w, url->scheme);
	if (url->scheme.n)
		url_put(w, STR(":"));
	if (parts->opaque.n)
		url_put(w, parts->opaque);
	else if ((url->scheme.n || url->host.n || parts->has_user) && !parts->no_host) {
		if (url->host.n || url->path.n || parts->has_user)
			url_put(w, STR("//"));
		if (parts->has_user)
			write_user(w, parts->user);
		put_escaped(w, url->host, CEL_URL_HOST);
	}
	url_put(w, url->path);
	if (parts->force_query || parts->query.n)
		url_put(w, STR("?"));
	url_put(w, parts->query);
	if (parts->fragment.n)
		url_put(w, STR("#"));
	url_put(w, parts->fragment);
	return written(w, from);
}

static int url_finish(struct writer *w, struct parts *parts, struct str fragment,
		      struct cel_url *ret_url, struct error *err)
{
	char *from = w->at;
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; i < parts->scheme.n; i++)
		*w->at++ = (char)(parts->scheme.p[i] | 0x20);
	ret_url->scheme = written(w, from);
	from = w->at;
	if (parts->has_authority)
		r = read_host(ret_url->scheme, parts->authority_host, from, &n, err);
	if (r == 0 && parts->has_user)
		r = check_user(parts->user, err);
	w->at += n;
	ret_url->host = written(w, from);
	ret_url->query = parts->query;
	if (r == 0)
		r = write_part(w, parts->raw_path, CEL_URL_PATH, &ret_url->path, err);
	if (r == 0)
		r = write_part(w, fragment, CEL_URL_FRAGMENT, &parts->fragment, err);
	return r;
}

static int url_wrap(int r, struct str text, const struct error *why, struct error *err)
{
	char quoted[QUOTE_SIZE];

	return r < 0 ? error_set(err, ERR_INVALID, "parse %s: %s", quote_text(text, quoted),
				 why->msg)
		     : 0;
}

static int url_check(struct str text, char *room, struct error *err)
{
	struct writer w = { room };
	struct cel_url url;
	struct parts parts;
	struct error why;
	int r = url_split(text, true, &parts, &why);

	if (r == 0)
		r = url_finish(&w, &parts, STR_NULL, &url, &why);
	return url_wrap(r, text, &why, err);
}

int cel_url_check(struct str text, struct error *err)
{
	CLEANUP(arena_release) struct arena a;

	arena_init(&a, ROOM(text.n) + 64);
	return url_check(text, arena_alloc(&a, ROOM(text.n)), err);
}

int cel_url_parse(struct arena *a, struct str text, struct cel_url *ret_url, struct error *err)
{
	ptrdiff_t hash = str_chr(text, '#');
	struct str body = hash < 0 ? text : str_of(text.p, (size_t)hash);
	struct str fragment = hash < 0 ? STR_NULL : str_skip(text, (size_t)hash + 1);
	struct writer w = { arena_try_alloc(a, ROOM(text.n)) };
	struct parts parts;
	struct error why;
	int r;

	if (!w.at)
		return error_set(err, ERR_TOO_LARGE, "the URL is too long");
	r = url_check(text, w.at, err);
	if (r < 0)
		return r;
	r = url_split(body, false, &parts, &why);
	if (r == 0)
		r = url_finish(&w, &parts, fragment, ret_url, &why);
	if (r == 0)
		ret_url->text = url_write_all(&w, &parts, ret_url);
	return url_wrap(r, body, &why, err);
}

struct str cel_url_hostname(const struct cel_url *url)
{
	ptrdiff_t colon = last_chr(url->host, ':');
	struct str host = url->host;

	if (colon >= 0 && is_port(str_skip(host, (size_t)colon)))
		host.n = (size_t)colon;
	if (host.n > 1 && host.p[0] == '[' && host.p[host.n - 1] == ']')
		return str_of(host.p + 1, host.n - 2);
	return host;
}

struct str cel_url_port(const struct cel_url *url)
{
	ptrdiff_t colon = last_chr(url->host, ':');

	if (colon < 0 || !is_port(str_skip(url->host, (size_t)colon)))
		return STR("");
	return str_skip(url->host, (size_t)colon + 1);
}
