/*
 * As much of URLs as redirects need: absolute URLs, URLs without scheme or host, and relative
 * paths.
 */
#include "node/probes/run_impl.h"

/* Splits "host:port" or "[v6]:port". */
static bool read_authority(struct str authority, bool https, struct probe_url *u)
{
	struct str host = authority, port = STR_NULL;
	ptrdiff_t at = str_chr(authority, ']');
	int64_t n = https ? 443 : 80;

	if (at > 0 && authority.p[0] == '[') {
		host = str_of(authority.p + 1, (size_t)at - 1);
		port = str_skip(authority, (size_t)at + 1);
	} else if ((at = str_chr(authority, ':')) >= 0) {
		host = str_of(authority.p, (size_t)at);
		port = str_skip(authority, (size_t)at);
	}
	if (port.n > 0 && (port.p[0] != ':' || !str_to_i64(str_skip(port, 1), &n)))
		return false;
	if (host.n == 0 || n <= 0 || n > UINT16_MAX)
		return false;
	u->https = https;
	u->host = host;
	u->authority = authority;
	u->port = (uint16_t)n;
	return true;
}

/* "host:port/path?query", without a fragment. */
static bool read_rest(struct str rest, bool https, struct arena *a, struct probe_url *u)
{
	size_t n = 0;

	while (n < rest.n && rest.p[n] != '/' && rest.p[n] != '?')
		n++;
	if (!read_authority(str_of(rest.p, n), https, u))
		return false;
	rest = str_skip(rest, n);
	u->target = rest.n > 0 && rest.p[0] == '/'
			    ? rest
			    : str_from(arena_printf(a, "/%.*s", STR_ARG(rest)));
	return true;
}

/* The path of `base` up to and including its last '/', or all of it. */
static struct str base_part(struct str target, bool whole)
{
	size_t n = 0, slash = 0;

	for (; n < target.n && target.p[n] != '?'; n++) {
		if (target.p[n] == '/')
			slash = n + 1;
	}
	return str_of(target.p, whole ? n : slash);
}

bool probe_url_resolve(const struct probe_url *base, struct str location, struct arena *a,
		       struct probe_url *ret_url)
{
	ptrdiff_t hash = str_chr(location, '#');
	struct probe_url u = *base;

	if (hash >= 0)
		location.n = (size_t)hash;
	location = arena_str(a, location);
	for (size_t i = 0; i < location.n; i++) {
		if ((unsigned char)location.p[i] <= ' ' || location.p[i] == 0x7f)
			return false;
	}
	if (str_starts(location, STR("http://"))) {
		if (!read_rest(str_skip(location, 7), false, a, &u))
			return false;
	} else if (str_starts(location, STR("https://"))) {
		if (!read_rest(str_skip(location, 8), true, a, &u))
			return false;
	} else if (str_starts(location, STR("//"))) {
		if (!read_rest(str_skip(location, 2), base->https, a, &u))
			return false;
	} else if (location.n > 0 && location.p[0] == '/') {
		u.target = location;
	} else {
		struct str front = base_part(base->target, location.n > 0 && location.p[0] == '?');

		u.target = str_from(arena_printf(a, "%.*s%.*s", STR_ARG(front), STR_ARG(location)));
	}
	*ret_url = u;
	return true;
}

struct str probe_url_print(const struct probe_url *u, struct arena *a)
{
	return str_from(arena_printf(a, "%s://%.*s%.*s", u->https ? "https" : "http",
				     STR_ARG(u->authority), STR_ARG(u->target)));
}
